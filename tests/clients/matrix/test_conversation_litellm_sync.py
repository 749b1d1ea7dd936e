"""litellm sends back what the model said."""

from __future__ import annotations

from typing import Any

import litellm
import pytest

from converse_harness import HttpxFake
from tests.clients import three_turns
from tests.clients.litellm_warnings import WARNINGS
from tests.clients.matrix.litellm_outcome import forget_clients

pytestmark = [pytest.mark.filterwarnings(warning) for warning in WARNINGS]

TOOL = {
    "type": "function",
    "function": {
        "name": three_turns.TOOL,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("first", three_turns.ANSWERS)
def test_a_tool_loop(converse_httpx: HttpxFake, monkeypatch: pytest.MonkeyPatch, first: str, streaming: bool) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    three_turns.answer(converse_httpx, first)
    forget_clients()
    messages: list[Any] = []
    for text in (three_turns.QUESTION, three_turns.THANKS):
        messages.append({"role": "user", "content": text})
        calls: list[Any] | None = []
        while calls is not None:
            asked: Any = {"model": f"bedrock/converse/{three_turns.MODEL}", "messages": messages, "tools": [TOOL]}
            answered: Any = litellm.completion(**asked, aws_region_name="us-east-1", stream=streaming)
            if streaming:
                answered = litellm.stream_chunk_builder([*answered], messages=messages)
            message = answered.choices[0].message
            messages.append(message)
            calls = message.tool_calls or None
            ids = [call.id for call in calls or ()]
            messages += [{"role": "tool", "tool_call_id": each, "content": three_turns.WEATHER} for each in ids]
    three_turns.check(converse_httpx)
