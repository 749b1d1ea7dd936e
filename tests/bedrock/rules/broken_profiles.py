"""For each rule of other families a request that breaks it and no other: where that is, and what Bedrock says."""

from __future__ import annotations

from tests.bedrock.rules.asking import (
    IMAGE,
    LLAMA,
    MISTRAL,
    PREFIX,
    R1,
    S3,
    TEXT,
    THOUGHT,
    Broken,
    assistant,
    config,
    document,
    result,
    use,
    user,
)

LAST_TURN = (
    "The model that you are using requires the last turn in the conversation to be a user message. Add a user message "
    "to the conversation and try again."
)
EXTRANEOUS = (
    "Malformed input request: #/messages/2/content/0: extraneous key [toolResult] is not permitted, please reformat "
    "your input and try again."
)
SYSTEM = (
    "This model doesn't support system messages. Try again without a system message or use a model that supports "
    "system messages."
)

BROKEN: dict[str, Broken] = {
    "some_are_invoked_by_a_profile": Broken(
        "modelId",
        "Invocation of model ID anthropic.claude-sonnet-5 with on-demand throughput isn\u2019t supported. Retry your "
        "request with the ID or ARN of an inference profile that contains this model.",
        model_id="anthropic.claude-sonnet-5",
    ),
    "some_answers_are_limited": Broken(
        "inferenceConfig.maxTokens",
        "The maximum tokens you requested exceeds the model limit of 10000. Try again with a maximum tokens value that "
        "is lower than 10000.",
        model_id="us.amazon.nova-pro-v1:0",
        body={"inferenceConfig": {"maxTokens": 10_001}},
    ),
    "llama_is_not_prefilled": Broken(
        "messages[1].role", LAST_TURN, [user(TEXT), assistant(TEXT)], "us.meta.llama3-3-70b-instruct-v1:0"
    ),
    "nova_results_have_no_files_in_s3": Broken(
        "messages[2].content[0].toolResult.content[0].document.source.s3Location",
        PREFIX + EXTRANEOUS,
        [user(TEXT), assistant(use()), user(result("a", document(**S3)))],
        body=config(),
    ),
    "llama_and_mistral_speak_or_use_a_tool": Broken(
        "messages[1].content",
        "messages.1.content: Conversation blocks and tool use blocks cannot be provided in the same turn.",
        [user(TEXT), assistant(TEXT, use()), user(result("a", TEXT))],
        LLAMA,
        body=config(),
    ),
    "llama_and_mistral_speak_or_have_results": Broken(
        "messages[2].content",
        "messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        [user(TEXT), assistant(use()), user(result("a", TEXT), TEXT)],
        LLAMA,
        body=config(),
    ),
    "some_stream_no_tools": Broken(
        "toolConfig",
        "This model doesn't support tool use in streaming mode.",
        None,
        LLAMA,
        "ConverseStream",
        config(),
    ),
    "some_use_no_tools": Broken("toolConfig", "This model doesn't support tool use.", None, R1, body=config()),
    "llama_is_not_forced_to_use_tools": Broken(
        "toolConfig.toolChoice.any",
        "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try "
        "again.",
        None,
        LLAMA,
        body=config(any={}),
    ),
    "some_are_not_forced_to_use_a_tool": Broken(
        "toolConfig.toolChoice.tool",
        "This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool and try "
        "again.",
        None,
        MISTRAL,
        body=config(tool={"name": "look"}),
    ),
    "some_see_no_images": Broken(
        "messages[0].content[1].image",
        "This model doesn't support the image content block that you provided. Update the content block and try again.",
        [user(TEXT, IMAGE)],
        "openai.gpt-oss-20b-1:0",
    ),
    "some_results_have_no_images": Broken(
        "messages[2].content[0].toolResult.content[1].image",
        "This model doesn't support the image field for user messages. Remove image and try again.",
        [user(TEXT), assistant(use()), user(result("a", TEXT, IMAGE))],
        "us.openai.gpt-6-astra",
        body=config(),
    ),
    "some_have_no_stop_sequences": Broken(
        "inferenceConfig.stopSequences",
        "This model doesn't support the stopSequences field. Remove stopSequences and try again.",
        None,
        "openai.gpt-oss-20b-1:0",
        body={"inferenceConfig": {"stopSequences": ["|"]}},
    ),
    "some_have_no_system_prompt": Broken(
        "system", SYSTEM, None, "mistral.mistral-7b-instruct-v0:2", body={"system": [TEXT]}
    ),
    "writer_results_have_no_status": Broken(
        "messages[2].content[0].toolResult.status",
        "This model doesn't support the status field. Remove status and try again.",
        [user(TEXT), assistant(use()), user(result("a", TEXT, status="success"))],
        "us.writer.palmyra-x4-v1:0",
        body=config(),
    ),
    "nova_1_does_not_reason": Broken(
        "additionalModelRequestFields.reasoningConfig",
        PREFIX + "Malformed input request: the provided reasoning config value is invalid, please reformat your input "
        "and try again.",
        model_id="us.amazon.nova-micro-v1:0",
        body={"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}},
    ),
    "nova_has_no_other_fields": Broken(
        "additionalModelRequestFields.performanceConfig",
        PREFIX + "Malformed input request: #: extraneous key [performanceConfig] is not permitted, please reformat "
        "your input and try again.",
        body={"additionalModelRequestFields": {"performanceConfig": {"latency": "optimized"}}},
    ),
    "nova_reasons_without_a_limit": Broken(
        "inferenceConfig.maxTokens",
        PREFIX + "`maxTokens` must be unset when reasoningConfig type is 'enabled' and maxReasoningEffort is 'high'. "
        "Please consult our documentation at https://docs.aws.amazon.com/nova/latest/userguide",
        model_id="us.amazon.nova-2-lite-v1:0",
        body={
            "inferenceConfig": {"maxTokens": 500},
            "additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}},
        },
    ),
    "gpt_has_no_other_fields": Broken(
        "additionalModelRequestFields.thinking",
        PREFIX + '{"error":{"code":"unknown_parameter","message":"Unknown parameter: \'thinking\'.",'
        '"param":"thinking","type":"invalid_request_error"}}',
        model_id="us.openai.gpt-5.6-sol",
        body={"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
    ),
    "some_are_given_no_thoughts": Broken(
        "messages[1].content[0].reasoningContent",
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
        [user(TEXT), assistant(THOUGHT, TEXT), user(TEXT)],
        R1,
    ),
    "some_thoughts_are_not_signed": Broken(
        "messages[1].content[0].reasoningContent.reasoningText.signature",
        "This model doesn't support the reasoningContent.reasoningText.signature field. Remove "
        "reasoningContent.reasoningText.signature and try again.",
        [user(TEXT), assistant(THOUGHT, TEXT), user(TEXT)],
        "moonshotai.kimi-k2.5",
    ),
}
