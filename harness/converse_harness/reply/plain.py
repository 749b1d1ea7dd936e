"""Functions that create answers with a message: text, tools, JSON, any content blocks, or the exact events."""

from __future__ import annotations

import copy
import json as _json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.errors import ReplyError
from converse_harness.reply.body import UNNAMED_TOOL_USE, EventsBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.chunk import default_stop_reason
from converse_harness.stream.events import encode_event
from converse_harness.stream.grammar import UNIONS, check_order, kind

_FUTURE: Final = frozenset({bedrock.FindingKind.UNKNOWN, bedrock.FindingKind.ENUM})
"""Kinds of mistakes that `strict=False` allows: future answers may have members and values that are now unknown."""

_FUTURE_OPTIONS: Final = _FUTURE | {bedrock.FindingKind.REQUIRED}
"""Kinds of mistakes that `strict=False` allows outside content blocks: AWS sometimes omits required members there."""

_STREAMED_BY_ALL: Final = frozenset({"text", "reasoningContent", "toolUse"})
"""Blocks that every supported botocore can parse in a stream. Answers with only these blocks skip a slow check."""

_NO_USAGE: Final = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}


def text(text: str, *, pieces: Sequence[str] | None = None, stop_reason: str = "end_turn") -> Reply:
    """Answer with one text block.

    `pieces` are the exact deltas; joined, they must equal the text. Raises ReplyError for an unknown stop reason.

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
    """Answer with one toolUse block, by which the model asks the client to run a tool.

    `input` is the JSON object of the tool's arguments. `id` is the toolUseId; the default is generated in the form of
    recorded ids. `pieces` are the exact deltas of the input's JSON; with the stop reason `max_tokens` they may be only
    the beginning of this JSON. `stop_reason` is `tool_use` by default. Raises ReplyError for a name that Bedrock does
    not allow.

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

    By default `stop_reason` follows from the blocks. A toolUse may omit its toolUseId. `usage` (TokenUsage; missing
    members are estimated), `metrics`, `trace` (ConverseTrace; plain Converse adds an empty `modelOutput`, as AWS does),
    `additional` (additionalModelResponseFields), `performance_config` and `service_tier` are members of
    ConverseResponse. `pieces` maps the index of a block to its exact deltas. With the stop reason `max_tokens`, the
    pieces of a last toolUse block may be only the beginning of its input. `strict=False` allows members and values that
    the installed botocore's model does not have (future ones), and missing required members outside the content blocks;
    a stream sends a block of unknown type as one delta with the block's name.
    Raises ReplyError if AWS's model does not allow a value, or if a block cannot be streamed.

    >>> message({"text": "Let me look."}, {"toolUse": {"name": "get_weather", "input": {}}}).summary
    'text "Let me look." + tool_use get_weather {}'
    """
    blocks = tuple(_named(copy.deepcopy(block)) for block in content)
    allowing = () if strict else _FUTURE
    for index, block in enumerate(blocks):
        bedrock.check("ContentBlock", block, root=f"content[{index}]", allowing=allowing)
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
    bedrock.check("StopReason", reason, root="stop_reason", allowing=allowing)
    for name, value in options.items():
        if strict or bedrock.has_member("ConverseResponse", name):
            whole = {**_NO_USAGE, **value} if name == "usage" and isinstance(value, Mapping) else value
            shape = bedrock.member("ConverseResponse", name).name
            bedrock.check(shape, whole, root=name, allowing=() if strict else _FUTURE_OPTIONS)
    reply = Reply(MessageBody(blocks, reason, pieces=copy.deepcopy(pieces), options=options, strict=strict))
    sent_by_all = all(block.keys() <= _STREAMED_BY_ALL for block in blocks)
    for index, event in enumerate(reply.events()):  # events() raises if a block has no deltas or `pieces` is wrong
        if not strict:
            _check_encodable(event, index)
        elif not sent_by_all:
            _check_streamable(event)
    return reply


def events(events: Iterable[Mapping[str, object]], *, strict: bool = True) -> Reply:
    """Answer with exactly these events, as AWS event dicts.

    With `strict`, every event must be valid in AWS's model, and ConverseStream must be able to send this sequence.
    Otherwise an event may be any JSON object with one key; a key that ends in `Exception` is sent as an exception
    frame. Raises ReplyError for an invalid event, StreamOrderError for an impossible sequence.

    >>> events([{"throttlingException": {"message": "Slow down"}}]).summary
    '1 events'
    """
    copied = tuple(dict(copy.deepcopy(event)) for event in events)
    for index, event in enumerate(copied):
        name = kind(event)
        if not isinstance(event[name], Mapping):
            raise ReplyError(f"events[{index}].{name} is {event[name]!r}; an event is a mapping of its members.")
        if strict:
            bedrock.check("ConverseStreamOutput", event, root=f"events[{index}]")
        else:
            _check_encodable(event, index)
    if strict:
        check_order(copied)
    return Reply(EventsBody(copied, strict))


def _check_streamable(event: Mapping[str, Any]) -> None:
    """Raise NotInModel if the installed botocore cannot parse the event: older ones lack some starts and deltas."""
    for name, union in UNIONS.items():
        if name in event:
            (carried,) = event[name][union]
            bedrock.member(bedrock.member(bedrock.stream_shape(name), union).name, carried)


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


def cited(
    *parts: str | Mapping[str, object],
    stop_reason: str = "end_turn",
    usage: Mapping[str, object] | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
) -> Reply:
    """Answer with texts in order; after each text come the Citations that support it (mappings of the AWS API).

    Each text becomes one block: a text block, or a citationsContent block if citations follow the text. A stream sends
    citations before their text. Citations that come first, or after an empty text, become a block without text, as in
    answers with Nova's web grounding.
    `citing` creates a Citation. `usage` (TokenUsage) and `pieces` (index of a block -> the exact deltas of its text)
    are as in `message`. Raises ReplyError for an invalid part, or for no parts. Source: recorded answers of Claude and
    Nova.

    >>> from converse_harness import citing
    >>> forecast = {"name": "forecast", "source": {"text": "Zürich: 18 °C, sunny."}}
    >>> cited("It is ", "18 °C", citing(forecast, "18 °C"), " today.").summary
    'text "It is " + citationsContent + text " today."'
    """
    if not parts:
        raise ReplyError("cited() has nothing to say. Give texts, and after each the Citations that it leans on.")
    texts: list[tuple[str, list[Mapping[str, object]]]] = []
    for place, part in enumerate(parts):
        if isinstance(part, str):
            texts.append((part, []))
        elif isinstance(part, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # user input
            bedrock.check("Citation", part, root=f"cited: parts[{place}]")
            if not texts:
                texts.append(("", []))
            texts[-1][1].append(part)
        else:
            raise ReplyError(
                f"cited: parts[{place}] is {part!r}; a part is a text or a Citation of the AWS API, each an argument "
                "of its own."
            )
    content = [_block(text, citations) for text, citations in texts]
    return message(*content, stop_reason=stop_reason, usage=usage, pieces=pieces)


def _block(text: str, citations: list[Mapping[str, object]]) -> dict[str, Any]:
    if not citations:
        return {"text": text}
    generated = {"content": [{"text": text}]} if text else {}
    return {"citationsContent": {**generated, "citations": citations}}
