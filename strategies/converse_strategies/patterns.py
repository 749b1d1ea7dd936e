"""Strings that match AWS's patterns, which are Java regular expressions: few draws each, and they shrink well.

`from_regex` costs a draw for every character. AWS's patterns are simple: literals, classes, groups, alternatives and
quantities; they are drawn a segment at a time. Whatever else a pattern has is left to `from_regex`.
"""

from __future__ import annotations

import re
from collections import deque
from functools import cache
from typing import Final

from hypothesis import strategies as st

from converse_harness.bedrock import values as java
from converse_strategies import leaves

Strings = st.SearchStrategy[str]

ANYTHING: Final = r"[\s\S]*"
"""The pattern that refuses nothing."""

_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|\(\?:|.", re.DOTALL)
_QUANTITIES: Final[dict[str, tuple[int, int | None]]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_NOT_CHARACTERS: Final = ("^", "$", "?", "*", "+", "[", "]", "{", "}")
_BEYOND_ASCII: Final = "é"


class _NotSimple(Exception):
    """A construct that is left to `from_regex`."""


@cache
def strings(pattern: str | None, low: int = 0, high: int | None = None) -> Strings:
    """Strings that match a Java pattern as a whole, of some length in characters; any strings without a pattern.

    A pattern that Python cannot read refuses nothing, as in `converse_harness.bedrock.validate`.

    >>> from hypothesis import find
    >>> find(strings("arn:aws:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+"), lambda text: True)
    'arn:aws:bedrock:0:000000000000:guardrail/0'
    """
    readable = java.compiled(pattern) if pattern and pattern != ANYTHING else None
    if pattern is None or readable is None:
        return st.text(min_size=low, max_size=high)
    expression = readable
    try:
        drawn = _one_class(pattern, low, high)
        if drawn is None:
            drawn = _alternatives(deque(_TOKEN.findall(pattern)))
    except _NotSimple:
        drawn = st.from_regex(expression, fullmatch=True)

    def fits(text: str) -> bool:
        return low <= len(text) and (high is None or len(text) <= high) and bool(expression.fullmatch(text))

    return drawn.filter(fits)


def _one_class(pattern: str, low: int, high: int | None) -> Strings | None:
    """A class and how often, which most patterns are: the length limits that at once. None for any other pattern."""
    first, *rest = _TOKEN.findall(pattern)
    quantity = deque(rest)
    least, most = _quantity(quantity)
    if quantity or not rest or first == "(":
        return None
    ends = [end for end in (most, high) if end is not None]
    return st.text(_alphabet(first), min_size=max(least, low), max_size=min(ends, default=None))


def _alternatives(tokens: deque[str]) -> Strings:
    branches = [_sequence(tokens)]
    while tokens and tokens[0] == "|":
        tokens.popleft()
        branches.append(_sequence(tokens))
    return st.one_of(branches)


def _sequence(tokens: deque[str]) -> Strings:
    parts: list[Strings] = []
    literal = ""
    while tokens and tokens[0] not in ("|", ")"):
        token = tokens.popleft()
        if token in ("(", "(?:"):
            inner = _alternatives(tokens)
            tokens.popleft()
            part = _repeated(inner, *_quantity(tokens))
        else:
            quantity = _quantity(tokens)
            if quantity == (1, 1) and len(token) == 1 and token not in (".", *_NOT_CHARACTERS):
                literal += token
                continue
            part = st.text(_alphabet(token), min_size=quantity[0], max_size=quantity[1])
        parts += [st.just(literal), part] if literal else [part]
        literal = ""
    if literal or not parts:
        parts.append(st.just(literal))
    return parts[0] if len(parts) == 1 else leaves.made(st.tuples(*parts), "".join)


def _repeated(inner: Strings, least: int, most: int | None) -> Strings:
    if (least, most) == (1, 1):
        return inner
    if (least, most) == (0, 1):
        return st.just("") | inner
    return leaves.made(st.lists(inner, min_size=least, max_size=most), "".join)


def _quantity(tokens: deque[str]) -> tuple[int, int | None]:
    """How often what stands before is repeated; (1, 1) if nothing is said. Taken off the tokens."""
    quantity: tuple[int, int | None] = (1, 1)
    if tokens and tokens[0] in _QUANTITIES:
        quantity = _QUANTITIES[tokens.popleft()]
    elif tokens and tokens[0].startswith("{"):
        least, comma, most = tokens.popleft()[1:-1].partition(",")
        quantity = int(least), int(most) if most else None if comma else int(least)
    if quantity != (1, 1) and tokens and tokens[0] in ("?", "+"):
        raise _NotSimple
    return quantity


@cache
def _alphabet(token: str) -> Strings | str:
    """The characters that one character or class of a pattern stands for."""
    expression = None if token in _NOT_CHARACTERS else java.compiled(token)
    if expression is None:
        raise _NotSimple
    fitting = "".join(chr(code) for code in range(128) if expression.fullmatch(chr(code)))
    if expression.fullmatch(_BEYOND_ASCII):
        others = "".join(chr(code) for code in range(128) if chr(code) not in fitting)
        return st.characters(codec="utf-8", exclude_characters=others)
    if not fitting:
        raise _NotSimple
    return fitting
