"""Exceptions of Strands, each ready to be raised."""

from __future__ import annotations

from typing import Any


def context_window_overflow() -> Exception:
    """The conversation is too long."""
    from converse_harness.types.exceptions import ContextWindowOverflowException

    return ContextWindowOverflowException("Input is too long for requested model.")


def event_loop() -> Exception:
    """The agent's loop failed since its tool did."""
    from converse_harness.types.exceptions import EventLoopException

    state: dict[str, Any] = {"booking": "BK-482913"}
    return EventLoopException(ConnectionError("the weather service does not answer"), state)


def mcp_client_initialization() -> Exception:
    """The tool's server did not start."""
    from converse_harness.types.exceptions import MCPClientInitializationError

    return MCPClientInitializationError("the client initialization failed")


def model_throttled() -> Exception:
    """Too many requests."""
    from converse_harness.types.exceptions import ModelThrottledException

    return ModelThrottledException("Too many requests, please wait before trying again.")


def session() -> Exception:
    """The session is not there."""
    from converse_harness.types.exceptions import SessionException

    return SessionException("there is no session with this id")
