"""What an agent raises."""

from typing import Any


class ContextWindowOverflowException(Exception):
    """The conversation, system prompt and tools are more than the model's context window takes."""


class EventLoopException(Exception):
    """An agent's loop failed: `original_exception` says why, `request_state` what it had so far, `{}` for None.

    >>> str(EventLoopException(ValueError("no such tool")))
    'no such tool'
    """

    def __init__(self, original_exception: Exception, request_state: Any = None) -> None:
        super().__init__(str(original_exception))
        self.original_exception = original_exception
        self.request_state: Any = {} if request_state is None else request_state

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is copied from its args: here that would be the text alone.
        return type(self), (self.original_exception, self.request_state)


class MCPClientInitializationError(Exception):
    """A server of the Model Context Protocol did not start up as it should."""


class ModelThrottledException(Exception):
    """The service asks for fewer requests; `message` is what it says."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class SessionException(Exception):
    """A session could not be read or kept."""
