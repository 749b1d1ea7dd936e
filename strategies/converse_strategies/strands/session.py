"""Strategies for `converse_harness.types.session`: sessions, agents, messages, and values in the form in which they are
stored.
"""

from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness.types import session as types
from converse_strategies import basics
from converse_strategies.basics import RARELY, Texts, Value, built, cached, sampled
from converse_strategies.strands.content import messages

_IDS: Final = st.text(string.ascii_lowercase + string.digits + "-_", min_size=1, max_size=36)
_START: Final = datetime(2025, 1, 1, tzinfo=UTC)
_SECONDS: Final = st.integers(0, 10**8)
_Times = tuple[str, str]


def _times(made: int, until_changed: int) -> _Times:
    first, last = (_START + timedelta(seconds=second) for second in (made, made + until_changed))
    return first.isoformat(), last.isoformat()


_TIMES: Final = built(_times, _SECONDS, _SECONDS)
"""(time of creation, time of the last change), as ISO 8601 strings; the change is not before the creation."""


def session_types() -> st.SearchStrategy[types.SessionType]:
    """SessionTypes: always AGENT, the only member of this enum."""
    return sampled(tuple(types.SessionType))


@cached
def sessions() -> st.SearchStrategy[types.Session]:
    """Sessions: the ids are valid file names, and the last change is not before the creation.

    >>> from hypothesis import find
    >>> find(sessions(), lambda session: True).created_at
    '2025-01-01T00:00:00+00:00'
    """

    def session(name: str, kind: types.SessionType, times: _Times) -> types.Session:
        return types.Session(name, kind, *times)

    return built(session, _IDS, session_types(), _TIMES)


@cached
def session_agents() -> st.SearchStrategy[types.SessionAgent]:
    """SessionAgents: the states of the agent and of its conversation manager are JSON objects."""

    def agent(name: str, state: Value, manager: Value, times: _Times) -> types.SessionAgent:
        return types.SessionAgent(name, state, manager, {}, *times)

    return built(agent, _IDS, basics.json_objects(), basics.json_objects(), _TIMES)


@cached
def session_messages(*, texts: Texts | None = None) -> st.SearchStrategy[types.SessionMessage]:
    """SessionMessages: a message, its index, and the times of creation and of the last change.

    One in four also has a `redact_message`, which replaces the message.
    """
    found: st.SearchStrategy[Any] = messages(texts=texts)

    def message(said: Any, index: int, instead: Any, times: _Times) -> types.SessionMessage:
        return types.SessionMessage(said, index, instead, *times)

    instead = RARELY.flatmap(lambda gave_way: found if gave_way else st.none())
    return built(message, found, st.integers(0, 99), instead, _TIMES)


@cached
def values_with_bytes() -> st.SearchStrategy[Any]:
    """Arguments for `encode_bytes_values`: JSON values that may contain bytes.

    >>> from hypothesis import find
    >>> find(values_with_bytes(), lambda value: isinstance(value, list) and b"" in value)
    [b'']
    """
    scalars = st.one_of(st.none(), st.booleans(), st.integers(), basics.texts(), st.binary(max_size=48))
    return st.recursive(
        scalars,
        lambda values: st.lists(values, max_size=3) | st.dictionaries(basics.texts(), values, max_size=3),
        max_leaves=5,
    )


@cached
def encoded_values() -> st.SearchStrategy[Any]:
    """Arguments for `decode_bytes_values`: JSON values in which dicts with a marker and base64 represent bytes.

    >>> from hypothesis import find
    >>> find(encoded_values(), lambda value: isinstance(value, dict) and "__bytes_encoded__" in value)
    {'__bytes_encoded__': True, 'data': ''}
    """
    return basics.made(values_with_bytes(), types.encode_bytes_values)
