"""The zip itself: the same files give the same bytes, and nothing else is taken for one.

Files are stored and not compressed: compressed bytes differ between versions of zlib, and what is
not compressed cannot unpack to more than it is. Names are sorted, dates are the zip format's first
day, and no field tells of the machine. So an archive can be written again from what it holds, and
one that does not come out the same is refused.
"""

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

#: Plain relative names: what this project writes has no others.
_NAME = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*")
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
#: More than a large study makes, and what a machine has in memory.
MAX_BYTES, MAX_FILES = 4 * 10**9, 100_000

Files = Mapping[str, bytes]


class ArchiveError(ValueError):
    """An archive cannot be trusted, or cannot be made; the message is one line."""


def is_plain(name: str) -> bool:
    """Return whether a name stays inside a folder on every system."""
    return _NAME.fullmatch(name) is not None and not {"", ".", ".."} & {*name.split("/")}


def zip_files(files: Files) -> bytes:
    """Return the zip of some files by name, the same bytes anywhere."""
    if odd := sorted(name for name in files if not is_plain(name)):
        raise ArchiveError(f"{odd[0]!r} cannot be the name of a file in an archive")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _FIRST_DAY)
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])
    return stream.getvalue()


def unzip_files(path: str | Path) -> dict[str, bytes]:
    """Return the files of an archive by name, or refuse it before anything is unpacked."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read ({error.strerror})") from None
    if len(content) > MAX_BYTES:
        raise ArchiveError(f"{path}: larger than {MAX_BYTES / 1e9:.0f} GB")
    try:
        files = _read_entries(content)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ArchiveError(f"{path}: {reason}") from None
    if zip_files(files) != content:
        raise ArchiveError(f"{path}: its bytes between the files are not as an archive's are")
    return files


def _read_entries(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_FILES:
            raise ArchiveError(f"it has more than {MAX_FILES:,} files")
        for entry in entries:
            _refuse_odd(entry)
        names = [entry.filename for entry in entries]
        if len({name.lower() for name in names}) < len(names):
            raise ArchiveError("it has a name twice")
        if sum(entry.file_size for entry in entries) > len(content):
            raise ArchiveError("its files overlap: it would unpack to more than it is")
        return {entry.filename: archive.read(entry) for entry in entries}


def _refuse_odd(entry: zipfile.ZipInfo) -> None:
    if not is_plain(entry.filename):
        raise ArchiveError(f"{entry.filename!r} may lie outside the folder it is unpacked to")
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        raise ArchiveError(f"{entry.filename!r} is a link or no file at all")
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise ArchiveError(f"{entry.filename!r} is compressed, which files of an archive are not")
    if entry.flag_bits & 1:
        raise ArchiveError(f"{entry.filename!r} is encrypted")
