"""What a user's type checker must refuse of the types: every line that ends in a comment `error`, and no other."""

from typing import Any

from converse_harness.types import content, event_loop, guardrails, media, streaming
from converse_harness.types.memory import InMemoryStore, MemoryStoreConfig
from converse_harness.types.tools import AgentTool, FunctionTool, ToolSpec, ToolUse, echo

no_such_block: content.ContentBlock = {"txt": "a"}  # error
no_such_role: content.Role = "system"  # error
without_content: content.Message = {"role": "user"}  # error
no_such_reason: event_loop.StopReason = "end"  # error
without_total: event_loop.Usage = {"inputTokens": 1, "outputTokens": 2}  # error
no_such_event: streaming.StreamEvent = {"messageBegin": {"role": "assistant"}}  # error
text_of_number: streaming.ContentBlockDelta = {"text": 1}  # error
no_such_format: media.ImageFormat = "bmp"  # error
text_as_bytes: media.ImageSource = {"bytes": "GIF89a"}  # error
no_such_kind: guardrails.PIIType = "SHOE_SIZE"  # error
without_schema: ToolSpec = {"name": "echo", "description": "Says it again."}  # error
without_name: MemoryStoreConfig = {"description": "a"}  # error

spec: ToolSpec = {"name": "echo", "description": "Says it again.", "inputSchema": {}}
use: ToolUse = {"toolUseId": "t", "name": "echo", "input": {}}
AgentTool()  # error
FunctionTool(spec, "echo")  # error
FunctionTool(spec, echo).stream(use)  # error
InMemoryStore(entries=["tea"])  # error


def wrong_result(tool_use: ToolUse, **kwargs: Any) -> str:
    return "a"


FunctionTool(spec, wrong_result)  # error
