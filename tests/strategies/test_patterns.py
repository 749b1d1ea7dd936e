"""Strings for AWS's patterns: they match, and all that a pattern allows is reached."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_strategies import shapes
from converse_strategies.shapes import REAL
from tests.strategies.conftest import found, never, smallest

DRAWN_BY_PATTERN = {
    name: bedrock.shape(name).metadata["pattern"]
    for name in bedrock.service().shape_names
    if "pattern" in bedrock.shape(name).metadata and name not in REAL
}


@pytest.mark.parametrize(
    ("pattern", "some"),
    [
        ("abc", ["abc"]),
        ("a|b|", ["a", "b", ""]),
        ("[ab]{2}", ["aa", "ba"]),
        ("[ab]{2,}", ["aa", "aba"]),
        ("[ab]{0,2}x?", ["", "ab", "x", "bx"]),
        (r"[^a]*", [""]),
        (r"\S+", []),
        (r"\s[01]", [" 1", "\t0"]),
        ("(a[01])+b*", ["a1", "a1a0", "a0b"]),
        ("(?:a|bc){0,2}[.]", [".", "abc.", "bcbc."]),
        (r"s3://[ab](/.*)?", ["s3://a", "s3://b/"]),
        (r"\.\-[]x]", [".-]", ".-x"]),
        ("^a$", ["a"]),
        (r"([ab])\1", ["aa", "bb"]),
        ("a{1,2}?", ["a", "aa"]),
        ("x[a-z]{30,40}", []),
    ],
)
def test_what_a_pattern_allows_is_reached_and_nothing_else(pattern: str, some: list[str]) -> None:
    strategy = shapes.strings(pattern)
    assert never(strategy, some, lambda text: [text]) == set()

    @given(strategy)
    def matches(text: str) -> None:
        assert re.fullmatch(pattern, text, re.ASCII)

    matches()


@given(st.data(), st.sampled_from(sorted(DRAWN_BY_PATTERN.values())), st.integers(3, 5))
def test_lengths_are_kept(data: st.DataObject, pattern: str, high: int) -> None:
    if not re.match(r"\[|\\S", pattern) or "{" in pattern:
        pattern = "([a-z]|[0-9])+"
    assert 2 <= len(data.draw(shapes.strings(pattern, 2, high))) <= high


@pytest.mark.parametrize("pattern", [r"\S+", "[^a]*", "."])
def test_what_a_pattern_does_not_exclude_may_be_beyond_ascii(pattern: str) -> None:
    assert found(shapes.strings(pattern), lambda text: not text.isascii())


def test_a_pattern_that_only_java_reads_refuses_nothing() -> None:
    assert smallest(shapes.strings(r"\p{Alpha}+", 1), lambda text: not text.isalpha()) == "0"


@pytest.mark.parametrize("pattern", ["[a-z0-9]+", "arn:[a-z]+:[0-9]{12}", "(|[1-9][0-9]{0,7})"])
def test_what_is_found_is_simple(pattern: str) -> None:
    simplest = {"[a-z0-9]+": "0", "arn:[a-z]+:[0-9]{12}": "arn:a:000000000000", "(|[1-9][0-9]{0,7})": ""}
    assert smallest(shapes.strings(pattern)) == simplest[pattern]
