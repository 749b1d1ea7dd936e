"""Runs the check of a thread with one released version of its client, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.public_threads.released.table import HERE, Thread

LIMIT: Final = 300.0
"""Seconds after which a check hangs."""
# The settings of the project are left out: a client may bring a package `tests`, and an old one warns of what is now
# deprecated.
OPTIONS: Final = ("-q", "-c", os.devnull, "--noconftest", "--import-mode=importlib", "-p", "no:cacheprovider")
"""A pytest as any user's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a check ended: the first line of its failure, or nothing where it passed."""

    failure: str
    output: str

    @property
    def passed(self) -> bool:
        """Whether the client did what a user would want."""
        return not self.failure


def ask(thread: Thread, version: str, wheel: Path, folder: Path) -> Outcome:
    """Install this version of the client beside the harness, and run the check."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
    clients = () if thread.node else (f"{thread.package}=={version}", *thread.requires)
    _run("uv", "pip", "install", "--quiet", "--python", str(python), str(wheel), *clients)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTEST_"))}
    environ.pop("PYTHONPATH", None)
    if thread.node:
        packages = (f"{thread.package}@{version}", *thread.requires)
        _run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder / "npm"), *packages)
        environ["CONVERSE_NODE_MODULES"] = str(folder / "npm" / "node_modules")
    return _check(python, thread.check, folder / "report.xml", environ)


def _check(python: Path, check: str, report: Path, environ: Mapping[str, str]) -> Outcome:
    command = [str(python), "-m", "pytest", *OPTIONS, f"--rootdir={HERE}", f"--junitxml={report}", str(HERE / check)]
    try:
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Outcome(f"TimeoutExpired: the check ran for more than {LIMIT:.0f} s", "")
    output = ran.stdout + ran.stderr
    cases = list(ET.parse(report).iter("testcase")) if report.exists() else []
    if len(cases) != 1:
        return Outcome(f"CollectionError: pytest ran {len(cases)} tests, and ended with {ran.returncode}", output)
    wrong = [element for element in cases[0] if element.tag in ("failure", "error", "skipped")]
    said = wrong[0].get("message", "") if wrong else ""
    first = said.splitlines()[0] if said else "Failed: it says nothing"
    return Outcome(first if wrong else "", output)


def _run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stdout}{ran.stderr}")


def build_wheel(folder: Path) -> Path:
    """The wheel of this tree, or the one that CONVERSE_WHEEL names."""
    if named := os.environ.get("CONVERSE_WHEEL"):
        return Path(named)
    _run("uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(HERE.parents[2]))
    (wheel,) = folder.glob("*.whl")
    return wheel
