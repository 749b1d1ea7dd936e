"""Tools run, ask a person and are told apart; exceptions carry what they are made with."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest

from converse_harness.types.exceptions import EventLoopException, ModelThrottledException
from converse_harness.types.tools import (
    AgentTool,
    FunctionTool,
    InterruptException,
    ToolContext,
    ToolFunc,
    ToolResult,
    ToolSpec,
    ToolUse,
    echo,
    run_tools,
)

SPEC: ToolSpec = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
USE: ToolUse = {"toolUseId": "tooluse_1", "name": "echo", "input": {"city": "Zürich"}}
ECHOED = {"content": [{"json": {"city": "Zürich"}}], "status": "success", "toolUseId": "tooluse_1"}


def yielded(generator: Any) -> list[Any]:
    async def read() -> list[Any]:
        return [event async for event in generator]

    return asyncio.run(read())


def test_function_tool_calls_its_function() -> None:
    tool = FunctionTool(SPEC, echo)
    assert (tool.tool_name, tool.tool_spec, tool.tool_type) == ("echo", SPEC, "function")
    assert yielded(tool.stream(USE, {})) == [ECHOED]
    assert repr(tool) == f"FunctionTool({SPEC!r}, echo)"


def test_function_tool_awaits_and_hands_on_what_the_agent_was_called_with() -> None:
    async def who(tool_use: ToolUse, **kwargs: Any) -> ToolResult:
        return {"content": [{"text": kwargs["user"]}], "status": "success", "toolUseId": tool_use["toolUseId"]}

    (result,) = yielded(FunctionTool(SPEC, who).stream(USE, {"user": "Ada"}))
    assert result["content"] == [{"text": "Ada"}]


def test_agent_tool_is_abstract_and_has_the_usual_properties() -> None:
    with pytest.raises(TypeError, match="abstract"):
        AgentTool()  # type: ignore[abstract]
    tool = FunctionTool(SPEC, echo)
    assert not tool.supports_hot_reload
    assert not tool.is_dynamic
    tool.mark_dynamic()
    assert tool.is_dynamic


def test_run_tools_finds_the_tool_or_says_which_there_are() -> None:
    run = run_tools(FunctionTool(SPEC, echo))
    assert yielded(run(USE)) == [ECHOED]
    (refused,) = yielded(run({**USE, "name": "sing"}))
    assert (refused["status"], refused["toolUseId"]) == ("error", "tooluse_1")
    assert refused["content"] == [{"text": "There is no tool 'sing'; there is echo."}]


def test_echo_is_a_tool_func() -> None:
    function: ToolFunc = echo
    assert function.__name__ == "echo"


def test_context_asks_once_and_remembers_the_answer() -> None:
    context = ToolContext(tool_use=USE, agent=None, invocation_state={})
    with pytest.raises(InterruptException) as asked:
        context.interrupt("sure", reason={"delete": "k"})
    assert (asked.value.interrupt.name, asked.value.interrupt.reason) == ("sure", {"delete": "k"})
    asked.value.interrupt.response = "no"
    assert context.interrupt("sure") == "no"
    with pytest.raises(InterruptException):
        context.interrupt("another question")


def test_context_that_resumes_has_the_answers_of_the_one_before() -> None:
    context = ToolContext(tool_use=USE, agent=None, invocation_state={})
    with pytest.raises(InterruptException) as asked:
        context.interrupt("sure")
    asked.value.interrupt.response = 1
    resumed = ToolContext(tool_use=copy.deepcopy(USE), agent=None, invocation_state={}, interrupts=context.interrupts)
    assert resumed.interrupt("sure") == 1
    other_use = ToolContext({**USE, "toolUseId": "tooluse_2"}, None, {}, interrupts=context.interrupts)
    with pytest.raises(InterruptException):
        other_use.interrupt("sure")


def test_answer_known_beforehand_is_given_at_once() -> None:
    assert ToolContext(USE, None, {}).interrupt("sure", response="yes") == "yes"


def test_contexts_share_nothing_by_accident() -> None:
    one, other = ToolContext(USE, None, {}), ToolContext(USE, None, {})
    one.cancel_signal.set()
    one.interrupt("sure", response="yes")
    assert not other.cancel_signal.is_set()
    assert not other.interrupts
    assert one == other  # neither is what a context is compared by


def test_exceptions_carry_what_they_are_made_with() -> None:
    cause = ValueError("no such tool")
    assert EventLoopException(cause).request_state == {}
    state = {"turn": 0}
    assert EventLoopException(cause, state).request_state is state
    assert ModelThrottledException("slow down").message == str(ModelThrottledException("slow down")) == "slow down"


@pytest.mark.parametrize("error", [EventLoopException(ValueError("no"), {"turn": 1}), ModelThrottledException("slow")])
def test_exceptions_survive_pickle(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert vars(again).keys() == vars(error).keys()
    assert repr(vars(again)) == repr(vars(error))
