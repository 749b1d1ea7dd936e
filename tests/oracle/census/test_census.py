"""Whatever AWS sent, the fake sends it, a case has it, or a strategy draws it; or a row says why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from tests.oracle.census import sources
from tests.oracle.census.holes import EXPLAINED, Census, explained, refused, unexplained
from tests.oracle.census.reading import CensusAnswer, census, observations
from tests.oracle.census.sources import NEUTRAL

MOST_ROWS: Final = 20


@pytest.fixture(scope="module")
def given(shared: Path) -> Census:
    return Census.read(shared)


def test_all_answers_of_both_corpora_are_read(given: Census) -> None:
    assert len(given.answers) == 933
    assert sum(bool(answer.error) for answer, _ in given.answers) == 23
    assert len(given.recorded) > 1000
    assert {each.kind for each in given.recorded} == {each.kind for each in given.sent}


def test_every_hole_has_its_reason(given: Census) -> None:
    assert unexplained(given.holes()) == []


def test_every_reason_is_needed(given: Census) -> None:
    used = {row for kind, each in given.holes() for row in explained(kind, each)}
    assert [row for row in EXPLAINED if row not in used] == []
    assert len(EXPLAINED) <= MOST_ROWS


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nothing draws is looked for three times, and no longer."""
    monkeypatch.setattr(sources, "_BATCHES", 3)


@pytest.mark.usefixtures("few_draws")
def test_what_nothing_here_has_is_a_hole(given: Census) -> None:
    """The same answer with a new member, and with new values, which the fake cannot know."""
    answer, asked = next(each for each in given.answers if each[0].operation == "Converse" and not each[0].error)
    body = {"newMember": {"newValue": "news"}, **answer.events[0][1], "stopReason": "paused"}
    changed = replace(answer, events=(("body", body),))
    found = unexplained(Census([(changed, asked)]).holes())
    family = answer.family
    assert {line for line in found if line.startswith("nowhere")} == {
        f"nowhere: order of keys | {family} | Converse | body: {', '.join(body)}",
        f"nowhere: member | {family} | Converse | body.newMember",
        f"nowhere: member | {family} | Converse | body.newMember.newValue",
        f"nowhere: value | {family} | Converse | body.newMember.newValue = news",
        f"nowhere: value | {family} | Converse | body.stopReason = paused",
    }
    assert [each.family for each in refused(changed)] == [family] * 2


@pytest.mark.usefixtures("few_draws")
def test_what_is_usual_of_a_family_must_be_sent_to_it(given: Census) -> None:
    """Ids as Kimi's in three answers of Claude, which has others."""
    use = {"toolUse": {"toolUseId": "functions.look:0", "name": "look", "input": {"a": 1}}}
    body = {"output": {"message": {"role": "assistant", "content": [use]}}, "stopReason": "tool_use"}
    answers = [CensusAnswer("us.anthropic.claude-sonnet-5", "Converse", (("body", body),))] * 3
    found = unexplained(Census([(answer, None) for answer in answers]).holes())
    path = "body.output.message.content.toolUse.toolUseId: functions.NAME:N"
    assert f"usual but not sent: form of an id | anthropic | Converse | {path}" in found
    assert not [line for line in found if line.startswith("nowhere: form of an id")]


def test_an_observation_is_of_the_form_not_of_the_words() -> None:
    message = {"role": "assistant", "content": [{"text": ""}, {"text": "Hello."}]}
    body: dict[str, Any] = {"output": {"message": message}, "stopReason": "end_turn", "usage": {"z": None, "a": {}}}
    answer = CensusAnswer(NEUTRAL, "Converse", (("body", body),), headers=(("X-Amzn-RequestId", "1"),))
    found = set(observations(answer))
    assert not [what for _, what in found if "Hello" in what]
    assert {what for kind, what in found if kind == "value"} == {
        "body.output.message.content.text = empty",
        "body.output.message.role = assistant",
        "body.stopReason = end_turn",
        "body.usage.a = {}",
        "body.usage.z = null",
    }
    assert {what for kind, what in found if kind == "order of keys"} == {
        "alphabetical",
        "body.output.message: role, content",
        "body.usage: z, a",
    }
    assert ("form of an id", "header x-amzn-requestid: another form") in found
    (seen,) = {each.count for each in census([answer, replace(answer, month="2026-01")]).values()}
    assert seen == 2
