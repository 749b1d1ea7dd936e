"""What every pytest of an environment pays for our entry point, and for those of the other packages, in CPU time."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.budgets import Row
from benchmarks.measure import Rounds, cpu_of_pytest, run_python

ROUNDS: Final = 12
SHARE_ROUNDS: Final = 3
OURS: Final = "converse"
MODULES: Final = "import sys, pytest; pytest.main(sys.argv[1:]); print(*sorted(sys.modules))"
IMPORT: Final = """
import time, pytest
started = time.process_time()
import converse_harness.plugin
print(time.process_time() - started)
"""

SHARES: Final = """
import json, time, pytest
from importlib.metadata import distributions
shares = {}
for entry in (entry for package in distributions() for entry in package.entry_points if entry.group == "pytest11"):
    started = time.process_time()
    entry.load()
    shares[entry.name] = time.process_time() - started
print(json.dumps(shares))
"""


def rows() -> list[Row]:
    """Start-up and import of our plugin, and the share of each plugin."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "test_nothing.py").touch()
        (folder / "pytest.ini").write_text("[pytest]\n")
        return [*_own(folder), *_shares(folder)]


def _plugins() -> list[str]:
    return sorted({entry.name for entry in entry_points(group="pytest11")})


def _without(plugins: list[str]) -> list[str]:
    return [option for plugin in plugins for option in ("-p", f"no:{plugin}")]


def _own(folder: Path) -> list[Row]:
    """With no other plugin."""
    used = _without([plugin for plugin in _plugins() if plugin != OURS])
    unused = _without(_plugins())
    measured = Rounds(
        ROUNDS, {"used": lambda: cpu_of_pytest(used, folder, {}), "unused": lambda: cpu_of_pytest(unused, folder, {})}
    )
    imports = [1000 * float(run_python(["-c", IMPORT], folder, {}, allowed=(0,))) for _ in range(SHARE_ROUNDS)]
    loaded = [
        set(run_python(["-c", MODULES, "-q", *options], folder, {}, allowed=(0, 5)).rpartition("\n")[2].split())
        for options in (used, unused)
    ]
    modules = len(loaded[0] - loaded[1])
    return [
        Row("start-up", 1000 * measured.over("used", "unused"), f"{modules} modules"),
        Row("import", median(imports)),
    ]


def _shares(folder: Path) -> list[Row]:
    """Imports of the plugins as pytest does them; what two of them need is the share of the first."""
    measured = Rounds(
        SHARE_ROUNDS,
        {
            "all": partial(cpu_of_pytest, [], folder, {}),
            "none": partial(cpu_of_pytest, _without(_plugins()), folder, {}),
        },
    )
    runs = [run_python(["-c", SHARES], folder, {}, allowed=(0,)) for _ in range(SHARE_ROUNDS)]
    shares = {
        str(name): median(1000 * float(json.loads(run.rpartition("\n")[2])[name]) for run in runs)
        for name in json.loads(runs[0].rpartition("\n")[2])
    }
    heaviest = sorted(shares, key=lambda name: -shares[name])
    note = ", ".join(f"{name} {shares[name]:.0f}" for name in heaviest)
    return [
        Row("start all", 1000 * measured.of("all"), f"their imports in ms: {note}"),
        Row("start none", 1000 * measured.of("none")),
    ]
