"""Functions that the modules of this package use to make strategies: for dicts, optional or rare members, and default
texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_strategies import leaves
from converse_strategies.leaves import Texts, cached, composite

Value = dict[str, Any]
Values = st.SearchStrategy[Value]
T = TypeVar("T")
_Members = tuple[tuple[str, st.SearchStrategy[Any]], ...]

RARELY: Final = st.sampled_from((False, False, False, True))
INDEXES: Final = st.integers(0, 9)
"""Strategy for the indexes of blocks, documents and search results."""


def some(texts: Texts | None) -> Texts:
    """Return `texts`; if `texts` is None, return a strategy for any text.

    If `texts` is not a strategy, the returned strategy raises InvalidArgument when a value is drawn.
    """
    if texts is None:
        return leaves.texts()
    return texts if isinstance(cast("object", texts), st.SearchStrategy) else st.just(texts).map(_refuse)


def _refuse(texts: object) -> str:
    raise InvalidArgument(
        f"texts={texts!r} is no strategy. Give a hypothesis strategy of texts, such as st.text(max_size=20) or "
        "converse_strategies.faker_texts(); without texts= it is st.text()."
    )


def dicts(required: Mapping[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> Values:
    """Return a strategy for dicts with the members in `required`. Each member in `optional` is present or absent.

    This function and the next ones cache their strategies, so a function that only calls them needs no `@cached`.
    """
    return _dicts(tuple(required.items()), tuple(optional.items()))


@cached
def _dicts(required: _Members, optional: _Members) -> Values:
    return st.fixed_dictionaries(dict(required), optional=dict(optional))


@cached
def tagged(tag: str, values: st.SearchStrategy[Any]) -> Values:
    """Return a strategy for dicts with one member, whose name is `tag`."""
    return st.fixed_dictionaries({tag: values})


@cached
def either(**values: st.SearchStrategy[Any]) -> Values:
    """Return a strategy for dicts with exactly one of the members in `values`. They shrink to the first member."""
    return st.one_of(*(tagged(tag, each) for tag, each in values.items()))


@cached
def or_none(values: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """Return a strategy for values of `values` and for None. None counts as less simple: it shrinks to a value of
    `values`.
    """
    return st.one_of(values, st.none())


@composite
def built(draw: st.DrawFn, make: Callable[..., T], *parts: st.SearchStrategy[Any]) -> T:
    """Draw a value of each of `parts`, call `make` with these values, and return the result.

    `st.builds` does the same, but with it a counterexample shows the call of `make` instead of the result.
    """
    return make(*(draw(part) for part in parts))


@composite
def rarely(draw: st.DrawFn, values: Values, extra: Values) -> Value:
    """Draw a dict from `values`. One such dict in four is extended with the members of a dict from `extra`.

    Use this for members that are slow to draw, or that models rarely send.
    """
    value = draw(values)
    return {**value, **draw(extra)} if draw(RARELY) else value
