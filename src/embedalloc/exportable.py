"""What exporters take: an allocation, or what holds one, and names that modules can have."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from embedalloc.checks import show, whole_number
from embedalloc.result import Allocation

if TYPE_CHECKING:
    from embedalloc.data.estimator import EmbeddingAllocator

#: What exporters take: see `find_allocation`.
Exportable: TypeAlias = "Allocation | EmbeddingAllocator | Mapping[str, Any]"


def find_allocation(source: Exportable) -> Allocation:
    """Return the allocation of whatever holds one.

    Parameters
    ----------
    source
        An `Allocation`, a fitted `EmbeddingAllocator`, or a dictionary by field: rows and
        dimension as a pair, or under the names ``rows`` and ``dimension`` as in `tables_`.

    Returns
    -------
    Allocation
        Of a dictionary: with what its tables cost as budget.

    Examples
    --------
    >>> find_allocation({"user": (943, 8), "item": {"rows": 1682, "dimension": 7}}).cost
    19318
    """
    if isinstance(source, Allocation):
        return source
    fitted = getattr(source, "allocation_", None)
    if isinstance(fitted, Allocation):
        return fitted
    if not isinstance(source, Mapping):
        raise ValueError(
            f"{show(source)} is no allocation, fitted estimator, or dictionary of rows and "
            "dimension by field"
        )
    sizes = {name: _read_size(name, entry) for name, entry in source.items()}
    parameters = {name: rows * dimension for name, (rows, dimension) in sizes.items()}
    return Allocation(
        "given",
        {name: dimension for name, (_, dimension) in sizes.items()},
        {name: rows for name, (rows, _) in sizes.items()},
        parameters,
        sum(parameters.values()),
    )


def without_dots(name: str) -> str:
    """Return a name with its dots and per cent signs as in web addresses."""
    if not name:
        raise ValueError("a field with an empty name cannot be the key of a module")
    return name.replace("%", "%25").replace(".", "%2E")


def _read_size(name: str, entry: Any) -> tuple[int, int]:
    """Return rows and dimension of one field of a dictionary."""
    if isinstance(entry, Mapping) and {"rows", "dimension"} <= entry.keys():
        entry = (entry["rows"], entry["dimension"])
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise ValueError(f"{name!r}: {show(entry)} is not rows and dimension, such as (943, 8)")
    rows = whole_number(entry[0], f"{name!r}, rows", least=1)
    return rows, whole_number(entry[1], f"{name!r}, dimension", least=0)
