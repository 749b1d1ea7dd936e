"""Bugs of public threads, six of the prompt cache and five of the loop at least: the right key of a budget is over."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import pytest

from converse_harness import CallError, fake_converse
from tests.features.budgets.bugs import BUGS, PublicBug
from tests.features.budgets.stages import NEEDS_CACHE, NEEDS_HISTORY

MARKS: Final = {"rewrites": (NEEDS_CACHE,), "same_tool_again": (NEEDS_HISTORY,)}


@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.thread, marks=MARKS.get(bug.over, ())) for bug in BUGS])
def test_the_right_key_is_over_and_the_mended_agent_keeps_the_budget(bug: PublicBug) -> None:
    with fake_converse(cache_minimum=0, unused="allow") as fake:
        bug.script(fake)
        with pytest.raises(CallError) as raised, fake.budget(**bug.budget):
            bug.agent(mended=False)
    head = str(raised.value).partition(". ")[0]
    assert re.findall(r"\d+ (\w+) of \d+", head) == [bug.over], head
    with fake_converse(cache_minimum=0, unused="allow") as fake:
        bug.script(fake)
        with fake.budget(**bug.budget):
            bug.agent(mended=True)
        assert len(fake.calls) > (bug.over == "rewrites")
        assert bug.over != "rewrites" or fake.cache.read, "where nothing is cached, nothing can be written again"


def test_there_are_bugs_of_each_kind() -> None:
    kinds = Counter(bug.over for bug in BUGS)
    assert kinds["rewrites"] >= 6
    assert kinds["calls"] + kinds["same_tool_again"] >= 5
    assert all(kinds[key] for key in ("calls", "same_tool_again", "rewrites"))
