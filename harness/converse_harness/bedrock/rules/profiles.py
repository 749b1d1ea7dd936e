"""What single families of models refuse, through Bedrock: `only` names them, as their sources do."""

from __future__ import annotations

from typing import Final

from converse_harness.bedrock.rules import conversation, models
from converse_harness.bedrock.rules.claude import CLAUDE
from converse_harness.bedrock.rules.rule import MODEL, MULTIMODAL, PROBED, Models, Rule, no_block, no_field

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

_OTHER_FAMILIES: Final = (
    Rule(
        "some_answers_are_limited",
        "maxTokens is no more than the model makes",
        "The maximum tokens you requested exceeds the model limit of {most}. Try again with a maximum tokens value "
        "that is lower than {most}.",
        models.too_many_tokens,
        "sigoden/aichat#813; the limits are public source code's, tried in 2026",
        Models(only=tuple(models.MOST_TOKENS)),
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
        "nova_results_have_no_files_in_s3",
        "the result of a tool for Nova has no document and no video that is in S3",
        MODEL + "Malformed input request: #/messages/{n}/content/{m}: extraneous key [toolResult] is not permitted, "
        "please reformat your input and try again.",
        models.results_with_files_in_s3,
        MULTIMODAL,
        Models(only=("amazon.nova*",)),
    ),
    Rule(
        "llama_and_mistral_speak_or_use_a_tool",
        "a message to Llama or to an older Mistral has texts or tools",
        "messages.{n}.content: Conversation blocks and tool use blocks cannot be provided in the same turn.",
        conversation.texts_beside_uses,
        "langchain-ai/langchain-aws#1118, quarkiverse/quarkus-langchain4j#1983",
        Models(only=(*_LLAMA, "mistral.mistral-large-24*")),
    ),
    Rule(
        "llama_and_mistral_speak_or_have_results",
        "a message to Llama or to an older Mistral has results of tools or something else",
        "messages.{n}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        conversation.blocks_beside_results,
        "browser-use/browser-use#710, strands-agents/harness-sdk#1223, pydantic/pydantic-ai#6098",
        Models(only=(*_LLAMA, "mistral.mistral-large-24*", "mistral.pixtral*")),
    ),
    Rule(
        "some_stream_no_tools",
        "tools are offered to Llama, older Mistral and DeepSeek R1 by Converse only",
        "This model doesn't support tool use in streaming mode.",
        conversation.offered("ConverseStream"),
        f"earendil-works/pi#3739, n8n-io/n8n#14206, danny-avila/LibreChat#6351; {PROBED}",
        Models(only=(*_LLAMA, *_OLD_MISTRAL, "deepseek.r1*")),
    ),
    Rule(
        "some_use_no_tools",
        "no tools are offered to DeepSeek R1, Llama 3 and Titan",
        "This model doesn't support tool use.",
        conversation.offered("Converse"),
        "langchain-ai/langchain-aws#447; public source code",
        Models(only=("deepseek.r1*", "meta.llama3-8b*", "meta.llama3-70b*", "amazon.titan-text*")),
    ),
    Rule(
        "llama_is_not_forced_to_use_tools",
        "Llama is not told that it must use some tool",
        no_field("toolConfig.toolChoice.any"),
        conversation.choices("any"),
        "strands-agents/harness-sdk#1241",
        Models(only=_LLAMA),
    ),
    Rule(
        "some_are_not_forced_to_use_a_tool",
        "Llama and older Mistral are not told that they must use one tool",
        no_field("toolConfig.toolChoice.tool"),
        conversation.choices("tool"),
        "public source code, of Mistral Large 2402 and Llama",
        Models(only=(*_LLAMA, "mistral.mistral-large-2402*")),
    ),
    Rule(
        "some_see_no_images",
        "models of texts are shown no image",
        no_block("image"),
        models.any_of("image"),
        PROBED,
        Models(only=_TEXT_ONLY),
    ),
    Rule(
        "gpt_results_have_no_images",
        "the result of a tool for GPT has no image",
        "This model doesn't support the image field for user messages. Remove image and try again.",
        models.in_results("image"),
        "can1357/oh-my-pi#11685",
        Models(only=("openai.gpt-5*", "openai.gpt-6*")),
    ),
    Rule(
        "some_have_no_stop_sequences",
        "Qwen3 235B and gpt-oss are given no stop sequences",
        no_field("stopSequences"),
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
        no_field("status"),
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
    Rule(
        "some_thoughts_are_not_signed",
        "what Kimi, GLM, MiniMax and gpt-oss thought is given back without a signature",
        no_field("reasoningContent.reasoningText.signature"),
        models.signatures,
        "public source code of several clients",
        Models(only=("moonshot*", "zai.*", "minimax.*", *_OPENAI)),
    ),
)

PROFILES: Final = (*CLAUDE, *_OTHER_FAMILIES)
"""A request is refused for the first of these that it breaks."""
