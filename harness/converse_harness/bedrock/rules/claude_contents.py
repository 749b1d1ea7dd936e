"""Rules of Claude on Bedrock about media, tools, structured output and images."""

from __future__ import annotations

from typing import Final

from converse_harness.bedrock.rules.finders import abilities, media, tools
from converse_harness.bedrock.rules.request import in_blocks, in_request, in_results, in_shown
from converse_harness.bedrock.rules.rule import (
    MODEL,
    MULTIMODAL,
    Claude,
    Models,
    Rule,
    coded,
    no_block,
    no_field,
    recorded,
    reported,
)

_CLAUDE: Final = Models(only=(Claude(),))
_CLAUDE_4_ON: Final = Models(only=(Claude(since=(4,)),))

_STRICT: Final = MODEL + "tools.{k}.custom.strict: Extra inputs are not permitted"

_NO_SCHEMA: Final = MODEL + "output_config.format: Extra inputs are not permitted"

_STRUCTURED: Final = coded(
    "pydantic-ai, its profile of Bedrock's models",
    "2026-10-29",
    "patterns of Opus 4.7 were tried; only Opus 4.1 and Fable 5 are without structured output",
)
"""A Witness for structured output of newer Claude: AWS seems to have added it in autumn 2026."""

_output_formats: Final = in_request(
    "outputConfig.textFormat", lambda asked: "textFormat" in asked.body.get("outputConfig", {}), "outputConfig"
)

CLAUDE_CONTENTS: Final = (
    Rule(
        "claude_results_stand_without_files",
        "a message to Claude with the result of a tool has no documents except PDFs and those with citations",
        MODEL + "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        media.files_beside_results,
        (
            reported("pydantic/pydantic-ai#3253", "2025-10-24"),
            reported("pydantic/pydantic-ai#6098", "2026-06-27"),
        ),
        _CLAUDE,
    ),
    Rule(
        "claude_results_come_first",
        "a message to Claude with the result of a tool does not begin with a text",
        MODEL + "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        tools.results_after_a_text,
        (reported("pydantic/pydantic-ai#6081", "2026-06"),),
        _CLAUDE,
        remark="one thread only; the wording is that of claude_results_stand_without_files",
        verdict="note",
    ),
    Rule(
        "claude_sees_no_videos",
        "a request to Claude has no video",
        no_block("video"),
        media.any_of("video"),
        (recorded(MULTIMODAL, "2025-12", "Sonnet 4.5"),),
        Models(only=(Claude(),), lacking="videos"),
    ),
    Rule(
        "claude_is_given_its_images",
        "an image for Claude is in the request, not in S3",
        no_field("s3Uri"),
        in_shown("image", media.is_in_s3, ".source.s3Location"),
        (recorded(MULTIMODAL, "2025-12", "Sonnet 4.5"),),
        _CLAUDE,
    ),
    Rule(
        "claude_is_given_its_documents",
        "a document in a message for Claude is in the request, not in S3",
        MODEL + "messages.{n}.content.{m}.document.source.type: Field required",
        in_blocks("document", media.is_in_s3, ".source.s3Location"),
        (
            reported("strands-agents/harness-sdk#1744", "2026-02-20"),
            recorded(MULTIMODAL, "2025-12", "Sonnet 4.5"),
            reported("strands-agents/harness-sdk#3610", "2026-08"),
        ),
        _CLAUDE,
    ),
    Rule(
        "claude_cites_no_results",
        "a document in the result of a tool for Claude has no citations",
        "Citations are not supported in tool result documents.",
        in_results("document", breaks=media.is_cited, path=".citations"),
        (reported("boto/boto3#4648", "2025-10-27"), reported("pydantic/pydantic-ai#7750", "2026-08-25")),
        _CLAUDE,
    ),
    Rule(
        "claude_cites_pdfs_and_texts",
        "a document for Claude with citations has the format pdf or txt",
        "Unsupported document format. Only txt and pdf formats are supported when citations are enabled",
        in_blocks("document", media.is_cited_but_no_text, ".format"),
        (reported("boto/boto3#4726", "2026-02-24"), reported("pydantic/pydantic-ai#7750", "2026-08-25")),
        _CLAUDE,
    ),
    Rule(
        "claude_tools_are_no_choice",
        "the root of a tool's schema for Claude is no oneOf, allOf or anyOf",
        MODEL + "tools.{k}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        tools.with_combinators_at_the_root,
        (
            reported("jwadow/kiro-gateway#232", "", "through a gateway"),
            reported("trycua/cua#3303", "2026-08-21", "through a gateway"),
            reported("code-yeongyu/senpi#1947", "2026-09-22"),
        ),
        _CLAUDE,
    ),
    Rule(
        "claude_tools_have_plain_keys",
        "a property at the root of a tool's schema for Claude has a name of 64 letters, digits, _, . and - at most",
        MODEL + "tools.{k}.custom.input_schema.properties: Property keys should match pattern "
        "'^[a-zA-Z0-9_.-]{{1,64}}$'",
        tools.with_other_keys,
        (
            reported(
                "aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#709", "2026-08-31"
            ),
        ),
        _CLAUDE,
        remark="that the prefix is there is thought",
    ),
    Rule(
        "claude_tools_are_of_draft_2020_12",
        "a tool's schema for Claude is one of JSON Schema's draft 2020-12",
        MODEL + "tools.{k}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
        "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
        "https://docs.anthropic.com/en/docs/tool-use.",
        tools.of_other_drafts,
        (
            reported("acomagu/vscode-as-mcp-server#6", ""),
            coded(
                "servers of tools that met it at Anthropic's API",
                "2026-11",
                "a list for items, true for exclusiveMinimum",
            ),
        ),
        _CLAUDE,
    ),
    Rule(
        "claude_tools_have_names_of_their_own",
        "the tools for Claude have different names",
        MODEL + "tools: Tool names must be unique.",
        tools.names_twice,
        (reported("microsoft/vscode#276110", "2025-11"), reported("tailcallhq/forgecode#892", "", "not Bedrock")),
        _CLAUDE,
    ),
    Rule(
        "some_claudes_are_not_forced_to_use_a_tool",
        "Claude Opus 5.5 is not forced to use a tool",
        MODEL + 'tool_choice: type "tool" and "any" are not supported for this model.',
        tools.forced,
        (
            recorded("vercel/ai, its fixtures", "2026-09", "Opus 5.5"),
            reported("vercel/ai#21364", "2026-09-22", "Opus 5.5; Opus 5 accepts it"),
            reported("ax-llm/ax#667", "2026-09-23", "Opus 5.5"),
            reported("stdapi-ai/stdapi.ai#284", "2026-09", "Opus 5.5"),
        ),
        Models(only=(Claude(),), lacking="toolChoice any"),
    ),
    Rule(
        "some_claudes_have_no_strict_tools",
        "the tools for Claude Sonnet 4, Sonnet 5, Opus 4.1 and Fable 5.1 have no `strict`, not even false",
        _STRICT,
        tools.strict_tools,
        (
            reported("BerriAI/litellm#33193", "2026-07-14", "Sonnet 4, as known from #31943"),
            recorded("vercel/ai, its fixtures", "2026-07", "Sonnet 5"),
            reported("BerriAI/litellm#35688", "2026-08-03", "Sonnet 5, false as well"),
            reported("lobehub/lobehub#19876", "2026-09-23", "Fable 5.1; Opus 5 and Fable 5 accept it"),
            coded("pydantic-ai, its profile of Bedrock's models", "2026-11", "Opus 4.1, Fable 5.1"),
        ),
        Models(lacking="strict tools"),
    ),
    Rule(
        "newer_claudes_have_no_strict_tools",
        "the tools for Claude Opus 4.7, 4.8 and 5.5 have no `strict`",
        _STRICT,
        tools.strict_tools,
        (
            reported("BerriAI/litellm#31582", "2026-06-29", "Opus 4.7, Opus 4.8; Sonnet 4.5 accepts it"),
            reported("lobehub/lobehub#19876", "2026-09-23", "Opus 5.5"),
        ),
        Models(disputed="strict tools"),
        against=(_STRUCTURED,),
        verdict="note",
    ),
    Rule(
        "claude_uses_strict_tools_with_closed_objects",
        "each object in the schema of a strict tool for Claude has additionalProperties false",
        MODEL + "tools.{k}.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
        tools.strict_tools_with_open_objects,
        (recorded("vercel/ai, its fixtures", "2026-07", "Haiku 4.5, a nested object"),),
        _CLAUDE_4_ON,
    ),
    Rule(
        "claude_uses_strict_tools_without_limits",
        "the schema of a strict tool for Claude has no limits of numbers, no maxItems and no minItems above 1",
        MODEL + "tools.{k}.custom: For '{type}' type, {keywords} not supported",
        tools.strict_tools_with_limits,
        (
            coded(
                "pydantic-ai, its profile of Bedrock's models", "2026-05-19", "Sonnet 4.5, limits of strings are taken"
            ),
            reported("BerriAI/litellm#39115", "2026-09-01", "Haiku 4.5, Sonnet 4.6, Opus 4.6, maxItems"),
        ),
        _CLAUDE_4_ON,
    ),
    Rule(
        "claude_stops_at_more_than_whitespace",
        "a stop sequence for Claude is more than whitespace",
        MODEL + "stop_sequences: each stop sequence must contain non-whitespace",
        abilities.blank_stop_sequences,
        (reported("continuedev/continue#1660", "2024-07"),),
        _CLAUDE,
    ),
    Rule(
        "claude_answers_closed_objects",
        "each object in the schema of the answer of Claude from 4 on has additionalProperties false",
        MODEL
        + "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
        tools.outputs_by_open_objects,
        (reported("future-agi/future-agi#412", "2026-05-12"),),
        _CLAUDE_4_ON,
        remark="Claude 3 accepts open ones: recorded, dd-trace-py, bedrock_converse_boolean",
    ),
    Rule(
        "claude_answers_without_limits",
        "the schema of the answer of Claude from 4 on has no limits of numbers, no maxItems and no minItems above 1",
        MODEL + "output_config.format.schema: For '{type}' type, {keywords} not supported",
        tools.outputs_with_limits,
        (
            coded("pydantic-ai, its profile of Bedrock's models", "2026-05-19", "Sonnet 4.5"),
            reported("BerriAI/litellm#29624", "2026-06-03", "minimum and maximum of a number"),
            reported("vercel/ai#17197", "2026-07-14", "Sonnet 4.5, maxItems"),
            reported("AgentToolkit/altk-boost#118", "2026-08-11", "Haiku 4.5, minimum and maximum of an integer"),
            reported("gaiin-platform/amplify-genai-backend#383", "2026-08-21", "minimum and maximum of an integer"),
        ),
        _CLAUDE_4_ON,
        remark="limits of strings are accepted: recorded, pydantic-ai, test_bedrock_native_output_profile_default; the "
        "wording for minItems is that of Anthropic's own API",
    ),
    Rule(
        "claude_answers_without_recursion",
        "the schema of the answer of Claude from 4 on does not contain itself",
        "The system encountered an unexpected error during processing. Try your request again.",
        tools.outputs_by_recursion,
        (recorded("pydantic-ai, test_native_recursive_schema", "2026-02", "Sonnet 4.5"),),
        _CLAUDE_4_ON,
        remark="the status is 500",
        error="InternalServerException",
    ),
    Rule(
        "some_claudes_answer_without_a_schema",
        "Claude Sonnet 4, Opus 4.1 and Fable 5 are given no schema of the answer",
        _NO_SCHEMA,
        _output_formats,
        (
            reported("vercel/ai#17719", "2026-07-22", "Sonnet 4"),
            coded("pydantic-ai, its profile of Bedrock's models", "2026-11", "Opus 4.1, Fable 5, Fable 5.1"),
        ),
        Models(lacking="textFormat"),
        remark="Sonnet 4 said output_config instead of output_config.format",
    ),
    Rule(
        "newer_claudes_answer_without_a_schema",
        "Claude Opus 4.7, 4.8 and 5 and Sonnet 5 are given no schema of the answer",
        _NO_SCHEMA,
        _output_formats,
        (
            reported("maximhq/bifrost#3184", "2026-05-01", "Opus 4.7"),
            reported("langgenius/dify-official-plugins#3511", "2026-07-26", "Opus 5, Sonnet 5"),
            reported("MattJColes/lgtmaybe#469", "2026-08-17", "Opus 5"),
        ),
        Models(disputed="textFormat"),
        against=(_STRUCTURED,),
        verdict="note",
    ),
    Rule(
        "claude_images_are_of_their_format",
        "an image for Claude from 4 on has the format that its block names",
        MODEL + "messages.{n}.content.{m}.image.source.bytes: The image was specified using the image/{said} media "
        "type, but the image appears to be a image/{found} image",
        media.of_another_format(media.format_of),
        (
            reported("aws-samples/amazon-bedrock-client-for-mac#130", "2026-04-17"),
            reported("ziatdinovmax/SciLink#382", "2026-07-21", "Opus 4.8"),
            reported("NousResearch/hermes-agent#55429", "2026-09-02", "Sonnet 4.5"),
        ),
        _CLAUDE_4_ON,
        remark="Claude 3.5 accepts others: recorded, openinference",
    ),
    Rule(
        "claude_images_are_small",
        "an image for Claude has 5 MiB of base64 at most",
        MODEL + "messages.{n}.content.{m}.image.source.bytes: image exceeds 5 MB maximum: {size} bytes > {most} bytes",
        media.too_large,
        (
            reported("aws/aws-sdk-js-v3#6785", "2025-01-09", "3.5 Sonnet v2"),
            reported(
                "aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#778",
                "2026-09-04",
                "Sonnet 4.6",
            ),
        ),
        _CLAUDE,
        remark="in January 2025 the path ended in image.source",
    ),
    Rule(
        "claude_images_are_smaller_among_many",
        "if a request has more than 20 images for Claude, none has a side of more than 2,000 pixels",
        MODEL + "image exceed max allowed size for many-image requests: 2000 pixels",
        media.too_wide_among_many,
        (
            reported(
                "aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#994",
                "2026-09-18",
                "Sonnet 5",
            ),
        ),
        _CLAUDE,
        remark="quoted without what stands before it; the sides of PNG, GIF and JPEG are read",
    ),
    Rule(
        "claude_images_are_few",
        "a request to Claude has 20 images and documents at most",
        "too many images and documents: {images} + {documents} > 20",
        media.too_many_images,
        (reported("cline/cline#1844", "2025-03-25", "Sonnet"), reported("boto/boto3#4632", "2025-10-07", "Sonnet 4")),
        _CLAUDE,
        against=(
            reported(
                "aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#147",
                "2025-12-01",
                "Sonnet 4 took 100",
            ),
        ),
        verdict="note",
    ),
)
