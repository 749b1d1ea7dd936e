"""Asks the released versions of the table, and writes what was seen.

`python -m tests.public_threads.released [WORD ...]`

With words, only the rows whose thread or check has one of them. The version before the fix must fail, and as the table
says; the version after it must pass.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.public_threads.released.running import ask, build_wheel
from tests.public_threads.released.table import Row, Thread, problems, threads, write_seen


def main(words: list[str]) -> int:
    """Run the rows one after another, and keep those that are as the table says."""
    order = threads()
    asked = [row for row in order if not words or any(word in row.thread or word in row.check for word in words)]
    fresh: dict[str, Row] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        for row in asked:
            print(f"{row.thread}: {row.package} {row.red} and {row.green} ...", flush=True)
            old, problems = see(row, wheel)
            for problem in problems:
                print(f"  {problem}", flush=True)
            wrong += bool(problems)
            if not problems:
                print(f"  red: {old}", flush=True)
                fresh[row.check] = {**row.shared, "old": old, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
                write_seen(fresh, order)
    print(f"{len(asked) - wrong} of {len(asked)} threads are as the table says.")
    return 1 if wrong or not asked else 0


def see(row: Thread, wheel: Path) -> tuple[str, list[str]]:
    """The first line of the failure of the red version, and what is not as the table says."""
    with tempfile.TemporaryDirectory() as red, tempfile.TemporaryDirectory() as green:
        before = ask(row, row.red, wheel, Path(red))
        after = ask(row, row.green, wheel, Path(green))
    told = list(problems(row, before.failure, after.failure))
    if after.failure:
        told.append(after.output)
    return before.failure, told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
