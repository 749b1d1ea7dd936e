"""What a run of pytest pays for the plugins of a fresh user's environment, in CPU time of whole runs.

What a plugin takes is a run with it less a run without any plugin: an import is only a part of it. Plugins that need
the same modules take less together than their sum.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.measure import Rounds, cpu_of_pytest, run_python
from benchmarks.rows import Row

ROUNDS: Final = 12
PLUGIN_ROUNDS: Final = 6
IMPORT_ROUNDS: Final = 3
OURS: Final = "converse"
INSTALLED: Final = ("anyio", "faker", "respx", "hypothesispytest", OURS)
"""The plugins of the packages that `pip install converse-harness` brings."""

LEFT_OUT: Final = ("anyio", "faker", "respx")
"""What the addopts in docs/fixtures.md leave out."""

MODULES: Final = "import sys, pytest; pytest.main(sys.argv[1:]); print(*sorted(sys.modules))"
IMPORT: Final = """
import time, pytest
started = time.process_time()
import converse_harness.plugin
print(time.process_time() - started)
"""


def rows() -> Iterator[Row]:
    """Start-up and import of our plugin, and each plugin of a fresh environment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_nothing.py").touch()
        yield from _own(folder)
        (folder / "test_cases.py").write_text("def test_it(converse_each_case):\n    pass\n")
        yield _collect(folder)
        (folder / "test_cases.py").write_text("def test_it():\n    pass\n")
        yield from _each(folder)


def only(*kept: str) -> list[str]:
    """The options of pytest that leave out all plugins of this environment but these."""
    plugins = sorted({entry.name for entry in entry_points(group="pytest11")} - set(kept))
    return [option for plugin in plugins for option in ("-p", f"no:{plugin}")]


def _own(folder: Path) -> Iterator[Row]:
    """With no other plugin and no tests."""
    measured = Rounds(
        ROUNDS,
        {
            "used": lambda: cpu_of_pytest(only(OURS), folder, {}),
            "unused": lambda: cpu_of_pytest(only(), folder, {}),
        },
    )
    imports = [1000 * float(run_python(["-c", IMPORT], folder, {}, allowed=(0,))) for _ in range(IMPORT_ROUNDS)]
    loaded = [
        set(run_python(["-c", MODULES, "-q", *options], folder, {}, allowed=(0, 5)).rpartition("\n")[2].split())
        for options in (only(OURS), only())
    ]
    modules = len(loaded[0] - loaded[1])
    yield Row("start-up", 1000 * measured.over("used", "unused"), f"{modules} modules")
    yield Row("import", median(imports))


def _collect(folder: Path) -> Row:
    """Beyond a run without plugins and tests."""
    collecting = ["--collect-only", "test_cases.py", *only(OURS)]
    measured = Rounds(
        ROUNDS // 2,
        {
            "cases": lambda: cpu_of_pytest(collecting, folder, {}),
            "unused": lambda: cpu_of_pytest([*only(), "test_nothing.py"], folder, {}),
        },
    )
    return Row("collect", measured.over("cases", "unused"), measured.against("cases", "unused"))


def _each(folder: Path) -> Iterator[Row]:
    kept = {
        "none": (),
        **{name: (name,) for name in INSTALLED},
        "all": INSTALLED,
        "documented": tuple(name for name in INSTALLED if name not in LEFT_OUT),
    }
    measured = Rounds(
        PLUGIN_ROUNDS, {name: partial(cpu_of_pytest, only(*names), folder, {}) for name, names in kept.items()}
    )
    loads = ", ".join(sorted(entry.name for entry in entry_points(group="hypothesis")))
    notes = {
        "hypothesispytest": f"at the end of each run it imports hypothesis, which loads: {loads}",
        "documented": " ".join(f"-p no:{name}" for name in LEFT_OUT),
    }
    yield Row("start none", 1000 * measured.of("none"))
    for name in kept:
        if name != "none":
            yield Row(f"start {name}", 1000 * measured.over(name, "none"), notes.get(name, ""))
