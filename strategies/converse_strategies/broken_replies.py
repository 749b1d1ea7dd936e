"""Strategies for answers that fail: HTTP errors before the stream, errors within the stream, and breaches of the
protocol.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock, reply
from converse_harness.bedrock.families import OVERFLOWS, THROTTLES, usual
from converse_harness.errors import ReplyError
from converse_harness.faults import FAULTS
from converse_harness.faults.model import FAULT_LEVELS, IN_PROCESS, TRANSPORTS, Fault, FaultPlacement
from converse_harness.faults.order import OrderFault
from converse_harness.reply.body import BareBody, ErrorBody, EventsBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import GATEWAY_ERRORS
from converse_strategies import basics, requests, shapes
from converse_strategies.basics import Texts, cached, chosen, composite, sampled
from converse_strategies.broken_streams import PLACES, with_blocks, witness
from converse_strategies.message.blocks import streamable
from converse_strategies.observing import tell

_OPERATIONS: Final = ("Converse", "ConverseStream")

_UNKNOWN_EXCEPTION: Final = "unknown_exception"
_ERROR_FRAME: Final = "error_frame"
"""Values of the argument `names` of `stream_errors` for errors that AWS's API model does not have."""

_SHORT_SECONDS: Final = 0.01
"""The duration in seconds of timed faults that must not delay a test."""

_WORDINGS: Final = {"ThrottlingException": THROTTLES, "ValidationException": OVERFLOWS}
_UNMODELLED: Final = {
    _UNKNOWN_EXCEPTION: st.sampled_from(("futureException", "modelOverloadedException")),
    _ERROR_FRAME: st.sampled_from(("InternalFailure", "InternalError", "ServiceUnavailable")),
}
"""Value of the argument `names` of `stream_errors` -> strategy for the name in the frame. It is an exception that no
model has, or an error code that AWS sends elsewhere.
"""

_WAITS: Final = st.sampled_from((None, None, None, "seconds", "ms"))
_DURATIONS: Final = st.integers(0, 3600)


@composite
def errors(draw: st.DrawFn, *, names: Collection[str] | None = None, messages: Texts | None = None) -> Reply:
    """Replies that are HTTP errors before the stream: the errors of Converse and ConverseStream, and those of AWS's
    gateway.

    `names` are names of errors, for example `ThrottlingException`; the default is all of these errors. `messages` is a
    strategy for the messages of the errors; by default, a message is a known wording or any text. Some replies have the
    header `retry-after` or `retry-after-ms`. botocore repeats a call after some errors, so script the error with
    `fake.always(error)`. Raises InvalidArgument, when drawn, for an unknown name.

    >>> from hypothesis import find
    >>> find(errors(names=["ModelTimeoutException"]), lambda error: True)
    <Reply ModelTimeoutException (408) "Model has timed out in processing the request. Try your...">
    """
    name = draw(sampled(chosen("errors", "names", names, _error_names())))
    answer = reply.error(name, draw(_messages(name) if messages is None else messages), **_members(draw, name))
    wait = draw(_WAITS)
    if wait is not None:
        answer = answer.retry_after(**{wait: draw(_DURATIONS)})
    tell(f"error: {name}", f"retry-after: {wait or 'none'}")
    return answer


@composite
def stream_errors(
    draw: st.DrawFn,
    *,
    names: Collection[str] | None = None,
    messages: Texts | None = None,
    replies: st.SearchStrategy[Reply] | None = None,
) -> Reply:
    """Replies whose stream fails at any event: with a known or unknown exception frame, or with an error frame.

    `names` are names of exception frames, for example `throttlingException`, or `unknown_exception` and `error_frame`;
    the default is all of them. `messages` is a strategy for the messages of the errors, by default known wordings and
    any text. `replies` is a strategy for the replies that are made to fail. If the test calls Converse instead of
    ConverseStream, such a reply is an HTTP error of the same type. Raises InvalidArgument, when drawn, for an unknown
    name and for replies that are not streams.

    >>> from hypothesis import find
    >>> find(stream_errors(names=["throttlingException"]), lambda answer: True).summary
    'text "", throttlingException after 0 events'
    """
    known = (*bedrock.stream_exceptions(), *_UNMODELLED)
    name = draw(sampled(chosen("stream_errors", "names", names, known)))
    where = draw(PLACES)
    answer = draw(requests.replies() if replies is None else replies)
    _check_reply("stream_errors", answer)
    code = draw(_UNMODELLED[name]) if name in _UNMODELLED else name
    shape = code[:1].upper() + code[1:]
    message = draw(_messages(shape) if messages is None else messages)
    try:
        after = where % max(1, sum(1 for _ in answer.events()))
        tell(f"error in the stream: {name}", f"events before the error: {_class_of(after)}")
        if name == _ERROR_FRAME:
            return answer.error_frame_after(after, code, basics.visible(message))
        if name == _UNKNOWN_EXCEPTION:
            return answer.fails_after(after, code, message, strict=False)
        return answer.fails_after(after, code, message, **_members(draw, shape))
    except ReplyError as error:
        raise InvalidArgument(f"stream_errors: {error} Give replies=replies(), or others that are streams.") from error


@composite
def protocol_faults(
    draw: st.DrawFn,
    *,
    names: Collection[str] | None = None,
    levels: Collection[str] | None = None,
    transports: Collection[str] | None = None,
    operations: Collection[str] | None = None,
    seconds: st.SearchStrategy[float] | None = None,
) -> Fault:
    """Faults, the deliberate breaches of the protocol that are defined in `converse_harness.faults`.

    `names` are names of faults; `levels` are some of events, frames, connection and HTTP. A fault is drawn only if all
    given `transports` (boto, httpx, server, asgi) and `operations` (Converse, ConverseStream) can express it.

    `seconds` is a strategy for the duration of timed faults. By default, `slow_first_byte` lasts 10 ms, and `stall`
    never ends. In process, an endless `stall` takes no time, because the client's timeout is raised at once. Over a
    socket, it would take the client's whole read timeout. So with the transports server and asgi, unless `names` are
    given, `stall` lasts 10 ms and `read_timeout` is not drawn. `stale_connection` is drawn only if `names` contains it,
    because it affects the next call. Raises InvalidArgument, when drawn, for unknown values, and if no fault fits all
    arguments.

    >>> from hypothesis import find
    >>> find(protocol_faults(levels=["connection"], transports=["server"]), lambda fault: True)
    faults.reset
    """
    selected = _selected("protocol_faults", names, levels, transports, operations)
    return _lasting(draw, "protocol_faults", draw(sampled(selected)), seconds)


@dataclass(frozen=True, slots=True)
class FaultyReply:
    """A reply with exactly one fault.

    >>> from converse_harness import faults, reply
    >>> case = FaultyReply(reply.text("hi").broken(faults.no_message_stop))
    >>> case.placement.fault, case.unmodified
    (faults.no_message_stop, <Reply text "hi">)
    """

    reply: Reply

    @property
    def placement(self) -> FaultPlacement:
        """The only fault of the reply, together with its position."""
        (placement,) = self.reply.plan.placements
        return placement

    @property
    def unmodified(self) -> Reply:
        """The same reply without the fault."""
        return replace(self.reply, plan=replace(self.reply.plan, placements=()))


@composite
def faulty_replies(
    draw: st.DrawFn,
    *,
    replies: st.SearchStrategy[Reply] | None = None,
    kinds: Collection[str] | None = None,
    names: Collection[str] | None = None,
    levels: Collection[str] | None = None,
    transports: Collection[str] | None = None,
    operations: Collection[str] | None = None,
    seconds: st.SearchStrategy[float] | None = None,
) -> FaultyReply:
    """FaultyReply objects: a `reply` with exactly one fault at any position, the `placement` of the fault, and
    `unmodified`.

    `replies` is a strategy for the replies to break, by default `replies(kinds=kinds)`. If the fault concerns the order
    of events and a reply has no position for it, blocks of some of `kinds` are added to the reply. The other arguments
    are those of `protocol_faults`; faults that are impossible in the drawn reply are left out.

    Some faults are harmless: the answer only comes slowly or in other chunks. So a consumer should raise, or return the
    same text and tool calls as for `unmodified`. This holds for all faults of the levels frames, connection and HTTP.
    At the level events, it holds for `cut_in_tool_input`, `cut_off`, `event_after_exception`, `no_message_stop`,
    `no_metadata` and `unknown_event`. Other faults of this level, such as `delta_after_block`, change the content of
    the answer, so a consumer may return something else. Raises InvalidArgument, when drawn, as `protocol_faults` does,
    for a reply that already has a fault, and if no fault is left.

    >>> from hypothesis import find
    >>> case = find(faulty_replies(kinds=["text"], names=["reset"]), lambda case: True)
    >>> case.reply, case.unmodified
    (<Reply text "", reset after 0 events>, <Reply text "">)
    """
    wanted = chosen("faulty_replies", "kinds", kinds, streamable())
    selected = _selected("faulty_replies", names, levels, transports, operations)
    # The fault is drawn before the reply, because hypothesis often makes the last draws as small as possible.
    fault, where = draw(sampled(selected)), draw(PLACES)
    answer = draw(requests.replies(kinds=wanted) if replies is None else replies)
    _check_reply("faulty_replies", answer)
    if answer.plan.placements:
        raise InvalidArgument(f"faulty_replies: {answer.summary} has a fault already. Give replies= that are sound.")
    is_stream = answer.plan.failure is None and not isinstance(answer.plan.body, ErrorBody | BareBody)
    last = [next(iter(event)) for event in answer.events()][-2:] if is_stream else []
    fitting = [each for each in selected if _fits(each, answer, last, wanted)]
    if not fitting:
        raise InvalidArgument(
            f"faulty_replies: {answer.summary} cannot be broken by {', '.join(each.name for each in selected)}. Give "
            "other names= or levels=, or replies= and kinds= that can be so broken."
        )
    if fault not in fitting:
        fault = fitting[where % len(fitting)]
    fault = _lasting(draw, "faulty_replies", fault, seconds)
    tell(f"level of the fault: {fault.level}", *([] if names is None else [f"fault: {fault.name}"]))
    return FaultyReply(_broken(answer, fault, where, wanted))


def _class_of(after: int) -> str:
    return str(after) if after < 2 else "2 or more"


def _check_reply(function: str, answer: object) -> None:
    if not isinstance(answer, Reply):
        raise InvalidArgument(
            f"{function}(replies=...): it drew {answer!r}; replies is a strategy for Replies, such as replies()."
        )


def _broken(answer: Reply, fault: Fault, where: int, kinds: tuple[str, ...]) -> Reply:
    """Return the reply with the fault, at the position that `where` selects (modulo the number of possible positions).

    If the order of events has no position for the fault, blocks of some of `kinds` are added to the reply.
    """
    if isinstance(fault, OrderFault):
        events = list(answer.events())
        positions: Sequence[int] = fault.applicable_at(events)
        if not positions:
            events = with_blocks([dict(event) for event in events], witness(fault.name, kinds) or ())
            answer = replace(answer, plan=replace(answer.plan, body=EventsBody(tuple(events))))
            positions = fault.applicable_at(events)
        return answer.broken(fault, after=positions[where % len(positions)])
    middle = answer.broken(fault)
    if fault.place == "whole answer":
        return middle
    places = middle.plan.placements[0].events + (fault.place == "between")
    return answer.broken(fault, after=where % places)


def _fits(fault: Fault, answer: Reply, last: list[str], kinds: tuple[str, ...]) -> bool:
    """Whether `answer` can have this fault, if necessary after blocks of some of `kinds` have been added to it.

    `last` are the types of the last two events of the answer.
    """
    if isinstance(fault, OrderFault):
        return last == ["messageStop", "metadata"] and witness(fault.name, kinds) is not None
    return fault.on_body is not None or not isinstance(answer.plan.body, ErrorBody | BareBody)


@cached
def _selected(
    function: str,
    names: Collection[str] | None,
    levels: Collection[str] | None,
    transports: Collection[str] | None,
    operations: Collection[str] | None,
) -> tuple[Fault, ...]:
    """Return the faults with these names and levels that all of these transports and operations can express.

    Timed faults are shortened to `_SHORT_SECONDS`. An endless fault stays endless if `names` are given, if no
    `transports` are given, or if all transports are in process, where it takes no time. Without `names`, faults in
    `_STRIKES_LATER` are left out, and so is `read_timeout` if endless faults are shortened.
    """
    known = chosen(function, "names", names, tuple(FAULTS))
    of_levels = chosen(function, "levels", levels, FAULT_LEVELS)
    able = set(chosen(function, "transports", transports, TRANSPORTS) if transports is not None else ())
    whole = operations is not None and "Converse" in chosen(function, "operations", operations, _OPERATIONS)
    may_wait = names is not None or transports is None or able <= IN_PROCESS
    left_out = () if names is not None else (*_STRIKES_LATER, *(() if may_wait else ("read_timeout",)))
    found = tuple(
        fault if fault.seconds is None or (fault.seconds == inf and may_wait) else fault.lasting(_SHORT_SECONDS)
        for fault in map(FAULTS.__getitem__, known)
        if fault.level in of_levels
        and able <= fault.transports
        and not (whole and fault.on_body is None)
        and fault.name not in left_out
    )
    if not found:
        given = {"names": names, "levels": levels, "transports": transports, "operations": operations}
        told = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
        raise InvalidArgument(
            f"{function}({told}): there is no fault that is all of this. Leave one out, or see the `level` and "
            "`transports` of converse_harness.faults.FAULTS."
        )
    return found


_STRIKES_LATER: Final = ("stale_connection",)
"""Faults that affect only the call after the one whose answer has the fault. They are drawn only if the user names
them.
"""


def _lasting(draw: st.DrawFn, function: str, fault: Fault, seconds: st.SearchStrategy[float] | None) -> Fault:
    if fault.seconds is None or seconds is None:
        return fault
    try:
        return fault.lasting(draw(seconds))
    except ReplyError as error:
        raise InvalidArgument(f"{function}(seconds={seconds!r}): {error}") from error


@cache
def _error_names() -> tuple[str, ...]:
    modelled = dict.fromkeys(name for operation in _OPERATIONS for name in bedrock.errors(operation))
    return (*modelled, *(name for name in bedrock.all_errors() if name in GATEWAY_ERRORS))


@cache
def _messages(name: str) -> Texts:
    known = (usual(name), *(wording.message for wording in _WORDINGS.get(name, {}).values()))
    return st.sampled_from(list(dict.fromkeys(known))) | basics.texts()


def _members(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Draw the members of the error `name`, except its message."""
    if bedrock.all_errors()[name].members == ("message",):
        return {}
    return {member: value for member, value in draw(shapes.values(name)).items() if member != "message"}
