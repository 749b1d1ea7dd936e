"""Failing conversations become small: the same failure, legal, and nothing more can be left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from converse_harness import Reply, citing, faults, reply
from converse_harness.features.shrink.scripts import replies_of
from tests.features.shrink.conversations import CONVERSATIONS, Conversation
from tests.features.shrink.removal import removals, seen_with

TOLD = re.compile(
    r"^test_it\.py::test_it: (?P<before>\d+) calls? -> (?P<calls>\d+) calls?, .*?, same failure \((?P<failure>.*)\), "
    r"(?P<seconds>\d+) s\. Paste:\n    (?P<script>converse\.script\(.*\))\n(?P<remarks>(?:    .*\n)*)",
    re.MULTILINE,
)

CONFTEST = """
import signal
import pytest


@pytest.fixture(autouse=True)
def _limited():
    def stop(*_):
        pytest.fail("Timeout (>0.6s) as of a plugin")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.6)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
"""


NAMES: Final[dict[str, object]] = {"reply": reply, "faults": faults, "citing": citing}


def _rows() -> Iterator[Any]:
    """All conversations with the fresh process, those of public reports in the slow tier; and three without it."""
    for each in CONVERSATIONS:
        tier = pytest.mark.slow if each.source else pytest.mark.nightly
        yield pytest.param(each, True, id=each.name, marks=tier)
    for each in CONVERSATIONS:
        if each.is_small:
            yield pytest.param(each, False, id=f"{each.name}-in process")


def _replies(conversation: Conversation) -> list[Reply]:
    found: list[Reply] = eval(conversation.replies, dict(NAMES))
    return found


def test_there_are_twenty_of_ten_to_forty_turns() -> None:
    lengths = {each.name: len(_replies(each)) for each in CONVERSATIONS}
    assert len(lengths) == 20
    assert min(lengths.values()) >= 10
    assert max(lengths.values()) == 40
    assert sum(bool(each.source) for each in CONVERSATIONS) == 10


@pytest.mark.parametrize(("conversation", "fresh"), [*_rows()])
def test_a_failing_conversation_becomes_small(
    conversation: Conversation, fresh: bool, project: pytest.Pytester, request: pytest.FixtureRequest
) -> None:
    if not fresh:
        request.getfixturevalue("confirmed")
    agent = project.makepyfile(agent=conversation.module)
    source = project.makepyfile(test_it=conversation.test())
    if conversation.name == "waits_for_ever":
        project.makeconftest(CONFTEST)
    result = project.runpytest("-q", "--tb=short", "--converse-shrink")
    result.assert_outcomes(failed=1)
    found = TOLD.search(result.stdout.str())
    assert found is not None, result.stdout.str()
    assert found["remarks"] == ""
    assert int(found["seconds"]) <= 60
    assert 1 <= int(found["calls"]) <= conversation.most
    replies = replies_of(found["script"])

    pasted = conversation.test(found["script"])
    project.makepyfile(test_it=pasted)
    # without the option, nothing would end code that asks without end
    endless = ["--converse-shrink=1"] if "asks without end" in found["failure"] else []
    again = project.runpytest("-q", "--tb=short", *endless)
    again.assert_outcomes(failed=1)
    assert conversation.error in again.stdout.str()

    source.write_text(conversation.test())
    whole = seen_with(source, agent, _replies(conversation))
    small = seen_with(source, agent, replies)
    assert small.is_as(whole), (small, whole)
    assert small.hangs or small.error == conversation.error
    for what, smaller in removals(replies):
        assert not seen_with(source, agent, smaller).is_as(whole), what
