"""Whatever AWS sent, the fake sends it, a case has it, or a strategy draws it; or a row says why not.

Run as a script, this file writes the tables of docs/census.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.examples.tables import DOCS, Row, Tables, code, names, with_tables, write
from tests.oracle.census import sources
from tests.oracle.census.holes import EXPLAINED, Census, explained, refused, unexplained
from tests.oracle.census.reading import CensusAnswer, Observation, Seen, census, observations
from tests.oracle.census.sources import NEUTRAL, What
from tests.oracle.conftest import ROOT

PAGE: Final = "census.md"
MOST_ROWS: Final = 20


def holes(given: Census) -> Iterator[Row]:
    """The known holes, with their reasons."""
    found = list(given.holes())
    yield "hole", "models", "what", "observations", "why"
    for row in EXPLAINED:
        count = sum(row in explained(kind, each) for kind, each in found)
        yield row.kind, row.family, code(row.what), str(count), row.why


def table(given: Census, kind: str) -> Iterator[Row]:
    """All that is recorded of one kind."""
    yield "what", "operation", "recorded, answers", "months", "here"
    found: defaultdict[What, dict[str, Seen]] = defaultdict(dict)
    for each, seen in given.recorded.items():
        if each.kind == kind:
            found[each.kind, each.operation, each.what][each.family] = seen
    for what, families in sorted(found.items(), key=lambda item: (item[0][2], item[0][1])):
        months = sorted({month for seen in families.values() for month in seen.months})
        span = months[0] if len(months) == 1 else f"{months[0]} to {months[-1]}" if months else "not known"
        counts = ", ".join(f"{family} {seen.count}" for family, seen in sorted(families.items()))
        yield code(what[2]), what[1], counts, span, _here(given, what, sorted(families))


def _here(given: Census, what: What, families: list[str]) -> str:
    sent = [family for family in families if given.is_sent(Observation(what[0], family, what[1], what[2]))]
    if sent == families:
        return "sent"
    some = [f"sent to {', '.join(sent)}"] if sent else []
    if what in given.cases:
        return "; ".join([*some, f"case {code(given.cases[what])}"])
    return "; ".join([*some, "drawn" if what in given.drawn else "no"])


def tables(given: Census) -> Tables:
    """The tables of the page."""
    return {
        "holes": partial(holes, given),
        "exceptions": partial(table, given, "exception"),
        "headers": partial(table, given, "header"),
        "ids": partial(table, given, "form of an id"),
        "orders": partial(table, given, "order of keys"),
        "unions": partial(table, given, "member of a union"),
        "members": partial(table, given, "member"),
        "values": partial(table, given, "value"),
    }


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


def test_the_tables_of_the_page_are_those_of_the_census(given: Census) -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert names(text) == list(tables(given))
    assert text == with_tables(text, tables(given)), f"docs/{PAGE} is behind: python -m tests.oracle.census.test_census"


if __name__ == "__main__":
    write(PAGE, tables(Census.read(ROOT.parent / "shared")))
