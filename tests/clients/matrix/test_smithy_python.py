"""smithy-python in the matrix: AWS's generated SDK for Python; a plain loop over its event objects, over a socket."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import pytest
from aws_sdk_bedrock_runtime import models
from aws_sdk_bedrock_runtime.client import AsyncBedrockRuntimeClient
from aws_sdk_bedrock_runtime.config import AsyncBedrockRuntimeConfig
from smithy_core.documents import Document
from smithy_http.interfaces import HTTPRequestConfiguration

from converse_harness.contract import Outcome, Target
from tests.clients.matrix.base import MatrixContract, because
from tests.clients.matrix.folding import folded_async, whole

# Where a body breaks off, the SDK leaves the connection to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Unclosed connection:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*Connection.__del__:pytest.PytestUnraisableExceptionWarning"),
]

WAITS = because(
    "its read_timeout does not reach its HTTP client, which goes on waiting for five minutes",
    *("stall", "read_timeout"),
)
STREAM = WAITS | {
    **because(
        "a stream that ends between two frames ends without an error",
        *("no_message_stop", "cut_off", "cut_in_tool_input", "empty_200"),
        *("again_unfinished", "again_half_text", "again_half_input", "again_after_tool"),
    ),
    **because(
        "it skips an event that it does not know, but fails over what it does not know inside one",
        *("unknown_start", "unknown_delta", "unknown_reasoning"),
    ),
    **because("it looks an exception up in its model, and fails where it is not there", "unknown_exception"),
}
WHOLE = WAITS | because(
    "what is missing in an answer is filled in, even where there is no body at all", "empty_200", "unknown_operation"
)


@asynccontextmanager
async def client(target: Target) -> AsyncIterator[Any]:
    """A client as anybody makes one, whom the environment tells of its endpoint."""
    timeout = HTTPRequestConfiguration(read_timeout=target.patience)
    with patch.dict(os.environ, target.environ):
        config = await AsyncBedrockRuntimeConfig.resolve(http_request_config=timeout)
        async with AsyncBedrockRuntimeClient(config) as bedrock:
            yield bedrock


def question(target: Target) -> dict[str, Any]:
    """The question with its tool, as members of the SDK's inputs."""
    asked = target.request
    spec = asked["toolConfig"]["tools"][0]["toolSpec"]
    schema = models.ToolInputSchemaJson(Document(spec["inputSchema"]["json"]))
    tool = models.ToolSpecification(name=spec["name"], description=spec["description"], input_schema=schema)
    text = models.ContentBlockText(asked["messages"][0]["content"][0]["text"])
    return {
        "model_id": asked["modelId"],
        "messages": [models.Message(role=models.ConversationRole.USER, content=[text])],
        "tool_config": models.ToolConfiguration(tools=[models.ToolToolSpec(tool)]),
    }


def part(value: Any) -> dict[str, Any]:
    """A block or its part, start or delta as the dict of AWS's API; {} if nothing of it is in an Outcome."""
    match value:
        case models.ContentBlockText(text) | models.ContentBlockDeltaText(text):
            return {"text": text}
        case models.CitationGeneratedContentText(text):
            return {"text": text}
        case models.ContentBlockCitationsContent(cited):
            return {"citationsContent": {"content": [part(each) for each in cited.content or ()]}}
        case models.ContentBlockReasoningContent(models.ReasoningContentBlockReasoningText(said)):
            return {"reasoningContent": {"reasoningText": {"text": said.text}}}
        case models.ContentBlockDeltaReasoningContent(models.ReasoningContentBlockDeltaText(text)):
            return {"reasoningContent": {"text": text}}
        case models.ContentBlockToolUse(use):
            return {"toolUse": {"name": use.name, "type": use.type, "input": use.input.as_value()}}
        case models.ContentBlockStartToolUse(use):
            return {"toolUse": {"name": use.name, "type": use.type}}
        case models.ContentBlockDeltaToolUse(use):
            return {"toolUse": {"input": use.input}}
        case _:
            return {}


async def told(events: Any) -> AsyncIterator[dict[str, Any]]:
    """What each event adds to an answer, as the dict of AWS's API."""
    async for event in events:
        match event:
            case models.ConverseStreamOutputContentBlockStart(at):
                yield {"contentBlockStart": {"contentBlockIndex": at.content_block_index, "start": part(at.start)}}
            case models.ConverseStreamOutputContentBlockDelta(at):
                yield {"contentBlockDelta": {"contentBlockIndex": at.content_block_index, "delta": part(at.delta)}}
            case models.ConverseStreamOutputMessageStop(stop):
                yield {"messageStop": {"stopReason": stop.stop_reason.value}}
            case _:
                pass


class _SmithyPython(MatrixContract):
    client = "smithy_python"
    transport = "server"
    time_limit = 5.0  # four cases wait for it

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _collected(cls) -> Iterator[None]:
        """Collect what the SDK left behind, while that is not an error."""
        yield
        gc.collect()


class TestStream(_SmithyPython):
    known = STREAM

    async def consume(self, target: Target) -> Outcome:
        async with client(target) as bedrock:
            asked = models.ConverseStreamInput(**question(target))
            async with await bedrock.converse_stream(asked) as stream:
                return await folded_async(told(stream.output_stream))


class TestWhole(_SmithyPython):
    operation = "Converse"
    known = WHOLE

    async def consume(self, target: Target) -> Outcome:
        async with client(target) as bedrock:
            answer = await bedrock.converse(models.ConverseInput(**question(target)))
            message = answer.output.value if isinstance(answer.output, models.ConverseOutputMessage) else None
            content = [part(block) for block in message.content] if message else []
            return whole({"output": {"message": {"content": content}}, "stopReason": answer.stop_reason.value})
