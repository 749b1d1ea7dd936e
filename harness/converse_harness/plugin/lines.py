"""Find two kinds of lines in the user's code: the line that makes a call, and the line that failed."""

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
"""The transports whose clients may run in another process. Their lines of code and read timeouts are unknown here."""


def line_that_asked(transport: Transport | None, thread: int, root: Path) -> str:
    """Return the path (relative to `root`) and number of the user's line that is making a call; "" if it is unknown.

    The line is that of the innermost frame outside of installed packages and Python itself. If a framework makes the
    call in a thread without such a frame, the frames of `thread`, the id of the thread that runs the test, are
    searched.
    """
    if transport in SOCKETS:
        return ""
    frame = user_frame(inspect.currentframe())
    if frame is None and thread != threading.get_ident():
        frame = user_frame(sys._current_frames().get(thread))  # pyright: ignore[reportPrivateUsage]
    return "" if frame is None else UserLine(frame.f_code.co_filename, frame.f_lineno).relative_to(root)


def line_that_failed(error: BaseException, test_file: Path, root: Path) -> str:
    """Return the user's line at which a test failed; "" if the traceback of `error` has no line of the user.

    The result has a path relative to `root` and a line number. It is the last line of `test_file` in the traceback. If
    the user's code in another file raised the error, the line that raised it is added.
    """
    passed = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    own = [each for each in passed if Path(each[0]) == test_file][-1:]
    innermost = [each for each in passed if is_users(each[0])][-1:]
    lines = [UserLine(*each).relative_to(root) for each in dict.fromkeys((*own, *innermost))]
    return ", raised in ".join(lines)
