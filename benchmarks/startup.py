"""What every pytest of an environment pays for our entry point, measured in processes of their own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median

from benchmarks.budgets import Row
from benchmarks.measure import Rounds

ROUNDS = 25
MODULES = "import sys, pytest; pytest.main(sys.argv[1:]); print(*sorted(sys.modules))"
IMPORT = "import time, pytest; t = time.process_time(); import converse_harness.plugin; print(time.process_time() - t)"


def rows() -> list[Row]:
    """Start-up and import of the plugin."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "test_nothing.py").touch()
        (folder / "pytest.ini").write_text("[pytest]\n")
        others = sorted({entry.name for entry in entry_points(group="pytest11")} - {"converse"})
        without = [option for other in others for option in ("-p", f"no:{other}")]
        usual = ["-q", "-p", "no:cacheprovider", *without, "test_nothing.py"]
        unused = ["-p", "no:converse", *usual]
        rounds = Rounds(
            ROUNDS,
            used=lambda: _cpu(["-m", "pytest", *usual], folder),
            unused=lambda: _cpu(["-m", "pytest", *unused], folder),
        )
        imports = [1000 * float(_run(["-c", IMPORT], folder)) for _ in range(ROUNDS)]
        added = [set(_run(["-c", MODULES, *arguments], folder).split()) for arguments in (usual, unused)]
    modules = sorted(added[0] - added[1])
    note = f"of {1000 * rounds.median('used'):.0f} ms CPU; modules: {', '.join(modules)}"
    return [
        Row("start-up", 1000 * rounds.over("used", "unused"), note),
        Row("import", median(imports)),
    ]


def _cpu(arguments: list[str], folder: Path) -> float:
    """CPU seconds of a Python process, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(arguments, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _run(arguments: list[str], folder: Path) -> str:
    # Bytecode is cached, as it is for users: some shells of developers say otherwise, and compiling takes longer.
    left_out = ("PYTEST_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):  # 5: pytest found no tests, which is so
        raise RuntimeError(f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout.strip().rpartition("\n")[2]
