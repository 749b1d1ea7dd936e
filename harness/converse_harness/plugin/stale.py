"""Report requests that got recorded answers although they differ from the recorded requests.

The setting `stale` decides whether a line is printed at the end of the run, or the test fails, or nothing happens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness.errors import StaleRequests
from converse_harness.plugin.recording.owners import shown
from converse_harness.plugin.settings import STALE, chosen
from converse_harness.shell import quoted, words
from converse_harness.words import and_more, counted, plural

if TYPE_CHECKING:
    from converse_harness.recordings.play.stale import StaleRecording

_TESTS: Final = 10
"""The maximum number of printed lines about tests; with `-v`, all lines are printed."""

_FOUND: Final = pytest.StashKey["list[StaleRecording]"]()
"""The key under which the stash of a test item holds the recordings that differ from the test's requests."""

_MARKED: Final = "pytest --converse-record=all "
"""The beginning of the command that makes a new recording of a test with the marker. The quoted node id follows."""

_NAMED: Final = 3
"""The printed command names at most this number of tests; if there are more, it names their files instead."""


def _take(item: pytest.Item) -> list[StaleRecording]:
    """Add the stale recordings found since the previous call to the test's list, and return the whole list.

    A recording is stale if the test's requests differ from its requests. Nothing is added if the setting `stale` is
    "off".
    """
    found = item.stash.setdefault(_FOUND, [])
    module: Any = sys.modules.get("converse_harness.recordings.play.stale")
    if module is not None:
        taken: list[StaleRecording] = module.take()
        found += taken if chosen(item.config, "stale") != "off" else []
    return found


def check_stale(item: pytest.Item, error: BaseException | None) -> None:
    """Raise StaleRequests if requests of the test differ from its recordings, and the setting `stale` is "fail".

    If the test has another failure, `error`, nothing is raised.
    """
    found = _take(item)
    if found and error is None and chosen(item.config, "stale") == "fail":
        problem = StaleRequests("\n\n".join(each.told for each in found))
        found.clear()
        raise problem


def stale_properties(item: pytest.Item) -> list[tuple[str, str]]:
    """Return a user property for each recording that differs from the test's requests, for the teardown report."""
    found = _take(item)
    paths = [shown(item.config, Path.cwd() / each.path) for each in found]
    values = [{"line": each.line, "again": each.again, "path": path} for path, each in zip(paths, found, strict=True)]
    found.clear()
    return [(STALE, json.dumps(value)) for value in values]


def print_stale(terminal: pytest.TerminalReporter, found: Iterable[tuple[str, dict[str, str]]]) -> None:
    """Print a line for each test and recording with differing requests.

    `found` contains a pair for each user property STALE: the node id of the test, and the value of the property.
    """
    rows: dict[str, None] = {}
    marked: dict[str, None] = {}
    tests = set[str]()
    for nodeid, stale in found:
        own = stale["again"].startswith(_MARKED)
        marked |= dict.fromkeys([stale["again"].removeprefix(_MARKED)] if own else [])
        tests.add(nodeid)
        rows[f"    {nodeid}: {'' if own else stale['path'] + ': '}{stale['line']}"] = None
    if not rows:
        return
    again = "" if marked else "; record them again if that is meant"
    one, many = "sends requests that differ from its recording", "send requests that differ from their recordings"
    terminal.write_line(f"converse-harness: {counted(len(tests), 'test')} {plural(len(tests), one, many)}{again}:")
    most = len(rows) if terminal.config.get_verbosity() > 0 else _TESTS
    for row in and_more([*rows], most, "    and {} more (-v lists all)"):
        terminal.write_line(row)
    if marked:
        terminal.write_line(f"    If that is meant: {_MARKED}{_narrow([*marked])}")


def _narrow(tests: list[str]) -> str:
    """Return the arguments with which pytest runs these tests: the tests or, if there are many, their files."""
    if len(tests) > _NAMED:
        tests = [*dict.fromkeys(quoted(words(each)[0].partition("::")[0]) for each in tests)]
    return " ".join(tests)
