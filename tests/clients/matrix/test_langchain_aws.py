"""LangChain in the matrix: ChatBedrockConverse of langchain-aws, to which a tool is bound; it hands out tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from typing import cast

from botocore.config import Config
from langchain_aws import ChatBedrockConverse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import Runnable
from langchain_core.tools import tool

from converse_harness.contract import Outcome, Target, ToolCall
from converse_harness.contract.running import MODEL_ID, QUESTION
from tests.clients.matrix.base import MatrixContract, because

STREAM = {
    **because(
        "an input that broke off is completed, and is handed out as a valid tool call",
        "tool_truncated_json_max_tokens",
    ),
    **because(
        "a toolUse delta is a part of a tool call of its own, which has no name where nothing else named it",
        *("server_tool_nova", "no_block_start", "tool_input_in_text"),
    ),
    **because("a tool use that starts twice is put together: its name is there twice in a row", "second_block_start"),
    **because("a start or a delta that is not known to it is an error (ValueError)", "unknown_start", "unknown_delta"),
    **because("the first part is taken of reasoning in which it knows none (IndexError)", "unknown_reasoning"),
    **because("`source` is looked up in the start of an image, which has none (KeyError)", "image_block"),
    **because("`contentBlockIndex` is looked up in every delta (KeyError)", "no_index"),
}

ERRORS: Mapping[type[BaseException] | str, Iterable[str]] = {ContextOverflowError: ["ContextOverflow"]}


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return "18 °C and sunny."


def model(target: Target) -> Runnable[LanguageModelInput, AIMessage]:
    """The model with its tool. Its `timeout` takes whole seconds only."""
    timeouts = Config(read_timeout=target.patience, connect_timeout=target.patience)
    return ChatBedrockConverse(model=MODEL_ID, region_name="us-east-1", config=timeouts).bind_tools([get_weather])


def outcome(message: AIMessage) -> Outcome:
    """What is in a message."""
    calls = [
        *(ToolCall(call["name"], call["args"]) for call in message.tool_calls),
        *(ToolCall(call["name"] or "", call["args"] or "") for call in message.invalid_tool_calls),
    ]
    thoughts = [block.get("reasoning", "") for block in message.content_blocks if block["type"] == "reasoning"]
    return Outcome(message.text, calls, message.response_metadata.get("stopReason"), None, "".join(thoughts))


class _LangChain(MatrixContract):
    client = "langchain_aws"
    transport = "boto"
    errors = ERRORS


class TestStream(_LangChain):
    known = STREAM

    def consume(self, target: Target) -> Outcome:
        chat = model(target)
        chunks: list[AIMessage] = []
        try:
            chunks.extend(chat.stream(QUESTION))
        except Exception as error:  # noqa: BLE001 - every error is the client's answer
            return Outcome("".join(chunk.text for chunk in chunks), error=error)
        return outcome(reduce(add, cast("list[AIMessageChunk]", chunks)))


class TestWhole(_LangChain):
    operation = "Converse"

    def consume(self, target: Target) -> Outcome:
        return outcome(model(target).invoke(QUESTION))
