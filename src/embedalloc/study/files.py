"""Files that are either complete or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """Give a temporary path beside the target; move it into place once it is complete.

    The content is on disk before the name changes, so a crash leaves the old file or the new
    one, never half of one. The temporary file keeps the target's suffix, from which writers
    tell the format.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".part-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.chmod(0o644)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
