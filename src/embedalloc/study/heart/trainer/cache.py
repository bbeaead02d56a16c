"""Machine code on disk that is used only if it is what was written.

Numba keeps what it compiled in files and runs what it finds there: a damaged file ends a job by a
signal, or by an error that explains nothing. Here the files lie in a folder of their own beside a
digest of all of them; where it does not fit, they are thrown away and compiled again.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple


class CodeCache(NamedTuple):
    """Where the machine code of a module is kept, and the sources that it is compiled from."""

    home: Path
    sources: tuple[Path, ...] = ()

    @property
    def code(self) -> Path:
        """The folder that Numba writes to."""
        return self.home / "code"

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Load or compile all functions inside: no damaged file is there, and no other process."""
        lock = os.open(self.home / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            seal = self.home / "sha256"
            if not seal.exists() or seal.read_bytes() != self._digest():
                shutil.rmtree(self.code, ignore_errors=True)
            yield
            seal.write_bytes(self._digest())
        finally:
            os.close(lock)

    def _digest(self) -> bytes:
        digest = hashlib.sha256()
        for path in self.sources:  # Numba itself looks at the module of the called function only
            digest.update(path.read_bytes())
        for path in sorted(path for path in self.code.rglob("*") if path.is_file()):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(self.code)}\n{len(content)}\n".encode() + content)
        return digest.hexdigest().encode()


def cache_beside(source: str | Path, *others: str | Path) -> CodeCache:
    """Return the cache of a module: beside it, or where that is read-only one of this process.

    Where it, or another source that it is compiled from, has changed, it is compiled again.
    """
    sources = tuple(Path(each) for each in (source, *others))
    home = Path(source).parent / "__pycache__" / f"{Path(source).stem}.numba"
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            return CodeCache(home, sources)
    except OSError:
        _own_folders.append(tempfile.TemporaryDirectory(prefix="embedalloc-"))
        return CodeCache(Path(_own_folders[-1].name), sources)


#: Removed when the process ends.
_own_folders: list["tempfile.TemporaryDirectory[str]"] = []
