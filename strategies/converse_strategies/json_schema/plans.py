"""How values of a compiled schema are drawn: a Choice of alternatives, each of one kind of value.

A Choice may lead back to itself. `height` is how many containers its smallest value has inside each other; once a
Choice is inside itself often enough, or the value is large enough, only what is smallest is drawn: every value ends.
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
    """What is drawn with: `texts` instead of any text, `full` for all that is optional, `smallest` for nothing else.

    `path` are the Choices around that lead back to themselves, `turns` counts how many there were in the whole value.
    """

    draw: st.DrawFn
    texts: st.SearchStrategy[str] | None = None
    full: bool = False
    path: tuple[Choice, ...] = ()
    smallest: bool = False
    turns: list[None] = field(default_factory=list[None])

    def inside(self, choice: Choice) -> Drawing:
        """What is drawn with inside a Choice that leads back to itself."""
        smallest = self.path.count(choice) >= _AGAIN or len(self.turns) >= _TURNS
        self.turns.append(None)
        return Drawing(self.draw, self.texts, self.full and not self.path, (*self.path, choice), smallest, self.turns)


class Alternative(Protocol):
    """One kind of values that satisfy a schema."""

    def height(self) -> float:
        """How many containers its smallest value has inside each other; infinite if there is no value."""
        ...

    def parts(self) -> Iterator[Choice]:
        """The Choices of its members or items."""
        ...

    def needs(self) -> Iterator[Choice]:
        """The Choices without which there is no value."""
        ...

    def lack(self) -> Iterator[str]:
        """Why there is no value, other than for want of those."""
        ...

    def value(self, drawing: Drawing) -> Any:
        """Draw one."""
        ...


@dataclass(eq=False, slots=True)
class Choice:
    """The alternatives of a schema, or why it has none. `live` are those that have values, the smallest first."""

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
        """Take what is known of the parts into account."""
        found = [each for each in self.alternatives if each.height() < math.inf]
        found.sort(key=lambda each: (each.height(), not isinstance(each, Constants)))
        self.live = tuple(found)
        self.height = found[0].height() if found else math.inf

    def lack(self, inside: tuple[Choice, ...] = ()) -> str:
        """Why there is no value."""
        if self in inside:
            return f"{self.path} needs another of itself inside, without end"
        found = list(self.reasons)
        for each in self.alternatives:
            found += each.lack()
            found += [part.lack((*inside, self)) for part in each.needs() if part.height == math.inf]
        return "; ".join(dict.fromkeys(found)) or f"{self.path} allows no value"

    def domain(self) -> list[Any] | None:
        """All the values, if they are few and known."""
        if not self.live:
            return None
        known = [each.values for each in self.live if isinstance(each, Constants)]
        return [value for values in known for value in values] if len(known) == len(self.live) else None


class Scalar:
    """What has neither members nor items."""

    __slots__ = ()

    def height(self) -> float:
        """Nothing inside."""
        return 0

    def parts(self) -> Iterator[Choice]:
        """No parts."""
        return iter(())

    def needs(self) -> Iterator[Choice]:
        """No parts."""
        return iter(())

    def lack(self) -> Iterator[str]:
        """There always is a value."""
        return iter(())


@dataclass(eq=False, slots=True)
class Constants(Scalar):
    """Some known values, the first the simplest; each is drawn as a copy."""

    values: Sequence[Any]
    _which: st.SearchStrategy[Any] | None = None

    def value(self, drawing: Drawing) -> Any:
        """Draw one."""
        if len(self.values) == 1:
            return copy.deepcopy(self.values[0])
        if self._which is None:
            self._which = st.sampled_from(self.values)
        return copy.deepcopy(drawing.draw(self._which))


@dataclass(eq=False, slots=True)
class Drawn(Scalar):
    """Values of a strategy."""

    strategy: st.SearchStrategy[Any]

    def value(self, drawing: Drawing) -> Any:
        """Draw one."""
        return drawing.draw(self.strategy)


@dataclass(eq=False, slots=True)
class Texts(Scalar):
    """Texts of which nothing but the length matters."""

    low: int
    high: int | None

    def value(self, drawing: Drawing) -> str:
        """Draw one, from `texts` if they are given."""
        if drawing.texts is None:
            return drawing.draw(of_length(self.low, self.high))
        return fitted(drawing.draw(drawing.texts), self.low, self.high)


@dataclass(eq=False, slots=True)
class Unless:
    """Values of an alternative that something else does not hold of: drawn again if it does, a few times."""

    inner: Alternative
    is_right: Callable[[Any], bool]

    def height(self) -> float:
        """That of what it is about."""
        return self.inner.height()

    def parts(self) -> Iterator[Choice]:
        """Those of what it is about."""
        return self.inner.parts()

    def needs(self) -> Iterator[Choice]:
        """Those of what it is about."""
        return self.inner.needs()

    def lack(self) -> Iterator[str]:
        """That of what it is about."""
        return self.inner.lack()

    def value(self, drawing: Drawing) -> Any:
        """Draw one."""
        return until(self.is_right, lambda: self.inner.value(drawing))


def until(is_right: Callable[[_T], bool], make: Callable[[], _T]) -> _T:
    """The first of some values that is right; if there is none, this example is given up."""
    for _ in range(_TRIES):
        value = make()
        if is_right(value):
            return value
    return reject()
