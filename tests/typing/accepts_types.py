"""What a user's type checker must accept of the types."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Literal, assert_type

from converse_harness.types import citations, content, event_loop, exceptions, guardrails, media, session, streaming
from converse_harness.types.memory import (
    InjectionFormatCallback,
    InjectionQueryCallback,
    InMemoryStore,
    MemoryManagerConfig,
    MemoryStore,
    as_list,
    last_user_text,
)
from converse_harness.types.tools import (
    AgentTool,
    FunctionTool,
    RunToolHandler,
    ToolContext,
    ToolFunc,
    ToolGenerator,
    ToolResult,
    ToolSpec,
    ToolUse,
    echo,
    run_tools,
)

text: content.ContentBlock = {"text": "Tea?"}
picture: content.ContentBlock = {"image": {"format": "gif", "source": {"bytes": b"GIF89a"}}}
stored: media.ImageSource = {"location": {"type": "s3", "uri": "s3://bucket/a.gif", "bucketOwner": "111122223333"}}
cited: citations.WebLocationDict = {"web": {"url": "https://example.com/a", "domain": "example.com"}}
message: content.Message = {"role": "user", "content": [text, picture], "metadata": {"custom": {"mood": "good"}}}
conversation: content.Messages = [message]
usage: event_loop.Usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
waits: event_loop.StopReason = "interrupt"
topic: guardrails.Topic = {"action": "BLOCKED", "name": "pets", "type": "DENY"}

events: list[streaming.StreamEvent] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockStart": {"contentBlockIndex": None, "start": {"toolUse": None}}},
    {"contentBlockDelta": {"delta": {"citation": {"location": cited, "sourceContent": [{"text": "a"}]}}}},
    {"messageStop": {"stopReason": waits, "additionalModelResponseFields": [1, {"a": None}]}},
    {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}, "trace": None}},
    {"redactContent": {"redactUserContentMessage": "[removed]"}},
    {"modelStreamErrorException": {"message": "a", "originalMessage": "b", "originalStatusCode": 500}},
]

spec: ToolSpec = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
use: ToolUse = {"toolUseId": "t", "name": "echo", "input": {}}
function: ToolFunc = echo
tool: AgentTool = FunctionTool(spec, echo)
generator: ToolGenerator = tool.stream(use, {})
handler: RunToolHandler = run_tools(tool)


async def waiting(tool_use: ToolUse, **kwargs: Any) -> ToolResult:
    return echo(tool_use)


async def own_handler(tool_use: ToolUse) -> AsyncGenerator[dict[str, Any], None]:
    yield {"status": "success"}


FunctionTool(spec, waiting)
handler = own_handler
context = ToolContext(use, agent="an agent", invocation_state={})
assert_type(context.agent, str)
assert_type(context.tool_use["name"], str)

kept = session.SessionMessage.from_message(message, 0)
assert_type(kept.to_message(), content.Message)
assert_type(session.Session("s", session.SessionType.AGENT).to_dict(), dict[str, Any])

store: MemoryStore = InMemoryStore()
asyncio.run(store.initialize())
query: InjectionQueryCallback = last_user_text
formatted: InjectionFormatCallback = as_list
config: MemoryManagerConfig = {
    "stores": [store, InMemoryStore("notes")],
    "injection": {"trigger": "userTurn", "query": lambda context: None, "format": as_list},
}


def stop(error: exceptions.EventLoopException, form: media.ImageFormat) -> tuple[Exception, Literal["png"] | None]:
    return error.original_exception, form if form == "png" else None
