"""Files that are either complete or not there."""

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: How the name of a file begins that is being written; nothing reads such files.
PARTIAL = ".part-"


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """Give a temporary path beside the target; move it into place once it is complete.

    The content is on disk before the name changes, so a crash leaves the old file or the new
    one, never half of one. The temporary file keeps the target's suffix, from which writers
    tell the format. What an interrupted write left behind is removed by the next write of the
    same target. An error of the system names the target.
    """
    target = Path(target)
    prefix = f"{PARTIAL}{target.name}-"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in target.parent.glob(f"{glob.escape(prefix)}*"):
            leftover.unlink(missing_ok=True)
        partial = target.with_name(f"{prefix}{secrets.token_hex(4)}{target.suffix}")
        partial.touch(exist_ok=False)  # who may read it is up to the user's umask
    except OSError as error:
        raise _named(error, target) from None
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(target)
    except OSError as error:
        raise _named(error, target) from None
    finally:
        partial.unlink(missing_ok=True)


def write_text(target: str | Path, text: str) -> None:
    """Write a text file, complete or not at all."""
    with whole_file(target) as partial:
        partial.write_text(text, encoding="utf-8")


def _named(error: OSError, target: Path) -> OSError:
    """Return the error with the name that the user knows instead of the temporary one."""
    reason = error.strerror or str(error)
    return OSError(error.errno, f"cannot be written ({reason})", str(target))
