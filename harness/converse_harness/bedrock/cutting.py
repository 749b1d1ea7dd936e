"""Cut text, reasoning and tool input into deltas as a model family does; `families.py` describes each family."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, cycle
from typing import Any, Final

from converse_harness.bedrock.families import TOKENS, WHOLE, WORDS, Family, Lengths, Spelling

_WORD: Final = re.compile(r"\s*\S+|\s+")
_LONGEST_WORD: Final = 24
_PART_OF_A_WORD: Final = 12

_TOKEN: Final = re.compile(
    r"(?:\n+| )?[A-Za-z\u00c0-\u024f]{1,12}|\d{1,3}| ?[^\w\s]{1,3}|\s+|[^\W\d_]{1,2}|.", re.DOTALL
)
"""Matches roughly one token of a model: a word with the space before it, a few digits or signs, or whitespace."""

_NEUTRAL_TOKENS: Final = re.compile(r"\w{1,4}|\s+|[^\w\s]+")
_PRETTY_TOKENS: Final = re.compile(r'[{\[]?\n *"?|\d|\w{1,8}|\s+|[^\w\s]+')

SPELLINGS: Final[Mapping[Spelling, Mapping[str, Any]]] = {
    "spaced": {"separators": (", ", ": ")},
    "compact": {"separators": (",", ":")},
    "pretty": {"indent": 4},
}
"""The arguments of `json.dumps` for each way in which models write whitespace in the JSON of a tool's input."""


def cut_text(text: str, family: Family) -> list[str]:
    """Cut a text into the deltas that the family would send. There is at least one delta; joined, they are the text.

    >>> from converse_harness.bedrock.families import FAMILIES, NEUTRAL
    >>> cut_text("The answer is forty-two.", NEUTRAL)
    ['The', ' answer', ' is', ' forty-two.']
    >>> cut_text("The answer is forty-two.", FAMILIES["claude"])
    ['The', ' answer is forty-two.']
    """
    return [*chain.from_iterable(text_runs(text, family))]


def text_runs(text: str, family: Family) -> Iterator[list[str]]:
    """Cut a text like `cut_text`, but lazily: yield the deltas in lists, each of which is cut when it is needed."""
    if family.opens_empty and text:
        yield [""]
    yield from _runs(text, family.text)


def reasoning_runs(text: str, family: Family) -> Iterator[list[str]]:
    """Cut a reasoning text lazily, with the family's lengths for reasoning and without an empty first delta."""
    return _runs(text, family.text if family.reasoning is None else family.reasoning)


def ends_empty(family: Family, blocks: Sequence[Mapping[str, Any]], stop_reason: str) -> bool:
    """Whether the family sends an empty delta at the end of an answer with these content blocks.

    This requires that the last block is a non-empty text and that the family's `ends_empty` contains the stop reason.
    """
    return stop_reason in family.ends_empty and bool(blocks) and bool(blocks[-1].get("text"))


def spell_tool_input(value: object, family: Family) -> str:
    """Return a tool input as JSON with the family's whitespace; non-ASCII characters are not escaped."""
    return json.dumps(value, ensure_ascii=False, **SPELLINGS[family.tool_json])


def cut_tool_input(json_text: str, family: Family) -> list[str]:
    """Cut the JSON of a tool input into the fragments that the family would send; joined, they are the JSON.

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


def _runs(text: str, lengths: Lengths) -> Iterator[list[str]]:
    if lengths == WHOLE or not text:
        return iter(([text],))
    if lengths == WORDS:
        return map(_short_words, _found_in_windows(_WORD, text))
    tokens = _found_in_windows(_TOKEN, text)
    return tokens if lengths == TOKENS else _grouped(tokens, lengths)


_FIRST_WINDOW: Final = 128
"""`_found_in_windows` reads a text in windows (parts). This is the length of the first window in characters; each later
window is twice as long as the one before."""


def _found_in_windows(pattern: re.Pattern[str], text: str) -> Iterator[list[str]]:
    """Yield the matches of `pattern.findall(text)` lazily, as one list for each window of the text.

    The last match of a window may continue past the window's end, so the next window starts with that match again. All
    other matches of a window are also matches in the whole text, because these patterns examine at most one character
    after a match.
    """
    start, size = 0, _FIRST_WINDOW
    while start + size < len(text):
        found: list[str] = pattern.findall(text, start, start + size)
        start += size - len(found.pop())
        if found:
            yield found
        size *= 2
    yield pattern.findall(text, start)


def _grouped(runs: Iterable[list[str]], lengths: Lengths) -> Iterator[list[str]]:
    """Join the tokens in `runs` into pieces whose lengths are as close as possible to `lengths`.

    After the last of the `lengths`, the first one is used again.
    """
    wanted = cycle(lengths)
    length = next(wanted)
    piece = ""
    for tokens in runs:
        pieces: list[str] = []
        for token in tokens:
            # The token starts a new piece if the current piece is nearer to `length` without the token.
            if piece and len(token) > 2 * (length - len(piece)):
                pieces.append(piece)
                piece, length = "", next(wanted)
            piece += token
        yield pieces
    yield [piece]


def _lengths_of(text: str, lengths: Lengths) -> Iterable[str]:
    """Cut a text into pieces with the given lengths; after the last length, the first length follows again."""
    wanted = cycle(lengths)
    start = 0
    while start < len(text):
        end = start + next(wanted)
        yield text[start:end]
        start = end


def _short_words(words: list[str]) -> list[str]:
    """Return the words, with each very long word (for example, a text without spaces) split into parts."""
    if max(map(len, words)) <= _LONGEST_WORD:
        return words
    return [*chain.from_iterable(map(_parts, words))]


def _parts(word: str) -> Iterator[str]:
    while len(word) > _LONGEST_WORD:
        yield word[:_PART_OF_A_WORD]
        word = word[_PART_OF_A_WORD:]
    yield word
