"""Bring openapi.json, and the table of replies in docs/control-api.md, up to the tables and the functions of `reply`.

`python -m tests.server.control.openapi` writes both. What people wrote stays: descriptions, examples and bounds. A new
function gets a schema from its signature and docstring; a new argument may get the schema of an argument of the same
name that stands there already.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, is_typeddict

from converse_harness import faults
from converse_harness.bedrock.families import OVERFLOWS, THROTTLES
from converse_harness.intercept.fake import Fake
from converse_harness.server.control.arguments import first, is_open, parameters
from converse_harness.server.control.vocabulary import MODIFIERS, REPLIES, SCRIPTING, Word
from converse_harness.settings import LEVELS, ONLY_SERVER, SETTINGS

DOCUMENT: Final = Path(str(files("converse_harness.server.control").joinpath("openapi.json")))
PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "control-api.md"
WRITE: Final = "python -m tests.server.control.openapi"

Schema = dict[str, Any]

_SCHEMAS: Final = "#/components/schemas/"
_TYPES: Final[Mapping[object, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    NoneType: "null",
    **dict.fromkeys((dict, Mapping), "object"),
}
"""The types of arguments with their names in JSON Schema; every other type is that of a list."""


def updated(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the faults, settings, replies and changes of replies that there are now."""
    made = deepcopy(dict(document))
    schemas: dict[str, Schema] = made["components"]["schemas"]
    of_replies = [schema for schema in schemas.values() if "title" in schema]
    known = {
        name: each for schema in reversed(of_replies) for name, each in _arguments_in(schema) if name != schema["title"]
    }
    old = {schema["title"]: (name, schema) for name, schema in schemas.items() if "title" in schema}
    replies: dict[str, Schema] = {}
    for word, row in REPLIES.items():
        name, before = old.get(word, (f"{word.title().replace('_', '')}Reply", {}))
        replies[name] = _reply(word, row, before, known)
    schemas["Reply"]["oneOf"] = [{"$ref": f"{_SCHEMAS}{name}"} for name in replies]
    changes = schemas["Modifiers"]["properties"]
    schemas["Modifiers"]["properties"] = {
        name: _value(row, changes.get(name), known) for name, row in MODIFIERS.items()
    }
    scripted = {name: schemas["NewFake"]["properties"][name] for name in SCRIPTING}
    schemas["NewFake"]["properties"] = scripted | {
        name: _setting(name, each.annotation) for name, each in parameters(Fake).items()
    }
    schemas["Fault"]["oneOf"][0]["enum"] = [
        name for name, fault in faults.FAULTS.items() if "server" in fault.transports
    ]
    names = [*schemas]
    at = next(number for number, name in enumerate(names) if "title" in schemas[name])
    ordered = [*names[:at], *replies, *(name for name in names[at:] if "title" not in schemas[name])]
    made["components"]["schemas"] = {name: replies.get(name) or schemas[name] for name in ordered}
    return made


def _reply(word: str, row: Word, old: Schema, known: Mapping[str, Schema]) -> Schema:
    """Return the schema of a reply: its word, the arguments beside this, and the members that change it."""
    before = old.get("properties", {})
    named = parameters(row.function)
    made = {word: _value(row, before.get(word), known)}
    made |= {name: _argument(named[name], before.get(name), row.function, known) for name in row.beside}
    made |= {name: before[name] for name in row.changed_by or () if name in before}
    new: Schema = {
        "title": word,
        "description": " ".join(_paragraph(row.function)),
        "type": "object",
        "allOf": [{"$ref": f"{_SCHEMAS}Modifiers"}],
    }
    needs = row.form == "value" or any(each.default is each.empty for each in named.values())
    rest = {
        "required": [word],
        "unevaluatedProperties": False,
        "examples": old.get("examples", [{word: "text" if needs else True}]),
    }
    return {**(old or new), "properties": made, **rest}


def _value(row: Word, old: Schema | None, known: Mapping[str, Schema]) -> Schema:
    """Return the schema of a word's value: its first argument, or all arguments as an object beside its short forms."""
    named, alone = parameters(row.function), first(row.function)
    if row.form == "value":
        return _argument(named[alone], old, row.function, known)
    required = [name for name, each in named.items() if each.default is each.empty]
    forms: list[Schema] = [{"type": "object", "properties": {}}]
    if old is not None:
        forms = deepcopy(old.get("oneOf", [old]))
    elif not required:
        forms.append({"const": True})
    if old is None and alone and set(required) <= {alone}:
        forms.append({"type": "string"})
    whole = next(each for each in forms if each.get("type") == "object")
    if named or "properties" in whole:
        before = whole.get("properties", {})
        whole["properties"] = {
            name: _argument(each, before.get(name), row.function, known) for name, each in named.items()
        }
    for each in forms:
        if alone and "enum" in each:
            each["enum"] = whole["properties"][alone]["enum"]
    if required:
        whole["required"] = required
    whole["additionalProperties"] = is_open(row.function)
    if old is not None:
        return {**old, "oneOf": forms} if "oneOf" in old else whole
    return {"description": known[alone]["description"] if alone in known else "Its arguments.", "oneOf": forms}


def _argument(
    parameter: inspect.Parameter, old: Schema | None, function: Callable[..., object], known: Mapping[str, Schema]
) -> Schema:
    """Return the schema of an argument: the one that is written, that of another function's, or one from the type."""
    made = deepcopy(old or known.get(parameter.name) or _from_type(parameter, function))
    for name, wordings in (("throttled", THROTTLES), ("context_overflow", OVERFLOWS)):
        if parameter.name == "wording" and function.__name__ == name:
            made["enum"] = [*([None] if parameter.default is None else []), *wordings]
    shown = parameter.default is not parameter.empty and made.get("default") not in (None, parameter.default)
    if shown or isinstance(parameter.default, bool):
        made["default"] = parameter.default
    return made


def _setting(name: str, hint: Any) -> Schema:
    """Return the schema of a setting of a fake, made from its declaration."""
    setting = SETTINGS[name]
    option = f"`serve --{name.replace('_', '-')}`"
    null = setting.allowed.in_json.partition("or null")[2]
    about = f"{setting.plain[0].upper()}{setting.plain[1:]}{f'; null{null}' if null else '.'}"
    made = _types(hint)
    made["default"] = ONLY_SERVER.get(name, setting.default)
    about += f" {option} changes the default." * ("serve" in setting.where)
    if setting.allowed.choices:
        values = {"type": "string", "enum": [*setting.allowed.choices]}
        if "object" in made["type"]:  # the same values by name
            levels = {"type": "string", "enum": [each for each in values["enum"] if each in LEVELS]}
            made = {"oneOf": [values, {"type": "object", "additionalProperties": levels}], "default": made["default"]}
        else:
            made["enum"] = values["enum"]
    if setting.allowed.least is not None:
        made["minimum"] = setting.allowed.least
    return {"description": about, **made}


def _types(hint: Any) -> Schema:
    types = [*dict.fromkeys(_TYPES.get(each, "array") for each in _options(hint))]
    return {"type": types[0] if len(types) == 1 else types}


def _from_type(parameter: inspect.Parameter, function: Callable[..., object]) -> Schema:
    text = " ".join(_paragraph(function, whole=True))
    about = re.search(rf"(?:^|\. )(`{parameter.name}` [^.]*\.)", text)
    return {**_types(parameter.annotation), "description": about[1] if about else " ".join(_paragraph(function))}


def _options(hint: Any) -> Iterator[Any]:
    if get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _options(each)
    elif get_origin(hint) is Literal:
        yield from map(type, get_args(hint))
    else:
        yield Mapping if is_typeddict(hint) else get_origin(hint) or hint


def _arguments_in(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for each in (schema, *schema.get("oneOf", ())):
        for name, inner in each.get("properties", {}).items():
            if isinstance(inner, dict):
                yield name, inner
                yield from _arguments_in(inner)


def _paragraph(function: Callable[..., object], *, whole: bool = False) -> list[str]:
    """Return the words of a docstring's first paragraph, or of all its text."""
    text = inspect.cleandoc(function.__doc__ or "")
    return (text.split(">>>")[0] if whole else text.split("\n\n")[0]).split()


def with_rows(page: str) -> str:
    """Return the page with a row for each reply that its table lacks: the shortest form, in JSON and in Python."""
    rows = re.findall(r"^\| `\{\"\w+\": .*\|$", page, re.MULTILINE)
    shown = {name for row in rows for name in json.loads(re.match(r"\| `(\{.*?\})` \|", row)[1])}  # type: ignore[index]
    last = next(row for row in reversed(rows) if row.startswith('| `{"case"'))
    for word in (word for word in REPLIES if word not in shown):
        needs = any(each.default is each.empty for each in parameters(REPLIES[word].function).values())
        python = f"reply.{word}({json.dumps('text') if needs else ''})"
        row = f"| `{json.dumps({word: 'text' if needs else True})}` | `{python}` |"
        page = page.replace(last, f"{row}\n{last}")
    return page


if __name__ == "__main__":
    new = updated(json.loads(DOCUMENT.read_text(encoding="utf-8")))
    DOCUMENT.write_text(json.dumps(new, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(with_rows(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
