"""The same for rules of tools' schemas, images, cache points and structured output, and for what is only noted."""

from __future__ import annotations

import json

from tests.bedrock.rules.asking import (
    CACHE_POINT,
    HOUR,
    IMAGE,
    LLAMA,
    NOVA,
    PREFIX,
    SONNET,
    TEXT,
    THOUGHT,
    Broken,
    Json,
    assistant,
    config,
    document,
    image,
    offered,
    png,
    result,
    use,
    user,
)

SCHEMA = "toolConfig.tools[0].toolSpec.inputSchema.json"
OUTPUT = "outputConfig.textFormat.structure.jsonSchema.schema"
HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
NEMOTRON = "nvidia.nemotron-nano-12b-v2"
CUSTOM = PREFIX + "tools.0.custom.input_schema"
LARGE = "A" * (5 * 1024 * 1024 + 4)
PAGES = [document(f"Report {n}") for n in range(4)]


TREE: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
}
LIMITED: Json = {"n": {"type": "integer", "minimum": 1, "maximum": 5}, "all": {"type": "array", "maxItems": 3}}


def cited(form: str) -> Json:
    return {"document": document(bytes="aGk=")["document"] | {"format": form, "citations": {"enabled": True}}}


def strictly(schema: Json, *, strict: bool = True) -> Json:
    json_schema = {"type": "object", "additionalProperties": False, **schema}
    spec = {"name": "see", "inputSchema": {"json": json_schema}, "strict": strict}
    return {"toolConfig": {"tools": [*config()["toolConfig"]["tools"], CACHE_POINT, {"toolSpec": spec}]}}


def answered_by(schema: str) -> Json:
    structure = {"jsonSchema": {"name": "answer", "schema": schema}}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": structure}}}


BROKEN: dict[str, Broken] = {
    "model_is_not_retired": Broken(
        "modelId",
        "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
        model_id="us.amazon.nova-premier-v1:0",
    ),
    "prompts_have_settings_of_their_own": Broken(
        "inferenceConfig",
        "The inferenceConfig field cannot be used with a prompt from Prompt management.",
        model_id="arn:aws:bedrock:us-east-1:123456789012:prompt/ABCDEFGHIJ:1",
        body={"inferenceConfig": {}},
    ),
    "service_tier_is_one": Broken(
        "serviceTier.type", "service tier provided is invalid", body={"serviceTier": {"type": "cheapest"}}
    ),
    "messages_are_not_the_systems": Broken(
        "messages[1].role",
        "1 validation error detected: Value 'system' at 'messages.2.member.role' failed to satisfy constraint: Member "
        "must satisfy enum value set: [user, assistant]",
        [user(TEXT), {"role": "system", "content": [TEXT]}, user(TEXT)],
    ),
    "messages_do_not_change_tools": Broken(
        "messages[0].content[1].toolRemoval",
        "It is not known what Bedrock says of toolRemoval.",
        [user(TEXT, {"toolRemoval": {"tool": {"type": "tool", "name": "look"}}})],
    ),
    "users_do_not_use_tools": Broken(
        "messages[0].content[1].toolUse",
        "User messages cannot contain tool uses. Please remove the tool uses and try again",
        [user(TEXT, use())],
        body=config(),
    ),
    "tool_properties_are_an_object": Broken(
        f"{SCHEMA}.properties",
        "The json schema definition at toolConfig.tools.0.toolSpec.inputSchema is invalid. Fix the following errors "
        "and try again: $.properties: null found, object expected",
        body=config({"type": "object", "properties": None}),
    ),
    "output_schema_is_json": Broken(
        OUTPUT,
        "The json schema definition at outputConfig.textFormat.structure.jsonSchema.schema is invalid.",
        body=answered_by("{nope"),
    ),
    "claude_prefills_end_in_text": Broken(
        "messages[1].content[0].text",
        PREFIX + "messages: final assistant content cannot end with trailing whitespace",
        [user(TEXT), assistant({"text": "It is "})],
        SONNET,
    ),
    "claude_adapts_or_must_use_a_tool": Broken(
        "toolConfig.toolChoice",
        PREFIX + "Thinking may not be enabled when tool_choice forces tool use.",
        None,
        "us.anthropic.claude-opus-4-6-v1",
        body={**config(any={}), "additionalModelRequestFields": {"thinking": {"type": "adaptive"}}},
    ),
    "cache_points_follow_no_thought": Broken(
        "messages[1].content[1].cachePoint",
        "Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again.",
        [user(TEXT), assistant(THOUGHT, CACHE_POINT, TEXT), user(TEXT)],
        SONNET,
    ),
    "cache_points_follow_something": Broken(
        "messages[0].content[0].cachePoint",
        "There is nothing available to cache. Please remove the invalid cache point and try again.",
        [user(CACHE_POINT, TEXT)],
        SONNET,
    ),
    "claude_caches_ever_shorter": Broken(
        "messages[0].content[1].cachePoint.ttl",
        PREFIX
        + "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
        "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
        [user(TEXT, HOUR)],
        SONNET,
        body={"system": [TEXT, CACHE_POINT]},
    ),
    "claude_before_4_5_caches_for_five_minutes": Broken(
        "messages[0].content[1].cachePoint.ttl",
        PREFIX + "messages.0.content.0.cache_control.ttl: Extra inputs are not permitted",
        [user(TEXT, HOUR)],
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
    ),
    "claude_has_no_top_p": Broken(
        "additionalModelRequestFields.top_k",
        PREFIX + "`top_k` is deprecated for this model.",
        None,
        "us.anthropic.claude-opus-5",
        body={"additionalModelRequestFields": {"top_k": 5}},
    ),
    "claude_cites_no_results": Broken(
        "messages[2].content[0].toolResult.content[0].document.citations",
        "Citations are not supported in tool result documents.",
        [user(TEXT), assistant(use()), user(result("a", cited("pdf")))],
        SONNET,
        body=config(),
    ),
    "claude_cites_pdfs_and_texts": Broken(
        "messages[0].content[1].document.format",
        "Unsupported document format. Only txt and pdf formats are supported when citations are enabled",
        [user(TEXT, cited("docx"))],
        SONNET,
    ),
    "some_claudes_have_no_strict_tools": Broken(
        "toolConfig.tools[2].toolSpec.strict",
        PREFIX + "tools.1.custom.strict: Extra inputs are not permitted",
        None,
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
        body=strictly({}, strict=False),
    ),
    "newer_claudes_have_no_strict_tools": Broken(
        "toolConfig.tools[2].toolSpec.strict",
        PREFIX + "tools.1.custom.strict: Extra inputs are not permitted",
        None,
        "us.anthropic.claude-opus-4-7",
        body=strictly({}),
    ),
    "claude_uses_strict_tools_with_closed_objects": Broken(
        "toolConfig.tools[2].toolSpec.inputSchema.json.properties.where",
        PREFIX + "tools.1.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
        None,
        HAIKU,
        body=strictly({"properties": {"where": {"type": "object"}}}),
    ),
    "claude_uses_strict_tools_without_limits": Broken(
        "toolConfig.tools[2].toolSpec.inputSchema.json.properties.all",
        PREFIX + "tools.1.custom: For 'array' type, property 'maxItems' is not supported",
        None,
        SONNET,
        body=strictly({"properties": {"all": LIMITED["all"]}}),
    ),
    "claude_answers_without_limits": Broken(
        f"{OUTPUT}.properties.n",
        PREFIX + "output_config.format.schema: For 'integer' type, properties maximum, minimum are not supported",
        None,
        SONNET,
        body=answered_by(json.dumps({"type": "object", "additionalProperties": False, "properties": LIMITED})),
    ),
    "claude_tools_are_no_choice": Broken(
        f"{SCHEMA}.anyOf",
        f"{CUSTOM}: input_schema does not support oneOf, allOf, or anyOf at the top level",
        None,
        SONNET,
        body=config({"type": "object", "anyOf": [{"required": ["a"]}]}),
    ),
    "claude_tools_have_plain_keys": Broken(
        f"{SCHEMA}.properties.Account Number",
        f"{CUSTOM}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'",
        None,
        SONNET,
        body=config({"type": "object", "properties": {"Account Number": {"type": "string"}}}),
    ),
    "claude_tools_are_of_draft_2020_12": Broken(
        f"{SCHEMA}.properties.n.exclusiveMinimum",
        f"{CUSTOM}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
        "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
        "https://docs.anthropic.com/en/docs/tool-use.",
        None,
        SONNET,
        body=config({"type": "object", "properties": {"n": {"type": "integer", "exclusiveMinimum": True}}}),
    ),
    "claude_tools_have_names_of_their_own": Broken(
        "toolConfig.tools[2].toolSpec.name",
        PREFIX + "tools: Tool names must be unique.",
        None,
        SONNET,
        body=offered("look", "see", "look"),
    ),
    "claude_stops_at_more_than_whitespace": Broken(
        "inferenceConfig.stopSequences[1]",
        PREFIX + "stop_sequences: each stop sequence must contain non-whitespace",
        None,
        SONNET,
        body={"inferenceConfig": {"stopSequences": ["END", "\n\n"]}},
    ),
    "claude_answers_closed_objects": Broken(
        f"{OUTPUT}.properties.city",
        PREFIX
        + "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
        None,
        SONNET,
        body=answered_by(
            json.dumps({"type": "object", "additionalProperties": False, "properties": {"city": {"type": "object"}}})
        ),
    ),
    "claude_answers_without_recursion": Broken(
        OUTPUT,
        "The system encountered an unexpected error during processing. Try your request again.",
        None,
        SONNET,
        body=answered_by(json.dumps({"$ref": "#/$defs/Tree", "$defs": {"Tree": TREE}})),
    ),
    "some_claudes_answer_without_a_schema": Broken(
        "outputConfig.textFormat",
        PREFIX + "output_config.format: Extra inputs are not permitted",
        None,
        "global.anthropic.claude-fable-5",
        body=answered_by('{"type": "object", "additionalProperties": false}'),
    ),
    "newer_claudes_answer_without_a_schema": Broken(
        "outputConfig.textFormat",
        PREFIX + "output_config.format: Extra inputs are not permitted",
        None,
        "us.anthropic.claude-opus-4-7",
        body=answered_by('{"type": "object", "additionalProperties": false}'),
    ),
    "claude_images_are_of_their_format": Broken(
        "messages[0].content[1].image.source.bytes",
        PREFIX
        + "messages.0.content.1.image.source.bytes: The image was specified using the image/jpeg media type, but "
        "the image appears to be a image/png image",
        [user(TEXT, image("jpeg"))],
        SONNET,
    ),
    "claude_images_are_small": Broken(
        "messages[0].content[1].image.source.bytes",
        PREFIX + "messages.0.content.1.image.source.bytes: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes",
        [user(TEXT, image(data=LARGE))],
        SONNET,
    ),
    "claude_images_are_smaller_among_many": Broken(
        "messages[0].content[2].image.source.bytes",
        PREFIX + "image exceed max allowed size for many-image requests: 2000 pixels",
        [user(TEXT, IMAGE, image(data=png(2001)), *[IMAGE] * 10), assistant(TEXT), user(*[IMAGE] * 9)],
        SONNET,
    ),
    "claude_images_are_few": Broken(
        "messages[0].content[21].document",
        "too many images and documents: 17 + 4 > 20",
        [user(TEXT, *[IMAGE] * 17, *PAGES)],
        HAIKU,
    ),
    "nova_tools_have_no_cache_point": Broken(
        "toolConfig.tools[1].cachePoint",
        PREFIX + "Malformed input request: #/toolConfig/tools/0: extraneous key [cachePoint] is not permitted, please "
        "reformat your input and try again.",
        body={"toolConfig": {"tools": [*config()["toolConfig"]["tools"], CACHE_POINT]}},
    ),
    "nova_caches_no_results": Broken(
        "messages[2].content[1].cachePoint",
        PREFIX + "Malformed input request: #/messages/2/content/0: extraneous key [cachePoint] is not permitted, "
        "please reformat your input and try again.",
        [user(TEXT, CACHE_POINT), assistant(use()), user(result("a", TEXT), CACHE_POINT, TEXT, CACHE_POINT)],
        body=config(),
    ),
    "nova_caches_for_five_minutes": Broken(
        "system[1].cachePoint.ttl",
        "Extended TTL prompt caching is only supported for Anthropic models",
        body={"system": [TEXT, HOUR]},
    ),
    "some_cache_nothing": Broken(
        "messages[0].content[1].cachePoint",
        "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more "
        "information.",
        [user(TEXT, CACHE_POINT)],
        LLAMA,
    ),
    "some_have_no_temperature": Broken(
        "inferenceConfig.topP",
        "This model doesn't support the topP field. Remove topP and try again.",
        None,
        "global.xai.grok-4.6",
        body={"inferenceConfig": {"topP": 1}},
    ),
    "some_cite_nothing": Broken(
        "messages[0].content[1].document.citations",
        "This model doesn't support citations.",
        [user(TEXT, cited("pdf"))],
    ),
    "nova_schemas_define_nothing": Broken(
        f"{SCHEMA}.$defs",
        PREFIX
        + "Malformed input request: #/toolConfig/tools/0/toolSpec/inputSchema/json: extraneous key [$defs] is not "
        "permitted, please reformat your input and try again.",
        body=config({"type": "object", "$defs": {}}),
    ),
    "nova_tools_have_no_hyphens": Broken(
        "toolConfig.tools[0].toolSpec.name",
        PREFIX
        + "Model produced invalid sequence as part of ToolUse. Please refer to the model tool use troubleshooting "
        "guide.",
        body=offered("look-up"),
    ),
    "nova_images_are_images": Broken(
        "messages[0].content[1].image.source.bytes",
        PREFIX + "detected file MIME type text/plain does not match the expected type image/png",
        [user(TEXT, image(data="aGk="))],
        NOVA,
    ),
    "llama_images_are_of_their_format": Broken(
        "messages[0].content[1].image.source.bytes",
        PREFIX + "The provided image does not match the specified image format.",
        [user(TEXT, image("jpeg"))],
        LLAMA,
    ),
    "some_results_are_not_empty": Broken(
        "messages[2].content[0].toolResult.content",
        "The content field at messages.2.content.0.toolResult is blank.",
        [user(TEXT), assistant(use()), user(result("a"))],
        NEMOTRON,
        body=config(),
    ),
    "cohere_is_not_told_which_tool": Broken(
        "toolConfig.toolChoice.any",
        "This model doesn't support the toolConfig.toolChoice field. Remove toolConfig.toolChoice and try again.",
        None,
        "cohere.command-r-v1:0",
        body=config(any={}),
    ),
}
