"""A pytest plugin: which test runs which line and what it costs, or only the tests that were chosen.

Both are asked for by a variable of the environment. It stands alone: pytest loads it before coverage measures anything
else, and with a product that is broken.
"""

import faulthandler
import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import coverage
import pytest

COSTS: Final = "MUTANTS_COSTS"
"""A folder: each process appends a line for each test that it ran to a file there."""
CONTEXT: Final = "MUTANTS_CONTEXT"
"""The test that runs: what a child of it measures counts as this test's."""
CHOSEN: Final = "MUTANTS_CHOSEN"
"""A file: the tests to run, as a JSON object of their ids and the CPU seconds of each."""
FAILED: Final = "MUTANTS_FAILED"
"""A file: gets the id of the test that failed first."""

_SAID: Final = os.dup(2)


def cpu() -> float:
    """CPU seconds of this process and of its children that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    if folder := os.environ.get(COSTS):
        if measured := coverage.Coverage.current():
            measured.switch_context(item.nodeid)
        os.environ[CONTEXT] = item.nodeid
        before = cpu()
        try:
            return (yield)
        finally:
            with Path(folder, f"costs-{os.getpid()}").open("a", encoding="utf-8") as file:
                file.write(json.dumps([item.nodeid, cpu() - before, sorted(_tiers(item)), _outcome(item)]) + "\n")
    limit = 60 + 20 * _chosen().get(item.nodeid, 0)
    # A mutant that waits for ever ends the process, and says so where pytest does not catch it.
    faulthandler.dump_traceback_later(limit, exit=True, file=_SAID)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_OUTCOME] = "failed"
        if (file := os.environ.get(FAILED)) and not Path(file).exists():
            Path(file).write_text(item.nodeid, encoding="utf-8")
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = _chosen()
    if chosen:
        left_out = [item for item in items if item.nodeid not in chosen]
        items[:] = [item for item in items if item.nodeid in chosen]
        config.hook.pytest_deselected(items=left_out)
        # The file of the nearest test first; within a file fixtures that are shared keep their order.
        ranks: dict[Path, int] = {}
        places = {test: place for place, test in enumerate(chosen)}
        for item in items:
            ranks[item.path] = min(places[item.nodeid], ranks.get(item.path, len(places)))
        items.sort(key=lambda item: ranks[item.path])


_OUTCOME = pytest.StashKey[str]()


def _outcome(item: pytest.Item) -> str:
    return item.stash.get(_OUTCOME, "passed")


def _tiers(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()} & {"slow", "nightly"}


def _chosen() -> dict[str, float]:
    file = os.environ.get(CHOSEN)
    chosen: dict[str, float] = json.loads(Path(file).read_text(encoding="utf-8")) if file else {}
    return chosen
