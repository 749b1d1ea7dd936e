"""Strategies for `converse_harness.types.exceptions`: exceptions as they are made, not raised."""

from __future__ import annotations

from hypothesis import strategies as st

from converse_harness.types import exceptions
from converse_strategies import leaves
from converse_strategies.strands.making import Texts, cached, some


@cached
def context_window_overflow_exceptions(
    *, texts: Texts | None = None
) -> st.SearchStrategy[exceptions.ContextWindowOverflowException]:
    """ContextWindowOverflowExceptions with a text."""
    return st.builds(exceptions.ContextWindowOverflowException, some(texts))


@cached
def event_loop_exceptions(*, texts: Texts | None = None) -> st.SearchStrategy[exceptions.EventLoopException]:
    """EventLoopExceptions: a cause that agents meet, and the state of the request, `{}` where there is none.

    >>> from hypothesis import find
    >>> find(event_loop_exceptions(), lambda error: True).request_state
    {}
    """
    plain = st.builds(RuntimeError, some(texts))
    causes = st.one_of(plain, model_throttled_exceptions(texts=texts), context_window_overflow_exceptions(texts=texts))
    return st.builds(exceptions.EventLoopException, causes, st.none() | leaves.json_objects())


@cached
def mcp_client_initialization_errors(
    *, texts: Texts | None = None
) -> st.SearchStrategy[exceptions.MCPClientInitializationError]:
    """MCPClientInitializationErrors with a text."""
    return st.builds(exceptions.MCPClientInitializationError, some(texts))


@cached
def model_throttled_exceptions(*, texts: Texts | None = None) -> st.SearchStrategy[exceptions.ModelThrottledException]:
    """ModelThrottledExceptions with the service's message."""
    return st.builds(exceptions.ModelThrottledException, some(texts))


@cached
def session_exceptions(*, texts: Texts | None = None) -> st.SearchStrategy[exceptions.SessionException]:
    """SessionExceptions with a text."""
    return st.builds(exceptions.SessionException, some(texts))
