"""The stage AnswerFit: notes about answers that Bedrock does not give to their requests, by the table FITS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converse_harness.bedrock.fit import (
    TRACE_IS_ASKED,
    Answer,
    Misfit,
    fits_quickly,
    misfits_of,
    used_of,
)
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.endpoint.call import SCRIPTED, Call, FitOfCall
from converse_harness.endpoint.stage import Stage
from converse_harness.errors import Advice, ImpossibleAnswer
from converse_harness.notes import Note
from converse_harness.reply.answer import answer_of
from converse_harness.reply.body import Body
from converse_harness.reply.reply import Reply
from converse_harness.secrets.mask import mask
from converse_harness.settings import RuleLevel

if TYPE_CHECKING:
    from converse_harness.endpoint import Endpoint

_KEPT: Final = 64
"""The number of scripted answers that a fake keeps in the form in which the rows read them."""


class _ComparedAnswer(FitOfCall):
    """What the stage knows of a call: its scripted answer."""

    __slots__ = ("answer", "sends_trace")

    def __init__(self, answer: Answer, *, sends_trace: bool = True) -> None:
        self.answer = answer
        self.sends_trace = sends_trace

    def used(self, call: Call) -> list[str]:
        """Return the paths of the members of the request that the answer uses."""
        return used_of(_request_of(call), self.answer)


def _request_of(call: Call) -> RuleRequest:
    return RuleRequest(call.operation or "", call.model_id, call.body, call.stands_for, call.items)


class AnswerFit(Stage):
    """Compares each scripted answer with its request. Recorded answers are Bedrock's own, and are not compared."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._levels = endpoint.single_answers
        self._is_off = endpoint.answers == "off" and {*self._levels.values()} <= {"off"}
        self._known: dict[Body, _ComparedAnswer | None] = {}

    def accepted(self, call: Call, reply: Reply | None) -> None:
        """Make a note of each misfit, or add a problem, by the level of the row."""
        if self._is_off or reply is None or call.operation not in SCRIPTED:
            return
        plan = reply.plan
        if plan.recorded is not None or (plan.placements and plan.no_answer):
            return
        compared = self._known[plan.body] if plan.body in self._known else self._read(plan.body)
        if compared is None:
            return
        call.keep(FitOfCall, compared)
        if not fits_quickly(call.items, compared.answer):
            for misfit in misfits_of(_request_of(call), compared.answer):
                level = self._levels.get(misfit.fit.name, self.endpoint.answers)
                if level != "off" and misfit.fit.name not in plan.misfits:
                    if misfit.fit.name == TRACE_IS_ASKED:
                        call.keep(FitOfCall, _ComparedAnswer(compared.answer, sends_trace=False))
                    self._report(call, reply, misfit, level)

    def _read(self, body: Body) -> _ComparedAnswer | None:
        """Return the answer of a scripted body; None if it is an error, is no whole message, or means to be unusual."""
        if len(self._known) >= _KEPT:
            self._known.clear()
        answer = answer_of(body) if getattr(body, "strict", False) else None
        compared = self._known[body] = None if answer is None else _ComparedAnswer(answer)
        return compared

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
