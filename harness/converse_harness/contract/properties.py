"""The properties of a contract: conditions that must hold for all answers that hypothesis draws."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import converse_strategies as strategies
from converse_harness.contract.extremes import extremes
from converse_harness.reply.reply import Reply

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase
    from hypothesis.strategies import SearchStrategy


class Unending(BaseException):
    """Raised if the consumer had to be stopped; `error` is the exception that the test raises instead.

    The class is a BaseException, so that hypothesis does not shrink the answer: each attempt would take the whole time
    limit.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


@dataclass(frozen=True, slots=True)
class PropertyDraw:
    """The arguments for generating the answers of a property.

    `kinds` are the kinds of blocks (None: all) and `examples` is the number of answers. `seed` determines the answers
    (None: hypothesis chooses a seed). The database of hypothesis stores the answers that were not handled under `key`.
    """

    operation: str
    transport: str
    kinds: Sequence[str] | None
    examples: int
    seed: int | None
    key: str


@dataclass(frozen=True, slots=True)
class Property:
    """A property that a consumer must have for all generated answers.

    `sentence` describes the answers, `required` describes how the consumer must react. `draws` takes the kinds of
    blocks, the operation and the transport, and returns the hypothesis strategy for the answers.
    """

    name: str
    sentence: str
    required: str
    draws: Callable[[Sequence[str], str, str], SearchStrategy[Reply]]

    def check(self, put: Callable[[Reply], None], drawing: PropertyDraw, *, shrink: bool = True) -> None:
        """Call `put` with each generated answer. Raises the error of `put` for the smallest answer that fails.

        If `shrink` is false, answers that failed in an earlier run are not tried again, and the first answer that fails
        is not made smaller.
        """
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import seed as seeded

        phases = (Phase.reuse, Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
        database = settings.default.database if settings.default is not None else None
        quietly = settings(
            max_examples=drawing.examples,
            deadline=None,
            derandomize=False,  # not needed, because `seed` determines the answers
            database=None if database is None or not shrink else _own_part(database, f"{drawing.key}:{self.name}"),
            phases=phases,  # without the phase `explain`, which would run the consumer again
            report_multiple_bugs=False,
            # The health checks are off, because the consumer is slow and the strategies may draw large or rare answers.
            suppress_health_check=(
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
                HealthCheck.large_base_example,
                HealthCheck.too_slow,
            ),
        )

        def consumer(answer: Reply) -> None:
            put(answer)

        kinds = block_kinds() if drawing.kinds is None else drawing.kinds
        test = quietly(given(answer=self.draws(kinds, drawing.operation, drawing.transport))(consumer))
        try:
            # If a long answer fails, hypothesis warns about the length of its representation, which is never printed.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Generating overly large repr")
                (test if drawing.seed is None else seeded(drawing.seed)(test))()
        except Unending as unending:
            raise unending.error from None


def _own_part(database: ExampleDatabase, key: str) -> ExampleDatabase:
    """Return a part of `database` that has its own keys and stores the answers of one property of one contract.

    Otherwise all properties would share one key, because hypothesis derives the key from the source of the test
    function.
    """
    from hypothesis.database import ExampleDatabase

    class OwnPart(ExampleDatabase):
        def fetch(self, key: bytes) -> Iterable[bytes]:
            return database.fetch(_of(key))

        def save(self, key: bytes, value: bytes) -> None:
            database.save(_of(key), value)

        def delete(self, key: bytes, value: bytes) -> None:
            database.delete(_of(key), value)

    def _of(given: bytes) -> bytes:
        return hashlib.sha384(key.encode() + given).digest()

    return OwnPart()


def block_kinds() -> tuple[str, ...]:
    """Return the kinds of content blocks that generated answers may have."""
    from converse_strategies.blocks import streamable

    return tuple(streamable())


def _at_the_edge(kinds: Sequence[str], operation: str, transport: str) -> SearchStrategy[Reply]:
    from hypothesis.strategies import sampled_from

    return sampled_from(answers) if (answers := extremes(kinds)) else strategies.replies(kinds=kinds)


_ALL: Final = (
    Property(
        "any_answer",
        "Any legal answer, cut into deltas anywhere.",
        "Return the same text, tool calls and reasoning, however they are cut.",
        lambda kinds, operation, transport: strategies.replies(kinds=kinds),
    ),
    Property(
        "any_extreme",
        "An answer at the edge: many blocks or deltas, long texts and inputs, large numbers, cut in odd places.",
        "Return the same text, tool calls and reasoning, however long they are.",
        _at_the_edge,
    ),
    Property(
        "any_failure",
        "Any error before the stream or inside it, after any part of any answer.",
        "Fail, or ask again; never treat the part as whole, and run none of its tools.",
        lambda kinds, operation, transport: (
            strategies.errors() | strategies.stream_errors(replies=strategies.replies(kinds=kinds))
        ),
    ),
    Property(
        "any_fault",
        "Any answer with exactly one breach of the protocol, anywhere.",
        "Fail, or read the clear parts; never treat a part as whole, never run an unclear tool, never hang.",
        lambda kinds, operation, transport: strategies.faulty_replies(
            kinds=kinds, transports=[transport], operations=[operation]
        ).map(lambda case: case.reply),
    ),
)

PROPERTIES: Final[Mapping[str, Property]] = {each.name: each for each in _ALL}
"""Every property by its name."""
