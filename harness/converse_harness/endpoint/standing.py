"""The stages that every fake has: Bedrock's rules, the script, the answers of recordings, and what was read of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal

from converse_harness import bedrock
from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules import Refusal, Rule, RuleRequest, notes_of, refusals_of
from converse_harness.bedrock.rules.request import conversation_in
from converse_harness.endpoint import failure_texts
from converse_harness.endpoint.call import CONVERSATIONS, INVOKING, Call, ForwardedAnswer, NotesOfCall
from converse_harness.endpoint.script import Slot, scripted_in_short
from converse_harness.endpoint.stage import Stage
from converse_harness.errors import ConverseHarnessError, UnexpectedCall, UnusedReplies
from converse_harness.left_behind import LEFT_BEHIND
from converse_harness.notes import Note, count_unknown_model
from converse_harness.reply.body import UNPACED, ErrorBody, EventsBody, OutputBody
from converse_harness.reply.reply import Reply, fails
from converse_harness.secrets.mask import mask
from converse_harness.stream.http import Chunk, HttpResponse
from converse_harness.words import counted

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint

_SOCKETS: Final = ("server", "asgi")
"""The transports that send each chunk without waiting until the client has read it."""

_TIME_TO_LEAVE: Final = 1.0
"""Seconds that a client has to disconnect after the last chunk of a partial recording, if `transport` is in _SOCKETS.
"""


class _Noted(list[Refusal]):
    """What is noted of a call unless a recording answers it: broken rules that refuse nothing at the fake's level."""


class _OfUnknownModel:
    """Marks a call that was held to the rules of all models only, since no row of the table has its model."""


_INPUT: Final = Rule(
    name="input_of_operation",
    what="the input of an operation other than Converse is as AWS's API model describes it",
    message="{text}",
    find=lambda asked: iter(()),
    witnesses=(),
    remark="AWS's API model in botocore; no answer to such a request is recorded",
    verdict="note",
)


def _unfit_input(call: Call) -> Refusal | None:
    """Return what is wrong with the input of a call, by AWS's API model; None if nothing is.

    botocore itself checks only types, required members and minimums. Values in headers are not checked, because secrets
    among them are masked.
    """
    operation = str(call.operation)
    if operation in INVOKING or operation not in bedrock.operations(call.service):
        return None
    shape = bedrock.operation(operation, call.service).input_shape
    in_header = {name for name, each in shape.members.items() if each.serialization.get("location") == "header"}
    found = bedrock.validate(shape.name, call.params, of=call.service)
    wrong = next((each for each in found if not in_header & {*each.steps[:1], str(each.limit)}), None)
    return None if wrong is None else Refusal(_INPUT, wrong.path or operation, wrong.message, standing(call.stands_for))


class Rules(Stage):
    """Refuses the calls that Bedrock would refuse. `asked` is the latest request that was checked."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.asked: RuleRequest | None = None

    def refusal(self, call: Call) -> Refusal | None:
        """Return the refusal of the first broken rule. At the level "warn", it only becomes a note."""
        level, single = self.endpoint.rules, self.endpoint.single_rules
        if (level == "off" and not single) or call.malformed is not None:
            return None
        if call.operation not in CONVERSATIONS:
            if level != "off" and call.operation is not None and (found := _unfit_input(call)) is not None:
                call.keep(_Noted, _Noted((found,)))
            return None
        body = conversation_in(call.operation, call.body)
        items = call.items if body is call.body else None
        self.asked = asked = RuleRequest(call.operation, call.model_id, body, call.stands_for, items)
        noted, refusal = _Noted(() if level == "off" else notes_of(asked, single)), None
        for each in refusals_of(asked, level, single):
            if self.endpoint.level_of(each.rule.name) != "warn":
                refusal = each
                break
            if not call.of(Refusal):  # Bedrock would send only the first refusal
                call.keep(Refusal, each)
                noted.insert(0, each)
            if not single:
                break
        if refusal is not None:
            call.keep(Refusal, refusal)
        elif asked.model.model is None:
            call.keep(_OfUnknownModel, _OfUnknownModel())
        if noted:
            call.keep(_Noted, noted)
        return refusal

    def accepted(self, call: Call, reply: Reply | None) -> None:
        """Make the notes about the call, unless a recording answers it: Bedrock accepted the recorded request."""
        if reply is not None and reply.plan.recorded is not None:
            return
        if call.of(_OfUnknownModel) is not None and call.of(ForwardedAnswer) is None:
            count_unknown_model(call.model_id)
        noted = call.of(_Noted)
        if noted is None or (
            reply is None and noted[0].rule is _INPUT
        ):  # without a scripted answer, another text tells
            return
        notes = [Note(each.rule.name, failure_texts.noted_request(call, each), call.number) for each in noted]
        if call.of(ForwardedAnswer) is None:
            for note in notes:
                self.endpoint.note(call, note)
        else:  # Bedrock itself answers
            call.keep(NotesOfCall, NotesOfCall((*call.notes, *notes)))


class Conditions(Stage):
    """Answers with the replies of `when`, and with those of `on_operation`."""

    position = "in the script"
    leaves_only_unused = True

    def source(self, call: Call) -> Slot | None:
        """Return the first reply whose condition the call meets."""
        script = self.endpoint.script
        return script.take(script.conditions, call) if script.whens or script.operations else None

    def leftovers(self) -> list[str]:
        """Return a line about each `when` that got no reply."""
        return failure_texts.forgotten(self.endpoint.script)


class Recordings(Stage):
    """Answers with recorded exchanges, also for calls that Bedrock would refuse: the answers are Bedrock's own."""

    position = "in the script"
    answers_refused = True

    def source(self, call: Call) -> Slot | None:
        """Return the recorded answer to the call. Raises MatchFailed if the user's match function raises an error."""
        script = self.endpoint.script
        return script.take(script.recordings, call) if script.recordings else None

    def sending(self, call: Call, reply: Reply, response: HttpResponse) -> HttpResponse:
        """If the recorded client stopped reading, end the answer there."""
        recorded = reply.plan.recorded
        if recorded is None or not recorded.partial or recorded.operation != call.operation:
            return response
        pause = _TIME_TO_LEAVE if self.endpoint.transport in _SOCKETS else 0.0
        return replace(response, chunks=_as_far_as_recorded(response, call, pause, self.endpoint.problems))


def _as_far_as_recorded(
    response: HttpResponse, call: Call, pause: float, problems: list[ConverseHarnessError | Exception]
) -> Iterator[Chunk]:
    """Yield the chunks of a partial recording, then raise UnexpectedCall if the client reads on.

    The recorded client disconnected after these chunks, so the rest of the answer is unknown. Transports fetch one
    chunk ahead. Therefore an empty chunk precedes the error, so that only a client that reads on gets the error. For a
    transport in _SOCKETS, the client first has the seconds of `pause` to disconnect.
    """
    yield from response.chunks
    yield Chunk(b"", pause)
    problem: UnexpectedCall = failure_texts.recorded_no_further(call)
    problems.append(problem)
    raise problem


class RepliesInOrder(Stage):
    """Answers with the replies of `script` in order, and then with the reply of `always`."""

    position = "in the script"
    leaves_only_unused = True  # of a long recording, the text about what is unused takes a second

    def source(self, call: Call) -> Slot | None:
        """Return the next reply."""
        script = self.endpoint.script
        return script.take((script.ordered, script.fallback), call)

    def leftovers(self) -> Sequence[Exception]:
        """Return an error for all unused replies of the whole script."""
        script = self.endpoint.script
        unused = script.unused()
        return (failure_texts.unused_replies(script, self.endpoint.calls, unused),) if unused else ()


class ReadStreams(Stage):
    """Tells at the end which streams were asked for and not read, and that a fake which awaits a call got none."""

    leaves_only_unused = True

    def leftovers(self) -> Sequence[Exception | Note]:
        """Return an error for the first stream whose break nobody reached, otherwise notes."""
        if not self.endpoint.received:
            return _no_call(self.endpoint)
        streams = [call for call in self.endpoint.calls if call.operation == "ConverseStream" or _streams(call)]
        left = [(call, kind) for call in streams if (kind := _left_behind(call)) is not None]
        if not left:
            return ()
        reached = {id(call.answered.reply) for call in streams if _left_behind(call) is None}
        missed = [call for call, kind in left if kind == "fault_not_reached" and id(call.answered.reply) not in reached]
        if missed:
            return (UnusedReplies(_not_read("fault_not_reached", missed[0])),)
        return [Note("stream_not_read", _not_read("stream_not_read", call), call.number) for call, _ in left]


def _streams(call: Call) -> bool:
    """Whether a call was answered with a stream of events by `on_operation`."""
    reply = call.answered.reply
    return reply is not None and isinstance(reply.plan.body, OutputBody) and reply.plan.has_events


def _left_behind(call: Call) -> Literal["fault_not_reached", "stream_not_read"] | None:
    """Return what the client has left behind of the stream that answers a call; None if that is nothing."""
    reply, outcome = call.answered.reply, call.outcome
    unread = call.answered.taken.unread
    if (outcome == "complete" and not unread) or reply is None or reply.may_be_unused:
        return None
    if isinstance(reply.plan.body, ErrorBody):
        return None
    if unread:  # how much the client has read of what was sent, nobody knows; it may stop at a break
        breaks = _breaks_at(reply)
        return "stream_not_read" if breaks is None or len(call.events) <= breaks + 1 else None
    if call.status != HTTPStatus.OK or (outcome == "cut" and call.of(ForwardedAnswer) is not None):
        return None
    events = [event for event, _ in call.events]
    if any("messageStop" in event for event in events):
        return None
    plan, breaks = reply.plan, _breaks_at(reply)
    waits = plan.pace != UNPACED or any(each.fault.seconds is not None for each in plan.placements)
    gave_up = waits and outcome == "closed by client"
    if breaks is not None:
        # Nothing follows a reset or a stall, so the client had it if it had what comes before and did not just close.
        stalls = any(each.fault.name == "stall" for each in plan.placements)
        if len(events) >= breaks + (0 if outcome == "cut" or (stalls and gave_up) else 1):
            return None
        return "fault_not_reached" if plan.pace == UNPACED or not gave_up else "stream_not_read"
    whole = any(each.fault.place == "whole answer" and each.fault.reaction != "ignore" for each in plan.placements)
    if gave_up or whole or outcome == "cut" or (plan.recorded is not None and plan.recorded.partial):
        return None
    return "stream_not_read"


def _breaks_at(reply: Reply) -> int | None:
    """Return the number of events before the first break of a stream; None if the stream is sound."""
    plan = reply.plan
    places = [each.after for each in plan.placements if each.fault.place != "whole answer"]
    if plan.failure is not None:
        places.append(plan.failure.after)
    elif isinstance(plan.body, EventsBody | OutputBody) and plan.body.events and fails(plan.body.events[-1:]):
        places.append(len(plan.body.events) - 1)
    return min(places, default=None)


def _not_read(name: str, call: Call) -> str:
    count = len(call.events)
    line = call.answered.line
    read = f"{counted(count, 'event') if count else 'nothing'} ({call.outcome})"
    if call.answered.taken.unread:
        read = f"not all of the {counted(count, 'event')} that were sent (closed by client)"
    return mask(
        LEFT_BEHIND[name].told(
            call=call.number,
            answer=call.summary,
            line="" if line is None else f", scripted at {line}",
            read=read,
        )
    )


def _no_call(endpoint: Endpoint) -> tuple[Note, ...]:
    """Return a note about a fake that got no call, if the test opened it and needs one.

    A fake without a reply for any number of calls needs none. It guards the test: another call would fail it.
    """
    stubs = any(slot.uses is None for _, slot in endpoint.script.slots())
    if not endpoint.awaits_call or not (stubs or endpoint.looks_at_calls):
        return ()
    fake = f"the fake ({', '.join(scripted_in_short(endpoint.script)) or 'nothing scripted'})"
    return (Note("no_call", mask(LEFT_BEHIND["no_call"].told(fake=fake)), 0),)
