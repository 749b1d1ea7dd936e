"""The tests that passed and used a fake, with their replies. They may run once more after the last test.

`passed_tests(config)` registers the hooks, once for all features that run tests again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast
from zlib import compress, decompress

import pytest

from converse_harness.bedrock.fit import needed_of
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.endpoint.call import Call
from converse_harness.faults.model import Transport
from converse_harness.intercept.observers import replacing
from converse_harness.json_values import path_text
from converse_harness.plugin import settings
from converse_harness.plugin.reruns.rerun import Rerun, close, rerun
from converse_harness.plugin.reruns.watch import Asked, Watch, WatchedReply, members_of
from converse_harness.recordings.differences import differences, shown
from converse_harness.reply.reply import Reply
from converse_harness.words import counted

_LONGER: Final = 10.0
_AT_LEAST: Final = 5.0
"""The time limit of a rerun, in seconds, is _AT_LEAST plus _LONGER times the duration of the unchanged rerun."""

_XFAIL: Final = "with xfail"

_NAME: Final = "converse_passed"
"""The name under which the hooks are registered."""


class OwnReply(NamedTuple):
    """A reply of a finished test, with the members of WatchedReply except the call, which would need much memory.

    `read_whole` is true if the client read the answer to its end, so that a fault at any position affects the client.
    """

    number: int
    asked: Asked
    occurrence: int
    reply: Reply
    transport: Transport | None
    read_whole: bool
    request: bytes
    """The compared members of the request, as compressed JSON, because a session may have very many requests."""
    needed: RuleRequest
    """The parts of the request that an answer may need."""


class PassedTest(NamedTuple):
    """A test that passed: its position in the session, its replies, and the reason why it must not run again.

    The reason `why_not` is "" if the test may run again.
    """

    position: int
    item: pytest.Item
    replies: list[OwnReply]
    why_not: str


class PassedTests:
    """The hooks that observe the replies of each test, and that run a test once more."""

    def __init__(self) -> None:
        self.replies: dict[str, list[OwnReply]] = {}
        """Maps the node id of each test that got replies to these replies."""
        self._watch = Watch()
        self._passed: set[str] = set()
        self._spoiled: dict[str, str] = {}
        """Maps the node id of a test to the reason why it must not run again, if the reason showed while it ran."""
        self._last: pytest.Item | None = None
        """The test of the latest rerun; its fixtures of wider scopes are still set up."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Observe the replies of a test."""
        watch = self._watch = Watch()
        with replacing(*watch.stages):
            result = yield
        replies = [*map(_own_reply, watch.replies)]
        if replies:
            self.replies[item.nodeid] = replies
            if watch.unanswered:
                self._spoiled.setdefault(item.nodeid, "with calls that are refused or not scripted")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, request: Any) -> Generator[None, object, object]:
        """Keep replies unchanged while a fixture of a wider scope is set up."""
        if request.scope == "function":
            return (yield)
        with self._watch.paused():
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which tests passed."""
        if hasattr(report, "context"):
            self._spoiled.setdefault(report.nodeid, "with subtests")
        elif not report.passed or hasattr(report, "wasxfail"):
            self._passed.discard(report.nodeid)
        elif report.when == "call":
            self._passed.add(report.nodeid)

    def among(self, items: list[pytest.Item]) -> Iterator[PassedTest]:
        """Yield a PassedTest for each of `items` that used a fake, and that passed or has the marker `xfail`."""
        for position, item in enumerate(items):
            replies = self.replies.get(item.nodeid)
            why = _reason_to_leave(item) or self._spoiled.get(item.nodeid, "")
            if replies and (item.nodeid in self._passed or why == _XFAIL):
                yield PassedTest(position, item, replies, why)

    def run_plain(self, item: pytest.Item) -> Rerun | str:
        """Run a test once more without changes. If the test is not repeatable, return the reason as a text."""
        run = self._rerun(item, Watch(), None)
        if not run.passed:
            return f"{run.when or 'it'} {'failed' if run.error is not None else 'was skipped'}"
        return _other_calls(self.replies[item.nodeid], run.watch.replies) or run

    def run_changed(self, item: pytest.Item, watch: Watch, plain: Rerun) -> Rerun:
        """Run a test once more with other replies; end it if it takes much longer than `plain`, the unchanged run."""
        return self._rerun(item, watch, _LONGER * plain.seconds + _AT_LEAST)

    def close(self) -> None:
        """Tear down the fixtures that reruns left set up."""
        if self._last is not None:
            close(self._last, None)
            self._last = None

    def _rerun(self, item: pytest.Item, watch: Watch, limit: float | None) -> Rerun:
        if self._last is not None and self._last is not item:
            close(self._last, item)
        self._last, self._watch = item, watch
        return rerun(item, watch, limit=limit)


def passed_tests(config: pytest.Config) -> PassedTests:
    """Return the PassedTests of this run; the first call registers its hooks."""
    passed: Any = config.pluginmanager.getplugin(_NAME)
    if passed is None:
        passed = PassedTests()
        config.pluginmanager.register(passed, _NAME)
    return cast("PassedTests", passed)


def _own_reply(seen: WatchedReply) -> OwnReply:
    call = seen.call
    request = compress(json.dumps(_request(call)).encode(), 1)
    return OwnReply(*seen[:-1], call.outcome == "complete", request, needed_of(request_of(call)))


def request_of(call: Call) -> RuleRequest:
    """Return the request of a call as the rules and the table of what answers need read it."""
    return RuleRequest(call.operation or "", call.model_id, call.body, call.stands_for, call.items)


def _request(call: Call) -> dict[str, Any]:
    return {"operation": call.operation, "modelId": call.model_id, **members_of(call)}


def _other_calls(before: Sequence[OwnReply], after: Sequence[WatchedReply]) -> str:
    """Return how the calls of two runs of a test differ; "" if both have the same calls, in any order.

    The text has the first difference of the first two requests without an equal one, as a replayed recording shows it.
    """
    was, now = Counter(each.asked for each in before), Counter(each.asked for each in after)
    gone = [each for each in before if each.asked in was - now]
    new = [each for each in after if each.asked in now - was]
    if not gone and not new:
        return ""
    if not gone or not new:
        return f"other calls: {counted(len(after), 'call')} in place of {len(before)}"
    old = json.loads(decompress(gone[0].request))
    first = next(differences(old, json.loads(json.dumps(_request(new[0].call)))), None)
    if first is None:
        return "other calls"
    texts = [text or "nothing" for text in shown(first.old, first.new)]
    return f"other calls: {path_text(first.path)} {' -> '.join(texts)}"


def _reason_to_leave(item: pytest.Item) -> str:
    """Return the reason why a test must not run again; "" if it may run again."""
    if not settings.of_test(item, "rerun", True):
        return "with rerun=False"
    if item.get_closest_marker("xfail") is not None:
        return _XFAIL
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return "with @given"
    if "subtests" in getattr(item, "fixturenames", ()):
        return "with subtests"
    return ""
