"""What finds which planted mistake: `python -m tests.planted.agents.measure [NAME ...] [--write]`.

Each mistake is planted into the agent, and each way is asked whether it finds it. It takes half a minute for each.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from tests.planted.agents.mistakes import HERE, MISTAKES, SUITE, Mistake, named, source

FOUND: Final = HERE / "found.json"
CHAOS_SECONDS: Final = 40
_PATIENCE: Final = 100
_RULE: Final = re.compile(r"^E?\s*rule\s+(\w+):", re.MULTILINE)
_NOTE: Final = re.compile(r"^(\w+), in \d+ tests?$", re.MULTILINE)
_OUTLINE: Final = re.compile(r"^E?\s*(?:AssertionError: )?outline of ", re.MULTILINE)
_CHAOS: Final = re.compile(r"^(?:HUNG|NOT NOTICED|WRONG ANSWER)\s+\S+\s+reply \d+\s+(\w+):", re.MULTILINE)


class _Run:
    """One run of pytest in a folder with the agent: its output, and the tests that did not pass.

    If the agent hangs, and the run with it, the only name of a test is "hangs".
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        report = folder / "report.xml"
        command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *arguments)
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            self.output, self.failed = "", {"hangs": ""}
            return
        self.output = done.stdout
        cases = ET.parse(report).getroot().iter("testcase")
        self.failed = {
            case.attrib["name"]: "\n".join(part.text or part.attrib.get("message", "") for part in case)
            for case in cases
            if case.find("failure") is not None or case.find("error") is not None
        }


def _obvious(folder: Path) -> Mapping[str, Iterable[str]]:
    """One run of the obvious tests, and of chaos with those that pass."""
    run = _Run(folder, f"--converse-chaos={CHAOS_SECONDS}s", "-v", "test_obvious.py")
    rules = {name: _RULE.findall(text) for name, text in run.failed.items()}
    return {
        "obvious tests": [name for name, found in rules.items() if not found],
        "rules": [rule for found in rules.values() for rule in found],
        "notes": _NOTE.findall(run.output),
        "chaos": _CHAOS.findall(run.output),
    }


def _trouble(folder: Path) -> Mapping[str, Iterable[str]]:
    return {"trouble": _Run(folder, "test_trouble.py").failed}


def _contract(folder: Path) -> Mapping[str, Iterable[str]]:
    failed = _Run(folder, "test_contract.py").failed
    return {"contract": [re.sub(r".*\[(.*)\]", r"\1", name) for name in failed]}


def _machine(folder: Path) -> Mapping[str, Iterable[str]]:
    return {"machine": _Run(folder, "test_machine.py").failed}


def _outline(folder: Path) -> Mapping[str, Iterable[str]]:
    """The obvious tests whose outline differs from that of the agent without a mistake."""
    changed = (folder / "agent.py").read_text(encoding="utf-8")
    (folder / "agent.py").write_text(source(None), encoding="utf-8")
    _Run(folder, "test_outline.py")  # it stores the outlines
    (folder / "stored").touch()
    (folder / "agent.py").write_text(changed, encoding="utf-8")
    failed = _Run(folder, "test_outline.py").failed
    return {"outline": [name for name, text in failed.items() if _OUTLINE.search(text) or name == "hangs"]}


RUNS: Final[Mapping[str, Callable[[Path], Mapping[str, Iterable[str]]]]] = {
    "obvious": _obvious,
    "outline": _outline,
    "trouble": _trouble,
    "contract": _contract,
    "machine": _machine,
}
"""Each run returns, by way, the names of what finds a mistake."""

WAYS: Final = ("obvious tests", "rules", "notes", "outline", "trouble", "chaos", "contract", "machine")
"""The ways to find a mistake."""


def finders(mistake: Mistake | None, runs: Iterable[str] = ()) -> dict[str, list[str]]:
    """By way, the names of what finds a mistake (None: the right agent). `runs` are some of the names in RUNS."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in SUITE.glob("suite_*.py"):
            shutil.copy(file, folder / file.name.replace("suite_", "test_"))
        (folder / "agent.py").write_text(source(mistake), encoding="utf-8")
        found = {
            way: sorted({*names})
            for name, run in RUNS.items()
            if not runs or name in runs
            for way, names in run(folder).items()
        }
    return {way: found[way] for way in WAYS if way in found}


def stored() -> dict[str, dict[str, list[str]]]:
    """What the last measurement found, by mistake and way."""
    found: dict[str, dict[str, list[str]]] = json.loads(FOUND.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Measure the named mistakes, or all and the right agent; print what finds each, and store it with --write."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted.agents.measure", description=__doc__)
    parser.add_argument("names", nargs="*", help="the mistakes (all, and the right agent)")
    parser.add_argument("--write", action="store_true", help=f"store the result in {FOUND.name}")
    parser.add_argument("--run", action="append", default=[], choices=RUNS, help="measure only this, keep the rest")
    arguments = parser.parse_args()
    before = stored() if FOUND.exists() and (arguments.names or arguments.run) else {}
    asked: list[Mistake | None] = [*named(arguments.names)]
    for mistake in asked if arguments.names else [None, *asked]:
        name = "right" if mistake is None else mistake.name
        found = {**before.get(name, {}), **finders(mistake, arguments.run)}
        before[name] = {way: found[way] for way in WAYS}
        print(name, json.dumps({way: found for way, found in before[name].items() if found}), flush=True)
        if arguments.write:
            order = ["right", *(each.name for each in MISTAKES)]
            rows = {each: before[each] for each in order if each in before}
            lines = [f"{json.dumps(each)}: {json.dumps(row)}" for each, row in rows.items()]
            FOUND.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
