"""The exceptions that a Strands agent raises."""

from typing import Any


class ContextWindowOverflowException(Exception):
    """The conversation, system prompt and tools exceed the model's context window."""


class EventLoopException(Exception):
    """An agent's loop failed: `original_exception` is the cause, `request_state` the state so far (`{}` if None is
    passed).

    >>> str(EventLoopException(ValueError("no such tool")))
    'no such tool'
    """

    def __init__(self, original_exception: Exception, request_state: Any = None) -> None:
        super().__init__(str(original_exception))
        self.original_exception = original_exception
        self.request_state: Any = {} if request_state is None else request_state

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is copied from its `args`, which contain only the text.
        return type(self), (self.original_exception, self.request_state)


class MCPClientInitializationError(Exception):
    """A server of the Model Context Protocol (MCP) did not initialize properly."""


class ModelThrottledException(Exception):
    """The service throttled a request; `message` is the text of the error."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class SessionException(Exception):
    """A session could not be read or stored."""
