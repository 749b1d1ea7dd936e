"""The tests that used a fake and passed or failed, with their replies. They may run again after the last test.

`finished_tests(config)` registers the hooks, once for all features that run tests again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast
from zlib import compress, decompress

import pytest

from converse_harness.bedrock.fit import needed_of, offered_in
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.endpoint.call import Call
from converse_harness.faults.model import Transport
from converse_harness.intercept.observers import replacing, watching
from converse_harness.json_values import path_text
from converse_harness.plugin import settings
from converse_harness.plugin.reruns.failure import Failure, failure_of, hang_of
from converse_harness.plugin.reruns.other_script import OtherScript
from converse_harness.plugin.reruns.rerun import Rerun, close, rerun
from converse_harness.plugin.reruns.watch import Asked, Watch, WatchedReply, members_of
from converse_harness.recordings.differences import differences, shown
from converse_harness.reply.reply import Reply
from converse_harness.words import counted

_LONGER: Final = 10.0
_AT_LEAST: Final = 5.0
"""The time limit of a rerun, in seconds, is _AT_LEAST plus _LONGER times the duration of the unchanged rerun."""

_XFAIL: Final = "with xfail"

_NAME: Final = "converse_finished"
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


class FailingTest(NamedTuple):
    """A test that failed, how it failed, whether a fake replied to it, and the reason why it must not run again.

    The reason `why_not` is "" if the test may run again.
    """

    item: pytest.Item
    failure: Failure
    got_replies: bool
    why_not: str


class ScriptTurn(NamedTuple):
    """A reply of a smaller script, and the index in the first script of the reply from which it is made."""

    origin: int
    reply: Reply


class Find(NamedTuple):
    """Something that a feature has found by running a test again with the replies of its script changed.

    `said` is a text about it, `turns` are the replies of the test, and `tools` maps the names of its tools to their
    schemas. `script_if_found` runs the test with a smaller script; it returns the line of code to paste, or "" if the
    same is not found with it.
    """

    item: pytest.Item
    said: str
    turns: Sequence[ScriptTurn]
    tools: Mapping[str, object]
    script_if_found: Callable[[Sequence[ScriptTurn]], str]


class FinishedTests:
    """The hooks that observe the replies of each test, and that run a test once more."""

    def __init__(self) -> None:
        self.failures: dict[str, Failure] = {}
        """Maps the node id of each test that failed to its first failure."""
        self.finds: list[Find] = []
        """What features have found in tests that passed."""
        self.patience: int | None = None
        """If it is not None, a test is ended after this number of calls in a row that the script does not answer."""
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
        watch = self._watch = Watch(patience=self.patience)
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

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Remember how a test failed; only the first phase that failed counts."""
        report = yield
        if report.failed and call.excinfo is not None:
            hung = hang_of(call.excinfo.value, self._watch)
            self.failures.setdefault(item.nodeid, failure_of(call.excinfo.value, call.when, hung))
        return report

    def failed_among(self, items: list[pytest.Item]) -> Iterator[FailingTest]:
        """Yield a FailingTest for each of `items` that failed."""
        for item in items:
            failure = self.failures.get(item.nodeid)
            if failure is not None:
                yield FailingTest(item, failure, item.nodeid in self.replies, _reason_to_leave(item))

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
        return self._rerun(item, watch, self.limit_after(plain))

    @staticmethod
    def limit_after(plain: Rerun) -> float:
        """Return the time limit, in seconds, of a rerun after the unchanged rerun `plain`."""
        return _LONGER * plain.seconds + _AT_LEAST

    def run_with(
        self, item: pytest.Item, script: OtherScript | None, limit: float, watch: Watch | None = None
    ) -> Rerun:
        """Run a test once more, with other replies in place of those of its script; end it after `limit` seconds."""
        with self.answered_from(script):
            return self._rerun(item, watch or Watch(patience=self.patience), limit)

    @contextmanager
    def answered_from(self, script: OtherScript | None) -> Generator[None, None, None]:
        """Context manager: the calls of tests in its block are answered from this script, if there is one."""
        if script is None:
            yield
            return
        script.is_paused = lambda: self._watch.is_paused
        with watching(script.stage):
            try:
                yield
            finally:
                script.restore()

    def close(self) -> None:
        """Tear down the fixtures that reruns left set up."""
        if self._last is not None:
            close(self._last, None)
            self._last = None

    def _rerun(self, item: pytest.Item, watch: Watch, limit: float | None) -> Rerun:
        if self._last is not None and self._last is not item:
            close(self._last, item)
        self._last, self._watch = item, watch
        item.config.stash[settings.CHANGED] = watch.lenient
        return rerun(item, watch, limit=limit)


def finished_tests(config: pytest.Config) -> FinishedTests:
    """Return the FinishedTests of this run; the first call registers its hooks."""
    finished: Any = config.pluginmanager.getplugin(_NAME)
    if finished is None:
        finished = FinishedTests()
        config.pluginmanager.register(finished, _NAME)
    return cast("FinishedTests", finished)


def _own_reply(seen: WatchedReply) -> OwnReply:
    call = seen.call
    request = compress(json.dumps(_request(call)).encode(), 1)
    return OwnReply(*seen[:-1], call.outcome == "complete", request, needed_of(request_of(call)))


def tools_of(seen: Iterable[WatchedReply]) -> dict[str, object]:
    """Return the schemas of the tools that the calls of these replies offer, by the names of the tools."""
    offers = [offered_in(each.call.body.get("toolConfig")) for each in seen]
    return {name: tool.schema for offer in offers for name, tool in offer.items() if tool.schema is not None}


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
