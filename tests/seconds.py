"""The seconds of CPU that the tests take, by tier, folder and file; a folder has a budget.

`.ci/run` prints the table. With `CONVERSE_SECONDS=FILE` a run of pytest writes what its tests took; then

    python -m tests.seconds FILE ...            prints the table of these runs
    python -m tests.seconds FILE ... --write    writes it to CONTRIBUTING.md as well

The standard library is enough.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

FILE: Final = "CONVERSE_SECONDS"
"""Names the file to which a run of pytest writes what its tests took."""

BUDGETS: Final[Mapping[str, int]] = {
    "tests/bedrock": 6,
    "tests/cases": 3,
    "tests/cli": 15,
    "tests/clients": 16,
    "tests/contract": 33,
    "tests/drift": 2,
    "tests/endpoint": 13,
    "tests/examples": 22,
    "tests/faults": 3,
    "tests/features": 44,
    "tests/fuzz": 2,
    "tests/house": 7,
    "tests/intercept": 28,
    "tests/json_schema": 3,
    "tests/oracle": 18,
    "tests/package": 4,
    "tests/planted": 12,
    "tests/plugin": 53,
    "tests/public_threads": 4,
    "tests/recordings": 35,
    "tests/reply": 2,
    "tests/samples": 2,
    "tests/secrets": 20,
    "tests/server": 20,
    "tests/strategies": 47,
    "tests/stream": 4,
    "tests/suite": 2,
    "tests/types": 1,
}
"""Seconds of CPU that the default tier of a folder may take, as `.ci/run` measures them. A folder without a row has no
such tests."""

_MOST_FILES: Final = 15
_PAGE: Final = "CONTRIBUTING.md"
_BEGIN: Final = "<!-- python -m tests.seconds -->\n"
_END: Final = "<!-- end of the seconds -->\n"

Seconds = Mapping[str, Mapping[str, float]]
"""Maps a tier to the files of its tests, and these to their seconds."""


def read(files: Iterable[Path]) -> Seconds:
    """What several runs of pytest wrote; two runs of the same tier count together."""
    found: dict[str, dict[str, float]] = {}
    for file in files:
        for tier, seconds in json.loads(file.read_text(encoding="utf-8")).items():
            if seconds:
                found[tier] = summed([*found.get(tier, {}).items(), *seconds.items()])
    return found


def summed(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The sum for each name."""
    sums = defaultdict[str, float](float)
    for name, seconds in pairs:
        sums[name] += seconds
    return dict(sums)


def by_folder(files: Mapping[str, float]) -> Mapping[str, float]:
    """The sums of the folders below tests/."""
    return summed(("/".join(file.split("/")[:2]), seconds) for file, seconds in files.items())


def over(seconds: Seconds) -> list[str]:
    """A sentence for each folder whose default tier took more than its budget."""
    folders = by_folder(seconds.get("default", {}))
    return [
        f"{folder} took {took:.0f} s of CPU; its budget is {BUDGETS.get(folder, 0)} s"
        for folder, took in sorted(folders.items())
        if took > BUDGETS.get(folder, 0)
    ]


def rows(seconds: Seconds) -> list[list[str]]:
    """A row for each folder, the sum, and the files that take most: what, its budget, and the seconds of each tier."""
    folders = {tier: by_folder(files) for tier, files in seconds.items()}
    names = sorted({*BUDGETS, *(folder for found in folders.values() for folder in found)})
    table = [["seconds of CPU", "budget", *seconds]]
    table += [
        [name, str(BUDGETS.get(name, "")), *(_told(found.get(name, 0)) for found in folders.values())] for name in names
    ]
    table.append(["all", str(sum(BUDGETS.values())), *(_told(sum(found.values())) for found in folders.values())])
    sums = summed(pair for files in seconds.values() for pair in files.items())
    for file in sorted(sums, key=sums.__getitem__, reverse=True)[:_MOST_FILES]:
        table.append([file, "", *(_told(files.get(file, 0)) for files in seconds.values())])
    return table


def _told(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 1 else f"{seconds:.1f}" if seconds else ""


def text(seconds: Seconds) -> str:
    """The rows for a terminal."""
    return "\n".join(f"{name:52}" + "".join(f"{each:>9}" for each in others) for name, *others in rows(seconds))


def markdown(seconds: Seconds) -> str:
    """The rows as a table of a page."""
    head, *others = rows(seconds)
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *([f"`{name}`", *more] for name, *more in others)]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def main() -> None:
    """Print the table, and write it to the page if that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.seconds", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="what runs of pytest wrote")
    parser.add_argument("--write", action="store_true", help=f"write the table to {_PAGE}")
    arguments = parser.parse_args()
    seconds = read(arguments.files)
    print(text(seconds), *over(seconds), sep="\n")
    if arguments.write:
        page = Path(_PAGE)
        before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
        _, _, after = rest.partition(_END)
        page.write_text(f"{before}{_BEGIN}\n{markdown(seconds)}\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
