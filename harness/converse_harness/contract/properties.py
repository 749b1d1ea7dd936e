"""What holds for every answer, not only for the cases: as one table of properties over the strategies.

The one module of the harness that imports the strategies; docs/architecture.md says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from converse_harness.reply.reply import Reply

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Unending(BaseException):
    """Carries an error past hypothesis, which would look for a smaller answer: each costs the whole time limit."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


Put = Callable[[Reply], None]
Draws = Callable[[Sequence[str], str, str], "SearchStrategy[Reply]"]
"""Replies, given the kinds of blocks, the operation and the door."""


@dataclass(frozen=True, slots=True)
class Property:
    """Something that holds for every answer that is drawn: in `sentence` what is drawn, in `must` what holds."""

    name: str
    sentence: str
    must: str
    draws: Draws

    def check(self, put: Put, *, operation: str, door: str, kinds: Sequence[str], examples: int) -> None:
        """Put so many answers to the consumer; raises what `put` raises for the smallest that it raises for."""
        from hypothesis import HealthCheck, Phase, given, settings

        phases = [phase for phase in Phase if phase is not Phase.explain]  # it would ask the consumer once more
        quietly = settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=phases,
            report_multiple_bugs=False,
            # What is slow is the consumer, and large or rare what it must survive.
            suppress_health_check=(
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
                HealthCheck.large_base_example,
                HealthCheck.too_slow,
            ),
        )
        try:
            quietly(given(answer=self.draws(kinds, operation, door))(_named(put)))()
        except Unending as unending:
            raise unending.error from None


def _named(put: Put) -> Callable[..., None]:
    def consumer(answer: Reply) -> None:
        put(answer)

    return consumer


def printed(answer: Reply) -> str:
    """The code that makes a reply, to be pasted."""
    from hypothesis.vendor.pretty import pretty

    return pretty(answer)


def block_kinds() -> tuple[str, ...]:
    """The blocks that an answer can be made of."""
    from converse_strategies.blocks import streamable

    return tuple(streamable())


def _answers(kinds: Sequence[str], operation: str, door: str) -> SearchStrategy[Reply]:
    from converse_strategies import replies

    return replies(kinds=kinds)


def _failures(kinds: Sequence[str], operation: str, door: str) -> SearchStrategy[Reply]:
    from converse_strategies import errors, replies, stream_errors

    return errors() | stream_errors(replies=replies(kinds=kinds))


def _faulty(kinds: Sequence[str], operation: str, door: str) -> SearchStrategy[Reply]:
    from converse_strategies import faulty_replies

    cases = faulty_replies(kinds=kinds, doors=[door], operations=[operation])
    return cases.map(lambda case: case.reply)


PROPERTIES: Final[Mapping[str, Property]] = {
    each.name: each
    for each in (
        Property(
            "any_answer",
            "Any legal answer, cut into deltas anywhere.",
            "Give the same text, tool calls and reasoning, however they are cut.",
            _answers,
        ),
        Property(
            "any_failure",
            "Any error before the stream or inside it, after any part of any answer.",
            "Fail, or ask again; never take the part for whole, and run no tool of it.",
            _failures,
        ),
        Property(
            "any_fault",
            "Any answer with exactly one breach of the protocol, anywhere.",
            "Fail, or read what is clear; never take a part for whole, run no tool that is not clear, never hang.",
            _faulty,
        ),
    )
}
"""Every property by its name."""
