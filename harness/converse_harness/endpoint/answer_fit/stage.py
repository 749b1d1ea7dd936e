"""The stage AnswerFit: notes about answers that Bedrock does not give to their requests, by the table FITS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converse_harness.bedrock.fit import (
    TRACE_IS_ASKED,
    Answer,
    Misfit,
    is_usual,
    misfits_of,
    used_of,
)
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.endpoint.call import SCRIPTED, Call, FitOfCall
from converse_harness.endpoint.stage import Stage
from converse_harness.errors import Advice, ImpossibleAnswer
from converse_harness.notes import Note
from converse_harness.reply.answer import answer_of
from converse_harness.reply.body import Body, EventsBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.secrets.mask import mask
from converse_harness.settings import RuleLevel

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint

_KEPT: Final = 64
"""The number of scripted answers that a fake keeps in the form in which the rows read them."""


class _ComparedAnswer(FitOfCall):
    """Marks a call whose answer was compared with its request."""

    __slots__ = ("sends_trace",)

    def __init__(self, *, sends_trace: bool) -> None:
        self.sends_trace = sends_trace

    def used(self, call: Call) -> list[str]:
        """Return the paths of the members of the request that the answer uses."""
        answer = answer_of(call.reply.plan.body) if call.reply is not None else None
        return [] if answer is None else used_of(_request_of(call), answer)


_COMPARED: Final = _ComparedAnswer(sends_trace=True)
_WITHOUT_TRACE: Final = _ComparedAnswer(sends_trace=False)


def _request_of(call: Call) -> RuleRequest:
    return RuleRequest(call.operation or "", call.model_id, call.body, call.stands_for, call.items)


def _is_usual(call: Call, body: MessageBody) -> bool:
    return is_usual(call.items, body.content, body.stop_reason, body.tokens)


class AnswerFit(Stage):
    """Compares each scripted answer with its request. Recorded answers are Bedrock's own, and are not compared."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._levels = endpoint.single_answers
        self._is_off = endpoint.answers == "off" and {*self._levels.values()} <= {"off"}
        self._known: dict[Body, Answer | None] = {}

    def accepted(self, call: Call, reply: Reply | None) -> None:
        """Make a note of each misfit, or add a problem, by the level of the row."""
        if self._is_off or reply is None or call.operation not in SCRIPTED:
            return
        plan = reply.plan
        body = plan.body
        if not isinstance(body, MessageBody | EventsBody) or not body.strict or plan.recorded is not None:
            return
        call.keep(FitOfCall, _COMPARED)
        if isinstance(body, MessageBody) and not body.options and _is_usual(call, body):
            return
        answer = None if plan.no_answer else self._known[body] if body in self._known else self._read(body)
        for misfit in misfits_of(_request_of(call), answer) if answer is not None else ():
            level = self._levels.get(misfit.fit.name, self.endpoint.answers)
            if level != "off" and misfit.fit.name not in plan.misfits:
                if misfit.fit.name == TRACE_IS_ASKED:
                    call.keep(FitOfCall, _WITHOUT_TRACE)
                self._report(call, reply, misfit, level)

    def _read(self, body: Body) -> Answer | None:
        """Return the answer of a scripted body; None if it is no whole message."""
        if len(self._known) >= _KEPT:
            self._known.clear()
        answer = self._known[body] = answer_of(body)
        return answer

    def _report(self, call: Call, reply: Reply, misfit: Misfit, level: RuleLevel) -> None:
        fit, line = misfit.fit, call.answered.line
        where = f", {line}" if line is not None else ""
        first = f"call {call.number} was answered with {misfit.text}"
        evidence = (
            f"arrived   {call.asked}\nanswered  {reply.summary}{where}\n"
            f"row       {fit.name}: {fit.has} needs {fit.needs}\nsource    {fit.source}"
        )
        if level == "strict" and fit.likelihood == "never":
            before = f"{line}: " if line is not None else ""
            text = mask(f"{before}Bedrock never answers like this: {first}\n\n{evidence}\n\nMend the request, or the ")
            self.endpoint.problems.append(ImpossibleAnswer(text, _advice(fit.name)))
        else:
            self.endpoint.note(call, Note(fit.name, mask(f"{first}\n\n{evidence}"), call.number))


def _advice(name: str) -> Advice:
    return Advice(
        f'answer. If the test means it: @pytest.mark.converse(answers={{"{name}": "off"}}), or answers= of a fake.\n'
        "More: converse-harness docs answers levels",
        f'answer. If the test means it, open the fake with "answers": {{"{name}": "off"}}.\n'
        "More: converse-harness docs answers levels",
    )
