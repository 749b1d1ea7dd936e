"""Messages and the blocks that they are made of."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from converse_harness.types.citations import CitationsContentBlock
from converse_harness.types.event_loop import Metrics, Usage
from converse_harness.types.media import AudioContent, DocumentContent, ImageContent, VideoContent
from converse_harness.types.tools import ToolResult, ToolUse

Role: TypeAlias = Literal["user", "assistant"]
"""Who wrote a message: the person (and the results of tools), or the model."""

GuardContentQualifier: TypeAlias = Literal["grounding_source", "query", "guard_content"]
"""What a text is to a guardrail: a source to hold answers to, the question, or simply what it should look at."""


class GuardContentText(TypedDict):
    """A text for a guardrail to look at; `qualifiers` need not be there any more in strands-agents 1.62."""

    qualifiers: NotRequired[list[GuardContentQualifier]]
    text: str


class GuardContent(TypedDict):
    """A block that a guardrail should look at."""

    text: GuardContentText


class ReasoningTextBlock(TypedDict, total=False):
    """What a model thought before it answered; `signature` proves to the service that it wrote this `text`."""

    signature: str | None
    text: str


class ReasoningContentBlock(TypedDict, total=False):
    """Reasoning: legible, or encrypted by the model's provider. One of the two."""

    reasoningText: ReasoningTextBlock
    redactedContent: bytes


class CachePoint(TypedDict):
    """Up to here the request may be cached; `type` is `"default"`.

    `ttl` (`"5m"`, `"1h"`): in strands-agents 1.62, newer than the pages these types follow.
    """

    type: str
    ttl: NotRequired[str]


class ContentBlock(TypedDict, total=False):
    """A part of a message: a dict with exactly one of these members.

    `audio` and `citationsContent`: in strands-agents 1.62, newer than the pages these types follow.
    """

    audio: AudioContent
    cachePoint: CachePoint
    document: DocumentContent
    guardContent: GuardContent
    image: ImageContent
    reasoningContent: ReasoningContentBlock
    text: str
    toolResult: ToolResult
    toolUse: ToolUse
    video: VideoContent
    citationsContent: CitationsContentBlock


class SystemContentBlock(TypedDict, total=False):
    """A part of the system prompt: a text, or a place up to which it may be cached.

    strands-agents 1.62 has `cachePoint`, newer than the pages these types follow, and its `guardContent` is gone.
    """

    cachePoint: CachePoint
    text: str


class DeltaContent(TypedDict, total=False):
    """A piece of a text, or of the JSON of a tool's input."""

    text: str
    toolUse: dict[Literal["input"], str]


class ContentBlockStartToolUse(TypedDict):
    """A tool use begins: the tool's name, and the id that its result must name.

    `reasoningSignature`, which ties the reasoning to this use: in strands-agents 1.62, newer than the pages these types
    follow.
    """

    name: str
    toolUseId: str
    reasoningSignature: NotRequired[str]


class ContentBlockStart(TypedDict, total=False):
    """What a block begins with: only tool uses have something; for others it is empty or None."""

    toolUse: ContentBlockStartToolUse | None


class ContentBlockDelta(TypedDict):
    """A piece of the block of this index. `streaming.ContentBlockDelta` is the piece alone."""

    contentBlockIndex: int
    delta: DeltaContent


class ContentBlockStop(TypedDict):
    """The block of this index is complete."""

    contentBlockIndex: int


class MessageMetadata(TypedDict, total=False):
    """What an agent keeps beside a message and never sends: its cost, and `custom` data of the user's.

    In strands-agents 1.62, newer than the pages these types follow.
    """

    usage: Usage
    metrics: Metrics
    custom: dict[str, Any]


class Message(TypedDict):
    """What one side says in its turn.

    `tracking_id` (a UUID that stays with the message) and `metadata` are never sent to a model; both are in
    strands-agents 1.62, newer than the pages these types follow.
    """

    content: list[ContentBlock]
    role: Role
    tracking_id: NotRequired[str]
    metadata: NotRequired[MessageMetadata]


Messages: TypeAlias = list[Message]
"""A conversation, the oldest message first."""
