"""pytest: the summary of recordings: written, not fully played, or used by no test; also under xdist."""

from __future__ import annotations

import glob
import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness.errors import ReplyError
from converse_harness.plugin.settings import MARKER, folder, path_of, settings_of_recording, shown
from converse_harness.recordings.choices import FAILED_SUFFIX, SUFFIX, USED_FILES, identity

_OUTPUT: Final = "converse_recordings"
"""The key under which a worker of xdist tells the controller."""

_PREFIX: Final = "converse-harness: "

_NARROWING: Final = (
    "collectonly",
    "deselect",
    "ignore",
    "ignore_glob",
    "keyword",
    "lf",
    "markexpr",
    "setuponly",
    "setupplan",
    "stepwise",
)
"""Options of pytest after which it is not known what the tests that do not run would have used."""


@dataclass(slots=True, eq=False)
class _Tally:
    """The facts for the summary.

    An xdist worker sends `told()` to the controller, which adds up those of all workers.
    """

    owners: dict[str, tuple[str, bool]] = field(default_factory=dict[str, tuple[str, bool]])
    """For each file the first test that has it, and whether it was there when the run began."""

    kept: list[tuple[str, int, str, bool]] = field(default_factory=list[tuple[str, int, str, bool]])
    """File ("" for none), number of exchanges, test, whether that passed."""

    unplayed: list[tuple[str, str, int, list[int]]] = field(default_factory=list[tuple[str, str, int, list[int]]])
    """Test, file, number of exchanges, lines of those that were not played."""

    problems: list[str] = field(default_factory=list[str])
    used: set[str] = field(default_factory=set[str])
    collected: int = 0
    ran: set[str] = field(default_factory=set[str])
    whole: bool = True
    workers: int = 0

    def owner(self, path: Path, item: pytest.Item) -> tuple[str, bool]:
        """The test that records a file, and whether the file existed when the run began."""
        return self.owners.get(_key(path), (item.nodeid, path.exists()))

    def told(self) -> dict[str, Any]:
        """All facts as lists and strings."""
        return {
            "kept": self.kept,
            "unplayed": self.unplayed,
            "problems": self.problems,
            "used": sorted(self.used | USED_FILES),
            "collected": self.collected,
            "whole": self.whole,
        }

    def add(self, told: dict[str, Any]) -> None:
        """Add the facts of a worker."""
        self.kept += map(tuple, told["kept"])
        self.unplayed += map(tuple, told["unplayed"])
        self.problems += told["problems"]
        self.used |= set(told["used"])
        self.collected = max(self.collected, told["collected"])
        self.whole = self.whole and told["whole"]
        self.workers -= 1


TALLY: Final = pytest.StashKey[_Tally]()


def _key(path: Path) -> str:
    """A path's key: equal for two names of one file on a case-insensitive file system."""
    return str(path).casefold()


class Reports:
    """The hooks that collect these facts; one object per run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tally = config.stash[TALLY] = _Tally()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Note a module that is skipped or fails to import: its tests are unknown."""
        report = yield
        if not report.passed:
            self._tally.whole = False
        return report

    def pytest_itemcollected(self) -> None:
        """Count the collected tests: a plugin may remove some silently."""
        self._tally.collected += 1

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note that not all tests run."""
        if items:
            self._tally.whole = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Assign files to tests: before any test runs, and equally in every worker."""
        tally = self._tally
        tally.whole = tally.whole and tally.collected == len(session.items)
        tally.collected = len({item.nodeid for item in session.items})
        for item in session.items:
            if item.get_closest_marker(MARKER) is None:
                continue
            try:
                path = path_of(item, (settings_of_recording(item) or {}).get("name"))
            except ReplyError:
                continue  # the test says so itself
            tally.used.add(identity(path))
            tally.owners.setdefault(_key(path), (item.nodeid, path.exists()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test ran, here or in a worker."""
        self._tally.ran.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        """Note the start of an xdist worker."""
        self._tally.workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the facts of an xdist worker that ended, unless it crashed."""
        told = getattr(node, "workeroutput", {}).pop(_OUTPUT, None)  # of an interrupted one it is said twice
        if told is not None:
            self._tally.add(told)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary."""
        for line in (*_became(self._tally), *_unplayed(self._tally), *_unused(self._config, self._tally)):
            terminalreporter.write_line(line)


def tell(config: pytest.Config) -> None:
    """Send the facts to the controller, if this is an xdist worker."""
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = config.stash[TALLY].told()


def _became(tally: _Tally) -> Iterator[str]:
    for path, exchanges, nodeid, passed in sorted(tally.kept):
        many = _number(exchanges, "exchange")
        if not path:
            yield f"{_PREFIX}dropped {many} of {nodeid}, which did not pass"
        elif passed:
            yield f"{_PREFIX}wrote {path} ({many})"
        else:
            yield f"{_PREFIX}wrote {path} ({many}): {nodeid} did not pass"
    for problem in tally.problems:
        yield f"{_PREFIX}{problem}"


def _unplayed(tally: _Tally) -> Iterator[str]:
    for nodeid, path, exchanges, lines in sorted(tally.unplayed):
        places = ", ".join(f"{path}:{line}" for line in lines)
        yield f"{_PREFIX}{nodeid} left {len(lines)} of {_number(exchanges, 'recorded exchange')} unplayed: {places}"


def _unused(config: pytest.Config, tally: _Tally) -> Iterator[str]:
    """The unused recordings, if they can be known: all tests were collected and ran."""
    root = folder(config)
    if not _whole(config, tally) or not root.is_dir():
        return
    used = tally.used | USED_FILES | {identity(config.rootpath / path) for path, *_ in tally.kept if path}
    files = (path for path in sorted(root.rglob(f"*{SUFFIX}")) if identity(path) not in used and _is_recording(path))
    lines = [
        f"    {shown(config, path)}{' (of a test that did not pass)' if path.name.endswith(FAILED_SUFFIX) else ''}"
        for path in files
    ]
    if lines:
        is_not = "is not" if len(lines) == 1 else "are not"
        yield f"{_PREFIX}{_number(len(lines), 'recording')} {is_not} used by any test:"
        yield from lines


def _whole(config: pytest.Config, tally: _Tally) -> bool:
    if not tally.whole or tally.workers or len(tally.ran) != tally.collected:
        return False
    if any(getattr(config.option, name, None) for name in _NARROWING):
        return False
    start = config.invocation_params.dir
    asked = [Path(os.path.realpath(start / argument)) for argument in config.args if "::" not in argument]
    return len(asked) == len(config.args) and all(
        any(need == each or each in need.parents for each in asked) for need in _all_tests(config)
    )


def _all_tests(config: pytest.Config) -> list[Path]:
    """The folders of all tests: those of `testpaths`, or the root without these."""
    found = [
        config.rootpath / name
        for pattern in config.getini("testpaths")
        for name in glob.glob(pattern, root_dir=config.rootpath, recursive=True)
    ]
    return [Path(os.path.realpath(path)) for path in found or [config.rootpath]]


def _is_recording(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b'"converse-recording"' in file.read(200)
    except OSError:
        return False


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
