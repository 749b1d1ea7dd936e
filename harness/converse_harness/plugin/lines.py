"""Find the line in the user's code that makes a call."""

from __future__ import annotations

import inspect
import sys
import threading
from pathlib import Path
from typing import Final

from converse_harness.faults.model import Transport
from converse_harness.user_lines import UserLine, user_frame

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
