"""The events of a streamed answer: those of ConverseStream, and what Strands adds to them."""

from typing import Any, NotRequired, TypeAlias, TypedDict

from converse_harness.types.citations import CitationLocation
from converse_harness.types.content import ContentBlockStart, Role
from converse_harness.types.event_loop import Metrics, StopReason, Usage
from converse_harness.types.guardrails import Trace

JSONValue: TypeAlias = dict[str, Any] | list[Any] | int | float | str | bool | None
"""What JSON can say."""


class MessageStartEvent(TypedDict):
    """An answer begins."""

    role: Role


class ContentBlockStartEvent(TypedDict, total=False):
    """A block begins. The index may be missing or None: other providers than Bedrock do not count."""

    contentBlockIndex: int | None
    start: ContentBlockStart


class ContentBlockDeltaText(TypedDict):
    """A piece of a text."""

    text: str


class ContentBlockDeltaToolUse(TypedDict):
    """A piece of the JSON of a tool's input.

    `toolUseId` and `name`, which some providers send here rather than at the start of the block: in strands-agents
    1.62, newer than the pages these types follow.
    """

    input: str
    toolUseId: NotRequired[str]
    name: NotRequired[str]


class CitationSourceContentDelta(TypedDict, total=False):
    """A piece of the passage that is cited."""

    text: str


class CitationsDelta(TypedDict, total=False):
    """A citation as it is streamed: where the passage stands, the passage, the source's title."""

    location: CitationLocation
    sourceContent: list[CitationSourceContentDelta]
    title: str


class ReasoningContentBlockDelta(TypedDict, total=False):
    """A piece of reasoning: legible, its signature, or encrypted. None says that a member has nothing."""

    redactedContent: bytes | None
    signature: str | None
    text: str | None


class ContentBlockDelta(TypedDict, total=False):
    """A piece of a block: a dict with one of these members. `content.ContentBlockDelta` has the index as well."""

    reasoningContent: ReasoningContentBlockDelta
    text: str
    toolUse: ContentBlockDeltaToolUse
    citation: CitationsDelta


class ContentBlockDeltaEvent(TypedDict, total=False):
    """A block goes on. The index may be missing or None."""

    contentBlockIndex: int | None
    delta: ContentBlockDelta


class ContentBlockStopEvent(TypedDict, total=False):
    """A block is complete. The index may be missing or None."""

    contentBlockIndex: int | None


class MessageStopEvent(TypedDict, total=False):
    """The content is complete: why the model stopped, and the extra fields of the answer that the request asked for."""

    additionalModelResponseFields: JSONValue
    stopReason: StopReason


class MetadataEvent(TypedDict, total=False):
    """What the answer cost, how long it took, and what the guardrail did."""

    metrics: Metrics
    trace: Trace | None
    usage: Usage


class ExceptionEvent(TypedDict):
    """The stream fails; `message` says why."""

    message: str


class ModelStreamErrorEvent(ExceptionEvent):
    """The stream fails because the model did: its own message and HTTP status."""

    originalMessage: str
    originalStatusCode: int


class RedactContentEvent(TypedDict, total=False):
    """Strands' own: what the user wrote, or the model, gives way to this text, since a guardrail stepped in."""

    redactUserContentMessage: str | None
    redactAssistantContentMessage: str | None


class StreamEvent(TypedDict, total=False):
    """One event of a streamed answer: a dict with exactly one of these members.

    `redactContent` is Strands' own; all others are those of ConverseStream.
    """

    contentBlockDelta: ContentBlockDeltaEvent
    contentBlockStart: ContentBlockStartEvent
    contentBlockStop: ContentBlockStopEvent
    internalServerException: ExceptionEvent
    messageStart: MessageStartEvent
    messageStop: MessageStopEvent
    metadata: MetadataEvent
    redactContent: RedactContentEvent
    modelStreamErrorException: ModelStreamErrorEvent
    serviceUnavailableException: ExceptionEvent
    throttlingException: ExceptionEvent
    validationException: ExceptionEvent
