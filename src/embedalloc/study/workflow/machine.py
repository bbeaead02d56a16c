"""What computed a result: versions of the packages, processor and linear algebra."""

import os
import platform
import re
import resource
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from threadpoolctl import threadpool_info

#: Extras whose packages the study runs with.
EXTRAS = ("data", "plot", "study", "torch")


@cache
def find_versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of what it asks for, by name."""
    found = {"Python": platform.python_version()}
    try:
        wanted = ["embedalloc", *(requires("embedalloc") or [])]
    except PackageNotFoundError:
        return found
    for line in wanted:
        extra = re.search(r"""extra == ['"](.+?)['"]""", line)
        if extra and extra[1] not in EXTRAS:
            continue
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def describe_machine() -> dict[str, str]:
    """Return what last bits can depend on, besides versions; no name of a user or of a host."""
    kernels = {
        f"{library['internal_api']} {library.get('architecture', 'of unknown kind')}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": find_processor(),
        "cores": str(os.cpu_count()),
        "linear algebra": ", ".join(sorted(kernels)) or "unknown",
    }


@cache
def find_processor() -> str:
    """Return the name that the processor gives itself."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return named[1].strip() if named else platform.processor() or "unknown"


def find_peak_memory() -> int:
    """Return the most memory that this process has had so far, in bytes."""
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(re.findall(r"^VmHWM:\s*(\d+) kB$", text, flags=re.MULTILINE)[0]) * 1024
    except (OSError, IndexError):  # where there is no such file; the unit is that of macOS
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
