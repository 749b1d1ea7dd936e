"""pytest: the notes of fakes, in a section of the summary; also under xdist."""

from __future__ import annotations

import json
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Final

import pytest

from converse_harness.notes import Note, NoteInbox, inbox
from converse_harness.plugin.settings import GROUP

NOTE: Final = "converse_note"
"""The user property of a test report that holds a note, as JSON."""

WAYS: Final[Mapping[str, str]] = {
    "summary": "a section at the end of the run",
    "warning": "a ConverseNoteWarning as well",
    "fail": "a failure of the test",
}
"""What becomes of notes."""

_MEANING: Final = f"what becomes of notes: {', '.join(f'{way} ({meaning})' for way, meaning in WAYS.items())}"

_TESTS: Final = 5
"""How many tests a note names."""

_INBOX: Final = pytest.StashKey[NoteInbox]()
_NOTES: Final = pytest.StashKey["dict[str, Note]"]()
_OPENED: Final = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option and its ini setting."""
    group = parser.getgroup(*GROUP)
    group.addoption("--converse-notes", choices=[*WAYS], default=None, help=f"{_MEANING} (default: summary)")
    parser.addini("converse_notes", _MEANING, default="summary")


def pytest_configure(config: pytest.Config) -> None:
    """Start to collect notes."""
    _way(config)
    stack = config.stash[_OPENED] = ExitStack()
    config.stash[_INBOX] = stack.enter_context(inbox())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop collecting notes."""
    if _OPENED in config.stash:
        config.stash[_OPENED].close()


def check(item: pytest.Item, error: BaseException | None) -> None:
    """Keep the notes of a test. Raises NotedCall if notes are failures and the test has no other."""
    __tracebackhide__ = True
    new = _keep(item)
    way = _way(item.config)
    if new and way == "fail" and error is None:
        from converse_harness.errors import NotedCall

        raise NotedCall("\n\n".join(note.text for note in new))
    if way == "warning":
        from converse_harness.errors import ConverseNoteWarning

        for note in new:
            warnings.warn(note.text, ConverseNoteWarning, stacklevel=2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach a test's notes to its last report."""
    report = yield
    _keep(item)
    if report.when == "teardown":
        for note in item.stash.setdefault(_NOTES, {}).values():
            report.user_properties.append((NOTE, json.dumps({"kind": note.kind, "text": note.text})))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print each kind of note once, with the tests that have it."""
    kinds: dict[str, tuple[str, list[str]]] = {}
    for test, note in _reported(terminalreporter.stats):
        kinds.setdefault(note["kind"], (note["text"], []))[1].append(test)
    if not kinds:
        return
    terminalreporter.section("converse notes")
    for kind, (text, tests) in sorted(kinds.items()):
        count = f"{len(tests)} test{'s' * (len(tests) > 1)}"
        terminalreporter.write_line(f"{kind}, in {count}", bold=True)
        for test in tests[:_TESTS]:
            terminalreporter.write_line(f"  {test}")
        if len(tests) > _TESTS:
            terminalreporter.write_line(f"  and {len(tests) - _TESTS} more")
        for line in text.splitlines():
            terminalreporter.write_line(f"    {line}".rstrip())
    terminalreporter.write_line(
        "Notes fail nothing, unless converse_notes says so.   More: converse-harness docs rules notes"
    )


def _reported(stats: Mapping[str, Iterable[object]]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The notes of all tests, found in the teardown reports, which have no word in the summary."""
    for reports in stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                for name, value in getattr(report, "user_properties", ()):
                    if name == NOTE:
                        yield str(getattr(report, "nodeid", "")), json.loads(value)


def _keep(item: pytest.Item) -> list[Note]:
    """Keep a test's new notes, one of each kind."""
    kept = item.stash.setdefault(_NOTES, {})
    opened = item.config.stash.get(_INBOX, None)
    new = [] if opened is None else [note for note in opened.take() if note.kind not in kept]
    kept.update({note.kind: note for note in new})
    return new


def _way(config: pytest.Config) -> str:
    way = str(config.getoption("--converse-notes") or config.getini("converse_notes"))
    if way not in WAYS:
        raise pytest.UsageError(f"converse_notes = {way}: it is {', '.join(WAYS)}.")
    return way
