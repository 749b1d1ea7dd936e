"""Strategies for numbers and texts limited by keywords, and the detection of contradictions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from hypothesis import strategies as st

from converse_strategies.json_schema.reading import Node, compiled
from converse_strategies.json_schema.validation import FORMATS, is_multiple, texts_of

_FAR: Final = 2**53
"""How far integers go where nothing limits them: what every reader of JSON can hold."""

_MANY: Final = 10**6
_LONG: Final = 32
"""From this length on, a text is filled up rather than drawn."""

_PRINTABLE: Final = "".join(map(chr, range(32, 127)))


class Contradiction(Exception):
    """Keywords that no value can satisfy together."""


def said(nodes: Iterable[Node], keyword: str) -> list[tuple[str, Any]]:
    """The values of a keyword in some nodes, with the nodes."""
    return [(f"{node.path}/{keyword}", node.keywords[keyword]) for node in nodes if keyword in node.keywords]


def _largest(nodes: Sequence[Node], keyword: str) -> int:
    """The largest of the lower bounds; 0 if there is none."""
    return max((number for _, number in said(nodes, keyword)), default=0)


def _smallest(nodes: Sequence[Node], keyword: str) -> int | None:
    """The smallest of the upper bounds; None if there is none."""
    return min((number for _, number in said(nodes, keyword)), default=None)


def sizes(nodes: Sequence[Node], low: str, high: str) -> tuple[int, int | None]:
    """The bounds for a length. Raises Contradiction."""
    lowest, highest = _largest(nodes, low), _smallest(nodes, high)
    if highest is not None and lowest > highest:
        raise Contradiction(f"{_where(nodes)}: {low} {lowest} is above {high} {highest}")
    return lowest, highest


def _where(nodes: Sequence[Node]) -> str:
    return " and ".join(dict.fromkeys(node.path for node in nodes))


class _Bounds:
    """The bounds for numbers, each either inclusive or exclusive."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        lows = [(x, True) for _, x in said(nodes, "minimum")] + [(x, False) for _, x in said(nodes, "exclusiveMinimum")]
        highs = [(x, True) for _, x in said(nodes, "maximum")] + [
            (x, False) for _, x in said(nodes, "exclusiveMaximum")
        ]
        self.low = max(lows, default=None, key=lambda bound: (bound[0], not bound[1]))
        self.high = min(highs, default=None)

    def steps(self, step: Fraction, far: int) -> tuple[int, int]:
        """The first and the last multiple of a step within the bounds; an open bound is `far` steps away."""
        low, high = -far, far
        if self.low is not None:
            at = _exact(self.low[0]) / step
            low = math.ceil(at) if self.low[1] else math.floor(at) + 1
        if self.high is not None:
            at = _exact(self.high[0]) / step
            high = math.floor(at) if self.high[1] else math.ceil(at) - 1
        if self.low is None:
            low = min(low, high - far)
        if self.high is None:
            high = max(high, low + far)
        return low, high

    def floats(self) -> tuple[float | None, float | None]:
        """The first and the last float within the bounds. Raises OverflowError if they lie beyond all floats."""
        low = high = None
        if self.low is not None:
            low = float(self.low[0])
            if low < self.low[0] or (low == self.low[0] and not self.low[1]):
                low = math.nextafter(low, math.inf)
        if self.high is not None:
            high = float(self.high[0])
            if high > self.high[0] or (high == self.high[0] and not self.high[1]):
                high = math.nextafter(high, -math.inf)
        return low, high


def numbers(nodes: Sequence[Node], kinds: frozenset[str]) -> st.SearchStrategy[Any]:
    """Numbers of the kinds integer and fraction, or of one of them. Raises Contradiction."""
    bounds = _Bounds(nodes)
    steps = [_exact(number) for _, number in said(nodes, "multipleOf")]
    found = [*_integers(bounds, steps, kinds), *_fractions(bounds, steps, kinds)]
    if not found:
        rules = ", ".join(f"{where} {number}" for keyword in _NUMERIC for where, number in said(nodes, keyword))
        raise Contradiction(
            f"{_where(nodes)}: no {' or '.join(sorted(kinds))} satisfies {rules or 'what is said of it'}"
        )
    return st.one_of(found)


_NUMERIC: Final = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")


def _integers(bounds: _Bounds, steps: list[Fraction], kinds: frozenset[str]) -> list[st.SearchStrategy[Any]]:
    if "integer" not in kinds:
        return []
    step = _common([Fraction(1), *steps])
    low, high = bounds.steps(step, _FAR // step.numerator if step < _FAR else 1)
    if low > high:
        return []
    integers = st.integers(low, high)
    return [integers if step == 1 else integers.map(lambda number: int(number * step))]


def _fractions(bounds: _Bounds, steps: list[Fraction], kinds: frozenset[str]) -> list[st.SearchStrategy[Any]]:
    if "fraction" not in kinds:
        return []
    alone = "integer" not in kinds
    if not steps:
        return _floats(bounds, alone)
    step = _common(steps)
    low, high = bounds.steps(step, _MANY)
    if low > high or step.denominator == 1 or (alone and low == high and (low * step).denominator == 1):
        return []
    divisors = [float(each) for each in steps]

    def is_right(number: float) -> bool:
        return all(is_multiple(number, of) for of in divisors) and not (alone and number.is_integer())

    return [st.integers(low, high).map(lambda number: float(number * step)).filter(is_right)]


def _floats(bounds: _Bounds, alone: bool) -> list[st.SearchStrategy[Any]]:
    try:
        low, high = bounds.floats()
    except OverflowError:
        return []
    if low is not None and high is not None and (low > high or (alone and low == high and low.is_integer())):
        return []
    floats = st.floats(low, high, allow_nan=False, allow_infinity=False)
    return [floats.filter(lambda number: not number.is_integer()) if alone else floats]


def _exact(number: float) -> Fraction:
    """A number as an exact fraction of its decimal form: 0.1 is a tenth."""
    return Fraction(int(number)) if number == int(number) else Fraction(str(number))


def _common(steps: list[Fraction]) -> Fraction:
    """The least common multiple of some numbers."""
    return Fraction(math.lcm(*(each.numerator for each in steps)), math.gcd(*(each.denominator for each in steps)))


_CLASS: Final = re.compile(
    r"\^(?P<one>\[(?:[^\]\\\[]|\\.)+\]|\\[dw])(?:(?P<many>[*+?])|\{(?P<low>\d+)(?P<comma>,?)(?P<high>\d*)\})?\$"
)
_MANY_OF: Final[Mapping[str | None, tuple[int, int | None]]] = {
    "*": (0, None),
    "+": (1, None),
    "?": (0, 1),
    None: (1, 1),
}


@lru_cache(maxsize=512)
def _characters(pattern: str) -> tuple[str, int, int | None] | None:
    """The printable ASCII characters of a pattern that is one class, with least and greatest count; otherwise None."""
    found = _CLASS.fullmatch(pattern)
    if found is None:
        return None
    low, high = _MANY_OF.get(found["many"], (1, 1))
    if found["low"] is not None:
        low = int(found["low"])
        high = (int(found["high"]) if found["high"] else None) if found["comma"] else low
    one = re.compile(found["one"], re.ASCII)
    letters = [letter for letter in _PRINTABLE if one.fullmatch(letter)]
    letters.sort(key=lambda letter: (not letter.islower(), not letter.isalnum()))
    return "".join(letters), low, high


def texts(nodes: Sequence[Node]) -> st.SearchStrategy[str] | None:
    """Texts that satisfy keywords; None if only the length is limited. Raises Contradiction."""
    low, high = sizes(nodes, "minLength", "maxLength")
    patterns = list(dict.fromkeys(pattern for _, pattern in said(nodes, "pattern")))
    formats = list(dict.fromkeys(name for _, name in said(nodes, "format") if name in FORMATS))
    if not patterns and not formats:
        return None
    classes = [_characters(pattern) for pattern in patterns]
    if not formats and all(each is not None and each[0] for each in classes):
        return _of_classes(nodes, [each for each in classes if each is not None], low, high)

    def is_right(text: str) -> bool:
        return (
            low <= len(text)
            and (high is None or len(text) <= high)
            and all(compiled(pattern).search(text) for pattern in patterns)
            and all(FORMATS[name].holds(text) for name in formats)
        )

    return (texts_of(formats[0]) if formats else of_pattern(patterns[0])).filter(is_right)


def _of_classes(
    nodes: Sequence[Node], classes: list[tuple[str, int, int | None]], low: int, high: int | None
) -> st.SearchStrategy[str]:
    letters = [letter for letter in classes[0][0] if all(letter in allowed for allowed, _, _ in classes)]
    low = max(low, *(least for _, least, _ in classes))
    highs = [most for most in (high, *(most for _, _, most in classes)) if most is not None]
    most = min(highs, default=None)
    if (most is not None and low > most) or (not letters and low):
        rules = ", ".join(f"{keyword} {rule!r}" for keyword in _TEXTUAL for _, rule in said(nodes, keyword))
        raise Contradiction(f"{_where(nodes)}: no text satisfies {rules}")
    return _filled(st.text(letters, min_size=0 if low >= _LONG else low, max_size=_room(low, most)), low, letters[:1])


_TEXTUAL: Final = ("pattern", "minLength", "maxLength")


def _filled(drawn: st.SearchStrategy[str], low: int, letters: Sequence[str] = "0") -> st.SearchStrategy[str]:
    """Make texts long enough without one draw per character."""
    return drawn.map(lambda text: text + letters[0] * (low - len(text))) if low >= _LONG else drawn


def _room(low: int, high: int | None) -> int | None:
    """How many characters may be drawn for a text that is padded to `low`."""
    if low < _LONG:
        return high
    return _LONG if high is None else min(high, _LONG)


@lru_cache(maxsize=512)
def of_length(low: int, high: int | None) -> st.SearchStrategy[str]:
    """Any text with a length in these bounds."""
    return _filled(st.text(min_size=0 if low >= _LONG else low, max_size=_room(low, high)), low)


def fitted(text: str, low: int, high: int | None) -> str:
    """A text from another strategy, cut or padded to a length."""
    return text[:high] + "0" * (low - len(text))


@lru_cache(maxsize=512)
def of_pattern(pattern: str) -> st.SearchStrategy[str]:
    """Texts that contain a match of a pattern, in printable ASCII unless the pattern itself contains other characters.

    Beyond ASCII, dialects of regular expressions differ over white space, letters and line ends.
    """
    found = _characters(pattern)
    if found is not None and found[0]:
        return st.text(found[0], min_size=found[1], max_size=found[2])
    if pattern.isascii() and not re.search(r"\\[uUxnrtfv0]", pattern):
        return st.from_regex(compiled(pattern), alphabet=st.characters(min_codepoint=32, max_codepoint=126))
    # Older versions of hypothesis apply re.ASCII to literals too.
    return st.from_regex(re.compile(compiled(pattern).pattern)).filter(compiled(pattern).search)
