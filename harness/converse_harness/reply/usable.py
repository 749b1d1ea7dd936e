"""What all scripted answers have in common: how many calls use them, and whether they may stay unused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from converse_harness.errors import Advice
from converse_harness.stream.arguments import wrong


class Usable:
    """The base class of what a script may hold beside functions. Its subclasses are frozen dataclasses.

    An answer is used for `uses` calls in a row. If `may_be_unused` is true, the test does not fail if fewer calls use
    it.
    """

    __slots__ = ()

    uses: int
    may_be_unused: bool

    @property
    def summary(self) -> str:
        """A description in one line."""
        raise NotImplementedError

    def times(self, uses: int) -> Self:
        """Return a copy that answers this many calls in a row.

        >>> from converse_harness import reply
        >>> reply.throttled().times(2).uses
        2
        >>> reply.output({"inputTokens": 42}).times(2)
        <Output {'inputTokens': 42}, 2 times>
        """
        if type(uses) is not int or uses < 1:
            must = "a reply is used a whole number of times, at least once. For any number use "
            raise wrong("times", "uses", uses, must, Advice("always().", '"always".'))
        return self._with(uses=uses)

    def optional(self) -> Self:
        """Return a copy that may stay unused: the test does not fail if fewer calls than `uses` use it, or none.

        >>> from converse_harness import reply
        >>> reply.text("Are you still there?").optional().summary
        'text "Are you still there?", optional'
        """
        return self._with(may_be_unused=True)

    def _with(self, **changed: Any) -> Self:
        return replace(self, **changed)  # type: ignore[type-var]  # subclasses are dataclasses

    def _with_use(self, *parts: str) -> str:
        """Return the parts of a summary as one text, with the number of uses if it is above 1."""
        uses = [f"{self.uses} times"] if self.uses > 1 else []
        return ", ".join([*parts, *uses, *(["optional"] if self.may_be_unused else [])])
