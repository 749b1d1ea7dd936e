"""Make candidates (numbers and texts) for a conjunction: a list of schemas that must all be satisfied.

The least candidates come first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import count as counting
from itertools import islice, product
from string import ascii_lowercase
from typing import Final

from converse_harness.json_schema.checking import exact, limits
from converse_harness.json_schema.formats import STRING_FORMATS
from converse_harness.json_schema.parts import SchemaPart, Unsatisfied
from converse_harness.json_schema.patterns import PatternTooHard, matching

_FINEST: Final = 12
"""Fractions with fewer decimal places than this number are tried."""

_LONGEST: Final = 100_000
"""The maximum number of characters of a text that is made."""


def numbers(form: Sequence[SchemaPart], count: int, start: int, *, whole: bool) -> Iterator[int | float]:
    """Yield numbers within the limits that the schemas in `form` set, those near 0 first.

    If `whole` is true, yield only integers. `start` moves the first number away from 0. Raises Unsatisfied if no number
    is found.
    """
    low = max(limits(form, "minimum"), default=None, key=lambda limit: (limit[0], not limit[1]))
    high = min(limits(form, "maximum"), default=None)
    steps = [exact(given) for part in form if (given := part.get("multipleOf")) is not None]
    grids = [common([Fraction(1), *steps])]
    if not whole:
        grids += [common(steps)] if steps else [Fraction(1, 10**places) for places in range(1, _FINEST)]
    is_empty = True
    for grid in grids:
        first = None if low is None else at_least(low[0] / grid, inclusive=low[1])
        last = None if high is None else -at_least(-high[0] / grid, inclusive=high[1])
        if first is not None and last is not None and first > last:
            continue
        for number in _from(first, last, start, count + 2):
            value = number * grid
            is_empty = False
            yield int(value) if value.denominator == 1 else float(value)
    if not whole and low is not None and high is not None:
        yield float((low[0] + high[0]) / 2)
    if is_empty:
        rules = [
            f"{part.path}/{name} {part.get(name)}" for part in form for name in _NUMERIC if part.get(name) is not None
        ]
        raise Unsatisfied(rules[0].split(" ")[0], f"no number is found that satisfies {', '.join(rules)}")


_NUMERIC: Final = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")


def at_least(number: Fraction, *, inclusive: bool) -> int:
    """Return the smallest integer that is at least `number` or, if `inclusive` is false, greater than `number`."""
    return math.ceil(number) if inclusive else math.floor(number) + 1


def _from(first: int | None, last: int | None, start: int, count: int) -> Iterator[int]:
    """Yield integers from `first` to `last`; None means that there is no limit.

    The first integer is the one nearest to 0, moved by `start`; its neighbours follow, up to the distance `count`.
    """
    middle = 0 if last is None else min(0, last)
    middle = middle if first is None else max(middle, first)
    if last is None or last >= middle + start:
        middle += start
    elif first is not None:
        away = start % (last - first + 1)
        middle += away if middle == first else -away
    for away in range(count):
        for number in dict.fromkeys([middle + away, middle - away]):
            if (first is None or number >= first) and (last is None or number <= last):
                yield number


def common(steps: Sequence[Fraction]) -> Fraction:
    """Return the least common multiple of some numbers."""
    return Fraction(math.lcm(*(each.numerator for each in steps)), math.gcd(*(each.denominator for each in steps)))


def words(least: int) -> Iterator[str]:
    """Yield all texts of lowercase letters with at least `least` characters, the shortest first."""
    for length in counting(least):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def texts(form: Sequence[SchemaPart], count: int, start: int) -> Iterator[str]:
    """Yield texts for the patterns, formats and lengths in the schemas of `form`. Another `start` gives other texts.

    Raises Unsatisfied for a pattern for which no text can be made, and for a length that cannot be reached.
    """
    low = int(max(part.get("minLength", 0) for part in form))
    high = int(min(part.get("maxLength", max(low, _LONGEST)) for part in form))
    if low > _LONGEST:
        raise Unsatisfied(f"{form[0].path}/minLength", f"is {low}, and texts have {_LONGEST:,} characters at most")
    formats = [name for part in form if (name := part.get("format")) in STRING_FORMATS]
    yield from (STRING_FORMATS[name].text(start + number) for name in formats for number in range(count + 2))
    patterns = {f"{part.path}/pattern": pattern for part in form if (pattern := part.get("pattern")) is not None}
    is_empty = True
    for path, pattern in patterns.items():
        try:
            for text in matching(pattern, low, start):
                if low <= len(text) <= high:
                    is_empty = False
                    yield text
        except PatternTooHard as reason:
            raise Unsatisfied(path, f"is {pattern!r}, and no text is made for it: {reason}") from None
    if patterns:
        if is_empty:
            path, pattern = next(iter(patterns.items()))
            raise Unsatisfied(path, f"is {pattern!r}, and no text of {low} to {high} characters is found")
        return
    least = max(low, min(1, high))
    for text in islice(words(min(least, 3)), start, start + count + 2):
        made = text + "a" * (least - len(text))
        yield made[:least] if len(made) > high else made
    yield "a" * low
