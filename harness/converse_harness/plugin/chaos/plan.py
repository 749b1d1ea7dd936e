"""Plan: the pairs (reply of a test, fault) in the order in which they are tried, those least alike first."""

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
"""The faults that a client meets even if it reads only the beginning of an answer."""


@dataclass(frozen=True, slots=True)
class DamagePair:
    """A reply of a test, and the fault that it gets in a rerun. `test` is the position of the test in the session."""

    test: int
    planned: OwnReply
    fault: str


def plan(tests: Iterable[tuple[int, str, Sequence[OwnReply]]], names: Sequence[str], seed: str) -> list[DamagePair]:
    """Return all pairs of the tests (position, node id, replies), those least alike first.

    A first wave has each combination of fault, kind of reply and operation once, a second wave once more, and so on.
    Which test stands for a combination depends on the seed alone. In a wave, tests are in their own order, so that
    fixtures of wider scopes are built seldom. Pairs are left out whose reply cannot have the fault.
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
