"""Cutting and putting together are inverses, whatever the cuts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import assemble, bedrock, chunk
from converse_harness.stream.chunk import Deltas
from converse_harness.stream.grammar import check_order
from converse_strategies import ChunkedMessage, assistant_messages, chunked_messages, chunkings
from converse_strategies.streams import cut
from tests.strategies.conftest import as_drawn, found

Message = dict[str, Any]


@given(case=chunked_messages())
def test_assembled_is_what_was_cut(case: ChunkedMessage) -> None:
    check_order(case.events)
    assert assemble(case.events).message == case.message


@given(message=assistant_messages(), data=st.data())
def test_any_two_chunkings_amount_to_the_same_response(message: Message, data: st.DataObject) -> None:
    one, other = data.draw(chunkings(message)), data.draw(chunkings(message))
    assert assemble(one) == assemble(other) == assemble(chunk(message))


@given(text=st.text(), cuts=st.binary())
def test_pieces_are_the_text(text: str, cuts: bytes) -> None:
    pieces = cut(text, cuts)
    assert "".join(pieces) == text
    assert pieces


@given(pieces=st.lists(st.text(max_size=40), min_size=1))
def test_every_way_to_cut_is_reachable(pieces: list[str]) -> None:
    """The bytes that give these very pieces."""
    cuts = bytearray()
    for piece in pieces[:-1] if pieces[-1] else pieces:
        long, rest = divmod(len(piece), 16)
        cuts += bytes([223 + long] if long else [])
        cuts += bytes([15 + rest]) if rest else b"\xff"
    assert cut("".join(pieces), bytes(cuts)) == pieces


def test_no_cuts_are_one_piece() -> None:
    assert cut("whole", b"") == ["whole"]


@pytest.mark.parametrize("deltas", [[], [""], ["{}"], ["", "{}"], ["{", "}"]])
def test_an_input_without_arguments_is_streamed_in_every_form(deltas: list[str]) -> None:
    tool = {"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}

    def inputs(events: list[Message]) -> list[str]:
        return [e["contentBlockDelta"]["delta"]["toolUse"]["input"] for e in events if "contentBlockDelta" in e]

    found(chunkings({"role": "assistant", "content": [tool]}), lambda events: inputs(events) == deltas)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "assistant", "content": [{"video": {}}]}, "content[0] is 'video', which cannot be streamed"),
        ({"role": "assistant"}, "not an AWS Message that can be streamed: message lacks 'content'"),
    ],
)
def test_a_message_that_cannot_be_streamed_is_refused_when_drawn(message: Message, why: str) -> None:
    strategy = chunkings(message)
    with pytest.raises(InvalidArgument) as caught:
        found(strategy)
    assert why in str(caught.value)


@given(case=chunked_messages())
def test_a_case_is_valid_in_awss_model(case: ChunkedMessage) -> None:
    bedrock.check("Message", case.message)


def test_the_property_sees_a_signature_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsigned(index: int, reasoning: Message, cutter: Any) -> Any:
        return (Deltas(index, "reasoningContent", pieces) for pieces in cutter.text(index, reasoning["text"]))

    monkeypatch.setattr("converse_harness.stream.chunk._cut_reasoning", unsigned)
    mutant = given(case=chunked_messages())(test_assembled_is_what_was_cut.hypothesis.inner_test)  # type: ignore[attr-defined]
    with pytest.raises(AssertionError):
        as_drawn(15)(mutant)()
