"""Embedding tables from whatever holds a trained model's weights."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedalloc.checks import list_names, show
from embedalloc.model_tables import TableInModel, check_tensor, embedding_tables
from embedalloc.weight_files import TableOnDisk, read_weight_files

#: A weight with this in its name is an embedding table.
MARK = "emb"


def find_tables(source: Any, names: Sequence[str] | None = None) -> tuple[TableInModel, ...]:
    """Return the embedding tables of a model, however it is given.

    Parameters
    ----------
    source
        See `embedalloc.from_model.allocate_from_model`.
    names
        Those that are meant, where weights of other layers lie beside them.
    """
    if isinstance(source, (str, os.PathLike)):
        weights = read_weight_files(Path(source))
        # Files of numpy hold nothing but tables, or nobody would name them.
        return _take(weights, names, guess=Path(source).suffix.lower() != ".npy")
    if isinstance(source, Mapping) and not hasattr(source, "named_modules"):
        tensors = any(hasattr(each, "detach") for each in source.values())
        return _take(source, names, guess=tensors)
    if hasattr(source, "get_layer") or hasattr(source, "embeddings"):
        return _take(_list_keras_tables(source), names, guess=False)
    if hasattr(source, "named_modules"):
        found = embedding_tables(source)
        return found if names is None else _pick(found, names)
    raise TypeError(
        f"{show(source)} is no torch module, state dict, safetensors file, npy file, folder of "
        "such files, dictionary of arrays or Keras model"
    )


def _pick(found: Sequence[TableInModel], names: Sequence[str]) -> tuple[TableInModel, ...]:
    by_name = {table.name: table for table in found}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise ValueError(f"tables: no table {missing[0]!r}; there are {list_names(by_name)}")
    return tuple(by_name[name] for name in names)


def _take(
    weights: Mapping[str, Any], names: Sequence[str] | None, *, guess: bool
) -> tuple[TableInModel, ...]:
    """Return named weights as tables; without names all, or those whose name has the mark."""
    flat = {str(name): each for name, each in weights.items() if np.ndim(each) == 2}
    if names is None:
        names = [name for name in flat if not guess or MARK in name.lower()]
        if not names:
            known = list_names(flat) if flat else "none"
            raise ValueError(
                f"no table has {MARK!r} in its name; name them with tables=[…], of {known}"
            )
    missing = [name for name in names if name not in flat]
    if missing:
        raise ValueError(f"tables: no table {missing[0]!r}; there are {list_names(flat)}")
    owners: dict[Any, list[str]] = {}
    for name in names:
        owners.setdefault(_find_place(flat[name]), []).append(name)
    return tuple(
        TableInModel(first, tuple(others), _check(flat[first], first))
        for first, *others in owners.values()
    )


def _find_place(weight: Any) -> tuple[Any, ...]:
    """Return where the numbers lie, so that a shared table is found."""
    if isinstance(weight, TableOnDisk):
        return weight.path, weight.begin, weight.dtype, weight.shape
    if hasattr(weight, "data_ptr"):
        return weight.data_ptr(), weight.dtype, tuple(weight.shape), weight.stride()
    array = np.asarray(weight)
    return array.__array_interface__["data"][0], str(array.dtype), array.shape, array.strides


def _check(weight: Any, name: str) -> Any:
    """Return a tensor or a table on disk, and what is neither as an array of numbers."""
    if isinstance(weight, TableOnDisk):
        return weight
    if hasattr(weight, "data_ptr"):
        check_tensor(weight, name)
        return weight
    array = np.asarray(weight)
    if array.dtype.kind != "f" or 0 in array.shape:
        raise ValueError(f"table {name!r} holds {array.dtype} of shape {array.shape}, no weights")
    return array


def _list_keras_tables(source: Any) -> dict[str, NDArray[Any]]:
    """Return the tables of a Keras model, by the names of their layers."""
    layers = [source] if hasattr(source, "embeddings") else list(_walk(source))
    found: dict[str, NDArray[Any]] = {}
    for layer in layers:
        if not hasattr(layer, "embeddings"):
            continue
        name = str(layer.name)
        while name in found:
            name += "_"
        value = layer.embeddings
        found[name] = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if not found:
        raise ValueError(f"{type(source).__name__} has no Embedding layer that is built")
    return found


def _walk(model: Any) -> Any:
    """Yield the layers of a Keras model, those of models inside it too."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _walk(layer)
        else:
            yield layer
