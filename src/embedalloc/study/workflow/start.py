"""What happens before the first job: settings are checked, and nothing old stands in the way."""

import fcntl
import gc
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from embedalloc.study.settings.configuration import Configuration, read_configuration
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.workflow.config_files import check_file, check_value
from embedalloc.study.workflow.environment import forget_steering
from embedalloc.study.workflow.forks import fork_jobs
from embedalloc.study.workflow.job import WORKFLOW
from embedalloc.study.workflow.places import PROJECT
from embedalloc.study.workflow.records import ask_receipts

#: Kept open, and so locked, until the process ends in whichever way.
_held: list[int] = []
#: Bytes that must be left where Snakemake writes.
ROOM = 1_000_000


def check_sources(workflow: Any) -> None:
    """Refuse texts of settings that Snakemake would take in another sense than their author.

    These are the project's own file, and files and values given on the command line.
    """
    if not workflow.is_main_process:
        return  # its jobs are given the same
    for file in [Path(workflow.basedir, "config.yaml"), *workflow.configfiles]:
        check_file(Path(os.path.relpath(file)))
    for given in workflow.config_settings.config_args or ():
        check_value(given)


def prepare(workflow: Any, config: MutableMapping[str, Any]) -> Configuration:
    """Check the configuration and the folders, set what all runs share, return the settings.

    Raises a `ConfigError` that says what to change.
    """
    # Or Python looks for cycles again and again in what Snakemake has loaded, and in what it plans.
    gc.freeze()
    gc.set_threshold(50_000)
    forget_steering()
    use_own_code(Path(workflow.basedir))
    read_values(config, workflow.config_settings.config)
    settings = read_configuration(config)
    for folder in ("results", "figures"):
        check_folder(Path(folder))
    check_room()
    os.environ[WORKFLOW] = str(os.getpid())
    if workflow.is_main_process:
        forget_stale_locks(Path(".snakemake"))
        forget_future_dates(Path("results"), Path("figures"))
        ask_receipts(workflow)
        fork_jobs()
    return settings


def use_own_code(project: Path) -> None:
    """Give all jobs this project's code, whatever else is installed; refuse to be other code."""
    if project.resolve() != PROJECT:
        raise ConfigError(
            f"{project}: this study was about to run with the code of {PROJECT}; "
            "start snakemake in a process of its own"
        )
    ours = [str(PROJECT / "src"), str(PROJECT)]  # the latter for tests.benchmarks
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(ours + others))


def read_values(config: MutableMapping[str, Any], given: Mapping[str, Any]) -> None:
    """Read what `--config` gave as a file's: Snakemake leaves values inside blocks as text."""
    for key, value in given.items():
        if isinstance(value, Mapping) and isinstance(config[key], MutableMapping):
            read_values(config[key], value)
        else:
            config[key] = read_value(value)


def read_value(given: Any) -> Any:
    """Return what a YAML file would mean by a text, also by those in lists and blocks."""
    if isinstance(given, Mapping):
        return {key: read_value(value) for key, value in given.items()}
    if isinstance(given, list):
        return [read_value(value) for value in given]
    with suppress(yaml.YAMLError):
        return yaml.safe_load(given) if isinstance(given, str) else given
    return given


def check_folder(folder: Path) -> None:
    """Refuse a place for results that is no folder or cannot be written to."""
    if folder.is_dir():
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigError(
                f"{folder}: the folder is read-only; make it writable or run elsewhere"
            )
    elif os.path.lexists(folder):
        raise ConfigError(f"{folder}: a file where a folder is needed; move it away")


def check_room() -> None:
    """Refuse to start where Snakemake itself could not write: here, or its temporary files."""
    ways_out = {os.getcwd(): "make room or run elsewhere: snakemake --directory /a/folder ..."}
    named = {os.environ[name]: name for name in ("TMPDIR", "TMP") if name in os.environ}
    for folder, name in ({tempfile.gettempdir(): "TMPDIR"} | named).items():
        if os.path.isdir(folder):
            ways_out[folder] = f"make room or name another folder: {name}=/a/folder snakemake ..."
    for folder, way_out in ways_out.items():
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(ROOM))
        except OSError as error:
            raise ConfigError(
                f"{folder}: cannot be written ({error.strerror}); {way_out}"
            ) from None


def forget_future_dates(*folders: Path) -> None:
    """Date files to now that were made before the clock was set back.

    Snakemake refuses what is made from files of the future. Dates decide nothing here.
    """
    now = time.time()
    for path in (path for folder in folders for path in folder.rglob("*")):
        with suppress(OSError):  # deleted just now, or somebody else's
            if path.stat().st_mtime > now:
                os.utime(path)


def forget_stale_locks(state: Path) -> None:
    """Remove locks that a killed run left in Snakemake's folder.

    Snakemake's locks are files that outlive their owner. Here every run also holds a lock of the
    system, which ends with the process: whoever can have it alone knows that no other run is
    alive and that old locks mean nothing. A folder last used from another computer, where the
    system's locks may not reach, is left as it is; so is one that cannot be locked.
    """
    state.mkdir(exist_ok=True)
    handle = os.open(state / "running.lock", os.O_RDWR | os.O_CREAT, 0o644)
    _held.append(handle)
    here, locks = platform.node().encode(), state / "locks"
    with suppress(OSError):  # another run is alive, or there are no such locks here
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.pread(handle, 256, 0) in (b"", here):
            shutil.rmtree(locks, ignore_errors=True)
        if not locks.exists():
            os.ftruncate(handle, 0)
            os.pwrite(handle, here, 0)
    with suppress(OSError):
        # Shared from now on: several runs may be alive, and none of them alone.
        fcntl.flock(handle, fcntl.LOCK_SH)
