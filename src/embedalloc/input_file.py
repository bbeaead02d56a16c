"""The content of a file that a user names, read once, or one line that says why not."""

import errno
import io
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

#: Names of the standard input.
STANDARD_INPUT = ("-", "/dev/stdin")
#: Names of pipes that are open already, such as those of `<(command)` in a shell.
_OPEN_PIPES = ("/dev/fd/", "/proc/self/fd/")
_CHUNK = 1 << 24


def read_content(path: str | Path, *, most: int | None = None) -> bytes:
    """Return the bytes of a file; `-` is the standard input.

    Parameters
    ----------
    path
        A file, the standard input, or a pipe that is open already. A device may have no end and
        a named pipe may have no beginning: they are refused.
    most
        More bytes than this are refused; by default half of the machine's memory.

    Raises
    ------
    OSError
        With `strerror`, or else its text, for a message in one line.
    """
    most = half_of_memory() if most is None else most
    if str(path) in STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("the standard input is closed")
        return _read(sys.stdin.buffer, most)
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISFIFO(mode) and not str(path).startswith(_OPEN_PIPES):
        raise OSError("a named pipe, on which reading may wait for ever; use `- < pipe`")
    _refuse_device(mode)
    with open(path, "rb") as file:
        return _read(file, most)


def half_of_memory() -> int:
    """Return how many bytes a file may have that is to be worked on in memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def read_at_most(file: BinaryIO, most: int) -> bytes:
    """Return all bytes of an open file, or refuse it where there are more than so many."""
    content = io.BytesIO()
    while chunk := file.read(_CHUNK):
        content.write(chunk)
        if content.tell() > most:
            raise OSError(f"more than {most:,} bytes are too many; take a part of it")
    return content.getvalue()


def _read(file: BinaryIO, most: int) -> bytes:
    try:
        before = os.fstat(file.fileno())
    except OSError:  # the standard input in a test or a notebook is no file
        return read_at_most(file, most)
    if not file.isatty():
        _refuse_device(before.st_mode)
    content = read_at_most(file, most)
    after = os.fstat(file.fileno())
    if stat.S_ISREG(before.st_mode) and (before.st_size, before.st_mtime_ns) != (
        after.st_size,
        after.st_mtime_ns,
    ):
        raise OSError("it changed while it was read; try again when nobody writes to it")
    return content


def _refuse_device(mode: int) -> None:
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise OSError("a device, not a file")
