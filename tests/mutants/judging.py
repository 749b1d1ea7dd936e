"""A mutant is judged by the tests that cover its line, in a copy of the tree with a Python of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Final, Literal

import pytest
from coverage import CoverageData

from tests.mutants import covering
from tests.mutants.drawing import Mutant

Verdict = Literal["killed", "hangs", "survives", "no test"]
KILLED: Final[tuple[Verdict, ...]] = ("killed", "hangs")

EVERY_TIER: Final = ("--tier", "nightly")
"""Which tests may judge was decided before."""
PLUGIN: Final = ("-p", "tests.mutants.covering", "-p", "no:cacheprovider")


class Workplace:
    """A copy of the tree, and a Python that imports the product from there and all else from this one."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.tree = folder / "tree"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
        for name in listed.split("\0")[:-1]:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, self.tree / name)
        if (shared := root.parent / "shared").is_dir():
            (folder / "shared").symlink_to(shared)
        venv.create(folder / "python", symlinks=True)
        self.python = folder / "python/bin/python"
        here = sysconfig.get_path("purelib")
        there = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "python"), "platbase": ""}))
        paths = [str(self.tree / "harness"), str(self.tree / "strategies"), f"import site; site.addsitedir({here!r})"]
        (there / "a_tree.pth").write_text("\n".join(paths), encoding="utf-8")
        for script in Path(sys.executable).parent.iterdir():
            if script.is_file() and not script.is_symlink():
                first, _, rest = script.read_bytes().partition(b"\n")
                if first.startswith(b"#!") and b"python" in first:
                    copied = self.python.parent / script.name
                    copied.write_bytes(f"#!{self.python}\n".encode() + rest)
                    copied.chmod(0o755)

    def pytest(
        self, *arguments: str, variables: Mapping[str, str], limit: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run pytest there, in a process group of its own, which is ended with it."""
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        process = subprocess.Popen(
            [self.python, "-m", "pytest", *PLUGIN, *arguments],
            cwd=self.tree,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(self.tree), "PYTHONDONTWRITEBYTECODE": "1", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
        finally:
            with suppress(ProcessLookupError):  # nobody is left of the group
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return subprocess.CompletedProcess(process.args, process.returncode, output)


@dataclass(frozen=True)
class Covering:
    """Which tests run which lines, and what they cost."""

    data: CoverageData
    """With a context for each test, the files named by the path of a workplace."""
    tree: Path
    costs: Mapping[str, float]
    """CPU seconds of the tests that may judge."""
    patience: float
    """CPU seconds of all tests that judge one mutant; the first judges in any case."""

    def tests(self, mutant: Mutant) -> dict[str, float]:
        """The tests that run the line, those first that run little else; all of the file's, if it runs also while
        modules are imported.
        """
        lines = self.data.contexts_by_lineno(str(self.tree / mutant.file))
        found = set(lines.get(mutant.line, ()))
        if "" in found or not found:
            found = {test for tests in lines.values() for test in tests}
        in_order = sorted(found & self.costs.keys(), key=lambda test: (self._runs[test], test))
        spent = accumulate(self.costs[test] for test in in_order)
        near = takewhile(lambda each: each[1] <= self.patience, zip(in_order, spent, strict=True))
        return {test: self.costs[test] for test in [test for test, _ in near] or in_order[:1]}

    @cached_property
    def _runs(self) -> Mapping[str, int]:
        """How many lines each test runs."""
        runs = Counter[str]()
        for file in self.data.measured_files():
            for tests in self.data.contexts_by_lineno(file).values():
                runs.update(tests)
        return runs


@dataclass(frozen=True)
class Judged:
    """A mutant, and what became of it."""

    mutant: Mutant
    verdict: Verdict
    by: str
    """The test that failed first."""
    tests: int
    seconds: float


def judge(mutant: Mutant, covered: Covering, workplace: Workplace) -> Judged:
    """Run the tests of its line until one fails."""
    started = time.monotonic()
    tests = covered.tests(mutant)
    if not tests:
        return Judged(mutant, "no test", "", 0, 0)
    file = workplace.tree / mutant.file
    source = file.read_text(encoding="utf-8")
    chosen, failed = workplace.tree.parent / "chosen", workplace.tree.parent / "failed"
    chosen.write_text(json.dumps(tests), encoding="utf-8")
    failed.unlink(missing_ok=True)
    variables = {covering.CHOSEN: str(chosen), covering.FAILED: str(failed), "CI": "true"}
    file.write_text(mutant.apply(source), encoding="utf-8")
    verdict: Verdict
    try:
        files = sorted({test.partition("::")[0] for test in tests})
        ran = workplace.pytest(
            "-x", "-q", *EVERY_TIER, *files, limit=120 + 5 * sum(tests.values()), variables=variables
        )
        verdict = "survives" if ran.returncode == 0 else "killed"
        if ran.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
            raise SystemExit(
                f"{ran.stdout}\nThe tests that were chosen are not there any more: measure the coverage anew."
            )
        by = failed.read_text(encoding="utf-8") if failed.exists() else ""
        if ran.returncode and not by:
            by = f"pytest ends with {ran.returncode}"
            if "Timeout (" in ran.stdout:
                verdict = "hangs"
    except subprocess.TimeoutExpired:
        verdict, by = "hangs", ""
    finally:
        file.write_text(source, encoding="utf-8")
    return Judged(mutant, verdict, by, len(tests), round(time.monotonic() - started, 1))
