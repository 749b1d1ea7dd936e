"""Plan the order in which the pairs (reply of a test, fault) are tried: pairs that resemble earlier pairs come late."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from converse_harness.plugin.chaos.damage import damaged, kind_of
from converse_harness.plugin.passed import OwnReply, PassedTest

_BEFORE_ANY_BYTE = ("throttled", "internal_server_error", "throttle_first_frame", "empty_200")
"""The faults that affect even a client that reads only the beginning of an answer."""


class DamagePair(NamedTuple):
    """One planned rerun, in which the reply `planned` gets the fault. `test` is the test's position in the session."""

    test: int
    planned: OwnReply
    fault: str


def plan(tests: Iterable[PassedTest], names: Sequence[str], seed: str) -> list[DamagePair]:
    """Return all pairs of a reply of `tests` and a fault in `names`, in waves, so that similar pairs are far apart.

    A wave has at most one pair for each combination of fault, kind of reply and operation. `seed` decides which pair of
    a combination comes in which wave. Within a wave, tests keep their order, so that fixtures of wider scopes are
    seldom set up again. A pair is left out if the reply cannot have the fault, or if the client did not read far enough
    to meet it.
    """
    drawn: list[tuple[int, int, DamagePair, tuple[str, str, str]]] = []
    for test in tests:
        for planned in test.replies:
            kind, operation = kind_of(planned.reply), planned.asked[0]
            for rank, name in enumerate(names):
                is_read = planned.read_whole or name in _BEFORE_ANY_BYTE
                if is_read and damaged(planned.reply, name, operation, planned.transport) is not None:
                    chance = zlib.crc32(f"{seed} {test.item.nodeid} {planned.number} {name}".encode())
                    drawn.append((chance, rank, DamagePair(test.position, planned, name), (name, kind, operation)))
    drawn.sort(key=lambda each: each[:2])
    waves: Counter[tuple[str, str, str]] = Counter()
    placed: list[tuple[tuple[int, int, int, int], DamagePair]] = []
    for _, rank, pair, combination in drawn:
        waves[combination] += 1
        placed.append(((waves[combination], pair.test, pair.planned.number, rank), pair))
    return [pair for _, pair in sorted(placed, key=lambda each: each[0])]
