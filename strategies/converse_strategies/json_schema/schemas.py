"""Strategies for JSON Schemas of tools, and for values that satisfy a schema."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_strategies.basics import Json, composite
from converse_strategies.json_schema.compiling import plan
from converse_strategies.json_schema.plans import Drawing

NAMES: Final = ("city", "days", "query", "unit", "tags", "user_id", "startDate", "max-results", "notes", "filter")
"""Names for the parameters of drawn tools."""

_DEFINITIONS: Final[Mapping[str, Json]] = {
    "Point": {
        "type": "object",
        "properties": {
            "latitude": {"type": "number", "minimum": -90, "maximum": 90},
            "longitude": {"type": "number", "minimum": -180, "maximum": 180},
        },
        "required": ["latitude", "longitude"],
    },
    "Comment": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "replies": {"type": "array", "items": {"$ref": "#/$defs/Comment"}, "default": []},
        },
        "required": ["text"],
    },
}
"""The schemas to which a drawn `$ref` refers: a Point has two numbers, and a Comment may have a list of Comments."""

SCALARS: Final[tuple[Json, ...]] = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "string", "enum": ["celsius", "fahrenheit"]},
    {"const": "celsius"},
    {"type": "string", "format": "date"},
    {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
)
"""Schemas of parameters without nested values, and without limits such as `minimum`, `maxLength` or `pattern`.

For tools with `strict`, no other schemas are drawn, except those of arrays and of objects that contain such values.
"""

LIMITED: Final[tuple[Json, ...]] = (
    {"type": "integer", "minimum": 0, "maximum": 100},
    {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "string", "minLength": 1, "maxLength": 20},
    {"type": "string", "pattern": "^[A-Z]{3}$"},
    {"type": "string", "format": "uri"},
    {"type": ["string", "null"]},
    {"anyOf": [{"type": "string"}, {"type": "number"}]},
    {"type": "object"},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
    {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    {"allOf": [{"type": "string"}, {"minLength": 2}]},
    {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": "id"}, "id": {"type": "integer"}},
                "required": ["kind"],
            },
            {"type": "object", "properties": {"kind": {"const": "all"}}, "required": ["kind"]},
        ]
    },
    {},
    {"$ref": "#/$defs/Point"},
    {"$ref": "#/$defs/Comment"},
)
"""Schemas of parameters that are not drawn for tools with `strict`, for example with limits or nested values."""


@composite
def json_schemas(draw: st.DrawFn, *, max_properties: int = 4) -> Json:
    """JSON Schemas like those of the parameters of tools: objects with typed properties, some of them required.

    A drawn schema may contain nested objects, arrays, enums, limits such as `minimum`, alternatives, definitions and
    descriptions. The type of the root is `object`, as Bedrock requires. `schema_values` supports every drawn schema.

    >>> from hypothesis import find
    >>> find(json_schemas(), lambda schema: schema.get("required"))
    {'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city']}
    """
    return draw_schema(draw, max_properties, strict=False)


def draw_schema(draw: st.DrawFn, max_properties: int, *, strict: bool) -> Json:
    """Draw the schema of an object with at most `max_properties` properties.

    If `strict` is true, the schema has no limits such as `minimum` or `maxLength`. Then each object in it may have only
    the members that are named in `properties`.
    """
    schema = _draw_object(draw, max_properties, strict, _SCALARS if strict else _SIMPLE, 1)
    used = [name for name in _DEFINITIONS if f"'#/$defs/{name}'" in repr(schema)]
    if used:
        schema["$defs"] = {name: copy.deepcopy(_DEFINITIONS[name]) for name in used}
    return schema


def _draw_object(
    draw: st.DrawFn, max_properties: int, strict: bool, scalars: st.SearchStrategy[Json], depth: int
) -> Json:
    properties: Json = {}
    for name in draw(_names(max_properties)):
        wrap = draw(_WRAPS) if depth else "none"
        if wrap == "object":
            properties[name] = _draw_object(draw, 2, strict, scalars, depth - 1)
            continue
        schema = copy.deepcopy(draw(scalars))
        if wrap == "array":
            schema = {"type": "array", "items": schema}
        elif wrap == "description" and "$ref" not in schema:
            schema["description"] = f"The {name}."
        properties[name] = schema
    bits = draw(_BITS)
    found: Json = {"type": "object", "properties": properties}
    required = [name for index, name in enumerate(properties) if bits >> index & 1]
    if required:
        found["required"] = required
    if strict or bits >> 15 & 1:
        found["additionalProperties"] = False
    return found


_WRAPS: Final = st.sampled_from(("none", "description", "array", "object"))
_BITS: Final = st.integers(0, 2**16 - 1)
_SCALARS: Final = st.sampled_from(SCALARS)
_SIMPLE: Final = st.sampled_from(SCALARS + LIMITED)


@cache
def _names(most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(NAMES), max_size=most, unique=True)


@composite
def schema_values(
    draw: st.DrawFn, schema: Mapping[str, Any] | bool, *, texts: st.SearchStrategy[str] | None = None
) -> Any:
    """Values that satisfy a JSON Schema of the kind that pydantic, strands-agents and langchain write for tools.

    The values are JSON values: dict, list, str, int, float, bool, None. The keywords mean what JSON Schema 2020-12
    defines. `reading.KEYWORDS` contains the supported keywords, `formats.FORMATS` the supported formats. Without
    `type`, the other keywords determine the type: for a schema with `properties`, objects are drawn.

    `properties` names members of an object. Other members are drawn only if the schema mentions them
    (`additionalProperties`, `patternProperties`), requires them, or has no `properties`. Recursion ends after a few
    levels. `texts` is a strategy for strings whose schema has neither a pattern nor a format. Raises InvalidArgument,
    when drawn, for an unsupported keyword (the error message contains its path), and for keywords that no value can
    satisfy together.

    >>> from hypothesis import find
    >>> city = {"properties": {"name": {"minLength": 2}, "size": {"minimum": 3}}, "required": ["name"]}
    >>> find(schema_values(city), lambda value: "size" in value)
    {'name': '00', 'size': 3}
    """
    return plan("schema_values()", schema, texts)[1].value(Drawing(draw))
