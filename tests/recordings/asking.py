"""Small sessions for the tests of matching, messages and `diff`: what was asked, what was answered, files of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from converse_harness import Endpoint, bedrock
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.media import set_aside
from converse_harness.recordings.record.write import SessionWriter, header, text_of
from converse_harness.stream.http import Request

NOVA: Final = "us.amazon.nova-lite-v1:0"
PATHS: Final = {"Converse": "converse", "ConverseStream": "converse-stream", "CountTokens": "count-tokens"}

USAGE: Final = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}

counts_tokens: Final = pytest.mark.skipif(
    "CountTokens" not in bedrock.operations(), reason="this botocore has no CountTokens"
)

Message = dict[str, Any]


def user(*content: str | Mapping[str, Any]) -> Message:
    """A message of the user's, of texts and blocks."""
    return {"role": "user", "content": [{"text": each} if isinstance(each, str) else each for each in content]}


def use(id: str, name: str = "get_weather", city: str = "Bern") -> Message:
    """A message in which the model uses a tool."""
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": name, "input": {"city": city}}}]}


def result(id: str, text: str = "18 °C", **more: Any) -> Message:
    """A message with what a tool said."""
    return user({"toolResult": {"toolUseId": id, "content": [{"text": text}], **more}})


def tools(*names: str, **more: Any) -> dict[str, Any]:
    """A ToolConfiguration."""
    schema = {"json": {"type": "object"}}
    return {"tools": [{"toolSpec": {"name": name, "inputSchema": schema}} for name in names], **more}


def body(*messages: Message, **more: Any) -> dict[str, Any]:
    """A request."""
    return {"messages": list(messages), **more}


def exchange(request: Any, answer: str = "hi", *, operation: str = "Converse", model: str = NOVA) -> list[Line]:
    """The lines of an exchange, all but the number of its call."""
    output = {"message": {"role": "assistant", "content": [{"text": answer}]}}
    answered = {"metrics": {"latencyMs": 1}, "output": output, "stopReason": "end_turn", "usage": USAGE}
    return [
        {"call": 0, "operation": operation, "modelId": model, "request": request},
        {"t": 5, "status": 200, "body": answered},
    ]


def streamed(request: Any, *texts: str, padding: int = 3) -> list[Line]:
    """The lines of an exchange that streams, all but the number of its call."""
    deltas = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}} for text in texts]
    events: list[Line] = [
        {"messageStart": {"role": "assistant"}},
        *deltas,
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"metrics": {"latencyMs": 1}, "usage": USAGE}},
    ]
    call = {"call": 0, "operation": "ConverseStream", "modelId": NOVA, "request": request}
    lines = [{"t": 10 + number, **event, "p": padding} for number, event in enumerate(events)]
    return [call, {"t": 5, "status": 200, "requestId": "5d4c"}, *lines]


def throttled(request: Any) -> list[Line]:
    """The lines of an exchange in which nothing was said."""
    call = {"call": 0, "operation": "Converse", "modelId": NOVA, "request": request}
    return [call, {"t": 5, "status": 429, "type": "ThrottlingException", "body": {"message": "Too many requests"}}]


def write(path: Path, *exchanges: Sequence[Line]) -> Path:
    """A file with these exchanges."""
    lines = [header()]
    for number, (call, *answer) in enumerate(exchanges, 1):
        lines += [{**call, "call": number}, *answer]
    path.write_text(text_of(lines), encoding="utf-8")
    return path


def as_stored(writer: SessionWriter) -> str:
    """The text of the file that a writer would write, with each request on one line."""
    lines, _ = set_aside(writer.lines().lines, writer.path)
    return text_of(lines)


def request(body: Any, *, operation: str = "Converse", model: str = NOVA, attempt: int = 1) -> Request:
    """A request as it comes in."""
    target = f"/model/{quote(model, safe='')}/{PATHS[operation]}"
    headers = (("amz-sdk-request", f"attempt={attempt}; max=3"),)
    return Request("POST", target, headers, json.dumps(body).encode())


def ask(endpoint: Endpoint, body: Any, **asked: Any) -> str:
    """What an endpoint answers: the text, or what an error says."""
    exchange = endpoint.exchange(request(body, **asked))
    answered = json.loads(b"".join(chunk.data for chunk in exchange.response.chunks))
    if exchange.response.status != 200:
        return str(answered["message"])
    return str(answered["output"]["message"]["content"][0]["text"])


PROSE = frozenset({"text", "input", "json", "description", "signature", "redactedContent", "bytes", "data"})
"""Members whose values are what somebody wrote, said or drew."""

IDS = frozenset({"toolUseId"})


def with_other_prose(value: Any, name: str = "") -> Any:
    """A request with every text and every blob another one, and every id another one for the same one before."""
    if name in IDS:
        return f"other_{value}"
    if name in PROSE and isinstance(value, str):
        return f"other {value}"
    if name in PROSE and not isinstance(value, dict | list):
        return {"other": value}
    if isinstance(value, dict):
        # An input, a schema and a document are JSON of any form.
        if name in ("input", "json", "inputSchema"):
            return {"other": value}
        return {key: with_other_prose(each, key) for key, each in value.items()}
    return [with_other_prose(each, name) for each in value] if isinstance(value, list) else value


def json_of(params: dict[str, Any]) -> tuple[str, Any]:
    """The model id, and the body that boto3 sends for these keyword arguments."""
    members = {name: value for name, value in params.items() if name != "modelId"}
    return params["modelId"], json.loads(bedrock.to_json("ConverseRequest", members))
