"""Two texts beside each other, with what was left out and what was added."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from converse_harness.secrets import common_length
from converse_harness.viewer.html import Html, element, escape, joined

_MOST: Final = 400
"""More words than this are compared line by line, and more lines than this not at all, because the time of a comparison
grows with the square of their number."""

_KEPT: Final = 160
"""Of an equal part that is longer, its two ends are shown."""

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LINES: Final = re.compile(r".*\n|.+")


def sides(was: str, now: str, heads: Sequence[str]) -> Html:
    """Return two texts beside each other, or one below the other where there is no room; `heads` are their titles.

    What only the first has is in `del`, what only the second has in `ins`. Long equal parts are shortened.
    """
    left, right = _marked(was, now)
    columns = [
        element("div", element("h6", head), element("pre", content, class_="text"))
        for head, content in zip(heads, (left, right), strict=True)
    ]
    return element("div", *columns, class_="sides")


def _marked(was: str, now: str) -> tuple[Html, Html]:
    old, new = _WORDS.findall(was), _WORDS.findall(now)
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    if max(len(old), len(new)) - start - end > _MOST:
        old, new = _LINES.findall(was), _LINES.findall(now)
        start = common_length(old, new)
        end = common_length(old[start:][::-1], new[start:][::-1])
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    left: list[Html] = [_same(old[:start])]
    right: list[Html] = [_same(new[:start])]
    for kind, a, b, c, d in _steps(middle_old, middle_new):
        if kind == "equal":
            left.append(_same(middle_old[a:b]))
            right.append(_same(middle_new[c:d]))
        else:
            left += [element("del", "".join(middle_old[a:b]))] if b > a else []
            right += [element("ins", "".join(middle_new[c:d]))] if d > c else []
    left.append(_same(old[len(old) - end :]))
    right.append(_same(new[len(new) - end :]))
    return joined(left), joined(right)


def _steps(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if len(old) > _MOST or len(new) > _MOST:
        return [("replace", 0, len(old), 0, len(new))]
    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _same(words: Sequence[str]) -> Html:
    text = "".join(words)
    if len(text) <= 2 * _KEPT:
        return escape(text)
    left_out = element("span", f" ... {len(text) - 2 * _KEPT:,} characters ... ", class_="elided")
    return joined([text[:_KEPT], left_out, text[-_KEPT:]])
