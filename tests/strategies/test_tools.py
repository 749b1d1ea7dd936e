"""Tools, their uses and their results: valid in AWS's API model, within Bedrock's rules, consistent with each other."""

import json
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_strategies.json_schema import json_schemas
from converse_strategies.message.tools import (
    RESULTS,
    invalid_tool_uses,
    tool_choices,
    tool_configs,
    tool_inputs,
    tool_results,
    tool_specs,
    tool_uses,
    tools,
)
from tests.strategies.conftest import drawn, found

Json = dict[str, Any]

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"enum": ["c", "f"]},
    },
    "required": ["city"],
    "additionalProperties": False,
}
SPEC: Json = {"name": "get_weather", "description": "The weather.", "inputSchema": {"json": SCHEMA}}
FREE: Json = {"name": "ping", "inputSchema": {"json": {"type": "object", "properties": {}}}}

# What it shows with, as a Tool, as strands writes it, alone, alone as AWS has it, and drawn.
FORMS: dict[str, Any] = {
    "ToolSpecification": SPEC,
    "Tool": {"toolSpec": SPEC},
    "of strands": {**SPEC, "inputSchema": SCHEMA},
    "a schema": SCHEMA,
    "a wrapped schema": {"json": SCHEMA},
    "a strategy": st.sampled_from([SPEC, {"toolSpec": SPEC}]),
}
WRONG_SPECS: tuple[Any, ...] = (
    5,
    {"cachePoint": {"type": "default"}},
    {"name": "f"},
    {"toolSpec": 1},
    {"inputSchema": 1},
)


def is_valid(shape: str, value: object) -> bool:
    return not bedrock.validate(shape, value)


def satisfies(schema: Json, value: Any) -> bool:
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return bool(jsonschema.Draft202012Validator(schema, format_checker=checker).is_valid(value))


def members(values: Collection[Json]) -> set[str]:
    return {name for value in values for name in value}


@given(tool_specs())
def test_specs(spec: Json) -> None:
    assert is_valid("ToolSpecification", spec)
    schema = spec["inputSchema"]["json"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert spec.get("description", "x").strip()


def closed(schema: Any) -> bool:
    """Whether no object of a schema has members that it does not name, and nothing has a limit."""
    if isinstance(schema, list):
        return all(map(closed, schema))
    if not isinstance(schema, dict):
        return True
    limits = {"minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "multipleOf"}.intersection(schema)
    is_open = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    return not limits and not is_open and all(map(closed, schema.values()))


def test_strict_where_the_model_has_it() -> None:
    specs = drawn(tool_specs(), 4)
    assert members(specs) - {"strict"} == {"name", "description", "inputSchema"}
    assert ("strict" in members(specs)) is bedrock.has_member("ToolSpecification", "strict")
    assert all(closed(spec["inputSchema"]["json"]) for spec in specs if "strict" in spec)
    assert not all(closed(spec["inputSchema"]["json"]) for spec in specs)


def test_specs_of_given_schemas_and_texts() -> None:
    for spec in drawn(tool_specs(schemas=st.just(SCHEMA), texts=st.sampled_from(["", "d"])), 2.5):
        assert spec["inputSchema"] == {"json": SCHEMA}
        assert spec.get("description", "d") in ("d", "0")
        assert "strict" not in spec


def test_every_kind_of_tool() -> None:
    found = drawn(tools(), 4)
    assert members(found) == set(bedrock.shape("Tool").members)
    assert all(is_valid("Tool", tool) for tool in found)
    assert members(drawn(tools(kinds=["cachePoint"]), 0.5)) == {"cachePoint"}


@pytest.mark.parametrize("form", FORMS)
def test_uses_satisfy_the_schema(form: str) -> None:
    @given(tool_uses(FORMS[form]))
    def holds(use: Json) -> None:
        assert is_valid("ToolUseBlock", use)
        assert satisfies(SCHEMA, use["input"])
        assert use["name"] == "get_weather" or form.endswith("schema")

    holds()


@given(st.data())
def test_uses_of_any_spec(data: st.DataObject) -> None:
    spec = data.draw(tool_specs())
    use = data.draw(tool_uses(spec))
    assert is_valid("ToolUseBlock", use)
    assert use["name"] == spec["name"]
    assert isinstance(use["input"], dict)
    assert satisfies(spec["inputSchema"]["json"], use["input"])


@given(tool_uses(), tool_uses(st.none()))
def test_uses_of_any_tool(use: Json, other: Json) -> None:
    assert is_valid("ToolUseBlock", use)
    assert is_valid("ToolUseBlock", other)
    assert isinstance(use["input"], dict)


@given(tool_inputs(SCHEMA, texts=st.just("Zürich")))
def test_inputs_of_given_texts(value: Json) -> None:
    assert value["city"] == "Zürich"


@given(tool_inputs({"anyOf": [{"type": "string"}, {"properties": {"a": {}}}, {"type": "null"}]}))
def test_inputs_are_objects(value: Json) -> None:
    assert isinstance(value, dict)


@pytest.mark.parametrize("form", FORMS)
def test_invalid_uses_are_wrong(form: str) -> None:
    wrong: Counter[str] = Counter()

    @given(invalid_tool_uses(FORMS[form]))
    def holds(use: Json) -> None:
        assert is_valid("ToolUseBlock", use)
        assert isinstance(use["input"], dict)
        is_named = use["name"] == "get_weather" or form.endswith("schema")
        assert satisfies(SCHEMA, use["input"]) is not is_named  # one of the two is wrong, not both
        wrong["input" if is_named else "name"] += 1

    holds()
    assert set(wrong) == ({"input"} if form.endswith("schema") else {"input", "name"})


@given(st.data())
def test_invalid_uses_of_any_spec(data: st.DataObject) -> None:
    spec = data.draw(tool_specs())
    use = data.draw(invalid_tool_uses(spec))
    assert is_valid("ToolUseBlock", use)
    checked = satisfies(spec["inputSchema"]["json"], use["input"])
    assert (
        use["name"] != spec["name"] or not checked or '"uri"' in json.dumps(spec)
    )  # jsonschema takes any text for one


def test_something_to_break_is_always_found() -> None:
    """Where a value leaves out all that could be broken, another is drawn with it, and no example is given up."""
    begun: list[None] = []

    @st.composite
    def counted(draw: st.DrawFn) -> Json:
        begun.append(None)
        return draw(invalid_tool_uses({"type": "object", "properties": {"days": {"type": "integer"}}}))

    assert len(drawn(counted(), 1.5)) == len(begun)


@pytest.mark.parametrize("name", ["ping", "0", "a" * 63, "a" * 64, "a" * 63 + "0"])
def test_where_nothing_breaks_the_input_the_name_is_wrong(name: str) -> None:
    for use in drawn(invalid_tool_uses({**FREE, "name": name}), 2.5):
        assert use["name"] != name
        assert is_valid("ToolUseBlock", use)


@given(st.data())
def test_results_answer_their_use(data: st.DataObject) -> None:
    use = data.draw(tool_uses())
    result = data.draw(tool_results(data.draw(st.sampled_from([use, {"toolUse": use}]))))
    assert result["toolUseId"] == use["toolUseId"]


def test_results() -> None:
    found = drawn(tool_results(), 5)
    for result in found:
        assert is_valid("ToolResultBlock", result)
        assert result["content"] or result.get("status") != "error"
        for item in result["content"]:
            assert item.get("text", "x").strip()
            assert isinstance(item.get("json", {}), dict)
        names = [item["document"]["name"] for item in result["content"] if "document" in item]
        assert len(set(names)) == len(names)
    assert {result.get("status") for result in found} == {None, *bedrock.enum("ToolResultStatus")}
    assert members([item for result in found for item in result["content"]]) == set(RESULTS)


def test_results_of_given_kinds_and_texts() -> None:
    found = drawn(tool_results(tool_uses(), kinds=["json", "text"], texts=st.sampled_from([" ", "a"])), 5)
    items = [item for result in found for item in result["content"]]
    assert members(items) == {"text", "json"}
    assert {item["text"] for item in items if "text" in item} == {" 0", "a"}


def test_documents_of_one_result_have_names_of_their_own() -> None:
    result = found(tool_results(kinds=["document"]), lambda result: len(result["content"]) > 1)
    names = [item["document"]["name"] for item in result["content"]]
    assert len(set(names)) == len(names)


def test_configurations() -> None:
    found = drawn(tool_configs(), 8)
    choices: Counter[str] = Counter()
    for config in found:
        assert is_valid("ToolConfiguration", config)
        tools = [value for tool in config["tools"] for value in tool.values()]
        names = [tool["name"] for tool in tools if "name" in tool]
        assert len(set(names)) == len(names)
        specs = [tool["toolSpec"]["name"] for tool in config["tools"] if "toolSpec" in tool]
        assert 1 <= len(specs) <= 3
        choice = config.get("toolChoice", {})
        choices.update(choice.keys())
        assert choice.get("tool", {"name": specs[0]})["name"] in specs
    assert set(choices) == set(bedrock.shape("ToolChoice").members)
    assert members([tool for config in found for tool in config["tools"]]) == set(bedrock.shape("Tool").members)


def test_tools_of_one_configuration_have_names_of_their_own() -> None:
    config = found(tool_configs(), lambda config: sum("toolSpec" in tool for tool in config["tools"]) == 2)
    assert len({tool["toolSpec"]["name"] for tool in config["tools"] if "toolSpec" in tool}) == 2


@given(st.data())
def test_choices_go_with_their_configuration(data: st.DataObject) -> None:
    config = data.draw(tool_configs(max_tools=2))
    choice = data.draw(tool_choices(config))
    assert is_valid("ToolChoice", choice)
    specs = [tool["toolSpec"]["name"] for tool in config["tools"] if "toolSpec" in tool]
    assert choice.get("tool", {"name": specs[0]})["name"] in specs


def test_choices() -> None:
    assert members(drawn(tool_choices(), 2.5)) == {"auto", "any", "tool"}
    assert members(drawn(tool_choices({"tools": [{"cachePoint": {"type": "default"}}]}), 2.5)) == {"auto", "any"}
    assert {"name": "f"} in [choice.get("tool") for choice in drawn(tool_choices(["f"]), 2.5)]


@pytest.mark.parametrize("function", [tool_uses, tool_inputs, invalid_tool_uses])
@pytest.mark.parametrize("spec", WRONG_SPECS, ids=str)
def test_what_is_no_spec_is_refused(function: Callable[[Any], st.SearchStrategy[Json]], spec: Any) -> None:
    with pytest.raises(
        InvalidArgument, match=rf"^{function.__name__}\(\): .* is no tool with a schema. Give an AWS Tool"
    ):
        found(function(spec))


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (
            tool_inputs({"type": "string"}),
            r"tool_inputs\(\): the type of the schema is 'string'; Bedrock takes .*'object'",
        ),
        (tool_uses({**SPEC, "name": "a b"}), r"tool_uses\(\): the name of the tool is 'a b'"),
        (tool_uses({"type": "object", "then": {}}), r"tool_uses\(\): # has the keyword 'then'"),
        (tool_uses({"type": "object", "minProperties": 1, "maxProperties": 0}), r"tool_uses\(\): no value satisfies"),
        (invalid_tool_uses({"type": "object"}), r"has no name and allows every object.*Give a ToolSpecification"),
        (tools(kinds=["toolUse"]), r"tools\(kinds=\['toolUse'\]\): 'toolUse' is no choice .*: toolSpec, "),
        (tools(kinds=[]), "is no choice of kinds"),
        (tool_results(kinds=["video"]), "'video' is no choice of kinds.*: text, json, image, document"),
        (tool_results(kinds="text"), "kinds is a list of names"),
        (tool_results({"name": "f"}), "is no tool use, it has no toolUseId. Give an AWS ToolUseBlock"),
        (tool_results(st.just({"toolUse": 5})), "is no tool use"),
        (tool_choices("get_weather"), r"tool_choices\(tool_config='get_weather'\): give a ToolConfiguration"),
        (tool_choices([]), "give a ToolConfiguration"),
    ],
)
def test_wrong_arguments_are_refused_when_drawn(strategy: st.SearchStrategy[Json], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        found(strategy)


@given(st.data())
def test_inputs_of_any_schema(data: st.DataObject) -> None:
    schema = data.draw(json_schemas())
    assert satisfies(schema, data.draw(tool_inputs(schema)))
