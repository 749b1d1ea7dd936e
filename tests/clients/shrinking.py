"""Shrink a stream as long as a condition holds: greedily, with a limit for the number of tries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from converse_harness import Reply, assemble, reply
from converse_harness.errors import ReplyError
from converse_harness.json_values import is_array, is_object, parsed_json
from converse_harness.reply.body import MessageBody
from converse_harness.stream.grammar import kind

TRIES: Final = 100
"""How often the condition is asked for one stream; a long stream may then not be the smallest one."""

LEAST: Final[Mapping[str, Any]] = {
    "metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 0}}
}
"""The metadata of a stream that is shrunk, if the condition does not need others."""

Event = Mapping[str, Any]
Item = TypeVar("Item")


def shrunk(answer: Reply, holds: Callable[[Reply], bool], tries: int = TRIES) -> Reply:
    """Return a smaller legal stream for which `holds` is still true: the answer itself if none is found.

    Blocks are removed first, then deltas, then parts of texts and of tools' inputs. `holds` is called at most `tries`
    times.
    """
    tried = 0
    candidates = _smaller(answer)
    while tried < tries and (candidate := next(candidates, None)) is not None:
        tried += 1
        if holds(candidate):
            answer, candidates = candidate, _smaller(candidate)
    return answer


def _smaller(answer: Reply) -> Iterator[Reply]:
    """Every legal stream that one removal makes of an answer, those that remove most first."""
    body = answer.plan.body
    if isinstance(body, MessageBody) and body.pieces is None:
        makers = _of_message(body)
    else:
        makers = _of_events([*answer.events()])
    for make in makers:
        try:
            made = make()
            assemble(made.events())
        except ReplyError:  # the removal breaks the order of events, or the JSON of a tool's input
            continue
        yield made


def _of_message(body: MessageBody) -> Iterator[Callable[[], Reply]]:
    def made(content: Sequence[Event], stop_reason: Any = body.stop_reason) -> Callable[[], Reply]:
        return lambda: reply.message(*content, stop_reason=stop_reason, **body.options)

    reason: Any = body.stop_reason
    for content in _without(body.content):
        yield made(content, _stop_reason(body.stop_reason, content))
    for number, block in enumerate(body.content):
        for less in _reduced(block):
            yield made([*body.content[:number], less, *body.content[number + 1 :]])
    if body.options:
        yield lambda: reply.message(*body.content, stop_reason=reason)
    if body.stop_reason != (usual := _stop_reason("tool_use", body.content)):
        yield made(body.content, usual)


def _of_events(events: list[dict[str, Any]]) -> Iterator[Callable[[], Reply]]:
    start, *inner = [event for event in events if kind(event) not in ("messageStop", "metadata")]
    stop, *metadata = events[len(inner) + 1 :]
    reason = stop["messageStop"]["stopReason"]

    def made(
        inside: Sequence[Event], stop_reason: Any = reason, end: Sequence[Event] = metadata
    ) -> Callable[[], Reply]:
        return lambda: reply.events([start, *inside, {"messageStop": {"stopReason": stop_reason}}, *end])

    for blocks in _without(_blocks(inner)):
        kept = _numbered(blocks)
        yield made(kept, _stop_reason(reason, kept))
    yield lambda: _as_message(events)
    deltas = [number for number, event in enumerate(inner) if "contentBlockDelta" in event]
    for left in _without(deltas):
        gone = {*deltas} - {*left}
        yield made([event for number, event in enumerate(inner) if number not in gone])
    for number, event in enumerate(inner):
        for less in _reduced(event):
            yield made([*inner[:number], less, *inner[number + 1 :]])
    if metadata not in ([], [LEAST]):
        yield made(inner, end=[LEAST])
    if reason != (usual := _stop_reason("tool_use", inner)):
        yield made(inner, usual)


def _stop_reason(reason: str | None, parts: Iterable[Event]) -> Any:
    """The stop reason of an answer that has these blocks or events: tool_use needs a tool."""
    called = any("toolUse" in part or "toolUse" in part.get("contentBlockStart", {}).get("start", {}) for part in parts)
    return "end_turn" if reason == "tool_use" and not called else reason


def _as_message(events: list[dict[str, Any]]) -> Reply:
    """The same answer, cut as the fake cuts messages."""
    whole: Any = assemble(events)
    return reply.message(*whole.message["content"], stop_reason=whole.stop_reason)


def _blocks(events: Sequence[Event]) -> list[list[Event]]:
    """The events of each block."""
    blocks: list[list[Event]] = [[]]
    for event in events:
        blocks[-1].append(event)
        if "contentBlockStop" in event:
            blocks.append([])
    return blocks[:-1]


def _numbered(blocks: Sequence[Sequence[Event]]) -> list[Event]:
    """The events of blocks, numbered from 0."""
    return [
        {name: {**members, "contentBlockIndex": index}}
        for index, block in enumerate(blocks)
        for event in block
        for name, members in event.items()
    ]


def _without(items: Sequence[Item]) -> Iterator[list[Item]]:
    """The items without a part of them: without all, without each half, each quarter, and so on to each single item."""
    size = len(items)
    while size:
        for first in range(0, len(items), size):
            yield [*items[:first], *items[first + size :]]
        size //= 2


def _reduced(value: Any) -> Iterator[Any]:
    """A block or an event with less text, or with less of a tool's input, which is an object or its JSON."""
    if not is_object(value):
        return
    for key, inner in value.items():
        if key == "text" or (key == "input" and is_object(inner)):
            smaller = _less(inner)
        elif key == "input":
            given = parsed_json(inner or "{}")
            smaller = (json.dumps(less) for less in _less(given)) if is_object(given) else iter(("{}",))
        else:
            smaller = _reduced(inner)
        yield from ({**value, key: less} for less in smaller)


def _less(value: Any) -> Iterator[Any]:
    """A JSON value with less in it: members and items first, then halves of texts."""
    if is_object(value):
        yield from ({name: value[name] for name in names} for names in _without([*value]))
        for name, inner in value.items():
            yield from ({**value, name: less} for less in _less(inner))
    elif is_array(value):
        yield from _without(value)
        for number, inner in enumerate(value):
            yield from ([*value[:number], less, *value[number + 1 :]] for less in _less(inner))
    elif isinstance(value, str) and value:
        half = len(value) // 2
        yield value[:half]
        if half:
            yield value[half:]
