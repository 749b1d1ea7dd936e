"""A pytest plugin that keeps the output of a green run of the default tier short, so that people read it.

A test fails if it causes a note, unless it reads the note from `fake.notes`. Under CI, a green run fails if it prints
more than a few lines after the progress, for example warnings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
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
