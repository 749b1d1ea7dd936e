"""Plan the order in which the pairs (reply of a test, fault) are tried: pairs that resemble earlier pairs come late."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from converse_harness.plugin.chaos.damage import damaged, kind_of

if TYPE_CHECKING:
    from converse_harness.plugin.passed import OwnReply

_BEFORE_ANY_BYTE = ("throttled", "internal_server_error", "throttle_first_frame", "empty_200")
"""The faults that affect even a client that reads only the beginning of an answer."""


@dataclass(frozen=True, slots=True)
class DamagePair:
    """A reply of a test, and the fault for this reply in a rerun. `test` is the position of the test in the session."""

    test: int
    planned: OwnReply
    fault: str


def plan(tests: Iterable[tuple[int, str, Sequence[OwnReply]]], names: Sequence[str], seed: str) -> list[DamagePair]:
    """Return all pairs of the tests (position, node id, replies). Pairs that resemble earlier pairs come late.

    The first wave has one pair for each combination of fault, kind of reply and operation; each later wave has one
    more. Only the seed decides which test represents a combination. Within a wave, tests keep their order, so that
    fixtures of wider scopes are seldom set up again. Pairs are left out if the reply cannot have the fault.
    """
    drawn: list[tuple[int, int, DamagePair, tuple[str, str, str]]] = []
    for position, nodeid, replies in tests:
        for planned in replies:
            kind = kind_of(planned.reply)
            for rank, name in enumerate(names):
                if not planned.read_whole and name not in _BEFORE_ANY_BYTE:
                    continue
                if damaged(planned.reply, name, planned.asked[0], planned.transport) is None:
                    continue
                chance = zlib.crc32(f"{seed} {nodeid} {planned.number} {name}".encode())
                drawn.append((chance, rank, DamagePair(position, planned, name), (name, kind, planned.asked[0])))
    drawn.sort(key=lambda each: each[:2])
    used: Counter[tuple[str, str, str]] = Counter()
    placed: list[tuple[tuple[int, int, int, int], DamagePair]] = []
    for _, rank, pair, alike in drawn:
        used[alike] += 1
        placed.append(((used[alike], pair.test, pair.planned.number, rank), pair))
    placed.sort(key=lambda each: each[0])
    return [pair for _, pair in placed]
