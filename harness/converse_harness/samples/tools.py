"""The tool of the sample conversation: what the model is told of it, its use, its result, and tools that run."""

from __future__ import annotations

from typing import Any, Final, cast

NAME: Final = "get_weather"
ID: Final = "tooluse_8Kf2mXq0RtWvY3hNcLbP5A"


def json_schema() -> dict[str, Any]:
    """The input of the tool: a city, and for how many days."""
    return {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "integer", "description": "Days from today", "minimum": 1, "maximum": 7},
        },
        "required": ["city"],
    }


def spec() -> dict[str, Any]:
    """What the model is told of the tool; the AWS API and Strands take it as it is."""
    return {"name": NAME, "description": "Get the weather forecast for a city.", "inputSchema": {"json": json_schema()}}


def strict_spec() -> dict[str, Any]:
    """The same, and the model must keep to the schema."""
    schema = {**json_schema(), "additionalProperties": False}
    return {**spec(), "inputSchema": {"json": schema}, "strict": True}


def tool() -> dict[str, Any]:
    """The specification under its tag."""
    return {"toolSpec": spec()}


def tool_use_input() -> dict[str, Any]:
    """What the model asks the tool."""
    return {"city": "Zürich", "days": 2}


def tool_use() -> dict[str, Any]:
    """The model asks for the forecast."""
    return {"toolUseId": ID, "name": NAME, "input": tool_use_input()}


def forecast() -> dict[str, Any]:
    """What the tool answers."""
    days = [{"day": "Saturday", "high": 12, "sky": "rain"}, {"day": "Sunday", "high": 17, "sky": "sunny"}]
    return {"city": "Zürich", "forecast": days}


def result_content() -> dict[str, Any]:
    """The forecast as JSON."""
    return {"json": forecast()}


def result_status() -> str:
    """It worked."""
    return "success"


def result() -> dict[str, Any]:
    """The result of the tool use."""
    return {"toolUseId": ID, "content": [result_content()], "status": result_status()}


def choice_auto() -> dict[str, Any]:
    """It has no members."""
    return {}


def choice_any() -> dict[str, Any]:
    """It has no members."""
    return {}


def choice_tool() -> dict[str, Any]:
    """The tool that must be used."""
    return {"name": NAME}


def choice_auto_dict() -> dict[str, Any]:
    """A tool or none."""
    return {"auto": choice_auto()}


def choice_any_dict() -> dict[str, Any]:
    """Some tool."""
    return {"any": choice_any()}


def choice_tool_dict() -> dict[str, Any]:
    """This tool."""
    return {"tool": choice_tool()}


def config() -> dict[str, Any]:
    """The tools of a request."""
    return {"tools": [tool()], "toolChoice": choice_auto_dict()}


def system_tool() -> dict[str, Any]:
    """A tool of the service's own."""
    return {"name": "nova_grounding"}


def reference() -> dict[str, Any]:
    """A tool that is added or removed on the way."""
    return {"tool": {"type": "tool_reference", "name": NAME}}


def get_weather(tool_use: Any, **kwargs: Any) -> Any:
    """The tool: whatever it is asked, the forecast for Zürich."""
    return {**result(), "toolUseId": tool_use["toolUseId"]}


def function() -> Any:
    """The tool as a function."""
    return get_weather


def agent_tool() -> Any:
    """The tool as an object that runs."""
    from converse_harness.types.tools import FunctionTool

    return FunctionTool(cast("Any", spec()), get_weather)


def handler() -> Any:
    """What runs tool uses."""
    from converse_harness.types.tools import run_tools

    return run_tools(agent_tool())


def generator() -> Any:
    """The tool at work: it yields the result."""
    return agent_tool().stream(tool_use(), {})


def context() -> Any:
    """What the tool is told beside its input."""
    from converse_harness.types.tools import ToolContext

    return ToolContext(tool_use=cast("Any", tool_use()), agent=None, invocation_state={"booking": "BK-482913"})
