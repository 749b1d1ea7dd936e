"""The TypeScript types that `converse-harness init vitest` writes are those of openapi.json."""

from __future__ import annotations

import re

import pytest

from tests.features.vitest.typescript import FILE, typed, types
from tests.server.control.conftest import DOCUMENT

WRITTEN = FILE.read_text(encoding="utf-8")


def test_the_file_is_up_to_date() -> None:
    assert types(DOCUMENT) == WRITTEN, "run `python -m tests.features.vitest.typescript`"


def test_every_schema_is_a_type_and_every_name_that_is_used_is_one() -> None:
    exported = set(re.findall(r"^export type (\w+) = ", WRITTEN, re.MULTILINE))
    assert exported == {*DOCUMENT["components"]["schemas"]}
    code = re.sub(r"/\*\*.*?\*/|//.*|\"[^\"]*\"", "", WRITTEN, flags=re.DOTALL)
    assert set(re.findall(r"\b[A-Z]\w+", code)) <= {*exported, "Array", "Record"}


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "number | null"),
        ({"type": ["integer", "number"]}, "number"),
        ({"const": True}, "true"),
        ({"enum": ["a", None]}, '"a" | null'),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Call"}}, "Array<Call>"),
        ({"type": "object"}, "Record<string, any>"),
        ({"type": "object", "additionalProperties": False}, "Record<string, never>"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "Record<string, string>"),
        ({"oneOf": [{"const": True}, {"type": "string"}]}, "true | string"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, "{\n  a: string;\n}"),
        ({"properties": {"a-b": {}}, "allOf": [{"$ref": "#/x/More"}]}, '{\n  "a-b"?: unknown;\n} & More'),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
            "{\n  a?: string;\n} & Record<string, any>",
        ),
        ({}, "unknown"),
    ],
)
def test_a_schema_as_a_type(schema: dict[str, object], type_: str) -> None:
    assert typed(schema, "") == type_
