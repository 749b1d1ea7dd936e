"""Lines of the user's code: the one that asks, and the one that failed."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
import threading
from functools import lru_cache
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Final

import converse_harness

SOCKETS: Final = ("server", "asgi")
"""The transports whose clients may be in another process; the line of code that asked is not known."""

_INSTALLED: Final = ("site-packages", "dist-packages")

_OTHERS_CODE: Final = (
    f"{Path(converse_harness.__file__).parent}{os.sep}",
    *{f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib")},
)
"""Folders with code that is not the user's, beside the folders of installed packages."""


def line_that_asked(thread: int, root: Path) -> str:
    """The line of the user's code that is asking now, relative to `root`; empty if there is none.

    It is the innermost frame outside of installed packages and of Python itself. A framework may ask in a thread of its
    own; then it is that frame of `thread`, which runs the test.
    """
    frame = _user_frame(inspect.currentframe())
    if frame is None and thread != threading.get_ident():
        frame = _user_frame(sys._current_frames().get(thread))  # pyright: ignore[reportPrivateUsage]
    if frame is None:
        return ""
    return _shown(frame.f_code.co_filename, frame.f_lineno, root)


def line_that_failed(error: BaseException, test_file: Path, root: Path) -> str:
    """The last line of the test's file that an error passed, relative to `root`; empty if it passed none.

    If it was raised in another file of the user's code, that line is added.
    """
    passed = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own = [each for each in passed if Path(each[0]) == test_file][-1:]
    innermost = [each for each in passed if is_users(each[0])][-1:]
    lines = [_shown(*each, root) for each in dict.fromkeys((*own, *innermost))]
    return ", raised in ".join(lines)


def _shown(file: str, line: int, root: Path) -> str:
    path = Path(file)
    return f"{path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name}:{line}"


def _user_frame(frame: FrameType | None) -> FrameType | None:
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@lru_cache(4096)
def is_users(file: str) -> bool:
    """Whether a file is the user's: neither installed, nor part of Python or of converse-harness."""
    path = Path(file)
    return (
        path.is_absolute() and not any(part in _INSTALLED for part in path.parts) and not file.startswith(_OTHERS_CODE)
    )
