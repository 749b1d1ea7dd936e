"""The samples that are plain values, each with its name, and the sets of variants.

A set of variants has one value for each member of a union, for each stop reason, or for each kind of personal data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.samples import content, objects
from converse_harness.types import memory, session

_MODEL: Final = "us.amazon.nova-lite-v1:0"
_REQUEST: Final[Mapping[str, Any]] = {
    "modelId": _MODEL,
    "messages": [content.QUESTION],
    "system": [content.SYSTEM],
    "inferenceConfig": {"maxTokens": 512, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
    "toolConfig": content.TOOL_CONFIG,
}
_RESPONSE: Final = {
    "output": {"message": content.MESSAGE},
    "stopReason": "tool_use",
    "usage": content.USAGE,
    "metrics": content.METRICS,
}
_REDACTED: Final = b"EXAMPLE-ENCRYPTED-REASONING"

VALUES: Final[Mapping[str, Any]] = {
    "content.Message": content.MESSAGE,
    "content.Messages": content.MESSAGES,
    "content.Role": "user",
    "content.ContentBlock": {"text": content.LOOK_FIRST},
    "content.SystemContentBlock": content.SYSTEM,
    "content.CachePoint": content.CACHE_POINT,
    "content.GuardContent": {"text": content.GUARD_TEXT},
    "content.GuardContentText": content.GUARD_TEXT,
    "content.ReasoningContentBlock": {"reasoningText": content.REASONING_TEXT},
    "content.ReasoningTextBlock": content.REASONING_TEXT,
    "content.ContentBlockStart": {"toolUse": content.START_TOOL_USE},
    "content.ContentBlockStartToolUse": content.START_TOOL_USE,
    "content.ContentBlockDelta": content.DELTA_EVENT,
    "content.DeltaContent": content.TEXT_DELTA,
    "content.ContentBlockStop": content.BLOCK_STOP,
    "tools.JSONSchema": content.SCHEMA,
    "tools.ToolSpec": content.SPEC,
    "tools.Tool": {"toolSpec": content.SPEC},
    "tools.ToolUse": content.TOOL_USE,
    "tools.ToolResult": content.RESULT,
    "tools.ToolResultContent": content.RESULT_CONTENT,
    "tools.ToolResultStatus": "success",
    "tools.ToolConfig": content.TOOL_CONFIG,
    "tools.ToolChoice": {"tool": {"name": content.NAME}},
    "tools.ToolChoiceAuto": {},
    "tools.ToolChoiceAutoDict": {"auto": {}},
    "tools.ToolChoiceAny": {},
    "tools.ToolChoiceAnyDict": {"any": {}},
    "tools.ToolChoiceTool": {"name": content.NAME},
    "tools.ToolChoiceToolDict": {"tool": {"name": content.NAME}},
    "streaming.StreamEvent": {"contentBlockDelta": content.DELTA_EVENT},
    "streaming.MessageStartEvent": content.MESSAGE_START,
    "streaming.ContentBlockStartEvent": {"contentBlockIndex": 1, "start": {"toolUse": content.START_TOOL_USE}},
    "streaming.ContentBlockDeltaEvent": content.DELTA_EVENT,
    "streaming.ContentBlockDelta": content.TEXT_DELTA,
    "streaming.ContentBlockDeltaText": content.TEXT_DELTA,
    "streaming.ContentBlockDeltaToolUse": content.TOOL_USE_DELTA,
    "streaming.ReasoningContentBlockDelta": content.REASONING_DELTA,
    "streaming.CitationsDelta": content.CITATION,
    "streaming.CitationSourceContentDelta": content.SOURCE,
    "streaming.CitationLocation": content.LOCATION,
    "streaming.ContentBlockStopEvent": content.BLOCK_STOP,
    "streaming.MessageStopEvent": content.MESSAGE_STOP,
    "streaming.MetadataEvent": content.METADATA,
    "streaming.ExceptionEvent": content.THROTTLED,
    "streaming.ModelStreamErrorEvent": content.MODEL_STREAM_ERROR,
    "streaming.RedactContentEvent": {
        "redactUserContentMessage": "[User input redacted.]",
        "redactAssistantContentMessage": "[Assistant output redacted.]",
    },
    "event_loop.StopReason": "tool_use",
    "event_loop.Usage": content.USAGE,
    "event_loop.Metrics": {**content.METRICS, "timeToFirstByteMs": 327},
    "media.ImageContent": content.IMAGE,
    "media.ImageFormat": content.IMAGE["format"],
    "media.ImageSource": content.IMAGE["source"],
    "media.DocumentContent": content.DOCUMENT,
    "media.DocumentFormat": content.DOCUMENT["format"],
    "media.DocumentSource": content.DOCUMENT["source"],
    "media.VideoContent": content.VIDEO,
    "media.VideoFormat": content.VIDEO["format"],
    "media.VideoSource": content.VIDEO["source"],
    "citations.CitationsConfig": content.DOCUMENT["citations"],
    "citations.CitationsContentBlock": content.CITED,
    "citations.Citation": content.CITATION,
    "citations.CitationGeneratedContent": content.GENERATED,
    "citations.CitationSourceContent": content.SOURCE,
    "citations.DocumentCharLocation": content.DOCUMENT_CHAR,
    "citations.DocumentChunkLocation": content.DOCUMENT_CHUNK,
    "citations.DocumentPageLocation": content.DOCUMENT_PAGE,
    "citations.SearchResultLocation": content.SEARCH_RESULT_LOCATION,
    "citations.WebLocation": content.WEB,
    "guardrails.Trace": {"guardrail": content.TRACE},
    "guardrails.GuardrailTrace": content.TRACE,
    "guardrails.GuardrailAssessment": content.ASSESSMENT,
    "guardrails.GuardrailConfig": content.CONFIG,
    "guardrails.TopicPolicy": content.ASSESSMENT["topicPolicy"],
    "guardrails.Topic": content.TOPIC,
    "guardrails.ContentPolicy": content.ASSESSMENT["contentPolicy"],
    "guardrails.ContentFilter": content.CONTENT_FILTER,
    "guardrails.WordPolicy": content.ASSESSMENT["wordPolicy"],
    "guardrails.CustomWord": content.CUSTOM_WORD,
    "guardrails.ManagedWord": content.MANAGED_WORD,
    "guardrails.SensitiveInformationPolicy": content.ASSESSMENT["sensitiveInformationPolicy"],
    "guardrails.PIIEntity": content.EMAIL,
    "guardrails.Regex": content.REGEX,
    "guardrails.ContextualGroundingPolicy": content.ASSESSMENT["contextualGroundingPolicy"],
    "guardrails.ContextualGroundingFilter": content.GROUNDING_FILTER,
    "ConverseRequest": _REQUEST,
    "ConverseStreamRequest": {**_REQUEST, "guardrailConfig": content.CONFIG},
    "CountTokensRequest": {
        "modelId": _MODEL,
        "input": {"converse": {name: _REQUEST[name] for name in ("messages", "system", "toolConfig")}},
    },
    "ConverseResponse": _RESPONSE,
    "ConverseTrace": {
        "guardrail": content.DETECTED_TRACE,
        "promptRouter": {"invokedModelId": f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{_MODEL}"},
    },
    "GuardrailTraceAssessment": content.DETECTED_TRACE,
    "TokenUsage": content.USAGE_BY_AGE,
    "ConverseStreamMetrics": content.METRICS,
    "ToolSpecification": {
        **content.SPEC,
        "inputSchema": {"json": {**content.SCHEMA, "additionalProperties": False}},
        "strict": True,
    },
    "SystemTool": {"name": "nova_grounding"},
    "AudioBlock": content.AUDIO,
    "SearchResultBlock": content.SEARCH_RESULT,
    "InferenceConfiguration": _REQUEST["inferenceConfig"],
    "OutputConfig": {
        "textFormat": {
            "type": "json_schema",
            "structure": {
                "jsonSchema": {
                    "name": "packing_list",
                    "schema": '{"type":"object","properties":{"items":{"type":"array","items":{"type":"string"}}},'
                    '"required":["items"]}',
                }
            },
        }
    },
    "RequestMetadata": {"team": "travel", "stage": "test"},
    "session.SessionType": session.SessionType.AGENT,
    "session.encode_bytes_values": objects.WITH_BYTES,
    "memory.MemoryStoreConfig": {
        "name": objects.STORE,
        "description": objects.ABOUT,
        "max_search_results": 5,
        "writable": True,
    },
    "memory.MemoryToolConfig": objects.SEARCH_TOOL,
    "memory.MemoryAddToolConfig": objects.ADD_TOOL,
    "memory.MemoryInjectionConfig": objects.INJECTION,
    "memory.SearchOptions": {"max_search_results": 3},
    "memory.MemorySearchOptions": {"max_search_results": 3, "stores": [objects.STORE]},
    "memory.MemoryAddOptions": {"metadata": {"source": "chat"}, "stores": [objects.STORE]},
    "memory.InjectionQueryCallback": memory.last_user_text,
    "memory.InjectionFormatCallback": memory.as_list,
}
"""Maps names in `table.SAMPLES` to their values. The samples that a function must create are in `objects.OBJECTS`."""

_STARTS: Final = {
    "toolUse": content.START_TOOL_USE,
    "toolResult": {"toolUseId": content.ID, "status": "success"},
    "image": {"format": "png"},
}

_DELTAS: Final = {
    "text": content.TEXT_DELTA["text"],
    "toolUse": content.TOOL_USE_DELTA,
    "toolResult": [content.RESULT_CONTENT],
    "reasoningContent.text": content.REASONING_DELTA["text"],
    "reasoningContent.signature": content.REASONING_TEXT["signature"],
    "reasoningContent.redactedContent": _REDACTED,
    "citation": content.CITATION,
    "image": {"source": content.IMAGE["source"]},
}

_VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ContentBlock": {
        "text": content.LOOK_FIRST,
        "image": content.IMAGE,
        "document": content.DOCUMENT,
        "video": content.VIDEO,
        "audio": content.AUDIO,
        "toolUse": content.TOOL_USE,
        "toolResult": content.RESULT,
        "guardContent.text": content.GUARD_TEXT,
        "guardContent.image": content.IMAGE,
        "cachePoint": content.CACHE_POINT,
        "reasoningContent.reasoningText": content.REASONING_TEXT,
        "reasoningContent.redactedContent": _REDACTED,
        "citationsContent": content.CITED,
        "searchResult": content.SEARCH_RESULT,
        "toolAddition": content.REFERENCE,
        "toolRemoval": content.REFERENCE,
    },
    "ContentBlockDelta": _DELTAS,
    "ConverseStreamOutput": {
        "messageStart": content.MESSAGE_START,
        **{f"contentBlockStart.{path}": value for path, value in _STARTS.items()},
        **{f"contentBlockDelta.{path}": value for path, value in _DELTAS.items()},
        "contentBlockStop": content.BLOCK_STOP,
        "messageStop": content.MESSAGE_STOP,
        "metadata": content.METADATA,
        "internalServerException": {"message": "The system encountered an unexpected error."},
        "modelStreamErrorException": content.MODEL_STREAM_ERROR,
        "validationException": {"message": "The model returned the following errors: prompt is too long"},
        "throttlingException": content.THROTTLED,
        "serviceUnavailableException": {"message": "Bedrock is unable to process your request."},
    },
    "ToolChoice": {"auto": {}, "any": {}, "tool": {"name": content.NAME}},
    "CitationLocation": {
        "web": content.WEB,
        "documentChar": content.DOCUMENT_CHAR,
        "documentPage": content.DOCUMENT_PAGE,
        "documentChunk": content.DOCUMENT_CHUNK,
        "searchResultLocation": content.SEARCH_RESULT_LOCATION,
    },
}
"""Maps each union of AWS's API model to its variants: from the path of member names to the value at the path's end."""

_IN_BLOCK: Final = {"contentBlockStart": "start", "contentBlockDelta": "delta"}
"""Maps an event of a block to its member that is left out in the paths of variants. For example, the path
`contentBlockStart.toolUse` stands for `contentBlockStart.start.toolUse`."""

SHAPES: Final = {
    "content_block": "ContentBlock",
    "delta": "ContentBlockDelta",
    "stream_event": "ConverseStreamOutput",
    "stop_reason": "StopReason",
    "tool_choice": "ToolChoice",
    "citation_location": "CitationLocation",
    "pii_kind": "GuardrailPiiEntityFilter",
}
"""Maps each set of variants to the shape of its values."""


def variants_of(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each variant in the set `name`, except those that the installed botocore lacks."""
    if name == "stop_reason":
        yield from ((reason, reason) for reason in bedrock.enum("StopReason"))
    elif name == "pii_kind":
        for kind in bedrock.enum("GuardrailPiiEntityType"):
            if kind in content.PII:
                yield kind, {**content.EMAIL, "type": kind, "match": content.PII[kind]}
    else:
        for path, value in _VARIANTS[SHAPES[name]].items():
            if _has(SHAPES[name], steps := path.split(".")):
                yield path, _at(steps, value)


def _at(steps: list[str], value: Any) -> Any:
    """Return `value` nested under the member names `steps`; block events also get a contentBlockIndex."""
    for step in reversed(steps):
        value = {step: {"contentBlockIndex": 0, _IN_BLOCK[step]: value} if step in _IN_BLOCK else value}
    return value


def _has(shape: str, steps: list[str]) -> bool:
    """Whether the shape `shape` of the installed botocore's model has the nested members `steps`."""
    for step in steps:
        if not bedrock.has_member(shape, step):
            return False
        shape = bedrock.member(shape, step).name
        if step in _IN_BLOCK:
            shape = bedrock.member(shape, _IN_BLOCK[step]).name
    return True
