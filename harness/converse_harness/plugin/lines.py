"""Find lines of the user's code: the line that makes a call, and the line that failed."""

from __future__ import annotations

import inspect
import sys
import threading
from pathlib import Path
from traceback import walk_tb
from typing import Final

from converse_harness.faults.model import Transport
from converse_harness.user_lines import UserLine, is_users, user_frame

SOCKETS: Final[tuple[Transport, ...]] = ("server", "asgi")
"""The transports whose clients may be in another process: their lines of code and read timeouts are unknown."""


def line_that_asked(transport: Transport | None, thread: int, root: Path) -> str:
    """Return the line of the user's code that is making a call, relative to `root`; "" if the line is unknown.

    It is the innermost frame outside of installed packages and of Python itself. A framework may make the call in a
    thread of its own; then the innermost such frame of `thread`, which runs the test, is used.
    """
    if transport in SOCKETS:
        return ""
    frame = user_frame(inspect.currentframe())
    if frame is None and thread != threading.get_ident():
        frame = user_frame(sys._current_frames().get(thread))  # pyright: ignore[reportPrivateUsage]
    return "" if frame is None else UserLine(frame.f_code.co_filename, frame.f_lineno).relative_to(root)


def line_that_failed(error: BaseException, test_file: Path, root: Path) -> str:
    """Return the last line of the test's file in the traceback of an error, relative to `root`; "" if there is none.

    If another file of the user's code raised the error, the line that raised it is added.
    """
    passed = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own = [each for each in passed if Path(each[0]) == test_file][-1:]
    innermost = [each for each in passed if is_users(each[0])][-1:]
    lines = [UserLine(*each).relative_to(root) for each in dict.fromkeys((*own, *innermost))]
    return ", raised in ".join(lines)
