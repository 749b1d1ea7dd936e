"""The function `assemble` joins the events of a stream into a Response, and is the inverse of `chunk`.

`joined` only joins the successive deltas of one text, and also accepts events in an order that AWS never sends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock.api.checks import is_object
from converse_harness.errors import ReplyError, StreamOrderError
from converse_harness.literals import StopReason
from converse_harness.stream.arguments import each_event
from converse_harness.stream.grammar import CARRIED, TEXTS, StreamOrder, is_exception, kind
from converse_harness.types.streaming import StreamEvent
from converse_harness.words import shown

_ADDITIONAL: Final = "additionalModelResponseFields"

OPTIONS: Final = ("usage", "metrics", "trace", _ADDITIONAL, "performanceConfig", "serviceTier")
"""The members of a ConverseResponse except message and stop reason, in the same order as the last fields of Response.
"""


@dataclass(frozen=True, slots=True)
class Response:
    """The content of a complete ConverseStream, as the members of AWS's ConverseResponse. Members not sent are None.

    `message` is an AWS Message, `usage` a TokenUsage, `metrics` `{"latencyMs": int}`, `trace` a ConverseTrace,
    `additional` the additionalModelResponseFields document. In a recording, `stop_reason` may be a newer value that the
    type does not list.

    >>> from converse_harness import chunk
    >>> response = assemble(chunk({"role": "assistant", "content": [{"text": "hi"}]}))
    >>> response.message["content"], response.stop_reason
    ([{'text': 'hi'}], 'end_turn')
    """

    message: dict[str, Any]
    stop_reason: StopReason
    usage: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None
    additional: Any = None
    performance_config: dict[str, Any] | None = None
    service_tier: dict[str, Any] | None = None

    def __repr__(self) -> str:
        given = ((each.name, getattr(self, each.name)) for each in fields(self))
        return f"Response({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


def in_aws_form(answer: Response) -> dict[str, Any]:
    """Return an assembled answer as the members of AWS's ConverseResponse.

    >>> in_aws_form(Response({"role": "assistant", "content": []}, "end_turn"))
    {'output': {'message': {'role': 'assistant', 'content': []}}, 'stopReason': 'end_turn'}
    """
    message, *others = (getattr(answer, each.name) for each in fields(answer))
    given = zip(("stopReason", *OPTIONS), others, strict=True)
    return {"output": {"message": message}, **{name: value for name, value in given if value is not None}}


def assemble(events: Iterable[StreamEvent | Mapping[str, Any]]) -> Response:
    """Assemble the events of a complete ConverseStream into a Response.

    Raises StreamOrderError for an order that ConverseStream never sends, and for a stream that ends with an exception
    frame. The same error is raised for a tool input that is not JSON, and for a member that is missing or has a wrong
    type.

    >>> from converse_harness import chunk
    >>> assemble(chunk({"role": "assistant", "content": [{"text": "Hi there"}]})).message
    {'role': 'assistant', 'content': [{'text': 'Hi there'}]}
    """
    given: Any = events
    if is_object(given) and "stream" in given:
        raise ReplyError('assemble() got a response of ConverseStream. Give its events: assemble(response["stream"]).')
    if hasattr(given, "fails_after"):  # `given` is a Reply; this package must not import the class Reply
        raise ReplyError(f"assemble() got {shown(given)}. Give its events: assemble(answer.events()).")
    order = StreamOrder()
    draft = _Draft()
    for event in each_event("assemble", events):
        order.feed(event)
        name = kind(event)
        if is_exception(name):
            raise StreamOrderError(
                f"events[{order.position - 1}] is {name}: a stream that failed amounts to no message."
            )
        try:
            getattr(draft, name)(**event[name])
        except (AttributeError, LookupError, TypeError) as error:
            raise StreamOrderError(
                f"With events[{order.position - 1}], {name}, the stream amounts to no message: a member is missing or "
                f"of another type than in AWS's API model. {_mistake(order.position - 1, event, draft)}"
            ) from error
    order.finish()
    return draft.response()


def _mistake(index: int, event: Mapping[str, Any], draft: _Draft) -> str:
    """Return, as text, the violations of AWS's API model in an event, and in the start and the deltas of the open
    block.
    """
    given = [("ConverseStreamOutput", event, f"events[{index}]")]
    given += [("ContentBlockStart", draft.start, "its start")] if draft.start else []
    given += [("ContentBlockDelta", delta, f"its delta {number}") for number, delta in enumerate(draft.deltas)]
    return " ".join(
        found.message for shape, value, root in given for found in bedrock.validate(shape, value, root=root)
    )


@dataclass(slots=True)
class _Draft:
    """A message under construction. Each method except `response` has the name of an event and takes the event's
    members.
    """

    role: str = ""
    content: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])
    deltas: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    stop: Mapping[str, Any] = field(default_factory=dict[str, Any])
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def messageStart(self, *, role: str, **_: Any) -> None:  # noqa: N802 - AWS's name
        self.role = role

    def contentBlockStart(self, *, start: Mapping[str, Any], **_: Any) -> None:  # noqa: N802 - AWS's name
        self.start = start

    def contentBlockDelta(self, *, delta: Mapping[str, Any], **_: Any) -> None:  # noqa: N802 - AWS's name
        self.deltas.append(delta)

    def contentBlockStop(self, **_: Any) -> None:  # noqa: N802 - AWS's name
        self.content.append(_join_block(len(self.content), self.start, self.deltas))
        self.start, self.deltas = {}, []

    def messageStop(self, *, stopReason: str, **more: Any) -> None:  # noqa: N802, N803 - AWS's name
        self.stop = {"stopReason": stopReason, **more}

    def metadata(self, **meta: Any) -> None:
        self.meta = meta

    def response(self) -> Response:
        options = {**self.meta, _ADDITIONAL: self.stop.get(_ADDITIONAL)}
        message = {"role": self.role, "content": self.content}
        return Response(message, self.stop["stopReason"], *map(options.get, OPTIONS))


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


def text_delta(event: Mapping[str, Any]) -> tuple[Any, str, str] | None:
    """Return the block's index, the delta's member and the text, if an event is a delta with a text and nothing else.

    Return None for other events. A delta of `reasoningContent` counts only if it has the text, not the signature.
    `event` may have more keys beside `contentBlockDelta`, as a line of a recording has.

    >>> text_delta({"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{"}}}})
    (1, 'toolUse', '{')
    """
    members = event.get("contentBlockDelta")
    if not is_object(members) or len(members) != 2 or "contentBlockIndex" not in members:
        return None
    delta = members.get("delta")
    if not is_object(delta) or len(delta) != 1:
        return None
    ((name, text),) = delta.items()
    if name in CARRIED:
        text = text.get(CARRIED[name]) if is_object(text) and len(text) == 1 else None
    elif name not in _WITH_TEXT:
        return None
    return (members["contentBlockIndex"], name, text) if isinstance(text, str) else None


_WITH_TEXT: Final = frozenset(TEXTS.values())


def _delta(name: str, text: str) -> dict[str, Any]:
    return {name: {CARRIED[name]: text} if name in CARRIED else text}


def runs(events: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the events in groups: the successive deltas of one text are a group, and each other event is one alone."""
    run: list[dict[str, Any]] = []
    before: tuple[Any, ...] | None = None
    for event in events:
        found = text_delta(event)
        if run and (found is None or before is None or before[:2] != found[:2]):
            yield run
            run = []
        run.append(event)
        before = found
    if run:
        yield run


def joined(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the events, with the successive deltas of one text joined into one delta.

    The joined delta keeps the other keys of the first delta.

    >>> from converse_harness import chunk
    >>> events = chunk({"role": "assistant", "content": [{"text": "a long sentence"}]})
    >>> assemble(joined(events)) == assemble(events)
    True
    """
    for run in runs(events):
        first = run[0]
        if len(run) > 1 and (found := text_delta(first)) is not None:
            index, name, _ = found
            text = "".join(delta[2] for delta in map(text_delta, run) if delta is not None)
            first = {**first, "contentBlockDelta": {"contentBlockIndex": index, "delta": _delta(name, text)}}
        yield first
