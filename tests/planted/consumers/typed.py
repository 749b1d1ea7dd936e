"""A consumer that parses each event into a model of its own, checks its fields, and merges models of one block."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.planted.answers import Answer, Event, Unreadable

STOP_REASONS = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "guardrail_intervened",
    "content_filtered",
    "malformed_model_output",
    "malformed_tool_use",
    "model_context_window_exceeded",
)


def _typed(members: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    value = members.get(name)
    if not isinstance(value, kind):
        raise Unreadable(f"{name} is {value!r}")
    return value


@dataclass
class Usage:
    """Token counts; `more` has the members that this model does not name."""

    input: int
    output: int
    total: int
    read: int | None = None
    written: int | None = None
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def parse(cls, members: Mapping[str, Any]) -> Usage:
        """Check the three counts that are always there."""
        named = ("inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        more = {name: value for name, value in members.items() if name not in named}
        given, said, total = (_typed(members, name, int) for name in named[:3])
        return cls(given, said, total, members.get(named[3]), members.get(named[4]), more)

    def dump(self) -> dict[str, Any]:
        """As AWS spells it."""
        usage: dict[str, Any] = {"inputTokens": self.input, "outputTokens": self.output, "totalTokens": self.total}
        if self.read is not None:
            usage["cacheReadInputTokens"] = self.read
        if self.written is not None:
            usage["cacheWriteInputTokens"] = self.written
        return {**usage, **self.more}


@dataclass
class TextBlock:
    """Text, with citations where it has some."""

    pieces: list[str] = field(default_factory=list[str])
    citations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def add(self, delta: Mapping[str, Any]) -> None:
        """A piece of text, or a citation."""
        if "citation" in delta:
            self.citations.append(_typed(delta, "citation", dict))
        else:
            self.pieces.append(_typed(delta, "text", str))

    def dump(self) -> dict[str, Any]:
        """As AWS spells it."""
        text = "".join(self.pieces)
        if not self.citations:
            return {"text": text}
        said = {"content": [{"text": text}]} if self.pieces else {}
        return {"citationsContent": {**said, "citations": self.citations}}


@dataclass
class ReasoningBlock:
    """Reasoning: a text with its signature, or redacted."""

    text: str = ""
    signature: str | None = None
    redacted: bytes | None = None

    def add(self, delta: Mapping[str, Any]) -> None:
        """A piece of the text, the signature, or what is redacted."""
        part = _typed(delta, "reasoningContent", dict)
        self.text += part.get("text", "")
        self.signature = part.get("signature", self.signature)
        self.redacted = part.get("redactedContent", self.redacted)

    def dump(self) -> dict[str, Any]:
        """As AWS spells it."""
        if self.redacted is not None:
            return {"reasoningContent": {"redactedContent": self.redacted}}
        signed = {} if self.signature is None else {"signature": self.signature}
        return {"reasoningContent": {"reasoningText": {"text": self.text, **signed}}}


@dataclass
class StartedBlock:
    """A block that begins with a start: a tool use, the result of a server tool, or an image."""

    kind: str
    head: dict[str, Any]
    written: str = ""
    items: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def add(self, delta: Mapping[str, Any]) -> None:
        """A piece of the input, some items of the result, or the source of the image."""
        if self.kind == "toolUse":
            self.written += _typed(_typed(delta, "toolUse", dict), "input", str)
        elif self.kind == "toolResult":
            self.items.extend(_typed(delta, "toolResult", list))
        else:
            self.head = {**self.head, **_typed(delta, "image", dict)}

    def dump(self) -> dict[str, Any]:
        """As AWS spells it."""
        if self.kind == "toolUse":
            try:
                value = json.loads(self.written or "{}")
            except ValueError:
                raise Unreadable("the input of a tool is not whole") from None
            return {"toolUse": {**self.head, "input": value}}
        if self.kind == "toolResult":
            return {"toolResult": {**self.head, "content": self.items}}
        return {"image": self.head}


def _begun(start: Mapping[str, Any]) -> StartedBlock:
    (kind,) = start
    if kind not in ("toolUse", "toolResult", "image"):
        raise Unreadable(kind)
    return StartedBlock(kind, dict(_typed(start, kind, dict)))


@dataclass
class Stream:
    """All that came so far."""

    blocks: list[TextBlock | ReasoningBlock | StartedBlock] = field(
        default_factory=list[TextBlock | ReasoningBlock | StartedBlock]
    )
    ended: int = 0
    stop: Mapping[str, Any] | None = None
    usage: Usage | None = None
    trace: dict[str, Any] | None = None

    def feed(self, event: Event) -> None:
        """Parse one event."""
        (name,) = event
        members = event[name]
        if name == "contentBlockStart":
            self._next(members)
            self.blocks.append(_begun(_typed(members, "start", dict)))
        elif name == "contentBlockDelta":
            delta = _typed(members, "delta", dict)
            if len(self.blocks) == self.ended:
                self._next(members)
                self.blocks.append(ReasoningBlock() if "reasoningContent" in delta else TextBlock())
            elif _typed(members, "contentBlockIndex", int) != self.ended:
                raise Unreadable("a delta of another block")
            self.blocks[-1].add(delta)
        elif name == "contentBlockStop":
            if _typed(members, "contentBlockIndex", int) != self.ended or len(self.blocks) == self.ended:
                raise Unreadable("the end of another block")
            self.ended += 1
        elif name == "messageStop":
            if members.get("stopReason") not in STOP_REASONS:
                raise Unreadable("the stop reason is not known")
            self.stop = members
        elif name == "metadata":
            self.usage = Usage.parse(members["usage"])
            self.trace = members.get("trace")
        elif name.endswith("Exception"):
            raise Unreadable(name)

    def _next(self, members: Mapping[str, Any]) -> None:
        if _typed(members, "contentBlockIndex", int) != self.ended or len(self.blocks) != self.ended:
            raise Unreadable("a block in a block")

    def answer(self) -> Answer:
        """What came, where all came."""
        if self.stop is None or len(self.blocks) != self.ended:
            raise Unreadable("the stream is not whole")
        content = [block.dump() for block in self.blocks]
        return Answer(
            {"role": "assistant", "content": content},
            self.stop["stopReason"],
            None if self.usage is None else self.usage.dump(),
            self.trace,
            self.stop.get("additionalModelResponseFields"),
        )


def read(events: Iterable[Event]) -> Answer:
    """Parse and merge all events."""
    stream = Stream()
    for event in events:
        stream.feed(event)
    return stream.answer()
