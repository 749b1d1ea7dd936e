"""For each rule a request that breaks it and no other, where that is, and what Bedrock says: all written by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

from converse_harness.rules import Asked

NOVA = "us.amazon.nova-lite-v1:0"
SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
MISTRAL = "mistral.mistral-large-2402-v1:0"
R1 = "us.deepseek.r1-v1:0"
PREFIX = "The model returned the following errors: "
Json = dict[str, Any]


class Broken(NamedTuple):
    """A request: `body` beside its messages, which are one of the user's if not given."""

    path: str
    message: str
    messages: list[Json] | None = None
    model_id: str = NOVA
    operation: str = "Converse"
    body: Json = {}  # noqa: RUF012 - never changed

    @property
    def asked(self) -> Asked:
        """The request as the rules see it."""
        messages = [user(TEXT)] if self.messages is None else self.messages
        return Asked(self.operation, self.model_id, {"messages": messages, **self.body})


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


def use(id: str = "a", **more: Any) -> Json:
    return {"toolUse": {"toolUseId": id, "name": "look", "input": {}} | more}


def result(id: str = "a", *content: Json, **more: Any) -> Json:
    return {"toolResult": {"toolUseId": id, "content": list(content)} | more}


def config(schema: object = None, **choice: Json) -> Json:
    spec = {"name": "look", "inputSchema": {"json": {"type": "object"} if schema is None else schema}}
    return {"toolConfig": {"tools": [{"toolSpec": spec}]} | ({"toolChoice": choice} if choice else {})}


def document(name: str = "Report", **source: Any) -> Json:
    return {"document": {"name": name, "format": "txt", "source": source or {"bytes": "aGk="}}}


def thinking(**how: Any) -> Json:
    return {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024} | how}}


TEXT = {"text": "hi"}
S3 = {"s3Location": {"uri": "s3://bucket/file"}}
IMAGE = {"image": {"format": "png", "source": {"bytes": "aGk="}}}
VIDEO = {"video": {"format": "mp4", "source": S3}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
UNSIGNED = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
CACHE_POINT = {"cachePoint": {"type": "default"}}

START = "A conversation must start with a user message. Try again with a conversation that starts with a user message."
ALTERNATE = (
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
    "user and assistant roles and try again."
)
NAME = (
    "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and "
    "square brackets. The name can't contain more than one consecutive whitespace character. Check that the file name "
    "conforms to these restrictions and retry your request."
)
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
LAST_TURN = (
    "The model that you are using requires the last turn in the conversation to be a user message. Add a user message "
    "to the conversation and try again."
)
ADAPTIVE = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
    "to control thinking behavior."
)
MAX_TOKENS = (
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
)
EXTRANEOUS = (
    "Malformed input request: #/messages/2/content/0: extraneous key [toolResult] is not permitted, please reformat "
    "your input and try again."
)
SYSTEM = (
    "This model doesn't support system messages. Try again without a system message or use a model that supports "
    "system messages."
)

BROKEN: dict[str, Broken] = {
    "model_exists": Broken("modelId", "The provided model identifier is invalid.", model_id="does-not-exist"),
    "constraints_hold": Broken(
        "messages[1].content[1].toolUse.name",
        "2 validation errors detected: Value at 'messages.2.member.content.2.member.toolUse.name' failed to satisfy "
        "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+; Value '0' at "
        "'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1",
        [user(TEXT), assistant(TEXT, use(name="look up")), user(result("a", TEXT))],
        body={**config(), "inferenceConfig": {"maxTokens": 0}},
    ),
    "conversation_is_not_empty": Broken("messages", START, []),
    "first_message_is_the_users": Broken("messages[0].role", START, [assistant(TEXT), user(TEXT)]),
    "roles_alternate": Broken("messages[1].role", ALTERNATE, [user(TEXT), user(TEXT)]),
    "content_is_not_empty": Broken(
        "messages[1].content",
        "The content field in the Message object at messages.1 is empty. Add a ContentBlock object to the content "
        "field and try again.",
        [user(TEXT), assistant(), user(TEXT)],
    ),
    "text_is_not_blank": Broken(
        "messages[0].content[1].text",
        "The text field in the ContentBlock object at messages.0.content.1 is blank. Add text to the text field, and "
        "try again.",
        [user(TEXT, {"text": "\n "})],
    ),
    "guard_content_is_not_blank": Broken(
        "messages[0].content[1].guardContent.text.text",
        "The guard content field in the ContentBlock object at messages.0.content.1 is blank",
        [user(TEXT, {"guardContent": {"text": {"text": " "}}})],
    ),
    "tool_config_is_there": Broken(
        "messages[1].content[0].toolUse",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        [user(TEXT), assistant(use()), user(result("a", TEXT))],
    ),
    "tool_schema_is_json": Broken(
        "toolConfig.tools[0].toolSpec.inputSchema.json",
        "The format of the value at toolConfig.tools.0.toolSpec.inputSchema.json is invalid. Provide a json object for "
        "the field and try again.",
        body=config("{}"),
    ),
    "tool_schema_is_of_an_object": Broken(
        "toolConfig.tools[0].toolSpec.inputSchema.json.type",
        "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.",
        body=config({"type": "string"}),
    ),
    "tool_results_are_different": Broken(
        "messages[2].content",
        "The toolResult blocks at messages.2.content contain duplicate Ids: a",
        [user(TEXT), assistant(use(), use("b")), user(result("a", TEXT), result("a", TEXT), result("b", TEXT))],
        body=config(),
    ),
    "tool_uses_are_different": Broken(
        "messages[1].content",
        "The toolUse blocks at messages.1.content contain duplicate Ids: a",
        [user(TEXT), assistant(use(), use()), user(result("a", TEXT))],
        body=config(),
    ),
    "tool_results_have_uses": Broken(
        "messages[2].content",
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
        [user(TEXT), assistant(use()), user(result("a", TEXT), result("b", TEXT))],
        body=config(),
    ),
    "tool_uses_have_results": Broken(
        "messages[2].content",
        "Expected toolResult blocks at messages.2.content for the following Ids: a, c",
        [user(TEXT), assistant(use(), use("b"), use("c")), user(result("b", TEXT))],
        body=config(),
    ),
    "failed_results_say_why": Broken(
        "messages[2].content[0].toolResult.content",
        "The content field at messages.2.content.0.toolResult cannot be empty when status value is error.",
        [user(TEXT), assistant(use()), user(result(status="error"))],
        body=config(),
    ),
    "tool_result_json_is_an_object": Broken(
        "messages[2].content[0].toolResult.content[1].json",
        "The format of the value at messages.2.content.0.toolResult.content.1.json is invalid. Provide a json object "
        "for the field and try again.",
        [user(TEXT), assistant(use()), user(result("a", TEXT, {"json": [1]}))],
        body=config(),
    ),
    "tool_input_is_an_object": Broken(
        "messages[1].content[0].toolUse.input",
        "The format of the value at messages.1.content.0.toolUse.input is invalid. Provide a json object for the field "
        "and try again.",
        [user(TEXT), assistant(use(input=[])), user(result("a", TEXT))],
        body=config(),
    ),
    "document_names_are_plain": Broken(
        "messages[0].content[1].document.name", NAME, [user(TEXT, document("report.txt"))]
    ),
    "document_names_are_different": Broken(
        "messages[2].content[1].document.name",
        "Messages can't contain duplicate document names. Rename the document and retry your request.",
        [user(TEXT, document()), assistant(TEXT), user(TEXT, document())],
    ),
    "documents_are_few": Broken(
        "messages[0].content[6].document",
        "You can't include more than 5 documents in a request. Reduce the number of documents and retry your request.",
        [user(TEXT, *(document(f"Report {number}") for number in range(6)))],
    ),
    "documents_have_text": Broken(
        "messages[0].content[0].document",
        "A text block must be included when using documents. Add a text block and retry your request.",
        [user(document())],
    ),
    "document_sources_are_files": Broken(
        "messages[0].content[1].document.source",
        "DocumentSource object at messages.0.content.1.document.source must set one of the following keys: bytes, "
        "s3Location",
        [user(TEXT, document(text="hi"))],
    ),
    "media_are_the_users": Broken(
        "messages[1].content[0].image",
        "The image block at messages.1.content.0 is only supported in messages with the role user.",
        [user(TEXT), assistant(IMAGE), user(TEXT)],
    ),
    "claude_is_given_texts": Broken(
        "messages[0].content[1].text",
        PREFIX + "messages: text content blocks must be non-empty",
        [user(TEXT, {"text": ""})],
        SONNET,
    ),
    "claude_is_not_given_whitespace": Broken(
        "messages[0].content",
        PREFIX + "messages: text content blocks must contain non-whitespace text",
        [user({"text": " "}, {"text": "\n"})],
        SONNET,
    ),
    "claude_is_not_prefilled": Broken(
        "messages[1].role", PREFIX + PREFILL, [user(TEXT), assistant(TEXT)], "us.anthropic.claude-opus-4-6-v1"
    ),
    "llama_is_not_prefilled": Broken(
        "messages[1].role", LAST_TURN, [user(TEXT), assistant(TEXT)], "us.meta.llama3-3-70b-instruct-v1:0"
    ),
    "claude_thoughts_are_signed": Broken(
        "messages[1].content[0].reasoningContent.reasoningText.signature",
        PREFIX + "messages.1.content.0.thinking.signature: Field required",
        [user(TEXT), assistant(UNSIGNED, TEXT), user(TEXT)],
        SONNET,
    ),
    "claude_thinks_as_it_can": Broken(
        "additionalModelRequestFields.thinking.type",
        PREFIX + ADAPTIVE,
        None,
        "us.anthropic.claude-sonnet-5",
        body=thinking(),
    ),
    "claude_cannot_adapt_yet": Broken(
        "additionalModelRequestFields.thinking.type",
        PREFIX + "adaptive thinking is not supported on this model",
        None,
        SONNET,
        body=thinking(type="adaptive"),
    ),
    "claude_thinks_or_must_use_a_tool": Broken(
        "toolConfig.toolChoice",
        PREFIX + "Thinking may not be enabled when tool_choice forces tool use.",
        None,
        SONNET,
        body={**thinking(), **config(any={})},
    ),
    "claude_thinks_at_temperature_one": Broken(
        "inferenceConfig.temperature",
        PREFIX + "`temperature` may only be set to 1 when thinking is enabled.",
        None,
        SONNET,
        body={**thinking(), "inferenceConfig": {"temperature": 0.5}},
    ),
    "claude_may_think_enough": Broken(
        "additionalModelRequestFields.thinking.budget_tokens",
        PREFIX + "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        None,
        SONNET,
        body=thinking(budget_tokens=1023),
    ),
    "claude_may_answer_more_than_think": Broken(
        "inferenceConfig.maxTokens",
        PREFIX + MAX_TOKENS,
        None,
        SONNET,
        body={**thinking(), "inferenceConfig": {"maxTokens": 1024}},
    ),
    "claude_has_no_temperature": Broken(
        "inferenceConfig.temperature",
        PREFIX + "`temperature` is deprecated for this model.",
        None,
        "us.anthropic.claude-opus-4-7",
        body={"inferenceConfig": {"temperature": 1}},
    ),
    "claude_has_one_way_to_choose": Broken(
        "inferenceConfig.topP",
        PREFIX + "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        None,
        SONNET,
        body={"inferenceConfig": {"temperature": 1, "topP": 0.9}},
    ),
    "claude_has_few_cache_points": Broken(
        "messages[0].content[7].cachePoint",
        PREFIX + "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        [user(*[TEXT, CACHE_POINT] * 4)],
        SONNET,
        body={"system": [TEXT, CACHE_POINT]},
    ),
    "claude_sees_no_videos": Broken(
        "messages[0].content[1].video",
        "This model doesn't support the video content block that you provided. Update the content block and try again.",
        [user(TEXT, VIDEO)],
        SONNET,
    ),
    "claude_is_given_its_images": Broken(
        "messages[0].content[1].image.source.s3Location",
        "This model doesn't support the s3Uri field. Remove s3Uri and try again.",
        [user(TEXT, {"image": {"format": "png", "source": S3}})],
        SONNET,
    ),
    "claude_is_given_its_documents": Broken(
        "messages[0].content[1].document.source.s3Location",
        PREFIX + "messages.0.content.1.document.source.type: Field required",
        [user(TEXT, document(**S3))],
        SONNET,
    ),
    "nova_results_have_no_files_in_s3": Broken(
        "messages[2].content[0].toolResult.content[0].document.source.s3Location",
        PREFIX + EXTRANEOUS,
        [user(TEXT), assistant(use()), user(result("a", document(**S3)))],
        body=config(),
    ),
    "llama_and_mistral_speak_or_use_a_tool": Broken(
        "messages[1].content",
        "messages.1.content: Conversation blocks and tool use blocks cannot be provided in the same turn.",
        [user(TEXT), assistant(TEXT, use()), user(result("a", TEXT))],
        LLAMA,
        body=config(),
    ),
    "llama_and_mistral_speak_or_have_results": Broken(
        "messages[2].content",
        "messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        [user(TEXT), assistant(use()), user(result("a", TEXT), TEXT)],
        LLAMA,
        body=config(),
    ),
    "some_stream_no_tools": Broken(
        "toolConfig",
        "This model doesn't support tool use in streaming mode.",
        None,
        LLAMA,
        "ConverseStream",
        config(),
    ),
    "some_use_no_tools": Broken("toolConfig", "This model doesn't support tool use.", None, R1, body=config()),
    "llama_is_not_forced_to_use_tools": Broken(
        "toolConfig.toolChoice.any",
        "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try "
        "again.",
        None,
        LLAMA,
        body=config(any={}),
    ),
    "some_are_not_forced_to_use_a_tool": Broken(
        "toolConfig.toolChoice.tool",
        "This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool and try "
        "again.",
        None,
        MISTRAL,
        body=config(tool={"name": "look"}),
    ),
    "some_see_no_images": Broken(
        "messages[0].content[1].image",
        "This model doesn't support the image content block that you provided. Update the content block and try again.",
        [user(TEXT, IMAGE)],
        "openai.gpt-oss-20b-1:0",
    ),
    "some_have_no_stop_sequences": Broken(
        "inferenceConfig.stopSequences",
        "This model doesn't support the stopSequences field. Remove stopSequences and try again.",
        None,
        "openai.gpt-oss-20b-1:0",
        body={"inferenceConfig": {"stopSequences": ["|"]}},
    ),
    "some_have_no_system_prompt": Broken(
        "system", SYSTEM, None, "mistral.mistral-7b-instruct-v0:2", body={"system": [TEXT]}
    ),
    "writer_results_have_no_status": Broken(
        "messages[2].content[0].toolResult.status",
        "This model doesn't support the status field. Remove status and try again.",
        [user(TEXT), assistant(use()), user(result("a", TEXT, status="success"))],
        "us.writer.palmyra-x4-v1:0",
        body=config(),
    ),
    "deepseek_is_not_given_thoughts": Broken(
        "messages[1].content[0].reasoningContent",
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
        [user(TEXT), assistant(THOUGHT, TEXT), user(TEXT)],
        R1,
    ),
}
