"""The search finds exactly what is needed; the parts of any reply make replies that can be printed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import Reply, reply
from converse_harness.errors import ConverseHarnessError
from converse_harness.features.shrink.parts import events_with, forms_of, is_whole, merged, plainest
from converse_harness.features.shrink.scripts import replies_of
from converse_harness.features.shrink.search import ScriptSearch
from converse_harness.json_schema.checking import holds
from converse_harness.json_schema.parts import SchemaPart
from converse_harness.plugin.reruns.finished import ScriptTurn
from converse_harness.reply.body import BareBody, EventsBody, MessageBody
from converse_harness.reply.source import code_of, script_code
from converse_strategies import faulty_replies, replies
from tests.profiles import examples


@settings(max_examples=examples(1))
@given(st.integers(1, 40), st.data())
def test_exactly_the_needed_turns_are_left(count: int, data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=4))
    turns = [ScriptTurn(at, reply.text(f"Turn {at} of the conversation.")) for at in range(count)]

    def is_found(smaller: Sequence[ScriptTurn]) -> bool:
        return needed <= {turn.origin for turn in smaller}

    search = ScriptSearch(turns, is_found, schemas={}, until=time.monotonic() + 60)
    search.run()
    assert search.finished
    assert [turn.origin for turn in search.turns] == sorted(needed)
    assert {code_of(turn.reply) for turn in search.turns} == {'reply.text(".")'}


@settings(max_examples=examples(1))
@given(
    st.text(st.sampled_from("ab %\n"), min_size=1, max_size=60), st.text(st.sampled_from("%x"), min_size=1, max_size=3)
)
def test_a_text_becomes_the_part_that_is_needed(around: str, needed: str) -> None:
    turns = [ScriptTurn(0, reply.text(f"{around}{needed}{around}"))]

    def is_found(smaller: Sequence[ScriptTurn]) -> bool:
        (turn,) = smaller
        body = turn.reply.plan.body
        assert isinstance(body, MessageBody)
        return needed in body.content[0]["text"]

    search = ScriptSearch(turns, is_found, schemas={}, until=time.monotonic() + 60)
    search.run()
    assert code_of(search.turns[0].reply) == f'reply.text("{needed}")'


def test_input_becomes_the_least_that_the_schema_allows() -> None:
    schema = {
        "type": "object",
        "properties": {"day": {"enum": ["saturday", "sun"]}, "seats": {"type": "integer", "minimum": 2}, "to": {}},
        "required": ["day", "seats"],
    }
    turns = [ScriptTurn(0, reply.tool_use("book", {"day": "sun", "seats": 50, "to": "Tirano"}))]

    def is_found(smaller: Sequence[ScriptTurn]) -> bool:
        body = smaller[0].reply.plan.body
        assert isinstance(body, MessageBody)
        return holds(SchemaPart("#", schema, schema), body.content[0]["toolUse"]["input"])

    search = ScriptSearch(turns, is_found, schemas={"book": schema}, until=time.monotonic() + 60)
    search.run()
    assert code_of(search.turns[0].reply) == 'reply.tool_use("book", {"day": "saturday", "seats": 2})'


def test_the_time_ends_a_search() -> None:
    turns = [ScriptTurn(0, reply.text("One.")), ScriptTurn(1, reply.text("Two."))]
    search = ScriptSearch(turns, lambda _: True, schemas={}, until=time.monotonic())
    search.run()
    assert not search.finished
    assert search.tried == 0
    assert search.turns == tuple(turns)


@settings(max_examples=examples(1))
@given(replies() | faulty_replies().map(lambda faulty: faulty.reply))
def test_a_printed_reply_is_the_reply(drawn: Reply) -> None:
    if isinstance(drawn.plan.body, BareBody):
        return
    (again,) = replies_of(script_code([drawn]))
    assert code_of(again) == code_of(drawn)
    assert again.summary == drawn.summary


@settings(max_examples=examples(1))
@given(replies() | faulty_replies().map(lambda faulty: faulty.reply))
def test_each_form_can_be_printed_and_is_strict_if_the_reply_is(drawn: Reply) -> None:
    if is_whole(drawn):
        return
    made = [*forms_of(drawn), plainest(drawn, {})]
    if isinstance(drawn.plan.body, EventsBody):
        made.append(events_with(drawn, merged(drawn.plan.body.events)))
    for form in made:
        if form is not None:
            (again,) = replies_of(script_code([form]))
            again.plan.check_sendable(None)
            assert [*again.events()] == [*form.events()]
            assert again.plan.summary == form.plan.summary


def test_code_that_is_no_script_is_refused() -> None:
    for code in ("", "1 +", "reply.text('hi')", "converse.script(reply.tex('hi'))", "converse.script(reply.text(1))"):
        try:
            replies_of(code)
        except ConverseHarnessError:
            continue
        raise AssertionError(code)
