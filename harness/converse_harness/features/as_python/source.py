"""Write values and calls as Python source. The evaluated source equals the original value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Final, cast

from converse_harness.faults.model import Fault

Call = tuple[str, Sequence[Any], Mapping[str, Any]]
"""The name of a function or method, its positional arguments, and its keyword arguments."""

WIDTH: Final = 88
"""The maximum length of a line that has several arguments: the default of ruff and black."""


class Unwritable(ValueError):
    """Raised for a value that cannot be written as source, for example an argument whose name is not an identifier."""


def source_of(value: object) -> str:
    """Return the source of a value on one line: JSON in Python's types, bytes or a Fault.

    Raises Unwritable for a value that cannot be written as source.

    >>> source_of({"city": "Zürich", "days": [1, None]})
    '{"city": "Zürich", "days": [1, None]}'
    """
    match value:
        case str():
            return _quoted(value)
        case bytes():
            return _quoted(value.decode("latin-1"), "b")
        case dict():
            members = cast("Mapping[object, object]", value)
            return "{" + ", ".join(f"{source_of(key)}: {source_of(item)}" for key, item in members.items()) + "}"
        case list():
            return "[" + ", ".join(map(source_of, cast("Sequence[object]", value))) + "]"
        case None | bool() | int() | Fault():
            return repr(value)
        case float() if value - value == 0:  # infinity and nan have no literal
            return repr(value).replace("e+", "e")
        case _:
            raise Unwritable(f"{type(value).__name__} has no source")


def chain_source(calls: Sequence[Call], *, indent: int = 0, width: int = WIDTH) -> str:
    """Return the source of calls in a chain, with `reply.` before the first call and "." before each other call.

    A chain that is longer than `width` has one argument a line; its lines after the first are indented by at least
    `indent` columns. Raises Unwritable for a value that cannot be written as source.

    >>> chain_source([("text", ("hi",), {}), ("times", (2,), {})])
    'reply.text("hi").times(2)'
    """
    written = [(name, [*_arguments(positional, named)]) for name, positional, named in calls]
    flat = "reply." + ".".join(f"{name}({', '.join(arguments)})" for name, arguments in written)
    if indent + len(flat) <= width:
        return flat
    margin = "\n" + " " * indent
    return "reply." + ".".join(
        f"{name}({''.join(f'{margin}    {each},' for each in arguments)}{margin if arguments else ''})"
        for name, arguments in written
    )


def _arguments(positional: Sequence[object], named: Mapping[str, object]) -> Iterator[str]:
    yield from map(source_of, positional)
    for name, value in named.items():
        if not name.isidentifier() or iskeyword(name):
            raise Unwritable(f"{name!r} is no name of an argument")
        yield f"{name}={source_of(value)}"


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
