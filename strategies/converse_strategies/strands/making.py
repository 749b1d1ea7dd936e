"""Helpers for the strategies of this package: dicts, rare members, and caching of strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_strategies import leaves
from converse_strategies.leaves import Texts, cached, composite

Value = dict[str, Any]
Values = st.SearchStrategy[Value]
P = ParamSpec("P")
T = TypeVar("T")

RARELY: Final = st.sampled_from((False, False, False, True))
INDEXES: Final = st.integers(0, 9)
"""Places of blocks, documents and search results."""


def some(texts: Texts | None) -> Texts:
    """The given strategy for texts, or any texts; a value that is not a strategy raises when it is drawn from."""
    if texts is None:
        return leaves.texts()
    return texts if isinstance(cast("object", texts), st.SearchStrategy) else st.just(texts).map(_refuse)


def _refuse(texts: object) -> str:
    raise InvalidArgument(
        f"texts={texts!r} is no strategy. Give a hypothesis strategy of texts, such as st.text(max_size=20) or "
        "converse_strategies.faker_texts(); without texts= it is st.text()."
    )


def dicts(required: Mapping[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> Values:
    """Dicts with these members; the optional ones are present or absent."""
    return st.fixed_dictionaries(dict(required), optional=optional)


@cached
def tagged(tag: str, values: st.SearchStrategy[Any]) -> Values:
    """Dicts with this one member."""
    return st.fixed_dictionaries({tag: values})


def or_none(values: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """Values of a strategy, or None; shrinks towards the values."""
    return st.one_of(values, st.none())


@composite
def built(draw: st.DrawFn, make: Callable[..., T], *parts: st.SearchStrategy[Any]) -> T:
    """As `st.builds(make, *parts)`, but counterexamples show the value's own repr and not a call of our function."""
    return make(*(draw(part) for part in parts))


@composite
def rarely(draw: st.DrawFn, values: Values, extra: Values) -> Value:
    """Dicts of which one in four has further members: those that are slow to draw or that few providers send."""
    value = draw(values)
    return {**value, **draw(extra)} if draw(RARELY) else value
