"""The contract finds the bugs that an Outcome can show."""

from __future__ import annotations

import pytest

from converse_harness.cases import CASES
from converse_harness.contract.properties import PROPERTIES
from tests.planted.bugs import BUGS, Bug
from tests.planted.by_contract import NOT_SHOWN, PROPERTIES_FIRST, accusations, contract_of, found_by
from tests.planted.contract_column import FOUND_BY
from tests.planted.mended import mended
from tests.profiles import examples

FOUND = 45


AT_THE_EDGE = ("index_as_text", "integers_of_64_bits", "return_at_end", "deltas_200", "signature_stays", "first_item")


@pytest.mark.parametrize("name", AT_THE_EDGE)
def test_answers_at_the_edge_find_what_is_seldom_drawn(name: str) -> None:
    bug = next(bug for bug in BUGS if bug.name == name)
    contract = contract_of(mended(bug.consumer, bug))
    assert [found for found, _ in accusations(contract, "any_extreme")] == ["any_extreme"]


def test_the_column_has_every_bug_that_an_outcome_can_show() -> None:
    assert {*FOUND_BY} | {*NOT_SHOWN} == {bug.name for bug in BUGS}
    assert {*FOUND_BY.values()} <= {*PROPERTIES, *CASES}


def test_every_bug_that_an_outcome_cannot_show_has_a_reason() -> None:
    assert {*NOT_SHOWN} <= {bug.name for bug in BUGS}
    assert len(BUGS) - len(NOT_SHOWN) >= FOUND


def test_a_bug_that_an_outcome_cannot_show_is_not_found() -> None:
    for name in NOT_SHOWN:
        bug = next(bug for bug in BUGS if bug.name == name)
        contract = contract_of(mended(bug.consumer, bug), examples=examples(0.4))
        assert [found for found, _ in accusations(contract, *PROPERTIES_FIRST, "stop_unknown")] == []


@pytest.mark.nightly
def test_the_contract_finds_what_an_outcome_can_show() -> None:
    missed: list[Bug] = [bug for bug in BUGS if bug.name not in NOT_SHOWN and not found_by(bug)]
    assert len(BUGS) - len(NOT_SHOWN) - len(missed) >= FOUND, [bug.name for bug in missed]
