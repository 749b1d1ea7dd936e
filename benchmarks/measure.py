"""How things are measured: in alternated rounds of one run, and as medians of what the rounds of one pair say.

The clock is the CPU time of the thread: what else the machine does at the same time is not ours. So it does not see
waiting; nothing in process waits. Where two threads or processes take turns, the clock is the one on the wall.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median

clock = time.thread_time
wall = time.perf_counter


def per_call(work: Callable[[], object], calls: int = 1, clock: Callable[[], float] = clock) -> float:
    """Seconds for one call of `work`, the mean of `calls`; what was made before is garbage collected before."""
    gc.collect()
    started = clock()
    for _ in range(calls):
        work()
    return (clock() - started) / calls


class Rounds:
    """What alternated rounds took, in seconds; a comparison is the median of what each pair of neighbours says."""

    def __init__(self, rounds: int, **contestants: Callable[[], float]) -> None:
        for contestant in contestants.values():
            contestant()  # caches fill, imports happen
        self._seconds: dict[str, list[float]] = {name: [] for name in contestants}
        order = list(contestants)
        for _ in range(rounds):
            for name in order:
                self._seconds[name].append(contestants[name]())
            order.reverse()

    def median(self, name: str) -> float:
        """Seconds."""
        return median(self._seconds[name])

    def over(self, name: str, floor: str) -> float:
        """How many seconds more than the floor."""
        return median(mine - other for mine, other in self._pairs(name, floor))

    def ratio(self, name: str, floor: str) -> float:
        """In percent of the floor."""
        return 100 * median(mine / other for mine, other in self._pairs(name, floor))

    def share(self, name: str, floor: str) -> float:
        """What it has more than the floor, in percent of the whole."""
        return 100 * median((mine - other) / mine for mine, other in self._pairs(name, floor))

    def _pairs(self, name: str, floor: str) -> list[tuple[float, float]]:
        return list(zip(self._seconds[name], self._seconds[floor], strict=True))
