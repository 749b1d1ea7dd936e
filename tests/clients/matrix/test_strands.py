"""Strands Agents in the matrix: an agent with BedrockModel and a tool that really runs.

The tool takes its input as it comes, as strands' own tools of MCP servers do. One that is made of a function by `@tool`
validates it first: it would not run with an input that lacks the city.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from botocore.config import Config
from strands import Agent
from strands.models import BedrockModel
from strands.tools.tools import PythonAgentTool
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException
from strands.types.tools import ToolResult, ToolUse

from converse_harness.contract import Outcome, Target, ToolCall
from converse_harness.contract.running import MODEL_ID, QUESTION, TOOL
from tests.clients.matrix.base import MatrixContract, because

BOTH = because(
    "a tool that the service ran is taken for one of the agent's: it sends an error as the result, and returns what "
    "is said to that",
    "server_tool_nova",
) | because("it asks as long as the model asks for a tool; a bound of turns is the caller's", "tool_for_ever")
STREAM = BOTH | {
    **because("an input that is no JSON is taken for {}, and the tool runs", "tool_input_not_json"),
    **because(
        "contentBlockIndex is not read: what comes belongs to the block that began last, and the tool runs with {}",
        *("tool_interleaved", "blocks_interleaved"),
    ),
    **because(
        "without a messageStop the stop reason is end_turn, and a block that has not ended is lost",
        *("no_message_stop", "cut_off", "cut_in_tool_input", "truncated_frame", "cut_in_prelude", "cut_in_headers"),
        *("again_unfinished", "again_half_text", "again_half_frame", "again_half_input", "again_after_tool"),
        "empty_200",
    ),
    **because("a block counts when its contentBlockStop comes", "no_block_stop"),
    **because(
        "an input makes a tool use of its block; without a name it is left out, and so is the text",
        "tool_input_in_text",
    ),
}
WHOLE = BOTH | {
    **because(
        "botocore reads a body that is cut off, or not there, as {}; `output` is looked up in it (KeyError)",
        *("empty_200", "closed"),
    ),
    **because("`output` is looked up in a 200 that is no answer (KeyError)", "unknown_operation"),
}

ERRORS: Mapping[type[BaseException] | str, Iterable[str]] = {
    ModelThrottledException: ["ThrottlingException"],
    ContextWindowOverflowException: ["ContextOverflow"],
}


class Conversation:
    """An agent, what it showed while it streamed, and the tools that it ran."""

    def __init__(self, target: Target, *, streaming: bool) -> None:
        timeouts = Config(read_timeout=target.patience, connect_timeout=target.patience)
        model = BedrockModel(model_id=MODEL_ID, streaming=streaming, boto_client_config=timeouts)
        (tool,) = target.request["toolConfig"]["tools"]
        weather = PythonAgentTool(TOOL, tool["toolSpec"], self.get_weather)
        self.ran: list[ToolCall] = []
        self.shown = ""
        self.agent = Agent(model=model, tools=[weather], callback_handler=self.show)

    async def get_weather(self, use: ToolUse, **state: Any) -> ToolResult:
        self.ran.append(ToolCall(use["name"], use["input"]))
        return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": "18 °C and sunny."}]}

    def show(self, **event: Any) -> None:
        self.shown += event.get("data", "")

    @property
    def reasoning(self) -> str:
        """That of all answers."""
        blocks = [block for message in self.agent.messages for block in message["content"]]
        return "".join(
            block["reasoningContent"]["reasoningText"]["text"]
            for block in blocks
            if "reasoningText" in block.get("reasoningContent", {})
        )

    def outcome(self) -> Outcome:
        try:
            result = self.agent(QUESTION)
        except Exception as error:  # noqa: BLE001 - every error is the client's answer
            return Outcome(self.shown, self.ran, None, error)
        return Outcome(str(result), self.ran, result.stop_reason, None, self.reasoning)


class _Strands(MatrixContract):
    client = "strands"
    transport = "boto"
    errors = ERRORS


class TestStream(_Strands):
    known = STREAM

    def consume(self, target: Target) -> Outcome:
        return Conversation(target, streaming=True).outcome()


class TestWhole(_Strands):
    operation = "Converse"
    known = WHOLE

    def consume(self, target: Target) -> Outcome:
        return Conversation(target, streaming=False).outcome()
