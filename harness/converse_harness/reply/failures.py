"""Errors before the stream, as Bedrock sends them; and no answer at all."""

from __future__ import annotations

from converse_harness import model
from converse_harness.errors import ReplyError
from converse_harness.replies import ErrorBody, Reply
from converse_harness.wire.http import ConnectionFailure
from converse_harness.wordings import usual


def error(name: str, message: str | None = None, *, status: int | None = None, **members: object) -> Reply:
    """Fail before the stream, with an HTTP error as Bedrock sends it.

    `name` is an error shape of Converse, ConverseStream or CountTokens; `message` a usual wording if not given;
    `members` are further members of the shape. One that is not in the model needs its `status`. Raises ReplyError.

    >>> error("ModelTimeoutException").summary
    'ModelTimeoutException (408) "Model has timed out in processing the request. Try ..."'
    """
    shapes = model.all_errors()
    body = {"message": usual(name) if message is None else message, **members}
    if status is None and name not in shapes:
        raise ReplyError(
            f"{name!r} is not an error of Bedrock Runtime. One of: {', '.join(sorted(shapes))}. "
            "For one that is not in the model give its status=."
        )
    if name in shapes:
        model.check(name, body, root=name)
    return Reply(ErrorBody(name, shapes[name].status if status is None else status, body))


def throttled(message: str | None = None) -> Reply:
    """Fail with 429 ThrottlingException, which clients retry.

    >>> throttled().times(2).summary
    'ThrottlingException (429) "Too many requests, please wait before trying again.", 2 times'
    """
    return error("ThrottlingException", message)


def context_overflow() -> Reply:
    """Fail as Bedrock does when the conversation is too long, in the wording that every known client recognises.

    >>> context_overflow().summary
    'ValidationException (400) "Input is too long for requested model."'
    """
    return error("ValidationException", "Input is too long for requested model.")


def connection_refused() -> Reply:
    """Refuse the connection, instead of an answer."""
    return Reply(ConnectionFailure.REFUSED)


def connect_timeout() -> Reply:
    """Let the connection time out, at once: the client's own timeout error without the wait."""
    return Reply(ConnectionFailure.CONNECT_TIMEOUT)


def read_timeout() -> Reply:
    """Let the client wait in vain for the answer, at once: its own timeout error without the wait."""
    return Reply(ConnectionFailure.READ_TIMEOUT)
