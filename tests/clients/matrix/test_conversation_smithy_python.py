"""smithy-python sends back what the model said."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import pytest
from aws_sdk_bedrock_runtime import models
from aws_sdk_bedrock_runtime.client import AsyncBedrockRuntimeClient
from aws_sdk_bedrock_runtime.config import AsyncBedrockRuntimeConfig
from smithy_core.documents import Document

from converse_harness import ConverseServer
from tests.clients import three_turns

SCHEMA = models.ToolInputSchemaJson(Document({"type": "object"}))
TOOL = models.ToolToolSpec(models.ToolSpecification(name=three_turns.TOOL, input_schema=SCHEMA))


def result(use: models.ToolUseBlock) -> models.ContentBlockToolResult:
    text = models.ToolResultContentBlockText(three_turns.WEATHER)
    return models.ContentBlockToolResult(models.ToolResultBlock(tool_use_id=use.tool_use_id, content=[text]))


@pytest.mark.parametrize("first", three_turns.ANSWERS)
@pytest.mark.asyncio
async def test_a_tool_loop(converse_server: ConverseServer, first: str) -> None:
    messages: list[Any] = []
    with converse_server.script() as fake:
        three_turns.answer(fake, first)
        with patch.dict(os.environ, fake.environ):
            config = await AsyncBedrockRuntimeConfig.resolve()
            async with AsyncBedrockRuntimeClient(config) as client:
                for text in (three_turns.QUESTION, three_turns.THANKS):
                    content: list[Any] = [models.ContentBlockText(text)]
                    while content:
                        messages.append(models.Message(role=models.ConversationRole.USER, content=content))
                        asked = models.ConverseInput(
                            model_id=three_turns.MODEL,
                            messages=messages,
                            tool_config=models.ToolConfiguration(tools=[TOOL]),
                        )
                        answered: Any = await client.converse(asked)
                        message = answered.output.value
                        messages.append(message)
                        uses = [each for each in message.content if isinstance(each, models.ContentBlockToolUse)]
                        content = [result(each.value) for each in uses]
        three_turns.check(fake)
