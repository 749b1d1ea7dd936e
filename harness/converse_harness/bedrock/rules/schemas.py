"""Rules about schemas: of tools, as the gateway and Claude check them, and of structured output."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from converse_harness.bedrock.findings import is_object
from converse_harness.bedrock.rules.asked import RuleRequest, RuleViolation, needs
from converse_harness.json_values import is_array, is_number

Check = Callable[[Any], bool]

_COMBINATORS: Final = ("oneOf", "allOf", "anyOf")

_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What Claude takes for the name of a property at the root of a schema; below it, any."""

_BEYOND_NOVA: Final = ("$defs", "definitions")


def _schemas(asked: RuleRequest) -> Iterator[tuple[int, int, Any]]:
    """The index of each tool, its index among the tools that the model receives, and its schema."""
    told = 0
    for n, tool in enumerate(asked.tools):
        if "toolSpec" in tool:
            schema = tool["toolSpec"].get("inputSchema", {})
            if "json" in schema:
                yield n, told, schema["json"]
            told += 1


def _at(n: int, *steps: str) -> str:
    return ".".join((f"toolConfig.tools[{n}].toolSpec.inputSchema.json", *steps))


@needs("toolConfig")
def of_other_types(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The root of a tool's schema has a type other than object."""
    for n, _, schema in _schemas(asked):
        if is_object(schema) and schema.get("type") != "object":
            yield RuleViolation(_at(n, "type"), {"n": n})


@needs("toolConfig")
def that_are_no_objects(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A tool's schema is a string, a list or a number."""
    for n, _, schema in _schemas(asked):
        if not isinstance(schema, Mapping):
            yield RuleViolation(_at(n), {"n": n})


@needs("toolConfig")
def with_properties_that_are_no_object(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The `properties` of a tool's schema are null, a list or a string."""
    for n, _, schema in _schemas(asked):
        if is_object(schema) and "properties" in schema and not is_object(schema["properties"]):
            yield RuleViolation(_at(n, "properties"), {"n": n, "found": _type_of(schema["properties"])})


@needs("toolConfig")
def with_combinators_at_the_root(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The root of a tool's schema is a combinator (oneOf, anyOf or allOf)."""
    for n, told, schema in _schemas(asked):
        for keyword in _COMBINATORS:
            if is_object(schema) and keyword in schema:
                yield RuleViolation(_at(n, keyword), {"k": told})


@needs("toolConfig")
def with_other_keys(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A property at the root of a tool's schema has a name that is too long or has forbidden characters."""
    for n, told, schema in _schemas(asked):
        properties = schema.get("properties") if is_object(schema) else None
        for name in properties if is_object(properties) else ():
            if not _KEY.fullmatch(name):
                yield RuleViolation(_at(n, "properties", name), {"k": told})


@needs("toolConfig")
def of_other_drafts(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A tool's schema is not valid under draft 2020-12."""
    for n, told, schema in _schemas(asked):
        broken = broken_keyword(schema)
        if broken is not None:
            yield RuleViolation(_at(n, *broken), {"k": told})


@needs("toolConfig")
def with_definitions(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A tool's schema has definitions at its root."""
    for n, _, schema in _schemas(asked):
        for keyword in _BEYOND_NOVA:
            if is_object(schema) and keyword in schema:
                yield RuleViolation(_at(n, keyword), {"n": n, "key": keyword})


_OUTPUT: Final = "outputConfig.textFormat.structure.jsonSchema.schema"


def _output_schema(asked: RuleRequest) -> str | None:
    found: Any = asked.body
    for step in _OUTPUT.split("."):
        found = found.get(step) if is_object(found) else None
    return found if isinstance(found, str) else None


@needs("outputConfig")
def outputs_by_a_schema(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The request asks for structured output (an answer that matches a schema)."""
    if "textFormat" in asked.body.get("outputConfig", {}):
        yield RuleViolation("outputConfig.textFormat")


@needs("outputConfig")
def outputs_by_no_json(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The schema for structured output is not a JSON object."""
    text = _output_schema(asked)
    if text is not None and not is_object(_parsed(text)):
        yield RuleViolation(_OUTPUT)


@needs("outputConfig")
def outputs_by_open_objects(asked: RuleRequest) -> Iterator[RuleViolation]:
    """An object in the schema for structured output allows additional properties."""
    text = _output_schema(asked)
    for path, schema in _walk(_parsed(text)) if text is not None else ():
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            yield RuleViolation(".".join((_OUTPUT, *path)))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _type_of(value: object) -> str:
    """The gateway's name for the type of a JSON value."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "object")


def broken_keyword(schema: object) -> tuple[str, ...] | None:
    """The path of the first keyword whose value draft 2020-12 does not allow; None for a valid schema.

    >>> broken_keyword({"type": "object", "properties": {"n": {"exclusiveMinimum": True}}})
    ('properties', 'n', 'exclusiveMinimum')
    >>> broken_keyword({"type": "object", "nullable": True}) is None
    True
    """
    if not is_object(schema):
        return None if isinstance(schema, bool) else ()
    for keyword, value in schema.items():
        check = _KEYWORDS.get(keyword)
        if check is not None and not check(value):
            return (keyword,)
    for path, inner in _inside(schema):
        broken = broken_keyword(inner)
        if broken is not None:
            return (*path, *broken)
    return None


def _walk(schema: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield a schema and all schemas inside it."""
    if is_object(schema):
        yield path, schema
        for steps, inner in _inside(schema):
            yield from _walk(inner, (*path, *steps))


def _inside(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    for keyword, value in schema.items():
        if keyword in _HOLDS_ONE:
            yield (keyword,), value
        elif keyword in _HOLDS_A_LIST and isinstance(value, list):
            for index, each in enumerate(cast("list[object]", value)):
                yield (keyword, str(index)), each
        elif keyword in _HOLDS_A_MAP and is_object(value):
            for name, each in value.items():
                if not (keyword == "dependencies" and isinstance(each, list)):
                    yield (keyword, name), each


_HOLDS_ONE: Final = frozenset(
    [
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_HOLDS_A_LIST: Final = frozenset({*_COMBINATORS, "prefixItems"})
_HOLDS_A_MAP: Final = frozenset(
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]
)

_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_ID: Final = re.compile(r"[^#]*#?")


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return is_number(value) and math.isfinite(value) and value == int(value) and value >= 0


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return is_array(value) and all(map(_is_string, value)) and len(set(value)) == len(value)


def _is_type(value: Any) -> bool:
    return value in _TYPES if _is_string(value) else _are_names(value) and bool(value) and set(value) <= set(_TYPES)


def _dependencies(value: Any) -> bool:
    return is_object(value) and all(_are_names(each) or not is_array(each) for each in value.values())


_KEYWORDS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(["$comment", "$dynamicRef", "$ref", "$schema", "$recursiveRef", "contentEncoding"], _is_string),
    **dict.fromkeys(["contentMediaType", "description", "format", "pattern", "title"], _is_string),
    **dict.fromkeys(["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"], is_number),
    **dict.fromkeys(["maxContains", "maxItems", "maxLength", "maxProperties"], _is_count),
    **dict.fromkeys(["minContains", "minItems", "minLength", "minProperties"], _is_count),
    **dict.fromkeys(["deprecated", "readOnly", "uniqueItems", "writeOnly"], _is_flag),
    **dict.fromkeys(["enum", "examples"], is_array),
    **dict.fromkeys(_HOLDS_A_MAP, is_object),
    **dict.fromkeys(_HOLDS_A_LIST, lambda value: is_array(value) and bool(value)),
    **dict.fromkeys(["$anchor", "$dynamicAnchor", "$recursiveAnchor"], lambda value: _fits(_ANCHOR, value)),
    "$id": lambda value: _fits(_ID, value),
    "$vocabulary": lambda value: is_object(value) and all(map(_is_flag, value.values())),
    "dependencies": _dependencies,
    "dependentRequired": lambda value: is_object(value) and all(map(_are_names, value.values())),
    "multipleOf": lambda value: is_number(value) and value > 0,
    "required": _are_names,
    "type": _is_type,
}
"""Keywords of draft 2020-12, with those that it still knows of older drafts, and what their values must be."""


def _fits(pattern: re.Pattern[str], value: Any) -> bool:
    return _is_string(value) and pattern.fullmatch(value) is not None
