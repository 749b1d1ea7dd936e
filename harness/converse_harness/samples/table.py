"""One literal table of all samples and sets of variants: the name, the fixture and a sentence about each.

pytest imports this module at every start, so the table is only text and needs no other module. The values are in
`values.py` and `objects.py`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class SampleRow(NamedTuple):
    """The name of a fixture that provides a sample or variants, and a sentence that describes the value."""

    fixture: str
    doc: str


def _read(table: str) -> Mapping[str, SampleRow]:
    cells = [line.split(" | ") for line in table.splitlines() if line]
    return {name: SampleRow(fixture, doc) for name, fixture, doc in cells}


SAMPLES: Final = _read("""
content.Message | converse_message | An assistant's message that looks up the weather: text, tool use.
content.Messages | converse_messages | A conversation: question, tool use, its result, answer.
content.Role | converse_role | Who wrote a message: `user`.
content.ContentBlock | converse_content_block | A content block: text.
content.SystemContentBlock | converse_system_content_block | A system prompt.
content.CachePoint | converse_cache_point | A cache point: up to here a request may be cached.
content.GuardContent | converse_guard_content | A text for a guardrail to look at, under its tag.
content.GuardContentText | converse_guard_content_text | A text for a guardrail to look at.
content.ReasoningContentBlock | converse_reasoning_content_block | Signed reasoning, under its tag.
content.ReasoningTextBlock | converse_reasoning_text_block | Signed reasoning.
content.ContentBlockStart | converse_content_block_start | What a tool use begins with, under its tag.
content.ContentBlockStartToolUse | converse_content_block_start_tool_use | What a tool use begins with: name and id.
content.ContentBlockDelta | converse_content_content_block_delta | `content.ContentBlockDelta`: a delta and its index.
content.DeltaContent | converse_delta_content | A piece of a text.
content.ContentBlockStop | converse_content_block_stop | The block of this index is complete.

tools.JSONSchema | converse_json_schema | The JSON Schema of a tool's input.
tools.ToolSpec | converse_tool_spec | The description of the weather tool for a model.
tools.Tool | converse_tool | The description of the weather tool for a model, under its tag.
tools.ToolUse | converse_tool_use | A model asks for the weather.
tools.ToolResult | converse_tool_result | What the tool answers to `converse_tool_use`.
tools.ToolResultContent | converse_tool_result_content | The forecast as JSON.
tools.ToolResultStatus | converse_tool_result_status | Whether a tool did its work: `success`.
tools.ToolConfig | converse_tool_config | The tools of a request.
tools.ToolChoice | converse_tool_choice | The model must use this tool.
tools.ToolChoiceAuto | converse_tool_choice_auto | What is under the tag `auto`: no members.
tools.ToolChoiceAutoDict | converse_tool_choice_auto_dict | The model may use tools.
tools.ToolChoiceAny | converse_tool_choice_any | What is under the tag `any`: no members.
tools.ToolChoiceAnyDict | converse_tool_choice_any_dict | The model must use some tool.
tools.ToolChoiceTool | converse_tool_choice_tool | What is under the tag `tool`: the tool's name.
tools.ToolChoiceToolDict | converse_tool_choice_tool_dict | The model must use this tool.
tools.AgentTool | converse_agent_tool | The weather tool itself, to be run.
tools.ToolFunc | converse_tool_func | The weather tool as a function.
tools.ToolGenerator | converse_tool_generator | The weather tool at work: it yields the result.
tools.RunToolHandler | converse_run_tool_handler | Runs uses of the weather tool.
tools.ToolContext | converse_tool_context | The context that a tool gets beside its input.
tools._Interruptible | converse_interruptible | What can stop to ask a person.

streaming.StreamEvent | converse_stream_event | One event of a stream: a text goes on.
streaming.MessageStartEvent | converse_message_start_event | An answer begins.
streaming.ContentBlockStartEvent | converse_content_block_start_event | A tool use begins.
streaming.ContentBlockDeltaEvent | converse_content_block_delta_event | A text goes on.
streaming.ContentBlockDelta | converse_content_block_delta | `streaming.ContentBlockDelta`: a piece of a text.
streaming.ContentBlockDeltaText | converse_content_block_delta_text | A piece of a text.
streaming.ContentBlockDeltaToolUse | converse_content_block_delta_tool_use | A piece of the JSON of a tool's input.
streaming.ReasoningContentBlockDelta | converse_reasoning_content_block_delta | A piece of reasoning.
streaming.CitationsDelta | converse_citations_delta | A citation as it is streamed.
streaming.CitationSourceContentDelta | converse_citation_source_content_delta | The cited passage as it is streamed.
streaming.CitationLocation | converse_citation_location | Where the cited passage stands.
streaming.ContentBlockStopEvent | converse_content_block_stop_event | A text is complete.
streaming.MessageStopEvent | converse_message_stop_event | The model stopped to use a tool.
streaming.MetadataEvent | converse_metadata_event | What an answer cost, its time, its guardrail's findings.
streaming.ExceptionEvent | converse_exception_event | A stream fails: throttled.
streaming.ModelStreamErrorEvent | converse_model_stream_error_event | A stream fails since the model did.
streaming.RedactContentEvent | converse_redact_content_event | Strands' own: a guardrail redacts the turn.

event_loop.StopReason | converse_stop_reason | Why a model stopped: `tool_use`.
event_loop.Usage | converse_usage | Tokens of an answer, some from a cache.
event_loop.Metrics | converse_metrics | Times of an answer, as Strands measures them.

media.ImageContent | converse_image_content | A PNG image.
media.ImageFormat | converse_image_format | The format of an image: `png`.
media.ImageSource | converse_image_source | The bytes of a PNG image.
media.DocumentContent | converse_document_content | A text document, to be cited.
media.DocumentFormat | converse_document_format | The format of a document: `txt`.
media.DocumentSource | converse_document_source | The bytes of a text document.
media.VideoContent | converse_video_content | An MP4 video.
media.VideoFormat | converse_video_format | The format of a video: `mp4`.
media.VideoSource | converse_video_source | The bytes of an MP4 video.

citations.CitationsConfig | converse_citations_config | Asks for citations of a document.
citations.CitationsContentBlock | converse_citations_content_block | An answer with its citation.
citations.Citation | converse_citation | A passage of `converse_document_content`.
citations.CitationGeneratedContent | converse_citation_generated_content | What the model makes of the passage.
citations.CitationSourceContent | converse_citation_source_content | The passage as the document has it.
citations.DocumentCharLocation | converse_document_char_location | The passage by characters.
citations.DocumentChunkLocation | converse_document_chunk_location | The passage by chunks.
citations.DocumentPageLocation | converse_document_page_location | The passage by pages.
citations.SearchResultLocation | converse_search_result_location | The passage in a search result.
citations.WebLocation | converse_web_location | The passage on the web.

guardrails.Trace | converse_trace | A guardrail's findings, as an answer's trace.
guardrails.GuardrailTrace | converse_guardrail_trace | What a guardrail found in question and answer.
guardrails.GuardrailAssessment | converse_guardrail_assessment | A finding of each of a guardrail's policies.
guardrails.GuardrailConfig | converse_guardrail_config | Asks for a guardrail.
guardrails.TopicPolicy | converse_topic_policy | Forbidden topics found.
guardrails.Topic | converse_topic | A forbidden topic found.
guardrails.ContentPolicy | converse_content_policy | Harmful content found.
guardrails.ContentFilter | converse_content_filter | An insult found.
guardrails.WordPolicy | converse_word_policy | Words found.
guardrails.CustomWord | converse_custom_word | A word of the guardrail's own list.
guardrails.ManagedWord | converse_managed_word | A word of a list of AWS.
guardrails.SensitiveInformationPolicy | converse_sensitive_information_policy | Personal data found.
guardrails.PIIEntity | converse_pii_entity | An e-mail address found.
guardrails.Regex | converse_regex | What a guardrail's own expression found.
guardrails.ContextualGroundingPolicy | converse_contextual_grounding_policy | Checks of an answer against its sources.
guardrails.ContextualGroundingFilter | converse_contextual_grounding_filter | An answer that no source supports.

ConverseRequest | converse_request | The arguments of `client.converse`.
ConverseStreamRequest | converse_stream_request | The arguments of `client.converse_stream`, with a guardrail.
CountTokensRequest | converse_count_tokens_request | The arguments of `client.count_tokens`.
ConverseResponse | converse_response | The answer to `converse_request`.
ConverseStreamOutput | converse_stream_events | The events of `converse_response`, messageStart to metadata.
ConverseTrace | converse_response_trace | A guardrail that only detects, and a prompt router.
GuardrailTraceAssessment | converse_guardrail_trace_assessment | A guardrail that only detects, with its metrics.
TokenUsage | converse_token_usage | Tokens of an answer, with `cacheDetails`.
ConverseStreamMetrics | converse_stream_metrics | The time of an answer, as AWS reports it.
ToolSpecification | converse_tool_specification | The weather tool, `strict`.
SystemTool | converse_system_tool | A tool of the service's own.
AudioBlock | converse_audio_block | A WAV file of silence.
SearchResultBlock | converse_search_result_block | A search result to be cited.
InferenceConfiguration | converse_inference_configuration | How a model is asked to write.
OutputConfig | converse_output_config | Asks for JSON of a schema.
RequestMetadata | converse_request_metadata | What a request is booked on.

exceptions.ContextWindowOverflowException | converse_context_window_overflow_exception | The conversation is too long.
exceptions.EventLoopException | converse_event_loop_exception | The agent's loop failed.
exceptions.MCPClientInitializationError | converse_mcp_client_initialization_error | A tool server did not start.
exceptions.ModelThrottledException | converse_model_throttled_exception | Too many requests.
exceptions.SessionException | converse_session_exception | A session is not there.

session.Session | converse_session | A session.
session.SessionAgent | converse_session_agent | The agent of a session.
session.SessionMessage | converse_session_message | A message of a session.
session.SessionType | converse_session_type | What a session is of: `AGENT`.
session.encode_bytes_values | converse_bytes_values | A message with bytes, for `encode_bytes_values`.
session.decode_bytes_values | converse_encoded_bytes_values | A message as JSON, for `decode_bytes_values`.

memory.MemoryEntry | converse_memory_entry | A remembered fact.
memory.MemoryStore | converse_memory_store | A store in memory, with an entry.
memory.MemoryStoreConfig | converse_memory_store_config | What a store is made with.
memory.MemoryManagerConfig | converse_memory_manager_config | An agent's memory.
memory.MemoryToolConfig | converse_memory_tool_config | The tool that searches.
memory.MemoryAddToolConfig | converse_memory_add_tool_config | The tool that adds.
memory.MemoryInjectionConfig | converse_memory_injection_config | How memories get into a request.
memory.SearchOptions | converse_search_options | How to search one store.
memory.MemorySearchOptions | converse_memory_search_options | How to search all stores.
memory.MemoryAddOptions | converse_memory_add_options | How to add to all stores.
memory.AddMessagesContext | converse_add_messages_context | The context that a store gets beside messages.
memory.InjectionQueryContext | converse_injection_query_context | What a query is made of.
memory.InjectionQueryCallback | converse_injection_query_callback | Makes a query of a conversation.
memory.InjectionFormatContext | converse_injection_format_context | What the injected text is made of.
memory.InjectionFormatCallback | converse_injection_format_callback | Makes a text of memories.
""")
"""Maps the name of each sample to its row.

For example, the name `content.Message` is that of the type Message in `converse_harness.types.content`. A name without
a module is the name of a shape of AWS's API model.
"""

VARIANTS: Final = _read("""
content_block | converse_each_content_block | Runs the test once for each kind of content block.
delta | converse_each_delta | Runs the test once for each kind of ContentBlockDelta.
stream_event | converse_each_stream_event | Runs the test once for each event of a stream, exceptions as well.
stop_reason | converse_each_stop_reason | Runs the test once for each of AWS's stop reasons.
tool_choice | converse_each_tool_choice | Runs the test once for each tool choice.
citation_location | converse_each_citation_location | Runs the test once for each kind of citation location.
pii_kind | converse_each_pii_kind | Runs the test once for each kind of personal data: a PIIEntity.
""")
"""Maps the name of each fixture, without `converse_each_`, to its row."""
