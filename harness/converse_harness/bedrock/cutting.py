"""Text, reasoning and tool input in the deltas that a model family sends of them; a family is a row of `families`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, Final

from converse_harness.bedrock.families import WHOLE, WORDS, Family, Lengths, Spelling

_WORDS: Final = re.compile(r"\s*\S+|\s+")
_LONGEST_WORD: Final = 24
_PART_OF_A_WORD: Final = 12

_TOKENS: Final = re.compile(
    r"(?:\n+| )?[A-Za-z\u00c0-\u024f]{1,12}|\d{1,3}| ?[^\w\s]{1,3}|\s+|[^\W\d_]{1,2}|.", re.DOTALL
)
"""About the tokens of a model: a word with what parts it from the word before; numbers, signs, spaces apart."""

_NEUTRAL_TOKENS: Final = re.compile(r"\w{1,4}|\s+|[^\w\s]+")
_PRETTY_TOKENS: Final = re.compile(r'[{\[]?\n *"?|\d|\w{1,8}|\s+|[^\w\s]+')

SPELLINGS: Final[Mapping[Spelling, Mapping[str, Any]]] = {
    "spaced": {"separators": (", ", ": ")},
    "compact": {"separators": (",", ":")},
    "pretty": {"indent": 4},
}
"""How models write the JSON of a tool's input, as arguments of `json.dumps`; other characters are as they are."""


def cut_text(text: str, family: Family) -> list[str]:
    """Cut text into the deltas that the family would send; joined they are the text, and there is at least one.

    >>> from converse_harness.bedrock.families import FAMILIES, NEUTRAL
    >>> cut_text("The answer is forty-two.", NEUTRAL)
    ['The', ' answer', ' is', ' forty-two.']
    >>> cut_text("The answer is forty-two.", FAMILIES["claude"])
    ['The', ' answer is forty-two.']
    """
    pieces = _cut(text, family.text)
    if family.opens_empty and pieces[0]:
        pieces.insert(0, "")
    return pieces


def cut_reasoning(text: str, family: Family) -> list[str]:
    """Cut the text of a reasoning as `cut_text` cuts a text."""
    return _cut(text, family.text if family.reasoning is None else family.reasoning)


def ends_empty(family: Family, blocks: Sequence[Mapping[str, Any]], stop_reason: str) -> bool:
    """Whether the family sends an empty delta as the last one of the message's last block, a text that is not empty."""
    return stop_reason in family.ends_empty and bool(blocks) and bool(blocks[-1].get("text"))


def spell_tool_input(value: object, family: Family) -> str:
    """The JSON of a tool input as the family writes it."""
    return json.dumps(value, ensure_ascii=False, **SPELLINGS[family.tool_json])


def cut_tool_input(json_text: str, family: Family) -> list[str]:
    """Cut the JSON of a tool input into the fragments that the family would send; joined they are that JSON.

    >>> from converse_harness.bedrock.families import FAMILIES
    >>> cut_tool_input('{"city": "Bern"}', FAMILIES["claude"])
    ['', '{"city', '": "Ber', 'n"}']
    """
    match family.tool_input:
        case "one delta":
            return [json_text]
        case "an empty delta, then fragments cut anywhere":
            return ["", *_lengths_of(json_text, family.fragments)]
        case "token-size fragments, none empty":
            return (_PRETTY_TOKENS if family.tool_json == "pretty" else _NEUTRAL_TOKENS).findall(json_text)


def _cut(text: str, lengths: Lengths) -> list[str]:
    if lengths == WHOLE or not text:
        return [text]
    if lengths == WORDS:
        return list(_words(text))
    return list(_grouped(_TOKENS.findall(text), lengths))


def _grouped(tokens: Iterable[str], lengths: Lengths) -> Iterable[str]:
    """Tokens together, each piece as near to its length as tokens allow; the lengths come round in turn."""
    wanted = cycle(lengths)
    length = next(wanted)
    piece = ""
    for token in tokens:
        if piece and len(token) > 2 * (length - len(piece)):  # with it the piece would be further from its length
            yield piece
            piece, length = "", next(wanted)
        piece += token
    yield piece


def _lengths_of(text: str, lengths: Lengths) -> Iterable[str]:
    """A text cut at these lengths, which come round in turn."""
    wanted = cycle(lengths)
    start = 0
    while start < len(text):
        end = start + next(wanted)
        yield text[start:end]
        start = end


def _words(text: str) -> Iterable[str]:
    """A delta a word; a long one, text without spaces for instance, in parts."""
    for word in _WORDS.findall(text):
        rest = word
        while len(rest) > _LONGEST_WORD:
            yield rest[:_PART_OF_A_WORD]
            rest = rest[_PART_OF_A_WORD:]
        yield rest
