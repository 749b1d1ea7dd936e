"""Two texts beside each other as HTML, in which the differences are marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from converse_harness.secrets import common_length
from converse_harness.viewer.html import Html, element, escape, joined

_MOST: Final = 400
"""The maximum number of words or lines that are compared: the time grows with the square of their number.

Equal text at the start and at the end does not count. If more words remain, lines are compared; if more lines remain,
all of them are shown as changed.
"""

_KEPT: Final = 160
"""If an equal part is longer than twice this number of characters, only its two ends are shown."""

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LINES: Final = re.compile(r".*\n|.+")


def sides(was: str, now: str, heads: Sequence[str]) -> Html:
    """Return the HTML of two texts with the titles `heads`: side by side or, on a narrow page, one below the other.

    Text that only `was` has is in `del`, text that only `now` has in `ins`. Long equal parts are shortened.
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
    """Split two texts into `units` (words or lines). Return both lists of units, and two numbers.

    The numbers say how many units are equal at the start of both lists, and how many at the end.
    """
    old, new = units.findall(was), units.findall(now)
    start = common_length(old, new)
    return old, new, start, common_length(old[start:][::-1], new[start:][::-1])


def _marked(mark: str, kind: str, words: Sequence[str]) -> Html | None:
    """Return the HTML of some words of a text; None without words.

    Unless `kind` is "equal", the other text lacks these words, and they are put in an element with the name `mark`.
    """
    if kind == "equal":
        return _same(words)
    return element(mark, "".join(words)) if words else None


def _same(words: Sequence[str]) -> Html:
    """Return the HTML of words that both texts have; of many words, only the first and the last characters."""
    text = "".join(words)
    if len(text) <= 2 * _KEPT:
        return escape(text)
    left_out = element("span", f" ... {len(text) - 2 * _KEPT:,} characters ... ", class_="elided")
    return joined([text[:_KEPT], left_out, text[-_KEPT:]])
