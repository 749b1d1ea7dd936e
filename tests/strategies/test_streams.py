"""Generated streams: legal, complete, and every one of them reachable."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.errors import InvalidArgument

from converse_harness import StreamOrderError, assemble, bedrock, chunk
from converse_harness.bedrock.families import FAMILIES
from converse_harness.literals import FamilyName
from converse_harness.stream.grammar import ORDER, START, StreamOrder, check_order, symbol
from converse_strategies import stream_events
from converse_strategies.basics import faker_texts
from converse_strategies.message.blocks import streamable
from tests.profiles import examples
from tests.strategies.conftest import as_drawn, found, never, smallest

Event = dict[str, Any]

UNIONS = {"contentBlockStart": "ContentBlockStart", "contentBlockDelta": "ContentBlockDelta"}


def in_model(name: str) -> bool:
    """Whether the installed botocore has a symbol of the table."""
    event, _, member = name.partition(".")
    return not member or bedrock.has_member(UNIONS[event], member.partition(".")[0])


STATES = {START, *(to for moves in ORDER.values() for name, to in moves.items() if in_model(name))}
MOVES = {(state, name) for state in STATES for name in ORDER[state] if in_model(name)}
if not bedrock.has_shape("WebLocation"):  # only what cites nothing but web pages may have no text
    MOVES.remove(("citation", "contentBlockStop"))


def moves_of(events: list[Event]) -> set[tuple[str, str]]:
    """The moves in the table of the order that a stream makes."""
    order, made = StreamOrder(), set[tuple[str, str]]()
    for event in events:
        made.add((order.state, symbol(event)))
        order.feed(event)
    return made


@given(events=stream_events())
def test_every_stream_is_legal_and_valid_and_its_usage_adds_up(events: list[Event]) -> None:
    check_order(events)
    for event in events:
        bedrock.check("ConverseStreamOutput", event)
    response = assemble(events)
    bedrock.check("Message", response.message)
    usage = response.usage or {}
    parts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    assert usage["totalTokens"] == sum(usage.get(part, 0) for part in parts)


@given(events=stream_events())
def test_a_stop_reason_goes_with_the_blocks(events: list[Event]) -> None:
    response = assemble(events)
    uses = [block["toolUse"] for block in response.message["content"] if "toolUse" in block]
    asks = any(use.get("type") != "server_tool_use" for use in uses)
    assert response.stop_reason != ("end_turn" if asks else "tool_use")
    ids = [use["toolUseId"] for use in uses]
    assert len(set(ids)) == len(ids)
    answered = [block["toolResult"]["toolUseId"] for block in response.message["content"] if "toolResult" in block]
    assert set(answered) <= {use["toolUseId"] for use in uses if use.get("type") == "server_tool_use"}


def test_every_move_of_the_order_is_reachable() -> None:
    assert never(stream_events(), MOVES, moves_of) == set()


@given(events=stream_events())
def test_no_other_move_is_made(events: list[Event]) -> None:
    assert moves_of(events) <= MOVES


def test_every_stop_reason_and_every_member_of_the_end_is_reachable() -> None:
    wanted = {("messageStop", name) for name in bedrock.shape("MessageStopEvent").members}
    wanted |= {("metadata", name) for name in bedrock.shape("ConverseStreamMetadataEvent").members}
    wanted |= {("stopReason", reason) for reason in bedrock.enum("StopReason")}

    def seen(events: list[Event]) -> Iterator[tuple[str, str]]:
        for event in events[-2:]:
            yield from ((kind, name) for kind, members in event.items() for name in members)
        yield "stopReason", events[-2]["messageStop"]["stopReason"]

    assert never(stream_events(), wanted, seen) == set()


def test_the_shortest_stream_of_a_tool_use_is_found() -> None:
    events = smallest(
        stream_events(), lambda events: "toolUse" in events[1].get("contentBlockStart", {}).get("start", {})
    )
    assert [symbol(event) for event in events] == [
        "messageStart",
        "contentBlockStart.toolUse",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]


@pytest.mark.parametrize("kind", streamable())
def test_kinds_choose_the_blocks(kind: str) -> None:
    @given(events=stream_events(kinds=[kind], min_blocks=1))
    @settings(max_examples=examples(0.5))
    def only_this(events: list[Event]) -> None:
        found = {next(iter(block)) for block in assemble(events).message["content"]}
        assert found in ({kind}, {"toolUse", kind})

    only_this()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_cuts_as_it_does(family: FamilyName) -> None:
    @given(events=stream_events(min_blocks=1, family=family))
    @settings(max_examples=examples(0.5))
    def as_the_family(events: list[Event]) -> None:
        response = assemble(events)
        again = chunk(response.message, family=FAMILIES[family], stop_reason=response.stop_reason)
        assert events[:-2] == again[:-2]

    as_the_family()


@given(events=stream_events(kinds=["text"], min_blocks=1, texts=faker_texts(min_words=2)))
def test_texts_are_drawn_from_what_was_given(events: list[Event]) -> None:
    assert all(block["text"].endswith(".") for block in assemble(events).message["content"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"kinds": ["txt"]},
            "stream_events(kinds=['txt']): 'txt' is no choice of kinds; did you mean 'text'? Give a list of some of: ",
        ),
        ({"kinds": "text"}, "stream_events(kinds='text'): kinds is a list of names. Write kinds=['text']."),
        ({"kinds": []}, "stream_events(kinds=[]): [] is no choice of kinds. "),
        ({"family": "amazon"}, "stream_events(family='amazon') is no model family. One of: ai21, claude, claude-3, "),
    ],
)
def test_wrong_arguments_are_refused_when_drawn(arguments: dict[str, Any], message: str) -> None:
    strategy = stream_events(**arguments)
    with pytest.raises(InvalidArgument) as caught:
        found(strategy, lambda events: False)
    assert str(caught.value).startswith(message)


def starts_with_empty_unions(cut_block: Any) -> Any:
    def cut(*arguments: Any) -> Any:
        start, deltas = cut_block(*arguments)
        return None if start is None else {}, deltas

    return cut


def one_id_for_all(parts: list[list[dict[str, Any] | None]]) -> None:
    for member in filter(None, chain.from_iterable(parts)):
        member["toolUseId"] = "tooluse_a"


@pytest.mark.parametrize(
    ("owner", "name", "mutated", "proof", "error"),
    [
        (
            "converse_harness.stream.chunk",
            "_cut_block",
            starts_with_empty_unions,
            test_every_stream_is_legal_and_valid_and_its_usage_adds_up,
            StreamOrderError,
        ),
        (
            "converse_strategies.streams",
            "rename_tools",
            lambda rename: one_id_for_all,
            test_a_stop_reason_goes_with_the_blocks,
            AssertionError,
        ),
        (
            "converse_strategies.message.answer_end",
            "stop_reasons_after",
            lambda reasons: lambda usual: reasons("end_turn"),
            test_a_stop_reason_goes_with_the_blocks,
            AssertionError,
        ),
    ],
    ids=["start: {}", "one toolUseId for all", "end_turn after a tool use"],
)
def test_the_properties_see_a_generator_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch, owner: str, name: str, mutated: Any, proof: Any, error: type[Exception]
) -> None:
    module = import_module(owner)
    monkeypatch.setattr(module, name, mutated(getattr(module, name)))
    mutant = given(events=stream_events())(proof.hypothesis.inner_test)
    with pytest.raises(error):
        as_drawn(15)(mutant)()
