"""A reply in parts, and the reply that other parts make: None if AWS's API model or the order of events forbids it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from converse_harness.bedrock.families import UNNAMED_TOOL_USE, USUAL_SIGNATURE
from converse_harness.errors import ConverseHarnessError
from converse_harness.json_schema.parts import Unsatisfied
from converse_harness.json_schema.values import least_value
from converse_harness.json_values import is_array, is_object, member_of, object_of
from converse_harness.reply.answer import meant
from converse_harness.reply.body import Call, EventsBody, MessageBody, written
from converse_harness.reply.exact import events as events_reply
from converse_harness.reply.messages import answer
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import assemble, text_delta
from converse_harness.stream.chunk import default_stop_reason

Block = Mapping[str, Any]

_COUNTING: Final = ("fails_after", "error_frame_after")
"""The methods of Reply whose first argument is a number of events."""

LEAST_TEXT: Final = "."
"""The least text of a block of text. Bedrock refuses a request that repeats an empty one."""


def is_whole(reply: Reply) -> bool:
    """Whether a reply can only stay or be left out: an error, an answer that is no answer, or one of unknown bytes."""
    return reply.plan.no_answer or not isinstance(reply.plan.body, MessageBody | EventsBody)


def ends_of(reply: Reply) -> list[Call]:
    """Return the calls of methods that break, fail or slow down the reply."""
    plan = reply.plan
    body = plan.body
    assert isinstance(body, MessageBody | EventsBody)
    return [*written(body, plan.failure, plan.placements, plan.pace, 1)][1:]


def with_ends(base: Reply, ends: Sequence[Call], misfits: tuple[str, ...]) -> Reply | None:
    """Return a reply that also breaks, fails and waits so. A position behind the last event becomes the last one."""
    made: Any = base
    try:
        most = len([*base.events()])
        for name, arguments, options in ends:
            given = [*arguments]
            if name in _COUNTING:
                given[0] = min(given[0], most - (1 if not _is_unfinished(base) else 0))
            more = {**options, "after": min(options["after"], most)} if "after" in options else options
            made = _called(made, name, given, more)
    except (ConverseHarnessError, LookupError, TypeError):
        return None
    return meant(made, misfits) if misfits else made


def _called(made: Any, name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Call a method of a reply. If a position is too far behind, it is moved towards the begin."""
    while True:
        try:
            return getattr(made, name)(*arguments, **options)
        except ConverseHarnessError:
            if not options.get("after"):
                raise
            options = {**options, "after": options["after"] - 1}


def _is_unfinished(reply: Reply) -> bool:
    body = reply.plan.body
    return isinstance(body, EventsBody) and bool(body.unfinished)


def message_with(own: Reply, **changed: Any) -> Reply | None:
    """Return a reply whose message has other members: those of MessageBody."""
    body = own.plan.body
    assert isinstance(body, MessageBody)
    other = replace(body, **changed)
    if not other.content and body.content:
        return None  # an answer without blocks is an answer of another kind
    try:
        base = answer(
            [_without_placeholder(each) for each in other.content],
            other.stop_reason,
            other.options,
            pieces=other.pieces or None,
            strict=other.strict,
            as_given=other.as_given,
        )
    except (ConverseHarnessError, LookupError, TypeError, ValueError):
        return None
    return with_ends(base, ends_of(own), own.plan.misfits)


def with_blocks(own: Reply, kept: Sequence[int]) -> Reply | None:
    """Return a reply with only these blocks of its message; a stop reason that follows from the blocks follows them."""
    body = own.plan.body
    assert isinstance(body, MessageBody)
    content = tuple(body.content[index] for index in kept)
    usual = body.stop_reason == default_stop_reason(body.content)
    pieces = {at: body.pieces[index] for at, index in enumerate(kept) if body.pieces and index in body.pieces}
    stop = default_stop_reason(content) if usual else body.stop_reason
    return message_with(own, content=content, pieces=pieces, stop_reason=stop)


def with_block(own: Reply, index: int, block: Block, pieces: Sequence[str] | None = None) -> Reply | None:
    """Return a reply with another block in the place of one; the block is cut into these pieces, or as usual."""
    body = own.plan.body
    assert isinstance(body, MessageBody)
    others = {at: each for at, each in (body.pieces or {}).items() if at != index}
    content = (*body.content[:index], block, *body.content[index + 1 :])
    return message_with(own, content=content, pieces=others if pieces is None else {**others, index: pieces})


def events_with(own: Reply, events: Sequence[Mapping[str, Any]]) -> Reply | None:
    """Return a reply with other events."""
    body = own.plan.body
    assert isinstance(body, EventsBody)
    try:
        base = events_reply(events, strict=body.strict)
    except (ConverseHarnessError, LookupError, TypeError, ValueError):
        return None
    made = with_ends(base, ends_of(own), own.plan.misfits)
    return None if made is None or (_is_unfinished(made) and made.plan.failure is None) else made


def without_end(own: Reply, number: int) -> Reply | None:
    """Return a reply without one of its `ends_of`."""
    body, ends = own.plan.body, ends_of(own)
    bare = Reply(replace(own.plan, failure=None, placements=(), recorded=None, pace=type(own.plan.pace)()))
    if isinstance(body, EventsBody) and body.unfinished and ends[number][0] in _COUNTING:
        return None
    return with_ends(bare, [*ends[:number], *ends[number + 1 :]], own.plan.misfits)


def forms_of(own: Reply) -> Iterator[Reply]:
    """Yield the reply in shorter forms: as a message, strictly checked, without what the fake fills in."""
    body = own.plan.body
    if isinstance(body, EventsBody):
        for pieces in (False, True):
            made = _as_message(own, body, pieces=pieces)
            if made is not None:
                yield made
    elif isinstance(body, MessageBody):
        content = tuple(map(_filled_in, body.content))
        changes: tuple[dict[str, Any], ...] = (
            {"content": content, "strict": True, "as_given": False, "pieces": None, "options": {}},
            {"strict": True, "as_given": False, "options": _without_metrics(body.options)},
            {"content": content},
            {"pieces": None},
            {"options": {}},
            {"options": _without_metrics(body.options)},
            {"stop_reason": default_stop_reason(body.content)},
        )
        for change in changes:
            made = message_with(own, **change)
            if made is not None:
                yield made


def _without_metrics(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in options.items() if name != "metrics"}


def _as_message(own: Reply, body: EventsBody, *, pieces: bool) -> Reply | None:
    """Return the message of whole events, with the pieces in which its texts came or without; None if there is none."""
    try:
        whole = assemble(body.events)
    except (ConverseHarnessError, LookupError, TypeError):
        return None
    cut: dict[int, list[str]] = {}
    for found in filter(None, map(text_delta, map(dict[str, Any], body.events))) if pieces else ():
        cut.setdefault(found[0], []).append(found[2])
    options = {
        "usage": whole.usage,
        "trace": whole.trace,
        "performanceConfig": whole.performance_config,
        "serviceTier": whole.service_tier,
        "additionalModelResponseFields": whole.additional,
    }
    content = tuple(map(_filled_in, whole.message["content"]))
    for strict in (True, False):
        try:
            base = answer(content, whole.stop_reason, options, pieces=cut or None, strict=strict)
        except (ConverseHarnessError, LookupError, TypeError, ValueError):
            continue
        return with_ends(base, ends_of(own), own.plan.misfits)
    return None


def _filled_in(block: Block) -> Block:
    """Return a block without what the fake fills in by itself: the id and the type of a tool use, a signature."""
    if "toolUse" in block:
        tool = {name: value for name, value in block["toolUse"].items() if name != "toolUseId"}
        if tool.get("type") == "tool_use":
            del tool["type"]
        return {"toolUse": tool}
    text = object_of(member_of(block, "reasoningContent", "reasoningText"))
    if "signature" in text:
        return {"reasoningContent": {"reasoningText": {**text, "signature": USUAL_SIGNATURE}}}
    return block


def _without_placeholder(block: Block) -> Block:
    tool = block.get("toolUse")
    if is_object(tool) and tool.get("toolUseId") == UNNAMED_TOOL_USE:
        return {"toolUse": {name: value for name, value in tool.items() if name != "toolUseId"}}
    return block


def has_usual_signature(block: Block) -> bool:
    """Whether a block is reasoning with the signature that the fake fills in."""
    return bool(member_of(block, "reasoningContent", "reasoningText", "signature") == USUAL_SIGNATURE)


def plainest(own: Reply, schemas: Mapping[str, object]) -> Reply | None:
    """Return the reply with the least text and the least input in each of its blocks; None if it has no message."""
    for form in (*forms_of(own), own):
        body = form.plan.body
        if isinstance(body, MessageBody):
            return message_with(form, content=tuple(_least_block(each, schemas) for each in body.content), pieces=None)
    return None


def _least_block(block: Block, schemas: Mapping[str, object]) -> Block:
    match _filled_in(block):
        case {"text": str(text)}:
            return {"text": LEAST_TEXT if text else ""}
        case {"toolUse": {"name": str(name), **tool}}:
            return {"toolUse": {"name": name, **tool, "input": least_input(name, schemas)}}
        case {"reasoningContent": {"reasoningText": text}}:
            return {"reasoningContent": {"reasoningText": {**text, "text": ""}}}
        case other:
            return other


def least_input(name: str, schemas: Mapping[str, object]) -> Any:
    """Return the least input that the schema of a tool allows; {} if the schema is not known."""
    try:
        return least_value(schemas.get(name, {}), objects=True)
    except (Unsatisfied, RecursionError):
        return {}


def least_of(schema: object) -> Any:
    """Return the least value that a schema allows; None if none is found."""
    try:
        return None if schema is None else least_value(schema)
    except (Unsatisfied, RecursionError):
        return None


def in_blocks(events: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the events of a stream in groups: each block is one, and so is each other event."""
    found: list[list[Mapping[str, Any]]] = []
    for index, several in groupby(events, _block_of):
        group = [*several]
        found += [[each] for each in group] if index is None else [group]
    return found


def numbered(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    """Return the events of groups, whose blocks are numbered from 0."""
    made: list[Mapping[str, Any]] = []
    number = 0
    for group in groups:
        for event in group:
            ((name, member),) = event.items()
            made.append({name: {**member, "contentBlockIndex": number}} if _block_of(event) is not None else event)
        number += bool(group) and _block_of(group[0]) is not None
    return made


def _block_of(event: Mapping[str, Any]) -> int | None:
    ((_, member),) = event.items()
    return member.get("contentBlockIndex") if is_object(member) else None


def merged(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return events in which successive deltas of one text are one."""
    made: list[Mapping[str, Any]] = []
    before: tuple[int, str, str] | None = None
    for event in events:
        found = text_delta(dict(event))
        if found is not None and before is not None and found[:2] == before[:2]:
            before = (*before[:2], before[2] + found[2])
            made[-1] = delta_with(event, before)
        else:
            made.append(event)
            before = found
    return made


def delta_with(like: Mapping[str, Any], found: tuple[int, str, str]) -> Mapping[str, Any]:
    """Return an event like another one, with other values of `text_delta`."""
    delta = like["contentBlockDelta"]["delta"]
    ((carrier, inner),) = delta.items()
    value = found[2] if isinstance(inner, str) else {next(iter(inner)): found[2]}
    return {"contentBlockDelta": {"contentBlockIndex": found[0], "delta": {carrier: value}}}


def count_of(reply: Reply) -> tuple[int, int]:
    """Return the number of blocks of a reply, and the number of characters in its texts."""
    body = reply.plan.body
    if isinstance(body, MessageBody):
        return len(body.content), sum(map(_characters, body.content))
    if isinstance(body, EventsBody):
        blocks = {_block_of(each) for each in body.events} - {None}
        return len(blocks), sum(map(_characters, body.events))
    return 0, 0


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value not in (UNNAMED_TOOL_USE, USUAL_SIGNATURE) else 0
    if is_object(value):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) if is_array(value) else 0
