"""The function `reply.message`: an answer with any content blocks. The other functions that make messages call it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, overload

from converse_harness import bedrock
from converse_harness.bedrock.findings import is_array, is_object, shown
from converse_harness.errors import Advice, ReplyError
from converse_harness.literals import StopReason
from converse_harness.reply.body import KEYWORDS, UNNAMED_TOOL_USE, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.arguments import check_flag, copied, has_content, is_whole_response, pieces_by_block
from converse_harness.stream.chunk import default_stop_reason
from converse_harness.stream.events import encode_event
from converse_harness.stream.grammar import UNIONS
from converse_harness.types.content import ContentBlock
from converse_harness.types.event_loop import Metrics, Usage

_FUTURE: Final = frozenset(
    {
        bedrock.FindingKind.UNKNOWN,
        bedrock.FindingKind.ENUM,
        bedrock.FindingKind.PATTERN,
        bedrock.FindingKind.LENGTH,
    }
)
"""The kinds of validation findings that `strict=False` allows. Future answers may have members and values that are
unknown today, and models invent tool names that are invalid in a request.
"""

_FUTURE_OPTIONS: Final = _FUTURE | {bedrock.FindingKind.REQUIRED}
"""The kinds of validation findings that `strict=False` allows outside content blocks. There, AWS sometimes omits
required members.
"""

_STREAMED_BY_ALL: Final = frozenset({"text", "reasoningContent", "toolUse"})
"""The kinds of blocks that every supported version of botocore can parse in a stream. Answers with no other blocks skip
a slow check.
"""

_NO_USAGE: Final = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}

_PARTS: Final = (
    ("inputTokens", ""),
    ("outputTokens", ""),
    ("cacheReadInputTokens", "cacheReadInputTokenCount"),
    ("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
)
"""The members of a usage whose sum is its `totalTokens`. After each member stands the other name under which AWS also
sends it; "" if there is none.
"""

NOT_ENCODED: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The exceptions that `encode_event` may raise for a value that JSON cannot represent."""


@overload
def message(
    *content: ContentBlock | Mapping[str, object],
    stop_reason: StopReason | None = None,
    usage: Usage | Mapping[str, object] | None = None,
    metrics: Metrics | Mapping[str, object] | None = None,
    trace: Mapping[str, object] | None = None,
    additional: object = None,
    performance_config: Mapping[str, object] | None = None,
    service_tier: Mapping[str, object] | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
    strict: Literal[True] = True,
) -> Reply: ...


@overload
def message(
    *content: ContentBlock | Mapping[str, object],
    stop_reason: str | None = None,
    usage: Usage | Mapping[str, object] | None = None,
    metrics: Metrics | Mapping[str, object] | None = None,
    trace: Mapping[str, object] | None = None,
    additional: object = None,
    performance_config: Mapping[str, object] | None = None,
    service_tier: Mapping[str, object] | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
    strict: bool,
) -> Reply: ...


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
    """Answer with one assistant message. Its content blocks are dicts, as in the AWS API.

    By default, `stop_reason` is derived from the blocks. A toolUse may omit its toolUseId. These parameters are members
    of ConverseResponse: `usage` (TokenUsage), `metrics`, `trace` (ConverseTrace), `additional`
    (additionalModelResponseFields), `performance_config` and `service_tier`. Missing members of `usage` are estimated,
    and its `totalTokens` must be the sum of its parts. Plain Converse adds an empty `modelOutput` to a trace, as AWS
    does. `pieces` maps the index of a block to the exact texts of its deltas. With the stop reason `max_tokens`, the
    pieces of a toolUse block at the end may be only the beginning of its input. `strict=False` allows any
    `totalTokens`, members and values that the installed botocore's model does not contain (future ones), tool names
    that models invent, and missing required members outside the content blocks. A stream sends a block of unknown type
    as one delta with the block's name. Raises ReplyError if AWS's API model does not allow a value, or if a block
    cannot be streamed.

    >>> message({"text": "Let me look."}, {"toolUse": {"name": "get_weather", "input": {}}}).summary
    'text "Let me look." + tool_use get_weather {}'
    """
    options = {
        "usage": usage,
        "metrics": metrics,
        "trace": trace,
        "additionalModelResponseFields": additional,
        "performanceConfig": performance_config,
        "serviceTier": service_tier,
    }
    return answer(content, stop_reason, options, pieces=pieces, strict=strict)


def answer(
    content: Iterable[object],
    stop_reason: str | None,
    given: Mapping[str, object],
    *,
    pieces: Mapping[int, Sequence[str]] | None = None,
    strict: bool = True,
    as_given: bool = False,
) -> Reply:
    """Return the reply of `message`. `given` maps members of ConverseResponse to their values, or to None if absent.

    `as_given` is as in MessageBody.
    """
    check_flag("message", strict=strict)
    blocks = tuple(_checked(index, block, strict=strict) for index, block in enumerate(content))
    reason = default_stop_reason(blocks) if stop_reason is None else stop_reason
    bedrock.check("StopReason", reason, root="stop_reason", allowing=() if strict else _FUTURE)
    options: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if strict or bedrock.has_member("ConverseResponse", name):
            whole = {**_NO_USAGE, **value} if name == "usage" and is_object(value) else value
            shape = bedrock.member("ConverseResponse", name).name
            bedrock.check(shape, whole, root=KEYWORDS.get(name, name), allowing=() if strict else _FUTURE_OPTIONS)
            if strict and name == "usage" and is_object(value):
                _check_total(value)
        options[name] = copied(KEYWORDS.get(name, name), value)
    cut = pieces_by_block("message", pieces)
    body = MessageBody(blocks, reason, pieces=cut, options=options, strict=strict, as_given=as_given)
    reply = Reply(body)
    sent_by_all = all(block.keys() <= _STREAMED_BY_ALL for block in blocks)
    # `events` raises an error if a block has no deltas, or if `pieces` is wrong.
    for index, event in enumerate(reply.events()):
        if not strict:
            check_encodable(event, index)
        elif not sent_by_all:
            _check_streamable(event)
    return reply


def _check_total(usage: Mapping[str, Any]) -> None:
    """Raise ReplyError if `totalTokens` is not the sum of the other counts, as it is in all 349 recorded answers."""
    if "totalTokens" not in usage:
        return
    given = {name: count for name, other in _PARTS if (count := usage.get(name, usage.get(other))) is not None}
    total, added = usage["totalTokens"], " + ".join(f"{name} {count}" for name, count in given.items())
    estimated = [name for name in ("inputTokens", "outputTokens") if name not in given]
    if estimated:
        problem = f"{' and '.join(estimated)} would be estimated, and no longer add up to it"
    elif total != sum(given.values()):
        problem = f"{added} is {sum(given.values())}, and Bedrock's total is the sum of them"
    else:
        return
    raise ReplyError(
        f"usage.totalTokens is {total}: {problem}. Leave out totalTokens, which is then computed; or, for a total that "
        "does not add up, ",
        Advice("reply.message(..., strict=False).", 'a "message" with "strict": false.'),
    )


def _checked(index: int, block: object, *, strict: bool) -> Mapping[str, Any]:
    """Return a copy of a content block; a toolUse without toolUseId gets UNNAMED_TOOL_USE.

    Raises ReplyError if `block` is not a ContentBlock.
    """
    if is_object(block) and is_whole_response(block):
        raise ReplyError(
            f"message(): content[{index}] is a whole response of boto3, with {', '.join(map(repr, block))}. For a "
            "response as pasted use ",
            Advice("reply.response(...).", 'a "response" reply.'),
        )
    if has_content(block):
        raise ReplyError(
            f"message(): content[{index}] is a whole Message, with 'role' and 'content'. Give its ",
            Advice('blocks: reply.message(*message["content"]).', 'blocks, the value of "content".'),
        )
    if is_array(block):
        raise ReplyError(
            f"message(): content[{index}] is a {type(block).__name__}, {shown(block)}; a block is a JSON ",
            Advice("object, and an argument of its own: reply.message(*blocks).", "object."),
        )
    if isinstance(block, str):
        raise ReplyError(
            f"message(): content[{index}] is {shown(block)}, a str; a block is a dict. Use reply.text(...), or write "
            'it as {"text": "..."}.'
        )
    named = _named(block)
    bedrock.check("ContentBlock", named, root=f"content[{index}]", allowing=() if strict else _FUTURE)
    return copied(f"content[{index}]", named)


def _check_streamable(event: Mapping[str, Any]) -> None:
    """Raise NotInModel if the installed botocore cannot parse an event: older versions lack some starts and deltas."""
    for name, union in UNIONS.items():
        if name in event:
            (carried,) = event[name][union]
            bedrock.member(bedrock.member(bedrock.stream_shape(name), union).name, carried)


def check_encodable(event: Mapping[str, Any], index: int) -> None:
    """Raise ReplyError if an event cannot be sent as a frame."""
    try:
        encode_event(event)
    except NOT_ENCODED as error:
        raise ReplyError(f"events[{index}] cannot be sent: {error}. Events are JSON, with bytes for blobs.") from None


def _named(block: Any) -> Any:
    match block:
        case {"toolUse": {} as tool} if "toolUseId" not in tool and len(block) == 1:
            return {"toolUse": {**tool, "toolUseId": UNNAMED_TOOL_USE}}
        case _:
            return block
