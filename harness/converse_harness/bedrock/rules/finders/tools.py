"""Rules about the tools that a request offers, and about tool uses and tool results."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from converse_harness.bedrock.rules.request import (
    FIELDS,
    INVOKED,
    Finder,
    RuleRequest,
    RuleViolation,
    alone,
    at,
    in_contents,
    in_request,
    in_results,
    in_tools,
    needs,
)
from converse_harness.json_values import is_array, is_number, is_object, member_of, object_of, objects_of


@needs("toolUse", "toolResult")
def tools_without_config(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find tool uses and tool results in a request without a toolConfig."""
    for kind in () if "toolConfig" in asked.body else ("toolUse", "toolResult"):
        for n, m, _ in asked.blocks(kind):
            yield RuleViolation(at(n, m, kind), {"n": n, "m": m, "kind": kind})


def duplicates(kind: str) -> Finder:
    """Make a Finder that yields the messages in which two blocks of the given `kind` have the same toolUseId.

    `kind` is toolUse or toolResult.
    """

    @alone("messages", kind)
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n, ids in sorted(asked.client_ids[kind].items()):
            twice = [each for each, count in Counter(ids).items() if count > 1]
            if twice:
                yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(twice)})

    return find


@needs("toolResult")
def more_results_than_uses(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages that have more tool results than there are tool uses in the last message of the other role before
    them.

    Results with the same id count once.
    """
    uses = asked.client_ids["toolUse"]
    for n, results in sorted(asked.client_ids["toolResult"].items()):
        if len({*results}) > len(uses.get(_turn_before(asked, n), ())):
            yield RuleViolation(at(n, None, "content"), {"n": n})


def _turn_before(asked: RuleRequest, n: int) -> int:
    """Return the index of the last message before message `n` with another role; -1 if no such message exists."""
    role = asked.messages[n].get("role")
    return next((k for k in range(n - 1, -1, -1) if asked.messages[k].get("role") != role), -1)


@needs("toolUse")
def missing_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find tool uses without a tool result in the next message. Tool uses in the last message are allowed."""
    results = asked.client_ids["toolResult"]
    for n, uses in sorted(asked.client_ids["toolUse"].items()):
        missing = [each for each in uses if each not in results.get(n + 1, ())]
        if missing and n + 1 < len(asked.messages):
            yield RuleViolation(at(n + 1, None, "content"), {"n": n + 1, "ids": ", ".join(missing)})


results_that_are_no_objects: Final = in_results("json", breaks=lambda value: not isinstance(value, Mapping))
"""Finds tool results whose JSON is not an object."""

texts_beside_uses: Final = in_contents("toolUse", lambda kinds: "text" in kinds)
"""Finds messages that contain both a tool use and a text."""

blocks_beside_results: Final = in_contents("toolResult", lambda kinds: bool(kinds - {"toolResult", "cachePoint"}))
"""Finds messages that contain a tool result and a block of another kind; cache points are allowed."""


@alone("messages", "toolResult")
def results_after_a_text(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages with a tool result that begin with a text."""
    for n, ids in sorted(asked.client_ids["toolResult"].items()):
        if ids and "text" in asked.block(n, 0):
            yield RuleViolation(at(n, 0, "text"), {"n": n, "ids": ", ".join(ids)})


def choices(kind: str) -> Finder:
    """Make a Finder that yields the toolChoice of a request if it is of the given `kind`."""
    path = f"toolConfig.toolChoice.{kind}"
    return in_request(path, lambda asked: kind in asked.tool_config.get("toolChoice", {}), "toolConfig")


@needs("toolConfig")
def forced(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a toolChoice that forces the use of a tool."""
    for kind in ("any", "tool"):
        if kind in asked.tool_config.get("toolChoice", {}):
            yield RuleViolation(f"toolConfig.toolChoice.{kind}")


def offered(operation: str) -> Finder:
    """Make a Finder that yields the toolConfig of each request that calls `operation`."""
    return in_request("toolConfig", lambda it: it.operation == operation and "toolConfig" in it.body, "toolConfig")


_WEB_SEARCH: Final = "web_search_20250305"
"""The only tool of Anthropic for which a refusal of CountTokens is recorded."""


@needs(INVOKED)
def web_searches_in_a_body(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find Anthropic's web search among the tools of an InvokeModel body whose tokens CountTokens counts."""
    for k, tool in enumerate(objects_of(member_of(asked.invoked, "tools"))):
        if tool.get("type") == _WEB_SEARCH:
            yield RuleViolation(f"invokeModel.body.tools[{k}].type", {"k": k, "tag": _WEB_SEARCH})


@alone("toolConfig", "toolConfig")
def names_twice(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find tools with the name of an earlier tool."""
    seen: set[str] = set()
    for n, tool in enumerate(asked.tools):
        name = tool.get("toolSpec", {}).get("name")
        if name in seen:
            yield RuleViolation(f"toolConfig.tools[{n}].toolSpec.name")
        if name is not None:
            seen.add(name)


names_with_hyphens: Final = in_tools(lambda tool: "-" in tool.get("toolSpec", {}).get("name", ""), "toolSpec.name")
"""Finds tools whose name contains a hyphen."""


Steps = tuple[str, ...]

_COMBINATORS: Final = ("oneOf", "allOf", "anyOf")

_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Matches the property names that Claude accepts at the root of a schema. At deeper levels, Claude accepts any name."""

_BEYOND_NOVA: Final = ("$defs", "definitions")


def _in_schemas(wrong: Callable[[Any], Iterable[Steps]]) -> Finder:
    """Make a Finder from a function that returns the paths of the errors in the schema of a tool."""

    @alone("toolConfig", "toolConfig")
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n, k, spec in _specs(asked):
            schema = spec.get("inputSchema", {})
            for steps in wrong(schema["json"]) if "json" in schema else ():
                path = ".".join((f"toolConfig.tools[{n}].toolSpec.inputSchema.json", *steps))
                found = _type_of(member_of(schema["json"], *steps))
                yield RuleViolation(path, {"n": n, "k": k, "key": ".".join(steps), "found": found})

    return find


def _specs(asked: RuleRequest) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Yield (index among the tools and cache points, index among the tools, toolSpec) for each tool of the request.

    A model's message contains the second index, because the model does not receive the cache points.
    """
    places = [n for n, tool in enumerate(asked.tools) if "toolSpec" in tool]
    yield from ((n, k, asked.tools[n]["toolSpec"]) for k, n in enumerate(places))


@_in_schemas
def of_other_types(schema: object) -> Iterable[Steps]:
    """Find tool schemas whose root has no type, or a type other than object."""
    return [("type",)] if is_object(schema) and schema.get("type") != "object" else []


@_in_schemas
def that_are_no_objects(schema: object) -> Iterable[Steps]:
    """Find tool schemas that are not JSON objects."""
    return [] if isinstance(schema, Mapping) else [()]


@_in_schemas
def with_properties_that_are_no_object(schema: object) -> Iterable[Steps]:
    """Find tool schemas whose `properties` are not a JSON object, for example null."""
    return [("properties",)] if is_object(schema) and not is_object(schema.get("properties", {})) else []


@_in_schemas
def with_combinators_at_the_root(schema: object) -> Iterable[Steps]:
    """Find combinators (oneOf, anyOf or allOf) at the root of a tool's schema."""
    return [(keyword,) for keyword in _COMBINATORS if is_object(schema) and keyword in schema]


@_in_schemas
def with_other_keys(schema: object) -> Iterable[Steps]:
    """Find properties at the root of a tool's schema whose names are too long or have forbidden characters."""
    properties = schema.get("properties") if is_object(schema) else None
    return [("properties", name) for name in object_of(properties) if not _KEY.fullmatch(name)]


@_in_schemas
def of_other_drafts(schema: object) -> Iterable[Steps]:
    """Find tool schemas that are not valid under JSON Schema draft 2020-12."""
    broken = broken_keyword(schema)
    return [] if broken is None else [broken]


@_in_schemas
def with_definitions(schema: object) -> Iterable[Steps]:
    """Find the keywords `$defs` and `definitions` at the root of a tool's schema."""
    return [(keyword,) for keyword in _BEYOND_NOVA if is_object(schema) and keyword in schema]


OUTPUT: Final = "outputConfig.textFormat.structure.jsonSchema.schema"
"""The path, in a request, of the schema for structured output."""


def has_an_output_by_no_json(asked: RuleRequest) -> bool:
    """Whether the schema for structured output is not a JSON object."""
    return not is_object(_output_schema(asked))


OWN_OUTPUT: Final = f"{FIELDS}.output_config.format.schema"
"""The path, in a request to Claude, of the schema for structured output in Anthropic's own form."""


def _output_schemas(asked: RuleRequest) -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each schema for structured output."""
    yield OUTPUT, _output_schema(asked)
    yield OWN_OUTPUT, member_of(asked.body, *OWN_OUTPUT.split("."))


@needs("outputConfig", FIELDS)
def outputs_by_open_objects(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find objects in a schema for structured output that do not set `additionalProperties` to false."""
    for place, root in _output_schemas(asked):
        yield from (RuleViolation(path) for path in _open_objects(place, root))


def _open_objects(place: str, root: object) -> Iterator[str]:
    """Yield the paths of the objects in a schema that do not set `additionalProperties` to false."""
    for path, schema in _walk(root):
        if is_object(schema) and schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            yield ".".join((place, *path))


@needs("outputConfig", FIELDS)
def outputs_with_limits(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find limits in a schema for structured output that Claude's structured output does not support."""
    for place, root in _output_schemas(asked):
        yield from _limits(place, root)


@needs("outputConfig", FIELDS)
def outputs_by_recursion(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a schema for structured output with a definition that contains a reference to itself."""
    for place, root in _output_schemas(asked):
        if is_object(root) and _is_recursive(root):
            yield RuleViolation(place)


_DEFINITION: Final = re.compile(r"#/(\$defs|definitions)/([^/]+)")


def _is_recursive(root: Mapping[str, Any]) -> bool:
    """Whether a chain of references in a schema returns to a definition that it has already passed."""

    def references(schema: object) -> set[tuple[str, str]]:
        found = (_DEFINITION.fullmatch(str(object_of(each).get("$ref"))) for _, each in _walk(schema))
        return {(match[1], match[2]) for match in found if match}

    uses = {
        (keyword, name): references(schema)
        for keyword in ("$defs", "definitions")
        for name, schema in object_of(root.get(keyword)).items()
    }
    reached = {name: set(direct) for name, direct in uses.items()}
    for _ in uses:
        for name, direct in reached.items():
            direct |= {further for each in [*direct] for further in reached.get(each, ())}
            if name in direct:
                return True
    return False


@alone("toolConfig", "toolConfig")
def strict_tools(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find tools with the member `strict`, whatever its value."""
    for n, k, spec in _specs(asked):
        if "strict" in spec:
            yield RuleViolation(f"toolConfig.tools[{n}].toolSpec.strict", {"k": k})


@alone("toolConfig", "toolConfig")
def strict_tools_with_open_objects(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find objects in the schemas of strict tools that do not set `additionalProperties` to false."""
    for n, k, spec in _specs(asked):
        if spec.get("strict"):
            place = f"toolConfig.tools[{n}].toolSpec.inputSchema.json"
            found = _open_objects(place, member_of(spec, "inputSchema", "json"))
            yield from (RuleViolation(path, {"k": k}) for path in found)


@alone("toolConfig", "toolConfig")
def strict_tools_with_limits(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find limits in the schemas of strict tools that Claude's structured output does not support."""
    for n, k, spec in _specs(asked):
        if spec.get("strict"):
            place = f"toolConfig.tools[{n}].toolSpec.inputSchema.json"
            yield from _limits(place, member_of(spec, "inputSchema", "json"), k=k)


_OF_NUMBERS: Final = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"})

_LIMITS: Final[Mapping[str, frozenset[str]]] = {
    "array": frozenset({"maxItems"}),
    "integer": _OF_NUMBERS,
    "number": _OF_NUMBERS,
}
"""Maps types to the keywords that Claude's structured output does not support. It supports those of strings."""


def _limits(place: str, root: object, **values: object) -> Iterator[RuleViolation]:
    """Yield a violation for each subschema of `root` with a keyword of `_LIMITS`, or with more `minItems` than one.

    The violation contains `values` as well.
    """
    for path, schema in _walk(root):
        kind = schema.get("type") if is_object(schema) else None
        found = sorted(object_of(schema).keys() & _LIMITS.get(kind, ())) if isinstance(kind, str) else []
        least = object_of(schema).get("minItems") if kind == "array" else 0
        if found:
            keywords = f"property '{found[0]}' is" if len(found) == 1 else f"properties {', '.join(found)} are"
        elif is_number(least) and least > 1:
            keywords = "'minItems' values other than 0 or 1 are"
        else:
            continue
        yield RuleViolation(".".join((place, *path)), {"type": kind, "keywords": keywords, **values})


def _output_schema(asked: RuleRequest) -> Any:
    """Return the schema for structured output; {} if the request has none, None if its text is not JSON."""
    text = member_of(asked.body, *OUTPUT.split("."))
    try:
        return json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return None


def _type_of(value: object) -> str:
    """Return the gateway's name for the type of a JSON value."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "object")


def broken_keyword(schema: object) -> Steps | None:
    """Return the path of the first keyword whose value draft 2020-12 does not allow; None for a valid schema.

    >>> broken_keyword({"type": "object", "properties": {"n": {"exclusiveMinimum": True}}})
    ('properties', 'n', 'exclusiveMinimum')
    >>> broken_keyword({"type": "object", "nullable": True}) is None
    True
    """
    for path, inner in _walk(schema):
        if is_object(inner):
            for keyword, value in inner.items():
                if keyword in _KEYWORDS and not _KEYWORDS[keyword](value):
                    return (*path, keyword)
        elif not isinstance(inner, bool):
            return path
    return None


def _walk(schema: object, path: Steps = ()) -> Iterator[tuple[Steps, object]]:
    """Yield the path and value of a schema and of every subschema, including invalid subschemas."""
    yield path, schema
    for keyword, value in schema.items() if is_object(schema) else ():
        if keyword in _HOLDS_ONE:
            yield from _walk(value, (*path, keyword))
        elif keyword in _HOLDS_A_LIST and is_array(value):
            for index, each in enumerate(value):
                yield from _walk(each, (*path, keyword, str(index)))
        elif keyword in _HOLDS_A_MAP and is_object(value):
            for name, each in value.items():
                if not (keyword == "dependencies" and is_array(each)):
                    yield from _walk(each, (*path, keyword, name))


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


_KEYWORDS: Final[Mapping[str, Callable[[Any], bool]]] = {
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
    "dependencies": lambda value: (
        is_object(value) and all(_are_names(each) or not is_array(each) for each in value.values())
    ),
    "dependentRequired": lambda value: is_object(value) and all(map(_are_names, value.values())),
    "multipleOf": lambda value: is_number(value) and value > 0,
    "required": _are_names,
    "type": _is_type,
}
"""Maps each keyword of JSON Schema draft 2020-12, and some keywords of older drafts, to the check of its value."""


def _fits(pattern: re.Pattern[str], value: Any) -> bool:
    return _is_string(value) and pattern.fullmatch(value) is not None
