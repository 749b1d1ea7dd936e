"""The sample of a product: what it covers, that it stays the same, and where the rest of the product is."""

from itertools import combinations, product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.products import covering, sampled

Axes = list[list[int]]


def axes(least: int, most: int) -> st.SearchStrategy[Axes]:
    return st.lists(st.integers(1, 5).map(lambda size: list(range(size))), min_size=least, max_size=most)


SEEDS = st.integers(0, 99)


@given(axes(1, 2), SEEDS)
def test_of_one_or_two_axes_every_value_is_there_and_no_row_too_many(given_axes: Axes, seed: int) -> None:
    rows = covering(*given_axes, seed=seed)
    for position, axis in enumerate(given_axes):
        assert {row[position] for row in rows} == set(axis)
    assert len(rows) == max(map(len, given_axes))


@given(axes(3, 5), SEEDS)
def test_of_more_axes_every_pair_is_there(given_axes: Axes, seed: int) -> None:
    rows = covering(*given_axes, seed=seed)
    for one, other in combinations(range(len(given_axes)), 2):
        assert {(row[one], row[other]) for row in rows} == set(product(given_axes[one], given_axes[other]))


@given(axes(3, 3), SEEDS)
def test_the_pairs_of_three_axes_need_few_rows(given_axes: Axes, seed: int) -> None:
    longest, second, shortest = sorted(map(len, given_axes), reverse=True)
    assert len(covering(*given_axes, seed=seed)) == longest * second + second * (shortest - 1)


@given(axes(1, 4), SEEDS)
def test_a_value_at_the_end_of_the_longest_axis_takes_no_row_away(given_axes: Axes, seed: int) -> None:
    before = covering(*given_axes, seed=seed)
    longest = max(given_axes, key=len)
    longest.append(len(longest))
    after = covering(*given_axes, seed=seed)
    assert [row for row in after if row in before] == before
    assert len(after) > len(before)


@given(axes(0, 4), SEEDS)
def test_the_sample_is_the_default_tier_and_the_rest_another(given_axes: Axes, seed: int) -> None:
    params = sampled(*given_axes, seed=seed)
    assert [param.values for param in params] == list(product(*given_axes))
    assert [param.values for param in params if not param.marks] == covering(*given_axes, seed=seed)
    assert {mark.name for param in params for mark in param.marks} <= {"nightly"}


def test_another_tier() -> None:
    rest = [param for param in sampled("ab", "cd", tier="slow") if param.marks]
    assert [[mark.name for mark in param.marks] for param in rest] == [["slow"], ["slow"]]


def test_no_value_goes_with_every_second_one() -> None:
    rows = covering(product("abcdefghij", "xy"), "12")
    assert {(second, number) for (_, second), number in rows} == set(product("xy", "12"))


def test_the_seed_chooses() -> None:
    chosen = {tuple(covering(range(6), range(6), seed=seed)) for seed in range(9)}
    assert len(chosen) == 9
    assert covering(range(6), range(6), seed=3) in [list(rows) for rows in chosen]


def test_values_may_be_anything() -> None:
    values: list[Any] = [1, True, [], {}, []]
    assert len(covering(values, "a")) == 5


def test_an_empty_axis_leaves_nothing() -> None:
    assert covering("ab", "", "c") == sampled("ab", "", "c") == []
