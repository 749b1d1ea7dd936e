"""The marker `converse_recording`: what it takes, which file a test has, and which mode this run has.

Loaded when pytest starts, so it imports nothing heavy.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest

MARKER: Final = "converse_recording"

ARGUMENTS: Final = {
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
        unknown = [repr(arg) for arg in marker.args[1:]] + [f"{name}=" for name in given if name not in ARGUMENTS]
        if unknown:
            from converse_harness.errors import ReplyError

            known = "; ".join(f"{name}: {meaning}" for name, meaning in ARGUMENTS.items())
            raise ReplyError(f"@pytest.mark.{MARKER}: {unknown[0]} is none of its arguments. {known}.")
        settings |= given
    return settings if markers else None


def path_of(item: pytest.Item, name: object = None) -> Path:
    """The file of a test's recording. Raises ReplyError for a name that cannot be one."""
    from converse_harness.recordings.names import given_path, path_of_test

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
