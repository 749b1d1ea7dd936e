"""Search with regular expressions that came over HTTP, with a time limit.

Python's `re` holds the interpreter's lock during a search, so one expression that backtracks would stop every fake of
the process, even from another thread. The package `regex` releases the lock and has timeouts.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

from converse_harness.errors import CallError

__all__ = ["LONGEST", "PatternTooLarge", "RegexMissing", "TimedPattern", "timed"]

LONGEST: Final = 500
"""Characters of a glob or an expression."""

_LARGEST: Final = 10_000
"""How often what is repeated may stand in a compiled expression: a repeated group is written out as often as it must be
there, and groups in groups multiply.
"""

_SECONDS: Final = 1.0
"""An expression has this long for one text."""

_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_GROUP_REPEATED: Final = re.compile(r"\)(?:\s|#.*)*(?:\{(\d*)|\+)")
_COUNT: Final = re.compile(r"\{(\d+)")
_NO_COUNT: Final = re.compile(r"\{(?!\d*(?:,\d*)?\})")


class RegexMissing(Exception):
    """The package `regex` is not installed."""


class PatternTooLarge(ValueError):
    """An expression that would be too expensive to compile."""


class TimedPattern:
    """A compiled expression whose search lasts at most one second, while other threads run."""

    def __init__(self, compiled: Any, pattern: str) -> None:
        self._compiled = compiled
        self.pattern = pattern

    def search(self, text: str, /) -> bool:
        """Whether the pattern is found in the text. Raises CallError if one second is not enough."""
        try:
            return self._compiled.search(text, timeout=_SECONDS, concurrent=True) is not None
        except TimeoutError:
            raise CallError(
                f"the regular expression {self.pattern!r} of a condition was given up after {_SECONDS:g} s on a text "
                f"of {len(text)} characters. Write one that does not repeat what is repeated already, or a glob."
            ) from None

    def __repr__(self) -> str:
        return f"regex {self.pattern!r}"


def timed(pattern: str) -> TimedPattern:
    """Compile an expression that `re` accepts. Raises RegexMissing, PatternTooLarge, and all errors of `re.compile`."""
    try:
        engine = import_module("regex")
    except ImportError:
        raise RegexMissing from None
    re.compile(pattern)
    _check_size(pattern)
    try:
        return TimedPattern(engine.compile(pattern), pattern)
    except engine.error as error:
        raise re.error(str(error)) from None


def _check_size(pattern: str) -> None:
    plain = _ESCAPED.sub("x", pattern)
    if _NO_COUNT.search(plain):
        raise PatternTooLarge("it has a { that begins no count such as {3} or {1,3}; where the character is meant: \\{")
    size = max([1, *(int(count) for count in _COUNT.findall(plain))])
    for count in _GROUP_REPEATED.findall(plain):
        size *= max(2, int(count or 0))
    if size > _LARGEST:
        raise PatternTooLarge(f"what it repeats would be written out {size} times, at most {_LARGEST} are taken")
