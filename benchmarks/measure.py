"""How things are measured: by turns in one run, each contestant once in each round.

The clock is the CPU time of the thread: what else the machine does at the same time does not count. It does not count
waiting either; nothing in process waits. Where two threads or processes take turns, the clock is the one on the wall,
or the CPU time of the process that is measured.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""Of the checkout."""

clock = time.thread_time
wall = time.perf_counter


def timed(work: Callable[[], object], clock: Callable[[], float] = clock) -> float:
    """Seconds of one call of `work`."""
    started = clock()
    work()
    return clock() - started


class Rounds:
    """The seconds that each contestant returned, one after the other in each round, in alternating order.

    What counts are the quiet rounds, the third that took the least in all: there the machine did little else, and what
    is compared was measured at nearly the same time. Of them every result is the median. What was made before the first
    round is hidden from the garbage collector, which runs between the rounds.
    """

    def __init__(self, rounds: int, contestants: Mapping[str, Callable[[], float]], *, warm: bool = True) -> None:
        if warm:
            for contestant in contestants.values():
                contestant()  # caches fill, imports happen
        measured: list[dict[str, float]] = []
        order = list(contestants)
        gc.collect()
        gc.freeze()
        try:
            for _ in range(rounds):
                measured.append({name: contestants[name]() for name in order})
                order.reverse()
                gc.collect()
        finally:
            gc.unfreeze()
        measured.sort(key=lambda seconds: sum(seconds.values()))
        self._quiet = measured[: max(3, rounds // 3)]

    def of(self, name: str) -> float:
        """Seconds."""
        return median(seconds[name] for seconds in self._quiet)

    def over(self, name: str, floor: str) -> float:
        """How many seconds more than the floor."""
        return median(seconds[name] - seconds[floor] for seconds in self._quiet)

    def ratio(self, name: str, other: str) -> float:
        """How many times the other."""
        return median(seconds[name] / seconds[other] for seconds in self._quiet)

    def share(self, name: str, floor: str) -> float:
        """What it takes beyond the floor, in percent of the whole."""
        return 100 * median(1 - seconds[floor] / seconds[name] for seconds in self._quiet)

    def against(self, name: str, other: str) -> str:
        """Both sides of a comparison, for a note."""
        return f"{milliseconds(self.of(name))} against {milliseconds(self.of(other))}"


def milliseconds(seconds: float) -> str:
    """Three digits of a time."""
    value = 1000 * seconds
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f} ms"


def exponent(costs: Mapping[int, float]) -> float:
    """The power of the size with which costs grow: least squares of their logarithms."""
    sizes, seconds = [math.log(size) for size in costs], [math.log(cost) for cost in costs.values()]
    size, second = fmean(sizes), fmean(seconds)
    joint = sum((one - size) * (other - second) for one, other in zip(sizes, seconds, strict=True))
    return joint / sum((one - size) ** 2 for one in sizes)


def run_python(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], allowed: Sequence[int]) -> str:
    """The output of a Python process; raises RuntimeError for another status than the allowed ones.

    Bytecode is cached, as it is for users: some shells of developers say otherwise, and compiling takes longer.
    """
    left_out = ("PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        end = (done.stdout + done.stderr)[-2_000:]
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}:\n{end}")
    return done.stdout.strip()


def cpu_of_pytest(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    """CPU seconds of a pytest, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run_python(["-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], folder, environment, allowed=(0, 5))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
