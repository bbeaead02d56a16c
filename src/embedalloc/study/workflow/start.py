"""What happens before the first job: settings are checked, and nothing old stands in the way."""

import fcntl
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embedalloc.study.settings.configuration import Configuration, read_configuration
from embedalloc.study.settings.words import ConfigError

#: Numbers must not depend on how many threads the user's environment asks for.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
#: Kept open, and so locked, until the process ends in whichever way.
_held: list[int] = []


def prepare(workflow: Any, config: Mapping[str, Any]) -> Configuration:
    """Check the configuration and the folders, set what all runs share, return the settings.

    Raises a `ConfigError` that says what to change.
    """
    settings = read_configuration(config)
    for folder in ("results", "figures"):
        check_folder(Path(folder))
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if workflow.is_main_process:
        forget_stale_locks(Path(".snakemake"))
    return settings


def check_folder(folder: Path) -> None:
    """Refuse a place for results that is no folder or cannot be written to."""
    if folder.is_dir():
        if not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigError(
                f"{folder}: the folder is read-only; make it writable or run elsewhere"
            )
    elif os.path.lexists(folder):
        raise ConfigError(f"{folder}: a file where a folder is needed; move it away")


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
    here = platform.node().encode()
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except OSError:
        alone = False
    locks = state / "locks"
    if alone and os.pread(handle, 256, 0) in (b"", here):
        shutil.rmtree(locks, ignore_errors=True)
    if alone and not locks.exists():
        os.ftruncate(handle, 0)
        os.pwrite(handle, here, 0)
    try:
        # Shared from now on: several runs may be alive, and none of them alone.
        fcntl.flock(handle, fcntl.LOCK_SH)
    except OSError:
        return
