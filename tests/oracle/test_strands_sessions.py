"""strands reads the sessions that we write, and we read theirs; its agents use our tools."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("strands")

import strands.types.session as theirs
from strands import Agent
from strands.models import BedrockModel
from strands.types.tools import AgentTool as StrandsAgentTool

import converse_harness.types.session as ours
from converse_harness import Fake, reply
from converse_harness.types.content import Message
from converse_harness.types.tools import FunctionTool, ToolResult, ToolUse

PICTURE: Message = {
    "role": "user",
    "content": [{"text": "What is this?"}, {"image": {"format": "gif", "source": {"bytes": b"GIF89a"}}}],
}
REMOVED: Message = {"role": "user", "content": [{"text": "[removed]"}]}
TIMES = {"created_at": "2026-01-02T03:04:05+00:00", "updated_at": "2026-01-02T03:04:06+00:00"}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_bytes_are_written_and_read_alike(value: Any) -> None:
    encoded = ours.encode_bytes_values(value)
    assert encoded == theirs.encode_bytes_values(value)
    assert theirs.decode_bytes_values(encoded) == ours.decode_bytes_values(encoded) == value


@pytest.mark.parametrize("redacted", [None, REMOVED])
def test_messages_are_read_by_either(redacted: Message | None) -> None:
    mine = ours.SessionMessage(PICTURE, 3, redacted, **TIMES)
    other = theirs.SessionMessage(cast("Any", PICTURE), 3, cast("Any", redacted), **TIMES)
    assert mine.to_dict() == other.to_dict()
    written = json.loads(json.dumps(mine.to_dict()))
    assert theirs.SessionMessage.from_dict(written) == other
    assert ours.SessionMessage.from_dict(written) == mine
    assert theirs.SessionMessage.from_dict(written).to_message() == mine.to_message()


def test_sessions_are_read_by_either() -> None:
    mine = ours.Session("s1", ours.SessionType.AGENT, **TIMES)
    other = theirs.Session("s1", theirs.SessionType.AGENT, **TIMES)
    assert json.dumps(mine.to_dict()) == json.dumps(other.to_dict())
    assert ours.Session.from_dict(json.loads(json.dumps(other.to_dict()))) == mine
    # strands keeps the type as the string that came; its enum is equal to that.
    assert theirs.Session.from_dict(json.loads(json.dumps(mine.to_dict()))) == other


def without_times(kept: Any) -> dict[str, Any]:
    return {name: value for name, value in kept.to_dict().items() if name not in TIMES}


def test_agents_are_kept_and_restored_alike() -> None:
    agent = Agent(agent_id="a1", state={"mood": "good"}, callback_handler=None)
    kept = ours.SessionAgent.from_agent(agent)
    assert without_times(kept) == without_times(theirs.SessionAgent.from_agent(agent))
    written = json.loads(json.dumps(kept.to_dict()))
    written["_internal_state"]["interrupt_state"]["context"] = {"asked": "yes"}
    restored = Agent(agent_id="a1", callback_handler=None)
    ours.SessionAgent.from_dict(written).initialize_internal_state(restored)
    assert restored._interrupt_state.context == {"asked": "yes"}


def test_agent_uses_a_function_tool(converse: Fake) -> None:
    def weather(tool_use: ToolUse, **kwargs: Any) -> ToolResult:
        text = f"Sunny in {tool_use['input']['city']}, {kwargs['user']}."
        return {"content": [{"text": text}], "status": "success", "toolUseId": tool_use["toolUseId"]}

    StrandsAgentTool.register(FunctionTool)
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = FunctionTool({"name": "weather", "description": "Tells it.", "inputSchema": {"json": schema}}, weather)
    converse.script(reply.tool_use("weather", {"city": "Bern"}), reply.text("Take a hat."))
    agent = Agent(model=BedrockModel(model_id="amazon.nova-lite-v1:0"), tools=[tool], callback_handler=None)
    assert str(agent("Weather?", invocation_state={"user": "Ada"})).strip() == "Take a hat."
    (result,) = converse.calls[1].tool_results
    assert result["content"] == [{"text": "Sunny in Bern, Ada."}]
