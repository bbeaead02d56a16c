"""An order of levels and rows that only the data decide, however the table was written down."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.streams import stream

Hashes = NDArray[np.uint64]
Codes = NDArray[np.integer[Any]]
Rows = NDArray[np.intp]
Kind = TypeVar("Kind", bound=np.generic)

#: Levels are told apart one by one as long as marks times rows stay below this.
MOST_MARKED_ROWS = 1_000_000
#: Numbers that are scrambled at a time: they stay in the cache, and what lies between is small.
PIECE = 16_384
#: About so many are sorted at a time, for the same reasons.
SORTED_AT_ONCE = 65_536


def smallest_type(largest: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the smallest type of codes from 0 to the largest."""
    return np.min_scalar_type(largest)


def cut(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield the pieces that rows are worked on in."""
    for begin in range(0, len(rows), PIECE):
        yield slice(begin, begin + PIECE)


def look_up(values: NDArray[Kind], codes: Codes) -> NDArray[Kind]:
    """Return what belongs to the level of every row.

    In pieces, for numpy makes eight bytes of every code that it looks up.
    """
    found = np.empty((len(codes), *values.shape[1:]), values.dtype)
    for piece in cut(codes):
        found[piece] = values[codes[piece]]
    return found


def order_canonically(fields: Sequence[Codes], basis: Hashes) -> tuple[list[Codes], Rows]:
    """Give levels numbers from 1, and rows an order, that the data alone decide.

    A row's fingerprint starts from its numbers and target; a level's is the sum of its rows'
    fingerprints and its row count; rows then take in the fingerprints of their levels, and so on
    for some rounds. Levels are numbered by falling row count, then by fingerprint, rows ordered
    by fingerprint. Of levels that stay equal an arbitrary one is marked, and the mark spreads
    before the next is chosen: levels that swap only together with others go on together. So the
    choice is not visible, unless the levels form a contrived, perfectly regular pattern or are
    too many to be told apart one by one.

    Parameters
    ----------
    fields
        For every field its levels as numbers from 0, in any order.
    basis
        A number per row that stands for everything else in it.

    Returns
    -------
    tuple
        The new level numbers, in the given order of rows, and the order of the rows.
    """
    rows = marked = _spread(fields, basis)
    ties = []
    for codes in fields:
        marked = _tell_levels_apart(fields, codes, marked)
        ties.append(_hash_levels(codes, marked))
    del marked  # large tables are all that takes memory here
    numbered = []
    for position, codes in enumerate(fields):
        counts = np.bincount(codes).astype(np.int64)
        order = np.lexsort((ties.pop(0), _hash_levels(codes, rows), -counts))
        number_of = np.empty(len(counts), dtype=smallest_type(len(counts)))
        number_of[order] = np.arange(1, len(counts) + 1)
        numbered.append(look_up(number_of, codes))
        _stir(rows, [(codes, _salt(number_of.astype(np.uint64), position))])
    return numbered, sort_places(rows)


def identify_rows(fields: Sequence[Codes], basis: Hashes, order: Rows) -> Hashes:
    """Return a number per row that other rows hardly change, all of them different.

    It stands for the row's numbers, target and rarest level, that one by the sum of its rows'
    numbers. A row more or less changes those of the few rows that share a rarest level with it.
    Rows that are the same are told apart by how many came before in the given order.
    """
    levels = [
        (codes, np.bincount(codes), _salt(_hash_levels(codes, basis), position))
        for position, codes in enumerate(fields)
    ]
    rows = basis.copy()
    for piece in cut(rows):
        some = rows[piece]
        fewest, rarest = np.full(len(some), len(basis) + 1), np.zeros_like(some)
        for codes, counts, prints in levels:
            own = counts[codes[piece]]
            np.copyto(rarest, prints[codes[piece]], where=own < fewest)
            np.minimum(own, fewest, out=fewest)
        rows[piece] = _mix(some ^ rarest)
    before = np.zeros(1, np.uint64)
    twice = _find_repeated(rows)
    if twice.size:
        again = order[np.isin(rows[order], twice)]
        before = np.zeros_like(rows)
        before[again] = pd.Series(rows[again]).groupby(rows[again]).cumcount()
    rows += _mix(before)
    return _mix(rows)


def scramble(keys: Hashes, seed: int, *parts: str | int) -> Hashes:
    """Return numbers that look random and have this name, one for each key."""
    salt = stream(seed, *parts).integers(2**64, dtype=np.uint64)
    return _mix(keys ^ salt)


def sort_places(keys: Hashes) -> Rows:
    """Return the places of numbers in ascending order, equal ones as they stand.

    Many are divided by their first bits, so that what is needed beside the result is small.
    """
    order = np.empty(len(keys), dtype=np.intp)
    end = 0
    for places in _divide(keys):
        begin, end = end, end + len(places)
        order[begin:end] = places[_sort_few(keys[places])]
    return order


def _divide(keys: Hashes) -> Iterator[Rows]:
    """Yield the places of the smallest keys, of those above them, and so on."""
    bits = min((len(keys) // SORTED_AT_ONCE).bit_length(), 8)
    if not bits:
        yield np.arange(len(keys))
        return
    first = np.empty(len(keys), np.uint8)
    for piece in cut(keys):
        first[piece] = keys[piece] >> np.uint64(64 - bits)
    for part in range(2**bits):
        yield np.flatnonzero(first == part)


def _sort_few(keys: Hashes) -> Rows:
    """Return the places of keys in order; 16 bits are what numpy sorts in linear time."""
    parts = keys.astype("<u8", copy=False).view("<u2").reshape(-1, 4)
    order = np.argsort(parts[:, 0], kind="stable")
    for part in parts.T[1:]:
        order = order[np.argsort(part[order], kind="stable")]
    return order


def _find_repeated(keys: Hashes) -> Hashes:
    """Return the keys that are there more than once."""
    found = []
    for places in _divide(keys):
        some = np.sort(keys[places])
        found.append(some[1:][some[1:] == some[:-1]])
    return np.concatenate(found)


def _stir(rows: Hashes, levels: Iterable[tuple[Codes, Hashes]]) -> None:
    """Let rows take in a number per level, field by field."""
    levels = list(levels)
    for piece in cut(rows):
        mixed = rows[piece]
        for codes, numbers in levels:
            mixed = _mix(mixed ^ numbers[codes[piece]])
        rows[piece] = mixed


def _spread(fields: Sequence[Codes], rows: Hashes) -> Hashes:
    """Let rows take in the fingerprints of their levels, twice."""
    rows = rows.copy()
    for _ in range(2):
        prints = [_hash_levels(codes, rows) for codes in fields]
        _stir(
            rows,
            (
                (codes, _salt(each, position))
                for position, (codes, each) in enumerate(zip(fields, prints, strict=True))
            ),
        )
    return rows


def _tell_levels_apart(fields: Sequence[Codes], codes: Codes, rows: Hashes) -> Hashes:
    """Mark one of a field's equal levels after the other, each time with what follows from it."""
    for _ in range(MOST_MARKED_ROWS // max(len(rows), 1)):
        _, first, count = np.unique(
            _hash_levels(codes, rows), return_index=True, return_counts=True
        )
        equal = first[count > 1]
        if not equal.size:
            break
        rows = _spread(fields, np.where(codes == equal[0], ~rows, rows))
    return rows


def _hash_levels(codes: Codes, rows: Hashes) -> Hashes:
    """Return a number per level that the multiset of its rows decides."""
    totals = np.zeros(int(codes.max()) + 1 if len(codes) else 0, dtype=np.uint64)
    for piece in cut(rows):
        np.add.at(totals, codes[piece], _mix(rows[piece]))
    return totals


def _mix(values: Hashes) -> Hashes:
    """Scramble 64-bit numbers (the finaliser of SplitMix64, Steele and others 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    for begin in range(0, len(mixed), PIECE):
        piece = mixed[begin : begin + PIECE]
        piece ^= piece >> np.uint64(30)
        piece *= np.uint64(0xBF58476D1CE4E5B9)
        piece ^= piece >> np.uint64(27)
        piece *= np.uint64(0x94D049BB133111EB)
        piece ^= piece >> np.uint64(31)
    return mixed


def _salt(values: Hashes, position: int) -> Hashes:
    """Scramble numbers differently for every position."""
    return _mix(values + _mix(np.array([position + 1], dtype=np.uint64)))


def hash_rows(columns: Iterable[Floats], target: NDArray[Any]) -> Hashes:
    """Return a number per row from its numeric values and its target."""
    rows = np.zeros(len(target), dtype=np.uint64)
    if np.asarray(target).dtype.kind not in "biuf":
        target = pd.factorize(pd.Series(target), sort=True)[0]
    for position, column in enumerate(chain([np.asarray(target)], columns)):
        for piece in cut(rows):
            values = column[piece].astype(np.float64) + 0.0  # one zero, and one missing value
            values[np.isnan(values)] = np.nan
            rows[piece] = _mix(rows[piece] ^ _salt(values.view(np.uint64), position))
    return rows
