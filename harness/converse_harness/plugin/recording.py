"""pytest: the marker `converse_recording`, which plays or makes a test's recording: its options and its start.

Every pytest run of the environment loads this module, so the rest is in `recording_hooks`, which is loaded when needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from converse_harness.plugin.settings import (
    GROUP,
    MARKER,
    folder,
    mode_of_run,
    setting_of_run,
)
from converse_harness.recordings.choices import FAILED, MODES

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options for the record mode and the folder."""
    group = parser.getgroup(*GROUP)
    default, *_ = MODES
    group.addoption(
        "--converse-record",
        choices=list(MODES),
        default=None,
        help=f"what @pytest.mark.{MARKER} does (default: {default}). {_listed(MODES)}",
    )
    parser.addini("converse_record", f"as --converse-record (@pytest.mark.{MARKER})", default=default)
    aside, *_ = FAILED
    group.addoption(
        "--converse-record-failed",
        choices=list(FAILED),
        default=aside,
        help=f"what becomes of what a test recorded that did not pass (default: {aside}). {_listed(FAILED)}",
    )
    parser.addini("converse_recordings", "the folder of recordings, relative to rootdir", default="recordings")
    parser.addini(
        "converse_redact",
        "what is replaced in recordings, a line each: pattern => replacement (a regular expression)",
        type="linelist",
        default=[],
    )


def _listed(choices: Mapping[Any, str]) -> str:
    return "; ".join(f"{choice}: {meaning}" for choice, meaning in choices.items())


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and read the ini file. Raises UsageError."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(name=None, *, match='shape', pace=0): plays the recording of the test, or makes it where "
        "--converse-record says so",
    )
    if mode_of_run(config) not in MODES:
        raise pytest.UsageError(f"{setting_of_run(config)}: one of {', '.join(MODES)}.")
    # Where tests record, or recordings are that may be unused, all that is collected counts.
    if _records(config) or config.getini("converse_redact") or folder(config).is_dir():
        _begin_run(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Add the record mode to pytest's header if this run can record."""
    meanings = {str(mode): meaning for mode, meaning in MODES.items()}
    meaning = meanings[mode_of_run(config)]  # one that is none was refused before
    return f"converse-harness: {setting_of_run(config)} ({meaning})" if _records(config) else None


def _records(config: pytest.Config) -> bool:
    return mode_of_run(config) != "none"


def _begin_run(config: pytest.Config) -> None:
    from converse_harness.plugin import recording_hooks

    if not config.pluginmanager.is_registered(recording_hooks):
        recording_hooks.begin_run(config)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Open the recording of a test with the marker: before any fixture, but after skip marks."""
    if item.get_closest_marker(MARKER) is not None:
        from converse_harness.plugin import recording_hooks

        _begin_run(item.config)
        recording_hooks.begin(item)


def give(item: pytest.Item, fake: Fake) -> None:
    """Let a fake from a fixture play and record in its test."""
    if item.get_closest_marker(MARKER) is not None:
        from converse_harness.plugin import recording_hooks

        recording_hooks.give(item, fake)
