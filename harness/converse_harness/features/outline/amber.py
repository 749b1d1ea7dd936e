"""Read the text in which syrupy stores a snapshot of plain data."""

from __future__ import annotations

import re
from ast import literal_eval
from typing import Any, Final

_OPENS: Final = re.compile(r"\w+\(([\[{(])")
_KEY: Final = re.compile(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\w.-]+): ")
_QUOTES: Final = "'''"


def value_of_amber(text: str) -> Any:
    r"""Return the value of a text such as `list([...])`, with each container and item on lines of its own.

    Raises ValueError for another text.

    >>> value_of_amber("list([\n  dict({\n    'a': 1,\n  }),\n])")
    [{'a': 1}]
    """
    lines = text.split("\n")  # not splitlines(): a text may contain other characters that end a line
    value, rest = _read(lines, 0, "")
    if rest != len(lines):
        raise ValueError(f"line {rest + 1} comes after the value")
    return value


def _read(lines: list[str], at: int, key: str) -> tuple[Any, int]:
    """Return the value that begins in a line, after its key, and the index of the line after the value."""
    if at >= len(lines):
        raise ValueError("the text ends early")
    line = lines[at]
    indent = line[: len(line) - len(line.lstrip())]
    said = line[len(indent) + len(key) :]
    opened = _OPENS.match(said)
    if opened is not None and said == opened[0]:
        return _container(lines, at, indent, opened[1])
    if said == _QUOTES:
        end = next((index for index in range(at + 1, len(lines)) if lines[index].startswith(f"{indent}{_QUOTES}")), -1)
        if end < 0:
            raise ValueError("a text ends early")
        inside = (each.removeprefix(f"{indent}  ") for each in lines[at + 1 : end])
        return "\n".join(inside), end + 1
    return _scalar(said.removesuffix(",")), at + 1


def _container(lines: list[str], at: int, indent: str, kind: str) -> tuple[Any, int]:
    keys, values = list[Any](), list[Any]()
    at += 1
    while at < len(lines) and not (
        lines[at].startswith(f"{indent}}}") or lines[at].startswith((f"{indent}]", f"{indent})"))
    ):
        key = _KEY.match(lines[at].lstrip()) if kind == "{" else None
        value, at = _read(lines, at, key[0] if key else "")
        keys.append(_scalar(key[1]) if key else None)
        values.append(value)
    return (dict(zip(keys, values, strict=True)) if kind == "{" else values), at + 1


def _scalar(text: str) -> Any:
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        raise ValueError(f"{text} is no plain value") from None
