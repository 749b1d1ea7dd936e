"""Rules of Claude on Bedrock about messages, additional fields, thinking, sampling and cache points."""

from __future__ import annotations

from typing import Final

from converse_harness.bedrock.rules.finders import caching, conversation, fields, thinking
from converse_harness.bedrock.rules.request import in_blocks, in_request, in_results
from converse_harness.bedrock.rules.rule import (
    MODEL,
    Claude,
    Models,
    Rule,
    coded,
    documented,
    recorded,
    reported,
)

_CLAUDE: Final = Models(only=(Claude(),))
_CLAUDE_4_ON: Final = Models(only=(Claude(since=(4,)),))

_EMPTY: Final = MODEL + "messages: text content blocks must be non-empty"
_PREFILL: Final = (
    "This model does not support assistant message prefill. The conversation must end with a user message."
)

CLAUDE_TALK: Final = (
    Rule(
        "roles_alternate",
        "messages of user and assistant to Claude before 4 alternate",
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
        "user and assistant roles and try again.",
        conversation.repeats_a_role,
        (
            reported("langchain-ai/langchainjs#6724", "2024-09-10", "Claude 3 Sonnet"),
            reported("cline/cline#431", "2024-10-01", "Claude 3.5 Sonnet"),
            reported("microsoft/semantic-kernel#10277", "2025-01-23", "Claude 3.5 Sonnet"),
        ),
        Models(only=(Claude(before=(4,)),)),
        verdict="note",
        against=(
            reported("theopenco/llmgateway#3127", "", "Claude Opus 4.8"),
            recorded("0xPlaygrounds/rig", "2026-07-10", "Nova Lite"),
            recorded("openllmetry", "", "Titan"),
            recorded("crmne/ruby_llm, its bedrock cassettes", "2025-09-16", "Claude 3.5 Haiku"),
            recorded("crewAI, test_bedrock_mcp_tool_with_optional_fields_no_schema_errors", "2026-02-25", "3 Haiku"),
            reported("strands-agents/harness-sdk, its live tests", "", "Claude Sonnet 4.6"),
        ),
        remark="nobody reports it after March 2025",
    ),
    Rule(
        "claude_fields_are_set_once",
        "an additional field for Claude is not one that a member of the request sets as well",
        "The additional field {field} conflicts with the existing field {member}. Remove {field} and try again.",
        fields.fields_that_a_member_sets,
        (recorded("vercel/ai, its fixtures", "2026-07", "Sonnet 4.6, tool_choice/type"),),
        _CLAUDE,
        remark="the wording for other fields than tool_choice/type is thought to be the same",
    ),
    Rule(
        "claude_has_no_other_fields",
        "an additional field for Claude is not one that only models of other makers have",
        MODEL + "{name}: Extra inputs are not permitted",
        fields.fields_of_others,
        (reported("BerriAI/litellm#13825", "2025-08-20", "Sonnet 4, guardrails"),),
        _CLAUDE,
    ),
    Rule(
        "claude_reads_nine_megabytes",
        "the texts of the messages to Claude have 9,000,000 bytes at most",
        MODEL + "too many total text bytes: {size} > {most}",
        conversation.too_much_text,
        (recorded("crmne/ruby_llm, its bedrock cassettes", "2025-09", "Claude 3.5 Haiku"),),
        _CLAUDE,
    ),
    Rule(
        "claude_is_given_texts",
        "a text in a message to Claude is not empty",
        _EMPTY,
        in_blocks("text", lambda text: not text),
        (reported("Kilo-Org/kilocode#6757", "2026-03-08"),),
        _CLAUDE_4_ON,
    ),
    Rule(
        "claude_results_have_texts",
        "a text in a tool's result for Claude is not empty",
        _EMPTY,
        in_results("text", breaks=lambda text: not text),
        (coded("NousResearch/hermes-agent#55092", "2026-06-29"),),
        _CLAUDE_4_ON,
        against=(recorded("pydantic-ai, test_empty_tool_return[bedrock_claude]", "2026-02-11", "Sonnet 4.5"),),
        remark="the thread for it reads code, and shows no call",
        verdict="note",
    ),
    Rule(
        "claude_is_not_given_whitespace",
        "a message with texts for Claude has a text with more than whitespace",
        MODEL + "messages: text content blocks must contain non-whitespace text",
        conversation.messages_of_whitespace,
        (
            reported("NousResearch/hermes-agent#41985", "2026-06-08"),
            reported("NousResearch/hermes-agent#63983", "2026-07-13"),
            reported("NousResearch/hermes-agent#64858", "2026-07-15"),
        ),
        _CLAUDE_4_ON,
        remark="beside another text whitespace was accepted: recording pydantic-ai, test_bedrock_cache_write_and_read",
    ),
    Rule(
        "claude_is_not_prefilled",
        "a conversation with Claude from 4.6 on ends with a message of the user",
        MODEL + _PREFILL,
        conversation.ends_with_the_assistant,
        (
            reported("anomalyco/opencode#29760", "2026-05-28", "Opus 4.6"),
            reported("NousResearch/hermes-agent#105780", "2026-09-08", "Sonnet 5, Fable 5.1"),
        ),
        Models(only=(Claude(),), lacking="prefill"),
        remark="that 4.5 accepts it says ericc-ch/copilot-api#261",
    ),
    Rule(
        "claude_prefills_end_in_text",
        "a text that Claude before 4.6 continues does not end in whitespace",
        MODEL + "messages: final assistant content cannot end with trailing whitespace",
        conversation.prefills_that_end_in_whitespace,
        (
            reported("langchain-ai/langchain-aws#599", "2025-08-28", "by InvokeModel, and said of Converse"),
            reported("aws/aws-sdk-net#4015", "2025-09-20"),
        ),
        Models(only=(Claude(before=(4, 6)),)),
    ),
    Rule(
        "claude_says_more_than_it_thinks",
        "an earlier answer of Claude from 5 on has more than reasoning",
        MODEL + _PREFILL,
        thinking.nothing_but_thoughts,
        (reported("NousResearch/hermes-agent#105780", "2026-09-08", "Sonnet 5, Fable 5.1"),),
        Models(only=(Claude(since=(5,)),)),
        remark="the same thread says that 4.6 accepts it",
    ),
    Rule(
        "claude_thoughts_are_signed",
        "Claude's reasoning is sent back with its signature",
        MODEL + "messages.{n}.content.{m}.thinking.signature: Field required",
        in_blocks(
            "reasoningContent",
            lambda thought: "reasoningText" in thought and not thought["reasoningText"].get("signature"),
            ".reasoningText.signature",
        ),
        (
            reported("run-llama/llama_index#20851", "2026-03-02"),
            reported("egoist/chatwise-releases#1399", "2026-04-28", "Sonnet 4.6"),
        ),
        Models(only=(Claude(since=(3, 7)),)),
        remark="earlier versions have their own rule: some_are_given_no_thoughts",
    ),
    Rule(
        "claude_thought_before_it_used_tools",
        "while Claude before 4.6 thinks, its reasoning before its last tool uses is sent back",
        MODEL + "messages.{n}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
        "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To "
        "avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        thinking.tools_used_without_a_thought,
        (
            reported("aws-samples/bedrock-engineer#43", "2025-03-15"),
            reported("anomalyco/opencode#3077", "2025-10", "4.5"),
            reported("langchain-ai/langchain-aws#844", "2026-01-22", "Sonnet 4"),
        ),
        Models(only=(Claude(before=(4, 6)),)),
    ),
    Rule(
        "claude_thinks_as_it_can",
        "Claude from 4.7 on thinks adaptively",
        MODEL + '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        thinking.while_thinking("additionalModelRequestFields.thinking.type", ["enabled"]),
        (
            reported("earendil-works/pi#6212", "2026-07-01", "Sonnet 5"),
            reported("earendil-works/pi#7081", "2026-07-24", "Opus 5"),
        ),
        Models(only=(Claude(),), lacking="thinking budget"),
        remark="4.6 takes a budget (pydantic/pydantic-ai#5326, 2026-05-07)",
    ),
    Rule(
        "claude_cannot_adapt_yet",
        "Claude before 4.6 does not think adaptively",
        MODEL + "adaptive thinking is not supported on this model",
        thinking.while_thinking("additionalModelRequestFields.thinking.type", ["adaptive"]),
        (reported("pensarai/apex#887", "2026-07-01", "Haiku 4.5"),),
        Models(only=(Claude(),), lacking="adaptive thinking"),
        remark="Sonnet 4.5 said it in other words in March 2026 (strands-agents/harness-sdk#1856)",
    ),
    Rule(
        "some_claudes_always_think",
        "thinking is not disabled for Claude Opus 5.5",
        MODEL + '"thinking.type.disabled" is not supported for this model.',
        thinking.while_thinking("additionalModelRequestFields.thinking.type", ["disabled"]),
        (reported("ax-llm/ax#667", "2026-09-23"), reported("stdapi-ai/stdapi.ai#284", "2026-09")),
        Models(lacking="disabled thinking"),
        remark="that the prefix is there is thought; Opus 5 accepts it",
    ),
    Rule(
        "opus_5_thinks_for_a_high_effort",
        "the effort of Claude Opus 5 is not above high while thinking is disabled",
        "output_config.effort '{effort}' is not supported when thinking is disabled on this model. Use effort 'high' "
        "or below, or enable thinking.",
        thinking.high_efforts_without_thinking,
        (
            reported("anthropics/claude-code#81084", "2026-07", "Anthropic's API"),
            reported("anthropics/claude-code#82389", "2026-07", "Anthropic's API"),
        ),
        Models(only=("anthropic.claude-opus-5",)),
        remark="not seen on Bedrock",
        verdict="note",
    ),
    Rule(
        "claude_thinks_or_must_use_a_tool",
        "a tool is not forced while Claude thinks",
        MODEL + "Thinking may not be enabled when tool_choice forces tool use.",
        thinking.while_thinking("toolConfig.toolChoice", ["enabled"], thinking.has_a_forced_tool),
        (
            reported("langchain-ai/langchain-aws#925", "2026-03-13", "Sonnet 4.5"),
            reported("strands-agents/sdk-typescript#798", "2026-04-08"),
            reported("vercel/ai#17729", "2026-07-22", "Opus 4.5, Sonnet 4, Haiku 4.5"),
        ),
        _CLAUDE,
        remark="an adaptive Claude from 4.8 on may be forced (langchain-ai/langchain-aws#1141, 2026-07-02)",
    ),
    Rule(
        "claude_adapts_or_must_use_a_tool",
        "Claude before 4.8 is not forced to use a tool while it thinks adaptively",
        MODEL + "Thinking may not be enabled when tool_choice forces tool use.",
        thinking.while_thinking("toolConfig.toolChoice", ["adaptive"], thinking.has_a_forced_tool),
        (reported("langchain-ai/langchain-aws#1151", "2026-07-07", "up to 4.7"),),
        Models(only=(Claude(since=(4, 6), before=(4, 8)),)),
        remark="Opus 4.8, Sonnet 5 and Fable 5 may be forced (langchain-ai/langchain-aws#1141, 2026-07-02)",
    ),
    Rule(
        "claude_thinks_at_temperature_one",
        "the temperature is 1 while Claude thinks",
        MODEL + "`temperature` may only be set to 1 when thinking is enabled.",
        thinking.while_thinking(
            "inferenceConfig.temperature", ["enabled"], lambda asked: asked.inference.get("temperature", 1) != 1
        ),
        (
            reported("Aider-AI/aider#3720", "2025-04-03", "3.7 Sonnet"),
            reported("workglow-dev/workglow#746", ""),
        ),
        _CLAUDE,
    ),
    Rule(
        "claude_3_thinks_without_top_p",
        "Claude 3.7 is given no topP while it thinks",
        MODEL + "top_p must be unset when thinking is enabled.",
        thinking.while_thinking("inferenceConfig.topP", ["enabled"], lambda asked: "topP" in asked.inference),
        (
            reported("chatboxai/chatbox#2099", "2025-03-02", "3.7"),
            reported("n8n-io/n8n#14288", "2025-03-31", "3.7 Sonnet"),
        ),
        Models(only=(Claude(since=(3, 7), before=(4,)),)),
    ),
    Rule(
        "claude_4_6_thinks_with_a_high_top_p",
        "topP is at least 0.95 while Claude 4.6 thinks",
        MODEL + "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode. "
        "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        "#important-considerations-when-using-extended-thinking",
        thinking.while_thinking(
            "inferenceConfig.topP", ["enabled", "adaptive"], lambda asked: asked.inference.get("topP", 1) < 0.95
        ),
        (reported("tailcallhq/forgecode#3472", "2026-06-08", "Opus 4.6, Sonnet 4.6"),),
        Models(only=(Claude(since=(4, 6), before=(4, 7)),)),
    ),
    Rule(
        "claude_may_think_enough",
        "Claude's budget for thinking is at least 1,024 tokens",
        MODEL + "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        in_request(
            "additionalModelRequestFields.thinking.budget_tokens",
            thinking.has_a_small_budget,
            "additionalModelRequestFields",
        ),
        (
            reported("danny-avila/LibreChat#8346", "2025-07-09", "3.7 Sonnet"),
            reported("BerriAI/litellm#21306", "2026-02-16"),
        ),
        _CLAUDE,
    ),
    Rule(
        "claude_may_answer_more_than_think",
        "maxTokens is larger than Claude's budget for thinking",
        MODEL + "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        in_request(
            "inferenceConfig.maxTokens", thinking.has_a_budget_beyond_the_answer, "additionalModelRequestFields"
        ),
        (reported("vercel/ai#7927", "2025-08-09", "Opus 4.1"),),
        _CLAUDE,
    ),
    Rule(
        "claude_has_no_temperature",
        "Claude from 4.7 on gets no temperature, except 1 while it thinks adaptively",
        MODEL + "`temperature` is deprecated for this model.",
        in_request("inferenceConfig.temperature", thinking.has_a_temperature, "inferenceConfig"),
        (
            reported("cline/cline#10572", "2026-05-06", "Opus 4.7"),
            reported("NousResearch/hermes-agent#36151", "2026-06-01", "Opus 4.7, Opus 4.8"),
            reported("DayuanJiang/next-ai-draw-io#861", "2026-06-06", "Opus 4.7, Opus 4.8"),
        ),
        Models(only=(Claude(),), lacking="temperature"),
        remark="temperature 1 beside adaptive thinking was accepted of Opus 4.7 and 4.8, by InvokeModel "
        "(logancyang/obsidian-copilot#2600, 2026-06-12)",
    ),
    Rule(
        "claude_has_no_top_p",
        "Claude from 4.7 on gets neither topP nor top_k",
        MODEL + "`{name}` is deprecated for this model.",
        thinking.other_samplings,
        (
            reported("NousResearch/hermes-agent#38717", "2026-06-04", "Opus 4.7, Opus 4.8"),
            reported("router-for-me/CLIProxyAPI#4383", "2026-07-17", "Opus 4.7, Opus 4.8, Fable 5, not Bedrock"),
            reported("mnfst/modelparams.dev#238", "2026-08-17", "Opus 4.8, not Bedrock, top_k as well"),
            documented("its model card of Opus 4.7", "2026-08"),
        ),
        Models(only=(Claude(),), lacking="temperature"),
        remark="the wording was seen at Anthropic's own API, and of the temperature at Bedrock",
    ),
    Rule(
        "claude_has_one_way_to_choose",
        "Claude from 4.1 on gets a temperature or topP, not both",
        MODEL + "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        in_request(
            "inferenceConfig.topP", lambda asked: {"temperature", "topP"} <= asked.inference.keys(), "inferenceConfig"
        ),
        (
            reported("BerriAI/litellm#15070", "2025-09-30"),
            reported("aws-samples/bedrock-access-gateway#191", "2025-10-16", "Haiku 4.5"),
            reported("aws-samples/bedrock-chat#979", "2025-11-25", "Opus 4.1"),
            reported("skydiscover-ai/skydiscover#15", "2026-03-10"),
        ),
        Models(only=(Claude(since=(4, 1), before=(4, 7)),)),
    ),
    Rule(
        "cache_points_follow_no_thought",
        "a cache point for Claude does not come right after reasoning",
        "Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again.",
        caching.points_after_a_thought,
        (
            reported("refly-ai/refly#1962", "2025-12-29"),
            reported("strands-agents/harness-sdk#1834", "2026-03-07", "Sonnet 4.6"),
            reported("0xPlaygrounds/rig#1673", "2026-04-27", "Sonnet 4.6, Opus 4.7"),
            reported("anomalyco/opencode#36517", "2026-07-12"),
            reported("anomalyco/opencode#49859", "2026-09-18"),
        ),
        _CLAUDE,
    ),
    Rule(
        "cache_points_follow_something",
        "a message to Claude does not begin with a cache point",
        "There is nothing available to cache. Please remove the invalid cache point and try again.",
        caching.points_after_nothing,
        (
            recorded("vercel/ai, its fixtures", "2026-07", "Sonnet 4.5, a message that is a cache point alone"),
            reported("strands-agents/harness-sdk#3677", "2026-08-07", "Sonnet 4.5"),
        ),
        _CLAUDE,
        remark="the thread quotes the first sentence",
    ),
    Rule(
        "claude_caches_ever_shorter",
        "a cache point of an hour for Claude does not come after one of five minutes, in tools, system, messages",
        MODEL
        + "{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control "
        "block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
        caching.growing_times,
        (
            reported("strands-agents/harness-sdk#2121", "2026-04-14"),
            reported("Portkey-AI/gateway#1762", "2026-08-11"),
            reported("strands-agents/harness-sdk#3758", "2026-08-11", "Sonnet 4.5"),
            reported(
                "strands-agents/harness-sdk#3858", "2026-08-17", "a point that does not say counts as five minutes"
            ),
        ),
        _CLAUDE,
    ),
    Rule(
        "claude_before_4_5_caches_for_five_minutes",
        "a cache point for Claude before 4.5 does not last an hour",
        MODEL + "{place}.cache_control.ttl: Extra inputs are not permitted",
        caching.long_times,
        (reported("earendil-works/pi#1570", "2026-02-20", "Opus 4, Opus 4.1, Sonnet 4, 3.7 Sonnet, 3.5"),),
        Models(only=(Claude(),), lacking="hourly cache"),
        remark="quoted without the place",
    ),
    Rule(
        "claude_has_few_cache_points",
        "Claude is given four cache points at most",
        MODEL + "A maximum of 4 blocks with cache_control may be provided. Found {count}.",
        caching.too_many_points,
        (reported("Bike4Mind/bike4mind#2208", "2026-08-28"),),
        _CLAUDE,
        remark="that the prefix is there is thought",
    ),
    Rule(
        "claude_caches_no_file",
        "a cache point for Claude does not come right after a document that is no PDF and has no citations",
        MODEL + "messages.{n}.content.{m}.type: Field required",
        caching.points_after_a_file,
        (
            reported("strands-agents/harness-sdk#1966", "2026-03-24"),
            reported("Boise-State-Development/agentcore-public-stack#668", "2026-07-17"),
            reported("aws/aws-sdk-java-v2#6277", "2026-08-05", "Sonnet 5"),
        ),
        _CLAUDE,
        remark="the number of the block was seen as its own and as one more; that documents with citations are taken "
        "says pydantic-ai's profile of Bedrock's models (2026-11)",
    ),
)
