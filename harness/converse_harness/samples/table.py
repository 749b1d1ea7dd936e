"""Every sample value as one literal table, and the variants that a test can run with.

pytest reads it whenever it starts: it imports nothing, and builders are named, not imported.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Sample(NamedTuple):
    """A sample: the fixture that gives it, what it is, and its builder, as `module.function` of this package."""

    fixture: str
    doc: str
    builder: str


class Variants(NamedTuple):
    """Variants of a shape of AWS, for a test that runs once for each: the fixture that gives them, what they are."""

    fixture: str
    doc: str
    shape: str


SAMPLES: Final[Mapping[str, Sample]] = {
    # Messages and their blocks.
    "content.Message": Sample(
        "converse_message", "An assistant's message that looks up the weather: text, tool use.", "content.message"
    ),
    "content.Messages": Sample(
        "converse_messages", "A conversation: question, tool use, its result, answer.", "content.messages"
    ),
    "content.Role": Sample("converse_role", "Who wrote a message: `user`.", "content.user_role"),
    "content.ContentBlock": Sample("converse_content_block", "A content block: text.", "content.text_block"),
    "content.SystemContentBlock": Sample("converse_system_content_block", "A system prompt.", "content.system_block"),
    "content.CachePoint": Sample(
        "converse_cache_point", "A cache point: up to here a request may be cached.", "content.cache_point"
    ),
    "content.GuardContent": Sample(
        "converse_guard_content", "A text for a guardrail to look at, under its tag.", "content.guard_content"
    ),
    "content.GuardContentText": Sample(
        "converse_guard_content_text", "A text for a guardrail to look at.", "content.guard_text"
    ),
    "content.ReasoningContentBlock": Sample(
        "converse_reasoning_content_block", "Signed reasoning, under its tag.", "content.reasoning"
    ),
    "content.ReasoningTextBlock": Sample(
        "converse_reasoning_text_block", "Signed reasoning.", "content.reasoning_text"
    ),
    "content.ContentBlockStart": Sample(
        "converse_content_block_start", "What a tool use begins with, under its tag.", "content.start"
    ),
    "content.ContentBlockStartToolUse": Sample(
        "converse_content_block_start_tool_use", "What a tool use begins with: name and id.", "content.start_tool_use"
    ),
    "content.ContentBlockDelta": Sample(
        "converse_content_content_block_delta",
        "A piece of a block with its index (`content.ContentBlockDelta`).",
        "content.indexed_delta",
    ),
    "content.DeltaContent": Sample("converse_delta_content", "A piece of a text.", "content.delta"),
    "content.ContentBlockStop": Sample(
        "converse_content_block_stop", "The block of this index is complete.", "content.stop"
    ),
    # Tools.
    "tools.JSONSchema": Sample("converse_json_schema", "The JSON Schema of a tool's input.", "tools.json_schema"),
    "tools.ToolSpec": Sample("converse_tool_spec", "What a model is told of the weather tool.", "tools.spec"),
    "tools.Tool": Sample("converse_tool", "The same under its tag, as in a request.", "tools.tool"),
    "tools.ToolUse": Sample("converse_tool_use", "A model asks for the weather.", "tools.tool_use"),
    "tools.ToolResult": Sample("converse_tool_result", "What the tool answers to `converse_tool_use`.", "tools.result"),
    "tools.ToolResultContent": Sample("converse_tool_result_content", "The forecast as JSON.", "tools.result_content"),
    "tools.ToolResultStatus": Sample(
        "converse_tool_result_status", "Whether a tool did its work: `success`.", "tools.result_status"
    ),
    "tools.ToolConfig": Sample("converse_tool_config", "The tools of a request.", "tools.config"),
    "tools.ToolChoice": Sample("converse_tool_choice", "The model must use this tool.", "tools.choice_tool_dict"),
    "tools.ToolChoiceAuto": Sample(
        "converse_tool_choice_auto", "The model may use tools: no members.", "tools.choice_auto"
    ),
    "tools.ToolChoiceAutoDict": Sample(
        "converse_tool_choice_auto_dict", "The same under its tag.", "tools.choice_auto_dict"
    ),
    "tools.ToolChoiceAny": Sample(
        "converse_tool_choice_any", "The model must use some tool: no members.", "tools.choice_any"
    ),
    "tools.ToolChoiceAnyDict": Sample(
        "converse_tool_choice_any_dict", "The same under its tag.", "tools.choice_any_dict"
    ),
    "tools.ToolChoiceTool": Sample("converse_tool_choice_tool", "The name of the tool to use.", "tools.choice_tool"),
    "tools.ToolChoiceToolDict": Sample(
        "converse_tool_choice_tool_dict", "The same under its tag.", "tools.choice_tool_dict"
    ),
    "tools.AgentTool": Sample("converse_agent_tool", "The weather tool itself, to be run.", "tools.agent_tool"),
    "tools.ToolFunc": Sample("converse_tool_func", "The weather tool as a function.", "tools.function"),
    "tools.ToolGenerator": Sample(
        "converse_tool_generator", "The weather tool at work: it yields the result.", "tools.generator"
    ),
    "tools.RunToolHandler": Sample("converse_run_tool_handler", "Runs uses of the weather tool.", "tools.handler"),
    "tools.ToolContext": Sample("converse_tool_context", "What a tool is told beside its input.", "tools.context"),
    "tools._Interruptible": Sample("converse_interruptible", "What can stop to ask a person.", "tools.context"),
    # Streams.
    "streaming.StreamEvent": Sample(
        "converse_stream_event", "One event of a stream: a text goes on.", "streaming.event"
    ),
    "streaming.MessageStartEvent": Sample(
        "converse_message_start_event", "An answer begins.", "streaming.message_start"
    ),
    "streaming.ContentBlockStartEvent": Sample(
        "converse_content_block_start_event", "A tool use begins.", "streaming.block_start"
    ),
    "streaming.ContentBlockDeltaEvent": Sample(
        "converse_content_block_delta_event", "A text goes on.", "streaming.delta_event"
    ),
    "streaming.ContentBlockDelta": Sample(
        "converse_content_block_delta",
        "A piece of a block: of a text (`streaming.ContentBlockDelta`).",
        "content.delta",
    ),
    "streaming.ContentBlockDeltaText": Sample(
        "converse_content_block_delta_text", "A piece of a text.", "content.delta"
    ),
    "streaming.ContentBlockDeltaToolUse": Sample(
        "converse_content_block_delta_tool_use", "A piece of the JSON of a tool's input.", "streaming.tool_use_delta"
    ),
    "streaming.ReasoningContentBlockDelta": Sample(
        "converse_reasoning_content_block_delta", "A piece of reasoning.", "streaming.reasoning_delta"
    ),
    "streaming.CitationsDelta": Sample(
        "converse_citations_delta", "A citation as it is streamed.", "streaming.citation_delta"
    ),
    "streaming.CitationSourceContentDelta": Sample(
        "converse_citation_source_content_delta",
        "The cited passage as it is streamed.",
        "streaming.citation_source_delta",
    ),
    "streaming.CitationLocation": Sample(
        "converse_citation_location", "Where the cited passage stands.", "citations.location"
    ),
    "streaming.ContentBlockStopEvent": Sample(
        "converse_content_block_stop_event", "A text is complete.", "streaming.block_stop"
    ),
    "streaming.MessageStopEvent": Sample(
        "converse_message_stop_event", "The model stopped to use a tool.", "streaming.message_stop"
    ),
    "streaming.MetadataEvent": Sample(
        "converse_metadata_event", "What an answer cost, its time, its guardrail's findings.", "streaming.metadata"
    ),
    "streaming.ExceptionEvent": Sample("converse_exception_event", "A stream fails: throttled.", "streaming.exception"),
    "streaming.ModelStreamErrorEvent": Sample(
        "converse_model_stream_error_event", "A stream fails since the model did.", "streaming.model_stream_error"
    ),
    "streaming.RedactContentEvent": Sample(
        "converse_redact_content_event", "Strands' own: a guardrail redacts the turn.", "streaming.redact_content"
    ),
    "event_loop.StopReason": Sample(
        "converse_stop_reason", "Why a model stopped: `tool_use`.", "streaming.stop_reason"
    ),
    "event_loop.Usage": Sample("converse_usage", "Tokens of an answer, some from a cache.", "streaming.usage"),
    "event_loop.Metrics": Sample(
        "converse_metrics", "Times of an answer, as Strands measures them.", "streaming.measured_metrics"
    ),
    # Media and citations.
    "media.ImageContent": Sample("converse_image_content", "A PNG image.", "media.image"),
    "media.ImageFormat": Sample("converse_image_format", "The format of an image: `png`.", "media.image_format"),
    "media.ImageSource": Sample("converse_image_source", "The bytes of a PNG image.", "media.image_source"),
    "media.DocumentContent": Sample("converse_document_content", "A text document, to be cited.", "media.document"),
    "media.DocumentFormat": Sample(
        "converse_document_format", "The format of a document: `txt`.", "media.document_format"
    ),
    "media.DocumentSource": Sample(
        "converse_document_source", "The bytes of a text document.", "media.document_source"
    ),
    "media.VideoContent": Sample("converse_video_content", "An MP4 video.", "media.video"),
    "media.VideoFormat": Sample("converse_video_format", "The format of a video: `mp4`.", "media.video_format"),
    "media.VideoSource": Sample("converse_video_source", "The bytes of an MP4 video.", "media.video_source"),
    "citations.CitationsConfig": Sample(
        "converse_citations_config", "Asks for citations of a document.", "media.config"
    ),
    "citations.CitationsContentBlock": Sample(
        "converse_citations_content_block", "An answer with its citation.", "citations.block"
    ),
    "citations.Citation": Sample(
        "converse_citation", "A passage of `converse_document_content`.", "citations.citation"
    ),
    "citations.CitationGeneratedContent": Sample(
        "converse_citation_generated_content", "What the model makes of the passage.", "citations.generated_content"
    ),
    "citations.CitationSourceContent": Sample(
        "converse_citation_source_content", "The passage as the document has it.", "citations.source_content"
    ),
    "citations.DocumentCharLocation": Sample(
        "converse_document_char_location", "The passage by characters.", "citations.document_char"
    ),
    "citations.DocumentChunkLocation": Sample(
        "converse_document_chunk_location", "The passage by chunks.", "citations.document_chunk"
    ),
    "citations.DocumentPageLocation": Sample(
        "converse_document_page_location", "The passage by pages.", "citations.document_page"
    ),
    "citations.SearchResultLocation": Sample(
        "converse_search_result_location", "The passage in a search result.", "citations.search_result_location"
    ),
    "citations.WebLocation": Sample("converse_web_location", "The passage on the web.", "citations.web"),
    # Guardrails.
    "guardrails.Trace": Sample("converse_trace", "A guardrail's findings, as an answer's trace.", "guardrails.trace"),
    "guardrails.GuardrailTrace": Sample(
        "converse_guardrail_trace", "What a guardrail found in question and answer.", "guardrails.guardrail_trace"
    ),
    "guardrails.GuardrailAssessment": Sample(
        "converse_guardrail_assessment", "A finding of each of a guardrail's policies.", "guardrails.assessment"
    ),
    "guardrails.GuardrailConfig": Sample("converse_guardrail_config", "Asks for a guardrail.", "guardrails.config"),
    "guardrails.TopicPolicy": Sample("converse_topic_policy", "Forbidden topics found.", "guardrails.topic_policy"),
    "guardrails.Topic": Sample("converse_topic", "A forbidden topic found.", "guardrails.topic"),
    "guardrails.ContentPolicy": Sample(
        "converse_content_policy", "Harmful content found.", "guardrails.content_policy"
    ),
    "guardrails.ContentFilter": Sample("converse_content_filter", "An insult found.", "guardrails.content_filter"),
    "guardrails.WordPolicy": Sample("converse_word_policy", "Words found.", "guardrails.word_policy"),
    "guardrails.CustomWord": Sample(
        "converse_custom_word", "A word of the guardrail's own list.", "guardrails.custom_word"
    ),
    "guardrails.ManagedWord": Sample("converse_managed_word", "A word of a list of AWS.", "guardrails.managed_word"),
    "guardrails.SensitiveInformationPolicy": Sample(
        "converse_sensitive_information_policy", "Personal data found.", "guardrails.sensitive_information_policy"
    ),
    "guardrails.PIIEntity": Sample("converse_pii_entity", "An e-mail address found.", "guardrails.email"),
    "guardrails.Regex": Sample("converse_regex", "What a guardrail's own expression found.", "guardrails.regex"),
    "guardrails.ContextualGroundingPolicy": Sample(
        "converse_contextual_grounding_policy",
        "Checks of an answer against its sources.",
        "guardrails.grounding_policy",
    ),
    "guardrails.ContextualGroundingFilter": Sample(
        "converse_contextual_grounding_filter", "An answer that leans on no source.", "guardrails.grounding_filter"
    ),
    # AWS's own shapes, where they have more than Strands' types, or Strands has none.
    "ConverseRequest": Sample("converse_request", "The arguments of `client.converse`.", "operations.request"),
    "ConverseStreamRequest": Sample(
        "converse_stream_request",
        "The arguments of `client.converse_stream`, with a guardrail.",
        "operations.guarded_request",
    ),
    "CountTokensRequest": Sample(
        "converse_count_tokens_request", "The arguments of `client.count_tokens`.", "operations.count_request"
    ),
    "ConverseResponse": Sample("converse_response", "The answer to `converse_request`.", "operations.response"),
    "ConverseStreamOutput": Sample(
        "converse_stream_events", "The events of that answer, messageStart to metadata.", "streaming.events"
    ),
    "ConverseTrace": Sample(
        "converse_response_trace", "A guardrail that only detects, and a prompt router.", "operations.router_trace"
    ),
    "GuardrailTraceAssessment": Sample(
        "converse_guardrail_trace_assessment",
        "A guardrail that only detects, with its metrics.",
        "guardrails.detected_trace",
    ),
    "TokenUsage": Sample("converse_token_usage", "Tokens of an answer, with `cacheDetails`.", "streaming.usage_by_age"),
    "ConverseStreamMetrics": Sample(
        "converse_stream_metrics", "The time of an answer, as AWS tells it.", "streaming.metrics"
    ),
    "ToolSpecification": Sample("converse_tool_specification", "The weather tool, `strict`.", "tools.strict_spec"),
    "SystemTool": Sample("converse_system_tool", "A tool of the service's own.", "tools.system_tool"),
    "AudioBlock": Sample("converse_audio_block", "A WAV file of silence.", "media.audio"),
    "SearchResultBlock": Sample(
        "converse_search_result_block", "A search result to be cited.", "citations.search_result"
    ),
    "InferenceConfiguration": Sample(
        "converse_inference_configuration", "How a model is asked to write.", "operations.inference_config"
    ),
    "OutputConfig": Sample("converse_output_config", "Asks for JSON of a schema.", "operations.output_config"),
    "RequestMetadata": Sample(
        "converse_request_metadata", "What a request is booked on.", "operations.request_metadata"
    ),
    # Strands' own: exceptions, sessions, memory.
    "exceptions.ContextWindowOverflowException": Sample(
        "converse_context_window_overflow_exception",
        "The conversation is too long.",
        "exceptions.context_window_overflow",
    ),
    "exceptions.EventLoopException": Sample(
        "converse_event_loop_exception", "The agent's loop failed.", "exceptions.event_loop"
    ),
    "exceptions.MCPClientInitializationError": Sample(
        "converse_mcp_client_initialization_error",
        "A tool server did not start.",
        "exceptions.mcp_client_initialization",
    ),
    "exceptions.ModelThrottledException": Sample(
        "converse_model_throttled_exception", "Too many requests.", "exceptions.model_throttled"
    ),
    "exceptions.SessionException": Sample(
        "converse_session_exception", "A session is not there.", "exceptions.session"
    ),
    "session.Session": Sample("converse_session", "A session.", "session.session"),
    "session.SessionAgent": Sample("converse_session_agent", "The agent of a session.", "session.agent"),
    "session.SessionMessage": Sample("converse_session_message", "A message of a session.", "session.message"),
    "session.SessionType": Sample("converse_session_type", "What a session is of: `AGENT`.", "session.session_type"),
    "session.encode_bytes_values": Sample(
        "converse_bytes_values", "A message with bytes, for `encode_bytes_values`.", "session.with_bytes"
    ),
    "session.decode_bytes_values": Sample(
        "converse_encoded_bytes_values", "The same as JSON, for `decode_bytes_values`.", "session.without_bytes"
    ),
    "memory.MemoryEntry": Sample("converse_memory_entry", "Something remembered.", "memory.entry"),
    "memory.MemoryStore": Sample("converse_memory_store", "A store in memory, with an entry.", "memory.store"),
    "memory.MemoryStoreConfig": Sample(
        "converse_memory_store_config", "What a store is made with.", "memory.store_config"
    ),
    "memory.MemoryManagerConfig": Sample(
        "converse_memory_manager_config", "An agent's memory.", "memory.manager_config"
    ),
    "memory.MemoryToolConfig": Sample("converse_memory_tool_config", "The tool that searches.", "memory.tool_config"),
    "memory.MemoryAddToolConfig": Sample(
        "converse_memory_add_tool_config", "The tool that adds.", "memory.add_tool_config"
    ),
    "memory.MemoryInjectionConfig": Sample(
        "converse_memory_injection_config", "How memories get into a request.", "memory.injection"
    ),
    "memory.SearchOptions": Sample("converse_search_options", "How to search one store.", "memory.search_options"),
    "memory.MemorySearchOptions": Sample(
        "converse_memory_search_options", "How to search all stores.", "memory.memory_search_options"
    ),
    "memory.MemoryAddOptions": Sample("converse_memory_add_options", "How to add to all stores.", "memory.add_options"),
    "memory.AddMessagesContext": Sample(
        "converse_add_messages_context", "What a store is told beside messages.", "memory.add_context"
    ),
    "memory.InjectionQueryContext": Sample(
        "converse_injection_query_context", "What a query is made of.", "memory.query_context"
    ),
    "memory.InjectionQueryCallback": Sample(
        "converse_injection_query_callback", "Makes a query of a conversation.", "memory.query"
    ),
    "memory.InjectionFormatContext": Sample(
        "converse_injection_format_context", "What the injected text is made of.", "memory.format_context"
    ),
    "memory.InjectionFormatCallback": Sample(
        "converse_injection_format_callback", "Makes a text of memories.", "memory.as_text"
    ),
}
"""Name -> sample. `content.Message` is Message of `converse_harness.types.content`; without a module, AWS's shape."""

VARIANTS: Final[Mapping[str, Variants]] = {
    "content_block": Variants(
        "converse_each_content_block", "Runs the test once for each kind of content block.", "ContentBlock"
    ),
    "delta": Variants(
        "converse_each_delta", "Runs the test once for each kind of ContentBlockDelta.", "ContentBlockDelta"
    ),
    "stream_event": Variants(
        "converse_each_stream_event",
        "Runs the test once for each event that a stream can hold, exceptions as well.",
        "ConverseStreamOutput",
    ),
    "stop_reason": Variants(
        "converse_each_stop_reason", "Runs the test once for each of AWS's stop reasons.", "StopReason"
    ),
    "tool_choice": Variants("converse_each_tool_choice", "Runs the test once for each tool choice.", "ToolChoice"),
    "citation_location": Variants(
        "converse_each_citation_location", "Runs the test once for each kind of citation location.", "CitationLocation"
    ),
    "pii_kind": Variants(
        "converse_each_pii_kind",
        "Runs the test once for each kind of personal data: a PIIEntity, its `match` one that looks real.",
        "GuardrailPiiEntityFilter",
    ),
}
"""Name -> variants; `unions.py` has what they are made of."""
