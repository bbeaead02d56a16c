"""Compressed files: what is inside, told by their first bytes and not by their names."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, Any, BinaryIO, NamedTuple

import pyarrow as pa

from embedalloc.data.table import DataError
from embedalloc.input_file import half_of_memory, read_at_most


class _Packing(NamedTuple):
    """How files of one kind begin, are called and are opened."""

    start: bytes
    ending: str
    open: Callable[[Any], Any]


def _open_zip(file: BinaryIO) -> IO[bytes]:
    archive = zipfile.ZipFile(file)
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    files = [name for name in names if not name.endswith("/")]
    if len(files) != 1:
        raise DataError(f"the archive holds {len(files)} files; take the one that is meant out")
    return archive.open(files[0])


def _open_zstandard(file: BinaryIO) -> Any:
    return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")


_PACKINGS: Mapping[str, _Packing] = {
    "gzip": _Packing(b"\x1f\x8b", ".gz", gzip.open),
    "bzip2": _Packing(b"BZh", ".bz2", bz2.open),
    "xz": _Packing(b"\xfd7zXZ\x00", ".xz", lzma.open),
    "zip": _Packing(b"PK", ".zip", _open_zip),
    "zstd": _Packing(b"\x28\xb5\x2f\xfd", ".zst", _open_zstandard),
}
_DAMAGES = (
    *(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *(NotImplementedError, RuntimeError),  # a zip file with a password or an unknown method
)


def unpack(content: bytes, name: str) -> tuple[bytes, str]:
    """Return content without compression, and the name without its ending.

    A name that promises a compression which the content has not is refused: the content is
    damaged, or something else.
    """
    for packing, (start, ending, opener) in _PACKINGS.items():
        if not content.startswith(start):
            if name.lower().endswith(ending):
                raise DataError(f"not a {packing} file, though its name ends in {ending}")
            continue
        if packing == "zip" and is_workbook(content):
            continue
        try:
            with opener(io.BytesIO(content)) as file:
                inside = read_at_most(file, half_of_memory())
        except DataError:
            raise
        except _DAMAGES as error:
            raise DataError(f"damaged {packing} file ({error})") from None
        return inside, name[: -len(ending)] if name.lower().endswith(ending) else name
    return content, name


def is_workbook(content: bytes) -> bool:
    """Tell whether these bytes are an Excel file, of which the newer kind is a zip file."""
    old = content.startswith(b"\xd0\xcf\x11\xe0")
    return old or (content.startswith(b"PK") and b"xl/workbook" in content)
