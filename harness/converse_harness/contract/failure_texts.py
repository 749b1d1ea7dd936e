"""How tests report verdicts: the observations of a case, notes in reports, and the texts of failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness.cases import Case
from converse_harness.contract.judging import Flaw, Verdict, VerdictLevel, error_name
from converse_harness.contract.outcome import Outcome
from converse_harness.contract.properties import Property
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


@dataclass(frozen=True, slots=True)
class Seen:
    """The observations of one case: the consumer's outcome, its number of requests, and the verdict.

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


def note(item: pytest.Item, name: str, verdict: Verdict, known: str | None) -> None:
    """Attach a verdict to the report of a test, for the table of verdicts that pytest prints at the end."""
    told = {
        "contract": item.nodeid.rpartition("::")[0],
        "test": name,
        "level": verdict.level.word,
        "flaw": verdict.flaw.word if verdict.flaw else "",
        "why": mask(verdict.why),
        "known": known,
    }
    item.user_properties.append((VERDICT, json.dumps(told, ensure_ascii=False)))


def failure(tried: Tried, asked: Case | Property, contract: str) -> NotHandled | None:
    """Return the exception to raise after the run `tried` of the consumer; None if the consumer handled the answer.

    `asked` is the case or property of the test, and `contract` is the name of the contract's class.
    """
    verdict = tried.seen.verdict
    if verdict.level is VerdictLevel.HANDLED:
        return None
    sent = [answer.summary for answer in tried.replies]
    # The failure message shows each generated reply of a Property as Python code, unless the code is too long.
    if isinstance(asked, Property):
        from hypothesis.vendor.pretty import pretty

        code = map(pretty, tried.replies)
        sent = [text if len(text) <= _MOST else short for text, short in zip(code, sent, strict=True)]
    made = tried.seen.requests
    requests = "" if verdict.flaw is Flaw.ENDLESS else f" ({counted(made, 'request')})"
    rows = [
        ("sent", "\n".join((asked.sentence, *sent))),
        ("seen", f"{verdict.why}{requests}"),
        ("must", asked.required),
        ("alone", f'pytest -k "{contract} and {asked.name}"'),
    ]
    told = "\n".join(f"  {title:<8}{text.replace(chr(10), chr(10) + ' ' * 10)}" for title, text in rows)
    return NotHandled(
        mask(
            f"{asked.name}: {verdict.words}.\n\n{told}\n\n"
            "Mend the consumer. If it is to stay so, say why, and the test passes until it is mended:\n"
            f'known = {{"{asked.name}": "..."}}   More: converse-harness docs contract known'
        )
    )


def first_not_handled(tried: Sequence[Tried], asked: Property, contract: str) -> tuple[Tried | None, NotHandled | None]:
    """Return the first run in which an answer was not handled, and an exception with the number of such runs.

    Both are None if all runs were handled. `asked` is the property of the test, and `contract` the name of the
    contract's class.
    """
    wrong = [each for each in tried if each.seen.verdict.level is not VerdictLevel.HANDLED]
    if not wrong:
        return None, None
    seen = wrong[0].seen
    why = f"{len(wrong)} of {len(tried)} answers, such as: {seen.verdict.why}"
    first = replace(wrong[0], seen=replace(seen, verdict=replace(seen.verdict, why=why)))
    return first, failure(first, asked, contract)
