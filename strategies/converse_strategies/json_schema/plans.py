"""The plan for drawing values of a compiled schema: a Choice of Alternatives, each for values of one JSON type.

A Choice may contain itself, if the schema is recursive. The `height` of a Choice is the smallest nesting depth that its
values can have. If a Choice is nested in itself several times, or a value has many recursive parts, no further optional
recursive parts are drawn (see `Drawing.smallest`). Thus every draw ends.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import reject
from hypothesis import strategies as st

from converse_harness.json_schema.parts import key
from converse_strategies.basics import composite

_AGAIN: Final = 2
"""How many times a Choice (the plan for one part of a schema) may be nested in itself before `Drawing.smallest`
becomes true.
"""

_TURNS: Final = 24
"""How many recursive Choices (plans for parts of a schema that may contain themselves) one value may contain before
`Drawing.smallest` becomes true.
"""

_MORE: Final = 3
"""An array or object has at most this many more items or members than it must have."""

_BRANCHES: Final = 2
"""An array whose items have a recursive schema has at most this many more items than it must have."""

_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Drawing:
    """The state of drawing one value. If `full` is true, all optional parts are drawn, except in nested recursive
    Choices.

    If `smallest` is true, no optional recursive part is drawn, and each recursive Choice uses the first of its `live`
    Alternatives. `path` contains the recursive Choices around the current part, the outermost first. `turns` is one
    list for the whole value, with one item per recursive Choice drawn so far.
    """

    draw: st.DrawFn
    full: bool = False
    path: tuple[Choice, ...] = ()
    smallest: bool = False
    turns: list[None] = field(default_factory=list[None])

    def inside(self, choice: Choice) -> Drawing:
        """Return the Drawing for the parts of the recursive Choice `choice`."""
        smallest = self.path.count(choice) >= _AGAIN or len(self.turns) >= _TURNS
        self.turns.append(None)
        return Drawing(self.draw, self.full and not self.path, (*self.path, choice), smallest, self.turns)


class Alternative:
    """The base class for values of one JSON type that satisfy a schema. By default, they contain no other values."""

    is_right: Callable[[Any], bool] | None = None
    """A function that checks a drawn value, or None. The Choice draws up to `_TRIES` values, until the check succeeds
    for one.
    """

    def height(self) -> float:
        """The smallest nesting depth that a value can have; infinite if there is no value."""
        return 0

    def parts(self) -> Iterable[Choice]:
        """The Choices for all members or items."""
        return ()

    def needs(self) -> Iterable[Choice]:
        """The Choices for the members or items that every value must have."""
        return ()

    def lack(self) -> Iterable[str]:
        """The reasons why there is no value; empty if there are none. The Choices of `needs` give further reasons
        themselves.
        """
        return ()

    def value(self, drawing: Drawing) -> Any:
        """Draw a value."""
        raise NotImplementedError


class Scalar(Alternative):
    """Values from a strategy, or copies of the values in `values`, of which the first is the simplest."""

    def __init__(self, strategy: st.SearchStrategy[Any] | None = None, values: Sequence[Any] = ()) -> None:
        self.values = values
        self._strategy = st.sampled_from(values).map(copy.deepcopy) if strategy is None else strategy

    def value(self, drawing: Drawing) -> Any:
        """Draw a value."""
        return drawing.draw(self._strategy)


@dataclass(eq=False, slots=True)
class Choice:
    """The Alternatives from which a value of a schema is drawn. `reasons` says why others are impossible.

    `live` contains the Alternatives that have a value, the one with the smallest height first.
    """

    path: str
    alternatives: list[Alternative] = field(default_factory=list[Alternative])
    reasons: list[str] = field(default_factory=list[str])
    height: float = math.inf
    is_recursive: bool = False
    live: tuple[Alternative, ...] = ()

    def value(self, drawing: Drawing) -> Any:
        """Draw a value."""
        if self.is_recursive:
            drawing = drawing.inside(self)
        is_first = len(self.live) == 1 or (drawing.smallest and self.is_recursive)
        alternative = self.live[0 if is_first else drawing.draw(st.integers(0, len(self.live) - 1))]
        for _ in range(_TRIES):
            value = alternative.value(drawing)
            if alternative.is_right is None or alternative.is_right(value):
                return value
        return reject()

    def settle(self) -> None:
        """Update `live` and `height`: the Alternatives may now have other heights."""
        heights = {each: each.height() for each in self.alternatives}
        found = [each for each, height in heights.items() if height < math.inf]
        found.sort(key=lambda each: (heights[each], not (isinstance(each, Scalar) and each.values)))
        self.live = tuple(found)
        self.height = min(heights.values(), default=math.inf)

    def find_recursion(self) -> None:
        """Set `is_recursive` to whether this Choice contains itself, directly or inside other Choices."""
        seen: set[Choice] = set()
        left: list[Choice] = [self]
        while left and self not in seen:
            parts = {part for each in left.pop().alternatives for part in each.parts()} - seen
            seen |= parts
            left += parts
        self.is_recursive = self in seen

    def lack(self, inside: tuple[Choice, ...] = ()) -> str:
        """Describe why no value is possible.

        `inside` contains the Choices in which this Choice is nested. If it is nested in itself, the description ends
        there.
        """
        if self in inside:
            return f"{self.path} needs another of itself inside, without end"
        found = list(self.reasons)
        for each in self.alternatives:
            found += each.lack()
            found += [part.lack((*inside, self)) for part in each.needs() if part.height == math.inf]
        return "; ".join(dict.fromkeys(found)) or f"{self.path} allows no value"

    def domain(self) -> list[Any] | None:
        """Return all possible values, or None unless every Alternative in `live` is a Scalar with a list of values."""
        known = [each.values for each in self.live if isinstance(each, Scalar) and each.values]
        return [value for values in known for value in values] if self.live and len(known) == len(self.live) else None


@dataclass(eq=False)
class Members(Alternative):
    """Objects. `members` has the Choice for each name in the schema; `low` and `high` limit the number of members.

    An object may have other members, whose names are not in `members`. `names` draws such a name, `others` returns the
    Choice for it, and `rest` contains all Choices that `others` can return. If `asked` is true, other members are drawn
    even if `low` does not require them: the schema mentions them or has no `properties`.
    """

    members: dict[str, Choice]
    required: frozenset[str]
    low: int
    high: int
    names: Sequence[Alternative | Choice]
    others: Callable[[str], Choice]
    rest: Sequence[Choice]
    asked: bool

    def height(self) -> float:
        """Return 1 plus the largest height among the members of the least nested object."""
        needed = [self.members[name].height for name in self.required]
        missing = max(self.low - len(needed), 0)
        spare = [choice.height for name, choice in self.members.items() if name not in self.required]
        return 1 + max([*needed, *sorted([*spare, *[self._rest_height()] * missing])[:missing]], default=0)

    def _rest_height(self) -> float:
        return min((choice.height for choice in self.rest), default=math.inf)

    def parts(self) -> Iterable[Choice]:
        """Return the Choices for the members that the schema names, and those for other members."""
        return [*self.members.values(), *self.rest]

    def needs(self) -> Iterable[Choice]:
        """The Choices for the required members."""
        return (self.members[name] for name in self.required)

    def lack(self) -> Iterator[str]:
        """Yield a reason if no object is possible because the schema allows fewer members than `minProperties`."""
        allowed = sum(choice.height < math.inf for choice in self.members.values())
        if allowed < self.low and self._rest_height() == math.inf:
            yield f"minProperties is {self.low}, and no more than {allowed} members are allowed"

    def value(self, drawing: Drawing) -> dict[str, Any]:
        """Draw an object. The members that the schema names come first, in the schema's order; other members follow."""
        chosen = self._chosen(drawing)
        value = {name: choice.value(drawing) for name, choice in self.members.items() if name in chosen}
        self._add(drawing, value)
        return value

    def _chosen(self, drawing: Drawing) -> set[str]:
        spare = [
            name for name, choice in self.members.items() if name not in self.required and choice.height < math.inf
        ]
        wanted = [name for name in spare if not (drawing.smallest and self.members[name].is_recursive)]
        if wanted and not drawing.full:
            bits = drawing.draw(st.integers(0, (1 << len(wanted)) - 1))
            wanted = [name for index, name in enumerate(wanted) if bits >> index & 1]
        missing = self.low - len(self.required) - len(wanted)
        if missing > 0:
            left = [name for name in spare if name not in wanted]
            wanted += sorted(left, key=lambda name: self.members[name].height)[:missing]
        return {*self.required, *wanted[: self.high - len(self.required)]}

    def _add(self, drawing: Drawing, value: dict[str, Any]) -> None:
        missing = max(self.low - len(value), 0)
        room = min(self.high - len(value), missing + _MORE)
        is_free = self.asked and not (drawing.smallest and any(each.is_recursive for each in self.rest))
        if room <= 0 or not (missing or is_free) or self._rest_height() == math.inf:
            return
        least = max(missing, int(drawing.full))
        for index in range(drawing.draw(st.integers(least, room if is_free else least))):
            for _ in range(1 + _MORE):
                name = drawing.draw(st.sampled_from(self.names)).value(drawing)
                if name not in value and name not in self.members and self.others(name).height < math.inf:
                    value[name] = self.others(name).value(drawing)
                    break
            else:
                if index < missing:
                    reject()


@dataclass(eq=False)
class Items(Alternative):
    """Arrays. `prefix` has one Choice for each of the first items; `rest` is the Choice for all later items.

    `contains` has one Choice for each item that the array must contain at any position. `low` and `high` limit the
    number of items. If `unique` is true, all items are different.
    """

    prefix: list[Choice]
    rest: Choice
    contains: list[Choice]
    low: int
    high: float
    unique: bool

    def height(self) -> float:
        """Return 1 plus the largest height among the required items, or infinity if no array is possible."""
        return math.inf if any(self.lack()) else 1 + max((choice.height for choice in self.needs()), default=0)

    def parts(self) -> Iterable[Choice]:
        """The Choices for all items."""
        return [*self.prefix, self.rest, *self.contains]

    def needs(self) -> Iterable[Choice]:
        """The Choices for the required items."""
        return [*self.prefix[: self.low], *([self.rest] if self.low > len(self.prefix) else []), *self.contains]

    def _limit(self) -> float:
        for index, choice in enumerate(self.prefix):
            if choice.height == math.inf:
                return min(index, self.high)
        return self.high if self.rest.height < math.inf else min(len(self.prefix), self.high)

    def lack(self) -> Iterator[str]:
        """Yield a reason if no array is possible because too few items, or too few different items, are allowed."""
        if not any(choice.height == math.inf for choice in self.needs()):
            low = max(self.low, len(self.prefix) + len(self.contains) if self.contains else 0)
            domain = self.rest.domain()
            if low > self._limit():
                yield f"{low} items are needed, and no more than {int(self._limit())} are allowed"
            elif self.unique and domain is not None and self.low > len(self.prefix) + len(domain):
                yield f"minItems is {self.low} with uniqueItems, and its items have only {len(domain)} values"

    def value(self, drawing: Drawing) -> list[Any]:
        """Draw an array."""
        first = min(len(self.prefix), self._limit())
        least = first if drawing.full or self.contains else min(self.low, first)
        count = drawing.draw(st.integers(int(least), int(first)))
        items = [choice.value(drawing) for choice in self.prefix[:count]]
        if count < len(self.prefix):
            return items
        room = self._limit() - count - len(self.contains)
        rest = self._rest(drawing, max(self.low - count - len(self.contains), 0), room)
        for choice in self.contains:
            rest.insert(drawing.draw(st.integers(0, len(rest))), choice.value(drawing))
        return items + rest

    def _rest(self, drawing: Drawing, low: int, room: float) -> list[Any]:
        domain = self.rest.domain() if self.unique else None
        if domain is not None:
            room = min(room, len(domain))
        if drawing.full and room > 0:
            low = max(low, 1)
        if self.rest.is_recursive:
            return self._branches(drawing, low, int(min(room, low + (0 if drawing.smallest else _BRANCHES))))
        high = int(min(room, low + _MORE))
        if not high:
            return []
        if domain is not None:
            some = st.lists(st.sampled_from(domain), min_size=low, max_size=high, unique_by=key)
            return copy.deepcopy(drawing.draw(some))
        items = _items(self.rest, drawing.full)
        return drawing.draw(st.lists(items, min_size=low, max_size=high, unique_by=key if self.unique else None))

    def _branches(self, drawing: Drawing, low: int, high: int) -> list[Any]:
        """Draw `low` to `high` items whose schema is recursive. `drawing` limits how deep they are nested."""
        items = [self.rest.value(drawing) for _ in range(drawing.draw(st.integers(low, high)))]
        if self.unique:
            items = list({key(item): item for item in items}.values())
        return items if len(items) >= low else reject()


@composite
def _items(draw: st.DrawFn, choice: Choice, full: bool) -> Any:
    return choice.value(Drawing(draw, full))
