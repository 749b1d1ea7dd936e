"""Reply: one immutable answer, the same for Converse and ConverseStream. `reply.py` is how people write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from converse_harness import model
from converse_harness.chunking import default_stop_reason, message_events
from converse_harness.errors import ReplyError
from converse_harness.families import NEUTRAL, Family
from converse_harness.grammar import kind
from converse_harness.wire.http import Break, ConnectionFailure
from converse_harness.wordings import usual

UNNAMED_TOOL_USE: Final = "tooluse_0000000000000000000000"
"""Stands for the toolUseId of a block that was written without one, until the Endpoint gives it its own."""


@dataclass(frozen=True, slots=True, eq=False)
class MessageBody:
    """An answer as a message; how it is cut into events follows the model family of the request.

    `content` holds ContentBlocks, `pieces` the exact deltas of blocks by index, `options` further members of
    ConverseResponse: usage, metrics, trace, additionalModelResponseFields, performanceConfig, serviceTier.
    """

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    role: str = "assistant"
    pieces: Mapping[int, Sequence[str]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, eq=False)
class EventsBody:
    """An answer as the exact sequence of stream events; `strict` if they were held to AWS's model and order."""

    events: tuple[Mapping[str, Any], ...]
    strict: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBody:
    """An HTTP error before any stream: the name of the error shape, its status, members and further headers."""

    name: str
    status: int
    members: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """An exception frame in the place of event number `after`, counted from 0."""

    after: int
    name: str
    members: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """A deliberate breach of the protocol; the named ones are in `faults`.

    `breaks` is what happens to the connection, after half a frame more if `in_frame`.
    """

    name: str
    sentence: str
    breaks: Break
    in_frame: bool = False


@dataclass(frozen=True, slots=True)
class Breach:
    """A fault after `after` of the `events` events that the stream would have."""

    fault: Fault
    after: int
    events: int


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds before the first event and before each later one."""

    first: float = 0.0
    each: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """One immutable answer, made by `reply.text`, `reply.tool_use`, `reply.error` and their like.

    Usable for `uses` calls in a row. Every method returns a new Reply and raises ReplyError at the line that calls it
    when it is asked for something that ConverseStream does not do.
    """

    body: MessageBody | EventsBody | ErrorBody | ConnectionFailure
    uses: int = 1
    failure: StreamFailure | None = None
    breach: Breach | None = None
    pace: Pace = Pace()

    def times(self, uses: int) -> Reply:
        """Make it usable for that many calls in a row.

        >>> from converse_harness import reply
        >>> reply.throttled().times(2).uses
        2
        """
        if type(uses) is not int or uses < 1:
            raise ReplyError(
                f"times({uses!r}): a reply is used a whole number of times, at least once. For any number use always()."
            )
        return replace(self, uses=uses)

    def fails_after(
        self, events: int, exception: str, message: str | None = None, *, strict: bool = True, **members: object
    ) -> Reply:
        """Send an exception frame after that many events and end the stream.

        On plain Converse it is the HTTP error of that type. The events are counted in a family-neutral chunking, one
        delta a word. `exception` is a member of ConverseStreamOutput such as `throttlingException`, any name with
        `strict=False`; `members` are further members of its shape. Source: AWS's model; only validationException as
        first frame is recorded.

        >>> from converse_harness import reply
        >>> reply.text("The answer is forty-two.").fails_after(3, "throttlingException").summary
        'text "The answer is forty-two.", throttlingException after 3 events'
        """
        exceptions = model.stream_exceptions()
        if strict and exception not in exceptions:
            raise ReplyError(
                f"{exception!r} is not an exception of ConverseStream. One of: {', '.join(sorted(exceptions))}. "
                "For one that is not in the model pass strict=False."
            )
        shape = exception[:1].upper() + exception[1:]
        body = {
            "message": usual(shape) if message is None else message,
            **members,
        }
        if strict:
            model.check(exceptions[exception].name, body, root=exception)
        count = sum(1 for _ in self.events())
        if isinstance(events, bool) or not 0 <= events <= count - (1 if strict else 0):
            kinds = ", ".join(kind(event) for event in self.events())
            raise ReplyError(
                f"fails_after({events!r}): this reply has {count} events ({kinds}); an exception frame takes the place "
                f"of one: 0 to {count - 1}."
            )
        return replace(self, failure=StreamFailure(events, exception, body))

    def broken(self, fault: Fault, *, after: int | None = None) -> Reply:
        """Break the protocol, by the name of a fault; after that many events, half of them if not given.

        The events are counted in a family-neutral chunking, one delta a word; a connection fault cuts the body of plain
        Converse, or of an error, at the same part of it. Raises ReplyError for what cannot be broken so.

        >>> from converse_harness import faults, reply
        >>> reply.text("The answer is forty-two.").broken(faults.reset, after=3).summary
        'text "The answer is forty-two.", reset after 3 events'
        """
        if type(fault) is not Fault:
            raise ReplyError(f"broken({fault!r}): a fault by its name, for instance faults.reset.")
        if isinstance(self.body, ConnectionFailure):
            raise ReplyError(f"{self.summary}: there is no answer that could be broken.")
        count = self._count()
        most = count - 1 if fault.in_frame else count
        chosen = count // 2 if after is None else after
        if isinstance(chosen, bool) or not 0 <= chosen <= most:
            raise ReplyError(f"broken({fault.name}, after={after!r}): this reply has {count} events; 0 to {most}.")
        return replace(self, breach=Breach(fault, chosen, count))

    def _count(self) -> int:
        """How many events are sent; an error before the stream counts as one."""
        if self.failure is not None:
            return self.failure.after + 1
        return 1 if isinstance(self.body, ErrorBody) else sum(1 for _ in self.events())

    def retry_after(self, seconds: int | None = None, *, ms: int | None = None) -> Reply:
        """Say in an error how long the client should wait: the headers `retry-after` and `retry-after-ms`.

        botocore does not read them; other clients do, the AI SDK for instance. Raises ReplyError for an answer that is
        no HTTP error, and for what is no whole number.

        >>> from converse_harness import reply
        >>> reply.throttled().retry_after(ms=50).body.headers
        (('retry-after-ms', '50'),)
        """
        if not isinstance(self.body, ErrorBody):
            raise ReplyError(f"{self.summary}: only an error before the stream has a header that says when to retry.")
        given = {name: value for name, value in (("retry-after", seconds), ("retry-after-ms", ms)) if value is not None}
        if not given or any(type(value) is not int or value < 0 for value in given.values()):
            raise ReplyError(
                f"retry_after({seconds!r}, ms={ms!r}): a whole number of seconds, or of milliseconds, 0 or more."
            )
        headers = tuple((name, str(value)) for name, value in given.items())
        return replace(self, body=replace(self.body, headers=headers))

    def paced(self, *, first: float = 0.0, each: float = 0.0) -> Reply:
        """Wait `first` seconds before the first event and `each` before every later one; really, on every door."""
        for name, value in (("first", first), ("each", each)):
            if not 0 <= value < float("inf"):
                raise ReplyError(f"paced({name}={value!r}): a pause is a number of seconds, 0 or more.")
        return replace(self, pace=Pace(first, each))

    def events(self, family: Family | None = None) -> Iterator[dict[str, Any]]:
        """The stream as events, without the failure: as `family` cuts it, or neutrally where events are counted.

        Raises ReplyError for an error or a connection failure, which have none.
        """
        match self.body:
            case EventsBody(events):
                for event in events:
                    yield dict(event)
            case MessageBody() as body:
                counted = self.failure is not None or self.breach is not None or body.pieces is not None
                message = {"role": body.role, "content": body.content}
                cut_by = NEUTRAL if counted or family is None else family
                yield from message_events(message, pieces=body.pieces, family=cut_by)
                extra = body.options.get("additionalModelResponseFields")
                stop = {"stopReason": body.stop_reason}
                yield {"messageStop": stop if extra is None else {**stop, "additionalModelResponseFields": extra}}
                yield {"metadata": {name: body.options[name] for name in METADATA if name in body.options}}
            case _:
                raise ReplyError(f"{self.summary}: it comes before any stream and has no events.")

    @property
    def summary(self) -> str:
        """One line for people: `tool_use get_weather {"city": "Zürich"}`."""
        parts = [_summarize(self.body)]
        if self.failure is not None:
            parts.append(f"{self.failure.name} after {self.failure.after} events")
        if self.breach is not None:
            parts.append(f"{self.breach.fault.name} after {self.breach.after} events")
        if self.uses > 1:
            parts.append(f"{self.uses} times")
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"<Reply {self.summary}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the code that makes it: hypothesis, for counterexamples, and IPython look for this name."""
        del cycle  # a reply cannot hold itself
        for number, (function, arguments, options) in enumerate(_written(self)):
            named = [("", value) for value in arguments] + [(f"{name}=", value) for name, value in options.items()]
            opening = f"{'.' if number else 'reply.'}{function}("
            with printer.group(len(opening), opening, ")"):
                for place, (name, value) in enumerate(named):
                    if place:
                        printer.text(",")
                        printer.breakable()
                    printer.text(name)
                    if type(value) is Fault:
                        printer.text(f"faults.{value.name}")
                    else:
                        printer.pretty(value)


METADATA: Final = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")
"""The members that ConverseStream sends in its metadata event."""


_CONNECTION_FAILURES: Final[Mapping[ConnectionFailure, str]] = {
    ConnectionFailure.REFUSED: "connection_refused",
    ConnectionFailure.CONNECT_TIMEOUT: "connect_timeout",
    ConnectionFailure.READ_TIMEOUT: "read_timeout",
}
_KEYWORDS: Final[Mapping[str, str]] = {
    "additionalModelResponseFields": "additional",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}
"""What `reply.message` calls members of ConverseResponse; the others it calls by their name."""

_Call = tuple[str, Sequence[Any], Mapping[str, Any]]
"""A function of `reply`, or a method of Reply, with its arguments."""


def _written(reply: Reply) -> Iterator[_Call]:
    """The calls that make a reply."""
    yield _written_body(reply.body)
    if reply.failure is not None:
        name, members = reply.failure.name, dict(reply.failure.members)
        lax = {} if name in model.stream_exceptions() else {"strict": False}
        yield "fails_after", (reply.failure.after, name, members.pop("message")), {**members, **lax}
    if reply.breach is not None:
        yield "broken", (reply.breach.fault,), {"after": reply.breach.after}
    if isinstance(reply.body, ErrorBody) and reply.body.headers:
        waits = dict(reply.body.headers)
        given = {"seconds": waits.get("retry-after"), "ms": waits.get("retry-after-ms")}
        yield "retry_after", (), {name: int(value) for name, value in given.items() if value is not None}
    if reply.pace != Pace():
        yield "paced", (), {"first": reply.pace.first, "each": reply.pace.each}
    if reply.uses > 1:
        yield "times", (reply.uses,), {}


def _written_body(body: MessageBody | EventsBody | ErrorBody | ConnectionFailure) -> _Call:
    match body:
        case EventsBody(events, strict):
            return "events", (list(events),), {} if strict else {"strict": False}
        case ErrorBody(name, status, members):
            known = model.all_errors().get(name)
            others = {key: value for key, value in members.items() if key != "message"}
            given = {} if known is not None and known.status == status else {"status": status}
            return "error", (name, members["message"]), {**given, **others}
        case ConnectionFailure():
            return _CONNECTION_FAILURES[body], (), {}
        case MessageBody(({"text": text},), "end_turn", pieces=None, options={}) if not body.options:
            return "text", (text,), {}
        case MessageBody():
            options = {_KEYWORDS.get(name, name): value for name, value in body.options.items()}
            if body.stop_reason != default_stop_reason(body.content):
                options = {"stop_reason": body.stop_reason, **options}
            if body.pieces is not None:
                options["pieces"] = {index: list(pieces) for index, pieces in body.pieces.items()}
            return "message", [_without_placeholder(block) for block in body.content], options


def _without_placeholder(block: Mapping[str, Any]) -> Mapping[str, Any]:
    match block:
        case {"toolUse": {"toolUseId": str(use_id), **tool}} if use_id == UNNAMED_TOOL_USE:
            return {"toolUse": tool}
        case _:
            return block


def shorten(text: str, width: int = 60) -> str:
    """A text on one line, at most `width` characters of it.

    >>> shorten("It was a dark and stormy night", 16)
    '"It was a da..."'
    """
    flat = json.dumps(text, ensure_ascii=False)
    return flat if len(flat) <= width else flat[: width - 4] + '..."'


def summarize_block(block: Mapping[str, Any]) -> str:
    """One content block in a few words."""
    match block:
        case {"text": str(text)}:
            return f"text {shorten(text)}"
        case {"toolUse": {"name": name, "input": value}}:
            text = json.dumps(value, ensure_ascii=False, default=str)
            return f"tool_use {name} {text if len(text) <= 60 else text[:57] + '...'}"
        case {"toolResult": {"toolUseId": str(use_id), **result}}:
            known = use_id if len(use_id) <= 16 else f"{use_id[:13]}..."
            status = f" ({result['status']})" if result.get("status") else ""
            match result.get("content"):
                case [{"text": str(text)}, *_]:
                    return f"toolResult {known}{status} {shorten(text)}"
                case _:
                    return f"toolResult {known}{status}"
        case {"reasoningContent": {"reasoningText": {"text": str(text)}}}:
            return f"reasoning {shorten(text)}"
        case _:
            return next(iter(block), "empty block")


def _summarize(body: MessageBody | EventsBody | ErrorBody | ConnectionFailure) -> str:
    match body:
        case MessageBody(content, stop_reason):
            usual = default_stop_reason(content)
            return " + ".join(map(summarize_block, content)) + (f", {stop_reason}" if stop_reason != usual else "")
        case EventsBody(events):
            return f"{len(events)} events"
        case ErrorBody(name, status, members):
            return f"{name} ({status}) {shorten(str(members.get('message', '')))}"
        case ConnectionFailure():
            return body.value
