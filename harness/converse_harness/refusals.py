"""The refused calls that nobody in this process has seen yet: those of other processes, and those that came too late.

Another process appends a line to the file of this process: a worker for each of its own refused calls, and the proxy
for each refused request of a program. A late call is a call of a thread whose fake has closed. Workers load this
module before they do anything else, so it imports little; PYTEST_DONT_REWRITE is for the reason given in `workers`.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Final

_file: str | None = None
"""The path of the file, which this process and its forks share. A spawned worker has the path of its parent process."""
_read = 0
_others: Final[set[bool]] = set()
"""Contains True if another process may have written a line: only then is the file opened."""
_MOST: Final = 100
"""The number of late calls that are kept: a thread may go on as long as the process."""


class Late:
    """A call that was refused after the fake to which it belongs had closed. `test` is the test that closed it."""

    def __init__(self, message: str, test: str) -> None:
        self.message = message
        self.test = test


_late: list[Late] = []
"""The late calls that have failed no test yet."""
_running = ""
_runs = 0
"""How many runs of pytest are open, one inside the other."""
_over = False
"""Whether a run of pytest has ended, and none is open."""


def running() -> str:
    """Return the node id of the test that runs; "" between tests and without pytest."""
    return _running


@contextmanager
def during(test: str) -> Generator[None, None, None]:
    """Set the running test for a `with` block; `test` is its node id."""
    global _running
    before, _running = _running, test
    try:
        yield
    finally:
        _running = before


@contextmanager
def of_a_run() -> Generator[None, None, None]:
    """Keep the late calls of a pytest run, for a `with` block, apart from those of a run around it.

    At the end of the outermost run, the late calls that are left are printed, and each later one when it comes.
    """
    global _late, _over, _running, _runs
    before = _late, _running
    _late, _running, _runs, _over = [], "", _runs + 1, False
    try:
        yield
    finally:
        _runs -= 1
        _over = _runs == 0
        left, (_late, _running) = _late, before
        for call in left if _over else ():
            _print(call.message)


def path() -> str:
    """Return the path of this process's file. Another process that gets this path may call `report`."""
    global _file
    _others.add(True)
    if _file is None:
        import atexit
        import tempfile

        _file = os.path.join(tempfile.gettempdir(), f"converse-harness-{os.getpid()}-{os.urandom(8).hex()}.refused")
        atexit.register(_forget, _file, os.getpid())
    return _file


def _forget(path: str, process: int) -> None:
    if os.getpid() == process:
        with suppress(OSError):  # the file does not exist if nothing was refused
            os.unlink(path)


def report_to(path: str) -> None:
    """Make this process, a worker that was not forked, report its refused calls to the process that has this file."""
    global _file
    _file = path
    _others.add(True)
    _skip()


def _skip() -> None:
    """In a worker: what was reported before it began is for its parent process."""
    global _read
    if _file is not None:
        with suppress(OSError):  # the file does not exist if nothing was refused
            _read = os.stat(_file).st_size


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_skip)


def report(message: str, path: str | None = None) -> None:
    """Append a refusal to the file. A write that fails does not stop the refusal."""
    path = path or _file
    if path is not None:
        # One line in one piece, because other processes append to the same file.
        line = " ".join(message.splitlines())
        with suppress(OSError):
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            os.write(file, f"{line}\n".encode())
            os.close(file)


def of_others() -> list[str]:
    """Return what other processes have reported since the last call of this function."""
    global _read
    if _file is None or not _others:
        return []  # this function runs for every test; it would be slow if it always opened the file
    try:
        with open(_file, "rb") as file:
            file.seek(_read)
            new = file.read()
    except OSError:  # nothing was refused yet
        return []
    _read += len(new)
    return new.decode("utf-8", "replace").splitlines()


def is_late(message: str, test: str) -> Late | None:
    """Keep a late call until a test fails because of it. After the run of pytest, print it instead.

    `test` is the node id of the test that ran when the fake closed, or "".
    """
    same = next((call for call in _late if (call.message, call.test) == (message, test)), None)
    if _over:
        _print(message)
    elif same is None and len(_late) < _MOST:
        same = Late(message, test)
        _late.append(same)
    return same


def _print(message: str) -> None:
    print(f"converse-harness refused a call after the end of the run: {message}", file=sys.__stderr__, flush=True)


def is_told(call: Late | None) -> None:
    """Forget a late call, because a test fails because of it."""
    if call in _late:
        _late.remove(call)


def forget(message: str) -> bool:
    """Forget the late calls with this message. Return whether there was one."""
    found = [call for call in _late if call.message == message]
    for call in found:
        _late.remove(call)
    return bool(found)


def pop_late(test: str | None = None) -> list[str]:
    """Return the messages of the late calls of a test, or of all, and forget them."""
    found = [call for call in _late if test in (None, call.test)]
    _late[:] = [call for call in _late if call not in found]
    return [call.message for call in found]
