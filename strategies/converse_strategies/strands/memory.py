"""Strategies for `converse_harness.types.memory`: entries, options, configurations, and working stores in memory."""

from __future__ import annotations

from typing import Any, Final, get_args

from hypothesis import strategies as st

from converse_harness.types import memory as types
from converse_strategies import basics
from converse_strategies.basics import Texts, Values, built, cached, composite, dicts, sampled, some
from converse_strategies.strands.content import conversations

_NAMES: Final = basics.tool_names()
_LIMITS: Final = st.integers(1, 20)
_STORE_NAMES: Final = st.lists(_NAMES, max_size=3, unique=True)


class Never(types.ExtractionTrigger):
    """An ExtractionTrigger that never fires."""

    name = "never"

    def attach(self, context: types.ExtractionTriggerContext) -> None:
        """Do nothing: the trigger never fires."""

    def __repr__(self) -> str:
        return "Never()"


class TextExtractor:
    """An Extractor for tests, which extracts the text of every text block."""

    async def extract(
        self, messages: list[Any], context: types.ExtractorContext | None = None
    ) -> list[types.ExtractionResult]:
        """Return a result for each text block of the messages."""
        texts = [block["text"] for message in messages for block in message["content"] if "text" in block]
        return [types.ExtractionResult(text) for text in texts]

    def __repr__(self) -> str:
        return "TextExtractor()"


def _always(context: types.InjectionContext, **kwargs: Any) -> bool:
    return True


def _nothing(context: types.InjectionQueryContext, **kwargs: Any) -> str | None:
    return None


def _joined(context: types.InjectionFormatContext, **kwargs: Any) -> str:
    return "\n".join(entry.content for entry in context.entries)


@cached
def memory_entries(*, texts: Texts | None = None) -> st.SearchStrategy[types.MemoryEntry]:
    """MemoryEntries: any text as the content. The name of the store and the metadata may be None.

    >>> from hypothesis import find
    >>> find(memory_entries(), lambda entry: True)
    MemoryEntry(content='', store_name=None, metadata=None)
    """
    return st.builds(types.MemoryEntry, some(texts), st.none() | _NAMES, st.none() | basics.json_objects())


def search_options() -> Values:
    """SearchOptions: empty dicts, or dicts with the largest number of entries to find."""
    return dicts({}, max_search_results=_LIMITS)


def memory_search_options() -> Values:
    """MemorySearchOptions: dicts that may have a list of names of stores, and the largest number of entries to find."""
    return dicts({}, max_search_results=_LIMITS, stores=_STORE_NAMES)


def memory_add_options() -> Values:
    """MemoryAddOptions: dicts that may have a list of names of stores, and metadata."""
    return dicts({}, metadata=basics.json_objects(), stores=_STORE_NAMES)


def memory_tool_configs(*, texts: Texts | None = None) -> Values:
    """MemoryToolConfigs: dicts that may have the name of a tool, and a description."""
    return dicts({}, name=_NAMES, description=some(texts))


@cached
def memory_add_tool_configs(*, texts: Texts | None = None) -> Values:
    """MemoryAddToolConfigs: dicts whose members are all optional. `stores` contains names and store objects."""
    stores: st.SearchStrategy[Any] = st.lists(_NAMES | memory_stores(texts=texts), max_size=2)
    return dicts({}, name=_NAMES, description=some(texts), stores=stores, wait_for_writes=st.booleans())


@composite
def add_messages_contexts(draw: st.DrawFn) -> types.AddMessagesContext:
    """AddMessagesContexts: `sequence_numbers` is a list of increasing numbers, perhaps with gaps, or None.

    >>> from hypothesis import find
    >>> find(add_messages_contexts(), lambda context: context.sequence_numbers)
    AddMessagesContext(sequence_numbers=[0])
    """
    gaps = draw(_GAPS)
    if gaps is None:
        return types.AddMessagesContext()
    return types.AddMessagesContext([sum(gaps[: place + 1]) + place for place in range(len(gaps))])


_GAPS: Final = st.none() | st.lists(st.integers(0, 3), max_size=4)


@cached
def memory_stores(*, texts: Texts | None = None) -> st.SearchStrategy[types.InMemoryStore]:
    """MemoryStores that can be searched and, if `writable` is true, extended: InMemoryStores with at most three
    entries.

    >>> from hypothesis import find
    >>> find(memory_stores(), lambda store: store.entries).entries
    [MemoryEntry(content='', store_name=None, metadata=None)]
    """
    return st.builds(
        types.InMemoryStore,
        name=_NAMES,
        description=st.none() | some(texts),
        max_search_results=st.none() | _LIMITS,
        writable=st.booleans(),
        extraction=st.sampled_from((None, False, True)),
        entries=st.lists(memory_entries(texts=texts), max_size=3),
    )


def memory_store_configs(*, texts: Texts | None = None) -> Values:
    """MemoryStoreConfigs: a name; every other setting is present or absent."""
    return dicts(
        {"name": _NAMES},
        description=some(texts),
        max_search_results=_LIMITS,
        writable=st.booleans(),
        extraction=_switches(extraction_configs()),
    )


def injection_query_contexts(*, texts: Texts | None = None) -> st.SearchStrategy[types.InjectionQueryContext]:
    """InjectionQueryContexts with a conversation."""
    return built(types.InjectionQueryContext, conversations(texts=texts))


@cached
def injection_format_contexts(*, texts: Texts | None = None) -> st.SearchStrategy[types.InjectionFormatContext]:
    """InjectionFormatContexts with at most three entries."""
    return st.lists(memory_entries(texts=texts), max_size=3).map(types.InjectionFormatContext)


def injection_query_callbacks() -> st.SearchStrategy[types.InjectionQueryCallback]:
    """InjectionQueryCallbacks: the function `last_user_text`, or one that returns None, so that nothing is injected."""
    return sampled((types.last_user_text, _nothing))


def injection_format_callbacks() -> st.SearchStrategy[types.InjectionFormatCallback]:
    """InjectionFormatCallbacks: the function `as_list`, or one that joins the contents of the entries with newlines."""
    return sampled((types.as_list, _joined))


def injection_contexts(*, texts: Texts | None = None) -> st.SearchStrategy[types.InjectionContext]:
    """InjectionContexts with a conversation and a state; `agent` is None."""
    return built(types.InjectionContext, conversations(texts=texts), basics.json_objects(), st.none())


def trigger_callbacks() -> st.SearchStrategy[types.TriggerCallback]:
    """TriggerCallbacks: a function that always returns True, so that memories are injected into every model call."""
    return st.just(_always)


_TRIGGERS: Final[st.SearchStrategy[Any]] = st.one_of(
    st.sampled_from(get_args(types.InjectionTrigger)), trigger_callbacks()
)


def injection_configs() -> Values:
    """InjectionConfigs: dicts in which `trigger` is absent, the name of a trigger, or a function."""
    return dicts({}, trigger=_TRIGGERS)


def memory_injection_configs() -> Values:
    """MemoryInjectionConfigs: every setting is present or absent."""
    return dicts(
        {},
        trigger=_TRIGGERS,
        max_entries=_LIMITS,
        query=injection_query_callbacks(),
        format=injection_format_callbacks(),
    )


@cached
def memory_manager_configs(*, texts: Texts | None = None) -> Values:
    """MemoryManagerConfigs: dicts with one or two stores with different names.

    Each other setting is absent, a boolean or a configuration.
    """
    stores = st.lists(memory_stores(texts=texts), min_size=1, max_size=2, unique_by=lambda store: store.name)
    return dicts(
        {"stores": stores},
        search_tool_config=_switches(memory_tool_configs(texts=texts)),
        add_tool_config=_switches(memory_add_tool_configs(texts=texts)),
        injection=_switches(memory_injection_configs()),
    )


@cached
def _switches(configs: Values) -> st.SearchStrategy[Any]:
    """Return a strategy for True, False and the given configurations."""
    return st.one_of(st.booleans(), configs)


@cached
def extraction_results(*, texts: Texts | None = None) -> st.SearchStrategy[types.ExtractionResult]:
    """ExtractionResults: any text as the text to remember, and metadata or None."""
    return st.builds(types.ExtractionResult, some(texts), st.none() | basics.json_objects())


def extractor_contexts() -> st.SearchStrategy[types.ExtractorContext]:
    """ExtractorContexts without a model."""
    return st.builds(types.ExtractorContext)


def extractors() -> st.SearchStrategy[types.Extractor]:
    """Extractors: `TextExtractor` objects, which extract the text of every text block."""
    return st.builds(TextExtractor)


@cached
def memory_message_filters() -> st.SearchStrategy[types.MemoryMessageFilter]:
    """MemoryMessageFilters that exclude up to four kinds of blocks."""
    kinds: st.SearchStrategy[Any] = st.sampled_from(get_args(types.MemoryContentBlockType))
    return st.lists(kinds, max_size=4, unique=True).map(types.MemoryMessageFilter)


def extraction_triggers() -> st.SearchStrategy[types.ExtractionTrigger]:
    """ExtractionTriggers: `Never` objects, which never fire."""
    return st.builds(Never)


@cached
def extraction_trigger_contexts() -> st.SearchStrategy[types.ExtractionTriggerContext]:
    """ExtractionTriggerContexts: `agent` is None, and `fire` does nothing."""
    return st.builds(types.ExtractionTriggerContext, st.none(), st.just(_fire))


def _fire() -> None:
    pass


@cached
def extraction_configs() -> Values:
    """ExtractionConfigs: every setting is present or absent; `trigger` is one trigger or a list of triggers."""
    triggers: st.SearchStrategy[Any] = st.one_of(
        extraction_triggers(), st.lists(extraction_triggers(), min_size=1, max_size=2)
    )
    return dicts({}, trigger=triggers, extractor=extractors(), filter=memory_message_filters())
