"""What a call executes beyond the client, counted by callgrind: the gate of the budgets.

Child processes run the loops of `benchmarks.instructions.loops` under valgrind. Of each loop two lengths are counted,
and their difference is divided by the calls, so that what comes once does not count.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from benchmarks.budgets import BUDGETS
from benchmarks.instructions.loops import CALLS, CONDITIONS
from benchmarks.instructions.prepare import LEFT_EVENTS
from benchmarks.measure import ROOT, run_python
from benchmarks.pytests.startup import OURS, only
from benchmarks.rows import Row

CALLGRIND: Final = ("valgrind", "--tool=callgrind", "--dump-before=getppid")
TOTALS: Final = re.compile(r"(?m)^totals: (\d+)$")
LIMIT: Final = 3_600.0
"""Seconds of a child process at most."""

MARKS: Final = 4
"""Calls of getppid in each loop: around the short length, and around the long one."""

Costs = Mapping[str, float]
"""Instructions of one call of each loop."""


def rows() -> Iterator[Row]:
    """The budgets of calls in the order of their table."""
    if shutil.which("valgrind") is None:
        for name in BUDGETS["instructions"]:
            yield Row(name, None, "valgrind is not installed")
        return
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name).resolve()
        counted = {side: pool.submit(_counted, folder / side, side) for side in ("agent", "ours", "floor")}
        starts = {name: pool.submit(_start, folder / name, kept) for name, kept in (("with", [OURS]), ("without", []))}
        counts = {side: each.result() for side, each in counted.items()}
        started = {side: each.result() for side, each in starts.items()}
    yield from rows_of(beyond(counts))
    more = started["with"] - started["without"]
    note = f"{more / 1e6:.1f} M on {started['without'] / 1e6:,.0f} M"
    yield Row("instructions start", 100 * more / started["without"], note)


def _counted(folder: Path, side: str) -> Costs:
    """Instructions of one call of each loop of a side."""
    folder.mkdir()
    calls: dict[str, int] = json.loads(_callgrind(folder, ["-m", "benchmarks.instructions.loops", side]))
    totals = [_total(folder / f"out.{number + 1}") for number in range(MARKS * len(calls))]
    # Part 1 ends at the first mark, part 2 is the short length, part 3 lies between both, part 4 is the long one.
    return {
        name: (totals[MARKS * place + 3] - totals[MARKS * place + 1]) / number
        for place, (name, number) in enumerate(calls.items())
    }


def _start(folder: Path, kept: list[str]) -> int:
    """Instructions of a whole run of pytest without tests."""
    folder.mkdir()
    (folder / "test_nothing.py").touch()
    (folder / "pytest.ini").write_text("[pytest]\n")
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *only(*kept)]
    run_python(arguments, folder, {}, allowed=(0, 5))  # writes the bytecode
    _callgrind(folder, arguments, folder)
    return _total(folder / "out")


def _callgrind(folder: Path, arguments: list[str], where: Path = ROOT) -> str:
    """The output of a Python process; callgrind writes its parts into the folder."""
    left_out = ("PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    command = [*CALLGRIND, f"--callgrind-out-file={folder / 'out'}", sys.executable, *arguments]
    environment = {**kept, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT
    )
    if done.returncode not in (0, 5):
        raise RuntimeError(
            f"{' '.join(arguments)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2_000:]}"
        )
    return done.stdout


def _total(part: Path) -> int:
    found = TOTALS.search(part.read_text(encoding="utf-8", errors="replace"))
    if found is None:
        raise RuntimeError(f"callgrind wrote no total into {part.name}")
    return int(found[1])


def beyond(costs: Mapping[str, Costs]) -> dict[str, tuple[float, float]]:
    """What is ours and what is the client's own, of each budget."""
    floor, ours = costs["floor"], costs["ours"]
    found = {name: (ours[name] - ours["open"] - floor[name], floor[name]) for name in (*CALLS, "first")}
    found["share cached"] = (ours["share cached"] - floor["share fresh"], floor["share fresh"])
    found["agent"] = (costs["agent"]["agent"] - floor["agent"], floor["agent"])
    found["condition"] = ((ours["conditions"] - ours["no conditions"]) / CONDITIONS, floor["call"])
    found["stages"] = (ours["all stages"] - ours["needed stages"], floor["call"])
    found["leave"] = (ours["leave"] / LEFT_EVENTS, floor["share fresh"] / 1_000)
    if "replay" in floor:
        found["replay"] = (ours["replay"], floor["replay"])
    return found


def rows_of(counts: Mapping[str, tuple[float, float]]) -> Iterator[Row]:
    """All but the start of pytest, with the instructions in the notes."""
    for name, budget in BUDGETS["instructions"].items():
        key = name.removeprefix("instructions ")
        if key == "start":
            continue
        if key not in counts:
            yield Row(name, None, "vcrpy is not installed")
            continue
        mine, own = counts[key]
        note = f"{mine / 1e6:,.3f} M on {own / 1e6:,.2f} M"
        yield Row(name, mine / own * (1 if budget.unit == "x" else 100), note)
