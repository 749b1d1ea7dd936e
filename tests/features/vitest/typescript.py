"""TypeScript types of the control API, made from openapi.json.

`python -m tests.features.vitest.typescript` writes them.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import converse_harness.features
from converse_harness.server.control import openapi

FILE: Final = Path(converse_harness.features.__file__).parent / "vitest" / "converse-api.d.ts"

HEAD: Final = """\
// The types of converse-harness' control API. Made from its openapi.json; `converse-harness init vitest --force` writes
// those of another release.
"""

_ANY: Final = "Record<string, any>"
_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


def types(document: Mapping[str, Any]) -> str:
    """Return the file: an exported type for each schema of the document."""
    return "\n".join((HEAD, *(exported(name, schema) for name, schema in document["components"]["schemas"].items())))


def exported(name: str, schema: Mapping[str, Any]) -> str:
    return f"{comment(schema, '')}export type {name} = {typed(schema, '')};\n"


def typed(schema: Mapping[str, Any] | bool, indent: str) -> str:
    """Return a schema as a type. What TypeScript cannot express, such as bounds of numbers, is left out."""
    if isinstance(schema, bool):
        return "unknown" if schema else "never"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if "enum" in schema:
        return " | ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])
    for union in ("oneOf", "anyOf"):
        if union in schema and "properties" not in schema:
            return union_of([typed(each, indent) for each in schema[union]])
    kinds = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(kinds, list):
        return union_of([typed({**schema, "type": kind}, indent) for kind in kinds])
    whole = [typed(each, indent) for each in schema.get("allOf", ()) if "$ref" in each]
    if kinds == "object":
        whole.insert(0, object_type(schema, indent))
    elif kinds == "array":
        whole.insert(0, f"Array<{typed(schema.get('items', {}), indent)}>")
    elif kinds in _PLAIN:
        whole.insert(0, _PLAIN[kinds])
    return " & ".join(whole) or "unknown"


def union_of(options: list[str]) -> str:
    return (" | " if len(options) < 9 else "\n  | ").join(dict.fromkeys(options))


def object_type(schema: Mapping[str, Any], indent: str) -> str:
    further = schema.get("additionalProperties", "unevaluatedProperties" not in schema)
    if not schema.get("properties"):
        if isinstance(further, dict):
            return f"Record<string, {typed(further, indent)}>"
        return _ANY if further else "Record<string, never>"
    inside = indent + "  "
    members = "".join(member(name, each, schema, inside) for name, each in schema["properties"].items())
    more = f"Record<string, {typed(further, indent)}>" if isinstance(further, dict) else _ANY
    open_ended = "additionalProperties" in schema and further is not False
    return f"{{\n{members}{indent}}}" + (f" & {more}" if open_ended else "")


def member(name: str, schema: Mapping[str, Any] | bool, owner: Mapping[str, Any], indent: str) -> str:
    optional = "" if name in owner.get("required", ()) else "?"
    key = name if _NAME.fullmatch(name) else json.dumps(name)
    about = "" if isinstance(schema, bool) else comment(schema, indent)
    return f"{about}{indent}{key}{optional}: {typed(schema, indent)};\n"


def comment(schema: Mapping[str, Any], indent: str) -> str:
    lines = list(_sentences(schema, 116 - len(indent)))
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return "".join(f"{indent}{line}\n" for line in ("/**", *(f" * {line}" for line in lines), " */")) if lines else ""


def _sentences(schema: Mapping[str, Any], width: int) -> Iterator[str]:
    text = str(schema.get("description", "")).replace("*/", "* /")
    if "default" in schema:
        text += f" Default: {json.dumps(schema['default'], ensure_ascii=False)}."
    yield from textwrap.wrap(text.strip(), width)


if __name__ == "__main__":
    FILE.write_text(types(json.loads(openapi())), encoding="utf-8")
