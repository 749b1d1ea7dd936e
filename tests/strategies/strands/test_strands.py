"""The strategies of Strands' vocabulary: consistent, fresh, reaching everything, with the manners of hypothesis."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from importlib import import_module
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness.types import content as content_types
from converse_harness.types import event_loop, guardrails, memory, session, tools
from converse_harness.types import streaming as streaming_types
from converse_strategies import strands
from converse_strategies.strands import content, media, streaming
from converse_strategies.strands import event_loop as loops
from converse_strategies.strands import guardrails as guards
from converse_strategies.strands import memory as memories
from converse_strategies.strands import session as sessions
from converse_strategies.strands import tools as tool_strategies
from converse_strategies.strands.table import TABLE
from tests.profiles import examples
from tests.strategies.conftest import as_drawn, drawn, found, never

WITH_TEXTS = list(
    dict.fromkeys(function for function in TABLE.values() if "texts" in inspect.signature(function).parameters)
)  # in the table's order: a set of functions is ordered by their addresses, and two workers of xdist would differ


@pytest.mark.parametrize("name", sorted(TABLE))
def test_strategy_is_public_in_the_module_of_its_type(name: str) -> None:
    subject = name.partition(".")[0]
    module = import_module(f"converse_strategies.strands.{subject}")
    function = TABLE[name]
    assert any(value is function for name, value in vars(module).items() if not name.startswith("_"))
    assert function.__doc__


@pytest.mark.parametrize("function", WITH_TEXTS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_texts_that_are_no_strategy_are_refused_when_drawn(function: Callable[..., Any]) -> None:
    wrong = function(texts="abc")
    with pytest.raises(InvalidArgument, match=r"texts='abc'( is no strategy\.|\): texts is a strategy)"):
        found(wrong, lambda value: False)


def test_texts_without_a_hash_are_refused_alike() -> None:
    wrong: Any = ["abc"]
    with pytest.raises(InvalidArgument, match=r"texts=\['abc'\]( is no strategy|\): texts is a strategy)"):
        found(content.messages(texts=wrong), lambda value: False)


def walk(value: Any, path: str = "") -> dict[str, Any]:
    """Everything in a value, by path."""
    found = {path: value}
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= walk(inner, f"{path}.{key}")
    if isinstance(value, list):
        for place, inner in enumerate(value):
            found |= walk(inner, f"{path}[{place}]")
    return found


DICTS = ("content.Message", "streaming.StreamEvent", "guardrails.Trace", "tools.ToolConfig", "tools.ToolResult")


@pytest.mark.parametrize("name", DICTS)
def test_texts_given_are_those_in_the_value(name: str) -> None:
    @settings(max_examples=examples(1))
    @given(TABLE[name](texts=st.just("only this")))  # type: ignore[call-arg]
    def only_those(value: Any) -> None:
        members = ("text", "title", "match", "description", "message", "originalMessage", "redactUserContentMessage")
        for path, inner in walk(value).items():
            if path.rpartition(".")[2] in members and isinstance(inner, str) and "Schema" not in path:
                assert inner == "only this" or ".json" in path or ".input." in path or ".custom" in path, path

    only_those()


@pytest.mark.parametrize("name", DICTS)
def test_values_are_fresh(name: str) -> None:
    @settings(max_examples=examples(0.5))
    @given(st.data())
    def spoiled(data: st.DataObject) -> None:
        first = data.draw(TABLE[name]())
        for inner in walk(first).values():
            if isinstance(inner, dict):
                inner["spoiled"] = True
            elif isinstance(inner, list):
                inner.append("spoiled")
        assert "spoiled" not in repr(data.draw(TABLE[name]()))

    spoiled()


@given(loops.usages(), loops.metrics())
def test_costs_add_up(usage: Mapping[str, int], metrics: Mapping[str, int]) -> None:
    assert usage["totalTokens"] == sum(usage.values()) - usage["totalTokens"]
    assert min(usage.values()) >= 0
    assert 0 <= metrics.get("timeToFirstByteMs", 0) <= metrics["latencyMs"]


@given(content.conversations())
def test_conversations_answer_every_tool_use(messages: list[dict[str, Any]]) -> None:
    assert [message["role"] for message in messages] == [("user", "assistant")[i % 2] for i in range(len(messages))]
    used: list[str] = []
    asked: list[str] = []
    for message in messages:
        answers = [block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block]
        assert answers == asked
        assert all("toolResult" in block for block in message["content"][: len(answers)])
        assert message["content"]
        asked = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        used += asked
    assert len(used) == len(set(used))


@given(guards.traces())
def test_traces_are_consistent(trace: dict[str, Any]) -> None:
    found = trace["guardrail"]
    assert bool(found["modelOutput"]) == bool(found["outputAssessments"])
    assert set(found["outputAssessments"]) <= set(found["inputAssessment"])
    for path, inner in walk(trace).items():
        if path.endswith("]") and isinstance(inner, dict) and "threshold" in inner:
            assert (inner["action"] == "BLOCKED") == (inner["score"] < inner["threshold"])
            assert 0 <= inner["score"] <= 1


@given(tool_strategies.tool_configs())
def test_tool_configs_are_consistent(config: dict[str, Any]) -> None:
    names = [tool["toolSpec"]["name"] for tool in config["tools"]]
    assert len(names) == len(set(names)) > 0
    assert config["toolChoice"].get("tool", {"name": names[0]})["name"] in names
    for tool in config["tools"]:
        schema = tool["toolSpec"]["inputSchema"]
        assert schema.get("json", schema)["type"] == "object"


@given(tool_strategies.run_tool_handlers(), tool_strategies.agent_tools(), tool_strategies.tool_uses(), st.data())
def test_tools_run(handler: tools.RunToolHandler, tool: tools.FunctionTool, use: Any, data: st.DataObject) -> None:
    async def last(generator: Any) -> Any:
        return [event async for event in generator][-1]

    for generator in (handler(use), tool.stream(use, {})):
        result = asyncio.run(last(generator))
        assert result["toolUseId"] == use["toolUseId"]
        assert result["status"] in get_args(tools.ToolResultStatus)
    assert asyncio.run(last(data.draw(tool_strategies.tool_generators())))["content"] is not None


@given(tool_strategies.tool_contexts())
def test_contexts_can_ask(context: tools.ToolContext[None]) -> None:
    with pytest.raises(tools.InterruptException):
        context.interrupt("sure")


@given(sessions.session_messages(), sessions.session_agents(), sessions.sessions())
def test_sessions_survive_json(
    message: session.SessionMessage, agent: session.SessionAgent, kept: session.Session
) -> None:
    for value in (message, agent, kept):
        again = type(value).from_dict(json.loads(json.dumps(value.to_dict())))
        assert again == value
        assert value.created_at <= value.updated_at


@given(sessions.values_with_bytes(), sessions.encoded_values())
def test_bytes_go_both_ways(value: Any, encoded: Any) -> None:
    assert session.decode_bytes_values(session.encode_bytes_values(value)) == value
    assert session.encode_bytes_values(session.decode_bytes_values(encoded)) == encoded
    json.dumps(encoded)


@given(memories.memory_stores(), memories.injection_query_contexts(), memories.injection_format_contexts(), st.data())
def test_memory_works(
    store: memory.InMemoryStore,
    query: memory.InjectionQueryContext,
    form: memory.InjectionFormatContext,
    data: st.DataObject,
) -> None:
    assert len(asyncio.run(store.search("", {}))) <= len(store.entries)
    data.draw(memories.injection_query_callbacks())(query)
    assert isinstance(data.draw(memories.injection_format_callbacks())(form), str)
    numbers = data.draw(memories.add_messages_contexts()).sequence_numbers
    assert numbers is None or numbers == sorted(set(numbers))


def tag(value: Mapping[str, Any]) -> str:
    return next(iter(value))


@pytest.mark.parametrize(
    ("strategy", "what", "wanted"),
    [
        (streaming.stream_events(), tag, streaming_types.StreamEvent.__annotations__),
        (content.content_blocks(), tag, content_types.ContentBlock.__annotations__),
        (streaming.content_block_deltas(), tag, streaming_types.ContentBlockDelta.__annotations__),
        (loops.stop_reasons(), str, get_args(event_loop.StopReason)),
        (guards.pii_entities(), lambda entity: entity["type"], get_args(guardrails.PIIType)),
        (media.image_sources(), tag, ("bytes", "location")),
        (streaming.content_block_stop_events(), lambda event: event.get("contentBlockIndex", "no"), ("no", None, 0, 9)),
    ],
    ids=lambda value: None,
)
def test_every_kind_is_reached(
    strategy: st.SearchStrategy[Any], what: Callable[[Any], Hashable], wanted: Iterable[Hashable]
) -> None:
    assert never(strategy, wanted, lambda value: [what(value)]) == set()


def test_what_is_out_of_reach_is_named() -> None:
    assert never(st.sampled_from("ab"), "abc", str) == {"c"}


def test_exceptions_are_rare() -> None:
    seen = [tag(event).endswith("Exception") for event in drawn(streaming.stream_events(), 5)]
    assert 0 < sum(seen) / len(seen) < 0.3


def test_strands_is_not_aws() -> None:
    """The words of Strands alone are in these strategies, and in no other."""
    found(streaming.stream_events(), lambda event: "redactContent" in event)
    found(streaming.message_stop_events(), lambda event: event["stopReason"] == "interrupt")
    found(tool_strategies.tool_specs(), lambda spec: "json" not in spec["inputSchema"])
    found(media.image_contents(), lambda image: image["source"].get("location", {}).get("type") == "s3")
    assert strands.__doc__


NOT_PLAIN = ("exceptions.", "memory.", "session.Session", "tools._")
OBJECTS = {
    "tools.AgentTool",
    "tools.FunctionTool",
    "tools.Interrupt",
    "tools.InterruptException",
    "tools.RunToolHandler",
}
OBJECTS |= {"tools.ToolContext", "tools.ToolFunc", "tools.ToolGenerator"}


@pytest.mark.parametrize("name", sorted(name for name in TABLE.keys() - OBJECTS if not name.startswith(NOT_PLAIN)))
def test_a_counterexample_can_be_pasted(name: str) -> None:
    """What hypothesis prints is the value, not a call of our functions: a small one, and a larger if there is one."""
    assert pasted(TABLE[name](), 0)
    pasted(TABLE[name](), 80)


def pasted(strategy: st.SearchStrategy[Any], least: int) -> bool:
    """Whether there is a value of that size, as a test that fails for it prints it."""

    @as_drawn(0.5)
    @given(value=strategy)
    def fails(value: Any) -> None:
        assert len(repr(value)) < least

    try:
        fails()
    except AssertionError as failure:
        (note,) = (note for note in failure.__notes__ if "fails(" in note)
        call = ast.parse(note[note.index("fails(") :], mode="eval").body
        assert isinstance(call, ast.Call)
        ast.literal_eval(call.keywords[0].value)
        return True
    return False
