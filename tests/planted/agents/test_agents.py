"""The agent without a mistake is accused of nothing, and the kit finds the mistakes that are planted into it."""

from __future__ import annotations

from typing import Final

import pytest

from tests.planted.agents.measure import WAYS, finders, stored
from tests.planted.agents.mistakes import MISTAKES, source

BY_NOTHING: Final = {
    "last_block": "on legal streams it is no mistake, and a broken one may be refused",
}
"""Mistakes that no way finds, each with the reason."""


def test_each_mistake_changes_the_agent() -> None:
    right = source()
    for mistake in MISTAKES:
        changed = source(mistake)
        assert changed != right
        compile(changed, mistake.name, "exec")
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)


def test_every_mistake_was_measured() -> None:
    found = stored()
    assert [*found] == ["right", *(mistake.name for mistake in MISTAKES)]
    assert all([*row] == [*WAYS] for row in found.values())


def test_the_right_agent_was_accused_of_nothing() -> None:
    assert {way: names for way, names in stored()["right"].items() if names} == {}


def test_what_nothing_finds_has_a_reason() -> None:
    found = stored()
    assert {name for name, row in found.items() if not any(row.values())} == {"right", *BY_NOTHING}


@pytest.mark.needs_os
@pytest.mark.parametrize(
    "name",
    [pytest.param("right", marks=pytest.mark.nightly), pytest.param("text_of_first_try_kept", marks=pytest.mark.slow)],
)
def test_the_measurement_is_true(name: str) -> None:
    """Which properties find a mistake is left to chance; whether a way finds it is not."""
    mistake = next((each for each in MISTAKES if each.name == name), None)
    found, before = finders(mistake), stored()[name]
    assert {way: bool(names) for way, names in found.items()} == {way: bool(names) for way, names in before.items()}
