"""The types of a request's JSON: what AWS reads is read, anything else is named by its place."""

from __future__ import annotations

from typing import Any

import pytest

from converse_harness import bedrock
from converse_harness.errors import DamagedData

REQUEST: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": [{"text": "hi"}, {"image": {"format": "png", "source": {"bytes": "aGk="}}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "b", "input": {"any": [None, 1]}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": [1]}, {"text": "x"}]}}]},
    ],
    "system": [{"text": "be brief"}],
    "inferenceConfig": {"maxTokens": 5, "temperature": 1, "topP": 0.5, "stopSequences": ["x"]},
    "toolConfig": {"tools": [{"toolSpec": {"name": "b", "inputSchema": {"json": {"type": "object"}}}}]},
    "requestMetadata": {"key": "value"},
    "additionalModelRequestFields": {"top_k": 5, "nothing": None},
    "notInTheModel": {"deep": [None]},
}


def test_what_fits_stays_as_it_is() -> None:
    assert bedrock.read_json("ConverseRequest", REQUEST) == REQUEST


def test_null_counts_as_absent() -> None:
    content = [{"text": "hi", "image": None}]
    request = {"messages": [{"role": None, "content": content}], "system": None, "unknown": None}
    assert bedrock.read_json("ConverseRequest", request) == {"messages": [{"content": [{"text": "hi"}]}]}


@pytest.mark.parametrize(
    ("request_json", "message"),
    [
        ([], "the request body is a JSON list; it must be an object."),
        ({"messages": {}}, "messages is a JSON dict; it must be a list."),
        ({"messages": [None]}, "messages[0] is a JSON NoneType; it must be an object."),
        ({"messages": [{}, {"role": 5}]}, "messages[1].role is a JSON int; it must be a string."),
        (
            {"messages": [{"content": [{"image": {"source": {"bytes": [1]}}}]}]},
            "messages[0].content[0].image.source.bytes is a JSON list; it must be a string of base64.",
        ),
        (
            {"inferenceConfig": {"maxTokens": 1.5}},
            "inferenceConfig.maxTokens is a JSON float; it must be a whole number.",
        ),
        (
            {"inferenceConfig": {"maxTokens": True}},
            "inferenceConfig.maxTokens is a JSON bool; it must be a whole number.",
        ),
        (
            {"inferenceConfig": {"maxTokens": 2**31}},
            "inferenceConfig.maxTokens is 2147483648; it must be -2147483648 to 2147483647.",
        ),
        (
            {"messages": [{"content": [{"image": {"source": {"bytes": "aGk"}}}]}]},
            "messages[0].content[0].image.source.bytes is 'aGk' (Incorrect padding); it must be base64.",
        ),
        ({"inferenceConfig": {"topP": "1"}}, "inferenceConfig.topP is a JSON str; it must be a number."),
        ({"requestMetadata": {"a b": 1}}, "requestMetadata['a b'] is a JSON int; it must be a string."),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(request_json: object, message: str) -> None:
    with pytest.raises(DamagedData) as caught:
        bedrock.read_json("ConverseRequest", request_json)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["", "aGk=", "-_8=", "aG k=", "é", "ELIDED"])
def test_a_blob_is_base64_unless_it_was_recorded(text: str) -> None:
    source = {"bytes": text}
    assert bedrock.read_json("ImageSource", source, recorded=True) == source
    if text in ("", "aGk="):
        assert bedrock.read_json("ImageSource", source) == source
    else:
        with pytest.raises(DamagedData, match="it must be base64"):
            bedrock.read_json("ImageSource", source)


def test_a_recorded_blob_is_a_string() -> None:
    with pytest.raises(DamagedData, match=r"bytes is a JSON int; it must be a string of base64"):
        bedrock.read_json("ImageSource", {"bytes": 5}, recorded=True)


@pytest.mark.parametrize("number", [-(2**31), 2**31 - 1])
def test_the_last_numbers_that_fit_are_read(number: int) -> None:
    asked = {"inferenceConfig": {"maxTokens": number}}
    assert bedrock.read_json("ConverseRequest", asked) == asked


def test_every_request_has_a_reader() -> None:
    for name in bedrock.operations():
        if bedrock.operation(name).input_shape is not None:
            assert bedrock.read_json(bedrock.operation(name).input_shape.name, {}) == {}
