"""Two texts beside each other, with what was left out and what was added."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from converse_harness.secrets import common_length
from converse_harness.viewer.html import Html, element, escape, joined

_MOST: Final = 400
"""The maximum number of words that are compared: the time of a comparison grows with the square of their number.

Texts with more words are compared line by line. Texts with more lines are shown as changed from start to end.
"""

_KEPT: Final = 160
"""An equal part that is longer than two times this number of characters is shortened to its two ends."""

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LINES: Final = re.compile(r".*\n|.+")


def sides(was: str, now: str, heads: Sequence[str]) -> Html:
    """Return two texts beside each other, or one below the other where there is no room; `heads` are their titles.

    Text that only the first has is in `del`, text that only the second has in `ins`. Long equal parts are shortened.
    """
    old, new, start, end = _ends(_WORDS, was, now)
    if max(len(old), len(new)) - start - end > _MOST:
        old, new, start, end = _ends(_LINES, was, now)
    before, after = _same(old[:start]), _same(old[len(old) - end :])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    steps: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old), 0, len(new))]
    if max(len(old), len(new)) <= _MOST:
        steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    left = [_marked("del", kind, old[start:end]) for kind, start, end, _, _ in steps]
    right = [_marked("ins", kind, new[start:end]) for kind, _, _, start, end in steps]
    columns = [
        element("div", element("h6", head), element("pre", before, *content, after, class_="text"))
        for head, content in zip(heads, (left, right), strict=True)
    ]
    return element("div", *columns, class_="sides")


def _ends(units: re.Pattern[str], was: str, now: str) -> tuple[list[str], list[str], int, int]:
    """Return the words or lines of two texts, and how many are equal at their start and at their end."""
    old, new = units.findall(was), units.findall(now)
    start = common_length(old, new)
    return old, new, start, common_length(old[start:][::-1], new[start:][::-1])


def _marked(mark: str, kind: str, words: Sequence[str]) -> Html | None:
    """Return words of a text as HTML, inside an element `mark` if the other text lacks them; None without words."""
    if kind == "equal":
        return _same(words)
    return element(mark, "".join(words)) if words else None


def _same(words: Sequence[str]) -> Html:
    """Return words that both texts have; of many words, only the first and the last characters."""
    text = "".join(words)
    if len(text) <= 2 * _KEPT:
        return escape(text)
    left_out = element("span", f" ... {len(text) - 2 * _KEPT:,} characters ... ", class_="elided")
    return joined([text[:_KEPT], left_out, text[-_KEPT:]])
