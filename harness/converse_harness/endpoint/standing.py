"""The stages that every fake has: the rules of Bedrock, the script of the test, and the answers of recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from converse_harness.bedrock.rules import Refusal, RuleRequest, notes_of, refusals_of
from converse_harness.bedrock.rules.request import conversation_in
from converse_harness.endpoint import failure_texts
from converse_harness.endpoint.call import CONVERSATIONS, Call, ForwardedAnswer, NotesOfCall
from converse_harness.endpoint.script import Slot
from converse_harness.endpoint.stage import Stage
from converse_harness.errors import ConverseHarnessError, UnexpectedCall
from converse_harness.notes import Note, count_unknown_model
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import Chunk, HttpResponse

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


class Rules(Stage):
    """Refuses the calls that Bedrock would refuse. `asked` is the latest request that was checked."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.asked: RuleRequest | None = None

    def refusal(self, call: Call) -> Refusal | None:
        """Return the refusal of the first broken rule. At the level "warn", it only becomes a note."""
        level, single = self.endpoint.rules, self.endpoint.single_rules
        if (level == "off" and not single) or call.operation not in CONVERSATIONS or call.malformed is not None:
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
        if noted is None:
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
