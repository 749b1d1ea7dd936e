"""Answers that are messages: text, tools, JSON, any content blocks, or the exact events."""

from __future__ import annotations

import copy
import json as _json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from converse_harness import model
from converse_harness.bodies import UNNAMED_TOOL_USE, EventsBody, MessageBody
from converse_harness.chunking import default_stop_reason
from converse_harness.errors import ReplyError
from converse_harness.grammar import UNIONS, check_order, kind
from converse_harness.replies import Reply
from converse_harness.wire.events import encode_event

FUTURE: Final = frozenset({model.Kind.UNKNOWN, model.Kind.ENUM})
"""The rules that an answer of the future may break: it has members and values that today's model does not know."""

_STREAMED_BY_ALL: Final = frozenset({"text", "reasoningContent", "toolUse"})
"""Blocks that every botocore from the oldest on knows in a stream; long answers are made of them."""

_NO_USAGE: Final = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}


def text(text: str, *, pieces: Sequence[str] | None = None, stop_reason: str = "end_turn") -> Reply:
    """Answer with one text block.

    `pieces` are the exact deltas, which joined are the text. Raises ReplyError for an unknown stop reason.

    >>> text("18 °C and sunny.")
    <Reply text "18 °C and sunny.">
    """
    return message({"text": text}, stop_reason=stop_reason, pieces=None if pieces is None else {0: pieces})


def tool_use(
    name: str,
    input: Mapping[str, object] | None = None,
    *,
    id: str | None = None,
    pieces: Sequence[str] | None = None,
    stop_reason: str | None = None,
) -> Reply:
    """Ask the client for one tool.

    `input` is the JSON object of its arguments; `id` the toolUseId, of the recorded form if not given; `pieces` the
    exact deltas of the input's JSON, with the `stop_reason` (if not given `tool_use`) `max_tokens` perhaps only the
    first of them. Raises ReplyError for a name that Bedrock does not allow.

    >>> tool_use("get_weather", {"city": "Zürich"})
    <Reply tool_use get_weather {"city": "Zürich"}>
    """
    block: dict[str, object] = {"name": name, "input": dict(input or {})}
    if id is not None:
        block["toolUseId"] = id
    return message({"toolUse": block}, stop_reason=stop_reason, pieces=None if pieces is None else {0: pieces})


def json(value: object) -> Reply:
    """Answer with one text block that is the JSON of a value: structured output as models send it.

    >>> json([7, None])
    <Reply text "[7, null]">
    """
    return text(_json.dumps(value, ensure_ascii=False))


def message(
    *content: Mapping[str, object],
    stop_reason: str | None = None,
    usage: Mapping[str, object] | None = None,
    metrics: Mapping[str, object] | None = None,
    trace: Mapping[str, object] | None = None,
    additional: object = None,
    performance_config: Mapping[str, object] | None = None,
    service_tier: Mapping[str, object] | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
    strict: bool = True,
) -> Reply:
    """Answer with the content blocks of one assistant message, as the AWS API writes them.

    `stop_reason` follows from the blocks if not given; a toolUse may leave its toolUseId out. `usage` (TokenUsage;
    what it leaves out is estimated), `metrics`, `trace` (ConverseTrace; plain Converse adds the empty `modelOutput`
    of AWS), `additional` (additionalModelResponseFields), `performance_config` and `service_tier` are members of
    ConverseResponse. `pieces` gives the exact deltas of blocks
    by index; those of a last tool use may be the beginning of its input where `max_tokens` cuts it off. With
    `strict=False` there may be members and values that the installed model does not have, as of the future; a stream
    sends a block that it does not know as one delta of that name.
    Raises ReplyError for what AWS's model does not allow, or a block that cannot be streamed.

    >>> message({"text": "Let me look."}, {"toolUse": {"name": "get_weather", "input": {}}}).summary
    'text "Let me look." + tool_use get_weather {}'
    """
    blocks = tuple(_named(copy.deepcopy(block)) for block in content)
    allowing = () if strict else FUTURE
    for index, block in enumerate(blocks):
        model.check("ContentBlock", block, root=f"content[{index}]", allowing=allowing)
    reason = default_stop_reason(blocks) if stop_reason is None else stop_reason
    given = {
        "usage": usage,
        "metrics": metrics,
        "trace": trace,
        "additionalModelResponseFields": additional,
        "performanceConfig": performance_config,
        "serviceTier": service_tier,
    }
    options = {name: copy.deepcopy(value) for name, value in given.items() if value is not None}
    model.check("StopReason", reason, root="stop_reason", allowing=allowing)
    for name, value in options.items():
        if strict or model.has_member("ConverseResponse", name):
            whole = {**_NO_USAGE, **value} if name == "usage" and isinstance(value, Mapping) else value
            shape = model.member("ConverseResponse", name).name
            model.check(shape, whole, root=name, allowing=allowing)
    reply = Reply(MessageBody(blocks, reason, pieces=copy.deepcopy(pieces), options=options, strict=strict))
    sent_by_all = all(block.keys() <= _STREAMED_BY_ALL for block in blocks)
    for index, event in enumerate(reply.events()):  # a block without deltas, or pieces that do not add up, fail here
        if not strict:
            _check_encodable(event, index)
        elif not sent_by_all:
            _check_streamable(event)
    return reply


def events(events: Iterable[Mapping[str, object]], *, strict: bool = True) -> Reply:
    """Answer with exactly these events, as AWS event dicts.

    With `strict`, every event must be valid in AWS's model and the sequence one that ConverseStream can send; without,
    anything goes that has one key and is JSON, a key that ends in `Exception` travelling as an exception frame.
    Raises ReplyError, StreamOrderError.

    >>> events([{"throttlingException": {"message": "Slow down"}}]).summary
    '1 events'
    """
    copied = tuple(dict(copy.deepcopy(event)) for event in events)
    for index, event in enumerate(copied):
        name = kind(event)
        if not isinstance(event[name], Mapping):
            raise ReplyError(f"events[{index}].{name} is {event[name]!r}; an event is a mapping of its members.")
        if strict:
            model.check("ConverseStreamOutput", event, root=f"events[{index}]")
        else:
            _check_encodable(event, index)
    if strict:
        check_order(copied)
    return Reply(EventsBody(copied, strict))


def _check_streamable(event: Mapping[str, Any]) -> None:
    """Raise NotInModel where the installed botocore could not read it: older ones know fewer starts and deltas."""
    for name, union in UNIONS.items():
        if name in event:
            (carried,) = event[name][union]
            model.member(model.member(model.stream_shape(name), union).name, carried)


def _check_encodable(event: Mapping[str, Any], index: int) -> None:
    try:
        encode_event(event)
    except (ReplyError, TypeError, ValueError) as error:
        raise ReplyError(f"events[{index}] cannot be sent: {error}. Events are JSON, with bytes for blobs.") from error


def _named(block: Mapping[str, Any]) -> Mapping[str, Any]:
    match block:
        case {"toolUse": {"name": _, "input": _} as tool} if "toolUseId" not in tool and len(block) == 1:
            return {"toolUse": {**tool, "toolUseId": UNNAMED_TOOL_USE}}
        case _:
            return block
