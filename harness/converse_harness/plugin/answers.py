"""The hooks of `--converse-as-answers`: tests that passed run again, with answers in the manner of another model.

The manner of a model consists of the pieces of its streamed answers, its usage keys, and whether its reasoning has
text. Requests are still checked against the rules of the model that they name.
"""

from __future__ import annotations

import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import pytest

from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.endpoint.manner import has_manner, in_manner_of
from converse_harness.endpoint.rehearsal import RehearsalTarget
from converse_harness.endpoint.rehearsal_report import ReportLine
from converse_harness.errors import RefusedRequest
from converse_harness.intercept.observers import watching
from converse_harness.plugin.chaos.own_failure import whole
from converse_harness.plugin.lines import line_that_asked, line_that_failed
from converse_harness.plugin.passed import PassedTest, passed_tests
from converse_harness.plugin.report import masked
from converse_harness.plugin.rerun import Rerun, unseen
from converse_harness.plugin.tally import first_few, number
from converse_harness.plugin.watch import Watch, WatchedReply
from converse_harness.reply.reply import Reply

_OUTPUT: Final = "converse_answers"
"""The key in `workeroutput` under which an xdist worker sends its results to the controller."""

_MESSAGE: Final = 90
"""The maximum length, in characters, of an error's message in the report."""

_TESTS: Final = 5
"""The report names at most this number of tests whose rerun without changes failed or made other calls."""

_WIDTH: Final = 110
"""The width, in characters, to which the text of Bedrock's refusal is wrapped."""

_EXACT: Final = "with recorded answers, exact events or errors alone"


class AnsweredTest(NamedTuple):
    """The result of a test for one target model of `--converse-as`; `target` is the index of this model.

    `model_id` is the id whose answers were changed, or "" for all ids that match the target's pattern. `why` gives the
    reason for the verdict, such as the error; `line` is the line of the test that failed.
    """

    target: int
    model_id: str
    test: str
    verdict: Literal["passes", "fails", "not repeatable", "left out"]
    why: str = ""
    line: str = ""
    refusals: Sequence[tuple[int, str, str, str]] = ()
    """For the first refused call, if any: its number, the rule, Bedrock's message, and the line that made the call."""


class MannerWatch(Watch):
    """Answers a call in the manner of the model `model` if `replaces` returns True for the call's model id."""

    def __init__(self, model: str, replaces: Callable[[str], bool]) -> None:
        super().__init__(self._changed)
        self.lenient = False
        self._model = model
        self._replaces = replaces

    def answers_as(self, call: Call) -> str:
        """Return the id of the model in whose manner a call is answered."""
        return self._model if not self._paused and self._replaces(call.model_id) else call.stands_for

    def _changed(self, seen: WatchedReply) -> Reply:
        model = self.answers_as(seen.call)
        return seen.reply if model == seen.call.stands_for else in_manner_of(model, seen.reply, seen.call.body)


class AnswersHooks:
    """The hooks that run tests again with answers in the manner of each target model, and that report the results."""

    def __init__(self, config: pytest.Config, targets: list[RehearsalTarget]) -> None:
        self.replaced: Callable[[int], Collection[str]] = lambda _: ()
        """Maps the index of a target to the model ids that this target replaces. The RehearsalHooks set this function.
        """
        self._config = config
        self._targets = targets
        self._passed = passed_tests(config)
        self._results: list[AnsweredTest] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Rerun tests after the last test; with xdist, each worker reruns its own tests."""
        result = yield
        if self._passed.replies:
            with unseen(self._config):
                for test in self._passed.among([*session.items]):
                    self._results += self._answered(test)
                self._passed.close()
        return result

    def _answered(self, test: PassedTest) -> Iterator[AnsweredTest]:
        """Run a test again for each target, and for each model id that the target replaces; yield the results."""
        plain: Rerun | str | None = None
        for index, target in enumerate(self._targets):
            for model_id, replaces in self._replacements(index, target, test).items():
                result = AnsweredTest(index, masked(model_id), test.item.nodeid, "left out", test.why_not)
                replies = [each.reply for each in test.replies if replaces(each.asked[1])]
                if not replies:
                    continue
                if test.why_not or not any(map(has_manner, replies)):
                    yield result._replace(why=test.why_not or _EXACT)
                    continue
                plain = self._passed.run_plain(test.item) if plain is None else plain
                if isinstance(plain, str):
                    yield result._replace(verdict="not repeatable", why=plain)
                else:
                    yield self._judged(test, MannerWatch(target.stands_for, replaces), plain, result)

    def _replacements(
        self, index: int, target: RehearsalTarget, test: PassedTest
    ) -> Mapping[str, Callable[[str], bool]]:
        """Return one item for each rerun of `test` with the answers of `target`.

        The key is the model id whose answers are changed. The value is a function that returns True for the model ids
        of the calls to change. If the target has a pattern, the only key is "". A target with an unknown model has no
        items. An xdist worker does not know which id the whole run uses most often, so it returns an item for each id.
        """
        if target.pattern or not target.known:
            return {"": target.replaces} if target.known else {}
        ids = dict.fromkeys(each.asked[1] for each in test.replies)
        replaced = None if hasattr(self._config, "workerinput") else self.replaced(index)
        return {each: each.__eq__ for each in ids if replaced is None or masked(each) in replaced}

    def _judged(self, test: PassedTest, manner: MannerWatch, plain: Rerun, result: AnsweredTest) -> AnsweredTest:
        """Run a test again with the answers that `manner` changes, and return `result` with the verdict."""
        root, thread = self._config.rootpath, threading.get_ident()
        refusals: list[tuple[int, str, str, str]] = []

        def watch(endpoint: Endpoint, call: Call) -> None:
            refusal = call.refusal
            fails = call.operation in SCRIPTED and endpoint.rules not in ("warn", "off")
            if not refusals and refusal is not None and fails:
                line = line_that_asked(endpoint.transport, thread, root)
                refusals.append((call.number, refusal.rule.name, masked(refusal.message), line))

        with watching(watch):
            run = self._passed.run_changed(test.item, manner, plain)
        if run.passed:
            return result._replace(verdict="passes")
        why, line = "the test skipped itself", ""
        if run.stopped:
            why = f"it was ended after {run.seconds:.0f} s"
        elif run.error is not None:
            error = whole(run.error)
            why, line = _described(error), line_that_failed(error, test.item.path, root)
        return result._replace(verdict="fails", why=why, line=line, refusals=refusals[:1])

    def pytest_sessionfinish(self) -> None:
        """Send the results to the controller if this process is an xdist worker."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = [tuple(each) for each in self._results]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the results of an xdist worker that ended."""
        self._results += [AnsweredTest(*each) for each in getattr(node, "workeroutput", {}).pop(_OUTPUT, ())]

    @property
    def finds(self) -> bool:
        """Whether a test fails with the answers of a target."""
        indexes = range(len(self._targets))
        return any(each.verdict == "fails" for index in indexes for each in self._of(index, self.replaced(index)))

    def _of(self, index: int, ids: Collection[str]) -> list[AnsweredTest]:
        found = [each for each in self._results if each.target == index and each.model_id in ("", *ids)]
        return sorted(found, key=lambda each: each.test)  # the workers of xdist report in a random order

    def lines(self, index: int, ids: Collection[str]) -> Iterable[ReportLine]:
        """Yield the report's lines about a target: how many tests pass, which fail, and which could not be tried.

        `index` is the index of the target, and `ids` are the model ids that the target replaces.
        """
        target = self._targets[index]
        if not target.known:
            return
        results = self._of(index, ids)
        tried = [each for each in results if each.verdict in ("passes", "fails")]
        failed = [each for each in tried if each.verdict == "fails"]
        title = f"  answered as {target.model}: "
        if not tried:
            yield ReportLine(f"{title}no test that passed could be run again")
        else:
            passes = "passes" if len(tried) == 1 else "pass"
            text = f"{title}{len(tried) - len(failed)} of {number(len(tried), 'test')} {passes}"
            yield ReportLine(text, accepted=not failed)
        if any(each.refusals for each in failed):
            yield ReportLine(
                "    The requests above follow the answers of the script. Here the tests send back other answers, and "
                "the model that the request names refuses them:"
            )
        for each in failed:
            yield ReportLine("    " + "  ".join(filter(None, (each.test, each.why, each.line))))
            yield from _refused(each)
        named = [f"{each.test} ({each.why})" for each in results if each.verdict == "not repeatable"]
        if named:
            yield ReportLine(f"    not repeatable: {', '.join(first_few(named, _TESTS))}")
        left_out = Counter(each.why for each in results if each.verdict == "left out")
        reasons = ", ".join(f"{many} {why}" for why, many in sorted(left_out.items()))
        if reasons:
            yield ReportLine(f"    not run again: {reasons}")


def _refused(test: AnsweredTest) -> Iterator[ReportLine]:
    """Yield the rule that refused a call of the test, the line of code that made the call, and Bedrock's message."""
    for call, rule, message, line in test.refusals:
        yield ReportLine(f"      {rule} refuses call {call}" + (f", asked by {line}" if line else ""))
        for part in textwrap.wrap(message, _WIDTH, break_long_words=False, break_on_hyphens=False):
            yield ReportLine(f"        {part}")


def _described(error: BaseException) -> str:
    """Return the error's name and the first line of its message; for a failed assertion with a message, only this line.

    For a refused request, return only the name, because the report contains Bedrock's whole message elsewhere.
    """
    if isinstance(error, RefusedRequest):
        return type(error).__name__
    message = masked(str(error).strip()).partition("\n")[0]
    if len(message) > _MESSAGE:
        message = f"{message[:_MESSAGE].rstrip()}..."
    if type(error) is AssertionError and message:
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
