"""Helpers for the strategies of this package: dicts, optional and rare members, and default texts."""

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
"""Indexes of blocks, documents and search results."""


def some(texts: Texts | None) -> Texts:
    """Return `texts`, or a strategy for any texts if `texts` is None.

    If `texts` is not a strategy, the result raises InvalidArgument when drawn.
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
    """Dicts with the required members; each optional member is present or absent."""
    return st.fixed_dictionaries(dict(required), optional=optional)


@cached
def tagged(tag: str, values: st.SearchStrategy[Any]) -> Values:
    """Dicts with one member, whose name is `tag`."""
    return st.fixed_dictionaries({tag: values})


def either(**values: st.SearchStrategy[Any]) -> Values:
    """Dicts with exactly one of these members; the first one is the simplest."""
    return st.one_of(*(tagged(tag, each) for tag, each in values.items()))


def or_none(values: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """Values of a strategy, or None; None shrinks to one of the values."""
    return st.one_of(values, st.none())


@composite
def built(draw: st.DrawFn, make: Callable[..., T], *parts: st.SearchStrategy[Any]) -> T:
    """Like `st.builds(make, *parts)`, but counterexamples show the repr of the value, not a call of `make`."""
    return make(*(draw(part) for part in parts))


@composite
def rarely(draw: st.DrawFn, values: Values, extra: Values) -> Value:
    """Dicts of `values`; one dict in four also has the members of `extra`.

    Use it for members that are slow to draw, or that models rarely send.
    """
    value = draw(values)
    return {**value, **draw(extra)} if draw(RARELY) else value
