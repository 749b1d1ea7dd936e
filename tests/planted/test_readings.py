"""The contract finds bugs of types, sizes and texts that look like something else, at its default settings."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.planted.by_contract import accusations, contract_of
from tests.planted.mended import mended
from tests.planted.readings import MISREADINGS, misreading


@pytest.mark.parametrize("name", MISREADINGS)
def test_a_misreading_is_found_by_the_answers_at_the_edge(name: str) -> None:
    """The answers at the edge are the same with each seed, so the bug is found with each."""
    contract = contract_of(misreading(name), examples=30)
    assert [found for found, _ in accusations(contract, "any_extreme")] == ["any_extreme"]


SELDOM_DRAWN = {
    *("five_items", "three_levels"),
    *("equal_items_are_one", "arrays_are_flat", "null_items_are_left_out", "properties_are_unwrapped"),
}
"""Bugs that need an array or an object which is drawn too seldom; the answers at the edge have each."""


@pytest.mark.nightly
def test_most_misreadings_are_found_in_drawn_answers_too() -> None:
    """Of answers that are drawn; those at the edge are left out."""
    drawn = ("any_answer", "any_second_try")
    missed = [
        name for name in MISREADINGS if not [*islice(accusations(contract_of(misreading(name)), *drawn, first=True), 1)]
    ]
    # Which others are missed depends on the version of hypothesis, and perhaps on the modules that are imported, whose
    # constants it draws: alone this test missed at most three, in a run of the slow tier four.
    assert len({*missed} - SELDOM_DRAWN) <= 4, missed


def test_the_consumer_without_a_bug_reads_the_answers_at_the_edge() -> None:
    assert [*accusations(contract_of(mended("fold"), examples=60), "any_extreme")] == []
