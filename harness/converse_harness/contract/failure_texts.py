"""How tests report verdicts: the observations of a case, notes in reports, and the texts of failures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness.cases import CASES, Case
from converse_harness.cases.case import Evidence
from converse_harness.contract.judging import Flaw, Verdict, VerdictLevel, error_name
from converse_harness.contract.outcome import Outcome
from converse_harness.contract.properties import Property
from converse_harness.endpoint.call import Calls
from converse_harness.features import with_methods_of_features
from converse_harness.plugin.settings import VERDICT
from converse_harness.reply.reply import Reply
from converse_harness.secrets.mask import mask
from converse_harness.words import counted

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake

    class Failed(BaseException):
        """The type of pytest's own failure exception, for type checkers."""

        def __init__(self, msg: str, pytrace: bool) -> None: ...

else:
    Failed = pytest.fail.Exception


class NotHandled(AssertionError, Failed):
    """Raised if the consumer mishandled or refused an answer; the message contains the verdict."""

    def __init__(self, message: str) -> None:
        # pytest prints no traceback, because its lines would all be lines of the contract.
        Failed.__init__(self, message, pytrace=False)


NotHandled.__module__ = "converse_harness.contract"  # its public import path


if TYPE_CHECKING:  # the members that features add; at run time they are there if the feature is
    from converse_harness.features.outline.names import OutlineOfSeen
else:
    OutlineOfSeen = object


@with_methods_of_features
@dataclass(frozen=True, slots=True)
class Seen(OutlineOfSeen):
    """The observations of one case: the consumer's outcome, its number of requests, and the verdict.

    `calls` are the calls to the fake.

    >>> from converse_harness.contract import Outcome, Verdict, VerdictLevel
    >>> seen = Seen("text_basic", "Converse", Verdict(VerdictLevel.HANDLED), Outcome("18 °C"), requests=1)
    >>> seen.verdict.words
    'handled'
    """

    case: str
    operation: str
    verdict: Verdict
    outcome: Outcome | None
    requests: int
    calls: Calls = field(default_factory=Calls, repr=False, compare=False)

    @property
    def told(self) -> dict[str, Any]:
        """The observations as a JSON object, with the name of the error in place of the exception."""
        outcome = self.outcome or Outcome()
        calls = [
            [call.name, call.input if isinstance(call.input, str) else dict(call.input)] for call in outcome.tool_calls
        ]
        return {
            "verdict": self.verdict.words,
            "requests": self.requests,
            "text": outcome.text,
            "tool_calls": calls,
            "stop_reason": outcome.stop_reason,
            "error": error_name(outcome.error),
            "why": self.verdict.why,
        }


@dataclass(frozen=True, slots=True)
class Tried:
    """One run of the consumer: the replies that it received, the observations, and the fake."""

    replies: Sequence[Reply]
    seen: Seen
    fake: Fake


_MOST: Final = 5000
"""A failure shows a generated reply as code, or as its summary if the code has more characters than this."""


class WrongAnswer(Exception):
    """Raised in a property if the consumer did not handle the replies of the run `tried`.

    Each kind of verdict has a subclass of its own, because hypothesis reports the smallest example of each type.
    """

    def __init__(self, tried: Tried) -> None:
        super().__init__(tried.seen.verdict.words)
        self.tried = tried

    @staticmethod
    def of(tried: Tried) -> WrongAnswer:
        """Make the exception for the kind of verdict of a run."""
        return _of_kind(kind_of(tried))(tried)


def wrong_answers(error: Exception) -> list[WrongAnswer]:
    """Return the WrongAnswers in an exception that a property has raised, which is one of them or a group.

    Raises any other exception of a group.
    """
    if isinstance(error, WrongAnswer):
        return [error]
    found = [each for each in getattr(error, "exceptions", ()) if isinstance(each, WrongAnswer)]
    if len(found) < len(getattr(error, "exceptions", (error,))):
        raise error
    return found


@cache
def _of_kind(kind: tuple[str, ...]) -> type[WrongAnswer]:
    return type(WrongAnswer.__name__, (WrongAnswer,), {"__doc__": f"The consumer's verdict is {kind}."})


def kind_of(tried: Tried) -> tuple[str, ...]:
    """Return the kind of verdict of a run: level and flaw, what it is about, and who is known to send such a reply."""
    return (*tried.seen.verdict.kind, evidence_of(tried.replies).name)


def evidence_of(replies: Sequence[Reply]) -> Evidence:
    """Return who is known to send drawn replies: AWS's API model allows them, if they have no fault."""
    faults = [placement.fault.name for answer in replies for placement in answer.plan.placements]
    known = [CASES[name].evidence if name in CASES else Evidence.UNKNOWN for name in faults]
    return max([Evidence.DOCUMENTED, *known], key=[*Evidence].index)


_HANDLED: Final = {"level": VerdictLevel.HANDLED.word, "flaw": "", "why": ""}


def note(item: pytest.Item, name: str, tried: Sequence[Tried], known: str | None) -> None:
    """Attach the verdicts of a test to its report, for the table of verdicts that pytest prints at the end.

    `tried` are the runs that the consumer did not handle, one of each kind; without one, the verdict is "handled".
    """
    first, *more = [_row(each, CASES.get(name)) for each in tried] or [_HANDLED]
    told = {"contract": item.nodeid.rpartition("::")[0], "test": name, "known": known, **first}
    item.user_properties.append((VERDICT, json.dumps({**told, "more": more}, ensure_ascii=False)))


def _row(tried: Tried, case: Case | None) -> dict[str, Any]:
    verdict = tried.seen.verdict
    evidence = evidence_of(tried.replies) if case is None else case.evidence
    flaw = verdict.flaw.word if verdict.flaw else ""
    rank = [*Evidence].index(evidence)
    return {"level": verdict.level.word, "flaw": flaw, "why": mask(verdict.why), "sent": evidence.value, "rank": rank}


def failure(tried: Sequence[Tried], asked: Case | Property, contract: str) -> NotHandled | None:
    """Return the exception to raise after these runs of the consumer; None if the consumer handled their answers.

    `asked` is the case or property of the test, and `contract` is the name of the contract's class.
    """
    wrong = [each for each in tried if each.seen.verdict.level is not VerdictLevel.HANDLED]
    if not wrong:
        return None
    first, *more = wrong
    heading = f"{len(wrong)} kinds of answers are not handled" if more else first.seen.verdict.words
    told = "\n\n".join(_told(each, asked, numbered=number if more else 0) for number, each in enumerate(wrong, 1))
    return NotHandled(
        mask(
            f"{asked.name}: {heading}.\n\n{told}\n"
            f"{_rows([('alone', f'pytest -k {chr(34)}{contract} and {asked.name}{chr(34)}')])}\n\n"
            "Mend the consumer. If it is to stay so, say why, and the test passes until it is mended:\n"
            f'known = {{"{asked.name}": "..."}}   More: converse-harness docs contract known'
        )
    )


def _told(tried: Tried, asked: Case | Property, *, numbered: int) -> str:
    verdict = tried.seen.verdict
    sent = [answer.summary for answer in tried.replies]
    # The failure message shows each generated reply of a Property as Python code, unless the code is too long.
    if isinstance(asked, Property):
        from hypothesis.vendor.pretty import pretty

        code = map(pretty, tried.replies)
        sent = [text if len(text) <= _MOST else short for text, short in zip(code, sent, strict=True)]
    made = tried.seen.requests
    requests = "" if verdict.flaw is Flaw.ENDLESS else f" ({counted(made, 'request')})"
    must = [("must", asked.required)]
    if numbered:
        head, must = f"{numbered}. {verdict.words}.\n", must if numbered == 1 else []
    else:
        head = ""
    return head + _rows([("sent", "\n".join((asked.sentence, *sent))), ("seen", f"{verdict.why}{requests}"), *must])


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"  {title:<8}{text.replace(chr(10), chr(10) + ' ' * 10)}" for title, text in rows)


def one_of_each(tried: Sequence[Tried], *, counts: bool = False) -> list[Tried]:
    """Return one run of each kind that the consumer did not handle; those that are best known come first.

    If `counts` is true, the reason of each says how many of the runs are of this kind.
    """
    kinds: dict[tuple[str, ...], list[Tried]] = {}
    for each in tried:
        if each.seen.verdict.level is not VerdictLevel.HANDLED:
            kinds.setdefault(kind_of(each), []).append(each)
    order = [*Evidence].index
    found = sorted(kinds.values(), key=lambda runs: order(evidence_of(runs[0].replies)))
    return [_counted(runs, len(tried)) if counts else runs[0] for runs in found]


def _counted(runs: Sequence[Tried], total: int) -> Tried:
    seen = runs[0].seen
    why = f"{len(runs)} of {total} answers, such as: {seen.verdict.why}"
    return replace(runs[0], seen=replace(seen, verdict=replace(seen.verdict, why=why)))
