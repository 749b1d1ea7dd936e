"""For each rule of all models a request that breaks it and no other: where that is, and what Bedrock says."""

from __future__ import annotations

import base64

from converse_harness import bedrock
from tests.bedrock.rules.asking import (
    CACHE_POINT,
    IMAGE,
    MISTRAL,
    TEXT,
    Broken,
    assistant,
    config,
    document,
    result,
    use,
    user,
)

START = "A conversation must start with a user message. Try again with a conversation that starts with a user message."
NAME = (
    "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and "
    "square brackets. The name can't contain more than one consecutive whitespace character. Check that the file name "
    "conforms to these restrictions and retry your request."
)

BROKEN: dict[str, Broken] = {
    "model_exists": Broken("modelId", "The provided model identifier is invalid.", model_id="does-not-exist"),
    "model_counts_tokens": Broken(
        "modelId", "The provided model doesn't support counting tokens.", operation="CountTokens"
    ),
    "model_is_known_to_count_tokens": Broken(
        "modelId", "The provided model doesn't support counting tokens.", model_id=MISTRAL, operation="CountTokens"
    ),
    "counted_tools_are_known": Broken(
        "input.invokeModel.body.tools[0].type",
        "tools.0: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags: "
        "'bash_20250124', 'custom', 'text_editor_20250124', 'text_editor_20250429', 'text_editor_20250728'",
        model_id="anthropic.claude-sonnet-4-20250514-v1:0",
        operation="CountTokens",
        body={"invokeModel": {"body": base64.b64encode(b'{"tools": [{"type": "web_search_20250305"}]}').decode()}},
    ),
    "model_converses": Broken(
        "modelId", "This action doesn't support the model that you provided.", model_id="amazon.nova-2-sonic-v1:0"
    ),
    "constraints_hold": Broken(
        "messages[1].content[1].toolUse.name",
        "2 validation errors detected: Value at 'messages.2.member.content.2.member.toolUse.name' failed to satisfy "
        "constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+; Value '0' at "
        "'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1",
        [user(TEXT), assistant(TEXT, use(name="look up")), user(result("a", TEXT))],
        body={**config(), "inferenceConfig": {"maxTokens": 0}},
    ),
    "members_are_known": Broken(
        "messages[0].cache",
        "messages[0].cache (misplaced? AWS has role, content there), inferenceConfig.max_tokens (misplaced? AWS has "
        f"inferenceConfig.maxTokens); botocore {bedrock.botocore_version()}",
        [user(TEXT) | {"cache": True}],
        body={"inferenceConfig": {"max_tokens": 5}},
    ),
    "unions_have_one_member": Broken(
        "messages[0].content[0]",
        "ContentBlock object at messages.0.content.0 can only set one of the following keys: text, image, toolUse, "
        "toolResult, document, video, cachePoint, reasoningContent, citationsContent, searchResult.",
        [user({**TEXT, **CACHE_POINT})],
    ),
    "conversation_is_not_empty": Broken("messages", START, []),
    "first_message_is_the_users": Broken("messages[0].role", START, [assistant(TEXT), user(TEXT)]),
    "content_is_not_empty": Broken(
        "messages[1].content",
        "The content field in the Message object at messages.1 is empty. Add a ContentBlock object to the content "
        "field and try again.",
        [user(TEXT), assistant(), user(TEXT)],
    ),
    "unions_are_set": Broken(
        "messages[1].content[0]",
        "ContentBlock object at messages.1.content.0 must set one of the following keys: text, image, toolUse, "
        "toolResult, document, video, cachePoint, reasoningContent, citationsContent, searchResult.",
        [user(TEXT), assistant({}), user(TEXT)],
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
}
