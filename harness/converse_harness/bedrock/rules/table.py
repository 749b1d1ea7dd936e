"""Every rule as one table, and those of the gateway, which Bedrock applies before any model sees a request.

Where a recorded or reported request of a model was accepted that breaks a rule, `but` names the model and who saw it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converse_harness.bedrock.rules import conversation, models, words
from converse_harness.bedrock.rules.profiles import PROFILES
from converse_harness.bedrock.rules.rule import PROBED, Claude, Models, Rule

_OWN_WORDING: Final = "the wording is ours: {}"

_SONNET_4_5: Final = "anthropic.claude-sonnet-4-5*"
_LEADING: Final = "pydantic/pydantic-ai#6255"
_RECORDED: Final = "recorded: {}"

GATEWAY: Final = (
    Rule(
        "model_id_is_well_formed",
        "the model id matches the pattern of AWS's model",
        "{errors}",
        words.broken_labels,
        "AWS's model; openclaw/openclaw#12892",
        strict=True,
    ),
    Rule(
        "model_exists",
        "the model id is an ARN, or one that a provider of Bedrock can have",
        "The provided model identifier is invalid.",
        models.ids_of_no_model,
        _RECORDED.format("opentelemetry-python-contrib, openinference and pydantic-ai, of five ids"),
        strict=True,
    ),
    Rule(
        "model_converses",
        "the model id is not of a model for speech",
        "This action doesn't support the model that you provided.",
        models.ids_that_do_not_converse,
        PROBED,
    ),
    Rule(
        "constraints_hold",
        "the body is as AWS's model says: members, lengths, patterns, ranges, enums",
        "{errors}",
        words.broken_constraints,
        "AWS's model; BerriAI/litellm#24668, openclaw/openclaw#12892, danny-avila/LibreChat#13888, "
        "maximhq/bifrost#6732; of what is in plain lists and maps as other services of AWS say it",
    ),
    Rule(
        "members_are_known",
        "the body has no member that AWS's model does not have",
        "{errors}",
        words.unknown_members,
        _OWN_WORDING.format("what the service says is not known, AWS's SDKs do not send such a member"),
    ),
    Rule(
        "unions_have_one_member",
        "a union has no more than one member",
        "{errors}",
        words.unions_of_several,
        _OWN_WORDING.format("AWS documents the rule (API_runtime_ContentBlock), its SDKs do not send such a union"),
    ),
    Rule(
        "conversation_is_not_empty",
        "there is a message, unless the model id is a stored prompt's",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        conversation.has_no_message,
        "pydantic/pydantic-ai#4495, elastic/kibana#246393",
    ),
    Rule(
        "first_message_is_the_users",
        "a conversation starts with a message of the user",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        conversation.starts_with_another,
        "langgenius/dify#12340 (Claude 3.5), strands-agents/harness-sdk#2085 (Nova 2), pydantic/pydantic-ai#6255 "
        "(Nova, Llama, Mistral, Cohere, AI21, Writer)",
        Models(
            but={
                _SONNET_4_5: "recorded: pydantic-ai, test_bedrock_anthropic_message_history_starting_with_response",
                "qwen.*": _LEADING,
                "zai.*": _LEADING,
                "moonshot*": _LEADING,
            }
        ),
    ),
    Rule(
        "content_is_not_empty",
        "a message has a content block",
        "The content field in the Message object at messages.{n} is empty. Add a ContentBlock object to the content "
        "field and try again.",
        conversation.empty_contents,
        "earendil-works/pi#3443, anthropics/claude-code#13709, theopenco/llmgateway#3127 (Claude Opus 4.8)",
    ),
    Rule(
        "unions_are_set",
        "a union, such as a content block, has a member of AWS's model",
        "{shape} object at {path} must set one of the following keys: {keys}",
        words.unset_unions,
        "of content blocks maximhq/bifrost, its tests of them; of document sources strands-agents/harness-sdk#3582; "
        "other unions are thought to be like them",
    ),
    Rule(
        "text_is_not_blank",
        "a text has more than whitespace",
        "The text field in the ContentBlock object at messages.{n}.content.{m} is blank. Add text to the text field, "
        "and try again.",
        conversation.blank_texts,
        "aws-samples/bedrock-engineer#8, langchain-ai/langchain-aws#403 (Titan), boto/botocore#3525 (Claude 3.7)",
        Models(but={Claude(since=(4,)): "it says so itself: claude_is_given_texts"}),
    ),
    Rule(
        "guard_content_is_not_blank",
        "what a guardrail is to look at has more than whitespace",
        "The guard content field in the ContentBlock object at messages.{n}.content.{m} is blank",
        conversation.blank_guard_contents,
        "strands-agents/harness-sdk#4693, aws-samples/bedrock-chat#637",
    ),
    Rule(
        "tool_config_is_there",
        "a conversation in which tools were used offers tools",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        conversation.tools_without_config,
        "langgenius/dify#17545, strands-agents/sdk-python#998, pydantic/pydantic-ai#1966",
    ),
    Rule(
        "tool_schema_is_json",
        "the schema of a tool is a JSON object",
        "The format of the value at toolConfig.tools.{n}.toolSpec.inputSchema.json is invalid. Provide a json object "
        "for the field and try again.",
        conversation.schemas_that_are_no_objects,
        "aws/aws-sdk-net#3377",
    ),
    Rule(
        "tool_schema_is_of_an_object",
        "the root of a tool's schema has the type object",
        "The value at toolConfig.tools.{n}.toolSpec.inputSchema.json.type must be one of the following: object.",
        conversation.schemas_of_other_types,
        "block/goose#5064, cognitect-labs/aws-api#272",
    ),
    Rule(
        "tool_results_are_different",
        "the results in a message have different ids",
        "The toolResult blocks at messages.{n}.content contain duplicate Ids: {ids}",
        conversation.duplicate_results,
        "BerriAI/litellm#20047",
    ),
    Rule(
        "tool_uses_are_different",
        "the tools used in a message have different ids",
        "The toolUse blocks at messages.{n}.content contain duplicate Ids: {ids}",
        conversation.duplicate_uses,
        "double16/Cyber-AutoAgent-ng#27",
    ),
    Rule(
        "tool_results_have_uses",
        "a message has no more results than the one before it used tools",
        "The number of toolResult blocks at messages.{n}.content exceeds the number of toolUse blocks of previous "
        "turn.",
        conversation.more_results_than_uses,
        "strands-agents/harness-sdk#1435",
    ),
    Rule(
        "tool_uses_have_results",
        "the message after one that used tools has their results",
        "Expected toolResult blocks at messages.{n}.content for the following Ids: {ids}",
        conversation.missing_results,
        "agno-agi/agno#6698, camel-ai/camel#3954 (Nova)",
    ),
    Rule(
        "failed_results_say_why",
        "a result with the status error has content",
        "The content field at messages.{n}.content.{m}.toolResult cannot be empty when status value is error.",
        conversation.errors_without_content,
        "an issue of aws-samples, #15",
    ),
    Rule(
        "tool_result_json_is_an_object",
        "the JSON of a result is an object",
        "The format of the value at messages.{n}.content.{m}.toolResult.content.{k}.json is invalid. Provide a json "
        "object for the field and try again.",
        conversation.results_that_are_no_objects,
        "aws/aws-sdk-js-v3#7330, deepset-ai/haystack-core-integrations#3766",
    ),
    Rule(
        "tool_input_is_an_object",
        "the input of a tool is an object",
        "The format of the value at messages.{n}.content.{m}.toolUse.input is invalid. Provide a json object for the "
        "field and try again.",
        conversation.inputs_that_are_no_objects,
        "vercel/ai#19023; its second sentence is that of the rule for results",
    ),
    Rule(
        "document_names_are_plain",
        "the name of a document has letters, digits, hyphens, underscores, brackets, and single spaces",
        "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, "
        "and square brackets. The name can't contain more than one consecutive whitespace character. Check that the "
        "file name conforms to these restrictions and retry your request.",
        conversation.names_with_other_characters,
        "simonw/llm-bedrock#8, vercel/ai#20365, aws-samples/generative-ai-use-cases#1671",
    ),
    Rule(
        "document_names_are_different",
        "the documents of a request have different names",
        "Messages can't contain duplicate document names. Rename the document and retry your request.",
        conversation.names_twice,
        "maximhq/bifrost#7003, ag-ui-protocol/ag-ui#2425",
    ),
    Rule(
        "documents_are_few",
        "a request has five documents at most",
        "You can't include more than 5 documents in a request. Reduce the number of documents and retry your request.",
        conversation.too_many,
        "aws-samples/generative-ai-use-cases#1685",
    ),
    Rule(
        "documents_have_text",
        "a message with a document has a text",
        "A text block must be included when using documents. Add a text block and retry your request.",
        conversation.without_text,
        "BerriAI/litellm#36499, maximhq/bifrost#5817",
    ),
    Rule(
        "document_sources_are_files",
        "a document that is not to be cited is a file",
        "DocumentSource object at messages.{n}.content.{m}.document.source must set one of the following keys: bytes, "
        "s3Location",
        conversation.sources_for_citations,
        "strands-agents/harness-sdk#3582",
    ),
    Rule(
        "media_are_the_users",
        "only messages of the user have images, documents, videos and sounds",
        "The {kind} block at messages.{n}.content.{m} is only supported in messages with the role user.",
        conversation.media_of_the_assistant,
        _OWN_WORDING.format("AWS documents the rule (API_runtime_Message)"),
    ),
)


RULES: Final[tuple[Rule, ...]] = (*GATEWAY, *PROFILES)
"""A request is refused for the first of these that it breaks."""

BY_NAME: Final[Mapping[str, Rule]] = {rule.name: rule for rule in RULES}
