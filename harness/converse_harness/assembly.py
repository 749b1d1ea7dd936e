"""`chunk(message)` -> events and `assemble(events)` -> Response: inverses for every message that can be streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, cast

from converse_harness.errors import ReplyError, StreamOrderError
from converse_harness.families import NEUTRAL, Family, cut_text, cut_tool_input
from converse_harness.grammar import StreamOrder, is_exception, kind

STREAMABLE: Final = ("text", "reasoningContent", "toolUse", "toolResult", "citationsContent", "image")
"""The members of ContentBlock that have a delta in AWS's model."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a ConverseStream amounts to; the members of AWS's ConverseResponse, each None where it was not sent.

    `message` is an AWS Message, `usage` a TokenUsage, `metrics` `{"latencyMs": int}`, `trace` a ConverseTrace,
    `additional` the additionalModelResponseFields document.
    """

    message: dict[str, Any]
    stop_reason: str
    usage: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None
    additional: Any = None
    performance_config: dict[str, Any] | None = None
    service_tier: dict[str, Any] | None = None


def chunk(
    message: Mapping[str, object],
    *,
    stop_reason: str | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
    family: Family = NEUTRAL,
    usage: Mapping[str, object] | None = None,
    metrics: Mapping[str, object] | None = None,
) -> list[dict[str, Any]]:
    """Cut an AWS Message into the events of a complete ConverseStream, messageStart to metadata.

    `stop_reason` is `tool_use` where the message asks for a tool, else `end_turn`; `pieces` gives for the index of a
    text, toolUse or reasoning block the exact deltas; `family` is how everything else is cut; `usage` and `metrics` are
    estimated from the message. Raises ReplyError for a block that cannot be streamed.

    >>> for event in chunk({"role": "assistant", "content": [{"text": "Hi there"}]})[1:-2]:
    ...     print(event)
    {'contentBlockDelta': {'contentBlockIndex': 0, 'delta': {'text': 'Hi'}}}
    {'contentBlockDelta': {'contentBlockIndex': 0, 'delta': {'text': ' there'}}}
    {'contentBlockStop': {'contentBlockIndex': 0}}
    """
    blocks = cast("Sequence[Mapping[str, Any]]", message["content"])
    events = list(message_events(message, pieces=pieces, family=family))
    events.append({"messageStop": {"stopReason": stop_reason or default_stop_reason(blocks)}})
    output = estimate_tokens(blocks)
    usage = usage or {"inputTokens": 1, "outputTokens": output, "totalTokens": output + 1}
    events.append({"metadata": {"usage": dict(usage), "metrics": dict(metrics or {"latencyMs": 10 * output})}})
    return events


def message_events(
    message: Mapping[str, object], *, pieces: Mapping[int, Sequence[str]] | None = None, family: Family = NEUTRAL
) -> Iterator[dict[str, Any]]:
    """The events of a message alone, messageStart to the last contentBlockStop."""
    yield {"messageStart": {"role": message["role"]}}
    blocks = cast("Sequence[Mapping[str, Any]]", message["content"])
    for index, block in enumerate(blocks):
        start, deltas = _cut_block(index, block, (pieces or {}).get(index), family)
        if start is not None:
            yield {"contentBlockStart": {"contentBlockIndex": index, "start": start}}
        for delta in deltas:
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
        yield {"contentBlockStop": {"contentBlockIndex": index}}


def default_stop_reason(blocks: Iterable[Mapping[str, Any]]) -> str:
    """`tool_use` where a block asks the client for a tool, else `end_turn`; a server tool is not the client's."""
    asks = any("toolUse" in block and block["toolUse"].get("type") != "server_tool_use" for block in blocks)
    return "tool_use" if asks else "end_turn"


def estimate_tokens(value: object) -> int:
    """A believable number of tokens, at least 1: a quarter of the characters of its text, 1,500 for each file."""
    return max(1, round(_weigh(value)))


def _weigh(value: object) -> float:
    match value:
        case str():
            return len(value) / 4
        case bytes() | bytearray():
            return 1500
        case Mapping():
            return sum(map(_weigh, chain.from_iterable(cast("Mapping[object, object]", value).items())))
        case list() | tuple():
            return sum(map(_weigh, cast("list[object]", value)))
        case _:
            return 0.5


def tool_input_json(value: object) -> str:
    """A tool input as models write it: JSON with spaces, UTF-8 unescaped."""
    return json.dumps(value, ensure_ascii=False)


def _cut_block(
    index: int, block: Mapping[str, Any], pieces: Sequence[str] | None, family: Family
) -> tuple[dict[str, Any] | None, Iterable[dict[str, Any]]]:
    if pieces is not None and not block.keys() & {"text", "toolUse", "reasoningContent"}:
        raise ReplyError(f"pieces[{index}]: only a text, toolUse or reasoningContent block is cut into pieces.")
    match block:
        case {"text": text}:
            return None, ({"text": piece} for piece in _pieces(index, pieces, text, cut_text, family))
        case {"reasoningContent": {"redactedContent": redacted}}:
            return None, [{"reasoningContent": {"redactedContent": redacted}}]
        case {"reasoningContent": {"reasoningText": reasoning}}:
            return None, _cut_reasoning(index, reasoning, pieces, family)
        case {"toolUse": {"input": value, **start}}:
            text = tool_input_json(value)
            return {"toolUse": start}, (
                {"toolUse": {"input": piece}} for piece in _pieces(index, pieces, text, cut_tool_input, family)
            )
        case {"toolResult": {"content": content, **start}}:
            unstreamable = [name for item in content for name in item if name not in ("text", "json")]
            if unstreamable:
                raise ReplyError(
                    f"content[{index}].toolResult.content has {unstreamable[0]!r}, which has no delta in AWS's model; "
                    "a streamed tool result holds text and json."
                )
            return {"toolResult": start}, [{"toolResult": [item]} for item in content]
        case {"citationsContent": cited}:
            return None, _cut_citations(index, cited, family)
        case {"image": {"format": form, **delta}}:
            return {"image": {"format": form}}, [{"image": delta}]
        case _:
            name = next(iter(block), None)
            raise ReplyError(
                f"content[{index}] is {name!r}, which cannot be streamed: AWS's model has no delta for it. "
                f"Streamable: {', '.join(STREAMABLE)}."
            )


def _cut_reasoning(
    index: int, reasoning: Mapping[str, Any], pieces: Sequence[str] | None, family: Family
) -> list[dict[str, Any]]:
    text, signature = reasoning["text"], reasoning.get("signature")
    texts: Sequence[str] = [] if not text and signature else _pieces(index, pieces, text, cut_text, family)
    deltas: list[dict[str, Any]] = [{"reasoningContent": {"text": piece}} for piece in texts]
    if signature is not None:
        deltas.append({"reasoningContent": {"signature": signature}})
    return deltas


def _cut_citations(index: int, cited: Mapping[str, Any], family: Family) -> list[dict[str, Any]]:
    content, citations = cited.get("content", []), cited.get("citations", [])
    if len(content) > 1 or not citations:
        raise ReplyError(
            f"content[{index}].citationsContent has {len(content)} generated texts and {len(citations)} citations; a "
            "stream can carry one text with at least one citation. Use one block for each text."
        )
    deltas: list[dict[str, Any]] = [{"citation": citation} for citation in citations]
    return deltas + [{"text": piece} for item in content for piece in cut_text(item["text"], family)]


def _pieces(
    index: int, given: Sequence[str] | None, text: str, cut: Callable[[str, Family], list[str]], family: Family
) -> Sequence[str]:
    if given is None:
        return cut(text, family)
    if isinstance(given, str) or not given or "".join(given) != text:
        raise ReplyError(f"pieces[{index}] is {given!r}; joined they must be the block's text, {text!r}.")
    return given


def assemble(events: Iterable[Mapping[str, Any]]) -> Response:
    """Put the events of a complete ConverseStream together again.

    Raises StreamOrderError for an order that ConverseStream never sends, for a stream that an exception frame ended,
    and for a tool input that is not JSON.

    >>> assemble(chunk({"role": "assistant", "content": [{"text": "Hi there"}]})).message
    {'role': 'assistant', 'content': [{'text': 'Hi there'}]}
    """
    order = StreamOrder()
    draft = _Draft()
    for event in events:
        order.feed(event)
        name = kind(event)
        if is_exception(name):
            raise StreamOrderError(
                f"events[{order.position - 1}] is {name}: a stream that failed amounts to no message."
            )
        getattr(draft, name)(**event[name])
    order.finish()
    return draft.response()


@dataclass(slots=True)
class _Draft:
    """A message as it comes in; its methods are named after the events and take their members."""

    role: str = ""
    content: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])
    deltas: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    stop: Mapping[str, Any] = field(default_factory=dict[str, Any])
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def messageStart(self, *, role: str, **_: Any) -> None:  # noqa: N802
        self.role = role

    def contentBlockStart(self, *, start: Mapping[str, Any], **_: Any) -> None:  # noqa: N802
        self.start = start

    def contentBlockDelta(self, *, delta: Mapping[str, Any], **_: Any) -> None:  # noqa: N802
        self.deltas.append(delta)

    def contentBlockStop(self, **_: Any) -> None:  # noqa: N802
        self.content.append(_join_block(len(self.content), self.start, self.deltas))
        self.start, self.deltas = {}, []

    def messageStop(self, **stop: Any) -> None:  # noqa: N802
        self.stop = stop

    def metadata(self, **meta: Any) -> None:
        self.meta = meta

    def response(self) -> Response:
        return Response(
            message={"role": self.role, "content": self.content},
            stop_reason=self.stop["stopReason"],
            usage=self.meta.get("usage"),
            metrics=self.meta.get("metrics"),
            trace=self.meta.get("trace"),
            additional=self.stop.get("additionalModelResponseFields"),
            performance_config=self.meta.get("performanceConfig"),
            service_tier=self.meta.get("serviceTier"),
        )


def _join_block(index: int, start: Mapping[str, Any], deltas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    match start:
        case {"toolUse": tool}:
            text = "".join(delta["toolUse"]["input"] for delta in deltas)
            return {"toolUse": {**tool, "input": _parse_tool_input(index, text)}}
        case {"toolResult": result}:
            return {"toolResult": {**result, "content": [item for delta in deltas for item in delta["toolResult"]]}}
        case {"image": image}:
            return {"image": {**image, **{key: value for delta in deltas for key, value in delta["image"].items()}}}
        case _:
            pass
    text = "".join(delta["text"] for delta in deltas if "text" in delta)
    citations = [delta["citation"] for delta in deltas if "citation" in delta]
    if citations:
        generated = {"content": [{"text": text}]} if any("text" in delta for delta in deltas) else {}
        return {"citationsContent": {**generated, "citations": citations}}
    if "reasoningContent" not in deltas[0]:
        return {"text": text}
    reasoning = [delta["reasoningContent"] for delta in deltas]
    if "redactedContent" in reasoning[0]:
        return {"reasoningContent": {"redactedContent": reasoning[0]["redactedContent"]}}
    signed = {name: part[name] for part in reasoning for name in ("signature",) if name in part}
    return {
        "reasoningContent": {"reasoningText": {"text": "".join(part.get("text", "") for part in reasoning), **signed}}
    }


def _parse_tool_input(index: int, text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise StreamOrderError(
            f"The tool input of block {index} is not JSON ({error}): {text!r}. A stream cut off by max_tokens has no "
            "whole message."
        ) from error
