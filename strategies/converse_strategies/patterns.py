"""Strings that match AWS's patterns, which are Java regular expressions."""

from __future__ import annotations

from functools import cache
from typing import Final

from hypothesis import strategies as st

from converse_harness.bedrock import values as java

Strings = st.SearchStrategy[str]

ANYTHING: Final = r"[\s\S]*"
"""The pattern that refuses nothing."""


@cache
def strings(pattern: str | None, low: int = 0, high: int | None = None) -> Strings:
    """Strings that match a Java pattern as a whole, of some length in characters; any strings without a pattern.

    A pattern that Python cannot read refuses nothing, as in `converse_harness.bedrock.validate`.

    >>> from hypothesis import find
    >>> find(strings("arn:aws:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+"), lambda text: True)
    'arn:aws:bedrock:0:000000000000:guardrail/0'
    """
    readable = java.compiled(pattern) if pattern and pattern != ANYTHING else None
    if readable is None:
        return st.text(min_size=low, max_size=high)
    drawn = st.from_regex(readable, fullmatch=True)
    return drawn.filter(lambda text: low <= len(text) and (high is None or len(text) <= high))
