"""Messages and their content blocks.

>>> question: Message = {"role": "user", "content": [{"text": "What is the weather like?"}]}
>>> question["content"][0]["text"]
'What is the weather like?'
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from converse_harness.types.citations import CitationsContentBlock
from converse_harness.types.event_loop import Metrics, Usage
from converse_harness.types.media import AudioContent, DocumentContent, ImageContent, VideoContent
from converse_harness.types.tools import ToolResult, ToolUse

Role: TypeAlias = Literal["user", "assistant"]
"""The author of a message: `user` (the person, and also tool results) or `assistant` (the model)."""

GuardContentQualifier: TypeAlias = Literal["grounding_source", "query", "guard_content"]
"""How a guardrail uses a text: as a source for checks of answers, as the user's question, or as a text to check."""


class GuardContentText(TypedDict):
    """A text for a guardrail to check. `qualifiers` is required before strands-agents 1.62."""

    qualifiers: NotRequired[list[GuardContentQualifier]]
    text: str


class GuardContent(TypedDict):
    """A block that a guardrail should check."""

    text: GuardContentText


class ReasoningTextBlock(TypedDict, total=False):
    """A model's reasoning before its answer. `signature` proves that the model behind the service wrote this `text`."""

    signature: str | None
    text: str


class ReasoningContentBlock(TypedDict, total=False):
    """Reasoning, either as readable text or encrypted by the model's provider."""

    reasoningText: ReasoningTextBlock
    redactedContent: bytes


class CachePoint(TypedDict):
    """A marker: the service may cache the request up to this block. `type` is `"default"`.

    `ttl` (`"5m"` or `"1h"`) is in strands-agents 1.62, but not in the documentation that these types follow.
    """

    type: str
    ttl: NotRequired[str]


class ContentBlock(TypedDict, total=False):
    """A part of a message: a dict with exactly one of these members.

    `audio` and `citationsContent` are in strands-agents 1.62, but not in the documentation that these types follow.
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
    """A part of the system prompt: a text, or a cache point.

    This is the type of strands-agents 1.62; the documentation that the other types follow has `guardContent` instead of
    `cachePoint`.
    """

    cachePoint: CachePoint
    text: str


class DeltaContent(TypedDict, total=False):
    """A piece of a text, or of the JSON of a tool's input."""

    text: str
    toolUse: dict[Literal["input"], str]


class ContentBlockStartToolUse(TypedDict):
    """The start of a tool use: the tool's name, and the id to which its result refers.

    `reasoningSignature`, which links the reasoning to this tool use, is in strands-agents 1.62, but not in the
    documentation that these types follow.
    """

    name: str
    toolUseId: str
    reasoningSignature: NotRequired[str]


class ContentBlockStart(TypedDict, total=False):
    """The start of a block. It has content only for a tool use; for other blocks, `toolUse` is missing or None."""

    toolUse: ContentBlockStartToolUse | None


class ContentBlockDelta(TypedDict):
    """A piece of the block with this index. `streaming.ContentBlockDelta` is the piece without the index."""

    contentBlockIndex: int
    delta: DeltaContent


class ContentBlockStop(TypedDict):
    """The end of the block with this index."""

    contentBlockIndex: int


class MessageMetadata(TypedDict, total=False):
    """Data that an agent keeps with a message and never sends: usage, metrics, and the user's `custom` data.

    This type is in strands-agents 1.62, but not in the documentation that the other types follow.
    """

    usage: Usage
    metrics: Metrics
    custom: dict[str, Any]


class Message(TypedDict):
    """A message of the user or the assistant.

    `tracking_id` (a UUID that stays with the message) and `metadata` are never sent to a model. Both are in
    strands-agents 1.62, but not in the documentation that these types follow.
    """

    content: list[ContentBlock]
    role: Role
    tracking_id: NotRequired[str]
    metadata: NotRequired[MessageMetadata]


Messages: TypeAlias = list[Message]
"""A conversation, the oldest message first."""
