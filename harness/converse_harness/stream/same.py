"""Decide whether two answers have the same content: by type, and without blank blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from converse_harness.json_values import equal
from converse_harness.words import is_blank


def is_blank_block(block: Mapping[str, Any]) -> bool:
    """Whether a block is a text, or reasoning without a signature, that has nothing but white space.

    A client may leave such a block out.
    """
    match block:
        case {"text": str(text)}:
            return is_blank(text)
        case {"reasoningContent": {"reasoningText": {"text": str(text), **more}}}:
            return is_blank(text) and not more.get("signature")
        case _:
            return False


def without_blanks(content: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the content blocks that are not blank."""
    return [block for block in content if not is_blank_block(block)]


def same(one: object, other: object) -> bool:
    """Whether two answers have the same content. They may be messages, lists of content blocks, or Responses.

    Values are compared by type: `True` is not 1, and 1 is not 1.0, because JSON tells them apart and tools do. In a
    message, and in a list of content blocks, blank texts may be missing, because Claude refuses them in the next
    request. Any other values, such as two inputs of a tool, are compared as JSON.

    >>> same({"days": True}, {"days": 1})
    False
    >>> same([{"text": "18 °C"}, {"text": ""}], [{"text": "18 °C"}])
    True
    """
    return equal(_comparable(one), _comparable(other))


def _comparable(value: object) -> object:
    """Return a message, a list of content blocks or a Response without blank blocks; any other value unchanged."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _comparable(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        if "role" in members and "content" in members:
            return {**members, "content": _comparable(members["content"])}
        return members
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        blocks = [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]
        return without_blanks(blocks) if len(blocks) == len(items) else items
    return value
