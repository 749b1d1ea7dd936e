"""An agent's memory between conversations: entries, stores for entries, and the injection of entries into requests.

`InMemoryStore`, `last_user_text` and `as_list` are small implementations of the protocols, for tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Required, TypeAlias, TypedDict

from converse_harness.types.content import Message, Messages
from converse_harness.types.tools import AgentTool

Metadata: TypeAlias = dict[str, Any]
"""Further data of an entry, such as scores and ids; all values are JSON."""

MemoryContentBlockType: TypeAlias = Literal[
    "text",
    "toolUse",
    "toolResult",
    "image",
    "document",
    "reasoningContent",
    "video",
    "guardContent",
    "citationsContent",
    "cachePoint",
]
"""The kinds of content blocks that a MemoryMessageFilter can exclude."""


@dataclass
class MemoryEntry:
    """A remembered text. A search over several stores sets `store_name` to the name of the entry's store."""

    content: str
    store_name: str | None = None
    metadata: Metadata | None = None


class SearchOptions(TypedDict, total=False):
    """Options for a search in one store: the maximum number of entries."""

    max_search_results: int


@dataclass
class AddMessagesContext:
    """Further information for a store that receives messages to keep.

    `sequence_numbers` is None or has one number for each message. The numbers stay the same when a batch is retried.
    This type is in strands-agents 1.62, but not in the documentation that the other types follow.
    """

    sequence_numbers: list[int] | None = None


class MemorySearchOptions(SearchOptions, total=False):
    """Options for a search over several stores: `stores` are the names of the stores to search, by default all."""

    stores: list[str]


class MemoryAddOptions(TypedDict, total=False):
    """Options for adding an entry: `stores` are the names of the stores to write to, by default all writable ones.

    `metadata` is in strands-agents 1.62, but not in the documentation that these types follow.
    """

    metadata: Metadata
    stores: list[str]


class MemoryToolConfig(TypedDict, total=False):
    """The name and description of a tool for the memory, which a model can use."""

    name: str
    description: str


@dataclass
class ExtractionResult:
    """A text worth remembering that was found in messages."""

    content: str
    metadata: Metadata | None = None


@dataclass
class ExtractorContext:
    """Further information for an Extractor: the model to use if the Extractor has none of its own."""

    default_model: Any = None


class Extractor(Protocol):
    """Finds texts worth remembering in messages."""

    async def extract(self, messages: list[Message], context: ExtractorContext | None = None) -> list[ExtractionResult]:
        """Return the texts worth remembering."""
        ...


@dataclass
class MemoryMessageFilter:
    """The kinds of content blocks that an extraction ignores. Messages with only such blocks are ignored too."""

    exclude: list[MemoryContentBlockType]


@dataclass
class ExtractionTriggerContext:
    """The argument of `ExtractionTrigger.attach`: the agent to watch, and `fire`, which starts an extraction."""

    agent: Any
    fire: Callable[[], None]


class ExtractionTrigger(ABC):
    """Decides when to extract texts worth remembering from messages; `name` appears in logs."""

    name: str

    @abstractmethod
    def attach(self, context: ExtractionTriggerContext) -> None:
        """Arrange for `context.fire()` to be called at the right times."""


class ExtractionConfig(TypedDict, total=False):
    """The automatic extraction of memories from messages: the triggers that start it, the extractor and the filter."""

    trigger: ExtractionTrigger | list[ExtractionTrigger]
    extractor: Extractor
    filter: MemoryMessageFilter


def _not_there(store: object, method: str) -> Any:
    # With a bare `raise NotImplementedError`, mypy would treat the method as abstract.
    raise NotImplementedError(f"{type(store).__name__} has no {method}(): nothing can be written to it that way.")


class MemoryStore(Protocol):
    """A store for memories. Its attributes are the fields of MemoryStoreConfig; its methods search and write entries.

    All methods but `search` have defaults, so a read-only store can leave them out. `InMemoryStore` is an example.
    """

    name: str
    description: str | None
    max_search_results: int | None
    writable: bool
    extraction: ExtractionConfig | bool | None

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries that match a query, the best first."""
        ...

    async def add(self, content: str, metadata: Metadata | None = None) -> Any:
        """Store one entry, even if an equal one exists. Raises NotImplementedError if the store cannot write."""
        return _not_there(self, "add")

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> Any:
        """Store messages with their roles. Raises NotImplementedError if the store cannot write."""
        return _not_there(self, "add_messages")

    async def initialize(self) -> None:
        """Prepare the store before an agent starts.

        The method is in strands-agents 1.62, but not in the documentation that these types follow.
        """
        return

    def get_tools(self) -> list[AgentTool]:
        """Return the store's own tools for agents; none by default."""
        return []


class MemoryAddToolConfig(MemoryToolConfig, total=False):
    """The tool that adds entries: its name, the stores that it may write to, and whether it waits for the writes."""

    stores: list[str | MemoryStore]
    wait_for_writes: bool


class MemoryStoreConfig(TypedDict, total=False):
    """The settings of a store, with the fields of MemoryStore. `extraction=True` selects the default extraction."""

    name: Required[str]
    description: str
    max_search_results: int
    writable: bool
    extraction: ExtractionConfig | bool


InjectionTrigger: TypeAlias = Literal["userTurn", "everyTurn"]
"""The requests into which memories are injected: only those that follow a message of the user, or all requests."""


@dataclass
class InjectionContext:
    """The arguments of a TriggerCallback: the conversation, the agent's state, the agent."""

    messages: Messages
    state: Any
    agent: Any


class TriggerCallback(Protocol):
    """Decides, for each model call, whether to inject memories."""

    def __call__(self, context: InjectionContext, **kwargs: Any) -> bool:
        """Return whether to inject memories into this request."""
        ...


InjectionTriggerPredicate: TypeAlias = InjectionTrigger | Callable[[InjectionContext], bool] | TriggerCallback
"""The condition for injecting memories into a request: the name of a trigger, or a function."""


class InjectionConfig(TypedDict, total=False):
    """Settings for the injection of memories into requests: `trigger` decides when to inject."""

    trigger: InjectionTriggerPredicate


@dataclass
class InjectionQueryContext:
    """The argument of an InjectionQueryCallback: the conversation."""

    messages: Messages


@dataclass
class InjectionFormatContext:
    """The argument of an InjectionFormatCallback: the entries that were found."""

    entries: list[MemoryEntry]


class InjectionQueryCallback(Protocol):
    """Makes a search query from a conversation. `last_user_text` is an example."""

    def __call__(self, context: InjectionQueryContext, **kwargs: Any) -> str | None:
        """Return the query; None or "" injects nothing into this request."""
        ...


class InjectionFormatCallback(Protocol):
    """Makes a text from the entries that were found. `as_list` is an example."""

    def __call__(self, context: InjectionFormatContext, **kwargs: Any) -> str:
        """Return the text to inject into the request."""
        ...


InjectionQuery: TypeAlias = Callable[[InjectionQueryContext], str | None] | InjectionQueryCallback
"""Function that makes a search query from a conversation; it may accept keyword arguments of later versions."""

InjectionFormat: TypeAlias = Callable[[InjectionFormatContext], str] | InjectionFormatCallback
"""Function that makes a text from the found entries; it may accept keyword arguments of later versions."""


class MemoryInjectionConfig(InjectionConfig, total=False):
    """Settings for the injection: its condition, the maximum number of entries (default: 5), the query, the format."""

    max_entries: int
    query: InjectionQuery
    format: InjectionFormat


class MemoryManagerConfig(TypedDict, total=False):
    """An agent's memory: its stores, the tools to search and add (True for the defaults), and the injection."""

    stores: Required[list[MemoryStore]]
    search_tool_config: MemoryToolConfig | bool
    add_tool_config: MemoryAddToolConfig | bool
    injection: MemoryInjectionConfig | bool


@dataclass
class InMemoryStore:
    """A MemoryStore for tests: `entries` are its contents, and equal searches return equal results.

    A search returns the entries that share a word with the query. Entries with more shared words come first; among
    entries with equally many, the older ones come first. A query without words returns all entries.
    Writing raises ValueError if `writable` is False.

    >>> import asyncio
    >>> store = InMemoryStore(entries=[MemoryEntry("likes tea"), MemoryEntry("lives in Zürich")])
    >>> asyncio.run(store.search("Tea or coffee?"))
    [MemoryEntry(content='likes tea', store_name=None, metadata=None)]
    """

    name: str = "memory"
    description: str | None = None
    max_search_results: int | None = None
    writable: bool = True
    extraction: ExtractionConfig | bool | None = None
    entries: list[MemoryEntry] = field(default_factory=list[MemoryEntry])

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return at most `max_search_results` entries that share words with the query.

        Entries with the most shared words come first.
        """
        wanted = _words(query)
        shared = [(len(wanted & _words(entry.content)), entry) for entry in self.entries]
        found = [entry for count, entry in sorted(shared, key=lambda pair: -pair[0]) if count or not wanted]
        return found[: (options or {}).get("max_search_results", self.max_search_results)]

    async def add(self, content: str, metadata: Metadata | None = None) -> MemoryEntry:
        """Store one entry. Raises ValueError if the store is not writable."""
        if not self.writable:
            raise ValueError(
                f"InMemoryStore {self.name!r} has writable=False: read from it, or make it with writable=True."
            )
        entry = MemoryEntry(content, metadata=metadata)
        self.entries.append(entry)
        return entry

    async def add_messages(
        self, messages: list[Message], context: AddMessagesContext | None = None
    ) -> list[MemoryEntry]:
        """Store each text block as an entry; the metadata contains the role and, if given, the sequence number."""
        numbers = context.sequence_numbers if context else None
        return [
            await self.add(
                block["text"],
                {"role": message["role"], **({} if numbers is None else {"sequence_number": numbers[place]})},
            )
            for place, message in enumerate(messages)
            for block in message["content"]
            if "text" in block
        ]

    async def initialize(self) -> None:
        """Do nothing: the store needs no preparation."""

    def get_tools(self) -> list[AgentTool]:
        """Return no tools: the store has none of its own."""
        return []


def last_user_text(context: InjectionQueryContext, **kwargs: Any) -> str | None:
    """An InjectionQueryCallback that returns the text of the latest user message with text; None if there is none.

    >>> last_user_text(InjectionQueryContext([{"role": "user", "content": [{"text": "Tea?"}]}]))
    'Tea?'
    """
    for message in reversed(context.messages):
        texts = [block["text"] for block in message["content"] if "text" in block]
        if message["role"] == "user" and texts:
            return "\n".join(texts)
    return None


def as_list(context: InjectionFormatContext, **kwargs: Any) -> str:
    r"""An InjectionFormatCallback that returns one line per entry.

    >>> as_list(InjectionFormatContext([MemoryEntry("likes tea"), MemoryEntry("lives in Zürich")]))
    '- likes tea\n- lives in Zürich'
    """
    return "\n".join(f"- {entry.content}" for entry in context.entries)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in "".join(c if c.isalnum() else " " for c in text).split()}
