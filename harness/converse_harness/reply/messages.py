"""The function `reply.message`: an answer with any content blocks. The other functions that make messages call it."""

from __future__ import annotations

import json as _json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, overload

from converse_harness import bedrock
from converse_harness.bedrock.api.checks import is_array, is_object
from converse_harness.bedrock.families import UNNAMED_TOOL_USE, USUAL_SIGNATURE
from converse_harness.errors import Advice, Argument, ReplyError
from converse_harness.literals import StopReason
from converse_harness.reply.body import KEYWORDS, MessageBody
from converse_harness.reply.plan import Plan
from converse_harness.reply.reply import Reply
from converse_harness.stream.arguments import (
    Path,
    built_by,
    check_flag,
    check_optional_text,
    check_text,
    check_text_at,
    copied,
    has_content,
    is_whole_response,
    pieces_by_block,
    texts,
    wrong,
)
from converse_harness.stream.chunk import default_stop_reason
from converse_harness.stream.events import encode_event
from converse_harness.stream.grammar import UNIONS
from converse_harness.types.citations import Citation
from converse_harness.types.content import ContentBlock
from converse_harness.types.event_loop import Metrics, Usage
from converse_harness.words import shown

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
        options[name] = copied(Argument(name=KEYWORDS.get(name, name)), value)
    cut = pieces_by_block("message", pieces)
    body = MessageBody(blocks, reason, pieces=cut, options=options, strict=strict, as_given=as_given)
    reply = Reply(Plan(body))
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
        Argument(name="usage", path=("totalTokens",)),
        f" is {total}: {problem}. Leave out totalTokens, which is then computed; or, for a total that does not add "
        "up, ",
        Advice("reply.message(..., strict=False).", 'a "message" with "strict": false.'),
    )


def _checked(index: int, block: object, *, strict: bool) -> Mapping[str, Any]:
    """Return a copy of a content block; a toolUse without toolUseId gets UNNAMED_TOOL_USE.

    Raises ReplyError if `block` is not a ContentBlock.
    """
    at = Argument("message", "content", (index,))
    if is_object(block) and is_whole_response(block):
        raise ReplyError(
            at,
            f" is a whole response of boto3, with {', '.join(map(repr, block))}. For a response as pasted use ",
            Advice("reply.response(...).", 'a "response" reply.'),
        )
    if has_content(block):
        raise ReplyError(
            at,
            " is a whole Message, with 'role' and 'content'. Give its ",
            Advice('blocks: reply.message(*message["content"]).', 'blocks, the value of "content".'),
        )
    if is_array(block):
        raise ReplyError(
            at,
            f" is a {type(block).__name__}, {shown(block)}; a block is a JSON ",
            Advice("object, and an argument of its own: reply.message(*blocks).", "object."),
        )
    if isinstance(block, str):
        raise ReplyError(
            at,
            f' is {shown(block)}, a str; a block is a dict. Use reply.text(...), or write it as {{"text": "..."}}.',
        )
    named = _named(block)
    at = Argument(name="content", path=(index,))
    bedrock.check("ContentBlock", named, root=at, allowing=() if strict else _FUTURE)
    return copied(at, named)


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
        problem = f" cannot be sent: {error}. Events are JSON, with bytes for blobs."
        raise ReplyError(Argument(name="events", path=(index,)), problem) from None


def _named(block: Any) -> Any:
    match block:
        case {"toolUse": {} as tool} if "toolUseId" not in tool and len(block) == 1:
            return {"toolUse": {**tool, "toolUseId": UNNAMED_TOOL_USE}}
        case _:
            return block


_FIRST_TEXT: Final = ("content", 0, "text")

_USE_MESSAGE: Final = Advice(
    'reply.message({"toolUse": {"name": ..., "input": ...}}).',
    '{"message": [{"toolUse": {"name": ..., "input": ...}}]}.',
)


def text(
    text: str,
    *,
    pieces: Sequence[str] | None = None,
    stop_reason: StopReason = "end_turn",
    usage: Usage | Mapping[str, object] | None = None,
) -> Reply:
    """Answer with one text block.

    `pieces` are the texts of the deltas in a stream; joined, they must equal `text`. `usage` (TokenUsage) is as in
    `message`. Raises ReplyError for an unknown stop reason.

    >>> text("18 °C and sunny.")
    <Reply text "18 °C and sunny.">
    """
    check_text("text", text=text)
    with built_by("text", {_FIRST_TEXT: "text", ("pieces", 0): "pieces"}):
        return message({"text": text}, stop_reason=stop_reason, usage=usage, pieces=_pieces("text", 0, pieces))


@overload
def tool_use(
    name: str,
    input: Mapping[str, object] | None = None,
    *,
    text: str | None = None,
    id: str | None = None,
    pieces: Sequence[str] | None = None,
    stop_reason: StopReason | None = None,
    usage: Usage | Mapping[str, object] | None = None,
    strict: Literal[True] = True,
) -> Reply: ...


@overload
def tool_use(
    name: str,
    input: Mapping[str, object] | None = None,
    *,
    text: str | None = None,
    id: str | None = None,
    pieces: Sequence[str] | None = None,
    stop_reason: str | None = None,
    usage: Usage | Mapping[str, object] | None = None,
    strict: bool,
) -> Reply: ...


def tool_use(
    name: str,
    input: Mapping[str, object] | None = None,
    *,
    text: str | None = None,
    id: str | None = None,
    pieces: Sequence[str] | None = None,
    stop_reason: str | None = None,
    usage: Mapping[str, object] | None = None,
    strict: bool = True,
) -> Reply:
    """Answer with one toolUse block, by which the model asks the client to run a tool.

    `input` is the JSON object with the tool's arguments. `text` is the text of a block before the toolUse block. `id`
    is the toolUseId; by default, one is generated that looks like recorded ones. `pieces` are the exact pieces in which
    a stream sends the JSON of `input`. With the stop reason `max_tokens`, they may be only the beginning of this JSON.
    `stop_reason` is `tool_use` by default, and `usage` is as in `message`. `strict=False` allows a tool name that is
    invalid in a request, because models sometimes invent such names. Without it, ReplyError is raised for such a name.

    >>> tool_use("get_weather", {"city": "Zürich"}, text="Let me look.")
    <Reply text "Let me look." + tool_use get_weather {"city": "Zürich"}>
    """
    given = (Argument("tool_use", "name", value=name), Argument("tool_use", "input", value=input))
    tool, before = _tool(*given), _text_before("tool_use", text)
    if id is not None:
        tool["toolUseId"] = id
    place = len(before)
    made_from = _made_from(place, given)
    made_from |= {("content", place, "toolUse", "toolUseId"): "id", ("pieces", place): "pieces"}
    with built_by("tool_use", made_from):
        return message(
            *before,
            {"toolUse": tool},
            stop_reason=stop_reason,
            usage=usage,
            pieces=_pieces("tool_use", len(before), pieces),
            strict=strict,
        )


def tool_uses(
    *uses: str | tuple[str, Mapping[str, object]],
    text: str | None = None,
    usage: Usage | Mapping[str, object] | None = None,
    strict: bool = True,
) -> Reply:
    """Answer with several toolUse blocks: the model asks the client to run several tools, or one tool several times.

    Each of `uses` is a tuple of a tool's name and input, or only the name. Each block gets its own toolUseId. `text` is
    the text of a block before the toolUse blocks. `usage` is as in `message`, and `strict=False` is as in `tool_use`.
    Raises ReplyError for a name that Bedrock does not allow, and if `uses` is empty.

    >>> tool_uses(("get_weather", {"city": "Bern"}), ("get_weather", {"city": "Chur"}), "get_time")
    <Reply tool_use get_weather {"city": "Bern"} + tool_use get_weather {"city": "Chur"} + tool_use get_time {}>
    """
    if not uses:
        example = Advice('("name", {...})', '["name", {...}]')
        raise ReplyError(Argument("tool_uses"), " has no tool. Give each as ", example, ", or its name alone.")
    before = _text_before("tool_uses", text)
    given = [_use(place, use) for place, use in enumerate(uses)]
    blocks = [{"toolUse": _tool(*each)} for each in given]
    made_from = _made_from(len(before), *given)
    with built_by("tool_uses", made_from):
        return message(*before, *blocks, usage=usage, strict=strict)


def json(value: object, *, usage: Usage | Mapping[str, object] | None = None) -> Reply:
    """Answer with one text block that contains the JSON of a value: structured output in the form that models send.

    `usage` (TokenUsage) is as in `message`. Raises ReplyError for a value that JSON cannot represent.

    >>> json([7, None])
    <Reply text "[7, null]">
    """
    try:
        written = _json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise wrong(
            "json", "value", value, f"it is no JSON ({error}). JSON is dict with str keys, list, str, int, float, bool."
        ) from None
    with built_by("json", {("text",): "value"}):
        return text(written, usage=usage)


def reasoning(
    reasoning: str | bytes,
    then: str | Reply | None = None,
    *,
    signature: str | bool = True,
    pieces: Sequence[str] | None = None,
    usage: Usage | Mapping[str, object] | None = None,
) -> Reply:
    """Answer with reasoning, and then with a text or with another reply: a tool use, JSON, citations.

    `reasoning` is the text of the model's reasoning. If it is bytes, it is redacted reasoning, which only the service
    can read. `then` is the text or the Reply that follows, if any. With `signature=True`, the reasoning gets a
    generated signature if the model is Claude. `signature=False` means no signature, and a str is the signature itself.
    `pieces` are the exact texts of the reasoning's deltas. `usage` (TokenUsage) is as in `message`. Raises ReplyError
    if `then` is a Reply that is not a message, or on which `times`, `paced`, `fails_after` or `broken` was called: call
    these methods on the result of `reasoning` instead.

    >>> reasoning("The weather is asked for.", tool_use("get_weather", {"city": "Bern"}))
    <Reply reasoning "The weather is asked for." + tool_use get_weather {"city": "Bern"}>
    >>> reasoning("Easy.", "18 °C").paced(each=0.1)
    <Reply reasoning "Easy." + text "18 °C">
    """
    block = _thought(reasoning, signature)
    rest = _message_of(then)
    options = rest.options if usage is None else {**rest.options, "usage": usage}
    moved: dict[int, Sequence[str]] = {index + 1: each for index, each in (rest.pieces or {}).items()}
    moved |= _pieces("reasoning", 0, pieces) or {}
    made_from = {
        ("content", 0, "reasoningContent", "reasoningText", "text"): "reasoning",
        ("content", 0, "reasoningContent", "redactedContent"): "reasoning",
        ("content", 0, "reasoningContent", "reasoningText", "signature"): "signature",
        ("content", 1, "text"): "then",
        ("pieces", 0): "pieces",
    }
    with built_by("reasoning", made_from):
        return answer((block, *rest.content), rest.stop_reason, options, pieces=moved or None, strict=rest.strict)


def cited(
    *parts: str | Citation | Mapping[str, object],
    stop_reason: StopReason = "end_turn",
    usage: Usage | Mapping[str, object] | None = None,
    pieces: Mapping[int, Sequence[str]] | None = None,
) -> Reply:
    """Answer with texts, in order. After each text, pass the Citations that support it, as mappings of the AWS API.

    Each text becomes one block: a citationsContent block if citations follow the text, otherwise a text block. In a
    stream, citations are sent before their text. Citations at the beginning, or after an empty text, become a block
    without a text, as in answers with Nova's web grounding. The function `citing` makes a Citation. `usage`
    (TokenUsage) and `pieces` are as in `message`. Raises ReplyError for an invalid part, or for no parts. Source:
    recorded answers of Claude and Nova.

    >>> from converse_harness import citing
    >>> forecast = {"name": "forecast", "source": {"text": "Zürich: 18 °C, sunny."}}
    >>> cited("It is ", "18 °C", citing(forecast, "18 °C"), " today.").summary
    'text "It is " + citationsContent + text " today."'
    """
    if not parts:
        problem = " has nothing to say. Give texts, and after each the Citations that it leans on."
        raise ReplyError(Argument("cited"), problem)
    found: list[tuple[str, list[Mapping[str, object]]]] = []
    made_from: dict[Path, str | Argument] = {}
    for place, part in enumerate(parts):
        at = Argument("cited", "parts", (place,))
        if isinstance(part, str):
            block = ("content", len(found))
            made_from |= {(*block, "text"): at, (*block, "citationsContent", "content", 0, "text"): at}
            found.append((part, []))
        elif isinstance(part, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # user input
            bedrock.check("Citation", part, root=at)
            if not found:
                found.append(("", []))
            found[-1][1].append(part)
        else:
            raise ReplyError(
                at, f" is {part!r}; a part is a text or a Citation of the AWS API, each an argument of its own."
            )
    content = [_block(text, citations) for text, citations in found]
    with built_by("cited", made_from):
        return message(*content, stop_reason=stop_reason, usage=usage, pieces=pieces)


def _block(text: str, citations: list[Mapping[str, object]]) -> dict[str, Any]:
    if not citations:
        return {"text": text}
    generated = {"content": [{"text": text}]} if text else {}
    return {"citationsContent": {**generated, "citations": citations}}


def _pieces(call: str, index: int, pieces: object) -> dict[int, Sequence[str]] | None:
    """Return `pieces`, those of the block at `index`, in the form that `message` takes; None if there are none."""
    return None if pieces is None else {index: texts(call, "pieces", pieces)}


def _text_before(call: str, text: str | None) -> list[dict[str, Any]]:
    check_optional_text(call, text=text)
    return [] if text is None else [{"text": text}]


def _tool(name: Argument, given: Argument) -> dict[str, Any]:
    """Return a ToolUseBlock without an id, from the arguments that contain the tool's name and its input."""
    check_text_at(name)
    value = given.value
    if value is not None and not is_object(value):
        rest = ", the JSON object of the tool's arguments. For an input that is no object use "
        raise ReplyError(given, ": it must be ", Advice("a dict", "an object"), rest, _USE_MESSAGE)
    return {"name": name.value, "input": {} if value is None else {**value}}


def _use(place: int, use: object) -> tuple[Argument, Argument]:
    """Return the parts of an argument of `tool_uses` that are a tool's name and its input."""
    at = Argument("tool_uses", "uses", (place,), use)
    if isinstance(use, str):
        return at, at._replace(value=None)
    if not is_array(use) or not 1 <= len(use) <= 2:
        raise ReplyError(at, ': it must be the name of a tool and its input, ("name", {...}), or the name alone.')
    if is_array(use[0]):
        must = 'each use is an argument of its own: reply.tool_uses(("name", {...}), ("name", {...})).'
        raise ReplyError(at, f": {must}")
    given = use[1] if len(use) > 1 else None
    return at._replace(path=(place, 0), value=use[0]), at._replace(path=(place, 1), value=given)


def _made_from(before: int, *tools: tuple[Argument, Argument]) -> dict[Path, str | Argument]:
    """Return the arguments from which the blocks of a message are made: `before` (0 or 1) texts, and then tool uses."""
    found: dict[Path, str | Argument] = {_FIRST_TEXT: "text"}
    for block, (name, given) in enumerate(tools, before):
        found |= {("content", block, "toolUse", "name"): name, ("content", block, "toolUse", "input"): given}
    return found


def _thought(reasoning: object, signature: object) -> dict[str, Any]:
    if isinstance(reasoning, bytes | bytearray):
        if signature is not True:
            raise wrong("reasoning", "signature", signature, "redacted reasoning (bytes) has none. Leave it out.")
        return {"reasoningContent": {"redactedContent": bytes(reasoning)}}
    if not isinstance(reasoning, str):
        raise wrong("reasoning", "reasoning", reasoning, "it must be a str, or bytes for redacted reasoning.")
    if isinstance(signature, bool):
        signed = {"signature": USUAL_SIGNATURE} if signature else {}
    elif isinstance(signature, str):
        signed = {"signature": signature}
    else:
        must = "it must be the signature as str, True (as the model that is asked) or False (none)."
        raise wrong("reasoning", "signature", signature, must)
    return {"reasoningContent": {"reasoningText": {"text": reasoning, **signed}}}


def _message_of(then: object) -> MessageBody:
    """Return the message that follows reasoning; one without blocks if `then` is None.

    Raises ReplyError if `then` is not a text or an unchanged Reply with a message.
    """
    if then is None:
        return MessageBody((), "end_turn")
    if isinstance(then, str):
        return MessageBody(({"text": then},), "end_turn")
    if not isinstance(then, Reply):
        problem = "it must be a text, or a reply with a message. Give blocks of the AWS API as "
        raise wrong("reasoning", "then", then, problem, Advice("reply.message(...).", 'a "message" reply.'))
    given = Advice(repr(then), then.summary)
    if not isinstance(then.plan.body, MessageBody) or then.plan.no_answer:
        problem = "it must be a message: text, tool_use, tool_uses, json, cited or message of "
        raise wrong("reasoning", "then", given, problem, Advice("reply.", "a script."))
    if not then.plan.is_plain or then.uses != 1 or then.may_be_unused:
        how = Advice(
            "as reply.reasoning(..., then).times(2) does.", 'as {"reasoning": ..., "then": ..., "times": 2} does.'
        )
        raise wrong("reasoning", "then", given, "say how the whole is sent, ", how)
    return then.plan.body
