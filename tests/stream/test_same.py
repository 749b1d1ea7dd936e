"""`same`: types count, blank blocks do not, and a plain JSON value is compared as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Response, assemble, chunk, same
from converse_strategies import assistant_messages

TEXT: dict[str, Any] = {"text": "18 °C"}
BLANK: dict[str, Any] = {"text": " \n"}
SIGNED: dict[str, Any] = {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}
UNSIGNED: dict[str, Any] = {"reasoningContent": {"reasoningText": {"text": ""}}}


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [*content]}


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ({"on": True}, {"on": 1}, False),
        ([0], [False], False),
        (1, 1.0, False),
        (2**53, float(2**53), False),
        ("1", 1, False),
        (None, False, False),
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1}, True),
        ((1, 2), [1, 2], True),
        (b"\0", bytearray(b"\0"), True),
        ("", b"", False),
        (message(TEXT, BLANK), message(TEXT), True),
        (message(UNSIGNED, TEXT), message(TEXT), True),
        (message(SIGNED, TEXT), message(TEXT), False),
        ([TEXT, BLANK], [TEXT], True),
        ([BLANK], [], True),
        (message(TEXT), message({"text": "18 °C "}), False),
        # In a tool's input nothing is blank.
        ({"toolUse": {"input": {"content": [BLANK]}}}, {"toolUse": {"input": {"content": []}}}, False),
        ({"role": "x"}, {"role": "x", "content": []}, False),
    ],
)
def test_what_is_the_same(one: Any, other: Any, *, are_same: bool) -> None:
    assert same(one, other) is are_same
    assert same(other, one) is are_same


def test_responses_are_compared_by_their_members() -> None:
    whole = assemble(chunk(message(TEXT, BLANK)))
    assert same(whole, Response(message(TEXT), "end_turn", whole.usage, whole.metrics))
    assert not same(whole, Response(message(TEXT), "max_tokens", whole.usage, whole.metrics))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([-1.0, 0.0, 1.0, 0.5])
    | st.sampled_from(["", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner),
    max_leaves=6,
)


@given(JSON, JSON)
def test_json_is_the_same_if_its_text_is(one: Any, other: Any) -> None:
    texts = [json.dumps(each, sort_keys=True) for each in (one, other)]
    assert same({"input": one}, {"input": other}) is (texts[0] == texts[1])


@given(assistant_messages())
def test_a_message_is_the_same_as_what_a_stream_of_it_makes(drawn: dict[str, Any]) -> None:
    assert same(assemble(chunk(drawn)).message, drawn)
