"""The plan for drawing values of a compiled schema: a Choice of alternatives, each for one kind of value.

A Choice may lead back to itself. `height` is the nesting depth of its smallest value. When a Choice is nested in itself
often enough, or the value is large enough, only the smallest values are drawn, so every value ends.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from converse_strategies.json_schema.scalars import fitted, of_length

_AGAIN: Final = 2
"""How often a Choice may be inside itself before only what is smallest is drawn."""

_TURNS: Final = 24
"""How many such Choices there are in a value before only what is smallest is drawn."""

_TRIES: Final = 5
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Drawing:
    """The state of a draw: `texts` replaces any text, `full` includes all optional parts, `smallest` excludes them.

    `path` are the surrounding Choices that lead back to themselves, `turns` is their number in the whole value so far.
    """

    draw: st.DrawFn
    texts: st.SearchStrategy[str] | None = None
    full: bool = False
    path: tuple[Choice, ...] = ()
    smallest: bool = False
    turns: list[None] = field(default_factory=list[None])

    def inside(self, choice: Choice) -> Drawing:
        """The state for the inside of a Choice that leads back to itself."""
        smallest = self.path.count(choice) >= _AGAIN or len(self.turns) >= _TURNS
        self.turns.append(None)
        return Drawing(self.draw, self.texts, self.full and not self.path, (*self.path, choice), smallest, self.turns)


class Alternative(Protocol):
    """The interface of one kind of values that satisfy a schema."""

    def height(self) -> float:
        """The nesting depth of the smallest value; infinite if there is no value."""
        ...

    def parts(self) -> Iterator[Choice]:
        """The Choices of the members or items."""
        ...

    def needs(self) -> Iterator[Choice]:
        """The Choices without which there is no value."""
        ...

    def lack(self) -> Iterator[str]:
        """Why there is no value, apart from missing `needs`; empty if there is one."""
        ...

    def value(self, drawing: Drawing) -> Any:
        """Draw a value."""
        ...


@dataclass(eq=False, slots=True)
class Choice:
    """The alternatives of a schema, or the reason why there are none. `live` are those with values, the smallest
    first.
    """

    path: str
    alternatives: list[Alternative] = field(default_factory=list["Alternative"])
    reasons: list[str] = field(default_factory=list[str])
    height: float = math.inf
    is_recursive: bool = False
    live: tuple[Alternative, ...] = ()
    _which: st.SearchStrategy[Alternative] | None = None

    def value(self, drawing: Drawing) -> Any:
        """Draw a value."""
        if self.is_recursive:
            drawing = drawing.inside(self)
        if len(self.live) == 1 or (drawing.smallest and self.is_recursive):
            return self.live[0].value(drawing)
        if self._which is None:
            self._which = st.sampled_from(self.live)
        return drawing.draw(self._which).value(drawing)

    def settle(self) -> None:
        """Update `live` and the height from the heights of the parts."""
        found = [each for each in self.alternatives if each.height() < math.inf]
        found.sort(key=lambda each: (each.height(), not isinstance(each, Constants)))
        self.live = tuple(found)
        self.height = found[0].height() if found else math.inf

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
        if not self.live:
            return None
        known = [each.values for each in self.live if isinstance(each, Constants)]
        return [value for values in known for value in values] if len(known) == len(self.live) else None


class Scalar:
    """The base of alternatives without members or items."""

    __slots__ = ()

    def height(self) -> float:
        """0: nothing is nested."""
        return 0

    def parts(self) -> Iterator[Choice]:
        """No parts."""
        return iter(())

    def needs(self) -> Iterator[Choice]:
        """No needed parts."""
        return iter(())

    def lack(self) -> Iterator[str]:
        """Empty: there is always a value."""
        return iter(())


@dataclass(eq=False, slots=True)
class Constants(Scalar):
    """A list of known values, the simplest first; each draw returns a copy."""

    values: Sequence[Any]
    _which: st.SearchStrategy[Any] | None = None

    def value(self, drawing: Drawing) -> Any:
        """Draw one of the values."""
        if len(self.values) == 1:
            return copy.deepcopy(self.values[0])
        if self._which is None:
            self._which = st.sampled_from(self.values)
        return copy.deepcopy(drawing.draw(self._which))


@dataclass(eq=False, slots=True)
class Drawn(Scalar):
    """Values of a given strategy."""

    strategy: st.SearchStrategy[Any]

    def value(self, drawing: Drawing) -> Any:
        """Draw a value from the strategy."""
        return drawing.draw(self.strategy)


@dataclass(eq=False, slots=True)
class Texts(Scalar):
    """Texts for which only the length is limited."""

    low: int
    high: int | None

    def value(self, drawing: Drawing) -> str:
        """Draw a text, from the `texts` of the state if given."""
        if drawing.texts is None:
            return drawing.draw(of_length(self.low, self.high))
        return fitted(drawing.draw(drawing.texts), self.low, self.high)


@dataclass(eq=False, slots=True)
class Unless:
    """Values of an alternative for which a condition does not hold; redrawn a few times if it does."""

    inner: Alternative
    is_right: Callable[[Any], bool]

    def height(self) -> float:
        """The height of the wrapped alternative."""
        return self.inner.height()

    def parts(self) -> Iterator[Choice]:
        """The parts of the wrapped alternative."""
        return self.inner.parts()

    def needs(self) -> Iterator[Choice]:
        """The needs of the wrapped alternative."""
        return self.inner.needs()

    def lack(self) -> Iterator[str]:
        """The lack of the wrapped alternative."""
        return self.inner.lack()

    def value(self, drawing: Drawing) -> Any:
        """Draw a value from the wrapped alternative."""
        return until(self.is_right, lambda: self.inner.value(drawing))


def until(is_right: Callable[[_T], bool], make: Callable[[], _T]) -> _T:
    """The first of some values that is acceptable; rejects this example if there is none."""
    for _ in range(_TRIES):
        value = make()
        if is_right(value):
            return value
    return reject()
