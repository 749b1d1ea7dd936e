"""What the user of a recording has replaced in it, by pattern."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from converse_harness.errors import ReplyError
from converse_harness.recordings.leaks import Change

FindChanges = Callable[[str], list[Change]]
"""What is to be replaced in a text, in its order."""


def replacing(pattern: str | re.Pattern[str], new: str) -> FindChanges:
    """Find a text, or what a pattern matches, where `new` is to stand."""
    if isinstance(pattern, str):
        literal = re.compile(re.escape(pattern))
        return lambda text: [(found.start(), found.end(), new) for found in literal.finditer(text)]
    return lambda text: [(found.start(), found.end(), found.expand(new)) for found in pattern.finditer(text)]


def replacement_of(line: str) -> tuple[re.Pattern[str], str]:
    """The pattern and the replacement of a line of the ini file. Raises ReplyError for a line that has not both."""
    pattern, arrow, new = (part.strip() for part in line.partition("=>"))
    if not arrow or not pattern:
        raise ReplyError(f"{line.strip()!r}; a line is `pattern => replacement`.")
    try:
        return re.compile(pattern), new
    except re.error as error:
        raise ReplyError(
            f"{pattern!r} is no regular expression ({error}). Put a backslash before characters that "
            "stand for themselves."
        ) from error


def check(given: Any, new: Any) -> None:
    """Raise ReplyError for a replacement that cannot be made."""
    if not isinstance(new, str):
        raise ReplyError(f"Redaction: {given!r} is to become {new!r}; it must be a text.")
    if isinstance(given, str):
        given, new = re.compile(re.escape(given)), ""
    pattern: Any = given
    if not isinstance(given, re.Pattern) or not isinstance(pattern.pattern, str):
        raise ReplyError(f"Redaction: {given!r} is to be replaced; it must be a text or a compiled pattern of text.")
    if pattern.search("") is not None:
        raise ReplyError(f"{pattern.pattern!r} matches the empty text, which is everywhere.")
    try:
        re.compile(f"(?:{pattern.pattern})|", pattern.flags).sub(new, "")
    except (re.error, IndexError) as error:
        raise ReplyError(f"{pattern.pattern!r} has no group for {new!r} ({error}).") from error
