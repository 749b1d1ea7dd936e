"""Rules of Amazon Nova.

`Models.only` lists the models for which a witness (a public source) shows that the rule applies.
"""

from __future__ import annotations

from typing import Final

from converse_harness.bedrock.rules.finders import caching, fields, media, tools
from converse_harness.bedrock.rules.rule import MODEL, MULTIMODAL, Models, Rule, coded, recorded, reported

_NOVA: Final = Models(only=("amazon.nova*",))

NOVA: Final = (
    Rule(
        "nova_1_does_not_reason",
        "Nova 1 is given no reasoningConfig",
        MODEL + "Malformed input request: the provided reasoning config value is invalid, please reformat your input "
        "and try again.",
        fields.reasoning_configs,
        (recorded("vercel/ai, its fixtures", "2026-07", "Nova Micro"),),
        Models(only=("amazon.nova*",), lacking="reasoning"),
    ),
    Rule(
        "nova_has_no_other_fields",
        "an additional field for Nova is not one that only models of other makers have",
        MODEL + "Malformed input request: #: extraneous key [{name}] is not permitted, please reformat your input and "
        "try again.",
        fields.fields_of_others,
        (
            reported("BerriAI/litellm#9128", "2025-03-11", "performanceConfig"),
            reported("BerriAI/litellm#14021", "2025-08", "performanceConfig"),
        ),
        _NOVA,
    ),
    Rule(
        "nova_reasons_without_a_limit",
        "maxTokens is not set while Nova 2 reasons with a high effort",
        MODEL + "`maxTokens` must be unset when reasoningConfig type is 'enabled' and maxReasoningEffort is 'high'. "
        "Please consult our documentation at https://docs.aws.amazon.com/nova/latest/userguide",
        fields.limits_beside_high_reasoning,
        (
            reported("UKGovernmentBEIS/inspect_ai#3767", "2026-04", "low and medium accept it"),
            recorded("vercel/ai, its fixtures", "2026-07", "Nova 2 Lite"),
        ),
        Models(only=("amazon.nova-2*",)),
    ),
    Rule(
        "nova_results_have_no_files_in_s3",
        "the result of a tool for Nova has no document and no video that is in S3",
        MODEL + "Malformed input request: #/messages/{n}/content/{m}: extraneous key [toolResult] is not permitted, "
        "please reformat your input and try again.",
        media.results_with_files_in_s3,
        (recorded(MULTIMODAL, "2025-12", "Nova 2 Lite"),),
        _NOVA,
    ),
    Rule(
        "nova_tools_have_no_cache_point",
        "no cache point stands among the tools for Nova",
        MODEL + "Malformed input request: #/toolConfig/tools/{k}: extraneous key [cachePoint] is not permitted, please "
        "reformat your input and try again.",
        caching.points_among_tools,
        (
            reported("strands-agents/harness-sdk#449", "2025-07-14", "Nova Premier"),
            reported("danny-avila/LibreChat#13838", "2026-06-18"),
            reported("NousResearch/hermes-agent#97281", "2026-08-28", "Nova Pro"),
        ),
        _NOVA,
    ),
    Rule(
        "nova_caches_no_results",
        "a cache point for Nova does not come right after the result of a tool",
        MODEL + "Malformed input request: #/messages/{n}/content/{m}: extraneous key [cachePoint] is not permitted, "
        "please reformat your input and try again.",
        caching.points_after_a_result,
        (
            reported("aws-samples/bedrock-engineer#71", "2025-04-17"),
            reported("earendil-works/pi#2053", "2026-03-11", "Nova Pro"),
            reported("zeroclaw-labs/zeroclaw#8720", "2026-07-04", "Nova 2 Lite"),
        ),
        _NOVA,
        remark="the first thread says that other places are accepted, the others quote the message",
    ),
    Rule(
        "nova_caches_for_five_minutes",
        "a cache point for Nova does not last an hour",
        "Extended TTL prompt caching is only supported for Anthropic models",
        caching.long_times,
        (
            reported("earendil-works/pi#1570", "2026-02-20"),
            reported("timothy-agent/timothy#755", "2026-09-17", "Nova 2 Lite"),
        ),
        Models(only=("amazon.*",), lacking="hourly cache"),
    ),
    Rule(
        "nova_schemas_define_nothing",
        "a tool's schema for Nova 1 has no definitions",
        MODEL + "Malformed input request: #/toolConfig/tools/{n}/toolSpec/inputSchema/json: extraneous key [{key}] is "
        "not permitted, please reformat your input and try again.",
        tools.with_definitions,
        (
            reported("lastmile-ai/mcp-agent#126", "2025-04-09"),
            reported("zed-industries/zed#31815", "2025-05-31", "Nova Premier"),
        ),
        Models(only=("amazon.nova-*-v1*",)),
        against=(recorded("pydantic-ai and others, with keywords that were refused with it", ""),),
        remark="additionalProperties, which was refused beside it, is accepted in newer recordings",
        verdict="note",
    ),
    Rule(
        "nova_tools_have_no_hyphens",
        "the name of a tool for Nova has no hyphen",
        MODEL
        + "Model produced invalid sequence as part of ToolUse. Please refer to the model tool use troubleshooting "
        "guide.",
        tools.names_with_hyphens,
        (reported("SEMOSS/Semoss#2892", "2026-08-13"),),
        _NOVA,
        remark="the request is accepted; the answer fails when Nova calls the tool",
        verdict="note",
    ),
    Rule(
        "nova_images_are_images",
        "an image for Nova has the format that its block names",
        MODEL + "detected file MIME type {found} does not match the expected type image/{said}",
        media.of_another_format(media.media_type_of),
        (coded("a client that sorts Bedrock's errors", "2026-11"),),
        _NOVA,
        framed=True,
    ),
)
