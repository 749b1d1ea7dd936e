"""What Claude refuses: thinking, what goes with that and what must come back, caching, sampling, tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from converse_harness.bedrock.rules import conversation, models
from converse_harness.bedrock.rules.conversation import at
from converse_harness.bedrock.rules.rule import (
    MODEL,
    MULTIMODAL,
    Claude,
    Models,
    Rule,
    RuleRequest,
    RuleViolation,
    no_block,
    no_field,
)

_CACHE_POINTS: Final = 4

_LEAST_BUDGET: Final = 1024

_LEAST_TOP_P: Final = 0.95
"""What Claude from 4.6 on may be left to choose from while it thinks."""

_CALLED: Final = {"text": "text", "toolUse": "tool_use"}
"""What Anthropic calls content blocks."""


def _thinking_with_a_forced_tool(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude is to think, and must use a tool."""
    choice = asked.tool_config.get("toolChoice", {})
    if asked.thinking.get("type") == "enabled" and ("any" in choice or "tool" in choice):
        yield RuleViolation("toolConfig.toolChoice")


def _thinking_with_a_temperature(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude is to think at another temperature than 1."""
    temperature = asked.body.get("inferenceConfig", {}).get("temperature", 1)
    if asked.thinking.get("type") == "enabled" and temperature != 1:
        yield RuleViolation("inferenceConfig.temperature")


def _small_budgets(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude may think less than the least."""
    budget = asked.thinking.get("budget_tokens")
    if isinstance(budget, int) and budget < _LEAST_BUDGET:
        yield RuleViolation("additionalModelRequestFields.thinking.budget_tokens")


def _budgets_beyond_the_answer(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude may think more tokens than it may answer."""
    budget = asked.thinking.get("budget_tokens")
    most = asked.body.get("inferenceConfig", {}).get("maxTokens")
    if isinstance(budget, int) and isinstance(most, int) and most <= budget:
        yield RuleViolation("inferenceConfig.maxTokens")


def _thinking_with_top_p(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude is to think, and to choose from the likeliest tokens only."""
    if asked.thinking.get("type") == "enabled" and "topP" in asked.body.get("inferenceConfig", {}):
        yield RuleViolation("inferenceConfig.topP")


def _thinking_with_a_low_top_p(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude is to think, and to choose from too few tokens."""
    top_p = asked.body.get("inferenceConfig", {}).get("topP", 1)
    if asked.thinking.get("type") in ("enabled", "adaptive") and top_p < _LEAST_TOP_P:
        yield RuleViolation("inferenceConfig.topP")


def _tools_used_without_a_thought(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude is to think, and what it thought before it used the tools whose results come last is not given back."""
    if asked.thinking.get("type") != "enabled":
        return
    with_results = {n for n, _, _ in asked.blocks("toolResult")}
    last = len(asked.messages) - 1
    uses = [n - 1 for n in takewhile(with_results.__contains__, range(last, 0, -2))]
    if uses and not any("reasoningContent" in _block(asked, n, 0) for n in uses):
        for kind, called in _CALLED.items():
            if kind in _block(asked, last - 1, 0):
                yield RuleViolation(at(last - 1, 0), {"n": last - 1, "found": called})


def _files_beside_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has the result of a tool and a document that Claude gets as text."""
    files = {n for n, _, document in asked.blocks("document") if document.get("format", "pdf") != "pdf"}
    for n in sorted(files):
        ids = [result.get("toolUseId", "") for each, _, result in asked.blocks("toolResult") if each == n]
        if ids:
            yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(ids)})


def _nothing_but_thoughts(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Claude thought, and said nothing."""
    thought = {n for n, _, _ in asked.blocks("reasoningContent")}
    for n in sorted(thought):
        if all("reasoningContent" in block for block in asked.messages[n]["content"]):
            yield RuleViolation(at(n, None, "content"))


def _cache_points_after_a_file(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A cache point comes right after a document that Claude gets as text."""
    for n, m, _ in asked.blocks("cachePoint"):
        if m and _block(asked, n, m - 1).get("document", {}).get("format", "pdf") != "pdf":
            yield RuleViolation(at(n, m, "cachePoint"), {"n": n, "m": m})


def _block(asked: RuleRequest, n: int, m: int) -> Mapping[str, Any]:
    """A content block; an empty one where there is none."""
    content: Sequence[Mapping[str, Any]] = asked.messages[n].get("content", ())
    return content[m] if m < len(content) else {}


def _thoughts_without_signature(asked: RuleRequest) -> Iterator[RuleViolation]:
    """What Claude thought before is given back without the signature that came with it."""
    for n, m, thought in asked.blocks("reasoningContent"):
        if "reasoningText" in thought and not thought["reasoningText"].get("signature"):
            yield RuleViolation(at(n, m, "reasoningContent.reasoningText.signature"), {"n": n, "m": m})


def _too_many_cache_points(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The request has more cache points than Claude takes."""
    places = list(_cache_points(asked))
    if len(places) > _CACHE_POINTS:
        yield RuleViolation(places[_CACHE_POINTS], {"count": len(places)})


def _cache_points(asked: RuleRequest) -> Iterator[str]:
    for k, tool in enumerate(asked.tool_config.get("tools", ())):
        if "cachePoint" in tool:
            yield f"toolConfig.tools[{k}].cachePoint"
    for k, block in enumerate(asked.body.get("system", ())):
        if "cachePoint" in block:
            yield f"system[{k}].cachePoint"
    for n, m, _ in asked.blocks("cachePoint"):
        yield at(n, m, "cachePoint")


def _temperature_and_top_p(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Both ways to choose the next token are given."""
    if {"temperature", "topP"} <= asked.body.get("inferenceConfig", {}).keys():
        yield RuleViolation("inferenceConfig.topP")


def _thinking(kind: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """Claude is to think in this way."""

    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        if asked.thinking.get("type") == kind:
            yield RuleViolation("additionalModelRequestFields.thinking.type")

    return find


_CLAUDE: Final = Models(only=(Claude(),))
_CLAUDE_4_ON: Final = Models(only=(Claude(since=(4,)),))
_CLAUDE_4_7_ON: Final = Models(only=(Claude(since=(4, 7)),))

_PREFILL: Final = (
    "This model does not support assistant message prefill. The conversation must end with a user message."
)

CLAUDE: Final = (
    Rule(
        "claude_is_invoked_by_a_profile",
        "the model id of Claude from 3.7 on is an inference profile, such as us.anthropic.claude-sonnet-5, or an ARN",
        "Invocation of model ID {model_id} with on-demand throughput isn’t supported. Retry your request with the ID "
        "or ARN of an inference profile that contains this model.",
        models.ids_of_no_profile,
        "FlowiseAI/Flowise#4253, open-webui/pipelines#490 (3.7); of Sonnet 5 public source code; that no region has "
        "those between on demand is thought",
        Models(only=(Claude(since=(3, 7)),)),
        strict=True,
    ),
    Rule(
        "roles_alternate",
        "messages of user and assistant to Claude before 4 alternate",
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
        "user and assistant roles and try again.",
        conversation.repeats_a_role,
        "langchain-ai/langchainjs#6724, cline/cline#431 (Claude 3); nobody reports it after March 2025, and other "
        "models accept it: recorded of Nova Lite (0xPlaygrounds/rig, 2026-07-10) and Titan (openllmetry), "
        "strands-agents' live tests of Claude Sonnet 4.6",
        Models(only=(Claude(before=(4,)),)),
        strict=True,
    ),
    Rule(
        "claude_is_given_texts",
        "a text that Claude is given is not empty",
        MODEL + "messages: text content blocks must be non-empty",
        conversation.empty_texts,
        "NousResearch/hermes-agent#55092, NousResearch/hermes-agent#60628",
        _CLAUDE_4_ON,
    ),
    Rule(
        "claude_is_not_given_whitespace",
        "a message to Claude with texts has more in them than whitespace",
        MODEL + "messages: text content blocks must contain non-whitespace text",
        conversation.messages_of_whitespace,
        "NousResearch/hermes-agent#63983, NousResearch/hermes-agent#64858; beside another text it was accepted: "
        "recorded, pydantic-ai, test_bedrock_cache_write_and_read",
        _CLAUDE_4_ON,
    ),
    Rule(
        "claude_is_not_prefilled",
        "a conversation with Claude from 4.6 on ends with a message of the user",
        MODEL + _PREFILL,
        conversation.ends_with_the_assistant,
        "anomalyco/opencode#29760, NousResearch/hermes-agent#105780; that 4.5 accepts it says ericc-ch/copilot-api#261",
        Models(only=(Claude(since=(4, 6)),)),
    ),
    Rule(
        "claude_says_more_than_it_thinks",
        "what Claude from 5 on is said to have answered is more than thoughts",
        MODEL + _PREFILL,
        _nothing_but_thoughts,
        "NousResearch/hermes-agent#105780, which says that 4.6 accepts it",
        Models(only=(Claude(since=(5,)),)),
    ),
    Rule(
        "claude_thoughts_are_signed",
        "what Claude thought is given back with its signature",
        MODEL + "messages.{n}.content.{m}.thinking.signature: Field required",
        _thoughts_without_signature,
        "run-llama/llama_index#20851",
        _CLAUDE,
    ),
    Rule(
        "claude_thought_before_it_used_tools",
        "while Claude before 4.6 thinks, what it thought before it used the last tools is given back",
        MODEL + "messages.{n}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
        "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To "
        "avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        _tools_used_without_a_thought,
        "anomalyco/opencode#3077, langchain-ai/langchain-aws#844",
        Models(only=(Claude(before=(4, 6)),)),
    ),
    Rule(
        "claude_thinks_as_it_can",
        "Claude from 4.7 on thinks adaptively",
        MODEL + '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        _thinking("enabled"),
        "earendil-works/pi#7081, earendil-works/pi#6212",
        _CLAUDE_4_7_ON,
    ),
    Rule(
        "claude_cannot_adapt_yet",
        "Claude before 4.6 does not think adaptively",
        MODEL + "adaptive thinking is not supported on this model",
        _thinking("adaptive"),
        "pensarai/apex#887",
        Models(
            only=(
                "anthropic.claude-3*",
                "anthropic.claude-*-4-5*",
                "anthropic.claude-*-4-1*",
                "anthropic.claude-*-4-2*",
            )
        ),
    ),
    Rule(
        "claude_thinks_or_must_use_a_tool",
        "Claude is not forced to use a tool while it thinks",
        MODEL + "Thinking may not be enabled when tool_choice forces tool use.",
        _thinking_with_a_forced_tool,
        "vercel/ai#17729, langchain-ai/langchain-aws#925, strands-agents/sdk-typescript#798",
        _CLAUDE,
    ),
    Rule(
        "claude_thinks_at_temperature_one",
        "the temperature is 1 while Claude thinks",
        MODEL + "`temperature` may only be set to 1 when thinking is enabled.",
        _thinking_with_a_temperature,
        "workglow-dev/workglow#746",
        _CLAUDE,
    ),
    Rule(
        "claude_3_thinks_without_top_p",
        "Claude 3.7 is given no topP while it thinks",
        MODEL + "top_p must be unset when thinking is enabled.",
        _thinking_with_top_p,
        "n8n-io/n8n#14288, chatboxai/chatbox#2099",
        Models(only=(Claude(since=(3, 7), before=(4,)),)),
    ),
    Rule(
        "claude_4_6_thinks_with_a_high_top_p",
        "topP is 0.95 at least while Claude 4.6 thinks",
        MODEL + "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode. "
        "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        "#important-considerations-when-using-extended-thinking",
        _thinking_with_a_low_top_p,
        "tailcallhq/forgecode#3472",
        Models(only=(Claude(since=(4, 6), before=(4, 7)),)),
    ),
    Rule(
        "claude_may_think_enough",
        "Claude may think 1,024 tokens at least",
        MODEL + "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        _small_budgets,
        "danny-avila/LibreChat#8346",
        _CLAUDE,
    ),
    Rule(
        "claude_may_answer_more_than_think",
        "maxTokens is more than Claude may think",
        MODEL + "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        _budgets_beyond_the_answer,
        "vercel/ai#7927",
        _CLAUDE,
    ),
    Rule(
        "claude_has_no_temperature",
        "Claude from 4.7 on is given no temperature",
        MODEL + "`temperature` is deprecated for this model.",
        models.inference("temperature"),
        "cline/cline#10572, NousResearch/hermes-agent#36151, promptfoo/promptfoo#10307",
        _CLAUDE_4_7_ON,
    ),
    Rule(
        "claude_has_one_way_to_choose",
        "Claude from 4.1 on is given a temperature or topP",
        MODEL + "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        _temperature_and_top_p,
        "aws-samples/bedrock-access-gateway#191, lobehub/lobehub#9523, open-webui/pipelines#546",
        Models(only=(Claude(since=(4, 1), before=(4, 7)),)),
    ),
    Rule(
        "claude_has_few_cache_points",
        "Claude is given four cache points at most",
        MODEL + "A maximum of 4 blocks with cache_control may be provided. Found {count}.",
        _too_many_cache_points,
        "MillionOnMars/bike4mind#2208; that the prefix is there is thought",
        _CLAUDE,
    ),
    Rule(
        "claude_caches_no_file",
        "a cache point for Claude does not come right after a document that is no PDF",
        MODEL + "messages.{n}.content.{m}.type: Field required",
        _cache_points_after_a_file,
        "strands-agents/harness-sdk#1966, Boise-State-Development/agentcore-public-stack#668; the number of the block "
        "was seen as its own and as one more",
        _CLAUDE,
    ),
    Rule(
        "claude_results_stand_without_files",
        "a message to Claude with the result of a tool has no document but PDFs",
        MODEL + "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        _files_beside_results,
        "pydantic/pydantic-ai#3253, pydantic/pydantic-ai#6081",
        _CLAUDE,
    ),
    Rule(
        "claude_sees_no_videos",
        "Claude is shown no video",
        no_block("video"),
        models.any_of("video"),
        MULTIMODAL,
        _CLAUDE,
    ),
    Rule(
        "claude_is_given_its_images",
        "an image for Claude is in the request, not in S3",
        no_field("s3Uri"),
        models.images_in_s3,
        MULTIMODAL,
        _CLAUDE,
    ),
    Rule(
        "claude_is_given_its_documents",
        "a document in a message for Claude is in the request, not in S3",
        MODEL + "messages.{n}.content.{m}.document.source.type: Field required",
        models.documents_in_s3,
        f"{MULTIMODAL}; strands-agents/harness-sdk#3610",
        _CLAUDE,
    ),
)
