"""The plan for drawing values of a compiled schema: a Choice of alternatives, each for one kind of value.

A Choice may lead back to itself. `height` is the nesting depth of its smallest value. When a Choice is nested in itself
often enough, or the value is large enough, only the smallest values are drawn, so every value ends.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import reject
from hypothesis import strategies as st

_AGAIN: Final = 2
"""How often a Choice may be inside itself before only what is smallest is drawn."""

_TURNS: Final = 24
"""How many such Choices there are in a value before only what is smallest is drawn."""

_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Drawing:
    """The state of a draw: `full` includes all optional parts, `smallest` excludes them.

    `path` are the surrounding Choices that lead back to themselves, `turns` is their number in the whole value so far.
    """

    draw: st.DrawFn
    full: bool = False
    path: tuple[Choice, ...] = ()
    smallest: bool = False
    turns: list[None] = field(default_factory=list[None])

    def inside(self, choice: Choice) -> Drawing:
        """The state for the inside of a Choice that leads back to itself."""
        smallest = self.path.count(choice) >= _AGAIN or len(self.turns) >= _TURNS
        self.turns.append(None)
        return Drawing(self.draw, self.full and not self.path, (*self.path, choice), smallest, self.turns)


class Alternative:
    """One kind of values that satisfy a schema; unless a subclass says more, nothing is nested in them."""

    is_right: Callable[[Any], bool] | None = None
    """What else has to hold of a value: one is drawn again, a few times, if it does not."""

    def height(self) -> float:
        """The nesting depth of the smallest value; infinite if there is no value."""
        return 0

    def parts(self) -> Iterable[Choice]:
        """The Choices of the members or items."""
        return ()

    def needs(self) -> Iterable[Choice]:
        """The Choices without which there is no value."""
        return ()

    def lack(self) -> Iterable[str]:
        """Why there is no value, apart from missing `needs`; empty if there is one."""
        return ()

    def value(self, drawing: Drawing) -> Any:
        """Draw a value."""
        raise NotImplementedError


class Scalar(Alternative):
    """Values of a strategy, or some known values, the simplest first; each draw makes a copy of those."""

    def __init__(self, strategy: st.SearchStrategy[Any] | None = None, values: Sequence[Any] = ()) -> None:
        self.values = values
        self._strategy = st.sampled_from(values).map(copy.deepcopy) if strategy is None else strategy

    def value(self, drawing: Drawing) -> Any:
        """Draw a value."""
        return drawing.draw(self._strategy)


@dataclass(eq=False, slots=True)
class Choice:
    """The alternatives of a schema, or the reason why there are none. `live` are those with values, the smallest
    first.
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
        """Update `live` and the height from the heights of the parts."""
        heights = {each: each.height() for each in self.alternatives}
        found = [each for each, height in heights.items() if height < math.inf]
        found.sort(key=lambda each: (heights[each], not (isinstance(each, Scalar) and each.values)))
        self.live = tuple(found)
        self.height = min(heights.values(), default=math.inf)

    def find_recursion(self) -> None:
        """Set `is_recursive`: whether the Choice leads back to itself."""
        seen: set[Choice] = set()
        left: list[Choice] = [self]
        while left and self not in seen:
            parts = {part for each in left.pop().alternatives for part in each.parts()} - seen
            seen |= parts
            left += parts
        self.is_recursive = self in seen

    def lack(self, inside: tuple[Choice, ...] = ()) -> str:
        """Why there is no value; empty if there is one."""
        if self in inside:
            return f"{self.path} needs another of itself inside, without end"
        found = list(self.reasons)
        for each in self.alternatives:
            found += each.lack()
            found += [part.lack((*inside, self)) for part in each.needs() if part.height == math.inf]
        return "; ".join(dict.fromkeys(found)) or f"{self.path} allows no value"

    def domain(self) -> list[Any] | None:
        """All possible values, if they are known and few; otherwise None."""
        known = [each.values for each in self.live if isinstance(each, Scalar) and each.values]
        return [value for values in known for value in values] if self.live and len(known) == len(self.live) else None
