"""What single families of models refuse, through Bedrock: `only` names them, as their sources do."""

from __future__ import annotations

from typing import Final

from converse_harness.rules import claude, conversation, models, tools
from converse_harness.rules.rule import Claude, Models, Rule

_MODEL: Final = "The model returned the following errors: "
_FIELD: Final = "This model doesn't support the {} field. Remove {} and try again."
_BLOCK: Final = (
    "This model doesn't support the {} content block that you provided. Update the content block and try again."
)
_MULTIMODAL: Final = "recorded: pydantic-ai, test_multimodal_tool_returns"
_PROBED: Final = "a probe of some 70 models on 2026-10-10, in public source code"

_CLAUDE: Final = Models(only=(Claude(),))
_CLAUDE_4_ON: Final = Models(only=(Claude(since=(4,)),))
_CLAUDE_4_7_ON: Final = Models(only=(Claude(since=(4, 7)),))
_LLAMA: Final = ("meta.llama3*", "meta.llama4*")
_OLD_MISTRAL: Final = (
    "mistral.mistral-7b*",
    "mistral.mistral-large-24*",
    "mistral.mixtral*",
    "mistral.pixtral*",
)
_OPENAI: Final = ("openai.gpt-oss*",)
_TEXT_ONLY: Final = (
    "amazon.nova-micro*",
    "deepseek.v3*",
    "minimax.*",
    "mistral.devstral*",
    "mistral.voxtral*",
    "moonshot.kimi-k2-thinking",
    "openai.gpt-oss*",
    "qwen.qwen3-235b*",
    "qwen.qwen3-32b*",
    "qwen.qwen3-coder*",
    "zai.glm-4.7*",
    "zai.glm-5*",
)

PROFILES: Final = (
    Rule(
        "claude_is_given_texts",
        "a text that Claude is given is not empty",
        _MODEL + "messages: text content blocks must be non-empty",
        conversation.empty_texts,
        "NousResearch/hermes-agent#55092, NousResearch/hermes-agent#60628",
        _CLAUDE_4_ON,
    ),
    Rule(
        "claude_is_not_given_whitespace",
        "a message to Claude with texts has more in them than whitespace",
        _MODEL + "messages: text content blocks must contain non-whitespace text",
        conversation.messages_of_whitespace,
        "NousResearch/hermes-agent#63983, NousResearch/hermes-agent#64858; beside another text it was accepted: "
        "recorded, pydantic-ai, test_bedrock_cache_write_and_read",
        _CLAUDE_4_ON,
    ),
    Rule(
        "claude_is_not_prefilled",
        "a conversation with Claude from 4.6 on ends with a message of the user",
        _MODEL
        + "This model does not support assistant message prefill. The conversation must end with a user message.",
        conversation.ends_with_the_assistant,
        "anomalyco/opencode#29760, NousResearch/hermes-agent#105780; that 4.5 accepts it says ericc-ch/copilot-api#261",
        Models(only=(Claude(since=(4, 6)),)),
    ),
    Rule(
        "llama_is_not_prefilled",
        "a conversation with Llama ends with a message of the user",
        "The model that you are using requires the last turn in the conversation to be a user message. Add a user "
        "message to the conversation and try again.",
        conversation.ends_with_the_assistant,
        "i-am-bee/beeai-framework#753",
        Models(only=("meta.llama3*",)),
    ),
    Rule(
        "claude_thoughts_are_signed",
        "what Claude thought is given back with its signature",
        _MODEL + "messages.{n}.content.{m}.thinking.signature: Field required",
        claude.thoughts_without_signature,
        "run-llama/llama_index#20851",
        _CLAUDE,
    ),
    Rule(
        "claude_thinks_as_it_can",
        "Claude from 4.7 on thinks adaptively",
        _MODEL + '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        claude.thinking("enabled"),
        "earendil-works/pi#7081, earendil-works/pi#6212",
        _CLAUDE_4_7_ON,
    ),
    Rule(
        "claude_cannot_adapt_yet",
        "Claude before 4.6 does not think adaptively",
        _MODEL + "adaptive thinking is not supported on this model",
        claude.thinking("adaptive"),
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
        _MODEL + "Thinking may not be enabled when tool_choice forces tool use.",
        claude.thinking_with_a_forced_tool,
        "vercel/ai#17729, langchain-ai/langchain-aws#925, strands-agents/sdk-typescript#798",
        _CLAUDE,
    ),
    Rule(
        "claude_thinks_at_temperature_one",
        "the temperature is 1 while Claude thinks",
        _MODEL + "`temperature` may only be set to 1 when thinking is enabled.",
        claude.thinking_with_a_temperature,
        "workglow-dev/workglow#746",
        _CLAUDE,
    ),
    Rule(
        "claude_may_think_enough",
        "Claude may think 1,024 tokens at least",
        _MODEL + "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        claude.small_budgets,
        "danny-avila/LibreChat#8346",
        _CLAUDE,
    ),
    Rule(
        "claude_may_answer_more_than_think",
        "maxTokens is more than Claude may think",
        _MODEL + "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        claude.budgets_beyond_the_answer,
        "vercel/ai#7927",
        _CLAUDE,
    ),
    Rule(
        "claude_has_no_temperature",
        "Claude from 4.7 on is given no temperature",
        _MODEL + "`temperature` is deprecated for this model.",
        models.inference("temperature"),
        "cline/cline#10572, NousResearch/hermes-agent#36151, promptfoo/promptfoo#10307",
        _CLAUDE_4_7_ON,
    ),
    Rule(
        "claude_has_one_way_to_choose",
        "Claude from 4.1 on is given a temperature or topP",
        _MODEL + "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        claude.temperature_and_top_p,
        "aws-samples/bedrock-access-gateway#191, lobehub/lobehub#9523, open-webui/pipelines#546",
        Models(only=(Claude(since=(4, 1), before=(4, 7)),)),
    ),
    Rule(
        "claude_has_few_cache_points",
        "Claude is given four cache points at most",
        _MODEL + "A maximum of 4 blocks with cache_control may be provided. Found {count}.",
        claude.too_many_cache_points,
        "MillionOnMars/bike4mind#2208; that the prefix is there is thought",
        _CLAUDE,
    ),
    Rule(
        "claude_sees_no_videos",
        "Claude is shown no video",
        _BLOCK.format("video"),
        models.any_of("video"),
        _MULTIMODAL,
        _CLAUDE,
    ),
    Rule(
        "claude_is_given_its_images",
        "an image for Claude is in the request, not in S3",
        _FIELD.format("s3Uri", "s3Uri"),
        models.images_in_s3,
        _MULTIMODAL,
        _CLAUDE,
    ),
    Rule(
        "claude_is_given_its_documents",
        "a document in a message for Claude is in the request, not in S3",
        _MODEL + "messages.{n}.content.{m}.document.source.type: Field required",
        models.documents_in_s3,
        f"{_MULTIMODAL}; strands-agents/harness-sdk#3610",
        _CLAUDE,
    ),
    Rule(
        "nova_results_have_no_files_in_s3",
        "the result of a tool for Nova has no document and no video that is in S3",
        _MODEL + "Malformed input request: #/messages/{n}/content/{m}: extraneous key [toolResult] is not permitted, "
        "please reformat your input and try again.",
        models.results_with_files_in_s3,
        _MULTIMODAL,
        Models(only=("amazon.nova*",)),
    ),
    Rule(
        "llama_and_mistral_speak_or_use_a_tool",
        "a message to Llama or to an older Mistral has texts or tools",
        "messages.{n}.content: Conversation blocks and tool use blocks cannot be provided in the same turn.",
        tools.texts_beside_uses,
        "langchain-ai/langchain-aws#1118, quarkiverse/quarkus-langchain4j#1983",
        Models(only=(*_LLAMA, "mistral.mistral-large-24*")),
    ),
    Rule(
        "llama_and_mistral_speak_or_have_results",
        "a message to Llama or to an older Mistral has results of tools or something else",
        "messages.{n}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        tools.blocks_beside_results,
        "browser-use/browser-use#710, strands-agents/harness-sdk#1223, pydantic/pydantic-ai#6098",
        Models(only=(*_LLAMA, "mistral.mistral-large-24*", "mistral.pixtral*")),
    ),
    Rule(
        "some_stream_no_tools",
        "tools are offered to Llama, older Mistral and DeepSeek R1 by Converse only",
        "This model doesn't support tool use in streaming mode.",
        tools.offered("ConverseStream"),
        f"earendil-works/pi#3739, n8n-io/n8n#14206, danny-avila/LibreChat#6351; {_PROBED}",
        Models(only=(*_LLAMA, *_OLD_MISTRAL, "deepseek.r1*")),
    ),
    Rule(
        "some_use_no_tools",
        "no tools are offered to DeepSeek R1, Llama 3 and Titan",
        "This model doesn't support tool use.",
        tools.offered("Converse"),
        "langchain-ai/langchain-aws#447; public source code",
        Models(only=("deepseek.r1*", "meta.llama3-8b*", "meta.llama3-70b*", "amazon.titan-text*")),
    ),
    Rule(
        "llama_is_not_forced_to_use_tools",
        "Llama is not told that it must use some tool",
        _FIELD.format("toolConfig.toolChoice.any", "toolConfig.toolChoice.any"),
        tools.choices("any"),
        "strands-agents/harness-sdk#1241",
        Models(only=_LLAMA),
    ),
    Rule(
        "some_are_not_forced_to_use_a_tool",
        "Llama and older Mistral are not told that they must use one tool",
        _FIELD.format("toolConfig.toolChoice.tool", "toolConfig.toolChoice.tool"),
        tools.choices("tool"),
        "public source code, of Mistral Large 2402 and Llama",
        Models(only=(*_LLAMA, "mistral.mistral-large-2402*")),
    ),
    Rule(
        "some_see_no_images",
        "models of texts are shown no image",
        _BLOCK.format("image"),
        models.any_of("image"),
        _PROBED,
        Models(only=_TEXT_ONLY),
    ),
    Rule(
        "some_have_no_stop_sequences",
        "Qwen3 235B and gpt-oss are given no stop sequences",
        _FIELD.format("stopSequences", "stopSequences"),
        models.inference("stopSequences"),
        "langgenius/dify-official-plugins#1767, crewAIInc/crewAI#3317",
        Models(only=("qwen.qwen3-235b*", *_OPENAI)),
    ),
    Rule(
        "some_have_no_system_prompt",
        "Mistral 7B and Titan are given no system prompt",
        "This model doesn't support system messages. Try again without a system message or use a model that supports "
        "system messages.",
        models.system_texts,
        "public source code, of Mistral 7B on 2026-10-01; AWS documents it of Titan",
        Models(only=("mistral.mistral-7b*", "mistral.mixtral*", "amazon.titan-text*")),
    ),
    Rule(
        "writer_results_have_no_status",
        "the result of a tool for Writer says no status",
        _FIELD.format("status", "status"),
        models.statuses,
        "pydantic-ai, its profile of Bedrock's models",
        Models(only=("writer.palmyra*",)),
    ),
    Rule(
        "deepseek_is_not_given_thoughts",
        "what DeepSeek R1 thought is not given back",
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
        conversation.any_reasoning,
        "langchain-ai/langchain-aws#401",
        Models(only=("deepseek.r1*",)),
    ),
)
