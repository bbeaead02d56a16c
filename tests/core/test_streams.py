"""Random streams depend on their names and on nothing else."""

import numpy as np
import pytest

from embedalloc.streams import stream


def test_same_name_same_numbers_whatever_came_before():
    first = stream(7, "exp3", 2000, 5).normal(size=4)
    stream(7, "exp3", 2000, 4).normal(size=100)
    np.testing.assert_array_equal(stream(7, "exp3", 2000, 5).normal(size=4), first)


def test_every_part_counts_and_so_does_its_type_and_place():
    names = [
        (7, "a", 1),
        (8, "a", 1),
        (7, "b", 1),
        (7, "a", 2),
        (7, 1, "a"),
        (7, "a", "1"),
        (7, "a1"),
    ]
    draws = {tuple(stream(*name).integers(0, 2**60, 3)) for name in names}
    assert len(draws) == len(names)


def test_numbers_are_pinned():
    """A change of these values would silently change every result of the study."""
    assert stream(20260, "exp1", "exponential", 0).integers(0, 1000, 5).tolist() == [
        948,
        855,
        318,
        277,
        35,
    ]


def test_streams_of_neighbours_are_uncorrelated():
    draws = np.array([stream(1, "x", i).normal(size=400) for i in range(200)])
    correlations = np.corrcoef(draws)[np.triu_indices(200, 1)]
    assert abs(correlations).max() < 5.5 / np.sqrt(400)
    assert abs(correlations.mean()) < 5 / np.sqrt(400 * len(correlations))


@pytest.mark.parametrize("part", [1.5, None, True, ("a",)])
def test_other_parts_are_refused(part):
    with pytest.raises(TypeError, match="strings and whole numbers"):
        stream(1, "x", part)
