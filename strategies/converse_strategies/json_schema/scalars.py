"""Strategies for numbers and texts that satisfy the keywords of a schema.

Keywords that no value can satisfy together raise Contradiction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness.json_schema.checking import broken_by, exact
from converse_harness.json_schema.scalars import at_least, common
from converse_strategies.json_schema.reading import FORMATS, Node, compiled

APPLICATORS: Final = ("$ref", "allOf", "anyOf", "oneOf", "not")
"""Keywords that require a value to satisfy other schemas as well, or (`not`) to break one."""

_FAR: Final = 2**53
"""Drawn integers are at most this far from 0 or, if they have a bound only on one side, from this bound.

Every JSON reader represents integers up to 2**53 exactly.
"""

_MANY: Final = 10**6
_LONG: Final = 32
"""If the minimum length is at least this number, a shorter text is drawn and then padded to the minimum length."""

_PRINTABLE: Final = "".join(map(chr, range(32, 127)))


class Contradiction(Exception):
    """Raised for keywords that no value can satisfy together."""


def said(nodes: Iterable[Node], keyword: str) -> dict[str, Any]:
    """Return a dict: path of a keyword, such as `#/properties/city/minLength` -> the value of the keyword in this node.

    Nodes without the keyword are left out.
    """
    return {f"{node.path}/{keyword}": node.keywords[keyword] for node in nodes if keyword in node.keywords}


def holds(nodes: Iterable[Node], value: Any) -> bool:
    """Whether `value` satisfies all keywords of the nodes, except those in APPLICATORS, which are not checked."""
    entries = ((node, *entry) for node in nodes for entry in node.entries() if entry[0] not in APPLICATORS)
    return not any(True for entry in entries for _ in broken_by(*entry, value))


def sizes(nodes: Sequence[Node], low: str, high: str) -> tuple[int, int | None]:
    """Return the smallest and the largest length that the keywords `low` and `high` of the nodes allow.

    The largest is None if there is no limit. Raises Contradiction if the smallest is above the largest.
    """
    lowest = max(said(nodes, low).values(), default=0)
    highest = min(said(nodes, high).values(), default=None)
    if highest is not None and lowest > highest:
        raise Contradiction(f"{_where(nodes)}: {low} {lowest} is above {high} {highest}")
    return lowest, highest


def _where(nodes: Sequence[Node]) -> str:
    return " and ".join(dict.fromkeys(node.path for node in nodes))


class _Bounds:
    """The bounds for numbers that satisfy all nodes: `low` and `high` are (number, is inclusive), or None."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        def bounds(keyword: str, exclusive: str) -> list[tuple[float, bool]]:
            inclusive = [(number, True) for number in said(nodes, keyword).values()]
            return [*inclusive, *((number, False) for number in said(nodes, exclusive).values())]

        self.low = max(bounds("minimum", "exclusiveMinimum"), default=None, key=lambda bound: (bound[0], not bound[1]))
        self.high = min(bounds("maximum", "exclusiveMaximum"), default=None)

    def steps(self, step: Fraction, far: int) -> tuple[int, int]:
        """Return the smallest and the largest integer n for which n * `step` is within the bounds.

        If a bound is missing, n reaches `far` steps beyond 0 or beyond the other bound, whichever is more.
        """
        high = far if self.high is None else -at_least(-exact(self.high[0]) / step, inclusive=self.high[1])
        low = min(-far, high - far) if self.low is None else at_least(exact(self.low[0]) / step, inclusive=self.low[1])
        return low, max(high, low + far) if self.high is None else high

    def floats(self) -> tuple[float | None, float | None]:
        """Return the smallest and the largest float within the bounds; None takes the place of a missing bound.

        Raises OverflowError for a bound that is too large for a float.
        """
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


_NUMERIC: Final = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")


def numbers(nodes: Sequence[Node], kinds: frozenset[str]) -> st.SearchStrategy[Any]:
    """Numbers that satisfy the nodes. `kinds` contains `integer`, `fraction` (a number with decimal places) or both.

    Raises Contradiction if no number satisfies the nodes.
    """
    bounds = _Bounds(nodes)
    steps = [exact(number) for number in said(nodes, "multipleOf").values()]
    found = [*_integers(bounds, steps)] if "integer" in kinds else []
    if "fraction" in kinds:
        alone = "integer" not in kinds
        drawn = [*(_multiples(bounds, common(steps), alone) if steps else _floats(bounds, alone))]
        found += [
            each.filter(lambda number: holds(nodes, number) and not (alone and number.is_integer())) for each in drawn
        ]
    if not found:
        rules = ", ".join(f"{where} {number}" for keyword in _NUMERIC for where, number in said(nodes, keyword).items())
        raise Contradiction(
            f"{_where(nodes)}: no {' or '.join(sorted(kinds))} satisfies {rules or 'what is said of it'}"
        )
    return st.one_of(found)


def _integers(bounds: _Bounds, steps: Sequence[Fraction]) -> Iterator[st.SearchStrategy[Any]]:
    step = common([Fraction(1), *steps])
    low, high = bounds.steps(step, _FAR // step.numerator if step < _FAR else 1)
    if low <= high:
        yield st.integers(low, high).map(lambda number: int(number * step))


def _multiples(bounds: _Bounds, step: Fraction, alone: bool) -> Iterator[st.SearchStrategy[Any]]:
    low, high = bounds.steps(step, _MANY)
    is_integer = step.denominator == 1 or (alone and low == high and (low * step).denominator == 1)
    if low <= high and not is_integer:
        yield st.integers(low, high).map(lambda number: float(number * step))


def _floats(bounds: _Bounds, alone: bool) -> Iterator[st.SearchStrategy[Any]]:
    try:
        low, high = bounds.floats()
    except OverflowError:
        return
    if low is None or high is None or low < high or (low == high and not (alone and low.is_integer())):
        yield st.floats(low, high, allow_nan=False, allow_infinity=False)


_CLASS: Final = re.compile(
    r"\^(?P<one>\[(?:[^\]\\\[]|\\.)+\]|\\[dw])(?:(?P<many>[*+?])|\{(?P<low>\d+)(?P<comma>,?)(?P<high>\d*)\})?\$"
)
_MANY_OF: Final[Mapping[str | None, tuple[int, int | None]]] = {
    "*": (0, None),
    "+": (1, None),
    "?": (0, 1),
    None: (1, 1),
}


_Class = tuple[str, int, int | None]
"""(the allowed characters, the least number of characters, the greatest number of characters or None for no limit)"""


@cache
def _characters(pattern: str) -> _Class | None:
    """Convert a pattern that consists of one repeated class of characters, such as `^[a-z]{3}$`, to a `_Class`.

    Return None for any other pattern. Of the characters, only those in printable ASCII are returned.
    """
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


def texts(nodes: Sequence[Node], given: st.SearchStrategy[str] | None) -> st.SearchStrategy[str]:
    """Texts that satisfy the nodes. If no node has a pattern or a format, they are drawn from `given`, or any text if
    it is None.

    A text from `given` is cut or padded to an allowed length. Raises Contradiction if no text satisfies the nodes.
    """
    low, high = sizes(nodes, "minLength", "maxLength")
    patterns = list(dict.fromkeys(said(nodes, "pattern").values()))
    formats = [name for name in said(nodes, "format").values() if name in FORMATS]
    if not patterns and not formats:
        return _of_length(low, high) if given is None else given.map(lambda text: text[:high] + "0" * (low - len(text)))
    classes = [found for found in map(_characters, patterns) if found is not None and found[0]]
    if not formats and len(classes) == len(patterns):
        return _of_classes(nodes, classes, low, high)
    return (FORMATS[formats[0]] if formats else of_pattern(patterns[0])).filter(partial(holds, nodes))


def _of_classes(nodes: Sequence[Node], classes: Sequence[_Class], low: int, high: int | None) -> st.SearchStrategy[str]:
    letters = [letter for letter in classes[0][0] if all(letter in allowed for allowed, _, _ in classes)]
    low = max(low, *(least for _, least, _ in classes))
    most = min((most for most in (high, *(most for _, _, most in classes)) if most is not None), default=None)
    if (most is not None and low > most) or (not letters and low):
        rules = ", ".join(f"{keyword} {rule!r}" for keyword in _TEXTUAL for rule in said(nodes, keyword).values())
        raise Contradiction(f"{_where(nodes)}: no text satisfies {rules}")
    return _of_length(low, most, "".join(letters))


_TEXTUAL: Final = ("pattern", "minLength", "maxLength")


@cache
def _of_length(low: int, high: int | None, letters: str | None = None) -> st.SearchStrategy[str]:
    """Texts of `low` to `high` characters from `letters`. If `letters` is None, they have any characters.

    For a large `low`, a shorter text is drawn and then padded to the length `low`.
    """
    alphabet = st.characters(codec="utf-8") if letters is None else letters
    if low < _LONG:
        return st.text(alphabet, min_size=low, max_size=high)
    drawn = st.text(alphabet, max_size=_LONG if high is None else min(high, _LONG))
    return drawn.map(lambda text: text + (letters or "0")[0] * (low - len(text)))


@cache
def of_pattern(pattern: str) -> st.SearchStrategy[str]:
    """Texts that contain a match of `pattern`. They are in printable ASCII unless the pattern itself contains other
    characters.

    The reason: the dialects of regular expressions differ in which other characters they treat as white space, letters
    or line ends.
    """
    found = _characters(pattern)
    if found is not None and found[0]:
        return _of_length(found[1], found[2], found[0])
    if pattern.isascii() and not re.search(r"\\[uUxnrtfv0]", pattern):
        return st.from_regex(compiled(pattern), alphabet=st.characters(min_codepoint=32, max_codepoint=126))
    # Draw without the flag re.ASCII, and apply it in the filter: older versions of hypothesis apply it even to
    # characters that the pattern contains literally.
    return st.from_regex(re.compile(compiled(pattern).pattern)).filter(compiled(pattern).search)
