"""Strategies for `converse_harness.types.exceptions`: exception objects that were not raised."""

from __future__ import annotations

from hypothesis import strategies as st

from converse_harness.types import exceptions
from converse_strategies import basics
from converse_strategies.basics import Texts, cached, some


def context_window_overflow_exceptions(
    *, texts: Texts | None = None
) -> st.SearchStrategy[exceptions.ContextWindowOverflowException]:
    """ContextWindowOverflowExceptions with any text."""
    return st.builds(exceptions.ContextWindowOverflowException, some(texts))


@cached
def event_loop_exceptions(*, texts: Texts | None = None) -> st.SearchStrategy[exceptions.EventLoopException]:
    """EventLoopExceptions with a cause (a RuntimeError or an exception of this module) and a request state, which is
    often `{}`.

    >>> from hypothesis import find
    >>> find(event_loop_exceptions(), lambda error: True).request_state
    {}
    """
    plain = st.builds(RuntimeError, some(texts))
    causes = st.one_of(plain, model_throttled_exceptions(texts=texts), context_window_overflow_exceptions(texts=texts))
    return st.builds(exceptions.EventLoopException, causes, st.none() | basics.json_objects())


def mcp_client_initialization_errors(
    *, texts: Texts | None = None
) -> st.SearchStrategy[exceptions.MCPClientInitializationError]:
    """MCPClientInitializationErrors with any text."""
    return st.builds(exceptions.MCPClientInitializationError, some(texts))


def model_throttled_exceptions(*, texts: Texts | None = None) -> st.SearchStrategy[exceptions.ModelThrottledException]:
    """ModelThrottledExceptions with any text."""
    return st.builds(exceptions.ModelThrottledException, some(texts))


def session_exceptions(*, texts: Texts | None = None) -> st.SearchStrategy[exceptions.SessionException]:
    """SessionExceptions with any text."""
    return st.builds(exceptions.SessionException, some(texts))
