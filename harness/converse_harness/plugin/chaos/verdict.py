"""Judge how a test handled a damaged reply, by comparing a run without the damage with a run with the damage."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import pairwise

import pytest

from converse_harness.endpoint.call import Call
from converse_harness.errors import CallError
from converse_harness.plugin.chaos.damage import DAMAGES, PATIENCE
from converse_harness.plugin.chaos.own_failure import names_an_error, own_line, reads_calls, whole
from converse_harness.plugin.lines import SOCKETS
from converse_harness.plugin.rerun import Rerun


class Survival(Enum):
    """The verdicts on a test with a damaged reply: `word` is printed in the summary, and `meaning` explains it."""

    HUNG = "hung", "the code waits for ever"
    NOT_NOTICED = "not noticed", "the test passed, no request was sent again, and no error or log line shows the fault"
    WRONG_ANSWER = "wrong answer without an error", "only the test's own assertion failed"
    RAISED = "raised", "an exception left the code under test"
    REPORTED = "reported", "a log line at warning or above, or an error as a result, shows the fault"
    RECOVERED = "recovered", "the request was sent again, and the test passed"
    HARMLESS = "harmless", "the test passed, and the fault may be ignored"
    COUNTED = "counted", "the request was sent again, and only a line of the test that counts or reads calls failed"

    def __init__(self, word: str, meaning: str) -> None:
        self.word = word
        self.meaning = meaning


LISTED = (Survival.HUNG, Survival.NOT_NOTICED, Survival.WRONG_ANSWER)
"""The verdicts whose reruns the summary lists one by one, the worst verdict first. They make a strict run fail."""


def judge(plain: Rerun, run: Rerun, fault: str, item: pytest.Item) -> tuple[Survival, str]:
    """Return the verdict on `run`, a rerun with one damaged reply, and a short text that says what happened.

    `plain` is the rerun of the same test without damage, and `fault` is the name of the fault.
    """
    if hung := _hung(run):
        return Survival.HUNG, hung
    logged = any(line not in plain.logs for line in run.logs) or _told_the_model(plain, run)
    again = run.watch.asked_again > 0
    if run.error is None:
        if run.skipped:
            return Survival.REPORTED, "the test skipped itself"
        if again:
            return Survival.RECOVERED, "asked again, and the test passed"
        if logged:
            return Survival.REPORTED, "logged, and the test passed"
        if DAMAGES[fault].ignorable:
            return Survival.HARMLESS, "the test passed"
        return Survival.NOT_NOTICED, "the test passed"
    error = whole(run.error)
    function = str(getattr(item, "originalname", item.name))
    line = None if isinstance(error, CallError) else own_line(error, item.path, function)
    if line is None:
        return Survival.RAISED, "pytest.fail" if isinstance(error, pytest.fail.Exception) else type(error).__name__
    if again and reads_calls(line):
        return Survival.COUNTED, "only a line that counts or reads calls failed"
    if logged or names_an_error(error, line):
        return Survival.REPORTED, "the test's own assertion failed"
    return Survival.WRONG_ANSWER, "no error was raised; only the test's own assertion saw it"


def _hung(run: Rerun) -> str:
    """Return the reason why the code under test counts as hung in this rerun; "" if it did not hang.

    Code counts as hung if the rerun reached its time limit, if the client waited PATIENCE seconds for a stalled answer,
    or if a client without a read timeout waited for one.
    """
    if run.stopped:
        return f"it was ended after {run.seconds:.0f} s"
    first = run.watch.first
    if first is None:
        return ""
    taken = first.call.answered.taken
    sent_slowly = first.transport in SOCKETS and first.call.outcome == "complete"
    stalls = any(each.fault.name == "stall" for each in (first.call.reply.placements if first.call.reply else ()))
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
