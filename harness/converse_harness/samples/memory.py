"""Memory and session samples: what the agent remembers of the traveller, where, and how requests include it."""

from __future__ import annotations

from typing import Any, Final, cast

from converse_harness.samples import content

_STORE: Final = "travellers"


def entry() -> Any:
    """A MemoryEntry about the traveller."""
    from converse_harness.types.memory import MemoryEntry

    return MemoryEntry(f"{content.TRAVELLER} travels with one bag.", store_name=_STORE, metadata={"score": 0.87})


def store() -> Any:
    """A memory store that contains the sample entry."""
    from converse_harness.types.memory import InMemoryStore

    return InMemoryStore(name=_STORE, description="What travellers told us", max_search_results=5, entries=[entry()])


def store_config() -> dict[str, Any]:
    """The MemoryStoreConfig of the sample store."""
    return {"name": _STORE, "description": "What travellers told us", "max_search_results": 5, "writable": True}


def search_options() -> dict[str, Any]:
    """SearchOptions for one store."""
    return {"max_search_results": 3}


def memory_search_options() -> dict[str, Any]:
    """MemorySearchOptions for all stores."""
    return {"max_search_results": 3, "stores": [_STORE]}


def add_options() -> dict[str, Any]:
    """MemoryAddOptions for all stores."""
    return {"metadata": {"source": "chat"}, "stores": [_STORE]}


def tool_config() -> dict[str, Any]:
    """The MemoryToolConfig of the search tool."""
    return {"name": "recall", "description": "Look up what the traveller told us before."}


def add_tool_config() -> dict[str, Any]:
    """The MemoryAddToolConfig of the add tool."""
    return {
        "name": "remember",
        "description": "Keep what the traveller told us.",
        "stores": [_STORE],
        "wait_for_writes": True,
    }


def add_context() -> Any:
    """An AddMessagesContext with the messages' sequence numbers."""
    from converse_harness.types.memory import AddMessagesContext

    return AddMessagesContext(sequence_numbers=[0, 1, 2, 3])


def query_context() -> Any:
    """An InjectionQueryContext with the sample conversation."""
    from converse_harness.types.memory import InjectionQueryContext

    return InjectionQueryContext(cast("Any", content.messages()))


def query() -> Any:
    """A query callback: returns the search query for a conversation."""
    from converse_harness.types.memory import last_user_text

    return last_user_text


def format_context() -> Any:
    """An InjectionFormatContext with the sample entry."""
    from converse_harness.types.memory import InjectionFormatContext

    return InjectionFormatContext([entry()])


def as_text() -> Any:
    """A format callback: returns the text to inject."""
    from converse_harness.types.memory import as_list

    return as_list


def injection() -> dict[str, Any]:
    """An InjectionConfig: when memories are injected."""
    return {"trigger": "userTurn", "max_entries": 5, "query": query(), "format": as_text()}


def manager_config() -> dict[str, Any]:
    """The MemoryManagerConfig of an agent."""
    return {
        "stores": [store()],
        "search_tool_config": tool_config(),
        "add_tool_config": add_tool_config(),
        "injection": injection(),
    }


_CREATED: Final = "2026-03-13T09:24:07.513204+00:00"
_UPDATED: Final = "2026-03-13T09:24:11.038815+00:00"


def session_type() -> Any:
    """The SessionType; there is only one."""
    from converse_harness.types.session import SessionType

    return SessionType.AGENT


def session() -> Any:
    """A Session of the agent."""
    from converse_harness.types.session import Session

    return Session("07d11351-698e-4e18-bb16-229a2e77d2ae", session_type(), _CREATED, _UPDATED)


def agent() -> Any:
    """The SessionAgent of the session."""
    from converse_harness.types.session import SessionAgent

    manager = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0}
    return SessionAgent(
        agent_id="travel",
        state={"traveller": content.TRAVELLER},
        conversation_manager_state=manager,
        created_at=_CREATED,
        updated_at=_UPDATED,
    )


def message() -> Any:
    """The second SessionMessage of the session."""
    from converse_harness.types.session import SessionMessage

    return SessionMessage(cast("Any", content.message()), 1, created_at=_CREATED, updated_at=_UPDATED)


def with_bytes() -> dict[str, Any]:
    """A message with an image as bytes."""
    return {"role": "user", "content": [{"text": "What is this?"}, {"image": content.image()}]}


def without_bytes() -> dict[str, Any]:
    """The same message in its stored form: JSON with the bytes as marked base64."""
    from converse_harness.types.session import encode_bytes_values

    kept: dict[str, Any] = encode_bytes_values(with_bytes())
    return kept
