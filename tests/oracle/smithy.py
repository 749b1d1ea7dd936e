"""As much of Smithy's text form as the protocol tests in `../shared/protocol-tests` need: the values of traits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"""(?:\s|,|//[^\n]*)*                     # what stands between tokens
        (?:(?P<text>\"{3}\n(?:[^"\\]|\\.|"(?!""))*\"{3})
        |(?P<string>"(?:[^"\\]|\\.)*")
        |(?P<sign>[\[\]{}:])
        |(?P<word>[^\s,\[\]{}:"()]+))""",
    re.VERBOSE | re.DOTALL,
)

_WORDS: Final[Mapping[str, object]] = {"true": True, "false": False, "null": None}


def traits(name: str, source: str) -> Iterator[Any]:
    """The value of each use of a trait, in the order of the source; a shape id is its text."""
    for used in re.finditer(rf"@{name}\((?=\[)", source):
        tokens = _tokens(source, used.end())
        yield _value(next(tokens), tokens)


def vectors_of(folder: Path, trait: str) -> dict[str, Mapping[str, Any]]:
    """The tests that a trait holds in the files of a folder, or in one file, by their ids."""
    files = sorted(folder.glob("*.smithy")) if folder.is_dir() else [folder]
    found: dict[str, Mapping[str, Any]] = {}
    for file in files:
        for value in traits(trait, file.read_text(encoding="utf-8")):
            for test in value:
                assert test["id"] not in found, f"two tests have the id {test['id']}"
                found[test["id"]] = test
    return found


def cases_of(test: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """A test once for each value of its parameters, or as it is where it has none.

    `$value:S` stands for a parameter as a string of JSON, `$value:L` for its text, `$$` for a dollar.
    """
    parameters: Mapping[str, Sequence[str]] | None = test.get("testParameters")
    if parameters is None:
        return [test]
    rows = [dict(zip(parameters, row, strict=True)) for row in zip(*parameters.values(), strict=True)]
    bare = {name: value for name, value in test.items() if name != "testParameters"}
    return [{**_filled(bare, row), "parameters": row} for row in rows]


def _filled(value: Any, row: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\$(?:(\w+):([SL])|\$)", lambda found: _parameter(found, row), value)
    if isinstance(value, list):
        return [_filled(each, row) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: _filled(each, row) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def _parameter(found: re.Match[str], row: Mapping[str, str]) -> str:
    name, form = found.groups()
    if name is None:
        return "$"
    return json.dumps(row[name]) if form == "S" else row[name]


Token = tuple[str, str]
"""The kind of a token, which is the name of its group, and its text."""


def _tokens(source: str, at: int) -> Iterator[Token]:
    while found := _TOKEN.match(source, at):
        kind = found.lastgroup or ""
        yield kind, found[kind]
        at = found.end()
    raise ValueError(f"no token of Smithy: {source[at : at + 80]!r}")


def _value(token: Token, tokens: Iterator[Token]) -> Any:
    kind, text = token
    match kind, text:
        case "text", _:
            return _unescaped(dedent(text[4:-3]))
        case "string", _:
            return _unescaped(text[1:-1])
        case "sign", "[":
            return [_value(each, tokens) for each in iter(tokens.__next__, ("sign", "]"))]
        case "sign", "{":
            return dict(_member(each, tokens) for each in iter(tokens.__next__, ("sign", "}")))
        case "word", _ if text in _WORDS:
            return _WORDS[text]
        case "word", _:
            return json.loads(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text
        case _:
            raise ValueError(f"no value of Smithy: {text!r}")


def _member(token: Token, tokens: Iterator[Token]) -> tuple[str, Any]:
    name = str(_value(token, tokens))
    if (sign := next(tokens)) != ("sign", ":"):
        raise ValueError(f"no colon behind the key {name!r}, but {sign[1]!r}")
    return name, _value(next(tokens), tokens)


def _unescaped(text: str) -> str:
    r"""A text with its escapes read, which are those of JSON, and a backslash before the end of a line."""
    return re.sub(r"\\(?:u[0-9a-fA-F]{4}|\n|.)", lambda found: _escape(found[0]), text)


def _escape(escape: str) -> str:
    if escape == "\\\n":
        return ""
    read: str = json.loads(f'"{escape}"')
    return read
