"""Requests are read item by item: their JSON is that of the module json, and what they repeat is one object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.request_items import RequestItem, RequestItems, RequestReader
from converse_harness.errors import DamagedData
from converse_harness.json_values import is_object

Json = dict[str, Any]

NUMBERS = st.sampled_from([1, 1.0, True, 0, -0.0, 10**30, None])
JSON = st.recursive(
    NUMBERS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
BLOCKS = st.one_of(
    st.fixed_dictionaries({"text": st.text(max_size=6) | st.sampled_from(["Zürich", "\ud800", "\u2028"])}),
    st.fixed_dictionaries({"toolUse": st.fixed_dictionaries({"name": st.just("look"), "input": JSON})}),
    st.fixed_dictionaries({"text": NUMBERS}),
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", None]), "content": st.lists(BLOCKS, max_size=2)}
)
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES, max_size=4)},
    optional={
        "system": st.lists(st.fixed_dictionaries({"text": st.text(max_size=4)}), max_size=1) | st.none(),
        "inferenceConfig": st.fixed_dictionaries({"maxTokens": NUMBERS}),
        "requestMetadata": JSON,
        "strange": JSON,
    },
)
SPELLINGS: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " :\n")]),
        "sort_keys": st.booleans(),
    }
)


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Bodies of which most go on from the one before, as the bytes that clients send or nearly so."""
    sent: list[bytes] = []
    body: Json = draw(BODIES)
    for _ in range(draw(st.integers(1, 5))):
        spelling = draw(SPELLINGS)
        raw = json.dumps(body, **spelling).encode("utf-8", "surrogatepass")
        if draw(st.integers(0, 5)) == 0:
            at = draw(st.integers(0, len(raw)))
            raw = raw[:at] + draw(st.sampled_from([b"", b" ", b",", b"}", b'"', b"\xff", b"1"])) + raw[at + 1 :]
        sent.append(raw)
        if draw(st.integers(0, 3)) == 0:
            body = {**body, **draw(BODIES)}
        body = {**body, "messages": [*body["messages"], *draw(st.lists(MESSAGES, max_size=2))]}
    return sent


def as_a_whole(raw: bytes) -> Mapping[str, Any] | None:
    """Read the JSON of a body without the reader; None if the body is not valid."""
    try:
        parsed = json.loads(raw)
        return bedrock.read_json("ConverseRequest", parsed) if is_object(parsed) else None
    except (ValueError, DamagedData):
        return None


@given(conversations())
def test_items_have_the_json_and_the_bytes_of_their_request(sent: list[bytes]) -> None:
    reader = RequestReader()
    kept: list[tuple[bytes, str, RequestItems]] = []
    for raw in sent:
        expected, items = as_a_whole(raw), reader.read("Converse", raw)
        if items is not None:
            text = json.dumps(expected)  # 1, 1.0 and true are different
            assert json.dumps(items.body) == text
            before = items.before
            assert before is None or [*items.messages[: items.repeated]] == [*before.messages[: items.repeated]]
            kept.append((raw, text, items))
    for raw, text, items in kept:
        items.release()
        assert items.raw == raw
        assert json.dumps(items.body) == text


@given(st.lists(MESSAGES.filter(lambda message: "text" in str(message)), min_size=1, max_size=6), SPELLINGS)
def test_a_usual_request_is_read_item_by_item(messages: list[Json], spelling: Mapping[str, Any]) -> None:
    raw = json.dumps({"messages": messages}, **spelling).encode("utf-8", "surrogatepass")
    assert (RequestReader().read("Converse", raw) is None) == (as_a_whole(raw) is None)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b'{"messages":[]}',
        b'{"messages":[{}],"messages":[{}]}',
        b'{"m\\u0065ssages":[{}]}',
        b'{"messages":[{"content":[NaN]}]}',
        b'{"messages":[{}]} {}',
        b'{"messages":[{}}',
        b'{"messages":' + 100_000 * b"[",
        '{"messages":[{}]}'.encode("utf-16"),
    ],
)
def test_an_unusual_body_is_left_to_others(raw: bytes) -> None:
    assert RequestReader().read("Converse", raw) is None


def body(*texts: str, **members: object) -> bytes:
    messages = [{"role": "user", "content": [{"text": text}]} for text in texts]
    return json.dumps({"messages": messages, **members}).encode()


def test_what_a_request_repeats_is_one_object() -> None:
    reader = RequestReader()
    one = reader.read("Converse", body("a", "b", system=[{"text": "s"}]))
    two = reader.read("Converse", body("a", "b", "c", system=[{"text": "s"}]))
    other = reader.read("ConverseStream", body("a", "x", "c", system=[{"text": "s"}]))
    assert one is not None
    assert two is not None
    assert other is not None
    assert (two.before, two.repeated) == (one, 2)
    assert [*map(id, two.messages[:2])] == [*map(id, one.messages)]
    assert two.members["system"] is one.members["system"]
    assert (other.before, other.repeated) == (two, 1)
    assert other.messages[2] is two.messages[2]


def test_conversations_that_take_turns_are_recognised() -> None:
    reader = RequestReader()
    for length in range(1, 4):
        for agent in "abc":
            items = reader.read("Converse", body(*[f"{agent}{number}" for number in range(length)]))
            assert items is not None
            assert items.repeated == length - 1


def test_a_conversation_that_differs_earlier_is_not_repeated() -> None:
    reader = RequestReader()
    reader.read("Converse", body("a", "b", "c"))
    latest = reader.read("Converse", body("x", "q"))
    items = reader.read("Converse", body("x", "b", "c"))
    assert items is not None
    assert (items.before, items.repeated) == (latest, 1)


def test_members_are_shared_by_fakes() -> None:
    config = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
    one, two = (RequestReader().read("Converse", body(text, toolConfig=config)) for text in "ab")
    assert one is not None
    assert two is not None
    assert one.members["toolConfig"] is two.members["toolConfig"]


def test_the_bytes_of_an_unusual_body_are_kept() -> None:
    items = RequestItems.of({}, b"no JSON")
    items.release()
    assert items.raw == b"no JSON"


def test_a_value_is_computed_once() -> None:
    computed: list[object] = []

    def length(value: list[int]) -> int:
        computed.append(value)
        return len(value)

    item = RequestItem([1, 2])
    assert (item.once(length), item.once(length), len(computed)) == (2, 2, 1)
