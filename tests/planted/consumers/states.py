"""A consumer that is a state machine: one state for each kind of block, and one open block at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.planted.answers import Answer, Event, Unreadable


class Reader:
    """Takes events one by one; `state` is the kind of the open block."""

    def __init__(self) -> None:
        self.state = "nothing"
        self.content: list[dict[str, Any]] = []
        self.pieces: list[str] = []
        self.head: dict[str, Any] = {}
        self.items: list[Any] = []
        self.signature: str | None = None
        self.stop_reason: str | None = None
        self.additional: Any = None
        self.usage: dict[str, Any] | None = None
        self.trace: dict[str, Any] | None = None

    def take(self, event: Event) -> None:
        """Move on by one event."""
        (name,) = event
        step: Callable[..., None] | None = getattr(self, f"on_{name}", None)
        if step is not None:
            step(**event[name])
        elif name.endswith("Exception"):
            raise Unreadable(name)

    def on_messageStart(self, role: str, **_: Any) -> None:  # noqa: N802 - AWS's name
        self._expect("nothing")
        self.state = "message"

    def on_contentBlockStart(self, start: dict[str, Any], **_: Any) -> None:  # noqa: N802 - AWS's name
        self._expect("message")
        self._open(next(iter(start)))
        self.head = start[self.state]

    def on_contentBlockDelta(self, delta: dict[str, Any], **_: Any) -> None:  # noqa: N802 - AWS's name
        (kind,) = delta
        if self.state == "message":
            self._open(kind)
        value = delta[kind]
        match kind:
            case "text":
                self._expect("text", "citation")
                self.pieces.append(value)
            case "toolUse":
                self._expect("toolUse")
                self.pieces.append(value["input"])
            case "toolResult":
                self._expect("toolResult")
                self.items.extend(value)
            case "citation":
                self._expect("citation")
                self.items.append(value)
            case "image":
                self._expect("image")
                self.head = {**self.head, **value}
            case "reasoningContent":
                self._expect("reasoningContent")
                if "redactedContent" in value:
                    self.items.append(value["redactedContent"])
                elif "signature" in value:
                    self.signature = value["signature"]
                else:
                    self.pieces.append(value["text"])
            case _:
                pass

    def on_contentBlockStop(self, **_: Any) -> None:  # noqa: N802 - AWS's name
        said = "".join(self.pieces)
        match self.state:
            case "text":
                self.content.append({"text": said})
            case "toolUse":
                self.content.append({"toolUse": {**self.head, "input": self._input(said)}})
            case "toolResult":
                self.content.append({"toolResult": {**self.head, "content": self.items}})
            case "citation":
                block: dict[str, Any] = {"citations": self.items}
                if self.pieces:
                    block["content"] = [{"text": said}]
                self.content.append({"citationsContent": block})
            case "image":
                self.content.append({"image": self.head})
            case "reasoningContent":
                if self.items:
                    self.content.append({"reasoningContent": {"redactedContent": self.items[0]}})
                else:
                    signed = {} if self.signature is None else {"signature": self.signature}
                    self.content.append({"reasoningContent": {"reasoningText": {"text": said, **signed}}})
            case _:
                raise Unreadable("the end of no block")
        self.state = "message"

    def on_messageStop(self, stopReason: str, **more: Any) -> None:  # noqa: N802, N803 - AWS's names
        self._expect("message")
        self.state = "stopped"
        self.stop_reason = stopReason
        self.additional = more.get("additionalModelResponseFields")

    def on_metadata(self, **members: Any) -> None:
        self.usage = members.get("usage")
        self.trace = members.get("trace")

    def answer(self) -> Answer:
        """What came, where all came."""
        if self.state != "stopped" or self.stop_reason is None:
            raise Unreadable("the stream broke off")
        message = {"role": "assistant", "content": self.content}
        return Answer(message, self.stop_reason, self.usage, self.trace, self.additional)

    def _open(self, kind: str) -> None:
        self.state = kind
        self.pieces, self.items, self.head, self.signature = [], [], {}, None

    def _expect(self, *states: str) -> None:
        if self.state not in states:
            raise Unreadable(f"{self.state} where {' or '.join(states)} is expected")

    def _input(self, said: str) -> Any:
        if not said:
            return {}
        try:
            return json.loads(said)
        except ValueError:
            raise Unreadable("the input of a tool is not whole") from None


def read(events: Iterable[Event]) -> Answer:
    """Give all events to a Reader."""
    reader = Reader()
    for event in events:
        reader.take(event)
    return reader.answer()
