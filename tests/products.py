"""Products of parameters: the default tier runs a sample that covers them, a later tier the whole product.

A test of a product names its axes once: `@pytest.mark.parametrize("name, side", sampled(HEADERS, SIDES))`. A test that
loops over a product itself takes its rows from `covering`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from random import Random
from typing import Any

import pytest


def covering(*axes: Iterable[Any], seed: int = 0) -> list[tuple[Any, ...]]:
    """Return rows of a product, in its order, that contain every value; of three or more axes, every pair of values.

    Only the seed decides which rows these are. A new value at the end of the longest axis (the first of several longest
    axes) adds rows and removes none.
    """
    values = [list(axis) for axis in axes]
    rows = sorted(_rows([*map(len, values)], seed))
    return [tuple(axis[at] for axis, at in zip(values, row, strict=True)) for row in rows]


def sampled(*axes: Iterable[Any], seed: int = 0, tier: str = "nightly") -> list[Any]:
    """All rows of a product for `pytest.mark.parametrize`; those that `covering` leaves out have the mark of a tier."""
    values = [list(axis) for axis in axes]
    sizes = [*map(len, values)]
    kept = _rows(sizes, seed)
    later = getattr(pytest.mark, tier)
    return [
        pytest.param(*(axis[at] for axis, at in zip(values, row, strict=True)), marks=() if row in kept else later)
        for row in product(*map(range, sizes))
    ]


def _rows(sizes: Sequence[int], seed: int) -> set[tuple[int, ...]]:
    """The rows of `covering`, as the positions of their values."""
    if not all(sizes):
        return set()
    longest_first = sorted(range(len(sizes)), key=lambda axis: -sizes[axis])
    lengths = [sizes[axis] for axis in longest_first]
    rows = _pairs(lengths, str(seed)) if len(sizes) > 2 else _each(lengths, str(seed))
    place = [longest_first.index(axis) for axis in range(len(sizes))]
    return {tuple(row[at] for at in place) for row in rows}


def _each(lengths: Sequence[int], seed: str) -> Iterator[tuple[int, ...]]:
    """Yield one row for each value of the first axis, which is the longest.

    The values of the other axes are repeated in rounds, and each round is shuffled. In a fixed order, they would occur
    only beside every second or third value of an axis that is itself a product.
    """
    columns: list[list[int]] = [list(range(length)) for length in lengths[:1]]
    for axis, length in enumerate(lengths[1:]):
        random = Random(f"{seed} {axis}")
        column: list[int] = []
        while len(column) < lengths[0]:
            values = list(range(length))
            random.shuffle(values)
            column += values
        columns.append(column)
    yield from zip(*columns, strict=False)


def _pairs(lengths: Sequence[int], seed: str) -> Iterator[tuple[int, ...]]:
    """Yield all pairs of the other axes beside the first axis's first value; beside its other values, `_each`."""
    first, *others = lengths
    if len(others) < 2:
        yield from product(*map(range, lengths))
        return
    yield from ((0, *row) for row in _pairs(others, seed))
    for value in range(1, first):
        yield from ((value, *row) for row in _each(others, f"{seed} {value}"))
