"""The marker `converse_recording`: what it takes, which file a test has, and which mode this run has.

Loaded when pytest starts, so it imports nothing heavy.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from converse_harness.plugin.settings import GROUP
from converse_harness.recordings.choices import FAILED, MODES

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake


MARKER: Final = "converse_recording"

_ARGUMENTS: Final = {
    "name": "the file, below the folder of recordings and without .jsonl",
    "match": '"order", "exact" or "shape" (the default): which recorded exchange answers a call',
    "pace": '"recorded", or what the recorded pauses are multiplied by: 0 (the default) is none',
}
"""What the marker takes; the first also without its name."""


def settings_of_recording(item: pytest.Item) -> dict[str, Any] | None:
    """What the markers of a test say, the closest wins; None where it has none. Raises ReplyError."""
    settings: dict[str, Any] = {}
    markers = list(item.iter_markers(MARKER))
    for marker in reversed(markers):
        given: dict[str, Any] = dict(marker.kwargs)
        if marker.args:
            given["name"] = marker.args[0]
        unknown = [repr(arg) for arg in marker.args[1:]] + [f"{name}=" for name in given if name not in _ARGUMENTS]
        if unknown:
            from converse_harness.errors import ReplyError

            known = "; ".join(f"{name}: {meaning}" for name, meaning in _ARGUMENTS.items())
            raise ReplyError(f"@pytest.mark.{MARKER}: {unknown[0]} is none of its arguments. {known}.")
        settings |= given
    return settings if markers else None


def path_of(item: pytest.Item, name: object = None) -> Path:
    """The file of a test's recording. Raises ReplyError for a name that cannot be one."""
    from converse_harness.recordings.choices import given_path, path_of_test

    if name is not None:
        return folder(item.config) / given_path(name)
    try:
        module = Path(os.path.relpath(item.path, item.config.rootpath)).parts
    except ValueError:  # another drive of Windows
        module = item.path.parts
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return folder(item.config) / path_of_test(module, classes, item.name)


def folder(config: pytest.Config) -> Path:
    """The folder of recordings."""
    return config.rootpath / str(config.getini("converse_recordings"))


def shown(config: pytest.Config, path: Path) -> str:
    """A path as reports have it: from the root of the tests, as node ids are."""
    try:
        return path.relative_to(config.rootpath).as_posix()
    except ValueError:
        return str(path)


def mode_of_run(config: pytest.Config) -> str:
    """Whether recordings are played or made, as one of MODES."""
    return str(config.getoption("--converse-record") or config.getini("converse_record"))


def setting_of_run(config: pytest.Config) -> str:
    """Where the mode was said, as it was written there."""
    given = config.getoption("--converse-record")
    return f"--converse-record={given}" if given else f"converse_record = {config.getini('converse_record')}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """How recordings are made and where they are."""
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


def _listed(choices: dict[str, str]) -> str:
    return "; ".join(f"{choice}: {meaning}" for choice, meaning in choices.items())


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and what the ini file says. Raises UsageError."""
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
    """Say it where something may be recorded."""
    return f"converse-harness: {setting_of_run(config)} ({MODES[mode_of_run(config)]})" if _records(config) else None


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
    """A fake of a fixture plays and records what its test does."""
    if item.get_closest_marker(MARKER) is not None:
        from converse_harness.plugin import recording_hooks

        recording_hooks.give(item, fake)
