"""Measures every budget and prints the table; the exit status says only whether everything could be measured."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    cache,
    clients,
    conversations,
    encoding,
    guard,
    loopback,
    properties,
    recorded,
    startup,
    streams,
)
from benchmarks.budgets import BUDGETS, Row, table

SUBJECTS = {
    "startup": startup.rows,
    "encoding": encoding.rows,
    "streams": streams.rows,
    "clients": clients.rows,
    "cache": cache.rows,
    "conversations": conversations.rows,
    "guard": guard.rows,
    "properties": properties.rows,
    "recorded": recorded.rows,
    "loopback": loopback.rows,
}


def machine() -> str:
    """What the numbers are of."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("botocore", "pytest", "hypothesis"))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"Python {platform.python_version()}, {packages}; {platform.machine()}, {os.cpu_count()} cores{load}"


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help=f"one of {', '.join(SUBJECTS)}; all of them if none is given"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.subjects) - set(SUBJECTS))
    if unknown:
        parser.error(f"{unknown[0]!r} is no subject; one of {', '.join(SUBJECTS)}")
    rows: list[Row] = []
    for subject in arguments.subjects or SUBJECTS:
        print(f"measuring {subject} ...", file=sys.stderr, flush=True)
        rows += SUBJECTS[subject]()
    print(machine())
    print(table(rows))
    missing = [row.name for row in rows if row.value is None]
    misses = [row.name for row in rows if row.value is not None and not row.budget.holds(row.value)]
    limits = sum(BUDGETS[row.name].limit is not None for row in rows)
    print(f"{limits - len(misses)} of {limits} budgets hold" + (f"; missed: {', '.join(misses)}" if misses else ""))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine(), "rows": [row.as_json() for row in rows]}, indent=2))
    if missing:
        sys.exit(f"not measured: {', '.join(missing)}")


if __name__ == "__main__":
    main()
