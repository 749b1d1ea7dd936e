"""What a contract says: of a test to pytest's report and the table at the end, of a failure to whoever reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from converse_harness.cases import Case
from converse_harness.contract.outcome import Outcome
from converse_harness.contract.properties import Property, printed
from converse_harness.contract.verdicts import Flaw, Level, Verdict, error_name
from converse_harness.plugins.contracts import VERDICT
from converse_harness.replies import Reply
from converse_harness.secrets import mask

if TYPE_CHECKING:
    from converse_harness.doors.fake import Fake

    class _Failed(BaseException):
        """What a type checker is to know of pytest's own."""

        def __init__(self, msg: str, pytrace: bool) -> None: ...

else:
    _Failed = pytest.fail.Exception


class NotHandled(AssertionError, _Failed):
    """The consumer mishandled or refused an answer; the verdict says how."""

    def __init__(self, message: str) -> None:
        # The message says it all: a traceback would show nothing but the contract's own code.
        _Failed.__init__(self, message, pytrace=False)


NotHandled.__module__ = "converse_harness.contract"  # where people import it from


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one case: what the consumer made of it, with how many requests, and what that is called."""

    case: str
    operation: str
    verdict: Verdict
    outcome: Outcome | None
    requests: int

    @property
    def told(self) -> dict[str, Any]:
        """The same as plain values, for JSON; an error by its name."""
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
    """One answer that the consumer was given: the replies, what was seen, and the fake that was asked."""

    replies: Sequence[Reply]
    seen: Seen
    fake: Fake


def note(item: pytest.Item, name: str, verdict: Verdict, known: str | None) -> None:
    """Keep a verdict with the report of the test, for the table at the end."""
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
    """What fails the test; None for a consumer that handles the answer."""
    verdict = tried.seen.verdict
    if verdict.level is Level.HANDLED:
        return None
    drawn = isinstance(asked, Property)
    sent = [asked.sentence, *(printed(answer) if drawn else answer.summary for answer in tried.replies)]
    made = tried.seen.requests
    requests = "" if verdict.flaw is Flaw.ENDLESS else f" ({made} request{'' if made == 1 else 's'})"
    rows = [
        ("sent", "\n".join(sent)),
        ("seen", f"{verdict.why}{requests}"),
        ("must", asked.must),
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
