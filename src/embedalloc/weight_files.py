"""Matrices of weights in files, of which only the rows that are asked for come into memory."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedalloc.checks import show

#: Floating-point numbers of safetensors files: their name in numpy and how they are stored.
_DTYPES = {
    "F64": ("float64", "<f8"),
    "F32": ("float32", "<f4"),
    "F16": ("float16", "<f2"),
    "BF16": ("bfloat16", "<u2"),
}


@dataclass(frozen=True)
class TableOnDisk:
    """A matrix in a file.

    Attributes
    ----------
    path, begin
        The file, and the byte at which the numbers start.
    dtype
        What the numbers are: float16, bfloat16, float32 or float64.
    stored
        How numpy reads them; a bfloat16 as a whole number of two bytes.
    shape
        Rows and columns.
    """

    path: Path
    begin: int
    dtype: str
    stored: str
    shape: tuple[int, int]
    ndim: int = 2

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows, which are mapped into memory as long as somebody uses them."""
        first, end, _ = rows.indices(self.shape[0])
        width = np.dtype(self.stored).itemsize * self.shape[1]
        shape = (max(end - first, 0), self.shape[1])
        if not shape[0]:
            return np.empty(shape, dtype=np.float32)
        raw = np.memmap(self.path, self.stored, "r", self.begin + first * width, shape)
        # The upper half of a float32 is a bfloat16.
        return (raw.astype(np.uint32) << 16).view(np.float32) if self.dtype == "bfloat16" else raw


def read_weight_files(path: Path) -> dict[str, TableOnDisk]:
    """Return the matrices in a safetensors or npy file, or in all of them in a folder."""
    if not os.path.isdir(path):  # no error for names that no file can have
        return _read_npy(path) if path.suffix.lower() == ".npy" else read_safetensors(path)
    found: dict[str, TableOnDisk] = {}
    for each in sorted(_list_weight_files(path)):
        for name, table in read_weight_files(each).items():
            if name in found:
                raise ValueError(f"{show(str(each))}: {name!r} is in {found[name].path.name} too")
            found[name] = table
    if not found:
        raise ValueError(f"{show(str(path))}: no .safetensors or .npy file in this folder")
    return found


def _list_weight_files(folder: Path) -> Iterator[Path]:
    yield from (each for each in folder.iterdir() if each.suffix in (".safetensors", ".npy"))


def _read_npy(path: Path) -> dict[str, TableOnDisk]:
    """Return the matrix of an npy file, under the name of the file."""
    shown = show(str(path))
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise ValueError(f"{shown}: {error.strerror or error}") from None
    except ValueError:
        raise ValueError(f"{shown} is not an npy file of numbers") from None
    if array.ndim != 2 or array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise ValueError(f"{shown} holds {array.dtype} of shape {array.shape}, no table of weights")
    if not array.flags.c_contiguous:
        raise ValueError(f"{shown} is stored by columns; save np.ascontiguousarray of it")
    rows, columns = array.shape
    kind = array.dtype
    return {path.stem: TableOnDisk(path, array.offset, kind.name, kind.str, (rows, columns))}


def read_safetensors(path: Path) -> dict[str, TableOnDisk]:
    """Return the matrices of floating-point numbers in a safetensors file."""
    shown = show(str(path))
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = min(int.from_bytes(file.read(8), "little"), size)
            header = json.loads(file.read(length))
        places = {
            name: (each["dtype"], tuple(each["shape"]), each["data_offsets"])
            for name, each in header.items()
            if name != "__metadata__"
        }
    except OSError as error:
        raise ValueError(f"{shown}: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError(f"{shown} is not a safetensors file") from None
    found = {}
    for name, (kind, shape, (begin, end)) in places.items():
        if kind not in _DTYPES or len(shape) != 2 or 0 in shape:
            continue
        dtype, stored = _DTYPES[kind]
        if (
            end - begin != np.dtype(stored).itemsize * shape[0] * shape[1]
            or 8 + length + end > size
        ):
            raise ValueError(f"{shown}: {name!r} is damaged")
        found[name] = TableOnDisk(path, 8 + length + begin, dtype, stored, shape)
    return found
