"""The contract accuses right consumers of nothing, whatever their design."""

from __future__ import annotations

from typing import Final

import pytest

from tests.planted.by_contract import PROPERTIES_FIRST, accusations
from tests.planted.clean import CLEAN, seeded
from tests.profiles import examples

SOME: Final = ("tool_interleaved", "unknown_delta", "reasoning_omitted", "citation_several", "no_block_start")
SEEDS: Final = 20


@pytest.mark.parametrize("name", CLEAN)
def test_a_right_consumer_is_accused_of_nothing(name: str) -> None:
    contract = seeded(CLEAN[name](), examples=examples(0.4))
    some = [case for case in SOME if case in contract.cases()]
    assert [by for by, _ in accusations(contract, *some, *PROPERTIES_FIRST)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CLEAN)
def test_a_right_consumer_is_accused_of_nothing_by_any_case(name: str) -> None:
    contract = seeded(CLEAN[name]())
    accused = accusations(contract, *contract.cases())
    assert [(by, tried.seen.verdict.why) for by, tried in accused] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", CLEAN)
def test_a_right_consumer_is_accused_of_nothing_with_any_seed(name: str) -> None:
    for seed in range(SEEDS):
        accused = accusations(seeded(CLEAN[name](), seed=seed), *PROPERTIES_FIRST)
        assert [(seed, by, tried.seen.verdict.why) for by, tried in accused] == []
