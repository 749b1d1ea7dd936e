"""The functions that build each sample and each variant, and the samples of whole requests and responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple

from converse_harness import bedrock
from converse_harness.samples import content, guardrails, memory, streaming

_MODEL: Final = "us.amazon.nova-lite-v1:0"


def _response() -> dict[str, Any]:
    """The sample response of Converse; `streaming.events` has the same answer as events."""
    return {
        "output": {"message": content.message()},
        "stopReason": streaming.stop_reason(),
        "usage": streaming.usage(),
        "metrics": streaming.metrics(),
    }


def _request() -> dict[str, Any]:
    """The sample request, which `_response` answers."""
    return {
        "modelId": _MODEL,
        "messages": [content.question()],
        "system": [content.system_block()],
        "inferenceConfig": _inference_config(),
        "toolConfig": content.config(),
    }


def _guarded_request() -> dict[str, Any]:
    """The sample request for ConverseStream, with a guardrail."""
    return {**_request(), "guardrailConfig": guardrails.config()}


def _count_request() -> dict[str, Any]:
    """The sample request of CountTokens."""
    counted = {key: _request()[key] for key in ("messages", "system", "toolConfig")}
    return {"modelId": _MODEL, "input": {"converse": counted}}


def _inference_config() -> dict[str, Any]:
    return {"maxTokens": 512, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]}


def _output_config() -> dict[str, Any]:
    """The sample outputConfig, for JSON that matches a schema."""
    schema = '{"type":"object","properties":{"items":{"type":"array","items":{"type":"string"}}},"required":["items"]}'
    return {
        "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": "packing_list", "schema": schema}}}
    }


def _request_metadata() -> dict[str, str]:
    return {"team": "travel", "stage": "test"}


def _router_trace() -> dict[str, Any]:
    """The sample trace of a guardrail and a prompt router."""
    profile = f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{_MODEL}"
    return {"guardrail": guardrails.detected_trace(), "promptRouter": {"invokedModelId": profile}}


Builders = Mapping[str, Callable[[], Any]]


def _at(path: str, build: Callable[[], Any]) -> Callable[[], Any]:
    """Make a builder that nests the value of `build` under the members of a path."""

    def built() -> Any:
        value = build()
        for name in reversed(path.split(".")):
            value = {name: value}
        return value

    return built


def _by_path(members: Builders) -> Builders:
    return {path: _at(path, build) for path, build in members.items()}


def _in_block(field: str, members: Builders) -> Builders:
    """Make events from variants: each under `field`, with the block's index."""
    event = {"start": "contentBlockStart", "delta": "contentBlockDelta"}[field]

    def make(build: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: {event: {"contentBlockIndex": 0, field: build()}}

    return {f"{event}.{path}": make(build) for path, build in members.items()}


_REDACTED: Final = b"EXAMPLE-ENCRYPTED-REASONING"

_CONTENT_BLOCKS: Final = _by_path(
    {
        "text": lambda: content.LOOK_FIRST,
        "image": content.image,
        "document": content.document,
        "video": content.video,
        "audio": content.audio,
        "toolUse": content.tool_use,
        "toolResult": content.result,
        "guardContent.text": content.guard_text,
        "guardContent.image": content.image,
        "cachePoint": content.cache_point,
        "reasoningContent.reasoningText": content.reasoning_text,
        "reasoningContent.redactedContent": lambda: _REDACTED,
        "citationsContent": streaming.block,
        "searchResult": streaming.search_result,
        "toolAddition": content.reference,
        "toolRemoval": content.reference,
    }
)

_STARTS: Final = _by_path(
    {
        "toolUse": content.start_tool_use,
        "toolResult": lambda: {"toolUseId": content.ID, "status": content.result_status()},
        "image": lambda: {"format": content.image_format()},
    }
)

_DELTAS: Final = _by_path(
    {
        "text": lambda: content.delta()["text"],
        "toolUse": streaming.tool_use_delta,
        "toolResult": lambda: [content.result_content()],
        "reasoningContent.text": lambda: streaming.reasoning_delta()["text"],
        "reasoningContent.signature": lambda: content.reasoning_text()["signature"],
        "reasoningContent.redactedContent": lambda: _REDACTED,
        "citation": streaming.citation_delta,
        "image": lambda: {"source": content.image_source()},
    }
)

_STREAM_EVENTS: Final = {
    **_by_path({"messageStart": streaming.message_start}),
    **_in_block("start", _STARTS),
    **_in_block("delta", _DELTAS),
    **_by_path(
        {
            "contentBlockStop": streaming.block_stop,
            "messageStop": streaming.message_stop,
            "metadata": streaming.metadata,
            "internalServerException": lambda: {"message": "The system encountered an unexpected error."},
            "modelStreamErrorException": streaming.model_stream_error,
            "validationException": lambda: {"message": "The model returned the following errors: prompt is too long"},
            "throttlingException": streaming.exception,
            "serviceUnavailableException": lambda: {"message": "Bedrock is unable to process your request."},
        }
    ),
}

_BY_SHAPE: Final[Mapping[str, Builders]] = {
    "ContentBlock": _CONTENT_BLOCKS,
    "ContentBlockDelta": _DELTAS,
    "ConverseStreamOutput": _STREAM_EVENTS,
    "ToolChoice": _by_path({"auto": content.choice_auto, "any": content.choice_any, "tool": content.choice_tool}),
    "CitationLocation": _by_path(
        {
            "web": streaming.web,
            "documentChar": streaming.document_char,
            "documentPage": streaming.document_page,
            "documentChunk": streaming.document_chunk,
            "searchResultLocation": streaming.search_result_location,
        }
    ),
}

SHAPES: Final = {
    "content_block": "ContentBlock",
    "delta": "ContentBlockDelta",
    "stream_event": "ConverseStreamOutput",
    "stop_reason": "StopReason",
    "tool_choice": "ToolChoice",
    "citation_location": "CitationLocation",
    "pii_kind": "GuardrailPiiEntityFilter",
}
"""Set of variants -> the shape that they are of."""

_BLOCK_FIELDS: Final = {"ContentBlockStartEvent": "start", "ContentBlockDeltaEvent": "delta"}
"""Where the path of an event goes on; `contentBlockStart.toolUse` leaves it out."""


@cache
def builders(name: str) -> Builders:
    """The variants that the installed botocore has, by path, with the functions that build them."""
    if name == "stop_reason":
        return {reason: partial(str, reason) for reason in bedrock.enum("StopReason")}
    if name == "pii_kind":
        return {
            kind: partial(guardrails.pii, kind)
            for kind in bedrock.enum("GuardrailPiiEntityType")
            if kind in guardrails.PII
        }
    shape = SHAPES[name]
    return {path: build for path, build in _BY_SHAPE[shape].items() if _has(shape, path.split("."))}


def _has(shape: str, path: list[str]) -> bool:
    """Whether the installed botocore's model has this path of members."""
    for step in path:
        if shape in _BLOCK_FIELDS:
            shape = bedrock.member(shape, _BLOCK_FIELDS[shape]).name
        if not bedrock.has_member(shape, step):
            return False
        shape = bedrock.member(shape, step).name
    return True


class Builder(NamedTuple):
    """A function that builds a new value; `shape` is None for types that only Strands has."""

    build: Callable[[], Any]
    shape: str | None = None


BUILDERS: Final[Mapping[str, Builder]] = {
    "content.Message": Builder(content.message, "Message"),
    "content.Messages": Builder(content.messages, "Messages"),
    "content.Role": Builder(content.user_role, "ConversationRole"),
    "content.ContentBlock": Builder(content.text_block, "ContentBlock"),
    "content.SystemContentBlock": Builder(content.system_block, "SystemContentBlock"),
    "content.CachePoint": Builder(content.cache_point, "CachePointBlock"),
    "content.GuardContent": Builder(content.guard_content, "GuardrailConverseContentBlock"),
    "content.GuardContentText": Builder(content.guard_text, "GuardrailConverseTextBlock"),
    "content.ReasoningContentBlock": Builder(content.reasoning, "ReasoningContentBlock"),
    "content.ReasoningTextBlock": Builder(content.reasoning_text, "ReasoningTextBlock"),
    "content.ContentBlockStart": Builder(content.start, "ContentBlockStart"),
    "content.ContentBlockStartToolUse": Builder(content.start_tool_use, "ToolUseBlockStart"),
    "content.ContentBlockDelta": Builder(content.indexed_delta, "ContentBlockDeltaEvent"),
    "content.DeltaContent": Builder(content.delta, "ContentBlockDelta"),
    "content.ContentBlockStop": Builder(content.stop, "ContentBlockStopEvent"),
    "tools.JSONSchema": Builder(content.json_schema),
    "tools.ToolSpec": Builder(content.spec, "ToolSpecification"),
    "tools.Tool": Builder(content.tool, "Tool"),
    "tools.ToolUse": Builder(content.tool_use, "ToolUseBlock"),
    "tools.ToolResult": Builder(content.result, "ToolResultBlock"),
    "tools.ToolResultContent": Builder(content.result_content, "ToolResultContentBlock"),
    "tools.ToolResultStatus": Builder(content.result_status, "ToolResultStatus"),
    "tools.ToolConfig": Builder(content.config, "ToolConfiguration"),
    "tools.ToolChoice": Builder(content.choice_tool_dict, "ToolChoice"),
    "tools.ToolChoiceAuto": Builder(content.choice_auto, "AutoToolChoice"),
    "tools.ToolChoiceAutoDict": Builder(content.choice_auto_dict, "ToolChoice"),
    "tools.ToolChoiceAny": Builder(content.choice_any, "AnyToolChoice"),
    "tools.ToolChoiceAnyDict": Builder(content.choice_any_dict, "ToolChoice"),
    "tools.ToolChoiceTool": Builder(content.choice_tool, "SpecificToolChoice"),
    "tools.ToolChoiceToolDict": Builder(content.choice_tool_dict, "ToolChoice"),
    "tools.AgentTool": Builder(content.agent_tool),
    "tools.ToolFunc": Builder(content.function),
    "tools.ToolGenerator": Builder(content.generator),
    "tools.RunToolHandler": Builder(content.handler),
    "tools.ToolContext": Builder(content.context),
    "tools._Interruptible": Builder(content.context),
    "streaming.StreamEvent": Builder(streaming.event, "ConverseStreamOutput"),
    "streaming.MessageStartEvent": Builder(streaming.message_start, "MessageStartEvent"),
    "streaming.ContentBlockStartEvent": Builder(streaming.block_start, "ContentBlockStartEvent"),
    "streaming.ContentBlockDeltaEvent": Builder(streaming.delta_event, "ContentBlockDeltaEvent"),
    "streaming.ContentBlockDelta": Builder(content.delta, "ContentBlockDelta"),
    "streaming.ContentBlockDeltaText": Builder(content.delta),
    "streaming.ContentBlockDeltaToolUse": Builder(streaming.tool_use_delta, "ToolUseBlockDelta"),
    "streaming.ReasoningContentBlockDelta": Builder(streaming.reasoning_delta, "ReasoningContentBlockDelta"),
    "streaming.CitationsDelta": Builder(streaming.citation_delta, "CitationsDelta"),
    "streaming.CitationSourceContentDelta": Builder(streaming.citation_source_delta, "CitationSourceContentDelta"),
    "streaming.CitationLocation": Builder(streaming.location, "CitationLocation"),
    "streaming.ContentBlockStopEvent": Builder(streaming.block_stop, "ContentBlockStopEvent"),
    "streaming.MessageStopEvent": Builder(streaming.message_stop, "MessageStopEvent"),
    "streaming.MetadataEvent": Builder(streaming.metadata, "ConverseStreamMetadataEvent"),
    "streaming.ExceptionEvent": Builder(streaming.exception, "ThrottlingException"),
    "streaming.ModelStreamErrorEvent": Builder(streaming.model_stream_error, "ModelStreamErrorException"),
    "streaming.RedactContentEvent": Builder(streaming.redact_content),
    "event_loop.StopReason": Builder(streaming.stop_reason, "StopReason"),
    "event_loop.Usage": Builder(streaming.usage, "TokenUsage"),
    "event_loop.Metrics": Builder(streaming.measured_metrics),
    "media.ImageContent": Builder(content.image, "ImageBlock"),
    "media.ImageFormat": Builder(content.image_format, "ImageFormat"),
    "media.ImageSource": Builder(content.image_source, "ImageSource"),
    "media.DocumentContent": Builder(content.document, "DocumentBlock"),
    "media.DocumentFormat": Builder(content.document_format, "DocumentFormat"),
    "media.DocumentSource": Builder(content.document_source, "DocumentSource"),
    "media.VideoContent": Builder(content.video, "VideoBlock"),
    "media.VideoFormat": Builder(content.video_format, "VideoFormat"),
    "media.VideoSource": Builder(content.video_source, "VideoSource"),
    "citations.CitationsConfig": Builder(content.citations_config, "CitationsConfig"),
    "citations.CitationsContentBlock": Builder(streaming.block, "CitationsContentBlock"),
    "citations.Citation": Builder(streaming.citation, "Citation"),
    "citations.CitationGeneratedContent": Builder(streaming.generated_content, "CitationGeneratedContent"),
    "citations.CitationSourceContent": Builder(streaming.source_content, "CitationSourceContent"),
    "citations.DocumentCharLocation": Builder(streaming.document_char, "DocumentCharLocation"),
    "citations.DocumentChunkLocation": Builder(streaming.document_chunk, "DocumentChunkLocation"),
    "citations.DocumentPageLocation": Builder(streaming.document_page, "DocumentPageLocation"),
    "citations.SearchResultLocation": Builder(streaming.search_result_location, "SearchResultLocation"),
    "citations.WebLocation": Builder(streaming.web, "WebLocation"),
    "guardrails.Trace": Builder(guardrails.trace, "ConverseTrace"),
    "guardrails.GuardrailTrace": Builder(guardrails.guardrail_trace, "GuardrailTraceAssessment"),
    "guardrails.GuardrailAssessment": Builder(guardrails.assessment, "GuardrailAssessment"),
    "guardrails.GuardrailConfig": Builder(guardrails.config, "GuardrailStreamConfiguration"),
    "guardrails.TopicPolicy": Builder(guardrails.topic_policy, "GuardrailTopicPolicyAssessment"),
    "guardrails.Topic": Builder(guardrails.topic, "GuardrailTopic"),
    "guardrails.ContentPolicy": Builder(guardrails.content_policy, "GuardrailContentPolicyAssessment"),
    "guardrails.ContentFilter": Builder(guardrails.content_filter, "GuardrailContentFilter"),
    "guardrails.WordPolicy": Builder(guardrails.word_policy, "GuardrailWordPolicyAssessment"),
    "guardrails.CustomWord": Builder(guardrails.custom_word, "GuardrailCustomWord"),
    "guardrails.ManagedWord": Builder(guardrails.managed_word, "GuardrailManagedWord"),
    "guardrails.SensitiveInformationPolicy": Builder(
        guardrails.sensitive_information_policy, "GuardrailSensitiveInformationPolicyAssessment"
    ),
    "guardrails.PIIEntity": Builder(guardrails.email, "GuardrailPiiEntityFilter"),
    "guardrails.Regex": Builder(guardrails.regex, "GuardrailRegexFilter"),
    "guardrails.ContextualGroundingPolicy": Builder(
        guardrails.grounding_policy, "GuardrailContextualGroundingPolicyAssessment"
    ),
    "guardrails.ContextualGroundingFilter": Builder(guardrails.grounding_filter, "GuardrailContextualGroundingFilter"),
    "ConverseRequest": Builder(_request, "ConverseRequest"),
    "ConverseStreamRequest": Builder(_guarded_request, "ConverseStreamRequest"),
    "CountTokensRequest": Builder(_count_request, "CountTokensRequest"),
    "ConverseResponse": Builder(_response, "ConverseResponse"),
    "ConverseStreamOutput": Builder(streaming.events),
    "ConverseTrace": Builder(_router_trace, "ConverseTrace"),
    "GuardrailTraceAssessment": Builder(guardrails.detected_trace, "GuardrailTraceAssessment"),
    "TokenUsage": Builder(streaming.usage_by_age, "TokenUsage"),
    "ConverseStreamMetrics": Builder(streaming.metrics, "ConverseStreamMetrics"),
    "ToolSpecification": Builder(content.strict_spec, "ToolSpecification"),
    "SystemTool": Builder(content.system_tool, "SystemTool"),
    "AudioBlock": Builder(content.audio, "AudioBlock"),
    "SearchResultBlock": Builder(streaming.search_result, "SearchResultBlock"),
    "InferenceConfiguration": Builder(_inference_config, "InferenceConfiguration"),
    "OutputConfig": Builder(_output_config, "OutputConfig"),
    "RequestMetadata": Builder(_request_metadata, "RequestMetadata"),
    "exceptions.ContextWindowOverflowException": Builder(streaming.context_window_overflow),
    "exceptions.EventLoopException": Builder(streaming.event_loop),
    "exceptions.MCPClientInitializationError": Builder(streaming.mcp_client_initialization),
    "exceptions.ModelThrottledException": Builder(streaming.model_throttled),
    "exceptions.SessionException": Builder(streaming.session),
    "session.Session": Builder(memory.session),
    "session.SessionAgent": Builder(memory.agent),
    "session.SessionMessage": Builder(memory.message),
    "session.SessionType": Builder(memory.session_type),
    "session.encode_bytes_values": Builder(memory.with_bytes),
    "session.decode_bytes_values": Builder(memory.without_bytes),
    "memory.MemoryEntry": Builder(memory.entry),
    "memory.MemoryStore": Builder(memory.store),
    "memory.MemoryStoreConfig": Builder(memory.store_config),
    "memory.MemoryManagerConfig": Builder(memory.manager_config),
    "memory.MemoryToolConfig": Builder(memory.tool_config),
    "memory.MemoryAddToolConfig": Builder(memory.add_tool_config),
    "memory.MemoryInjectionConfig": Builder(memory.injection),
    "memory.SearchOptions": Builder(memory.search_options),
    "memory.MemorySearchOptions": Builder(memory.memory_search_options),
    "memory.MemoryAddOptions": Builder(memory.add_options),
    "memory.AddMessagesContext": Builder(memory.add_context),
    "memory.InjectionQueryContext": Builder(memory.query_context),
    "memory.InjectionQueryCallback": Builder(memory.query),
    "memory.InjectionFormatContext": Builder(memory.format_context),
    "memory.InjectionFormatCallback": Builder(memory.as_text),
}
"""Name, as in `table.SAMPLES` -> builder."""
