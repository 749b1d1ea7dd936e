"""What pytest shows above the problem of a fake: the user's own lines, and no frames of clients or of this plugin."""

from __future__ import annotations

from traceback import walk_tb
from types import TracebackType
from typing import NoReturn

from converse_harness.plugin.lines import is_users


def fail(problem: Exception, error: BaseException | None, *, full: bool) -> NoReturn:
    """Raise the problem of a fake in a test that passed, or that raised `error`.

    If the client raised `error` because of the problem, the problem takes its place, at the same line of the user's.
    Another error of a client stays above the problem, without the frames of the client. `full` keeps all frames.
    """
    __tracebackhide__ = True
    own = None if error is None or full else _own_lines(error.__traceback__)
    if error is None or own is None or _is_users_error(error):
        _raise(problem)
    if str(problem).partition("\n")[0] in str(error):
        problem.__cause__, problem.__suppress_context__ = None, True
        raise problem.with_traceback(own)
    error.__traceback__ = own
    _raise(problem)


def _raise(problem: Exception) -> NoReturn:
    raise problem  # found when the test had ended


def _own_lines(trace: TracebackType | None) -> TracebackType | None:
    """A traceback with only the frames of the user's code; None if it has none."""
    entries = list[TracebackType]()
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    made: TracebackType | None = None
    for each in reversed(entries):
        if is_users(each.tb_frame.f_code.co_filename):
            made = TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made


def _is_users_error(error: BaseException) -> bool:
    """Whether the user's own code raised an error, such as an assertion of the test."""
    *_, (frame, _) = walk_tb(error.__traceback__)
    return is_users(frame.f_code.co_filename)
