"""smithy-python's aws-sdk-bedrock-runtime, over the socket. In an environment of its own: it needs Python 3.12."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import aiohttp
import pytest
from aws_sdk_bedrock_runtime import models
from aws_sdk_bedrock_runtime.client import AsyncBedrockRuntimeClient
from smithy_core.documents import Document
from smithy_core.exceptions import SmithyError

from converse_harness import ConverseServer
from tests.clients.scenarios import (
    CASES,
    CONNECTION,
    MODEL,
    QUESTION,
    STREAM,
    TOOL_SCHEMA,
    Fold,
    Order,
    Result,
    run,
    whole,
)

pytestmark = pytest.mark.any_answer

TOOL: Final = models.ToolSpecification(
    name="get_weather", input_schema=models.ToolInputSchemaJson(Document(TOOL_SCHEMA))
)
ASKED: Final[dict[str, Any]] = {
    "model_id": MODEL,
    "messages": [models.Message(role=models.ConversationRole.USER, content=[models.ContentBlockText(QUESTION)])],
    "tool_config": models.ToolConfiguration(tools=[models.ToolToolSpec(TOOL)]),
}


def as_block(block: Any) -> dict[str, Any]:
    """A ContentBlock as the plain dict of the AWS API."""
    match block:
        case models.ContentBlockText(text):
            return {"text": text}
        case models.ContentBlockToolUse(use):
            return {"toolUse": {"name": use.name, "input": use.input.as_value()}}
        case models.ContentBlockReasoningContent(models.ReasoningContentBlockReasoningText(said)):
            return {"reasoningContent": {"reasoningText": {"text": said.text}}}
        case _:
            raise AssertionError(f"an unknown block: {block}")


def as_usage(usage: Any) -> dict[str, int]:
    return {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}


def as_event(event: Any) -> dict[str, Any]:
    """A stream event as the plain dict of the AWS API; {} for those that carry no part of an answer."""
    match event:
        case models.ConverseStreamOutputContentBlockStart(started):
            tool = {"name": started.start.value.name}
            return {"contentBlockStart": {"contentBlockIndex": started.content_block_index, "start": {"toolUse": tool}}}
        case models.ConverseStreamOutputContentBlockDelta(told):
            match told.delta:
                case models.ContentBlockDeltaText(text):
                    delta: dict[str, Any] = {"text": text}
                case models.ContentBlockDeltaToolUse(part):
                    delta = {"toolUse": {"input": part.input}}
                case models.ContentBlockDeltaReasoningContent(models.ReasoningContentBlockDeltaText(text)):
                    delta = {"reasoningContent": {"text": text}}
                case _:
                    delta = {}
            return {"contentBlockDelta": {"contentBlockIndex": told.content_block_index, "delta": delta}}
        case models.ConverseStreamOutputMessageStop(stopped):
            return {"messageStop": {"stopReason": stopped.stop_reason}}
        case models.ConverseStreamOutputMetadata(metadata):
            return {"metadata": {"usage": as_usage(metadata.usage)}}
        case _:
            return {}


async def _ask(order: Order) -> Result:
    fold = Fold(order)
    try:
        async with AsyncBedrockRuntimeClient() as client:
            if order.operation != STREAM:
                answer = await client.converse(models.ConverseInput(**ASKED))
                content = [as_block(block) for block in answer.output.value.content]
                return whole(
                    {
                        "output": {"message": {"content": content}},
                        "stopReason": answer.stop_reason,
                        "usage": as_usage(answer.usage),
                    }
                )
            async with await client.converse_stream(models.ConverseStreamInput(**ASKED)) as stream:
                async for event in stream.output_stream:
                    if fold.take(as_event(event)):
                        break
    except models.ServiceError as error:
        return fold.fail(type(error).__name__, error)
    except (SmithyError, OSError) as error:
        return fold.fail(CONNECTION if isinstance(error.__cause__, aiohttp.ClientError) else repr(error), error)
    return fold.result


def ask(order: Order) -> Result:
    return asyncio.run(_ask(order))


# The SDK leaves the connection of a stream that broke to the garbage collector.
@pytest.mark.filterwarnings("ignore:Unclosed connection:ResourceWarning")
@pytest.mark.filterwarnings("ignore:.*Connection.__del__:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("name", "operation"), CASES)
def test_scenario(name: str, operation: str, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    run(name, operation, converse_server.script, ask)
