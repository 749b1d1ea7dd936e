"""Measures every budget and prints the table; the exit status says only whether every budget could be measured."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks import (
    calls,
    conversations,
    encoding,
    growth,
    guard,
    memory,
    properties,
    recordings,
    server,
    startup,
    streams,
    suite,
)
from benchmarks.budgets import HEAD, Row, check_rows, table
from tests.examples.tables import Tables, with_tables

SUBJECTS: Final[Mapping[str, Callable[[], list[Row]]]] = {
    "streams": streams.rows,
    "encoding": encoding.rows,
    "calls": calls.rows,
    "suite": suite.rows,
    "startup": startup.rows,
    "recordings": recordings.rows,
    "memory": memory.rows,
    "growth": growth.rows,
    "server": server.rows,
    "properties": properties.rows,
    "conversations": conversations.rows,
    "guard": guard.rows,
}


def machine() -> dict[str, str]:
    """What the numbers are of."""
    packages = [f"{name} {version(name)}" for name in ("botocore", "pytest", "hypothesis")]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": ", ".join([f"Python {platform.python_version()}", *packages]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores{load}",
    }


def page(path: Path, run: Mapping[str, str], measured: Mapping[str, list[Row]]) -> None:
    """Write the tables of the page anew."""
    tables: Tables = {
        "run": lambda: [("measured", "on"), *run.items()],
        **{subject: partial(_cells, rows) for subject, rows in measured.items()},
    }
    path.write_text(with_tables(path.read_text(encoding="utf-8"), tables), encoding="utf-8")


def _cells(rows: list[Row]) -> list[tuple[str, ...]]:
    return [HEAD, *(row.cells for row in rows)]


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=f"one of {', '.join(SUBJECTS)}; all of them if none is given"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables of docs/benchmarks.md anew")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.subjects) - set(SUBJECTS))
    if unknown:
        parser.error(f"{unknown[0]!r} is no subject; one of {', '.join(SUBJECTS)}")
    if arguments.page and arguments.subjects:
        parser.error("a page holds all subjects; leave them out")
    if arguments.page and not arguments.page.is_file():
        parser.error(f"{arguments.page} is no file; the tables of an existing page are written anew")
    run = machine()
    measured: dict[str, list[Row]] = {}
    for subject in arguments.subjects or SUBJECTS:
        started = time.perf_counter()
        print(f"measuring {subject} ...", end="", file=sys.stderr, flush=True)
        measured[subject] = check_rows(subject, SUBJECTS[subject]())
        print(f" {time.perf_counter() - started:.0f} s", file=sys.stderr)
    rows = [row for each in measured.values() for row in each]
    limited = [row for row in rows if row.budget.limit is not None]
    misses = [row.budget.what for row in limited if row.value is not None and not row.budget.holds(row.value)]
    missing = [row.budget.what for row in limited if row.value is None]
    print("; ".join(run.values()))
    print(table(rows))
    print(f"{len(limited) - len(misses) - len(missing)} of {len(limited)} budgets hold")
    if arguments.json:
        results = {**run, "rows": [row.as_json() for row in rows]}
        arguments.json.write_text(json.dumps(results, indent=2), encoding="utf-8")
    if arguments.page:
        page(arguments.page, run, measured)
    if missing:
        sys.exit(f"not measured: {'; '.join(missing)}")


if __name__ == "__main__":
    main()
