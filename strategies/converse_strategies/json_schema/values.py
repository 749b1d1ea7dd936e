"""Values that satisfy a JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_strategies.json_schema.compiling import Compiler, compile_schema
from converse_strategies.json_schema.plans import Choice, Drawing
from converse_strategies.json_schema.reading import OBJECT


@st.composite
def schema_values(
    draw: st.DrawFn, schema: Mapping[str, Any] | bool, *, texts: st.SearchStrategy[str] | None = None
) -> Any:
    """Values that satisfy a JSON Schema of the kind that pydantic, strands-agents and langchain write for tools.

    JSON values: dict, list, str, int, float, bool, None. Source: JSON Schema 2020-12; the keywords are those of
    `keywords.KEYWORDS`, the formats those of `formats.FORMATS`. Where nothing gives a type, the keywords do: a schema
    with `properties` gets objects. Members that a schema does not name come only where it says so
    (`additionalProperties`, `patternProperties`), needs them, or names none. Recursion ends after a few turns. `texts`
    is what strings are drawn from whose pattern and format are free. Raises InvalidArgument, when drawn, for a keyword
    that is not in the table, with its path, and for keywords that no value can satisfy together.

    >>> from hypothesis import find
    >>> city = {"properties": {"name": {"minLength": 2}, "size": {"minimum": 3}}, "required": ["name"]}
    >>> find(schema_values(city), lambda value: "size" in value)
    {'name': '00', 'size': 3}
    """
    return chosen("schema_values()", schema)[1].value(Drawing(draw, texts))


def chosen(function: str, schema: object, *, objects: bool = False) -> tuple[Compiler, Choice]:
    """What the values of a schema are drawn from, objects alone if asked. Raises InvalidArgument, with the function."""
    try:
        compiler = compile_schema(schema)
        root = compiler.schema.root
        choice = compiler.choice(root, OBJECT) if objects else compiler.choice(root)
    except InvalidArgument as error:
        raise InvalidArgument(f"{function}: {error}") from error
    if choice.height == math.inf:
        raise InvalidArgument(
            f"{function}: no value satisfies the schema: {choice.lack()}. Change one of the keywords named here."
        )
    return compiler, choice
