"""Which recording belongs to a test: the marker `converse_recording`, and the path of each test's recording."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pytest

from converse_harness.errors import ReplyError
from converse_harness.plugin.settings import MARKER, folder
from converse_harness.recordings import names

_ARGUMENTS: Final = {
    "name": "the file, below the folder of recordings and without .jsonl",
    "match": '"order", "exact", "shape" (the default) or a function: which recorded exchange answers a call',
    "pace": '"recorded", or what the recorded pauses are multiplied by: 0 (the default) is none',
    "ignore": 'paths of what does not count in requests, such as ["system", "toolConfig.tools[*].description"]',
    "keep_files": "whether the files in requests are kept beside the recording, and not their SHA-256 alone",
}
"""The arguments of the marker `converse_recording`, and their meanings. `name` may also be positional."""


class Owners:
    """The recordings of the collected tests: the path of each one, and the test that owns it.

    The owner of a file is the first collected test that uses it. Only the owner may record.
    """

    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, bool]] = {}
        """Maps a recording's path to its owner, and to whether the file existed when the run began.

        The paths are casefolded, because two paths that differ only in upper and lower case may be one file.
        """
        self._spellings: defaultdict[str, set[PurePosixPath]] = defaultdict(set)
        """Maps a path in lower case to its spellings: the paths of tests' recordings, in upper and lower case."""

    def add(self, item: pytest.Item) -> PurePosixPath:
        """Register a test whose module was collected, even if it will not run. Return the usual path of its recording.

        The path is relative to the folder of recordings.
        """
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
        usual = self.add(item)
        twins = len(self._spellings[str(usual).lower()]) > 1 or any(map(_has_twin, item.listchain()))
        unlike = _usual_path(item, has_twin=True)
        return _existing(root / unlike, root / usual) if twins else _existing(root / usual, root / unlike)

    def assign(self, item: pytest.Item, path: Path) -> None:
        """Make a test the owner of its recording `path`, unless another test is the owner."""
        self._owners.setdefault(str(path).casefold(), (item.nodeid, path.exists()))

    def owner(self, path: Path, item: pytest.Item) -> tuple[str, bool]:
        """Return the node id of the owner of `path`, and whether the file existed when the run began.

        If the file has no owner, it is `item`.
        """
        return self._owners.get(str(path).casefold(), (item.nodeid, path.exists()))


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
