"""The small implementations of the memory protocols do what the protocols say."""

from __future__ import annotations

import asyncio

import pytest

from converse_harness.types.content import Messages
from converse_harness.types.memory import (
    AddMessagesContext,
    InjectionFormatCallback,
    InjectionFormatContext,
    InjectionQueryCallback,
    InjectionQueryContext,
    InMemoryStore,
    MemoryEntry,
    MemoryStore,
    SearchOptions,
    as_list,
    last_user_text,
)


def found(store: InMemoryStore, query: str, options: SearchOptions | None = None) -> list[str]:
    return [entry.content for entry in asyncio.run(store.search(query, options))]


def entries(*texts: str) -> list[MemoryEntry]:
    return [MemoryEntry(text) for text in texts]


def test_most_shared_words_come_first_then_the_oldest() -> None:
    store = InMemoryStore(entries=entries("drinks tea", "tea at noon", "green tea at noon", "coffee"))
    assert found(store, "Tea, at NOON!") == ["tea at noon", "green tea at noon", "drinks tea"]
    assert found(store, "beer") == []
    assert found(store, "?") == ["drinks tea", "tea at noon", "green tea at noon", "coffee"]


def test_limit_is_that_of_the_call_or_of_the_store() -> None:
    store = InMemoryStore(max_search_results=2, entries=entries("tea 1", "tea 2", "tea 3"))
    assert found(store, "tea") == ["tea 1", "tea 2"]
    assert found(store, "tea", {"max_search_results": 1}) == ["tea 1"]


def test_messages_become_entries() -> None:
    store = InMemoryStore()
    messages: Messages = [
        {"role": "user", "content": [{"text": "Tea?"}, {"cachePoint": {"type": "default"}}]},
        {"role": "assistant", "content": [{"text": "Gladly."}]},
    ]
    asyncio.run(store.add_messages(messages, AddMessagesContext(sequence_numbers=[4, 7])))
    assert store.entries == [
        MemoryEntry("Tea?", metadata={"role": "user", "sequence_number": 4}),
        MemoryEntry("Gladly.", metadata={"role": "assistant", "sequence_number": 7}),
    ]
    asyncio.run(store.add_messages(messages))
    assert store.entries[-1].metadata == {"role": "assistant"}


def test_store_that_is_not_writable_says_so() -> None:
    store = InMemoryStore("notes", writable=False)
    with pytest.raises(ValueError, match="'notes' has writable=False"):
        asyncio.run(store.add("tea"))
    with pytest.raises(ValueError, match="writable=True"):
        asyncio.run(store.add_messages([{"role": "user", "content": [{"text": "tea"}]}]))
    assert store.entries == []


def test_stores_share_nothing_by_accident() -> None:
    asyncio.run(InMemoryStore().add("tea"))
    assert InMemoryStore().entries == []


def test_store_is_a_memory_store() -> None:
    store: MemoryStore = InMemoryStore()
    asyncio.run(store.initialize())
    assert store.get_tools() == []


def test_store_that_only_reads_needs_no_more_than_search() -> None:
    class Fixed(MemoryStore):
        name = "fixed"
        description = None
        max_search_results = None
        writable = False
        extraction = None

        async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
            return entries("tea")

    store = Fixed()
    asyncio.run(store.initialize())
    assert store.get_tools() == []
    with pytest.raises(NotImplementedError, match=r"Fixed has no add\(\)"):
        asyncio.run(store.add("tea"))
    with pytest.raises(NotImplementedError, match=r"Fixed has no add_messages\(\)"):
        asyncio.run(store.add_messages([]))


def test_callbacks() -> None:
    query: InjectionQueryCallback = last_user_text
    conversation: Messages = [
        {"role": "user", "content": [{"text": "Tea?"}, {"text": "Or coffee?"}]},
        {"role": "assistant", "content": [{"text": "Tea."}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t", "status": "success", "content": []}}]},
    ]
    assert query(InjectionQueryContext(conversation), later=True) == "Tea?\nOr coffee?"
    assert query(InjectionQueryContext([])) is None
    form: InjectionFormatCallback = as_list
    assert form(InjectionFormatContext(entries("a", "b")), later=True) == "- a\n- b"
