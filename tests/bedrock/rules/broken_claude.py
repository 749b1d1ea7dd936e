"""For each of Claude's rules a request that breaks it and no other: where that is, and what Bedrock says."""

from __future__ import annotations

from tests.bedrock.rules.asking import (
    CACHE_POINT,
    PREFIX,
    S3,
    SONNET,
    TEXT,
    THOUGHT,
    UNSIGNED,
    VIDEO,
    Broken,
    Json,
    assistant,
    config,
    document,
    result,
    thinking,
    use,
    user,
)

ALTERNATE = (
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
    "user and assistant roles and try again."
)
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
ADAPTIVE = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
    "to control thinking behavior."
)
MAX_TOKENS = (
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
)
THINK_FIRST = (
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is "
    "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
    "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
    "requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
TOP_P = (
    "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode. Please "
    "consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    "#important-considerations-when-using-extended-thinking"
)

LONG: Json = {"text": "a" * 999_999 + "é"}
"""A text of 1,000,001 bytes."""

BROKEN: dict[str, Broken] = {
    "claude_fields_are_set_once": Broken(
        "additionalModelRequestFields.tool_choice.type",
        "The additional field tool_choice/type conflicts with the existing field toolConfig.toolChoice.auto. Remove "
        "tool_choice/type and try again.",
        None,
        "global.anthropic.claude-sonnet-4-6",
        body={**config(auto={}), "additionalModelRequestFields": {"tool_choice": {"type": "auto"}}},
    ),
    "claude_has_no_other_fields": Broken(
        "additionalModelRequestFields.reasoningConfig",
        PREFIX + "reasoningConfig: Extra inputs are not permitted",
        None,
        SONNET,
        body={"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled"}}},
    ),
    "claude_reads_nine_megabytes": Broken(
        "messages",
        PREFIX + "too many total text bytes: 9000009 > 9000000",
        [*[user(LONG), assistant(LONG)] * 4, user(LONG)],
        SONNET,
    ),
    "some_claudes_always_think": Broken(
        "additionalModelRequestFields.thinking.type",
        PREFIX + '"thinking.type.disabled" is not supported for this model.',
        None,
        "us.anthropic.claude-opus-5-5",
        body=thinking(type="disabled"),
    ),
    "opus_5_thinks_for_a_high_effort": Broken(
        "additionalModelRequestFields.output_config.effort",
        "output_config.effort 'max' is not supported when thinking is disabled on this model. Use effort 'high' or "
        "below, or enable thinking.",
        None,
        "us.anthropic.claude-opus-5",
        body={"additionalModelRequestFields": {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}},
    ),
    "some_claudes_are_not_forced_to_use_a_tool": Broken(
        "toolConfig.toolChoice.any",
        PREFIX + 'tool_choice: type "tool" and "any" are not supported for this model.',
        None,
        "us.anthropic.claude-opus-5-5",
        body=config(any={}),
    ),
    "claude_results_come_first": Broken(
        "messages[2].content[0].text",
        PREFIX + "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        [user(TEXT), assistant(use()), user(TEXT, result("a", TEXT))],
        SONNET,
        body=config(),
    ),
    "roles_alternate": Broken(
        "messages[1].role",
        ALTERNATE,
        [user(TEXT), user(TEXT)],
        model_id="us.anthropic.claude-3-haiku-20240307-v1:0",
    ),
    "claude_is_given_texts": Broken(
        "messages[0].content[1].text",
        PREFIX + "messages: text content blocks must be non-empty",
        [user(TEXT, {"text": ""})],
        SONNET,
    ),
    "claude_results_have_texts": Broken(
        "messages[2].content[0].toolResult.content[0].text",
        PREFIX + "messages: text content blocks must be non-empty",
        [user(TEXT), assistant(use()), user(result("a", {"text": ""}))],
        SONNET,
        body=config(),
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
    "claude_says_more_than_it_thinks": Broken(
        "messages[1].content",
        PREFIX + PREFILL,
        [user(TEXT), assistant(THOUGHT), user(TEXT)],
        "global.anthropic.claude-sonnet-5",
    ),
    "claude_thoughts_are_signed": Broken(
        "messages[1].content[0].reasoningContent.reasoningText.signature",
        PREFIX + "messages.1.content.0.thinking.signature: Field required",
        [user(TEXT), assistant(UNSIGNED, TEXT), user(TEXT)],
        SONNET,
    ),
    "claude_thought_before_it_used_tools": Broken(
        "messages[1].content[0]",
        PREFIX + THINK_FIRST,
        [user(TEXT), assistant(use()), user(result("a", TEXT))],
        SONNET,
        body={**thinking(), **config()},
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
    "claude_3_thinks_without_top_p": Broken(
        "inferenceConfig.topP",
        PREFIX + "top_p must be unset when thinking is enabled.",
        None,
        "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
        body={**thinking(), "inferenceConfig": {"topP": 1}},
    ),
    "claude_4_6_thinks_with_a_high_top_p": Broken(
        "inferenceConfig.topP",
        PREFIX + TOP_P,
        None,
        "us.anthropic.claude-sonnet-4-6",
        body={**thinking(type="adaptive"), "inferenceConfig": {"topP": 0.94}},
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
    "claude_caches_no_file": Broken(
        "messages[0].content[2].cachePoint",
        PREFIX + "messages.0.content.2.type: Field required",
        [user(TEXT, document(), CACHE_POINT)],
        SONNET,
    ),
    "claude_results_stand_without_files": Broken(
        "messages[2].content",
        PREFIX + "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        [user(TEXT), assistant(use(), use("b")), user(result("a", TEXT), result("b", TEXT), TEXT, document())],
        SONNET,
        body=config(),
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
}
