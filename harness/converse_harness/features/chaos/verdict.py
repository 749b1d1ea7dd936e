"""Judge how a test handled a damaged reply, by comparing a run without the damage with a run with the damage."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Final

import pytest

from converse_harness.endpoint.call import Call
from converse_harness.errors import CallError
from converse_harness.features.chaos.damage import PATIENCE, damages
from converse_harness.features.chaos.from_cases import Damage
from converse_harness.plugin.frames import SOCKETS
from converse_harness.plugin.reruns.failure import single
from converse_harness.plugin.reruns.rerun import Rerun
from converse_harness.plugin.reruns.watch import without_id
from converse_harness.reply.body import MessageBody

_CALLS: Final = frozenset(
    (
        *("assert_any_call", "assert_awaited_once", "assert_called_once", "assert_called_once_with"),
        *("assert_called_with", "assert_has_calls", "await_count", "call_args", "call_args_list", "call_count"),
        *("calls", "mock_calls", "transcript"),
    )
)
"""The attributes that read or count the calls of a fake or of a mock."""

_ACCIDENTS: Final = (LookupError, AttributeError, TypeError, ValueError)
"""Exceptions that a test may raise when it unpacks a result of an unexpected form, such as one with too many values."""

_ERROR_WORDS: Final = re.compile(
    r"\w*(?:error|exception)\w*|fail\w*|time[ds]?[ -]?out|throttl\w*|unavailable|incomplete|interrupted|truncated|"
    r"too (?:long|large|many|busy)|overflow\w*|context window|try again",
    re.IGNORECASE,
)


FOR_EVER: Final = 50
"""Code that sends a request again this number of times, which fails each time, counts as code that does it for ever."""


def own_line(error: BaseException, test_file: Path, function: str) -> tuple[str, int] | None:
    """Return the file and line of the failed code if it is the test's own; None if the error comes from other code.

    An assertion or `pytest.fail` is the test's own if it is in the test's file, or in a module whose assertions pytest
    rewrites: conftest.py and test helpers. An exception in `_ACCIDENTS`, such as IndexError, is the test's own only if
    a function named `function` raised it there. Frames of pytest and unittest that raise for the test are ignored.
    """
    frames = [(frame, line) for frame, line in walk_tb(error.__traceback__) if not _of_framework(frame)]
    if not frames:
        return None
    frame, line = frames[-1]
    file = frame.f_code.co_filename
    if "@pytest_ar" not in frame.f_globals and Path(file) != test_file:
        return None
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return file, line
    return (file, line) if isinstance(error, _ACCIDENTS) and frame.f_code.co_name == function else None


def _of_framework(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return module in ("_pytest", "pytest", "unittest", "pluggy", "converse_harness")


def reads_calls(line: tuple[str, int]) -> bool:
    """Whether the statement at `line` (a file and a line number) reads or counts the calls of a fake or a mock.

    An example is `assert len(converse.calls) == 2`. Such a statement may fail only because the code under test repeated
    a request. A statement also reads calls if it uses a name to which calls were assigned.
    """
    statement = _statement(*line)
    if statement is None:
        return False
    assigned = {
        target.id
        for node in _statements(line[0])
        if isinstance(node, ast.Assign) and _mentions_calls(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return _mentions_calls(statement) or bool(names & assigned)


def _mentions_calls(tree: ast.AST) -> bool:
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return bool(attributes & _CALLS)


def names_an_error(error: BaseException, line: tuple[str, int]) -> bool:
    """Whether the message of a failed assertion has a word for an error, such as "exception", that its source lacks.

    An example is `assert 'failed: ThrottlingException' == 'Hi'`: the code under test returned an error as its result.
    `line` is the file and the line number of the assertion.
    """
    if not isinstance(error, AssertionError):
        return False
    statement = _statement(*line)
    source = "" if statement is None else ast.unparse(statement).lower()
    return any(word.lower() not in source for word in _ERROR_WORDS.findall(str(error)))


def _statement(file: str, line: int) -> ast.stmt | None:
    found = [node for node in _statements(file) if node.lineno <= line <= (node.end_lineno or node.lineno)]
    return max(found, key=lambda node: node.lineno, default=None)


@cache
def _statements(file: str) -> list[ast.stmt]:
    try:
        module = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(module) if isinstance(node, ast.stmt)]


class Survival(Enum):
    """The verdicts on a test with a damaged reply: `word` is printed in the summary, and `meaning` explains it."""

    HUNG = "hung", "the code waits for ever, or sends the same request for ever"
    REFUSED = "refused afterwards", "a later request is one that Bedrock refuses"
    NOT_NOTICED = "not noticed", "the test passed, no request was sent again, and no error or log line shows the fault"
    WRONG_ANSWER = "wrong answer without an error", "only the test's own assertion failed"
    RAISED = "raised", "an exception left the code under test"
    REPORTED = "reported", "a log line at warning or above, or an error as a result, shows the fault"
    RECOVERED = "recovered", "the request was sent again, and the test passed"
    HARMLESS = "harmless", "the test passed, and the fault may be ignored"
    NOT_SHOWN = "not shown", "the code may tell its caller how the answer ended; the test does not look at it"
    COUNTED = "counted", "the request was sent again, and only a line of the test that counts or reads calls failed"

    def __init__(self, word: str, meaning: str) -> None:
        self.word = word
        self.meaning = meaning


LISTED = (Survival.HUNG, Survival.REFUSED, Survival.NOT_NOTICED, Survival.WRONG_ANSWER)
"""The verdicts whose reruns the summary lists one by one, the worst verdict first. They make a strict run fail."""


def judge(plain: Rerun, run: Rerun, fault: str, item: pytest.Item) -> tuple[Survival, str]:
    """Return the verdict on `run`, a rerun with one damaged reply, and a short text that says what happened.

    `plain` is the rerun of the same test without damage, and `fault` is the name of the fault.
    """
    damage = damages()[fault]
    if hung := _hung(run, fault):
        return Survival.HUNG, hung
    if run.watch.refused and not plain.watch.refused:
        refusal = run.watch.refused[0].refusal
        return Survival.REFUSED, f"Bedrock refuses a later request: {refusal.message if refusal is not None else '?'}"
    logged = any(line not in plain.logs for line in run.logs) or _told_the_model(plain, run)
    used = damage.mistake and _went_on(plain, run)
    if run.error is None:
        return _passed(run, damage, logged=logged, used=used)
    error = single(run.error)
    function = str(getattr(item, "originalname", item.name))
    line = None if isinstance(error, CallError) else own_line(error, item.path, function)
    if line is None:
        return Survival.RAISED, "pytest.fail" if isinstance(error, pytest.fail.Exception) else type(error).__name__
    if (run.watch.asked_again or run.watch.failed_again) and reads_calls(line):
        return Survival.COUNTED, "only a line that counts or reads calls failed"
    if logged or names_an_error(error, line) or _shows(error, run):
        return Survival.REPORTED, "the test's own assertion failed"
    if damage.reaction != "fail" and not used and (damage.replaces or damage.reaction == "tell"):
        return Survival.NOT_SHOWN, "the test's own assertion failed, as the answer was another one"
    return Survival.WRONG_ANSWER, "no error was raised; only the test's own assertion saw it"


def _passed(run: Rerun, damage: Damage, *, logged: bool, used: bool) -> tuple[Survival, str]:
    """Return the verdict on a rerun that passed. `used` is true if the code ran a tool as the model wrongly asked."""
    if run.skipped:
        return Survival.REPORTED, "the test skipped itself"
    if run.watch.asked_again > 0:
        return Survival.RECOVERED, "asked again, and the test passed"
    if logged:
        return Survival.REPORTED, "logged, and the test passed"
    if damage.reaction == "ignore":
        return Survival.HARMLESS, "the test passed"
    if damage.reaction == "tell" and not used:
        return Survival.NOT_SHOWN, "the test passed"
    return Survival.NOT_NOTICED, "the tool was run, and the test passed" if used else "the test passed"


def _shows(error: BaseException, run: Rerun) -> bool:
    """Whether the message of a failed assertion has the stop reason of the damaged reply, or a guardrail's message."""
    sent = run.watch.first and run.watch.first.call.reply
    body = sent.plan.body if sent else None
    if not isinstance(body, MessageBody) or body.stop_reason in ("end_turn", "tool_use"):
        return False
    blocked = [
        block["text"] for block in body.content if body.stop_reason == "guardrail_intervened" and "text" in block
    ]
    return any(text in str(error) for text in (body.stop_reason, *blocked))


def _went_on(plain: Rerun, run: Rerun) -> bool:
    """Whether the code answers the damaged tool use as it answers the undamaged one."""
    known = [without_id(result) for seen in plain.watch.replies for result in seen.call.tool_results]
    return any(without_id(result) in known for call in run.watch.later for result in call.tool_results)


def _hung(run: Rerun, fault: str) -> str:
    """Return the reason why the code under test counts as hung in this rerun; "" if it did not hang.

    Code counts as hung if the rerun reached its time limit, if the client waited PATIENCE seconds for a stalled answer,
    if a client without a read timeout waited for one, or if the request was repeated FOR_EVER times after a fault that
    lasts. Of a throttled request, most repetitions are those of the client.
    """
    if damages()[fault].lasts == "ever" and run.watch.failed_again >= FOR_EVER:
        return f"the same request was sent {FOR_EVER} times more"
    if run.stopped:
        return f"it was ended after {run.seconds:.0f} s"
    first = run.watch.first
    if first is None:
        return ""
    taken = first.call.answered.taken
    sent_slowly = first.transport in SOCKETS and first.call.outcome == "complete"
    stalls = any(each.fault.name == "stall" for each in (first.call.reply.plan.placements if first.call.reply else ()))
    pauses = (later - earlier for earlier, later in pairwise(taken.times))
    # 10% less than PATIENCE, because two clocks may differ slightly
    waited = max(pauses, default=0.0) >= PATIENCE * 0.9
    if not (taken.endless or (stalls and sent_slowly and waited)):
        return ""
    on_socket = f"the client still waited after {PATIENCE:.0f} s"
    return on_socket if first.transport in SOCKETS else "the client has no read timeout"


def _told_the_model(plain: Rerun, run: Rerun) -> bool:
    """Whether `run` sends a tool result of status "error" after the damaged reply, but `plain` never sends one."""
    before = [seen.call for seen in plain.watch.replies]
    return _has_tool_error(run.watch.later) and not _has_tool_error(before)


def _has_tool_error(calls: Iterable[Call]) -> bool:
    return any(result.get("status") == "error" for call in calls for result in call.tool_results)
