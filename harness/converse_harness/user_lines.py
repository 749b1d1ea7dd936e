"""Find lines of the user's code for messages: the line that calls this package, and the line that raised an error."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Final, NamedTuple

_INSTALLED: Final = ("site-packages", "dist-packages")

_OTHERS_CODE: Final = (
    f"{Path(__file__).parent}{os.sep}",
    *{f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib")},
)
"""Folders with code that is not the user's: those of this package and of the standard library."""


class UserLine(NamedTuple):
    """A line of a file. `str()` gives `test_x.py:12`, with the path relative to the working directory.

    If the file is not below the working directory, only its name is given.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return self.relative_to(Path.cwd())

    def relative_to(self, root: Path) -> str:
        """Return the line as `test_x.py:12`: the file's path relative to `root`, or only its name if it is outside."""
        path = Path(self.file)
        return f"{path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name}:{self.line}"


@lru_cache(4096)
def is_users(file: str) -> bool:
    """Whether a file is the user's: neither installed, nor part of Python or of converse-harness."""
    path = Path(file)
    return (
        path.is_absolute() and not any(part in _INSTALLED for part in path.parts) and not file.startswith(_OTHERS_CODE)
    )


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the first frame of the user's code among `frame`, its caller, and so on; None if there is none."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def calling_line() -> UserLine | None:
    """Return the line of the user's code that led to this call; None if there is none, as in a server's thread."""
    frame = user_frame(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    return None if frame is None else UserLine(frame.f_code.co_filename, frame.f_lineno)


def raising_line(error: BaseException) -> UserLine | None:
    """Return the innermost line of the user's code in an error's traceback; None if there is no such line."""
    passed = [UserLine(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return next((each for each in reversed(passed) if is_users(each.file)), None)
