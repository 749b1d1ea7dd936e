"""What an agent remembers between conversations: entries, the stores that keep them, and how they get into a request.

`InMemoryStore`, `last_user_text` and `as_list` are small implementations of the protocols, for tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Required, TypeAlias, TypedDict

from converse_harness.types.content import Message, Messages
from converse_harness.types.tools import AgentTool

Metadata: TypeAlias = dict[str, Any]
"""What is kept beside an entry, such as scores and ids; JSON."""

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
"""Kinds of content blocks that need not be remembered."""


@dataclass
class MemoryEntry:
    """Something remembered; whoever searches several stores says in `store_name` which it came from."""

    content: str
    store_name: str | None = None
    metadata: Metadata | None = None


class SearchOptions(TypedDict, total=False):
    """How to search one store: the most entries to give."""

    max_search_results: int


@dataclass
class AddMessagesContext:
    """What a store is told beside the messages to keep.

    `sequence_numbers`, one for each message, stay the same when a batch is tried again; None where there are none. In
    strands-agents 1.62, newer than the pages these types follow.
    """

    sequence_numbers: list[int] | None = None


class MemorySearchOptions(SearchOptions, total=False):
    """How to search all stores: only those of these names, all if not given."""

    stores: list[str]


class MemoryAddOptions(TypedDict, total=False):
    """How to add to all stores: only to those of these names, all that can be written if not given.

    `metadata`: in strands-agents 1.62, newer than the pages these types follow.
    """

    metadata: Metadata
    stores: list[str]


class MemoryToolConfig(TypedDict, total=False):
    """How a tool for the memory is called and described."""

    name: str
    description: str


@dataclass
class ExtractionResult:
    """Something worth remembering that was found in messages."""

    content: str
    metadata: Metadata | None = None


@dataclass
class ExtractorContext:
    """What an Extractor is told beside the messages: the model to use if it has none of its own."""

    default_model: Any = None


class Extractor(Protocol):
    """Finds what is worth remembering in messages."""

    async def extract(self, messages: list[Message], context: ExtractorContext | None = None) -> list[ExtractionResult]:
        """What is worth remembering."""
        ...


@dataclass
class MemoryMessageFilter:
    """Leaves blocks of these kinds out before anything is extracted, and messages that have none other."""

    exclude: list[MemoryContentBlockType]


@dataclass
class ExtractionTriggerContext:
    """What an ExtractionTrigger can do: look at the agent, and `fire` the extraction."""

    agent: Any
    fire: Callable[[], None]


class ExtractionTrigger(ABC):
    """Says when to extract; `name` stands in logs."""

    name: str

    @abstractmethod
    def attach(self, context: ExtractionTriggerContext) -> None:
        """Arrange for `context.fire()` to be called at the right times."""


class ExtractionConfig(TypedDict, total=False):
    """When a store takes in messages by itself, what finds the entries in them, and what is left out."""

    trigger: ExtractionTrigger | list[ExtractionTrigger]
    extractor: Extractor
    filter: MemoryMessageFilter


def _not_there(store: object, method: str) -> Any:
    # A bare `raise NotImplementedError` would make the method abstract to mypy.
    raise NotImplementedError(f"{type(store).__name__} has no {method}(): nothing can be written to it that way.")


class MemoryStore(Protocol):
    """Where memories are kept: the fields of MemoryStoreConfig as attributes, a search, and ways to write.

    All methods but `search` have defaults: whoever only reads leaves them out. `InMemoryStore` is one.
    """

    name: str
    description: str | None
    max_search_results: int | None
    writable: bool
    extraction: ExtractionConfig | bool | None

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """The entries that fit a query, the best first."""
        ...

    async def add(self, content: str, metadata: Metadata | None = None) -> Any:
        """Keep one entry; the same may come twice. Raises NotImplementedError where that is not possible."""
        return _not_there(self, "add")

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> Any:
        """Keep messages, with who said what. Raises NotImplementedError where that is not possible."""
        return _not_there(self, "add_messages")

    async def initialize(self) -> None:
        """Get ready, before an agent starts. In strands-agents 1.62, newer than the pages these types follow."""
        return

    def get_tools(self) -> list[AgentTool]:
        """Tools of its own that agents should have; none here."""
        return []


class MemoryAddToolConfig(MemoryToolConfig, total=False):
    """How the tool that adds to the memory is called, which stores it may write to, and whether it waits for them."""

    stores: list[str | MemoryStore]
    wait_for_writes: bool


class MemoryStoreConfig(TypedDict, total=False):
    """What a store is made with: the fields of MemoryStore; `extraction` is True for the defaults."""

    name: Required[str]
    description: str
    max_search_results: int
    writable: bool
    extraction: ExtractionConfig | bool


InjectionTrigger: TypeAlias = Literal["userTurn", "everyTurn"]
"""When memories are put into a request: only when the user said something, or each time."""


@dataclass
class InjectionContext:
    """What decides on an injection: the conversation, the agent's state, the agent."""

    messages: Messages
    state: Any
    agent: Any


class TriggerCallback(Protocol):
    """Decides on an injection, call by call."""

    def __call__(self, context: InjectionContext, **kwargs: Any) -> bool:
        """Whether to put memories into this request."""
        ...


InjectionTriggerPredicate: TypeAlias = InjectionTrigger | Callable[[InjectionContext], bool] | TriggerCallback
"""When memories are put into a request, by name or by a function."""


class InjectionConfig(TypedDict, total=False):
    """When something is put into requests."""

    trigger: InjectionTriggerPredicate


@dataclass
class InjectionQueryContext:
    """What a query is made of: the conversation."""

    messages: Messages


@dataclass
class InjectionFormatContext:
    """What the injected text is made of: the entries that were found."""

    entries: list[MemoryEntry]


class InjectionQueryCallback(Protocol):
    """Makes a query of a conversation. `last_user_text` is one."""

    def __call__(self, context: InjectionQueryContext, **kwargs: Any) -> str | None:
        """What to search for; None or "" to put nothing into this request."""
        ...


class InjectionFormatCallback(Protocol):
    """Makes a text of what was found. `as_list` is one."""

    def __call__(self, context: InjectionFormatContext, **kwargs: Any) -> str:
        """The text to put into the request."""
        ...


InjectionQuery: TypeAlias = Callable[[InjectionQueryContext], str | None] | InjectionQueryCallback
"""Makes a query of a conversation, with or without room for later arguments."""

InjectionFormat: TypeAlias = Callable[[InjectionFormatContext], str] | InjectionFormatCallback
"""Makes a text of what was found, with or without room for later arguments."""


class MemoryInjectionConfig(InjectionConfig, total=False):
    """How memories get into requests: when, how many at most (5 if not given), what is searched, how it is written."""

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
    """A MemoryStore for tests: `entries` is what it keeps, and two of its searches never differ.

    It finds entries that share a word with the query, those with the most first, then those added first; all of them
    for a query without words. Writing raises ValueError where `writable` is False.

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
        """The entries that share a word with the query, the most first; at most `max_search_results`."""
        wanted = _words(query)
        shared = [(len(wanted & _words(entry.content)), entry) for entry in self.entries]
        found = [entry for count, entry in sorted(shared, key=lambda pair: -pair[0]) if count or not wanted]
        return found[: (options or {}).get("max_search_results", self.max_search_results)]

    async def add(self, content: str, metadata: Metadata | None = None) -> MemoryEntry:
        """Keep one entry."""
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
        """Keep each text block as an entry, with the role, and the sequence number if there is one, in its metadata."""
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
        """Nothing to get ready."""

    def get_tools(self) -> list[AgentTool]:
        """It has no tools of its own."""
        return []


def last_user_text(context: InjectionQueryContext, **kwargs: Any) -> str | None:
    """An InjectionQueryCallback: the texts of the latest user message that has one, None if there is none.

    >>> last_user_text(InjectionQueryContext([{"role": "user", "content": [{"text": "Tea?"}]}]))
    'Tea?'
    """
    for message in reversed(context.messages):
        texts = [block["text"] for block in message["content"] if "text" in block]
        if message["role"] == "user" and texts:
            return "\n".join(texts)
    return None


def as_list(context: InjectionFormatContext, **kwargs: Any) -> str:
    r"""An InjectionFormatCallback: a line for each entry.

    >>> as_list(InjectionFormatContext([MemoryEntry("likes tea"), MemoryEntry("lives in Zürich")]))
    '- likes tea\n- lives in Zürich'
    """
    return "\n".join(f"- {entry.content}" for entry in context.entries)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in "".join(c if c.isalnum() else " " for c in text).split()}
