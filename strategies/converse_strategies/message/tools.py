"""Strategies for tools, their uses and their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, cast

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_strategies import basics
from converse_strategies.basics import Json, Texts, cached, composite, sampled
from converse_strategies.json_schema.breaking import draw_broken
from converse_strategies.json_schema.compiling import plan
from converse_strategies.json_schema.plans import Drawing
from converse_strategies.json_schema.schemas import draw_schema
from converse_strategies.message.blocks import SERVER_TOOLS
from converse_strategies.message.media import documents, images

Spec = Mapping[str, Any]
"""A Tool, a ToolSpecification, or only a JSON Schema. In a ToolSpecification, the schema is directly in `inputSchema`,
as in Strands, or under `json`, as in the AWS API.
"""


@composite
def tool_specs(
    draw: st.DrawFn, *, schemas: st.SearchStrategy[Json] | None = None, texts: Texts | None = None
) -> dict[str, Any]:
    """AWS ToolSpecifications: a name, a JSON Schema whose type is `object`, and sometimes a description.

    `schemas` is a strategy for the schema, by default `json_schemas()`. Without `schemas`, some specifications are
    `strict`, if the installed botocore has this member. The schema of such a specification has no limits, and allows
    only the members that it names. `texts` is a strategy for the description.

    >>> from hypothesis import find
    >>> find(tool_specs(), lambda spec: True)
    {'name': '0', 'inputSchema': {'json': {'type': 'object', 'properties': {}}}}
    """
    spec: Json = {"name": draw(basics.tool_names())}
    bits = draw(_BITS)
    if bits & 1:
        spec["description"] = draw(basics.visible_texts(texts))
    strict = bits >> 1 == 3 and schemas is None and bedrock.has_member("ToolSpecification", "strict")
    spec["inputSchema"] = {"json": draw_schema(draw, 4, strict=strict) if schemas is None else draw(schemas)}
    if strict:
        spec["strict"] = True
    return spec


@composite
def tools(draw: st.DrawFn, *, kinds: Collection[str] | None = None, texts: Texts | None = None) -> dict[str, Any]:
    """AWS Tools: a toolSpec, a systemTool (one that the service runs), or a cachePoint.

    `kinds` are the members of Tool to choose from, by default all that the installed botocore has. Raises
    InvalidArgument, when drawn, for an unknown kind.

    >>> from hypothesis import find
    >>> find(tools(kinds=["cachePoint"]), lambda tool: True)
    {'cachePoint': {'type': 'default'}}
    """
    known = tuple(name for name in _TOOLS if bedrock.has_member("Tool", name))
    kind = draw(st.sampled_from(basics.chosen("tools", "kinds", kinds, known)))
    return {"toolSpec": draw(tool_specs(texts=texts))} if kind == "toolSpec" else {kind: draw(_TOOLS[kind]())}


@composite
def tool_inputs(draw: st.DrawFn, schema: Spec, *, texts: Texts | None = None) -> dict[str, Any]:
    """Inputs of a tool: objects that satisfy its schema.

    `schema` is a JSON Schema, directly or under `json`, or a whole Tool or ToolSpecification. `texts` is a strategy for
    strings. Raises InvalidArgument, when drawn, if the schema's type is not `object`, or if `schema_values` raises it
    for the schema.

    >>> from hypothesis import find
    >>> find(tool_inputs({"type": "object", "properties": {"days": {"minimum": 1}}}), lambda input: input)
    {'days': 1}
    """
    return _input(draw, "tool_inputs()", _read("tool_inputs()", schema)[1], texts)


@composite
def tool_uses(
    draw: st.DrawFn, spec: Spec | st.SearchStrategy[Spec | None] | None = None, *, texts: Texts | None = None
) -> dict[str, Any]:
    """AWS ToolUseBlocks, which use the tool `spec`, with an input that satisfies its schema, if `spec` is given.

    `spec` is an AWS ToolSpecification, a Tool that contains one, a JSON Schema alone (then the name is any name), or a
    strategy for these. `texts` is a strategy for strings in the input. Raises InvalidArgument, when drawn, for any
    other `spec`.

    >>> from hypothesis import find
    >>> weather = {"name": "get_weather", "inputSchema": {"json": {"type": "object", "required": ["city"]}}}
    >>> find(tool_uses(weather), lambda use: True)
    {'toolUseId': 'tooluse_aaaaaaaaaaaaaaaaaaaaaa', 'name': 'get_weather', 'input': {'city': None}}
    """
    return draw_tool_use(draw, draw(spec) if isinstance(spec, st.SearchStrategy) else spec, texts)


def draw_tool_use(draw: st.DrawFn, given: Spec | None, texts: Texts | None = None) -> dict[str, Any]:
    """Draw a tool use as `tool_uses` does. For a spec that is drawn, too, no strategy has to be built."""
    use: Json = {"toolUseId": draw(basics.tool_use_ids()), **draw(basics.tool_use_types())}
    if given is None:
        return {**use, "name": draw(basics.tool_names()), "input": draw(basics.json_objects())}
    name, schema = _read("tool_uses()", given)
    use["name"] = draw(basics.tool_names()) if name is None else name
    return {**use, "input": _input(draw, "tool_uses()", schema, texts)}


@composite
def invalid_tool_uses(
    draw: st.DrawFn, spec: Spec | st.SearchStrategy[Spec], *, texts: Texts | None = None
) -> dict[str, Any]:
    """AWS ToolUseBlocks that are wrong for the tool `spec`: the input breaks its schema in one place, or the name is
    wrong.

    The input is always an object, because models send only objects. `spec` and `texts` mean the same as in `tool_uses`.
    Raises InvalidArgument, when drawn, if no tool use can be wrong: `spec` has no name, and its schema allows every
    object.

    >>> from hypothesis import find
    >>> weather = {"name": "get_weather", "inputSchema": {"json": {"type": "object", "required": ["city"]}}}
    >>> find(invalid_tool_uses(weather), lambda use: use["name"] == "get_weather")["input"]
    {}
    """
    given = draw(spec) if isinstance(spec, st.SearchStrategy) else spec
    name, schema = _read("invalid_tool_uses()", given)
    use: Json = {"toolUseId": draw(basics.tool_use_ids()), **draw(basics.tool_use_types())}
    if name is None or draw(st.booleans()):
        broken = draw_broken(draw, "invalid_tool_uses()", schema, texts, objects=True)
        if broken is not None:
            return {**use, "name": draw(basics.tool_names()) if name is None else name, "input": broken.value}
    if name is None:
        raise InvalidArgument(
            f"invalid_tool_uses(): {given!r} has no name and allows every object, so nothing is wrong for it. Give a "
            "ToolSpecification with a name, or a schema that asks for something."
        )
    other = draw(basics.tool_names())
    if other == name:
        other = f"{name[:63]}{'1' if name[63:] == '0' else '0'}"
    return {**use, "name": other, "input": _input(draw, "invalid_tool_uses()", schema, texts)}


@composite
def tool_results(
    draw: st.DrawFn,
    tool_use: Mapping[str, Any] | st.SearchStrategy[Mapping[str, Any]] | None = None,
    *,
    kinds: Collection[str] | None = None,
    texts: Texts | None = None,
) -> dict[str, Any]:
    """AWS ToolResultBlocks, which are results of `tool_use` if it is given.

    `tool_use` is an AWS ToolUseBlock, a ContentBlock that contains one, or a strategy for these. `kinds` are the
    members of ToolResultContentBlock to choose from; `texts` is a strategy for texts. JSON is always an object, texts
    are not blank, a result with the status `error` has content, and the names of documents differ. Source: AWS's API
    model, and reports of Bedrock's users about refused requests. Raises InvalidArgument, when drawn, for an unknown
    kind and for an invalid tool use.

    >>> from hypothesis import find
    >>> use = {"toolUseId": "tooluse_1", "name": "get_weather", "input": {}}
    >>> find(tool_results(use), lambda result: result.get("status") == "error")
    {'toolUseId': 'tooluse_1', 'content': [{'text': '0'}], 'status': 'error'}
    """
    allowed = basics.chosen("tool_results", "kinds", kinds, tuple(RESULTS))
    given = draw(tool_use) if isinstance(tool_use, st.SearchStrategy) else tool_use
    return draw_tool_result(draw, draw(basics.tool_use_ids()) if given is None else _id(given), allowed, texts)


def draw_tool_result(
    draw: st.DrawFn, name: str, kinds: tuple[str, ...] | None = None, texts: Texts | None = None
) -> dict[str, Any]:
    """Draw the result of the tool use with the id `name`, as `tool_results` does. No strategy has to be built."""
    result: Json = {"toolUseId": name}
    status = draw(_STATUSES)
    several = draw(_several_kinds(tuple(RESULTS) if kinds is None else kinds, int(status == "error")))
    result["content"] = [{kind: draw(RESULTS[kind](texts))} for kind in several]
    names: set[str] = set()
    for document in (item["document"] for item in result["content"] if "document" in item):
        document["name"] = basics.distinct(document["name"], names, 200)
    if status is not None:
        result["status"] = status
    return result


@cached
def _several_kinds(kinds: tuple[str, ...], least: int) -> st.SearchStrategy[list[str]]:
    return st.lists(sampled(kinds), min_size=least, max_size=3)


@composite
def tool_configs(draw: st.DrawFn, *, max_tools: int = 3, texts: Texts | None = None) -> dict[str, Any]:
    """AWS ToolConfigurations: tools with different names, and sometimes a tool choice, which may name one of the tools.

    There are one to `max_tools` tools of the kind toolSpec. After them, there may be a systemTool, if the installed
    botocore has it, and a cachePoint. `texts` is a strategy for descriptions.

    >>> from hypothesis import find
    >>> find(tool_configs(), lambda config: "tool" in config.get("toolChoice", {}))["toolChoice"]
    {'tool': {'name': '0'}}
    """
    specs = draw(_different_specs(texts, max_tools))
    found: list[Json] = [{"toolSpec": spec} for spec in specs]
    names = [_name_of(spec) for spec in specs]
    bits = draw(_BITS)
    if bits & 4 and bedrock.has_member("Tool", "systemTool"):
        tool = draw(_SYSTEM_TOOLS)
        found += [{"systemTool": tool}] if tool["name"] not in names else []
    if bits & 2:
        found.append({"cachePoint": draw(cache_points())})
    config: Json = {"tools": found}
    if bits & 1:
        config["toolChoice"] = _draw_choice(draw, names)
    return config


@cached
def _different_specs(texts: Texts | None, most: int) -> st.SearchStrategy[list[Json]]:
    return st.lists(tool_specs(texts=texts), min_size=1, max_size=most, unique_by=_name_of)


@composite
def tool_choices(
    draw: st.DrawFn, tool_config: Mapping[str, Any] | Collection[str] | None = None
) -> dict[str, dict[str, Any]]:
    """AWS ToolChoices: auto, any, or one tool by its name.

    `tool_config` is the ToolConfiguration of the request, or the names of its tools; without it, any name is drawn. For
    a ToolConfiguration without a toolSpec, the choice is auto or any. Raises InvalidArgument, when drawn, for an empty
    list of names and for a string.

    >>> from hypothesis import find
    >>> [find(tool_choices(["f"]), lambda choice, kind=kind: kind in choice) for kind in ("auto", "any", "tool")]
    [{'auto': {}}, {'any': {}}, {'tool': {'name': 'f'}}]
    """
    return _draw_choice(draw, None if tool_config is None else _names(tool_config))


def _draw_choice(draw: st.DrawFn, names: list[str] | None) -> dict[str, dict[str, Any]]:
    kind = draw(sampled(("auto", "any") if names == [] else ("auto", "any", "tool")))
    if kind != "tool":
        return {kind: {}}
    return {"tool": {"name": draw(basics.tool_names() if names is None else st.sampled_from(names))}}


_BITS: Final = st.integers(0, 7)
_STATUSES: Final = st.sampled_from((None, "success", "error"))


_SYSTEM_TOOLS: Final = st.fixed_dictionaries({"name": st.sampled_from(SERVER_TOOLS)})


@cached
def cache_points() -> st.SearchStrategy[Json]:
    """AWS CachePointBlocks. Some have a lifetime, if the installed botocore has the member `ttl`."""
    lives = bedrock.enum("CacheTTL") if bedrock.has_member("CachePointBlock", "ttl") else ()
    more = {"ttl": st.sampled_from(lives)} if lives else {}
    return st.fixed_dictionaries({"type": st.just("default")}, optional=more)


RESULTS: Final[Mapping[str, Callable[[Texts | None], st.SearchStrategy[Any]]]] = {
    "text": basics.visible_texts,
    "json": lambda texts: basics.json_objects(),
    "image": lambda texts: images(),
    "document": lambda texts: documents(),
}
"""Member of ToolResultContentBlock -> function that takes a strategy for texts, and returns one for this member. The
simplest comes first.
"""

_TOOLS: Final[Mapping[str, Callable[[], st.SearchStrategy[Json]]]] = {
    "toolSpec": tool_specs,
    "systemTool": lambda: _SYSTEM_TOOLS,
    "cachePoint": cache_points,
}
"""Member of Tool -> function that returns the strategy for this member."""


def _mapping(value: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def _inside(value: object, name: str) -> Mapping[str, Any] | None:
    """Return the member `name` of `value`, or `value` itself if it does not have this member.

    Return None if the result would not be a mapping.
    """
    outer = _mapping(value)
    return outer if outer is None or name not in outer else _mapping(outer[name])


def _read(function: str, spec: object) -> tuple[str | None, Json]:
    """Return (name of the tool, schema of its input) from `spec`. The name is None if `spec` is a schema alone.

    Raises InvalidArgument if `spec` is no tool or schema, or if the type of the schema is not `object`.
    """
    tool = _inside(spec, "toolSpec")
    schema = _inside(tool, "inputSchema")
    name = tool.get("name") if tool is not None and schema is not tool else None
    if schema is not None and {*schema} == {"json"}:
        schema = _mapping(schema["json"])
    if schema is None or {"systemTool", "cachePoint", "name"}.intersection(schema):
        raise InvalidArgument(
            f"{function}: {spec!r} is no tool with a schema. Give an AWS ToolSpecification (name, inputSchema), the "
            "Tool around it, or a JSON Schema."
        )
    if schema.get("type", "object") != "object":
        raise InvalidArgument(
            f"{function}: the type of the schema is {schema['type']!r}; Bedrock takes tools whose schema has the type "
            "'object' alone. Put what you have into a property of an object."
        )
    if name is not None:
        bedrock.check("ToolName", name, root=f"{function}: the name of the tool", error=InvalidArgument)
    return name, {**schema}


def _input(draw: st.DrawFn, function: str, schema: Any, texts: Texts | None) -> Json:
    value: Json = plan(function, schema, texts, objects=True)[1].value(Drawing(draw))
    return value


def _id(tool_use: object) -> str:
    use = _inside(tool_use, "toolUse")
    if use is None or "toolUseId" not in use:
        raise InvalidArgument(
            f"tool_results(tool_use={tool_use!r}): this is no tool use, it has no toolUseId. Give an AWS ToolUseBlock "
            "(toolUseId, name, input), the ContentBlock around it, or None for any."
        )
    return str(use["toolUseId"])


def _name_of(spec: Json) -> str:
    return str(spec["name"])


def _names(tool_config: Mapping[str, Any] | Collection[str]) -> list[str]:
    if isinstance(tool_config, Mapping):
        config = cast("Mapping[str, Any]", tool_config)
        return [_name_of(tool["toolSpec"]) for tool in config.get("tools", ()) if "toolSpec" in tool]
    names = list(tool_config) if hasattr(tool_config, "__iter__") and not isinstance(tool_config, str) else []
    if not names:
        raise InvalidArgument(
            f"tool_choices(tool_config={tool_config!r}): give a ToolConfiguration, a list of the names of its tools, "
            "or None for any."
        )
    return names
