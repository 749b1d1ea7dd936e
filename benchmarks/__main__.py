"""Measures every budget, and prints each subject when it is done.

The exit status is 1 if a budget could not be measured, or if one that is a gate does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks.in_process import (
    asynchronous,
    calls,
    conversations,
    growth,
    memory,
    parts,
    properties,
    recordings,
    streams,
)
from benchmarks.instructions import count
from benchmarks.pytests import rivals, startup, suite
from benchmarks.rows import HEAD, Row, Subject, measure, table
from benchmarks.servers import load, transport
from tests.examples.tables import Tables, with_tables

SUBJECTS: Final[Mapping[str, Callable[[], Iterable[Row]]]] = {
    "instructions": count.rows,
    "streams": streams.rows,
    "calls": calls.rows,
    "asynchronous": asynchronous.rows,
    "conversations": conversations.rows,
    "memory": memory.rows,
    "growth": growth.rows,
    "suite": suite.rows,
    "rivals": rivals.rows,
    "startup": startup.rows,
    "recordings": recordings.rows,
    "server": transport.rows,
    "load": load.rows,
    "properties": properties.rows,
    "parts": parts.rows,
}


def machine() -> dict[str, str]:
    """What the numbers are of."""
    packages = [f"{name} {version(name)}" for name in ("botocore", "pytest", "hypothesis")]
    load_of_machine = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": ", ".join([f"Python {platform.python_version()}", *packages]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores{load_of_machine}",
    }


def page(path: Path, run: Mapping[str, str], measured: Iterable[Subject]) -> None:
    """Write the tables of the page anew."""
    tables: Tables = {
        "run": lambda: [("measured", "on"), *run.items()],
        **{subject.name: partial(_cells, subject.rows) for subject in measured},
    }
    path.write_text(with_tables(path.read_text(encoding="utf-8"), tables), encoding="utf-8")


def _cells(rows: list[Row]) -> list[tuple[str, ...]]:
    return [HEAD, *(row.cells for row in rows)]


def shown(name: str) -> Subject:
    """Measure a subject, and print it."""
    started = time.perf_counter()
    print(f"measuring {name} ...", end="", file=sys.stderr, flush=True)
    subject = measure(name, SUBJECTS[name])
    print(f" {time.perf_counter() - started:.0f} s", file=sys.stderr)
    print(f"\n{name}\n{table(subject.rows)}", flush=True)
    if subject.failure:
        print(f"{name} failed: {subject.failure}", flush=True)
    return subject


def summary(measured: Iterable[Subject]) -> tuple[str, str]:
    """How many budgets hold; and why the exit status is 1, empty if it is 0."""
    subjects = list(measured)
    limited = [row for subject in subjects for row in subject.rows if row.budget.limit is not None]
    ok = [row for row in limited if row.budget.holds(row.value)]
    reasons = {
        "failed": [subject.name for subject in subjects if subject.failure],
        "not measured": [row.budget.what for row in limited if row.value is None],
        "missed": [row.budget.what for row in limited if row.value is not None and not row.budget.passes(row.value)],
    }
    why = "\n".join(f"{reason}: {'; '.join(whats)}" for reason, whats in reasons.items() if whats)
    return f"{len(ok)} of {len(limited)} budgets hold", why


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=f"one of {', '.join(SUBJECTS)}; all of them if none is given"
    )
    parser.add_argument("--instructions", action="store_true", help="the gate alone: the subject `instructions`")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables of docs/benchmarks.md anew")
    arguments = parser.parse_args()
    chosen: list[str] = [*arguments.subjects, *(["instructions"] if arguments.instructions else [])]
    unknown = sorted(set(chosen) - set(SUBJECTS))
    if unknown:
        parser.error(f"{unknown[0]!r} is no subject; one of {', '.join(SUBJECTS)}")
    if arguments.page and chosen:
        parser.error("a page holds all subjects; leave them out")
    if arguments.page and not arguments.page.is_file():
        parser.error(f"{arguments.page} is no file; the tables of an existing page are written anew")
    run = machine()
    print("; ".join(run.values()))
    measured = [shown(name) for name in dict.fromkeys(chosen or SUBJECTS)]
    held, why = summary(measured)
    print(f"\n{held}")
    if arguments.json:
        results = {**run, "rows": [row.as_json() for subject in measured for row in subject.rows]}
        arguments.json.write_text(json.dumps(results, indent=2), encoding="utf-8")
    if arguments.page:
        page(arguments.page, run, measured)
    if why:
        sys.exit(why)


if __name__ == "__main__":
    main()
