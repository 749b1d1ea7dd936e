"""JSON as AWS writes it: sorted compact keys, documents untouched, blobs in base64; illegal values pass as they are."""

import json
from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.bedrock import from_json, read_json, to_json
from converse_harness.bedrock.api import codec, service
from converse_harness.errors import DamagedData, ReplyError

GIF = b"GIF89a"


@pytest.mark.parametrize(
    ("shape", "value", "text"),
    [
        (
            "ContentBlockDeltaEvent",
            {"p": "abc", "delta": {"text": 'Zürich "18 °C" 😀\n'}, "contentBlockIndex": 0},
            '{"contentBlockIndex":0,"delta":{"text":"Zürich \\"18 °C\\" 😀\\n"},"p":"abc"}',
        ),
        ("MessageStartEvent", {"role": "assistant", "p": "ab"}, '{"p":"ab","role":"assistant"}'),
        (
            "ToolUseBlock",
            {"toolUseId": "t1", "name": "f", "input": {"z": 1, "a": {"d": None, "c": [1.5, True]}}},
            '{"input":{"z":1,"a":{"d":null,"c":[1.5,true]}},"name":"f","toolUseId":"t1"}',
        ),
        ("ImageSource", {"bytes": GIF}, '{"bytes":"R0lGODlh"}'),
        ("ImageSource", {"bytes": bytearray(GIF)}, '{"bytes":"R0lGODlh"}'),
        ("TokenUsage", {"serverToolUsage": {"z": 0, "a": 0}}, '{"serverToolUsage":{"z":0,"a":0}}'),
        ("RequestMetadata", {"b": "2", "a": "1"}, '{"a":"1","b":"2"}'),
        ("InferenceConfiguration", {"temperature": 1, "topP": 0.5}, '{"temperature":1,"topP":0.5}'),
        (
            "Message",
            MappingProxyType({"role": "user", "content": ({"text": "a"},)}),
            '{"content":[{"text":"a"}],"role":"user"}',
        ),
        ("ExpiredTokenException", {"message": "m"}, '{"message":"m"}'),
    ],
)
def test_legal_values(shape: str, value: Any, text: str) -> None:
    assert to_json(shape, value) == text


@pytest.mark.parametrize(
    ("shape", "value", "text"),
    [
        ("Message", None, "null"),
        ("Message", "text", '"text"'),
        ("Message", {}, "{}"),
        ("Message", {"content": {"b": 1, "a": 2}}, '{"content":{"b":1,"a":2}}'),
        ("Message", {"content": [None, 5, {"text": True}]}, '{"content":[null,5,{"text":true}]}'),
        ("Message", {"role": ["x"], "z": {"b": 1, "a": 2}, "é": 0}, '{"role":["x"],"z":{"b":1,"a":2},"é":0}'),
        ("Message", {1: "a", "role": "user"}, '{"1":"a","role":"user"}'),
        ("Message", {2: "a", 1: "b"}, '{"2":"a","1":"b"}'),
        ("ContentBlock", {"toolUse": {}, "text": "a"}, '{"text":"a","toolUse":{}}'),
        ("ContentBlockStopEvent", {"contentBlockIndex": True}, '{"contentBlockIndex":true}'),
        ("ContentBlockStopEvent", {"contentBlockIndex": -1.5}, '{"contentBlockIndex":-1.5}'),
        ("ImageSource", {"bytes": "not base64!"}, '{"bytes":"not base64!"}'),
        ("ToolUseBlock", {"input": {"b": GIF, "a": [GIF]}}, '{"input":{"b":"R0lGODlh","a":["R0lGODlh"]}}'),
        ("ToolUseBlock", {"input": datetime(2025, 1, 2, tzinfo=UTC)}, '{"input":"2025-01-02T00:00:00Z"}'),
        ("ToolUseBlock", {"input": MappingProxyType({"b": 1})}, '{"input":{"b":1}}'),
    ],
)
def test_illegal_values_are_written_as_the_json_that_they_are(shape: str, value: Any, text: str) -> None:
    assert to_json(shape, value) == text


def test_a_lone_surrogate_is_escaped_so_that_utf8_can_carry_the_json() -> None:
    text = to_json("ContentBlock", {"text": "ü\ud83d"})
    assert text == '{"text":"ü\\ud83d"}'
    assert json.loads(text.encode()) == {"text": "ü\ud83d"}


@pytest.mark.parametrize("value", [{1, 2}, {("a",): 1}, object(), [{"a": {1}}]])
def test_what_json_cannot_carry_at_all_is_a_reply_error(value: object) -> None:
    with pytest.raises(ReplyError, match=r": JSON cannot carry it\. A value is made of dict with str keys"):
        to_json("ToolUseBlock", {"input": value})


def test_a_value_that_contains_itself_is_a_reply_error() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ReplyError, match="JSON cannot carry it"):
        to_json("ToolUseBlock", {"input": loop})


@pytest.mark.parametrize(
    ("shape", "parsed", "value"),
    [
        ("ImageSource", {"bytes": "R0lGODlh"}, {"bytes": GIF}),
        ("ImageSource", {"bytes": ""}, {"bytes": b""}),
        ("ImageSource", {"bytes": "R0lG ODlh"}, {"bytes": "R0lG ODlh"}),
        ("ImageSource", {"bytes": "é"}, {"bytes": "é"}),
        ("ImageSource", {"bytes": 5, "other": "R0lGODlh"}, {"bytes": 5, "other": "R0lGODlh"}),
        ("ReasoningContentBlockDelta", {"redactedContent": "R0lGODlh"}, {"redactedContent": GIF}),
        ("ToolUseBlock", {"input": {"bytes": "R0lGODlh"}}, {"input": {"bytes": "R0lGODlh"}}),
        ("ContentBlock", {"image": {"source": {"bytes": "R0lGODlh"}}}, {"image": {"source": {"bytes": GIF}}}),
        ("Message", {"content": [{"text": "a", "x": 1}]}, {"content": [{"text": "a", "x": 1}]}),
        ("Message", {"content": {"image": 1}}, {"content": {"image": 1}}),
        ("Message", [1], [1]),
        ("GuardrailAssessmentMap", {"id": {"x": None}}, {"id": {"x": None}}),
        ("Message", None, None),
    ],
)
def test_from_json(shape: str, parsed: Any, value: Any) -> None:
    assert from_json(shape, parsed) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)
KEYS = st.sampled_from(["content", "role", "text", "toolUse", "input", "name", "p", "image", "source", "bytes", "é"])
NEAR_SHAPES = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=10
)


@given(value=NEAR_SHAPES)
def test_any_json_encodes_to_itself(value: Any) -> None:
    assert json.loads(to_json("Message", value).encode()) == value


@given(value=NEAR_SHAPES)
def test_decoded_values_encode_to_what_they_were(value: Any) -> None:
    text = to_json("Message", value)
    assert to_json("Message", from_json("Message", json.loads(text))) == text


@given(value=JSON)
def test_documents_keep_their_own_order(value: Any) -> None:
    expected = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert to_json("ToolUseBlock", {"input": value}) == f'{{"input":{expected}}}'


def test_every_shape_of_the_service_encodes_nothing_as_null() -> None:
    names = service.service().shape_names
    assert {to_json(name, None) for name in names} == {"null"}


@pytest.mark.parametrize(
    ("format_name", "at", "text"),
    [
        ("iso8601", datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC), '"2025-01-02T03:04:05Z"'),
        ("iso8601", datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))), '"2025-01-02T01:04:05Z"'),
        ("iso8601", datetime(2025, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), '"2025-01-02T03:04:05.678000Z"'),
        ("iso8601", "as it came", '"as it came"'),
        ("unixTimestamp", datetime(2025, 1, 2, tzinfo=UTC), "1735776000"),
        ("unixTimestamp", datetime(2025, 1, 2, 0, 0, 0, 250000, tzinfo=UTC), "1735776000.25"),
        ("unixTimestamp", datetime(2025, 1, 2, 0, 0, 0, 123456, tzinfo=UTC), "1735776000.123"),
        ("unixTimestamp", datetime(2025, 1, 2), "1735776000"),  # noqa: DTZ001  (without a zone it is taken as UTC)
        (None, datetime(2025, 1, 2, tzinfo=UTC), "1735776000"),
        ("unixTimestamp", "2025-01-02T02:00:00+02:00", "1735776000"),
        ("unixTimestamp", "as it came", '"as it came"'),
        (None, 1735776000, "1735776000"),
    ],
)
def test_timestamps(own_model: Callable[..., None], format_name: str | None, at: object, text: str) -> None:
    reference = {"shape": "When"} | ({"timestampFormat": format_name} if format_name else {})
    own_model(Visit={"type": "structure", "members": {"at": reference}}, When={"type": "timestamp"})
    assert to_json("Visit", {"at": at}) == f'{{"at":{text}}}'


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (1735776000, datetime(2025, 1, 2, tzinfo=UTC)),
        (1735776000.25, datetime(2025, 1, 2, 0, 0, 0, 250000, tzinfo=UTC)),
        ("2025-01-02T02:00:00+02:00", datetime(2025, 1, 2, tzinfo=UTC)),
        ("2025-01-02T00:00:00", datetime(2025, 1, 2, tzinfo=UTC)),
        ("as it came", "as it came"),
        (10**30, 10**30),
        (True, True),
    ],
)
def test_timestamps_become_datetimes(own_model: Callable[..., None], sent: object, read: object) -> None:
    own_model(Visit={"type": "structure", "members": {"at": {"shape": "When"}}}, When={"type": "timestamp"})
    assert from_json("Visit", {"at": sent}) == {"at": read}


def test_a_member_may_have_another_name_in_json(own_model: Callable[..., None]) -> None:
    members = {"kind": {"shape": "Name", "locationName": "type"}, "other": {"shape": "Name"}}
    own_model(Pet={"type": "structure", "members": members}, Name={"type": "string"})
    assert to_json("Pet", {"kind": "cat", "other": "x"}) == '{"type":"cat","other":"x"}'
    assert from_json("Pet", {"type": "cat", "other": "x"}) == {"kind": "cat", "other": "x"}


def test_shapes_that_contain_themselves(own_model: Callable[..., None]) -> None:
    own_model(
        Tree={
            "type": "structure",
            "members": {"twigs": {"shape": "Trees"}, "byName": {"shape": "TreeMap"}, "leaf": {"shape": "Leaf"}},
        },
        Trees={"type": "list", "member": {"shape": "Tree"}},
        TreeMap={"type": "map", "key": {"shape": "Name"}, "value": {"shape": "Tree"}},
        Name={"type": "string"},
        Leaf={"type": "blob"},
    )
    tree = {"twigs": [{"leaf": b"a"}, {"byName": {"b": {"twigs": []}, "a": {}}}], "leaf": b"b"}
    text = '{"leaf":"Yg==","twigs":[{"leaf":"YQ=="},{"byName":{"a":{},"b":{"twigs":[]}}}]}'
    assert to_json("Tree", tree) == text
    assert from_json("Tree", json.loads(text)) == tree
    assert read_json("Tree", json.loads(text)) == json.loads(text)
    with pytest.raises(DamagedData, match=r"twigs\[0\]\.byName\['a'\]\.leaf is a JSON int"):
        read_json("Tree", {"twigs": [{"byName": {"a": {"leaf": 5}}}]})


@pytest.fixture
def own_model(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a service model of the test's own in the place of AWS's, for one test."""

    def install(**shapes: Any) -> None:
        from botocore.model import ServiceModel

        own = ServiceModel({"metadata": {}, "operations": {}, "shapes": shapes}, "own")
        for module in (service, codec):
            monkeypatch.setattr(module, "body_shape", lambda name, of: own.shape_for(name))
        monkeypatch.setattr(codec, "_ENCODERS", fresh := copy(codec._ENCODERS))
        fresh.clear()
        monkeypatch.setattr(codec, "_readers", cache(codec._readers.__wrapped__))

    return install
