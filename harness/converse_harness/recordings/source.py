"""Write values and calls as Python source, formatted as ruff and black format it.

A text that is too long for its line is written in parts that Python joins. The evaluated source equals the original
value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Final, cast

from converse_harness.faults.model import Fault

Call = tuple[str, Sequence[Any], Mapping[str, Any]]
"""The name of a function or method, its positional arguments, and its keyword arguments."""

WIDTH: Final = 88
"""The maximum line length in columns: the default of ruff and black."""

_STEP: Final = "    "
_LEAST: Final = 20
"""The minimum width in columns of each part of a cut text, even if the part is indented far."""

_FLUENT: Final = 3
"""If a chain does not fit on its line and has at least this number of calls, each method is on a separate line."""


class Unwritable(ValueError):
    """Raised for a value that cannot be written as source, for example an argument whose name is not an identifier."""


def source_of(value: object, *, indent: int = 0, before: int = 0, after: int = 0, width: int = WIDTH) -> str:
    """Return the source of a value: JSON in Python's types, bytes or a Fault.

    `indent` is the indentation of the line in columns. `before` is the number of columns that other source needs on the
    first line, and `after` the number on the last line. Raises Unwritable for a value that cannot be written as source.

    >>> source_of({"city": "Zürich", "days": [1, None]})
    '{"city": "Zürich", "days": [1, None]}'
    """
    flat = _flat(value)
    if indent + before + _columns(flat) + after <= width:
        return flat
    inner = indent + len(_STEP)
    match value:
        case str():
            lines = [_quoted(part) for part in _parts(value, max(width - inner - 2, _LEAST))]
        case bytes() if len(value) > (room := max(8, (width - inner - 3) // 4)):
            lines = [_flat(value[start : start + room]) for start in range(0, len(value), room)]
        case dict() if value:
            members = cast("Mapping[object, object]", value)
            lines = [_member(f"{_flat(key)}: ", item, inner, width) for key, item in members.items()]
            return _block("{", lines, "}", indent)
        case list() if value:
            lines = [_member("", item, inner, width) for item in cast("Sequence[object]", value)]
            return _block("[", lines, "]", indent)
        case _:
            return flat  # this value cannot be cut: a number, a key or a short text
    return "\n".join(["(", *(" " * inner + line for line in lines), " " * indent + ")"])


def chain_source(
    calls: Sequence[Call], *, prefix: str = "reply.", indent: int = 0, after: int = 0, width: int = WIDTH
) -> str:
    """Return the source of calls in a chain, with `prefix` before the first call and "." before each other call.

    `indent`, `after` and `width` are the arguments of `source_of`. Raises Unwritable for a value that cannot be written
    as source.

    >>> chain_source([("text", ("hi",), {}), ("times", (2,), {})])
    'reply.text("hi").times(2)'
    """
    names = [f"{'.' if number else prefix}{name}" for number, (name, *_) in enumerate(calls)]
    arguments = [", ".join(label + _flat(value) for label, value in _arguments(call)) for call in calls]
    flat = [f"{name}({each})" for name, each in zip(names, arguments, strict=True)]
    if indent + _columns("".join(flat)) + after <= width:
        return "".join(flat)
    made, column = "", indent
    for name, call, one_line in zip(names, calls, flat, strict=True):
        if made and len(calls) >= _FLUENT:
            made, column = f"{made}\n{' ' * indent}", indent
        if (made and column + _columns(one_line) + after <= width) or one_line.endswith("()"):
            made, column = made + one_line, column + _columns(one_line)
        else:
            inner = indent + len(_STEP)
            lines = [_member(label, value, inner, width) for label, value in _arguments(call)]
            made, column = made + name + _block("(", lines, ")", indent), indent + 1
    return made


def _block(opening: str, lines: Sequence[str], closing: str, indent: int) -> str:
    inner = " " * (indent + len(_STEP))
    return "\n".join([opening, *(f"{inner}{line}," for line in lines), " " * indent + closing])


def _member(label: str, value: object, indent: int, width: int) -> str:
    return label + source_of(value, indent=indent, before=len(label), after=1, width=width)


def _arguments(call: Call) -> Iterator[tuple[str, object]]:
    _, positional, named = call
    yield from (("", value) for value in positional)
    for name, value in named.items():
        if not name.isidentifier() or iskeyword(name):
            raise Unwritable(f"{name!r} is no name of an argument")
        yield f"{name}=", value


def _flat(value: object) -> str:
    match value:
        case str():
            return _quoted(value)
        case bytes():
            return _quoted(value.decode("latin-1"), "b")
        case dict():
            members = cast("Mapping[object, object]", value)
            return "{" + ", ".join(f"{_flat(key)}: {_flat(item)}" for key, item in members.items()) + "}"
        case list():
            return "[" + ", ".join(map(_flat, cast("Sequence[object]", value))) + "]"
        case None | bool() | int() | Fault():
            return repr(value)
        case float() if value - value == 0:  # infinity and nan have no literal
            return repr(value).replace("e+", "e")
        case _:
            raise Unwritable(f"{type(value).__name__} has no source")


def _quoted(text: str, prefix: str = "") -> str:
    """Return `prefix` and the literal of a text.

    The literal is in double quotes, or in single quotes if these need fewer escapes.
    """
    quote = "'" if text.count('"') > text.count("'") else '"'
    made = "".join(_escaped(each, quote, is_bytes=bool(prefix)) for each in text)
    return f"{prefix}{quote}{made}{quote}"


def _escaped(character: str, quote: str, *, is_bytes: bool) -> str:
    if character == quote:
        return f"\\{quote}"
    if character != "\\" and (" " <= character <= "~" or (character.isprintable() and not is_bytes)):
        return character
    return character.encode("unicode_escape").decode()


_CUT: Final = re.compile(r"[^\s]*\s*\n|[^\s]*[^\S\n]*|\s+")
"""Matches a word with the white space after it. If this white space has line ends, the match stops after the last one.
"""


def _parts(text: str, room: int) -> list[str]:
    """Cut a text after line ends or spaces into parts whose literals have at most `room` columns."""
    if _columns(_quoted(text)) - 2 <= room:
        return [text]
    parts, column = [""], 0
    for word in filter(None, _CUT.findall(text)):
        widths = [*map(_width_in_literal, word)]
        if parts[-1].endswith("\n") or (parts[-1] and column + sum(widths) > room):
            parts, column = [*parts, ""], 0
        for character, width in zip(word, widths, strict=True):  # a word may be wider than a line
            if parts[-1] and column + width > room:
                parts, column = [*parts, ""], 0
            parts[-1] += character
            column += width
    return parts


def _width_in_literal(character: str) -> int:
    """Return the number of columns of a character in a literal. A quote counts as two columns, because it may be
    escaped.
    """
    return 2 if character in "'\"" else _columns(_escaped(character, "", is_bytes=False))


def _columns(text: str) -> int:
    """Return the width of a text on a terminal: two columns for a wide character, none for a combining character."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF") for each in text)
