"""Strategies for `converse_harness.types.tools`: specifications, uses and results of tools, and tools that run."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, get_args

from hypothesis import strategies as st

from converse_harness.types import tools as types
from converse_strategies import basics
from converse_strategies.basics import (
    RARELY,
    Texts,
    Value,
    Values,
    built,
    cached,
    composite,
    dicts,
    either,
    rarely,
    sampled,
    some,
    tagged,
)
from converse_strategies.json_schema import json_schemas as _json_schemas
from converse_strategies.strands.media import document_contents, image_contents

_SIGNATURES: Final = st.text("abcdefghijklmnopqrstuvwxyz0123456789+/=", min_size=1, max_size=24)
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
"""Names of the annotations of a tool in the Model Context Protocol."""


def json_schemas() -> Values:
    """JSONSchemas with the type `object`, such as those for the inputs of tools."""
    return _json_schemas()


@composite
def tool_specs(draw: st.DrawFn, *, texts: Texts | None = None) -> Value:
    """ToolSpecs: `inputSchema` is a JSON Schema, directly or under `json`, as in the AWS API.

    Some ToolSpecs also have an output schema or annotations.

    >>> from hypothesis import find
    >>> spec = find(tool_specs(), lambda spec: "json" in spec["inputSchema"])
    >>> spec["inputSchema"]["json"]["type"]
    'object'
    """
    schema = draw(json_schemas())
    wrapped = draw(st.booleans())
    spec: Value = {
        "name": draw(basics.tool_names()),
        "description": draw(some(texts)),
        "inputSchema": {"json": schema} if wrapped else schema,
    }
    if draw(RARELY):
        spec["outputSchema"] = draw(json_schemas())
    if draw(RARELY):
        spec["annotations"] = draw(st.dictionaries(sampled(_HINTS), st.booleans(), max_size=len(_HINTS)))
    return spec


def tools(*, texts: Texts | None = None) -> Values:
    """Tools of a request: dicts with a ToolSpec under `toolSpec`."""
    return tagged("toolSpec", tool_specs(texts=texts))


def tool_uses() -> Values:
    """ToolUses: the input is a JSON object, as from every model. One in four has a signature of the reasoning."""
    use = dicts({"toolUseId": basics.tool_use_ids(), "name": basics.tool_names(), "input": basics.json_objects()})
    return rarely(use, tagged("reasoningSignature", _SIGNATURES))


def tool_result_statuses() -> st.SearchStrategy[str]:
    """ToolResultStatuses: `"success"` or `"error"`."""
    return sampled(get_args(types.ToolResultStatus))


def tool_result_contents(*, texts: Texts | None = None) -> Values:
    """ToolResultContents: dicts with a text, any JSON value, an image or a document."""
    documents = document_contents(texts=texts)
    return either(text=some(texts), json=basics.json_values(), image=image_contents(), document=documents)


@cached
def tool_results(*, texts: Texts | None = None) -> Values:
    """ToolResults: a tool use id, a status and at most three contents."""
    contents = st.lists(tool_result_contents(texts=texts), max_size=3)
    return dicts({"content": contents, "status": tool_result_statuses(), "toolUseId": basics.tool_use_ids()})


def tool_choice_autos() -> Values:
    """ToolChoiceAutos, which are also ToolChoiceAnys: always the empty dict."""
    return dicts({})


tool_choice_anys = tool_choice_autos


def tool_choice_tools() -> Values:
    """ToolChoiceTools: dicts with the name of a tool."""
    return tagged("name", basics.tool_names())


def tool_choice_auto_dicts() -> Values:
    """ToolChoiceAutoDicts: `{"auto": {}}`."""
    return tagged("auto", tool_choice_autos())


def tool_choice_any_dicts() -> Values:
    """ToolChoiceAnyDicts: `{"any": {}}`."""
    return tagged("any", tool_choice_anys())


def tool_choice_tool_dicts() -> Values:
    """ToolChoiceToolDicts: `{"tool": {"name": ...}}`."""
    return tagged("tool", tool_choice_tools())


def tool_choices() -> Values:
    """ToolChoices: dicts with one member, `auto`, `any` or `tool`.

    >>> from hypothesis import find
    >>> find(tool_choices(), lambda choice: "tool" in choice)
    {'tool': {'name': '0'}}
    """
    return either(auto=tool_choice_autos(), any=tool_choice_anys(), tool=tool_choice_tools())


@composite
def tool_configs(draw: st.DrawFn, *, texts: Texts | None = None) -> Value:
    """ToolConfigs: one to three tools with different names, and a tool choice. If the choice is `tool`, it names one of
    these tools.
    """
    found = draw(st.lists(tools(texts=texts), min_size=1, max_size=3, unique_by=_name))
    choice = draw(tool_choices())
    if "tool" in choice:
        choice = {"tool": {"name": draw(st.sampled_from([tool["toolSpec"]["name"] for tool in found]))}}
    return {"tools": found, "toolChoice": choice}


def _name(tool: Value) -> Any:
    return tool["toolSpec"]["name"]


@composite
def tool_funcs(draw: st.DrawFn, *, texts: Texts | None = None) -> types.ToolFunc:
    """ToolFuncs: the function `echo`, or a function that always returns the same content and status.

    Some functions return the result directly, some return an awaitable.

    >>> from hypothesis import find
    >>> find(tool_funcs(), lambda function: True).__name__
    'echo'
    """
    kind = draw(_FUNCTIONS)
    if kind == "echo":
        return types.echo
    content: Any = draw(st.lists(tool_result_contents(texts=texts), max_size=2))
    status: Any = draw(tool_result_statuses())

    def answer(tool_use: types.ToolUse, **kwargs: Any) -> types.ToolResult:
        return {"content": content, "status": status, "toolUseId": tool_use["toolUseId"]}

    async def answer_later(tool_use: types.ToolUse, **kwargs: Any) -> types.ToolResult:
        return answer(tool_use)

    def answer_awaited(tool_use: types.ToolUse, **kwargs: Any) -> Awaitable[types.ToolResult]:
        return answer_later(tool_use)

    return answer if kind == "answer" else answer_awaited


_FUNCTIONS: Final = st.sampled_from(("echo", "answer", "answer_awaited"))


def agent_tools(*, texts: Texts | None = None) -> st.SearchStrategy[types.FunctionTool]:
    """AgentTools that can be run: FunctionTools made from a ToolSpec and a ToolFunc.

    >>> from hypothesis import find
    >>> find(agent_tools(), lambda tool: True).tool_type
    'function'
    """
    return built(types.FunctionTool, tool_specs(texts=texts), tool_funcs(texts=texts))


@cached
def run_tool_handlers(*, texts: Texts | None = None) -> st.SearchStrategy[types.RunToolHandler]:
    """RunToolHandlers: the return values of `run_tools` for at most two tools."""
    return st.lists(agent_tools(texts=texts), max_size=2).map(lambda found: types.run_tools(*found))


@cached
def tool_generators(*, texts: Texts | None = None) -> st.SearchStrategy[types.ToolGenerator]:
    """ToolGenerators from which nothing was read yet. Each runs one tool for one tool use; the last value is a
    ToolResult.
    """

    def begin(tool: types.AgentTool, use: Any) -> types.ToolGenerator:
        return tool.stream(use, {})

    return built(begin, agent_tools(texts=texts), tool_uses())


@cached
def interrupts(*, texts: Texts | None = None) -> st.SearchStrategy[types.Interrupt]:
    """Interrupts: questions of a tool to a person. `response` is a text, or None if the person has not answered yet."""
    answers = st.none() | some(texts)
    return st.builds(types.Interrupt, basics.tool_use_ids(), basics.tool_names(), basics.json_values(), answers)


@cached
def interrupt_exceptions(*, texts: Texts | None = None) -> st.SearchStrategy[types.InterruptException]:
    """InterruptExceptions for questions that the person has not answered yet."""
    asked = st.builds(types.Interrupt, basics.tool_use_ids(), basics.tool_names(), st.none() | some(texts))
    return asked.map(types.InterruptException)


def tool_contexts() -> st.SearchStrategy[types.ToolContext[None]]:
    """ToolContexts with a tool use and an invocation state; `agent` is None."""
    return built(types.ToolContext[None], tool_uses(), st.none(), basics.json_objects())


interruptibles = tool_contexts
"""Return a strategy for objects with the method `interrupt`, which asks a person a question. Such objects are
ToolContexts.
"""
