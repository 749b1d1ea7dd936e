"""Collect facts about the recordings of a run: the file of each test, and the lines for pytest's summary.

If workers of xdist run the tests, the controller joins the facts of all workers.
"""

from __future__ import annotations

import glob
import os
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pytest

from converse_harness.errors import ReplyError
from converse_harness.plugin.settings import MARKER, folder
from converse_harness.recordings import names
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets.mask import mask
from converse_harness.words import counted

_ARGUMENTS: Final = {
    "name": "the file, below the folder of recordings and without .jsonl",
    "match": '"order", "exact", "shape" (the default) or a function: which recorded exchange answers a call',
    "pace": '"recorded", or what the recorded pauses are multiplied by: 0 (the default) is none',
    "ignore": 'paths of what does not count in requests, such as ["system", "toolConfig.tools[*].description"]',
}
"""The arguments of the marker `converse_recording`, and their meanings. `name` may also be positional."""

_OUTPUT: Final = "converse_recordings"
"""The key of the facts of a worker's Tally in xdist's `workeroutput`, which the worker sends to the controller."""

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
"""The attributes of pytest's options that keep some tests from running.

With such an option, it is unknown which recordings no test uses.
"""


_OPTIONS: Final = {"collectonly": "--collect-only", "keyword": "-k", "markexpr": "-m"}
"""Maps attributes in `_NARROWING` to the names of their options on the command line, if these differ."""


TALLY: Final = "converse_tally"
"""The name under which a run's Tally is registered as a plugin of pytest."""


class Tally:
    """The hooks that collect facts about recordings.

    An xdist worker sends its facts to the controller, which joins the facts of all workers.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        try:  # `redaction` holds the replacements in recordings that the ini file defines
            self.redaction = Redaction.of_lines(config.getini("converse_redact"))
        except ReplyError as error:
            raise pytest.UsageError(f"converse_redact: {error}") from error
        self._owners: dict[str, tuple[str, bool]] = {}
        """Maps a recording's path to the first test that uses it, and to whether the file existed when the run began.

        The paths are casefolded, because two paths that differ only in upper and lower case may be one file.
        """
        self.written: list[str] = []
        """The first lines of the summary: about written recordings."""
        self.remarks: list[str] = []
        """The summary lines after those in `written`: about unplayed exchanges, masked secrets and problems."""
        self.used: set[str] = set()
        """The results of `names.identity` for the recordings that collected tests use."""
        self.moves: dict[str, tuple[str, str]] = {}
        """Maps an unused recording to a test that has none but makes an equal or similar request, and to the command
        that renames the recording for this test."""
        self._spellings: defaultdict[str, set[PurePosixPath]] = defaultdict(set)
        """Maps a path in lower case to its spellings: the paths of tests' recordings, in upper and lower case."""
        self.left: dict[str, list[list[int]]] = {}
        """Maps each file to one list for each passed test that played it: the line numbers of the exchanges not played.
        """
        self._opened: Counter[str] = Counter()
        """Maps each file to the number of times that the workers opened it to play it."""
        self._opened_before = names.OPENED.copy()
        self.outcomes: defaultdict[str, set[str]] = defaultdict(set)
        """Maps the node id of each test that ran to the outcomes of its phases."""
        self._collected = 0
        self._whole = True
        """Becomes False if a module cannot be collected, or if a collected test is deselected."""
        self._workers = 0
        """The number of xdist workers that have sent no facts yet."""

    def owner(self, path: Path, item: pytest.Item) -> tuple[str, bool]:
        """Return the first test that uses the recording `path`, and whether the file existed when the run began."""
        return self._owners.get(str(path).casefold(), (item.nodeid, path.exists()))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Register whether a module was skipped or failed to import, because then its tests are unknown.

        Also register the paths of recordings for all tests of a module or class, including the tests that a command
        line such as `test_a.py::test_x` leaves out.
        """
        report = yield
        self._whole = self._whole and report.passed
        for item in report.result or ():
            if isinstance(item, pytest.Item) and item.get_closest_marker(MARKER) is not None:
                self._spell(item)
        return report

    def _spell(self, item: pytest.Item) -> PurePosixPath:
        path = _usual_path(item)
        self._spellings[str(path).lower()].add(path)
        return path

    def path_of(self, item: pytest.Item, name: object = None) -> Path:
        """Return the path of a test's recording. `name` is the name that its marker gives.

        Raises ReplyError for an invalid name.
        """
        root = folder(item.config)
        if name is not None:
            path, twice = root / names.given_path(name), f"{root.name}/"
            if str(name).startswith(twice) and not path.parent.exists():
                raise ReplyError(
                    f"@pytest.mark.{MARKER}({name!r}): names are below {twice} already; write "
                    f"{str(name).removeprefix(twice)!r}."
                )
            return path
        usual = self._spell(item)
        twins = len(self._spellings[str(usual).lower()]) > 1 or any(map(_has_twin, item.listchain()))
        unlike = _usual_path(item, has_twin=True)
        return _existing(root / unlike, root / usual) if twins else _existing(root / usual, root / unlike)

    def pytest_itemcollected(self) -> None:
        """Count each collected test, before options and plugins deselect tests."""
        self._collected += 1

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Assign recordings to tests before the first test runs, so that all workers assign them in the same way."""
        self._whole = self._whole and self._collected == len(session.items)
        self._collected = len({item.nodeid for item in session.items})
        for item in (item for item in session.items if item.get_closest_marker(MARKER) is not None):
            try:
                path = self.path_of(item, arguments_of(item).get("name"))
            except ReplyError:
                continue  # the setup of this test raises the error again
            self.used.add(names.identity(path))
            self._owners.setdefault(str(path).casefold(), (item.nodeid, path.exists()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Register the outcome of a phase of a test, which ran in this process or in a worker."""
        self.outcomes[report.nodeid].add(report.outcome)

    def tell(self) -> None:
        """In an xdist worker, send the facts that this Tally has collected to the controller."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            used, opened = sorted(self.used | names.USED_FILES), dict(names.OPENED - self._opened_before)
            facts = self.written, self.remarks, used, self.moves, self.left, opened, self._collected, self._whole
            output[_OUTPUT] = facts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        """Count an xdist worker that starts."""
        self._workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the facts that the Tally of an ended xdist worker has sent. A worker that crashed has sent none."""
        # The facts are removed from the node, because xdist reports an interrupted worker twice.
        facts = getattr(node, "workeroutput", {}).pop(_OUTPUT, None)
        if facts is not None:
            written, remarks, used, moves, left, opened, collected, whole = facts
            self.moves.update(moves)
            self.written += written
            self.remarks += remarks
            self.used.update(used)
            for path, runs in left.items():
                self.left.setdefault(path, []).extend(runs)
            self._opened.update(opened)
            self._collected = max(self._collected, collected)
            self._whole = self._whole and whole
            self._workers -= 1

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which recordings were written, which exchanges were not played, and which recordings no test uses."""
        for line in self._lines():
            # A recording made elsewhere, or by hand, may have a secret in its name.
            terminalreporter.write_line(mask(line))

    def opened(self) -> Counter[str]:
        """Map each file to the number of times that it was opened to play it, in the workers and in this process."""
        return self._opened + (names.OPENED - self._opened_before)

    def _lines(self) -> Iterator[str]:
        for line in (*sorted(self.written), *sorted(self.remarks)):
            yield f"{_PREFIX}{line}"
        if any(f"{names.FAILED_SUFFIX} (" in line for line in self.written) and not self._ignores_failed():
            pattern = f"*{names.FAILED_SUFFIX}"
            yield f"{_PREFIX}a line {pattern} in .gitignore keeps what failed tests recorded out of commits"
        unused = [] if self.missing() else self.unused(failed=True)
        if unused:
            yield f"{_PREFIX}{counted(len(unused), 'recording is', 'recordings are')} not used by any test:"
        commands = set[str]()
        for path in unused:
            aside = " (of a test that did not pass)" if path.name.endswith(names.FAILED_SUFFIX) else ""
            test, command = self.moves.get(shown(self._config, path), ("", ""))
            how = "by the same command" if command in commands else f"if that was renamed: {command}"
            moved = f": it matches {test}, which has none; {how}" if test else ""
            commands.add(command)
            yield f"    {shown(self._config, path)}{aside}{moved}"

    def _ignores_failed(self) -> bool:
        """Whether the project's `.gitignore` excludes the recordings of failed tests."""
        file = self._config.rootpath / ".gitignore"
        try:
            return names.FAILED_SUFFIX in file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False

    def unused(self, *, failed: bool = False) -> list[Path]:
        """Return the recordings that no collected test and no other code used. `failed` adds those of failed tests."""
        used, files = self.used | names.USED_FILES, folder(self._config).rglob(f"*{names.SUFFIX}")
        files = (path for path in files if failed or not path.name.endswith(names.FAILED_SUFFIX))
        return sorted(path for path in files if names.identity(path) not in used and _is_recording(path))

    def missing(self) -> str:
        """Return the reason why not all tests of the project were collected and ran; "" if all of them ran."""
        ran = len(self.outcomes)
        all_ran = not self._workers and ran == self._collected
        return self.not_collected() or ("" if all_ran else f"{ran} of {counted(self._collected, 'test')} ran")

    def not_collected(self) -> str:
        """Return the reason why not all tests of the project were collected; "" if all were collected."""
        config = self._config
        narrowed = [name for name in _NARROWING if getattr(config.option, name, None)]
        if narrowed:
            return f"an option left out tests: {_OPTIONS.get(narrowed[0], '--' + narrowed[0].replace('_', '-'))}"
        if not self._whole:
            return "tests were deselected, or a module was skipped or could not be imported"
        start, root = config.invocation_params.dir, config.rootpath
        asked = [os.path.realpath(start / argument) for argument in config.args if "::" not in argument]
        patterns = config.getini("testpaths")
        tests = [name for pattern in patterns for name in glob.glob(pattern, root_dir=root, recursive=True)]
        folders = [Path(os.path.realpath(root / name)) for name in tests or [""]]
        if len(asked) == len(config.args) and all(any(map(each.is_relative_to, asked)) for each in folders):
            return ""
        return "only some of the tests were asked for"


def arguments_of(item: pytest.Item) -> dict[str, Any]:
    """Return the arguments of a test's markers `converse_recording`; the closest marker has priority.

    Raises ReplyError for an unknown argument.
    """
    arguments: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(MARKER))):
        given: dict[str, Any] = dict(marker.kwargs)
        if marker.args:
            given["name"] = marker.args[0]
        unknown = [repr(arg) for arg in marker.args[1:]] + [f"{name}=" for name in given if name not in _ARGUMENTS]
        if unknown:
            known = "; ".join(f"{name}: {meaning}" for name, meaning in _ARGUMENTS.items())
            raise ReplyError(f"@pytest.mark.{MARKER}: {unknown[0]} is none of its arguments. {known}.")
        arguments |= given
    return arguments


def _usual_path(item: pytest.Item, *, has_twin: bool = False) -> PurePosixPath:
    """Return the path of a test's recording, relative to the recordings folder, for a marker that gives no name."""
    module = relative(item.path, item.config.rootpath).parts
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return names.path_of_test(module, classes, item.name, has_twin=has_twin)


def _has_twin(node: object) -> bool:
    """Whether a class beside the class `node` has a name that differs only in upper and lower case."""
    if not isinstance(node, pytest.Class):
        return False
    around: Mapping[str, object] = getattr(getattr(node.parent, "obj", None), "__dict__", {})
    others = [name.lower() for name, each in around.items() if isinstance(each, type) and name != node.name]
    return node.name.lower() in others


def relative(path: Path, start: Path) -> Path:
    """Return a path relative to `start`. The result may begin with `..`."""
    try:
        return Path(os.path.relpath(path, start))
    except ValueError:  # on another drive of Windows no relative path exists
        return path


def shown(config: pytest.Config, path: Path) -> str:
    """Return a path as reports show it: relative to the root folder, as in node ids."""
    try:
        return path.relative_to(config.rootpath).as_posix()
    except ValueError:
        return str(path)


def _existing(path: Path, other: Path) -> Path:
    """Return `path`, or `other` if only `other` exists. Both are paths for the recording of the same test.

    The path changes when a test is added or removed whose name differs only in upper and lower case. The file `other`
    counts only if its name has exactly this spelling, and if no name beside it differs only in upper and lower case.
    """
    if path == other or path.exists() or not other.exists():
        return path
    names = [name for name in os.listdir(path.parent) if name.lower() == other.name.lower()]
    return other if names == [other.name] else path


def _is_recording(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b'"converse-recording"' in file.read(200)
    except OSError:
        return False
