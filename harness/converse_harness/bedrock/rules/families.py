"""Rules of Bedrock's model families other than Claude and Nova.

`Models.only` lists the models for which a witness (a public source) shows that the rule applies.
"""

from __future__ import annotations

from typing import Final

from converse_harness.bedrock.models import MODELS
from converse_harness.bedrock.rules.finders import abilities, caching, conversation, fields, media, tools
from converse_harness.bedrock.rules.request import any_block, in_blocks, in_request, in_results, in_shown
from converse_harness.bedrock.rules.rule import (
    CLIENTS_KNOW,
    CONVERSING,
    MODEL,
    PROBED,
    Models,
    Rule,
    coded,
    documented,
    no_block,
    no_field,
    recorded,
    reported,
)

_LLAMA: Final = ("meta.llama3*", "meta.llama4*")
OTHER_FAMILIES: Final = (
    Rule(
        "some_are_invoked_by_a_profile",
        "the model id of a model that is not invoked on demand is an inference profile, such as "
        "us.anthropic.claude-sonnet-5, or an ARN",
        "Invocation of model ID {model_id} with on-demand throughput isn’t supported. Retry your request with the ID "
        "or ARN of an inference profile that contains this model.",
        abilities.ids_of_no_profile,
        (
            reported("FlowiseAI/Flowise#4253", "2025-04-04", "3.7"),
            reported("open-webui/pipelines#490", "2025-04-07", "3.7"),
            recorded("0xPlaygrounds/rig", "2026-07-10", "DeepSeek R1"),
            coded("several clients", "2026-11", "Sonnet 5"),
        ),
        Models(lacking="on demand"),
        verdict="strict",
        operations=CONVERSING,
        remark="that no region has the versions between on demand is thought",
    ),
    Rule(
        "some_answers_are_limited",
        "maxTokens is not above the model's limit",
        "The maximum tokens you requested exceeds the model limit of {most}. Try again with a maximum tokens value "
        "that is lower than {most}.",
        abilities.too_many_tokens,
        (
            reported("sigoden/aichat#813", "2024-08-30", "Claude 3.5 Sonnet"),
            reported("RooCodeInc/Roo-Code#248", "2024-12-30", "Claude 3.5 Sonnet"),
            reported("RooCodeInc/Roo-Code#3916", "2025-05-24", "Claude Opus 4"),
            PROBED,
        ),
        Models(only=tuple(model.ids for model in MODELS if model.most_tokens)),
        remark="whose limit is known from where, the table of models says; of Claude 3.5 Sonnet it was 4,096 once, "
        "and 8,192 were accepted later (boto/boto3#4525, 2025-05-06)",
    ),
    Rule(
        "llama_is_not_prefilled",
        "a conversation with Llama ends with a message of the user",
        "The model that you are using requires the last turn in the conversation to be a user message. Add a user "
        "message to the conversation and try again.",
        conversation.ends_with_the_assistant,
        (reported("i-am-bee/beeai-framework#753", "2025-04-11", "Llama 3 8B"),),
        Models(only=("meta.*",), lacking="prefill"),
    ),
    Rule(
        "llama_and_mistral_speak_or_use_a_tool",
        "a message to Llama or to an older Mistral has texts or tools",
        "messages.{n}.content: Conversation blocks and tool use blocks cannot be provided in the same turn.",
        tools.texts_beside_uses,
        (
            reported("quarkiverse/quarkus-langchain4j#1983", "2025-11-28", "Llama 3.2"),
            reported("langchain-ai/langchain-aws#1118", "2026-06"),
        ),
        Models(only=(*_LLAMA, "mistral.mistral-large-24*")),
    ),
    Rule(
        "llama_and_mistral_speak_or_have_results",
        "a message to Llama, Writer or an older Mistral has results of tools or something else",
        "messages.{n}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        tools.blocks_beside_results,
        (
            reported("browser-use/browser-use#710", "2025-02-13", "Llama 3.3, Mistral Large"),
            reported("strands-agents/harness-sdk#1223", "2025-11-21", "Llama 4 Maverick"),
            reported("pydantic/pydantic-ai#6098", "2026-06-27", "Llama 4, Pixtral"),
            coded("pydantic-ai, its profile of Bedrock's models", "2026-11", "Palmyra X4 and X5, in words not known"),
        ),
        Models(only=(*_LLAMA, "mistral.mistral-large-24*", "mistral.pixtral*", "writer.palmyra-x*")),
        remark="Claude 3 Opus said it as well in October 2024 (BerriAI/litellm#6053)",
    ),
    Rule(
        "some_stream_no_tools",
        "tools are offered to Llama, older Mistral and DeepSeek R1 by Converse only",
        "This model doesn't support tool use in streaming mode.",
        tools.offered("ConverseStream"),
        (
            reported("danny-avila/LibreChat#6351", "2025-03-15", "DeepSeek R1"),
            reported("n8n-io/n8n#14206", "2025-03-27", "Llama 3.3"),
            reported("earendil-works/pi#3739", "2026-04-26", "Llama 4"),
            reported("strands-agents/harness-sdk#3882", "2026-08-19", "Llama 3.3"),
            PROBED,
        ),
        Models(lacking="streamed tools"),
    ),
    Rule(
        "some_use_no_tools",
        "no tools are offered to DeepSeek R1, Llama 3 and Titan",
        "This model doesn't support tool use.",
        tools.offered("Converse"),
        (
            reported("danny-avila/LibreChat#6304", "2025-03-12", "DeepSeek R1"),
            reported("langchain-ai/langchain-aws#447", "2025-04", "DeepSeek R1"),
            CLIENTS_KNOW,
        ),
        Models(lacking="tools"),
    ),
    Rule(
        "llama_is_not_forced_to_use_tools",
        "Llama is not told that it must use some tool",
        no_field("toolConfig.toolChoice.any"),
        tools.choices("any"),
        (reported("strands-agents/harness-sdk#1241", "2025-11-23"),),
        Models(only=_LLAMA, lacking="toolChoice any"),
    ),
    Rule(
        "some_are_not_forced_to_use_a_tool",
        "Llama and older Mistral are not told that they must use one tool",
        no_field("toolConfig.toolChoice.tool"),
        tools.choices("tool"),
        (coded("several clients", "2026-11", "Mistral Large 2402, Llama"),),
        Models(only=(*_LLAMA, "mistral.*"), lacking="toolChoice tool"),
    ),
    Rule(
        "some_see_no_images",
        "text-only models get no image",
        no_block("image"),
        media.any_of("image"),
        (PROBED,),
        Models(lacking="images"),
    ),
    Rule(
        "some_results_have_no_images",
        "the result of a tool for models other than Claude, Nova and Llama 4 has no image",
        "This model doesn't support the image field for user messages. Remove image and try again.",
        in_results("image"),
        (
            reported("can1357/oh-my-pi#11681", "2026-09-11", "GPT 5.6"),
            reported("anomalyco/opencode#49443", "2026-09-17", "GPT 5.6, GPT 6, Pixtral and others"),
            reported("anomalyco/opencode#50272", "2026-09-21", "all but Claude, Nova and Llama 4"),
        ),
        Models(lacking="images in results"),
    ),
    Rule(
        "some_have_no_stop_sequences",
        "Qwen3 235B, gpt-oss and GPT from 5.6 on are given no stop sequences",
        no_field("stopSequences"),
        in_request(
            "inferenceConfig.stopSequences", lambda asked: "stopSequences" in asked.inference, "inferenceConfig"
        ),
        (
            reported("crewAIInc/crewAI#3317", "2025-08-13", "gpt-oss 20B"),
            reported("langchain4j/langchain4j#3650", "2025-09-06", "gpt-oss 120B, an empty list"),
            reported("langgenius/dify-official-plugins#1767", "2025-09-25", "Qwen3 235B"),
            reported("crewAIInc/crewAI#4046", "2025-12-08", "gpt-oss-safeguard, an empty list"),
            recorded("vercel/ai, its fixtures", "2026-09", "GPT 5.6"),
        ),
        Models(lacking="stopSequences"),
    ),
    Rule(
        "gpt_has_no_other_fields",
        "an additional field for GPT from 5.6 on is not one that only models of other makers have",
        MODEL + '{{"error":{{"code":"unknown_parameter","message":"Unknown parameter: \'{name}\'.","param":"{name}",'
        '"type":"invalid_request_error"}}}}',
        fields.fields_of_others,
        (
            reported("anomalyco/opencode#48195", "2026-08"),
            recorded("vercel/ai, its fixtures", "2026-08", "GPT 5.6, reasoningConfig and reasoning_effort"),
            reported("agentgateway/agentgateway#3442", "2026-09"),
            reported("BerriAI/litellm#38279", "2026-09"),
        ),
        Models(only=("openai.gpt-5.6*", "openai.gpt-6*")),
    ),
    Rule(
        "some_have_no_temperature",
        "Grok and GPT from 5.6 on get neither a temperature nor topP",
        no_field("{name}"),
        abilities.samplings,
        (
            reported("aws-samples/sample-kolya-br-proxy#104", "2026-08-27", "Grok 4.6"),
            reported("NousResearch/hermes-agent#111043", "2026-09-14", "Grok 4.6"),
            coded("pydantic-ai, its profile of Bedrock's models", "2026-11", "GPT 5.6, GPT 6, Grok 4.6"),
        ),
        Models(only=("xai.*", "openai.*"), lacking="temperature"),
        remark="for topP, and of GPT, the wording is thought to be the same",
    ),
    Rule(
        "some_cite_nothing",
        "a document for Nova, Llama, Pixtral or DeepSeek has no citations",
        "This model doesn't support citations.",
        in_shown("document", media.is_cited, ".citations"),
        (
            reported("boto/boto3#4608", "2025-09-04", "Sonnet 4, for a day"),
            coded("pydantic-ai, its profile of Bedrock's models", "2026-10-20"),
        ),
        Models(lacking="citations"),
    ),
    Rule(
        "some_have_no_system_prompt",
        "Mistral 7B and Titan are given no system prompt",
        "This model doesn't support system messages. Try again without a system message or use a model that supports "
        "system messages.",
        in_request("system", lambda asked: bool(asked.system), "system"),
        (
            coded("several clients", "2026-10-01", "Mistral 7B"),
            documented("its table of what models support", "2026-10", "Titan"),
        ),
        Models(lacking="system prompts"),
    ),
    Rule(
        "writer_results_have_no_status",
        "the result of a tool for Writer has no status",
        no_field("status"),
        in_blocks("toolResult", lambda result: "status" in result, ".status"),
        (coded("pydantic-ai, its profile of Bedrock's models", "2026-11"),),
        Models(lacking="status of results"),
    ),
    Rule(
        "some_are_given_no_thoughts",
        "the reasoning of DeepSeek R1 is not sent back, nor any to Claude before 3.7",
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
        any_block("reasoningContent"),
        (
            reported("langchain-ai/langchain-aws#401", "2025-03", "DeepSeek R1"),
            recorded("vercel/ai, its fixtures", "2026-07-21", "Claude 3 Haiku"),
        ),
        Models(lacking="reasoning sent back"),
    ),
    Rule(
        "some_thoughts_are_not_signed",
        "the reasoning of Kimi, GLM, MiniMax and gpt-oss is sent back without a signature",
        no_field("reasoningContent.reasoningText.signature"),
        in_blocks(
            "reasoningContent",
            lambda thought: "signature" in thought.get("reasoningText", {}),
            ".reasoningText.signature",
        ),
        (CLIENTS_KNOW,),
        Models(lacking="signatures"),
    ),
    Rule(
        "some_cache_nothing",
        "a request to DeepSeek, Grok, Kimi K2, Llama, Nemotron or Qwen has no cache point",
        "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more "
        "information.",
        caching.any_point,
        (
            reported("anomalyco/opencode#782", "2025-07-08", "DeepSeek R1"),
            reported("strands-agents/harness-sdk#1807", "2026-03-04", "Llama"),
            reported("zeroclaw-labs/zeroclaw#7315", "2026-06-06", "Qwen3 Coder Next"),
            reported("Portkey-AI/docs-core#1025", "2026-08-13", "Kimi K2.5"),
            reported("anomalyco/models.dev#5082", "2026-08-19", "Grok 4.6"),
            reported("BerriAI/litellm#38699", "2026-08-28", "Grok 4.6"),
            reported("BerriAI/litellm#39210", "2026-09-01", "Nemotron 3 Super"),
            reported("strands-agents/harness-sdk#4168", "2026-09-04", "Nemotron 3 Super"),
        ),
        Models(lacking="cachePoint"),
        remark="the whole text is of cline/cline#2064 (2025-03-03); two threads say that the status is 400",
        error="AccessDeniedException",
    ),
    Rule(
        "llama_images_are_of_their_format",
        "an image for Llama has the format that its block names",
        MODEL + "The provided image does not match the specified image format.",
        media.of_another_format(media.format_of),
        (reported("boto/boto3#4415", "2025-01-29", "Llama 3.2"),),
        Models(only=_LLAMA),
    ),
    Rule(
        "some_results_are_not_empty",
        "the result of a tool for Nemotron has content",
        "The content field at messages.{n}.content.{m}.toolResult is blank.",
        in_blocks("toolResult", lambda it: it.get("status") != "error" and it.get("content") == [], ".content"),
        (
            reported("strands-agents/harness-sdk#2122", "2026-04-14", "Nemotron; Claude accepts it"),
            reported("pydantic/pydantic-ai#6115", "2026-06-28", "some models"),
        ),
        Models(only=("nvidia.nemotron*",)),
        remark="the wording is ours: the threads do not quote it whole",
    ),
    Rule(
        "cohere_is_not_told_which_tool",
        "Command R is not told that it must use a tool",
        no_field("toolConfig.toolChoice"),
        tools.forced,
        (coded("langchain-aws, its table of tool choices", "2026-11"),),
        Models(disputed="toolChoice any"),
        remark="the wording is guessed; Bedrock was also seen to say that a combination of parameters is invalid "
        "(langchain-ai/langchain-aws#566, 2025-08-05)",
        verdict="note",
    ),
)
