"""Drawing of objects and arrays of a compiled schema."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import reject
from hypothesis import strategies as st

from converse_strategies import leaves
from converse_strategies.json_schema.plans import Choice, Drawing, until
from converse_strategies.json_schema.reading import key
from converse_strategies.leaves import composite

_MORE: Final = 3
"""How many items or members more than needed there are, where nothing says how many."""

_BRANCHES: Final = 2
"""How many more than needed, where each may hold more of the same."""

Name = Callable[[Drawing], str]
"""A way to draw the name of a member."""


def any_name(drawing: Drawing) -> str:
    """Draw any name."""
    return drawing.draw(leaves.texts())


def name_of(texts: st.SearchStrategy[str], drawing: Drawing) -> str:
    """Draw one of these texts as a name."""
    return drawing.draw(texts)


@dataclass(frozen=True, slots=True)
class Others:
    """The members of an object that its schema does not name.

    `names` are functions that draw a name, `of` returns the Choice for a name, `parts` are all possible Choices;
    `asked`: the schema mentions such members, so they are drawn even if none is needed.
    """

    names: Sequence[Name]
    of: Callable[[str], Choice]
    parts: Sequence[Choice]
    asked: bool

    def height(self) -> float:
        """The height of the smallest Choice in `parts`; infinite if there is none."""
        return min((choice.height for choice in self.parts), default=math.inf)


@dataclass(eq=False, slots=True)
class Members:
    """Objects: the Choice of each name, the required names, the number of members, and the other members."""

    members: dict[str, Choice]
    required: frozenset[str]
    low: int
    high: int
    others: Others

    def height(self) -> float:
        """One more than the height of the tallest member that the smallest object needs."""
        needed = [self.members[name].height for name in self.required]
        missing = max(self.low - len(needed), 0)
        spare = sorted(choice.height for name, choice in self.members.items() if name not in self.required)
        spare += [self.others.height()] * missing
        return 1 + max([*needed, *sorted(spare)[:missing]], default=0)

    def parts(self) -> Iterator[Choice]:
        """The Choices of the members, and of the others."""
        yield from self.members.values()
        yield from self.others.parts

    def needs(self) -> Iterator[Choice]:
        """The Choices of the required members."""
        return (self.members[name] for name in self.required)

    def lack(self) -> Iterator[str]:
        """Why no object is possible: the limit on members is too low; otherwise empty."""
        allowed = sum(choice.height < math.inf for choice in self.members.values())
        if allowed < self.low and self.others.height() == math.inf:
            yield f"minProperties is {self.low}, and no more than {allowed} members are allowed"

    def value(self, drawing: Drawing) -> dict[str, Any]:
        """Draw an object, its members in the order of the schema."""
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
            bits = drawing.draw(_bits(len(wanted)))
            wanted = [name for index, name in enumerate(wanted) if bits >> index & 1]
        missing = self.low - len(self.required) - len(wanted)
        if missing > 0:
            left = sorted(
                set(spare).difference(wanted), key=lambda name: (self.members[name].height, spare.index(name))
            )
            wanted += left[:missing]
        return {*self.required, *wanted[: self.high - len(self.required)]}

    def _add(self, drawing: Drawing, value: dict[str, Any]) -> None:
        missing = max(self.low - len(value), 0)
        room = min(self.high - len(value), missing + _MORE)
        is_free = self.others.asked and not (drawing.smallest and any(each.is_recursive for each in self.others.parts))
        if room <= 0 or not (missing or is_free) or self.others.height() == math.inf:
            return
        least = max(missing, int(drawing.full))
        for index in range(drawing.draw(st.integers(least, room if is_free else least))):
            name = drawing.draw(st.sampled_from(self.others.names))(drawing)
            for _ in range(_MORE):
                if name not in value and name not in self.members and self.others.of(name).height < math.inf:
                    value[name] = self.others.of(name).value(drawing)
                    break
                name = drawing.draw(st.sampled_from(self.others.names))(drawing)
            else:
                if index < missing:
                    reject()


def _bits(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << count) - 1)


@dataclass(eq=False, slots=True)
class Items:
    """Arrays: the Choices of the first items, of the rest, the items that must be contained, and the number of
    items.
    """

    prefix: list[Choice]
    rest: Choice
    contains: list[Choice]
    low: int
    high: float
    unique: bool
    _lists: dict[tuple[int, int], st.SearchStrategy[list[Any]]] = field(
        default_factory=dict[tuple[int, int], "st.SearchStrategy[list[Any]]"]
    )

    def height(self) -> float:
        """One more than the largest height among the required items."""
        if next(self.lack(), None) is not None:
            return math.inf
        return 1 + max((choice.height for choice in self.needs()), default=0)

    def parts(self) -> Iterator[Choice]:
        """The Choices of the items."""
        yield from self.prefix
        yield self.rest
        yield from self.contains

    def needs(self) -> Iterator[Choice]:
        """The Choices of the required items."""
        yield from self.prefix[: self.low]
        if self.low > len(self.prefix):
            yield self.rest
        yield from self.contains

    def _limit(self) -> float:
        for index, choice in enumerate(self.prefix):
            if choice.height == math.inf:
                return min(index, self.high)
        return self.high if self.rest.height < math.inf else min(len(self.prefix), self.high)

    def lack(self) -> Iterator[str]:
        """Why no array is possible: too few items are allowed, or too few differ; otherwise empty."""
        if not any(choice.height == math.inf for choice in self.needs()):
            low = max(self.low, len(self.prefix) + len(self.contains) if self.contains else 0)
            domain = self.rest.domain()
            if low > self._limit():
                yield f"{low} items are needed, and no more than {int(self._limit())} are allowed"
            elif self.unique and domain is not None and self.low > len(self.prefix) + len(domain):
                yield f"minItems is {self.low} with uniqueItems, and its items have only {len(domain)} values"

    def value(self, drawing: Drawing) -> list[Any]:
        """Draw an array."""
        if not self.unique or not (self.prefix or self.contains):
            return self._value(drawing)
        return until(lambda items: len(set(map(key, items))) == len(items), lambda: self._value(drawing))

    def _value(self, drawing: Drawing) -> list[Any]:
        first = min(len(self.prefix), self._limit())
        least = first if drawing.full or self.contains else min(self.low, first)
        count = drawing.draw(st.integers(int(least), int(first))) if least < first else int(first)
        items = [choice.value(drawing) for choice in self.prefix[:count]]
        if count < len(self.prefix):
            return items
        room = self._limit() - count - len(self.contains)
        rest = self._rest(drawing, max(self.low - count - len(self.contains), 0), room)
        for choice in self.contains:
            at = drawing.draw(st.integers(0, len(rest))) if rest else 0
            rest.insert(at, choice.value(drawing))
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
        if drawing.texts is not None or drawing.full:
            return drawing.draw(self._list(low, high, drawing))
        if (low, high) not in self._lists:
            self._lists[low, high] = self._list(low, high, drawing)
        return drawing.draw(self._lists[low, high])

    def _branches(self, drawing: Drawing, low: int, high: int) -> list[Any]:
        """Items that may contain more of the same kind; their number is drawn together with that of the surrounding
        items.
        """
        count = drawing.draw(st.integers(low, high)) if low < high else low
        items = [self.rest.value(drawing) for _ in range(count)]
        if self.unique:
            items = list({key(item): item for item in items}.values())
        return items if len(items) >= low else reject()

    def _list(self, low: int, high: int, drawing: Drawing) -> st.SearchStrategy[list[Any]]:
        items = _items(self.rest, drawing.texts, drawing.full)
        return st.lists(items, min_size=low, max_size=high, unique_by=key if self.unique else None)


@composite
def _items(draw: st.DrawFn, choice: Choice, texts: st.SearchStrategy[str] | None, full: bool) -> Any:
    return choice.value(Drawing(draw, texts, full))
