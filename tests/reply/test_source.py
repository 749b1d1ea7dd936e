"""Values and calls as Python source: equal when evaluated."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import faults
from converse_harness.reply.source import Unwritable, chain_source, source_of
from tests.profiles import examples

WORDS = [
    "a",
    "the",
    "'q'",
    '"d"',
    "naïve",
    "東京",
    "🎉",
    "\x00",
    "\u202e",
    "\n",
    "\t",
    "\ud800",
    "\\",
    "word" * 30,
    "e\u0301",
]
texts = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join) | st.text(max_size=200)
values = st.recursive(
    texts | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
calls = st.tuples(
    st.just("message"), st.lists(values, max_size=3), st.dictionaries(st.sampled_from(["usage", "trace"]), values)
)
MORE: tuple[Any, ...] = (
    ("fails_after", (3, "x" * 40, "because " * 5), {}),
    ("broken", (faults.reset,), {"after": 3}),
    ("times", (2,), {}),
)
chains = st.tuples(calls, st.lists(st.sampled_from(MORE), max_size=3)).map(lambda drawn: [drawn[0], *drawn[1]])


@settings(max_examples=examples(3))
@given(values)
def test_a_value_is_itself_again(value: Any) -> None:
    assert eval(source_of(value)) == value


@pytest.mark.parametrize("value", [float("inf"), float("nan"), {1: object()}, (1, 2)])
def test_what_has_no_source_is_refused(value: Any) -> None:
    with pytest.raises(Unwritable):
        source_of(value)


def test_an_argument_that_is_no_name_is_refused() -> None:
    for name in ("a-b", "class"):
        with pytest.raises(Unwritable):
            chain_source([("error", ("X",), {name: 1})])


def said(source: str) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """The calls of a chain, evaluated."""
    made: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    class Chain:
        def __getattr__(self, name: str) -> Any:
            def call(*positional: Any, **named: Any) -> Chain:
                made.append((name, positional, named))
                return self

            return call

    eval(source, {"reply": Chain(), "faults": faults})
    return made


@settings(max_examples=examples(2))
@given(chains, st.sampled_from([0, 8]), st.sampled_from([20, 88, 10**9]))
def test_a_chain_makes_its_calls_again(drawn: Any, indent: int, width: int) -> None:
    assert said(chain_source(drawn, indent=indent, width=width)) == [
        (name, (*positional,), {**named}) for name, positional, named in drawn
    ]


def test_a_long_chain_has_one_argument_a_line() -> None:
    made = chain_source([("message", ("a" * 50, {"x": 1}), {"usage": "b" * 50}), ("times", (2,), {})], indent=4)
    assert made == (
        f'reply.message(\n        "{"a" * 50}",\n        {{"x": 1}},\n        usage="{"b" * 50}",\n    )'
        ".times(\n        2,\n    )"
    )
