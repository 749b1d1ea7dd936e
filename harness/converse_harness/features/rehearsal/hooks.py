"""The hooks of `--converse-as`. To rehearse a request means to check it also against the rules of another model.

Each process rehearses the requests of its own tests and adds them to the tests' teardown reports. The process that
prints the summary combines them, because only this process knows which model id the run uses most often.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack
from functools import lru_cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, cast

import pytest

from converse_harness.bedrock.rules import RuleRequest
from converse_harness.bedrock.rules.request import conversation_in
from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import CONVERSATIONS, SCRIPTED, Call, ForwardedAnswer
from converse_harness.endpoint.stage import Stage
from converse_harness.endpoint.standing import Rules
from converse_harness.errors import ReplyError
from converse_harness.features.rehearsal.report import Asked, LeftOut, RefusedCall, RehearsalReport
from converse_harness.features.rehearsal.targets import RehearsalTarget, own_rules, targets_of, unknown_target
from converse_harness.intercept.observers import watching
from converse_harness.plugin.frames import line_that_asked
from converse_harness.plugin.report import masked
from converse_harness.plugin.settings import models_of
from converse_harness.reply.reply import Reply

REHEARSED: Final = "converse_rehearsal"
"""The name of the user property in a test's teardown report that contains the requests of the test."""

_OfId = tuple[str, int, list[int], list[tuple[int, int, str, str, str, str]], list[tuple[int, str]]]
_Property = tuple[list[_OfId], LeftOut]
"""The value of the user property REHEARSED: a list, and the reason why the test is left out ("" if it is not left out).

For each model id, the list contains the id, the number of requests, the indexes of the target models, the refused
calls, and the request fields that no rule checks, each with the index of a target model.
"""


class _Watching(Stage):
    """Rehearses the calls of a fake."""

    def __init__(self, hooks: RehearsalHooks, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._hooks = hooks

    def accepted(self, call: Call, reply: Reply | None) -> None:
        """Check a call against the rules of the target models."""
        self._hooks.watch(self.endpoint, call)


class RehearsalHooks:
    """The hooks that collect the requests of each test, and that report which requests other models would refuse.

    Raises UsageError for a malformed option.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._targets = _targets_of(config)
        self._strict = bool(config.getoption("converse_as_strict"))
        self._root = config.rootpath
        self._report = RehearsalReport(self._targets)
        self._test: _TestRehearsal | None = None
        self._watching = ExitStack()
        self._watching.enter_context(watching(partial(_Watching, self)))

    def pytest_unconfigure(self) -> None:
        """Stop watching the calls."""
        self._watching.close()

    def watch(self, endpoint: Endpoint, call: Call) -> None:
        """Check a call against the rules of the target models, in the thread in which the call is answered."""
        # A refused count fails no test, so a test with one is rehearsed all the same.
        judged = call.operation in SCRIPTED or (call.operation in CONVERSATIONS and call.refusal is None)
        if self._test is not None and judged and call.malformed is None:
            self._test.add(endpoint, call)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Collect the calls of one test and of its fixtures."""
        self._test = _TestRehearsal(self._targets, self._root)
        try:
            return (yield)
        finally:
            self._test = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, pytest.TestReport]:
        """Add the requests of a test to the test's teardown report."""
        report: pytest.TestReport = yield
        if call.when == "teardown" and self._test is not None and (made := self._test.as_property()):
            report.user_properties.append((REHEARSED, made))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the requests that the teardown report of a test contains, so that the summary can combine them."""
        for name, value in report.user_properties:
            if (name, report.when) == (REHEARSED, "teardown"):
                found, left_out = cast("_Property", value)
                asked = {
                    model_id: Asked(requests, targets, [RefusedCall(*each) for each in refused], set(unjudged))
                    for model_id, requests, targets, refused, unjudged in found
                }
                self._report.add(report.nodeid, asked, left_out)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """With `--converse-as-strict`, fail the run if a target model would refuse a request."""
        passed = session.exitstatus == pytest.ExitCode.OK
        if self._strict and passed and not hasattr(session.config, "workerinput") and self._report.refuses:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which requests the target models would refuse."""
        terminalreporter.write_sep("=", "converse rehearsal")
        for text, accepted in self._report.lines(full=terminalreporter.config.get_verbosity() > 0):
            marked = {"bold": True, "green": accepted, "red": not accepted} if accepted is not None else {}
            terminalreporter.write_line(text, **marked)
        if self._strict and self._report.refuses:
            terminalreporter.write_line("the run fails, because of --converse-as-strict", red=True)


def _targets_of(config: pytest.Config) -> list[RehearsalTarget]:
    try:
        targets = targets_of(config.getoption("converse_as") or (), models_of(config))
    except ReplyError as error:
        raise pytest.UsageError(f"--converse-as {error}") from error
    strict = bool(config.getoption("converse_as_strict"))
    if strict and not targets:
        raise pytest.UsageError("--converse-as-strict came without --converse-as MODEL. Name the model as well.")
    for target in targets:
        if strict and not target.known:
            raise pytest.UsageError(f"--converse-as-strict: {unknown_target(target)}")
    return targets


class _TestRehearsal:
    """The requests of one test, and the refusals by the target models. Any thread may add calls."""

    def __init__(self, targets: list[RehearsalTarget], root: Path) -> None:
        self._targets = targets
        self._root = root
        self._lock = threading.Lock()
        self._thread = threading.get_ident()
        self._seen: set[int] = set()
        """Hashes of the requests that were checked: a request that is sent again is not checked again."""
        self._asked: dict[str, Asked] = {}
        """Maps each model id to the requests to this model."""
        self._doubtful: dict[int, list[Call]] = {}
        """Calls that their own model's rules refuse, and calls whose answers come from the real Bedrock or a recording,
        by the hashes of their requests."""
        self._off = False
        """Whether any call was made to a fake whose setting `rules` is "off"."""

    def add(self, endpoint: Endpoint, call: Call) -> None:
        """Check a call against the rules of each target model that may replace the model of the call."""
        if endpoint.rules == "off":
            self._off = True
            return
        seen = hash((call.operation, call.model_id, call.raw))
        with self._lock:
            if call.refusal is not None or call.of(ForwardedAnswer) is not None or endpoint.script.recordings:
                self._doubtful.setdefault(seen, []).append(call)
            if seen in self._seen:
                return
            self._seen.add(seen)
            asked = self._asked.get(call.model_id)
            if asked is None:
                matching = [index for index, target in enumerate(self._targets) if target.replaces(call.model_id)]
                asked = self._asked[call.model_id] = Asked(targets=matching)
            asked.requests += 1
        request = endpoint.stage(Rules).asked
        body = conversation_in(call.operation, call.body)
        if request is None or request.body is not body:  # meanwhile another thread has checked an equal request
            request = RuleRequest(str(call.operation), call.model_id, body, call.stands_for)
        but: frozenset[str] = frozenset() if call.refusal is None else own_rules(request)
        refused = list[RefusedCall]()
        unjudged = set[tuple[int, str]]()
        for index in asked.targets:
            unjudged.update((index, name) for name in self._targets[index].unjudged_fields(request))
            for found in self._targets[index].refusals(request, endpoint.rules, endpoint.single_rules, but=but):
                refused.append(RefusedCall(index, call.number, request.operation, found.rule.name, found.message))
        if refused or unjudged:
            line = line_that_asked(endpoint.transport, self._thread, self._root) if refused else ""
            with self._lock:
                asked.refused += [each._replace(line=line) for each in refused]
                asked.unjudged |= unjudged

    def as_property(self) -> _Property | None:
        """Return the requests of the test, with masked secrets, for the test's report; None if there are no requests.

        The value is not a text, because all texts of a report are searched for secrets, which takes long.
        """
        left_out: LeftOut = "off" if self._off else ""
        if any(map(_are_refused, self._doubtful.values())):
            left_out = "refused"
        asked: list[_OfId] = []
        for name, each in self._asked.items():
            refused = [(*call[:4], masked(call.message), call.line) for call in each.refused]
            unjudged = [(index, _masked(field)) for index, field in sorted(each.unjudged)]
            asked.append((_masked(name), each.requests, [*each.targets], refused, unjudged))
        return (asked, left_out) if asked or left_out else None


def _are_refused(calls: list[Call]) -> bool:
    """Whether the request of some equal calls is refused by its own model.

    An answer of Bedrock counts more than the rules; an error of Bedrock that is no refusal, such as throttling, counts
    nothing.
    """
    answers = {call.status for call in calls if _was_recorded(call)}
    if not answers.isdisjoint((HTTPStatus.OK, HTTPStatus.BAD_REQUEST)):
        return HTTPStatus.OK not in answers
    return any(call.refusal is not None for call in calls)


@lru_cache(512)
def _masked(name: str) -> str:
    return masked(name)


def _was_recorded(call: Call) -> bool:
    """Whether Bedrock itself made the answer of a call: during this test, or when the answer was recorded."""
    return call.of(ForwardedAnswer) is not None or (call.reply is not None and call.reply.plan.recorded is not None)
