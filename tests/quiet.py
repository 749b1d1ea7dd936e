"""A pytest plugin that keeps the output of a green run of the default tier short, so that people read it.

A test fails if it causes a note, unless it reads the note from `fake.notes`, or has the marker `any_answer` and the
note is about an answer that does not fit its request. Under CI, a green run fails if it prints
more than a few lines after the progress, for example warnings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

MOST_LINES: Final = 8
"""Most lines between the progress and pytest's last line; empty lines do not count."""

_SESSION: Final = pytest.StashKey[pytest.Session]()


def _is_default(config: pytest.Config) -> bool:
    """Whether the run is one of the default tier. Other runs may print more."""
    asked = config.option.markexpr or any("::" in argument for argument in config.args)
    return config.getoption("tier", None) in (None, "default") and not asked


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "any_answer: the test is not about whether answers fit their requests")
    if _is_default(config) and getattr(config.option, "converse_notes", "") is None:
        config.option.converse_notes = "fail"


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_SESSION] = session


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config, exitstatus: pytest.ExitCode
) -> Iterator[None]:
    with _written(config.get_terminal_writer()) as pieces:
        yield
    lines = len([line for line in "".join(pieces).splitlines() if line.strip()])
    if lines > MOST_LINES and exitstatus == 0 and os.environ.get("CI") and _is_default(config):
        told = f"NOISY: {lines} lines behind the progress; {MOST_LINES} are allowed"
        terminalreporter.write_line(f"{told}. What a test does on purpose it takes (tests/quiet.py).", red=True)
        config.stash[_SESSION].exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Drop notes about misfits in tests with the marker `any_answer`, which are about something else."""
    if item.get_closest_marker("any_answer") is None:
        return (yield)
    from converse_harness import notes  # here, so that no start of pytest imports them
    from converse_harness.bedrock.fit import BY_NAME

    hand_in = notes.hand_in

    def without_misfits(new: Iterable[notes.Note]) -> None:
        hand_in(note for note in new if note.kind not in BY_NAME)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notes, "hand_in", without_misfits)
        if (fakes := sys.modules.get("converse_harness.intercept.fake")) is not None:
            patch.setattr(fakes, "hand_in", without_misfits)
        return (yield)


@contextmanager
def _written(writer: Any) -> Iterator[list[str]]:
    """Make a context whose value is the list of all texts that `writer` writes in it."""
    pieces = list[str]()
    write = writer.write

    def noted(text: str, **how: Any) -> None:
        pieces.append(text)
        write(text, **how)

    writer.write = noted
    try:
        yield pieces
    finally:
        del writer.write
