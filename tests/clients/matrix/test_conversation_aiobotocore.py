"""aiobotocore sends back what the model said."""

from __future__ import annotations

from typing import Any

import pytest
from aiobotocore.session import get_session

from converse_harness import Fake, assemble
from tests.clients import three_turns

TOOLS = {"tools": [{"toolSpec": {"name": three_turns.TOOL, "inputSchema": {"json": {"type": "object"}}}}]}


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("first", three_turns.ANSWERS)
@pytest.mark.asyncio
async def test_a_tool_loop(converse: Fake, first: str, streaming: bool) -> None:
    three_turns.answer(converse, first)
    messages: list[Any] = []
    async with get_session().create_client("bedrock-runtime", region_name="us-east-1") as made:
        client: Any = made
        for text in (three_turns.QUESTION, three_turns.THANKS):
            content: list[Any] = [{"text": text}]
            while content:
                messages.append({"role": "user", "content": content})
                asked: dict[str, Any] = {"modelId": three_turns.MODEL, "messages": messages, "toolConfig": TOOLS}
                if streaming:
                    message = assemble(
                        [event async for event in (await client.converse_stream(**asked))["stream"]]
                    ).message
                else:
                    message = (await client.converse(**asked))["output"]["message"]
                messages.append(message)
                content = [
                    {"toolResult": {"toolUseId": block["toolUse"]["toolUseId"], "content": [{"text": "sunny"}]}}
                    for block in message["content"]
                    if "toolUse" in block
                ]
    three_turns.check(converse)
