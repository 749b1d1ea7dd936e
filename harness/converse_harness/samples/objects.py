"""The samples that are functions, or instances of Strands' types: tools, exceptions, sessions, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from converse_harness.json_values import mapped
from converse_harness.samples import content
from converse_harness.stream.chunk import chunk
from converse_harness.types import exceptions, memory, session
from converse_harness.types.tools import FunctionTool, ToolContext, run_tools

STORE: Final = "travellers"
ABOUT: Final = "What travellers told us"
_TIMES: Final[Mapping[str, Any]] = {
    "created_at": "2026-03-13T09:24:07.513204+00:00",
    "updated_at": "2026-03-13T09:24:11.038815+00:00",
}


def fresh(value: Any) -> Any:
    """Return a deep copy of a value.

    No two places in the copy share an object, so a change in one place does not change another place.
    """
    return mapped(value, lambda _, each: fresh(each))


def _get_weather(tool_use: Any, **kwargs: Any) -> Any:
    """The sample tool's function: it returns the forecast for Zürich for any input."""
    return {**fresh(content.RESULT), "toolUseId": tool_use["toolUseId"]}


def _agent_tool() -> FunctionTool:
    return FunctionTool(fresh(content.SPEC), _get_weather)


def _context() -> Any:
    return ToolContext(tool_use=fresh(content.TOOL_USE), agent=None, invocation_state={"booking": "BK-482913"})


def _entry() -> memory.MemoryEntry:
    return memory.MemoryEntry(f"{content.TRAVELLER} travels with one bag.", store_name=STORE, metadata={"score": 0.87})


def _store() -> memory.InMemoryStore:
    return memory.InMemoryStore(name=STORE, description=ABOUT, max_search_results=5, entries=[_entry()])


WITH_BYTES: Final = {"role": "user", "content": [{"text": "What is this?"}, {"image": content.IMAGE}]}
INJECTION: Final = {
    "trigger": "userTurn",
    "max_entries": 5,
    "query": memory.last_user_text,
    "format": memory.as_list,
}
SEARCH_TOOL: Final = {"name": "recall", "description": "Look up what the traveller told us before."}
ADD_TOOL: Final = {
    "name": "remember",
    "description": "Keep what the traveller told us.",
    "stores": [STORE],
    "wait_for_writes": True,
}

OBJECTS: Final[Mapping[str, Callable[[], Any]]] = {
    "ConverseStreamOutput": lambda: chunk(content.MESSAGE, usage=content.USAGE, metrics=content.METRICS),
    "tools.AgentTool": _agent_tool,
    "tools.ToolFunc": lambda: _get_weather,
    "tools.ToolGenerator": lambda: _agent_tool().stream(fresh(content.TOOL_USE), {}),
    "tools.RunToolHandler": lambda: run_tools(_agent_tool()),
    "tools.ToolContext": _context,
    "tools._Interruptible": _context,
    "exceptions.ContextWindowOverflowException": lambda: exceptions.ContextWindowOverflowException(
        "Input is too long for requested model."
    ),
    "exceptions.EventLoopException": lambda: exceptions.EventLoopException(
        ConnectionError("the weather service does not answer"), {"booking": "BK-482913"}
    ),
    "exceptions.MCPClientInitializationError": lambda: exceptions.MCPClientInitializationError(
        "the client initialization failed"
    ),
    "exceptions.ModelThrottledException": lambda: exceptions.ModelThrottledException(
        "Too many requests, please wait before trying again."
    ),
    "exceptions.SessionException": lambda: exceptions.SessionException("there is no session with this id"),
    "session.Session": lambda: session.Session(
        "07d11351-698e-4e18-bb16-229a2e77d2ae", session.SessionType.AGENT, **_TIMES
    ),
    "session.SessionAgent": lambda: session.SessionAgent(
        agent_id="travel",
        state={"traveller": content.TRAVELLER},
        conversation_manager_state={"__name__": "SlidingWindowConversationManager", "removed_message_count": 0},
        **_TIMES,
    ),
    "session.SessionMessage": lambda: session.SessionMessage(fresh(content.MESSAGE), 1, **_TIMES),
    "session.decode_bytes_values": lambda: session.encode_bytes_values(WITH_BYTES),
    "memory.MemoryEntry": _entry,
    "memory.MemoryStore": _store,
    "memory.MemoryManagerConfig": lambda: {
        "stores": [_store()],
        "search_tool_config": fresh(SEARCH_TOOL),
        "add_tool_config": fresh(ADD_TOOL),
        "injection": fresh(INJECTION),
    },
    "memory.AddMessagesContext": lambda: memory.AddMessagesContext(sequence_numbers=[0, 1, 2, 3]),
    "memory.InjectionQueryContext": lambda: memory.InjectionQueryContext(fresh(content.MESSAGES)),
    "memory.InjectionFormatContext": lambda: memory.InjectionFormatContext([_entry()]),
}
"""Maps names in `table.SAMPLES` to functions that create a new value."""
