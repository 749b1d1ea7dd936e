"""The class Reply: one immutable answer for Converse and for ConverseStream. The functions of `reply` create it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

from converse_harness import bedrock
from converse_harness.bedrock.api.checks import is_number
from converse_harness.bedrock.families import Family, usual
from converse_harness.errors import Advice, Argument, ReplyError
from converse_harness.faults import FAULTS
from converse_harness.faults.model import FAULT_LEVELS, Fault, FaultPlacement, in_broken, place
from converse_harness.faults.order import OrderFault, rearranged
from converse_harness.features import with_methods_of_features
from converse_harness.json_values import print_whole
from converse_harness.literals import FamilyName, StreamException
from converse_harness.reply.body import (
    BareBody,
    Body,
    ErrorBody,
    EventsBody,
    MessageBody,
    OutputBody,
    Pace,
    StreamFailure,
    written,
)
from converse_harness.reply.plan import Plan
from converse_harness.reply.usable import Usable
from converse_harness.stream.arguments import built_by, check_flag, check_json, check_text, did_you_mean, wrong
from converse_harness.stream.chunk import family_named
from converse_harness.stream.grammar import ERROR_FRAME, is_exception
from converse_harness.stream.http import ERROR_NAME
from converse_harness.words import shown


def no_fault(given: object) -> str:
    """Return the second part of the error message about an argument that should be a fault: what to pass instead."""
    if isinstance(given, str) and given in FAULTS:
        return f"this is the name of a fault. Write it without quotes: broken(faults.{given})."
    near = did_you_mean(given, FAULTS) if isinstance(given, str) else "."
    return f"it must be a fault, for instance faults.reset{near}"


def check_count(at: Argument, after: object) -> None:
    """Raise ReplyError if the argument `after` is not a whole number."""
    if type(after) is not int:
        kind = type(after).__name__
        raise ReplyError(at, f": a position in a stream is a whole number of events; this is of the type {kind}.")


def fails(events: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of these events is an exception, which makes the stream fail."""
    return any(is_exception(next(iter(each), "")) for each in events)


def _exceptions(body: Body) -> tuple[str, Mapping[str, bedrock.ErrorShape | bedrock.Shape]]:
    """Return the operation that can stream a body, and its exceptions by their names in the stream."""
    if isinstance(body, OutputBody) and body.stream is not None:
        return body.operation, body.stream.exceptions
    return "ConverseStream", bedrock.stream_exceptions()


def check_name(at: Argument, name: str) -> None:
    """Raise ReplyError if an HTTP header cannot contain the argument `name`, the name of an error."""
    if type(name) is not str or not ERROR_NAME.fullmatch(name):
        raise ReplyError(
            at,
            ": the name must be of ASCII letters, digits, '.', '_' and '-'; on plain Converse it travels in the header "
            "x-amzn-ErrorType.",
        )


@with_methods_of_features
@dataclass(frozen=True, slots=True, eq=False)
class Reply(Usable):
    """One immutable answer, created by `reply.text`, `reply.tool_use`, `reply.error` and similar functions.

    A Reply answers `uses` calls in a row. Each method that changes something returns a changed copy. It raises
    ReplyError immediately if the change is impossible for this answer.
    """

    plan: Plan
    """What is sent: for the modules that send it."""
    uses: int = 1
    may_be_unused: bool = False

    @overload
    def fails_after(
        self,
        events: int,
        exception: StreamException,
        message: str | None = None,
        *,
        strict: Literal[True] = True,
        **members: object,
    ) -> Reply: ...

    @overload
    def fails_after(
        self, events: int, exception: str, message: str | None = None, *, strict: bool, **members: object
    ) -> Reply: ...

    def fails_after(
        self, events: int, exception: str, message: str | None = None, *, strict: bool = True, **members: object
    ) -> Reply:
        """Return a copy that sends an exception frame after this number of events and then ends the stream.

        On plain Converse, the answer is the HTTP error of the same type. To count events, the text is cut into one
        delta per word, for every model family. `exception` is a member of ConverseStreamOutput, such as
        `throttlingException`; with `strict=False`, it is any name. `members` are other members of the exception's
        shape. Source: AWS's API model; of real exceptions, only a validationException as the first frame was recorded.

        >>> from converse_harness import reply
        >>> reply.text("The answer is forty-two.").fails_after(3, "throttlingException").summary
        'text "The answer is forty-two.", throttlingException after 3 events'
        """
        check_flag("fails_after", strict=strict)
        body = self.plan.body
        of, exceptions = _exceptions(body)
        given: tuple[Any, Any] = (events, exception)  # Any, because users may pass values of other types
        if (type(given[0]), type(given[1])) == (str, int):
            swapped = Argument("fails_after", beside=f"{shown(events)}, {shown(exception)}")
            raise ReplyError(swapped, ": first comes the number of events, then the name of the exception.")
        at = Argument("fails_after", "exception", value=exception, beside=shown(events))
        if strict and exception not in list(exceptions):  # a list, because a wrong value may not be hashable
            raise ReplyError(
                at,
                f": it is not an exception of {of}{did_you_mean(exception, exceptions)} "
                f"One of: {', '.join(sorted(exceptions))}. For one that is not in the model ",
                Advice("pass strict=False.", 'add "strict": false.'),
            )
        check_name(at, exception)
        shape = exception[:1].upper() + exception[1:]
        said = {"message": usual(shape) if message is None else message, **members}
        if strict:
            service = body.service if isinstance(body, OutputBody) else bedrock.SERVICE
            shape_of_body = bedrock.body_shape(exceptions[exception].name, service)
            if not {*shape_of_body.metadata.get("required", ())} <= {*said}:
                from converse_harness.bedrock.api.example import required_example  # few tests need it

                said |= required_example(shape_of_body, said)
            with built_by("fails_after", {(exception, "message"): "message"}):
                bedrock.check(exceptions[exception].name, said, root=exception, of=service)
        else:
            check_json(exception, said)
        return self._failing("fails_after", events, {exception: said}, strict=strict)

    def error_frame_after(self, events: int, code: str = "InternalFailure", message: str | None = None) -> Reply:
        """Return a copy that sends an unmodelled error frame after this number of events and then ends the stream.

        Such a frame has the header `:message-type: error`, and no payload. `code` and `message` are its headers
        `:error-code` and `:error-message`. On plain Converse, the answer is an HTTP error 500 with the name `code`.
        Events are counted as in `fails_after`. Source: AWS's specification of event streams; no recording of Bedrock
        has such a frame.

        >>> from converse_harness import reply
        >>> reply.text("The answer is forty-two.").error_frame_after(3, "InternalFailure", "Sorry.").summary
        'text "The answer is forty-two.", InternalFailure after 3 events'
        """
        check_name(Argument("error_frame_after", "code", value=code, beside=shown(events)), code)
        said = {"code": code, "message": usual(code) if message is None else message}
        check_text("error_frame_after", message=said["message"])
        if not said["message"]:
            raise wrong("error_frame_after", "message", message, "it must not be empty.")
        return self._failing("error_frame_after", events, {ERROR_FRAME: said}, strict=False)

    def _failing(self, by: str, after: int, event: Mapping[str, Any], *, strict: bool) -> Reply:
        if self.plan.failure is not None:
            raise ReplyError(f"{self.summary}: a stream fails once.")
        self._check_uncounted(f"{self.summary}: say how it fails")
        kinds = [next(iter(each), "") for each in self.plan.events()]
        _, exceptions = _exceptions(self.plan.body)
        if fails(self.plan.events()) or any(each in exceptions for each in kinds):
            raise ReplyError(f"{self.summary}: a stream fails once. Leave out its exception, or leave out {by}.")
        unfinished = isinstance(self.plan.body, EventsBody) and self.plan.body.unfinished
        # Only the last event of Converse ends the stream by itself, so that no exception can follow.
        ended = strict and not unfinished and not isinstance(self.plan.body, OutputBody)
        most = len(kinds) - (1 if ended else 0)
        at = Argument(by, "events", value=after)
        check_count(at, after)
        if not 0 <= after <= most:
            raise ReplyError(
                at,
                f": this reply has {len(kinds)} events ({', '.join(kinds)}); what ends it takes the place of one: 0 "
                f"to {most}.",
            )
        return self._planned(failure=StreamFailure(after, event), recorded=None)

    @property
    def failure(self) -> StreamFailure | None:
        """The exception that ends the stream, and the number of events before it; None if the stream does not fail."""
        return self.plan.failure

    def _planned(self, **changed: Any) -> Reply:
        return replace(self, plan=replace(self.plan, **changed))

    def _check_uncounted(self, *then: str | Argument) -> None:
        """Raise ReplyError, whose message begins with `then`, if a fault's position counts events: it would change."""
        for placement in self.plan.placements:
            if placement.fault.place in ("between", "in event"):
                broken = Advice(f"broken(faults.{placement.fault.name})", f'"broken": "{placement.fault.name}"')
                raise ReplyError(*then, " before ", broken, ", which counts events.")

    def broken(self, fault: Fault, *, after: int | None = None) -> Reply:
        """Return a copy that breaks the protocol with a fault after `after` events; by default after half of them.

        For an order fault, `after` is the index of the event to which the fault applies; by default, this is the middle
        one of the possible events. Faults of the whole answer have no `after`. To count events, the text is cut into
        one delta per word, for every model family. If the answer is not a stream (plain Converse, or an error), the
        body is broken in proportion: `after=3` of 6 events means after half of its bytes. Some faults are possible only
        in a stream. A reply can have one fault of each level. Raises ReplyError if the fault is impossible in this
        reply.

        >>> from converse_harness import faults
        >>> from converse_harness import reply
        >>> reply.text("The answer is forty-two.").broken(faults.reset, after=3).summary
        'text "The answer is forty-two.", reset after 3 events'
        """
        if not isinstance(fault, Fault):  # pyright: ignore[reportUnnecessaryIsInstance]  # tests are user code
            raise wrong("broken", "fault", fault, no_fault(fault))
        if after is not None:
            check_count(in_broken(fault, after), after)
        for placement in self.plan.placements:
            if placement.fault.level == fault.level:
                other = f"{placement.fault.name} breaks the same level already ({fault.level})"
                raise ReplyError(in_broken(fault), f": {other}; a reply has one fault of each.")
        if self.plan.placements and (self.plan.no_answer or fault.no_answer):
            raise ReplyError(in_broken(fault), f": {self.summary}: where no answer comes, nothing else can be broken.")
        placement = self._placed(fault, after)
        recorded = None if isinstance(fault, OrderFault) else self.plan.recorded
        placed = sorted((*self.plan.placements, placement), key=lambda each: FAULT_LEVELS.index(each.fault.level))
        return self._planned(placements=tuple(placed), recorded=recorded)

    def _placed(self, fault: Fault, after: int | None) -> FaultPlacement:
        if isinstance(fault, OrderFault):
            failure = self.plan.failure
            if isinstance(self.plan.body, OutputBody):
                raise ReplyError(
                    in_broken(fault),
                    f": {self.summary}: it breaks the order of ConverseStream's events. Give the "
                    "events in the order that you want, or take a fault of another kind, such as faults.reset.",
                )
            if not isinstance(self.plan.body, MessageBody | EventsBody) or failure is not None:
                why = "it has no events" if failure is None else "break the order first, then say how it fails"
                raise ReplyError(in_broken(fault), f": {self.summary}: {why}.")
            self._check_uncounted(in_broken(fault), f": {self.summary}: break the order")
            events = list(self.plan.events())
            placed = fault.placed(after, events)
            if fails(events) and not fails(rearranged(placed, events)):
                raise ReplyError(
                    in_broken(fault),
                    f": {self.summary}: the exception at the end would be lost. Leave it out of the events, or take "
                    "another fault.",
                )
            return placed
        if not self.plan.has_events and fault.on_body is None:
            raise ReplyError(in_broken(fault), f": {self.summary}: only a stream can be broken so.")
        return place(fault, after, self._count())

    def _count(self) -> int:
        """Return the number of events that are sent, with the frame of a failure; 1 for an answer without events."""
        if self.plan.failure is not None:
            return self.plan.failure.after + 1
        return sum(1 for _ in self.plan.events()) if self.plan.has_events else 1

    def retry_after(self, seconds: int | None = None, *, ms: int | None = None) -> Reply:
        """Return a copy of an error with the headers `retry-after` and `retry-after-ms`, which ask clients to wait.

        botocore does not read these headers; other clients do, for instance the AI SDK. Raises ReplyError if the answer
        is not an HTTP error, if neither header is given, and for a number that is negative or not whole.

        >>> from converse_harness import reply
        >>> reply.throttled().retry_after(ms=50).plan.body.headers
        (('retry-after-ms', '50'),)
        """
        body = self.plan.body
        if not isinstance(body, ErrorBody):
            raise ReplyError(f"{self.summary}: only an error before the stream has a header that says when to retry.")
        given = {name: value for name, value in (("retry-after", seconds), ("retry-after-ms", ms)) if value is not None}
        must = ": a whole number of seconds, or of milliseconds, 0 or more."
        if not given:
            raise ReplyError(Argument("retry_after"), must)
        for name, value in (("seconds", seconds), ("ms", ms)):
            if value is not None and (type(value) is not int or value < 0):
                raise ReplyError(Argument("retry_after", name, value=value), must)
        headers = tuple((name, str(value)) for name, value in given.items())
        return self._planned(body=replace(body, headers=headers), recorded=None)

    def paced(self, *, first: float = 0.0, each: float = 0.0) -> Reply:
        """Return a copy that waits `first` seconds before the first event, and `each` seconds before every later event.

        All transports wait in real time. Recorded bytes are sent with these pauses between their chunks.
        """
        for name, value in (("first", first), ("each", each)):
            if not is_number(value) or value < 0:
                raise wrong("paced", name, value, "a pause is a number of seconds, 0 or more.")
        recorded = self.plan.recorded and self.plan.recorded.paced(first, each)
        return self._planned(pace=Pace(first, each), recorded=recorded)

    def events(self, family: FamilyName | Family | None = None) -> Iterator[dict[str, Any]]:
        """Return the events of the stream, without the frame that `fails_after` or `error_frame_after` adds.

        `family` is the name of a model family, such as "claude", or a Family. Texts are cut into deltas as models of
        this family cut them. Without a family, or if the position of a fault or failure counts events, each word is one
        delta. Exact `pieces` are not changed. Raises ReplyError for an answer without events, such as an HTTP error.
        """
        return self.plan.events(None if family is None else family_named("events", family))

    @property
    def summary(self) -> str:
        """A description in one line, such as `tool_use get_weather {"city": "Zürich"}`."""
        return self._with_use(self.plan.summary)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<Reply {self.summary}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the code that creates the reply. IPython and Hypothesis (for counterexamples) call this method."""
        del cycle  # `cycle` is not used, because a reply cannot contain itself
        if isinstance(self.plan.body, BareBody):
            printer.text(repr(self))  # no code creates this reply, because only recordings contain such answers
            return
        calls = [*written(self.plan.body, self.plan.failure, self.plan.placements, self.plan.pace, self.uses)]
        if self.may_be_unused:
            calls.append(("optional", (), {}))
        for number, (function, arguments, options) in enumerate(calls):
            named = [("", value) for value in arguments] + [(f"{name}=", value) for name, value in options.items()]
            opening = f"{'.' if number else 'reply.'}{function}("
            with printer.group(len(opening), opening, ")"):
                for position, (name, value) in enumerate(named):
                    if position:
                        printer.text(",")
                        printer.breakable()
                    printer.text(name)
                    print_whole(printer, Reply(Plan(value)) if isinstance(value, MessageBody) else value)
