"""A consumer on both sides of a line of text: a relay writes each event as a line, a reader matches lines."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tests.planted.answers import Answer, Event, Unreadable

_LINE = re.compile(r"event: (?P<name>\w+)(?: (?P<index>\d+))?\ndata: (?P<data>.*)\n\n")


def relay(events: Iterable[Event]) -> Iterator[str]:
    """Each event as an event of server-sent events: a name, perhaps the index of a block, and JSON."""
    for event in events:
        for name, members in event.items():
            index = members.get("contentBlockIndex")
            place = "" if index is None else f" {index}"
            data = json.dumps(members, default=_encoded)
            yield f"event: {name}{place}\ndata: {data}\n\n"


def _encoded(value: bytes) -> dict[str, str]:
    return {"__bytes__": base64.b64encode(value).decode()}


def _decoded(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["__bytes__"]) if value.keys() == {"__bytes__"} else value


def _lines(text: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    position = 0
    for match in _LINE.finditer(text):
        if match.start() != position:
            raise Unreadable(text[position : match.start()])
        position = match.end()
        if match["name"].endswith("Exception"):
            raise Unreadable(match["name"])
        yield match["name"], match["index"], json.loads(match["data"], object_hook=_decoded)


def read(events: Iterable[Event]) -> Answer:
    """Match the lines of the relay, and build each block's text in a buffer."""
    content: list[dict[str, Any]] = []
    buffer = io.StringIO()
    block: dict[str, Any] = {}
    open_index: str | None = None
    stop: dict[str, Any] = {}
    end: dict[str, Any] = {}
    for name, index, data in _lines("".join(relay(events))):
        if name.startswith("contentBlock") and open_index not in (None, index):
            raise Unreadable(f"block {index} in block {open_index}")
        if name == "contentBlockStart":
            if open_index is not None:
                raise Unreadable("a block in a block")
            open_index, block = index, {"start": data["start"]}
        elif name == "contentBlockDelta":
            open_index = index
            for kind, value in data["delta"].items():
                _write(buffer, block, kind, value)
        elif name == "contentBlockStop":
            if open_index is None:
                raise Unreadable("the end of no block")
            content.append(_built(block, buffer.getvalue()))
            buffer, block, open_index = io.StringIO(), {}, None
        elif name == "messageStop":
            stop = data
        elif name == "metadata":
            end = data
    if not stop or open_index is not None:
        raise Unreadable("the stream is not whole")
    message = {"role": "assistant", "content": content}
    additional = stop.get("additionalModelResponseFields")
    return Answer(message, stop["stopReason"], end.get("usage"), end.get("trace"), additional)


def _write(buffer: io.StringIO, block: dict[str, Any], kind: str, value: Any) -> None:
    if kind == "text":
        block["said"] = True
        buffer.write(value)
    elif kind == "toolUse":
        buffer.write(value["input"])
    elif kind == "toolResult":
        block.setdefault("items", []).extend(value)
    elif kind == "citation":
        block.setdefault("citations", []).append(value)
    elif kind == "image":
        block["start"]["image"].update(value)
    elif kind == "reasoningContent":
        block.setdefault("reasoning", {}).update(value)
        buffer.write(value.get("text", ""))


def _built(block: dict[str, Any], written: str) -> dict[str, Any]:
    start = block.get("start", {})
    if "toolUse" in start:
        try:
            value = json.loads(written or "{}")
        except ValueError:
            raise Unreadable("the input of a tool is not whole") from None
        return {"toolUse": {**start["toolUse"], "input": value}}
    if "toolResult" in start:
        return {"toolResult": {**start["toolResult"], "content": block.get("items", [])}}
    if "image" in start:
        return {"image": start["image"]}
    if "citations" in block:
        said = {"content": [{"text": written}]} if "said" in block else {}
        return {"citationsContent": {**said, "citations": block["citations"]}}
    if "reasoning" in block:
        reasoning = block["reasoning"]
        if "redactedContent" in reasoning:
            return {"reasoningContent": {"redactedContent": reasoning["redactedContent"]}}
        signed = {"signature": reasoning["signature"]} if "signature" in reasoning else {}
        return {"reasoningContent": {"reasoningText": {"text": written, **signed}}}
    return {"text": written}
