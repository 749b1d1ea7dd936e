"""Choose the frames that pytest shows for a problem that a fake found: only those of the user's code."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from converse_harness.errors import ConverseHarnessError
from converse_harness.faults.model import Transport
from converse_harness.plugin.settings import kept_error
from converse_harness.user_lines import UserLine, is_users, user_frame

if TYPE_CHECKING:
    import pytest


def fail(problem: Exception, error: BaseException | None, *, full: bool, test: object = None) -> NoReturn:
    """Raise `problem`, which a fake found in a test that passed (`error` is None) or that raised `error`.

    If the client raised `error` because of the problem, `problem` replaces `error` at the same line of the user's code.
    Otherwise `problem` appears at the line that defines the function `test`, and pytest shows `error` above it, without
    the frames of clients. If `full` is true, all frames are kept.
    """
    __tracebackhide__ = True
    if full:
        _raise(problem)
    if error is None:
        _raise_at(test, problem)
    first, own = str(problem).partition("\n")[0], _own_lines(error.__traceback__)
    if own is not None and not _is_users(error) and all(first in str(each) for each in _leaves(error)):
        cause = problem.__cause__
        if cause is None or not _is_users(cause):
            problem.__cause__, problem.__suppress_context__ = None, True
        raise problem.with_traceback(own)
    hide_clients(error)
    _raise_at(test, problem)


def _raise_at(test: object, problem: Exception) -> NoReturn:
    """Raise a problem as if the line that defines the user's function `test` raised it."""
    __tracebackhide__ = True
    code = getattr(inspect.unwrap(test), "__code__", None) if callable(test) else None
    if isinstance(code, CodeType) and is_users(code.co_filename):
        start = code.co_firstlineno  # the line of the first decorator, if the function has decorators
        lines = linecache.getlines(code.co_filename)[start - 1 :]
        at = next((number for number, line in enumerate(lines, start) if _DEFINES.match(line)), start)
        raising = compile("raise problem", code.co_filename, "exec").replace(co_firstlineno=at)
        FunctionType(raising, {"problem": problem})()
    _raise(problem)


_DEFINES: Final = re.compile(r"\s*(?:async\s+)?def\b")


def _raise(problem: Exception) -> NoReturn:
    raise problem  # the problem was found after the end of the test


def hide_clients(error: BaseException) -> None:
    """Keep only the user's frames in the tracebacks of `error`, which a client raised, and of its causes."""
    for each in with_causes(error):
        own = _own_lines(each.__traceback__)
        if not _is_users(each) and (own is not None or each is not error):  # `error` itself must keep a frame
            each.__traceback__ = own


def with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, all its causes and contexts, and the members of exception groups; yield each of them once."""
    seen: dict[int, BaseException] = {}
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen[id(each)] = each
            yield each
            waiting += (*_members(each), each.__cause__, each.__context__)


def hide_own(excinfo: pytest.ExceptionInfo[BaseException], item: pytest.Item) -> None:
    """Cut off a traceback after the user's last line if this package raised the error.

    An example is the error for a wrong argument. The traceback keeps all frames if none of them is the user's, as in an
    error about a marker, or with `--full-trace`.
    """
    if not isinstance(excinfo.value, ConverseHarnessError) or item.config.getoption("fulltrace", False):
        return
    entries = _user_entries(excinfo.value.__traceback__)
    if entries:
        entries[-1].tb_next = None  # pytest follows `tb_next` to the end of a traceback, so the end must be set here
        excinfo.traceback = type(excinfo.traceback)(excinfo.tb)


def replace_kept_error(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Let pytest report the problem that a hook raised after a unittest method, and not the method's own error."""
    if call.when == "call" and call.excinfo is not None and kept_error(item) is not None:
        cast("Any", item)._excinfo[0] = call.excinfo


def _members(error: BaseException) -> tuple[BaseException, ...]:
    return cast("Any", error).exceptions if isinstance(error, BaseExceptionGroup) else ()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors in a group and in its nested groups; for an error that is no group, yield the error itself."""
    members = _members(error)
    if not members:
        yield error
    for each in members:
        yield from _leaves(each)


def _own_lines(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback with only the frames of the user's code; None if there are no such frames."""
    own: TracebackType | None = None
    for each in reversed(_user_entries(trace)):
        own = TracebackType(own, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return own


def _user_entries(trace: TracebackType | None) -> list[TracebackType]:
    """Return the entries of a traceback that are in the user's code; the innermost entry is the last."""
    entries = list[TracebackType]()
    while trace is not None:
        if is_users(trace.tb_frame.f_code.co_filename):
            entries.append(trace)
        trace = trace.tb_next
    return entries


def _is_users(error: BaseException) -> bool:
    """Whether the user's own code raised an error, such as an assertion of the test."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    return bool(frames) and is_users(frames[-1].f_code.co_filename)


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
