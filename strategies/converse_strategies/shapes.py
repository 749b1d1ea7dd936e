"""Strategies for any shape of AWS's API model in the installed botocore. Strings match the patterns of the model, which
are Java patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Literal, TypeVar

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.bedrock.api import checks
from converse_harness.bedrock.api.checks import INTEGERS
from converse_harness.bedrock.api.service import ShapeWalk
from converse_strategies import basics
from converse_strategies.basics import cached, composite, sampled

Strings = st.SearchStrategy[str]

_ANYTHING: Final = r"[\s\S]*"
"""A pattern that matches every string."""

_BEYOND_ASCII: Final = re.compile(r"\\[uSWD]|\[\^")
"""Matches the parts of another pattern that allow characters beyond ASCII, such as a negated class."""


@cache
def strings(pattern: str | None, low: int = 0, high: int | None = None) -> Strings:
    """Strings of `low` to `high` characters (None: any number) that match a Java pattern as a whole.

    If `pattern` is None, or if Python cannot compile it, the strings have any characters.
    `converse_harness.bedrock.validate` ignores such a pattern, too.

    >>> from hypothesis import find
    >>> find(strings("arn:aws:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+"), lambda text: True)
    'arn:aws:bedrock:0:000000000000:guardrail/0'
    """
    readable = checks.compiled(pattern) if pattern and pattern != _ANYTHING else None
    if readable is None:
        return st.text(min_size=low, max_size=high)
    texts = st.from_regex(readable, fullmatch=True)
    if _BEYOND_ASCII.search(readable.pattern):
        # Draw without the flag re.ASCII, and apply it in the filter: because of this flag, hypothesis before 6.153 drew
        # only ASCII characters.
        texts = st.from_regex(re.compile(readable.pattern), fullmatch=True).filter(readable.fullmatch)
    return _of_length(texts, low, high)


def _of_length(texts: Strings, low: int, high: int | None) -> Strings:
    if low == 0 and high is None:
        return texts
    return texts.filter(lambda text: low <= len(text) and (high is None or len(text) <= high))


Strategy = st.SearchStrategy[Any]
Draw = Callable[[st.DrawFn], Any]
Item = TypeVar("Item")

MOST_ITEMS: Final = 3
"""The largest number of items of a list or entries of a map, unless the model requires more."""

MOST_BYTES: Final = 48
"""The largest number of bytes of a blob, unless the model requires more."""

REAL: Final[Mapping[str, Callable[[], Strategy]]] = {
    "ConversationalModelId": basics.model_ids,
    "InvokeModelIdentifier": basics.model_ids,
}
"""Name of a shape whose pattern matches almost any string -> function that returns a strategy for more realistic
values.
"""

_RARE: Final = 8
"""All other events of a stream together are drawn at least this many times as often as exceptions."""


@composite
def values(
    draw: st.DrawFn,
    shape: str,
    *,
    overrides: Mapping[str, Strategy] | None = None,
    texts: st.SearchStrategy[str] | None = None,
    service: str = bedrock.SERVICE,
) -> Any:
    """Values of a shape of AWS's API model of a service: dicts for structures, bytes for blobs, aware datetimes for
    timestamps.

    Optional members are often absent, lists and maps have at most three items, blobs have at most 48 bytes, and
    exceptions are rare among the events of a stream. Members that AWS sends beyond its model are not drawn.

    `overrides` contains strategies that replace the usual ones. Its keys are names of shapes (`ToolUseId`) or of
    members (`ToolUseBlock.input`); an entry for a member takes precedence over one for the member's shape. Overriding
    values are not checked. `texts` is a strategy for strings without an enum or a pattern. Raises InvalidArgument, when
    drawn, for a shape or an override that the installed botocore's model does not have.

    >>> from hypothesis import find
    >>> find(values("ContentBlock"), lambda block: "toolUse" in block)
    {'toolUse': {'toolUseId': '0', 'name': '0', 'input': {}}}
    >>> find(values("ToolUseBlock", overrides={"ToolUseBlock.name": st.just("get_weather")}), lambda use: True)
    {'toolUseId': '0', 'name': 'get_weather', 'input': {}}
    """
    if overrides is not None:
        _check_type(overrides, Mapping, "overrides", "a mapping: {'ToolUseId': st.just('tooluse_1')}")
    return _compiled(shape, tuple((overrides or {}).items()), texts, service)(draw)


@cached
def _compiled(shape: str, overrides: tuple[tuple[str, Strategy], ...], texts: Strings | None, service: str) -> Draw:
    if texts is not None:
        _check_type(texts, st.SearchStrategy, "texts", "a strategy of str: st.text()")
    try:
        found = bedrock.shape(shape, service)
        for name, strategy in overrides:
            _check_override(name, strategy, service)
    except bedrock.NotInModel as error:
        raise InvalidArgument(f"shapes.values({shape!r}): {error}") from error
    return _Drawers(dict(overrides), texts, service)[found.name]


def _check_override(name: str, strategy: Strategy, service: str) -> None:
    _check_type(
        strategy, st.SearchStrategy, f"overrides[{name!r}]", f"a strategy: for one value, st.just({strategy!r})"
    )
    structure, dot, member = name.partition(".")
    if dot:
        bedrock.member(structure, member, service)
    else:
        bedrock.shape(structure, service)


def _check_type(value: object, expected: type, name: str, allowed: str) -> None:
    if not isinstance(value, expected):
        raise InvalidArgument(f"shapes.values({name}={value!r}): expected {allowed}.")


class _Drawers(ShapeWalk[Draw]):
    """The functions that draw values of shapes. They depend on the `overrides` and `texts` of one call of `values`."""

    def __init__(
        self, overrides: Mapping[str, Strategy], texts: st.SearchStrategy[str] | None, service: str = bedrock.SERVICE
    ) -> None:
        super().__init__(service)
        real = {name: make() for name, make in REAL.items()} if service == bedrock.SERVICE else {}
        self.update({name: _from(strategy) for name, strategy in {**real, **overrides}.items()})
        self._texts = texts

    def plain(self, shape: bedrock.Shape) -> Draw:
        """Return the function that draws values of `shape`, which is a scalar or free-form JSON."""
        if shape.name in self:
            return self[shape.name]
        if bedrock.is_document(shape):
            # A value of AWS's document type is never null itself: AWS omits a member instead of sending null.
            return _from(basics.json_objects() | basics.json_values().filter(lambda value: value is not None))
        texts = self._texts if shape.type_name == "string" and not shape.enum else None
        if texts is not None and shape.metadata.get("pattern", _ANYTHING) == _ANYTHING:
            return _from(_of_length(texts, *_lengths(shape)))
        return _from(_SCALARS[shape.type_name](shape))

    def holder(self, shape: bedrock.Shape, inner: Mapping[str, Draw]) -> Draw:
        """Return the function that draws values of `shape`, a structure, list or map.

        `inner` has the functions for the nested values. It may still be empty now; it is filled before the returned
        function is called.
        """
        if shape.type_name == "structure":
            return (_union if bedrock.is_union(shape) else _structure)(shape, inner)
        low, high = _sizes(shape, MOST_ITEMS)
        if shape.type_name == "list":
            return _from(st.lists(_composed(inner, "member"), min_size=low, max_size=high))
        return _from(st.dictionaries(_composed(inner, "key"), _composed(inner, "value"), min_size=low, max_size=high))

    def more_members(self, shape: bedrock.Shape) -> Mapping[str, Draw]:
        """Return the functions for those members of the structure `shape` that are overridden by name."""
        names = {name: f"{shape.name}.{name}" for name in getattr(shape, "members", ())}
        return {name: self[full] for name, full in names.items() if full in self}


def draw_some(draw: st.DrawFn, items: Sequence[Item]) -> Iterator[Item]:
    """Yield some of the items, in their order.

    Positions are drawn until one is not greater than the one before. This takes fewer draws than one per item, and
    makes few items likely. It also lets shrinking remove an item together with the draws for it.
    """
    last = 0
    while last < len(items):
        place = draw(sampled(range(len(items) + 1)))
        if place <= last:
            break
        yield items[place - 1]
        last = place


def _structure(shape: bedrock.Shape, inner: Mapping[str, Draw]) -> Draw:
    required = shape.metadata.get("required", ())
    optional = [name for name in shape.members if name not in required]

    def structure(draw: st.DrawFn) -> dict[str, Any]:
        value = {name: inner[name](draw) for name in required}
        for name in draw_some(draw, optional):
            value[name] = inner[name](draw)
        return value

    return structure


def _union(shape: bedrock.Shape, inner: Mapping[str, Draw]) -> Draw:
    exceptions = [name for name, each in shape.members.items() if each.metadata.get("exception")]
    events = [name for name in shape.members if name not in exceptions]
    names = st.sampled_from(events * (-(-_RARE * len(exceptions) // max(len(events), 1)) or 1) + exceptions)

    def union(draw: st.DrawFn) -> dict[str, Any]:
        name = draw(names)
        return {name: inner[name](draw)}

    return union


def _from(strategy: Strategy) -> Draw:
    return lambda draw: draw(strategy)


@composite
def _composed(draw: st.DrawFn, inner: Mapping[str, Draw], name: str) -> Any:
    return inner[name](draw)


def _sizes(shape: bedrock.Shape, most: int) -> tuple[int, int]:
    low, high = _lengths(shape)
    wanted = max(low, most)
    return low, wanted if high is None else min(wanted, high)


def _lengths(shape: bedrock.Shape) -> tuple[int, int | None]:
    return int(shape.metadata.get("min", 0)), shape.metadata.get("max")


def _integers(shape: bedrock.Shape) -> Strategy:
    low, high = INTEGERS[shape.type_name]
    return st.integers(int(shape.metadata.get("min", low)), int(shape.metadata.get("max", high)))


def _reals(shape: bedrock.Shape, width: Literal[32, 64]) -> Strategy:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    return st.floats(low, high, width=width, allow_nan=False, allow_infinity=False)


def _blobs(shape: bedrock.Shape) -> Strategy:
    low, high = _sizes(shape, MOST_BYTES)
    return st.binary(min_size=low, max_size=high)


def _timestamps(shape: bedrock.Shape) -> Strategy:
    """UTC times from 2000 to 2099 in whole milliseconds, because timestamps are rounded to milliseconds in JSON."""
    # hypothesis requires bounds without a time zone
    times = st.datetimes(datetime(2000, 1, 1), datetime(2099, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
    return basics.made(times, lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))


_SCALARS: Final[Mapping[str, Callable[[bedrock.Shape], Strategy]]] = {
    "string": lambda shape: (
        st.sampled_from(shape.enum) if shape.enum else strings(shape.metadata.get("pattern"), *_lengths(shape))
    ),
    "integer": _integers,
    "long": _integers,
    "float": lambda shape: _reals(shape, 32),
    "double": lambda shape: _reals(shape, 64),
    "boolean": lambda shape: st.booleans(),
    "blob": _blobs,
    "timestamp": _timestamps,
}
