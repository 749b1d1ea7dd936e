"""A suite written for Claude Sonnet 4.5 through boto3. Each test that another model refuses names the reason."""

import boto3

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
CLOCK = {"toolSpec": {"name": "clock", "inputSchema": {"json": {"type": "object"}}}}
USES = {"toolUse": {"toolUseId": "tooluse_1", "name": "clock", "input": {}}}
RESULT = {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "12:00"}]}}


def user(*content):
    return {"role": "user", "content": [each if isinstance(each, dict) else {"text": each} for each in content]}


def assistant(*content):
    return {**user(*content), "role": "assistant"}


def ask(*messages, stream=False, **more):
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    asked = {"modelId": MODEL, "messages": [*messages], **more}
    return list(client.converse_stream(**asked)["stream"]) if stream else client.converse(**asked)


def test_greets(converse):
    converse.script(reply.text("hi"))
    ask(user("hello"), system=[{"text": "Be short."}], inferenceConfig={"maxTokens": 500})


def test_streams(converse):
    converse.script(reply.text("hi"))
    ask(user("hello"), stream=True)


def test_reads_a_document(converse):
    converse.script(reply.text("a page"))
    document = {"name": "page", "format": "txt", "source": {"bytes": b"A page."}}
    ask(user("What is it?", {"document": document}))


def test_temperature(converse):  # Opus 5
    converse.script(reply.throttled(), reply.text("hi"))
    ask(user("hello"), inferenceConfig={"temperature": 0.2})


def test_top_p(converse):
    converse.script(reply.text("hi"))
    ask(user("hello"), inferenceConfig={"topP": 0.9})


def test_prefill(converse):  # Opus 5
    converse.script(reply.text('"a": 1}'))
    ask(user("Answer in JSON."), assistant("{"))


def test_thinks(converse):  # Opus 5
    converse.script(reply.text("42"))
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    ask(user("6 x 7?"), inferenceConfig={"maxTokens": 4000}, additionalModelRequestFields=thinking)


def test_long_answer(converse):  # Nova Pro
    converse.script(reply.text("..."))
    ask(user("Tell me all."), inferenceConfig={"maxTokens": 32_000})


def test_cached_tools(converse):  # Nova Pro
    converse.script(reply.text("..."))
    ask(user("When?"), toolConfig={"tools": [CLOCK, {"cachePoint": {"type": "default"}}]})


def test_must_use_a_tool(converse):  # Llama 4
    converse.script(reply.tool_use("clock", {}))
    ask(user("When?"), toolConfig={"tools": [CLOCK], "toolChoice": {"any": {}}})


def test_must_use_the_clock(converse):  # Llama 4
    converse.script(reply.tool_use("clock", {}))
    ask(user("When?"), toolConfig={"tools": [CLOCK], "toolChoice": {"tool": {"name": "clock"}}})


def test_streams_with_tools(converse):  # Llama 4
    converse.script(reply.text("12:00"))
    ask(user("When?"), toolConfig={"tools": [CLOCK]}, stream=True)


def test_speaks_and_uses_a_tool(converse):  # Llama 4
    converse.script(reply.text("At noon."))
    ask(user("When?"), assistant("Let me look.", USES), user(RESULT), toolConfig={"tools": [CLOCK]})


def test_comments_on_a_result(converse):  # Llama 4
    converse.script(reply.text("At noon."))
    ask(user("When?"), assistant(USES), user(RESULT, "And in Bern?"), toolConfig={"tools": [CLOCK]})
