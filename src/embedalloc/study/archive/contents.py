"""What an archive holds: results with their receipts, the configuration, source and digests."""

import hashlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from embedalloc.study.archive.container import ArchiveError, Files
from embedalloc.study.workflow.receipts import RECEIPTS, Receipt, read_receipt
from embedalloc.study.workflow.tables import digest_of

CONFIGURATION, MANIFEST = "configuration.yaml", "manifest-sha256.txt"
METADATA = "ro-crate-metadata.json"
#: Folder of the source in an archive.
SOURCE = "source"
#: What a study consists of, where git does not say it.
PARTS = (
    *("Snakefile", "config.yaml", "src", "scripts", "workflow", "tests", "docs", "Makefile"),
    *("pyproject.toml", "requirements.lock", "environment.yml", "README.md", "LICENSE"),
    *("CITATION.cff", "CHANGELOG.md", "CONTRIBUTING.md"),
)


def digest_bytes(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def write_manifest(files: Files) -> bytes:
    """Return a digest per file, in the form that `sha256sum --check` reads."""
    lines = [f"{digest_bytes(files[name])}  {name}\n" for name in sorted(files)]
    return "".join(lines).encode()


def read_manifest(content: bytes) -> dict[str, str]:
    """Return the digests of a manifest by name."""
    try:
        pairs = [line.split("  ", 1) for line in content.decode("ascii").splitlines()]
        return {name: digest for digest, name in pairs}
    except ValueError:
        raise ArchiveError(f"{MANIFEST}: not a list of digests and names") from None


def write_configuration(plain: dict[str, Any]) -> bytes:
    """Return the whole configuration of a run as a file for `--configfile`."""
    return yaml.safe_dump(plain, sort_keys=True, allow_unicode=False).encode()


def collect_run(receipts: Iterable[Receipt]) -> dict[str, bytes]:
    """Return the files that some jobs made, and their receipts, by name; run where they lie."""
    wanted = {digest_of(receipt) for receipt in receipts}
    files = {}
    for path in sorted(RECEIPTS.rglob("*.json")):
        receipt = read_receipt(path)
        if receipt is None or digest_of(receipt) not in wanted:
            continue
        files[path.as_posix()] = path.read_bytes()
        for name, digest in receipt["outputs"].items():
            files[name] = Path(name).read_bytes()
            if digest_bytes(files[name]) != digest:
                raise ArchiveError(f"{name}: changed since its job wrote it")
    return files


def collect_source(project: Path) -> dict[str, bytes]:
    """Return the project's own files by name in an archive: those that git knows, or all."""
    names = _tracked(project) or _walked(project)
    return {f"{SOURCE}/{name}": (project / name).read_bytes() for name in sorted(names)}


def digest_source(project: str) -> str:
    """Return a digest of the project's own files."""
    return digest_bytes(write_manifest(collect_source(Path(project))))


def _tracked(project: Path) -> list[str]:
    """Return the files of a checkout; none elsewhere, or in a copy in somebody else's checkout."""
    try:
        command = ["git", "-C", str(project), "ls-files", "-z", "--full-name"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return []
    names = os.fsdecode(done.stdout).split("\0")
    return [name for name in names if _is_file(project, name)] if "Snakefile" in names else []


def _walked(project: Path) -> list[str]:
    found = [project / part for part in PARTS]
    found += [path for part in PARTS for path in (project / part).rglob("*")]
    names = [path.relative_to(project).as_posix() for path in found]
    return [name for name in names if _is_file(project, name) and _is_source(name)]


def _is_file(project: Path, name: str) -> bool:
    path = project / name
    return path.is_file() and not path.is_symlink()


def _is_source(name: str) -> bool:
    parts = name.split("/")
    return "__pycache__" not in parts and not any(
        part.startswith(".") or part.endswith(".egg-info") for part in parts
    )
