"""No answer at all."""

from __future__ import annotations

from typing import Final

from converse_harness import faults
from converse_harness.bodies import MessageBody
from converse_harness.replies import Reply

_NOTHING: Final = Reply(MessageBody((), "end_turn"))


def connection_refused() -> Reply:
    """Refuse the connection, instead of an answer.

    >>> connection_refused().times(2)
    <Reply connection_refused, 2 times>
    """
    return _NOTHING.broken(faults.connection_refused)


def connect_timeout() -> Reply:
    """Let the connection time out, at once: the client's own timeout error without the wait.

    >>> connect_timeout()
    <Reply connect_timeout>
    """
    return _NOTHING.broken(faults.connect_timeout)


def read_timeout() -> Reply:
    """Let the client wait in vain for the answer, at once: its own timeout error without the wait.

    >>> read_timeout()
    <Reply read_timeout>
    """
    return _NOTHING.broken(faults.read_timeout)
