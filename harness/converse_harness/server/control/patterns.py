"""Searches with regular expressions that a request to the control API contains. Each search has a time limit.

Python's `re` holds the interpreter's lock during a search. So one expression that backtracks would stop every fake of
the process, whichever thread searches. The package `regex` releases the lock and has timeouts.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

from converse_harness.errors import CallError
from converse_harness.reply.body import shorten
from converse_harness.server.control.reading import ControlRefused

_LONGEST: Final = 500
"""Maximum length of a glob or regular expression, in characters."""

_LARGEST: Final = 10_000
"""Maximum number of copies of one group in a compiled expression.

`regex` stores a group with the minimum count n as n copies, and the counts of nested groups multiply.
"""

_SECONDS: Final = 1.0
"""Time limit of a search in one text, in seconds."""

_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_GROUP_REPEATED: Final = re.compile(r"\)(?:\s|#.*)*(?:\{(\d*)|\+)")
_COUNT: Final = re.compile(r"\{(\d+)")
_NO_COUNT: Final = re.compile(r"\{(?!\d*(?:,\d*)?\})")


class TimedPattern:
    """A compiled regular expression. A search takes at most one second, and other threads can run meanwhile."""

    def __init__(self, compiled: Any, pattern: str) -> None:
        self._compiled = compiled
        self.pattern = pattern

    def search(self, text: str, /) -> bool:
        """Return whether the expression matches somewhere in the text. Raises CallError if this takes over a second."""
        try:
            return self._compiled.search(text, timeout=_SECONDS, concurrent=True) is not None
        except TimeoutError:
            raise CallError(
                f"the regular expression {self.pattern!r} of a condition was given up after {_SECONDS:g} s on a text "
                f"of {len(text)} characters. Write one that does not repeat what is repeated already, or a glob."
            ) from None

    def __repr__(self) -> str:
        return f"regex {self.pattern!r}"


def check_length(pattern: str, path: str) -> None:
    """Raise ControlRefused if `pattern`, a glob or regular expression, is too long. `path` is its place in the body."""
    if len(pattern) > _LONGEST:
        raise ControlRefused(
            f"{path} has {len(pattern)} characters; a pattern may have {_LONGEST}. Write a part of it between two *."
        )


def timed(pattern: str, path: str) -> TimedPattern:
    """Compile a regular expression; `path` is its place in the request body, for messages.

    Raises ControlRefused if the expression is invalid or too large, or if the package `regex` is not installed.
    """
    check_length(pattern, path)
    it = f"{path} is {shorten(pattern)}"
    try:
        engine = import_module("regex")
    except ImportError:
        raise ControlRefused(
            f"{it}: a regular expression that comes over HTTP runs in the package regex, which can stop in time and is "
            'not installed beside this server. Write a glob in its place, for instance "*weather*", or install the '
            'package: pip install "converse-harness[server]".'
        ) from None
    try:
        re.compile(pattern)
        _check_size(pattern, it)
        return TimedPattern(engine.compile(pattern), pattern)
    except (re.error, engine.error, OverflowError, RecursionError) as error:
        raise ControlRefused(f"{it}, which is no regular expression: {error}.") from None


def _check_size(pattern: str, it: str) -> None:
    """Raise ControlRefused if the compiled expression would be too large. The error message begins with `it`."""
    plain = _ESCAPED.sub("x", pattern)
    if _NO_COUNT.search(plain):
        raise ControlRefused(
            f"{it}, and it has a {{ that begins no count such as {{3}} or {{1,3}}; where the character is meant: \\{{. "
            "Write a plainer one, or a glob."
        )
    size = max([1, *(int(count) for count in _COUNT.findall(plain))])
    for count in _GROUP_REPEATED.findall(plain):
        size *= max(2, int(count or 0))
    if size > _LARGEST:
        raise ControlRefused(
            f"{it}, and what it repeats would be written out {size} times, at most {_LARGEST} are taken. Write a "
            "plainer one, or a glob."
        )
