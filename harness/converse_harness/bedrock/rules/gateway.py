"""Rules that Bedrock's gateway applies to a request and its messages before any model receives the request.

`Models.but` lists the models to which a rule does not apply, each with a witness (a public source) or a reason.
"""

from __future__ import annotations

from typing import Final

from converse_harness.bedrock.rules.finders import abilities, aws_constraints, conversation, media, tools
from converse_harness.bedrock.rules.request import any_block, in_blocks, in_request, in_shown
from converse_harness.bedrock.rules.rule import (
    ALL_OPERATIONS,
    CONVERSING,
    COUNTING,
    PROBED,
    Claude,
    Models,
    Rule,
    coded,
    documented,
    recorded,
    reported,
)
from converse_harness.json_values import is_object
from converse_harness.words import is_blank

REQUEST: Final = (
    Rule(
        "model_id_is_well_formed",
        "the model id matches the pattern of AWS's API model",
        "{errors}",
        aws_constraints.broken_labels,
        (documented("AWS's API model", "2026-11"),),
        verdict="strict",
        operations=ALL_OPERATIONS,
    ),
    Rule(
        "model_exists",
        "the model id is an ARN, or has the form of the ids of Bedrock's providers",
        "The provided model identifier is invalid.",
        in_request("modelId", abilities.ids_of_no_model),
        (
            recorded("opentelemetry-python-contrib", "2025-02-06"),
            recorded("openinference", "2025-08-19"),
            recorded("pydantic-ai, test_bedrock_error", ""),
        ),
        verdict="strict",
        operations=ALL_OPERATIONS,
    ),
    Rule(
        "model_is_not_retired",
        "the model is not at the end of its life",
        "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
        in_request("modelId", abilities.ids_of_the_retired),
        (
            recorded("0xPlaygrounds/rig", "2026-07-10"),
            documented("its page of the lifecycle of models", "2026-11"),
            coded("a probe of some 70 models", "2026-10-10", "Nova Premier, Claude 3.5 Haiku, Llama 3.2"),
        ),
        verdict="strict",
        operations=ALL_OPERATIONS,
        error="ResourceNotFoundException",
    ),
    Rule(
        "model_counts_tokens",
        "the model id of CountTokens is that of a model that counts tokens, not of an inference profile",
        "The provided model doesn't support counting tokens.",
        in_request("modelId", abilities.ids_that_do_not_count),
        (
            reported("pydantic/pydantic-ai#4001", "2026-01-14", "the ARN of an application inference profile"),
            reported("strands-agents/harness-sdk#2250", "2026-05", "profiles, Nova"),
            reported("Boise-State-Development/agentcore-public-stack#430", "2026-06-03", "profiles"),
            recorded("pydantic-ai, test_anthropic_bedrock_count_tokens_error", "2026-06", "a profile of Sonnet 4"),
            reported("anthropics/claude-code#86628", "2026-08-14", "ARNs of application inference profiles"),
            coded("xiehust/strands-darwin", "2026-08", "Claude Opus 4.7, 4.8 and 5, Sonnet 5, Fable 5"),
            coded("stdapi-ai/stdapi.ai", "2026-09", "Claude Opus 5.5"),
        ),
        remark="the table of models below has the models that count",
        operations=COUNTING,
    ),
    Rule(
        "model_is_known_to_count_tokens",
        "the model id of CountTokens is that of a model that is known to count tokens",
        "The provided model doesn't support counting tokens.",
        in_request("modelId", abilities.ids_that_may_not_count),
        (documented("the user guide, before May 2026, which lists six Claude models", "2025-08"),),
        remark="for a made-up id Bedrock has other words: those of model_exists",
        verdict="note",
        operations=COUNTING,
    ),
    Rule(
        "counted_tools_are_known",
        "a body of InvokeModel whose tokens CountTokens counts offers no web search of Anthropic",
        "tools.{k}: Input tag '{tag}' found using 'type' does not match any of the expected tags: 'bash_20250124', "
        "'custom', 'text_editor_20250124', 'text_editor_20250429', 'text_editor_20250728'",
        tools.web_searches_in_a_body,
        (
            recorded(
                "pydantic-ai, test_anthropic_bedrock_count_tokens_rejects_server_tools", "2026-06", "Claude Sonnet 4"
            ),
        ),
        remark="other tools that Anthropic runs were not seen",
        operations=("InvokeModel",),
    ),
    Rule(
        "model_converses",
        "the model can be called through Converse",
        "This action doesn't support the model that you provided.",
        in_request("modelId", abilities.ids_that_do_not_converse),
        (
            PROBED,
            documented("AWS's model cards", "2026-10", "GPT 5.4 and 5.5, Gemma 4, Nova Sonic, Canvas and Reel"),
            reported("danny-avila/LibreChat#14635", "2026-08", "GPT 5.5"),
        ),
        remark="the message is the probe's, of Nova Sonic",
        operations=CONVERSING,
    ),
    Rule(
        "constraints_hold",
        "the body satisfies AWS's API model: members, lengths, patterns, ranges, enums",
        "{errors}",
        aws_constraints.broken_constraints,
        (
            reported("openclaw/openclaw#12892", "2026-02-09", "Kimi K2.5"),
            reported("BerriAI/litellm#24668", "2026-03", "Nova 2 Lite"),
            reported("danny-avila/LibreChat#13888", "2026-06-22", "Claude Opus 4.8"),
            reported("maximhq/bifrost#6732", "2026-09-01"),
            reported("aws/aws-sdk-python#99", "2026-09-17"),
            reported("NousResearch/hermes-agent#34476", "2026-05", "the set of latencies"),
        ),
        remark="of what is in plain lists and maps as other services of AWS say it; whether a tool's name is "
        "repeated was seen both ways in April 2026 (awslabs/mcp#3181, awslabs/agent-plugins#131)",
    ),
    Rule(
        "service_tier_is_one",
        "the service tier is one of AWS's API model",
        "service tier provided is invalid",
        in_request("serviceTier.type", abilities.tiers_that_are_none, "serviceTier"),
        (reported("NousResearch/hermes-agent#34476", "2026-05"),),
        remark="whether an account has the tier `reserved` is not known here: Bedrock says Reservation not found.",
    ),
    Rule(
        "members_are_known",
        "the body has no member that AWS's API model does not have",
        "{members}; botocore {version}",
        aws_constraints.unknown_members,
        (
            recorded("crmne/ruby_llm, an image's name", "2025-09-16", "Claude 3.5 Sonnet, 3.7 Sonnet"),
            recorded("crmne/ruby_llm, top_k beside the messages", "2025-09-16", "Claude 3.5 Haiku"),
            recorded("vercel/ai, topK in inferenceConfig", "2026-09", "Claude Opus 5"),
        ),
        remark="AWS's SDKs do not send such a member; in a union it is refused",
        verdict="ignored",
    ),
    Rule(
        "unions_have_one_member",
        "a union has no more than one member",
        "{shape} object at {path} can only set one of the following keys: {keys}",
        aws_constraints.unions_of_several,
        (
            reported("envoyproxy/ai-gateway#1717", "2026-01-01"),
            documented("API_runtime_ContentBlock", "2026-10"),
        ),
        remark="of other unions than content blocks, and of members that AWS's API model lacks, thought",
    ),
    Rule(
        "prompts_have_settings_of_their_own",
        "a request to a stored prompt has no inferenceConfig, system, toolConfig and additionalModelRequestFields, not "
        "even empty ones",
        "The {name} field cannot be used with a prompt from Prompt management.",
        conversation.settings_beside_a_prompt,
        (
            reported("langchain-ai/langchainjs#9310", "2025-11-03", "an empty inferenceConfig and an empty system"),
            documented("API_runtime_Converse", "2026-10"),
        ),
        remark="the wording is ours: in the thread it is a ValidationException that speaks of an override",
    ),
    Rule(
        "conversation_is_not_empty",
        "the request has a message, unless the model id names a stored prompt",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        in_request("messages", conversation.has_no_message),
        (
            reported("elastic/kibana#246393", "2025-12-15"),
            reported("pydantic/pydantic-ai#4495", "2026-03-02", "Claude Haiku 4.5"),
            reported(
                "Boise-State-Development/agentcore-public-stack#1156", "2026-09-18", "CountTokens, Claude Haiku 4.5"
            ),
        ),
    ),
    Rule(
        "first_message_is_the_users",
        "a conversation starts with a message of the user",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        conversation.starts_with_another,
        (
            reported("langgenius/dify#12340", "2025-01-03", "Claude 3.5 Sonnet"),
            reported("strands-agents/harness-sdk#2085", "2026-04-07", "Nova 2 Lite"),
            reported("pydantic/pydantic-ai#6255", "2026-07-03", "Nova, Llama, Mistral, Cohere, AI21, Writer"),
            reported("deepgram/deepgram-python-sdk#760", "2026-08-11", "Nova Micro"),
        ),
        Models(
            but={
                Claude(since=(4, 5)): reported(
                    "pydantic/pydantic-ai#6255", "2026-07-03", "Sonnet 4.5; recorded as well"
                ),
                "qwen.*": reported("pydantic/pydantic-ai#6255", "2026-07-03", "Qwen3 VL"),
                "zai.*": "not known",
                "moonshot*": "not known",
            }
        ),
    ),
    Rule(
        "messages_are_not_the_systems",
        "a message is the user's or the assistant's",
        "1 validation error detected: Value 'system' at 'messages.{k}.member.role' failed to satisfy "
        "constraint: Member "
        "must satisfy enum value set: [user, assistant]",
        conversation.messages_of_the_system,
        (reported("BerriAI/litellm#41082", "2026-09-14"),),
        against=(documented("AWS's API model, which has the role", "2026-11"),),
        remark="the wording is that of other roles",
        verdict="note",
    ),
    Rule(
        "messages_do_not_change_tools",
        "a message neither adds a tool nor takes one away",
        "It is not known what Bedrock says of {kind}.",
        any_block("toolAddition", "toolRemoval"),
        (),
        against=(documented("AWS's API model, which has toolAddition and toolRemoval", "2026-11"),),
        remark="nobody was seen to send one",
        verdict="note",
    ),
    Rule(
        "users_do_not_use_tools",
        "only the assistant uses tools",
        "User messages cannot contain tool uses. Please remove the tool uses and try again",
        any_block("toolUse", role="user"),
        (reported("strands-agents/harness-sdk#1160", "2025-11-09", "Claude Haiku 4.5"),),
    ),
    Rule(
        "content_is_not_empty",
        "a message has a content block",
        "The content field in the Message object at messages.{n} is empty. Add a ContentBlock object to the content "
        "field and try again.",
        conversation.empty_contents,
        (
            reported("langchain-ai/langchain#26968", "2024-09-28", "Claude"),
            reported("earendil-works/pi#3443", "2026-04-20"),
            reported("archestra-ai/archestra#4220", "2026-04-30"),
            reported("theopenco/llmgateway#3127", "", "Claude Opus 4.8"),
        ),
    ),
    Rule(
        "unions_are_set",
        "a union, such as a content block, has a member of AWS's API model",
        "{shape} object at {path} must set one of the following keys: {keys}",
        aws_constraints.unset_unions,
        (
            reported("strands-agents/harness-sdk#3582", "2026-08-27", "document sources"),
            coded("maximhq/bifrost, its tests", "2026-11", "content blocks"),
        ),
        remark="other unions are thought to be like them",
    ),
    Rule(
        "text_is_not_blank",
        "a text has more than whitespace",
        "The text field in the ContentBlock object at messages.{n}.content.{m} is blank. Add text to the text field, "
        "and try again.",
        in_blocks("text", is_blank),
        (
            reported("aws-samples/bedrock-engineer#8", "2025-02-25"),
            reported("langchain-ai/langchain-aws#403", "2025-03-27", "Titan"),
            reported("boto/botocore#3525", "2025-07-23", "Claude 3.7"),
        ),
        Models(
            but={
                Claude(since=(4,)): "it has its own rule: claude_is_given_texts",
                "amazon.nova-micro*": recorded(
                    "pydantic-ai, test_bedrock_model_with_instructions_only", "2026-03-06", "beside a system prompt"
                ),
            }
        ),
    ),
    Rule(
        "guard_content_is_not_blank",
        "a text for a guardrail has more than whitespace",
        "The guard content field in the ContentBlock object at messages.{n}.content.{m} is blank",
        in_blocks("guardContent", lambda it: "text" in it and is_blank(it["text"].get("text", "-")), ".text.text"),
        (
            reported("aws-samples/bedrock-chat#637", "2024-12-09", "Claude 3.5 Sonnet v2"),
            reported("strands-agents/harness-sdk#4693", ""),
        ),
    ),
)


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
        tools.that_are_no_objects,
        (
            reported("aws/aws-sdk-net#3377", "2024-07-09"),
            reported("aws/aws-sdk-net#4078", "2025-10-23"),
        ),
    ),
    Rule(
        "tool_schema_is_of_an_object",
        "the root of a tool's schema has the type object",
        "The value at toolConfig.tools.{n}.toolSpec.inputSchema.json.type must be one of the following: object.",
        tools.of_other_types,
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
        tools.with_properties_that_are_no_object,
        (
            reported("aws/aws-sdk-net#3731", "2025-03-28", "Claude 3.7, null"),
            reported("maximhq/bifrost#1720", "2026-02-21", "Claude Sonnet 4.5, null"),
        ),
        remark="of other values than null thought",
    ),
    Rule(
        "tool_uses_are_different",
        "the tools used in a message have different ids",
        "The toolUse blocks at messages.{n}.content contain duplicate Ids: {ids}",
        tools.duplicates("toolUse"),
        (
            reported("double16/Cyber-AutoAgent-ng#27", "2026-03-06", "Claude Sonnet 4.5"),
            recorded("vercel/ai, its fixtures", "2026-07-21", "Ministral 3 8B"),
        ),
    ),
    Rule(
        "tool_results_are_different",
        "the results in a message have different ids",
        "The toolResult blocks at messages.{n}.content contain duplicate Ids: {ids}",
        tools.duplicates("toolResult"),
        (reported("BerriAI/litellm#20047", "2026-01-30"),),
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
        in_request(tools.OUTPUT, tools.has_an_output_by_no_json, "outputConfig"),
        (documented("API_runtime_JsonSchemaDefinition", "2026-10"),),
        remark="the wording is ours",
    ),
)
