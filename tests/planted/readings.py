"""Bugs of readers that no order of events shows: types, sizes and texts that look like something else.

Each is a change of what a right consumer has read: of the values of a tool's input, or of texts.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from tests.planted.answers import Answer, Event
from tests.planted.bugs import Read
from tests.planted.mended import mended

Json = Any


class Misreading(NamedTuple):
    """One bug: what goes wrong, and how it changes the inputs of tools, or the texts."""

    about: str
    of_input: Callable[[dict[str, Json]], Json] = lambda given: given
    of_text: Callable[[str], str] = lambda text: text


def _each(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Change each value that is neither an object nor an array."""

    def changed(value: Json) -> Json:
        if isinstance(value, dict):
            return {name: changed(each) for name, each in value.items()}
        return [changed(each) for each in value] if isinstance(value, list) else change(value)

    return changed


def _all(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Change each value, the innermost first."""

    def changed(value: Json) -> Json:
        if isinstance(value, dict):
            value = {name: changed(each) for name, each in value.items()}
        elif isinstance(value, list):
            value = [changed(each) for each in value]
        return change(value)

    return changed


def _texts(change: Callable[[str], Json]) -> Callable[[Json], Json]:
    return _each(lambda value: change(value) if isinstance(value, str) else value)


def _names(change: Callable[[str], str]) -> Callable[[Json], Json]:
    return _all(
        lambda value: {change(name): each for name, each in value.items()} if isinstance(value, dict) else value
    )


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _parsed(text: str, pattern: str) -> Json:
    try:
        return json.loads(text) if re.fullmatch(pattern, text, re.DOTALL) else text
    except ValueError:
        return text


def _without(value: Json, empty: Callable[[Json], bool]) -> Json:
    return {name: each for name, each in value.items() if not empty(each)} if isinstance(value, dict) else value


def _deep(value: Json, left: int) -> Json:
    if isinstance(value, dict | list) and not left:
        return json.dumps(value)
    if isinstance(value, dict):
        return {name: _deep(each, left - 1) for name, each in value.items()}
    return [_deep(each, left - 1) for each in value] if isinstance(value, list) else value


MISREADINGS: Final[Mapping[str, Misreading]] = {
    "booleans_are_numbers": Misreading(
        "true becomes 1", _each(lambda value: int(value) if isinstance(value, bool) else value)
    ),
    "small_integers_are_floats": Misreading(
        "7 becomes 7.0",
        _each(lambda value: float(value) if type(value) is int and abs(value) < 2**53 else value),
    ),
    "floats_are_integers": Misreading(
        "0.5 becomes 0", _each(lambda value: int(value) if isinstance(value, float) and abs(value) < 1e15 else value)
    ),
    "numbers_are_texts": Misreading(
        'a number becomes a text: 7 becomes "7"',
        _each(lambda value: str(value) if type(value) in (int, float) else value),
    ),
    "null_is_left_out": Misreading(
        "members that are null are left out", _all(lambda value: _without(value, lambda each: each is None))
    ),
    "false_is_left_out": Misreading(
        "members that are 0 or false are left out",
        _all(lambda value: _without(value, lambda each: type(each) in (int, bool) and not each)),
    ),
    "empty_text_is_left_out": Misreading(
        "members that are empty texts are left out", _all(lambda value: _without(value, lambda each: each == ""))
    ),
    "empty_list_is_left_out": Misreading(
        "members that are empty arrays or objects are left out",
        _all(lambda value: _without(value, lambda each: isinstance(each, list | dict) and not each)),
    ),
    "two_arguments": Misreading("the third argument and later ones are lost", lambda given: dict([*given.items()][:2])),
    "five_items": Misreading(
        "arrays end after five items", _all(lambda value: value[:5] if isinstance(value, list) else value)
    ),
    "three_levels": Misreading("from the fourth level on, values become texts", lambda given: _deep(given, 3)),
    "keys_are_stripped": Misreading(
        "white space around keys is stripped",
        _all(lambda value: {name.strip(): each for name, each in value.items()} if isinstance(value, dict) else value),
    ),
    "a_list_of_one": Misreading(
        "an array of one item becomes the item",
        _all(lambda value: value[0] if isinstance(value, list) and len(value) == 1 else value),
    ),
    "true_is_read": Misreading(
        'the text "true" becomes true', _texts(lambda text: {"true": True, "false": False}.get(text, text))
    ),
    "null_is_read": Misreading('the text "null" becomes null', _texts(lambda text: None if text == "null" else text)),
    "digits_are_read": Misreading('the text "12" becomes 12', _texts(lambda text: _parsed(text, r"-?\d+"))),
    "json_is_read": Misreading(
        "JSON in a text becomes an object or an array", _texts(lambda text: _parsed(text, r"[{\[].*[}\]]"))
    ),
    "tags_are_cut": Misreading(
        "tags of thinking are cut out of texts",
        of_text=lambda text: re.sub(r"</?thinking>", "", text),
    ),
    "fences_are_cut": Misreading(
        "code fences are cut out of texts", of_text=lambda text: re.sub(r"```\w*\n?", "", text)
    ),
    "byte_order_mark_is_cut": Misreading("a byte order mark is cut", of_text=lambda text: text.replace("\ufeff", "")),
    "nul_ends_a_text": Misreading("a text ends at NUL", of_text=lambda text: text.split("\0")[0]),
    "accents_are_composed": Misreading(
        "decomposed accents become one character", of_text=lambda text: unicodedata.normalize("NFC", text)
    ),
    "no_width_is_cut": Misreading(
        "characters without width are cut",
        of_text=lambda text: re.sub("[\u200b\u200c\u200d\u2060]", "", text),
    ),
    "entities_are_read": Misreading("&amp; becomes &", of_text=html.unescape),
    "escapes_are_read": Misreading(
        "a backslash and an n become a line end", of_text=lambda text: text.replace("\\n", "\n")
    ),
    "line_ends_are_changed": Misreading("CR LF becomes LF", of_text=lambda text: text.replace("\r\n", "\n")),
    "text_of_500": Misreading("a text ends after 500 characters", of_text=lambda text: text[:500]),
    "equal_items_are_one": Misreading(
        "of equal items in an array one is kept",
        _all(
            lambda value: (
                [each for at, each in enumerate(value) if each not in value[:at]] if _is_list(value) else value
            )
        ),
    ),
    "arrays_are_flat": Misreading(
        "the items of an array in an array become items of the outer one",
        _all(
            lambda value: (
                [item for each in value for item in (each if _is_list(each) else [each])] if _is_list(value) else value
            )
        ),
    ),
    "null_items_are_left_out": Misreading(
        "items that are null are left out",
        _all(lambda value: [each for each in value if each is not None] if _is_list(value) else value),
    ),
    "arrays_are_sorted": Misreading(
        "the items of an array are sorted",
        _all(lambda value: sorted(value, key=json.dumps) if _is_list(value) else value),
    ),
    "properties_are_unwrapped": Misreading(
        "an object whose only member is `properties` becomes the value of this member",
        _all(lambda value: value["properties"] if isinstance(value, dict) and [*value] == ["properties"] else value),
    ),
    "names_are_lower": Misreading("names become lower case", _names(str.lower)),
    "names_lose_signs": Misreading("a dollar sign before a name is cut", _names(lambda name: name.lstrip("$"))),
    "names_are_paths": Misreading("a name ends at a full stop", _names(lambda name: name.split(".")[0])),
    "quotes_are_straight": Misreading(
        "typographic quotes become straight",
        of_text=lambda text: text.replace("\u201c", '"').replace("\u201d", '"'),
    ),
    "quoted_text_is_unquoted": Misreading(
        "quotes around a whole text are cut",
        of_text=lambda text: text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text,
    ),
    "comments_are_cut": Misreading(
        "lines that begin with # are cut", of_text=lambda text: re.sub("(?m)^#.*$", "", text)
    ),
}


def misreading(name: str) -> Read:
    """A right consumer with one of these bugs."""
    bug, read = MISREADINGS[name], mended("fold")

    def changed(block: dict[str, Any]) -> dict[str, Any]:
        if "toolUse" in block:
            use = block["toolUse"]
            return {"toolUse": {**use, "input": bug.of_input(use["input"]) if use.get("input") else use["input"]}}
        return {"text": bug.of_text(block["text"])} if set(block) == {"text"} else block

    def wrong(events: Iterable[Event]) -> Answer:
        answer = read(events)
        return replace(answer, message={**answer.message, "content": [*map(changed, answer.message["content"])]})

    return wrong
