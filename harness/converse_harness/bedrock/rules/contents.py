"""Rules that Bedrock's gateway applies to every model, about tools, their results and files."""

from __future__ import annotations

from typing import Final

from converse_harness.bedrock.rules import media, schemas, tools
from converse_harness.bedrock.rules.asked import any_block, in_blocks, in_request, in_shown
from converse_harness.bedrock.rules.rule import Rule, documented, reported
from converse_harness.json_values import is_object

CONTENTS: Final = (
    Rule(
        "tool_config_is_there",
        "a conversation in which tools were used offers tools",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        tools.tools_without_config,
        (
            reported("langgenius/dify#17545", "2025-04-07"),
            reported("strands-agents/harness-sdk#998", "2025-10-07"),
            reported("pydantic/pydantic-ai#1966", "2026-06-14"),
        ),
    ),
    Rule(
        "tool_schema_is_json",
        "the schema of a tool is a JSON object",
        "The format of the value at toolConfig.tools.{n}.toolSpec.inputSchema.json is invalid. Provide a json object "
        "for the field and try again.",
        schemas.that_are_no_objects,
        (
            reported("aws/aws-sdk-net#3377", "2024-07-09"),
            reported("aws/aws-sdk-net#4078", "2025-10-23"),
        ),
    ),
    Rule(
        "tool_schema_is_of_an_object",
        "the root of a tool's schema has the type object",
        "The value at toolConfig.tools.{n}.toolSpec.inputSchema.json.type must be one of the following: object.",
        schemas.of_other_types,
        (
            reported("cognitect-labs/aws-api#272", "2025-07-08", "Claude 4"),
            reported("block/goose#5064", "2025-10-08"),
            reported("kirodotdev/Kiro#10270", "2026-07-16", "through a gateway"),
        ),
    ),
    Rule(
        "tool_properties_are_an_object",
        "the properties of a tool's schema are an object",
        "The json schema definition at toolConfig.tools.{n}.toolSpec.inputSchema is invalid. Fix the following errors "
        "and try again: $.properties: {found} found, object expected",
        schemas.with_properties_that_are_no_object,
        (
            reported("aws/aws-sdk-net#3731", "2025-03-28", "Claude 3.7, null"),
            reported("maximhq/bifrost#1720", "2026-02-21", "Claude Sonnet 4.5, null"),
        ),
        remark="of other values than null thought",
    ),
    Rule(
        "tool_results_are_different",
        "the results in a message have different ids",
        "The toolResult blocks at messages.{n}.content contain duplicate Ids: {ids}",
        tools.duplicates("toolResult"),
        (reported("BerriAI/litellm#20047", "2026-01-30"),),
    ),
    Rule(
        "tool_uses_are_different",
        "the tools used in a message have different ids",
        "The toolUse blocks at messages.{n}.content contain duplicate Ids: {ids}",
        tools.duplicates("toolUse"),
        (reported("double16/Cyber-AutoAgent-ng#27", "2026-03-06", "Claude Sonnet 4.5"),),
    ),
    Rule(
        "tool_results_have_uses",
        "a message has no more tool results than the turn before it has tool uses",
        "The number of toolResult blocks at messages.{n}.content exceeds the number of toolUse blocks of previous "
        "turn.",
        tools.more_results_than_uses,
        (
            reported("strands-agents/harness-sdk#1435", "2026-01-09"),
            reported("strands-agents/harness-sdk#3651", "2026-08-05", "Claude Sonnet 4.6"),
        ),
        remark="the turn before is the last message of the other role: results that are split over two messages are "
        "told of by the next rule (agno-agi/agno#6242)",
    ),
    Rule(
        "tool_uses_have_results",
        "the message after one with tool uses has their results",
        "Expected toolResult blocks at messages.{n}.content for the following Ids: {ids}",
        tools.missing_results,
        (
            reported("agno-agi/agno#6242", "2026-01-29", "Claude and Nova, results in two messages"),
            reported("agno-agi/agno#6698", "2026-02-24", "Claude"),
            reported("camel-ai/camel#3954", "2026-03-21", "Nova"),
            reported("genkit-ai/aws-bedrock-js-plugin#664", "2026-07-15", "Claude Sonnet 4.5"),
        ),
    ),
    Rule(
        "failed_results_say_why",
        "a result with the status error has content",
        "The content field at messages.{n}.content.{m}.toolResult cannot be empty when status value is error.",
        in_blocks("toolResult", lambda it: it.get("status") == "error" and it.get("content") == [], ".content"),
        (reported("aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15", "2026-06-01"),),
    ),
    Rule(
        "tool_result_json_is_an_object",
        "the JSON of a result is an object",
        "The format of the value at messages.{n}.content.{m}.toolResult.content.{k}.json is invalid. Provide a json "
        "object for the field and try again.",
        tools.results_that_are_no_objects,
        (
            reported("aws/aws-sdk-js-v3#7330", "2025-09-10", "Claude 3.7"),
            reported("deepset-ai/haystack-core-integrations#3766", "2026-08-13", "Claude Sonnet 4.6"),
        ),
    ),
    Rule(
        "tool_input_is_an_object",
        "the input of a tool is an object",
        "The format of the value at messages.{n}.content.{m}.toolUse.input is invalid. Provide a json object for the "
        "field and try again.",
        in_blocks("toolUse", lambda use: not is_object(use.get("input", {})), ".input"),
        (
            reported("vercel/ai#16561", "2026-07-01"),
            reported("vercel/ai#19023", "2026-08-18"),
        ),
    ),
    Rule(
        "document_names_are_plain",
        "the name of a document has letters, digits, hyphens, underscores, brackets, and single spaces",
        "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, "
        "and square brackets. The name can't contain more than one consecutive whitespace character. Check that the "
        "file name conforms to these restrictions and retry your request.",
        in_shown("document", media.has_other_characters, ".name"),
        (
            reported("simonw/llm-bedrock#8", "2024-12-04", "Nova Pro"),
            reported("aws-samples/generative-ai-use-cases#1671", "2026-08-21", "Claude Haiku 4.5"),
            reported("vercel/ai#20365", "2026-09-04", "Claude Haiku 4.5, Nova"),
        ),
    ),
    Rule(
        "document_names_are_different",
        "the documents of a request have different names",
        "Messages can't contain duplicate document names. Rename the document and retry your request.",
        media.names_twice,
        (
            reported("ag-ui-protocol/ag-ui#2425", "2026-08-17"),
            reported("maximhq/bifrost#7003", "2026-09-08", "Claude Sonnet 5"),
        ),
    ),
    Rule(
        "documents_are_few",
        "a request has five documents at most",
        "You can't include more than 5 documents in a request. Reduce the number of documents and retry your request.",
        media.too_many,
        (reported("aws-samples/generative-ai-use-cases#1685", "2026-08"),),
    ),
    Rule(
        "documents_have_text",
        "a message with a document has a text",
        "A text block must be included when using documents. Add a text block and retry your request.",
        media.without_text,
        (
            reported("BerriAI/litellm#20426", "2026-02-04"),
            reported("archestra-ai/archestra#4220", "2026-04-30"),
            reported("ag-ui-protocol/ag-ui#1978", "2026-06-17"),
            reported("BerriAI/litellm#36499", "2026"),
            reported("maximhq/bifrost#5817", "2026-08"),
        ),
    ),
    Rule(
        "document_sources_are_files",
        "a document without citations is a file",
        "DocumentSource object at messages.{n}.content.{m}.document.source must set one of the following keys: bytes, "
        "s3Location",
        in_blocks("document", media.is_for_citations, ".source"),
        (
            reported("strands-agents/harness-sdk#3582", "2026-08-27"),
            reported("maximhq/bifrost#7072", "2026-09-11", "Claude"),
        ),
    ),
    Rule(
        "media_are_the_users",
        "only messages of the user have images, documents, videos and sounds",
        "The {kind} block at messages.{n}.content.{m} is only supported in messages with the role user.",
        any_block("image", "document", "video", "audio", role="assistant"),
        (documented("API_runtime_Message", "2026-10"),),
        remark="the wording is ours",
    ),
    Rule(
        "output_schema_is_json",
        "the schema of the answer is a JSON object, as a text",
        "The json schema definition at outputConfig.textFormat.structure.jsonSchema.schema is invalid.",
        in_request(schemas.OUTPUT, schemas.has_an_output_by_no_json, "outputConfig"),
        (documented("API_runtime_JsonSchemaDefinition", "2026-10"),),
        remark="the wording is ours",
    ),
)
