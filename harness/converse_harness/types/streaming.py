"""The events of a streamed answer: the events of ConverseStream, and the event that only Strands sends.

>>> from converse_harness import chunk
>>> event: StreamEvent = chunk({"role": "assistant", "content": [{"text": "hi"}]})[1]
>>> event["contentBlockDelta"]["delta"]
{'text': 'hi'}
"""

from typing import Any, NotRequired, TypeAlias, TypedDict

from converse_harness.types.citations import CitationLocation
from converse_harness.types.content import ContentBlockStart, Role
from converse_harness.types.event_loop import Metrics, StopReason, Usage
from converse_harness.types.guardrails import Trace

JSONValue: TypeAlias = dict[str, Any] | list[Any] | int | float | str | bool | None
"""A JSON value as a Python object."""


class MessageStartEvent(TypedDict):
    """The start of an answer, with its role."""

    role: Role


class ContentBlockStartEvent(TypedDict, total=False):
    """The start of a block. The index may be missing or None: providers other than Bedrock do not number blocks."""

    contentBlockIndex: int | None
    start: ContentBlockStart


class ContentBlockDeltaText(TypedDict):
    """A piece of a text."""

    text: str


class ContentBlockDeltaToolUse(TypedDict):
    """A piece of the JSON of a tool's input.

    `toolUseId` and `name`, which some providers send here instead of at the start of the block, are in strands-agents
    1.62, but not in the documentation that these types follow.
    """

    input: str
    toolUseId: NotRequired[str]
    name: NotRequired[str]


class CitationSourceContentDelta(TypedDict, total=False):
    """A piece of the cited passage."""

    text: str


class CitationsDelta(TypedDict, total=False):
    """A streamed citation: the location of the passage, the passage itself, and the title of the source."""

    location: CitationLocation
    sourceContent: list[CitationSourceContentDelta]
    title: str


class ReasoningContentBlockDelta(TypedDict, total=False):
    """A piece of reasoning: text, signature, or encrypted content. None means that a member has no value."""

    redactedContent: bytes | None
    signature: str | None
    text: str | None


class ContentBlockDelta(TypedDict, total=False):
    """A piece of a block: a dict with one of these members. `content.ContentBlockDelta` also contains the index."""

    reasoningContent: ReasoningContentBlockDelta
    text: str
    toolUse: ContentBlockDeltaToolUse
    citation: CitationsDelta


class ContentBlockDeltaEvent(TypedDict, total=False):
    """The next piece of a block. The index may be missing or None."""

    contentBlockIndex: int | None
    delta: ContentBlockDelta


class ContentBlockStopEvent(TypedDict, total=False):
    """The end of a block. The index may be missing or None."""

    contentBlockIndex: int | None


class MessageStopEvent(TypedDict, total=False):
    """The end of the content, with the stop reason and the additional response fields that the request selected."""

    additionalModelResponseFields: JSONValue
    stopReason: StopReason


class MetadataEvent(TypedDict, total=False):
    """The usage, metrics and guardrail trace of the answer."""

    metrics: Metrics
    trace: Trace | None
    usage: Usage


class ExceptionEvent(TypedDict):
    """A failure of the stream. `message` describes the reason."""

    message: str


class ModelStreamErrorEvent(ExceptionEvent):
    """A failure of the model during the stream: the model's own message and HTTP status."""

    originalMessage: str
    originalStatusCode: int


class RedactContentEvent(TypedDict, total=False):
    """An event that only Strands sends: a guardrail replaced the user's or the model's text by the text in a member."""

    redactUserContentMessage: str | None
    redactAssistantContentMessage: str | None


class StreamEvent(TypedDict, total=False):
    """One event of a streamed answer: a dict with exactly one of these members.

    Only Strands sends `redactContent`; all other members are events of ConverseStream.
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
