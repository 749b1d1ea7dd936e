"""Draw mutants of the product by a seed, and judge each by the tests that cover its line.

`nox -s mutants -- --help` lists the options.
"""

import argparse
import json
import os
import queue
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Final

from coverage import Coverage, CoverageData

from tests.mutants import covering
from tests.mutants.drawing import Mutant, draw
from tests.mutants.judging import KILLED, Covering, Judged, Workplace, judge
from tests.tiers import TIERS

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = {
    "converse_harness": "harness/converse_harness",
    "converse_strategies": "strategies/converse_strategies",
}
OTHER_SUITES: Final = (
    "harness/converse_harness/intercept/aioboto.py",
    "harness/converse_harness/intercept/forward_boto.py",
)
"""What only the pinned suites run."""

SETTINGS: Final = f"""
[run]
parallel = true
context = ${{{covering.CONTEXT}-}}
concurrency = thread,multiprocessing
source_pkgs = {",".join(PACKAGES)}
disable_warnings = module-not-imported,no-data-collected,module-not-measured,already-imported
"""


def main() -> int:
    """The status is 1 if a mutant of `--again` lives that was killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=120, help="how many mutants (120)")
    parser.add_argument("--seed", type=int, default=0, help="which mutants (0)")
    parser.add_argument("--package", action="append", metavar="NAME", help="a package or a part of it, by dots; many")
    parser.add_argument("--tier", choices=TIERS, default="slow", help="the tests up to this tier judge (slow)")
    parser.add_argument("--coverage", type=Path, metavar="FOLDER", help="kept there, and taken from there if it is")
    parser.add_argument("--verdicts", type=Path, default=Path("mutants.json"), help="where they go (mutants.json)")
    parser.add_argument("--again", type=Path, metavar="VERDICTS", help="judge the mutants of this file, not new ones")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="so many at a time")
    arguments = parser.parse_args()
    earlier = {each.mutant: each for each in read(arguments.again)} if arguments.again else {}
    mutants = list(earlier) or draw(
        arguments.count,
        seed=arguments.seed,
        files=[file for name in arguments.package or PACKAGES for file in files(name)],
        root=ROOT,
    )
    print(f"{len(mutants)} mutants", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        workplaces = [Workplace(ROOT, Path(folder, str(number))) for number in range(arguments.workers)]
        kept = arguments.coverage or Path(folder, "coverage")
        if not kept.exists():
            measure(workplaces[0], kept.resolve(), arguments.workers)
        covered = read_coverage(kept, tier=arguments.tier)
        verdicts: list[Judged] = []
        for number, judged in enumerate(judge_all(mutants, covered, workplaces), start=1):
            verdicts.append(judged)
            where = f"{judged.mutant.file}:{judged.mutant.line}"
            print(f"{number:4} {judged.verdict:9} {judged.seconds:5.0f} s  {where}  {judged.by}", flush=True)
            write(arguments.verdicts, verdicts)
    print(", ".join(f"{many} {verdict}" for verdict, many in Counter(each.verdict for each in verdicts).items()))
    lost = [each for each in verdicts if each.verdict not in KILLED and _killed(earlier.get(each.mutant))]
    for each in lost:
        mutant = each.mutant
        print(f"was killed: {mutant.file}:{mutant.line} by {earlier[mutant].by}\n- {mutant.before}\n+ {mutant.after}")
    return 1 if lost else 0


def files(package: str) -> Iterator[Path]:
    """The modules of a package, or the module itself, by its dotted name."""
    top, _, rest = package.partition(".")
    if top not in PACKAGES:
        raise SystemExit(f"There is no package {package!r}; there are {', '.join(PACKAGES)} and their parts.")
    path = ROOT / PACKAGES[top] / rest.replace(".", "/")
    found = [*path.rglob("*.py"), *([module] if (module := path.with_suffix(".py")).is_file() else [])]
    if not found:
        raise SystemExit(f"There is no package {package!r} below {ROOT}.")
    return (file for file in found if str(file.relative_to(ROOT)) not in OTHER_SUITES)


def measure(workplace: Workplace, folder: Path, workers: int) -> None:
    """Run all tests but those of the nightly tier, and write who ran which line and what it cost."""
    folder.mkdir(parents=True)
    settings = folder / "settings"
    settings.write_text(SETTINGS, encoding="utf-8")
    variables = {
        "COVERAGE_PROCESS_START": str(settings),
        "COVERAGE_FILE": str(folder / "data"),
        covering.COSTS: str(folder),
        "CI": "true",
    }
    ran = workplace.pytest("-q", "-n", str(workers), "--tier", "slow", variables=variables)
    (folder / "output").write_text(ran.stdout, encoding="utf-8")
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{ran.stdout}\npytest ended with {ran.returncode} without any mutant.")
    measured = Coverage(data_file=str(folder / "data"), config_file=str(settings))
    measured.combine()
    measured.save()
    (folder / "tree").write_text(str(workplace.tree), encoding="utf-8")


def read_coverage(folder: Path, *, tier: str) -> Covering:
    """What was measured, of the tests up to a tier; a test that failed without any mutant judges nothing."""
    data = CoverageData(str(folder / "data"))
    data.read()
    tiers = list(TIERS)
    left_out = set(tiers[tiers.index(tier) + 1 :])
    costs: dict[str, float] = {}
    for file in folder.glob("costs-*"):
        for line in file.read_text(encoding="utf-8").splitlines():
            test, seconds, tiers, outcome = json.loads(line)
            if outcome == "failed":
                print(f"fails without any mutant: {test}", flush=True)
            elif not left_out.intersection(tiers):
                costs[test] = seconds
    return Covering(data, Path((folder / "tree").read_text(encoding="utf-8")), costs)


def judge_all(mutants: list[Mutant], covered: Covering, workplaces: list[Workplace]) -> Iterator[Judged]:
    """The verdicts as they come, the cheapest first, as many at a time as there are workplaces."""
    in_order = sorted(mutants, key=lambda mutant: sum(covered.tests(mutant).values()))
    idle: queue.SimpleQueue[Workplace] = queue.SimpleQueue()
    for workplace in workplaces:
        idle.put(workplace)

    def in_turn(mutant: Mutant) -> Judged:
        workplace = idle.get()
        try:
            return judge(mutant, covered, workplace)
        finally:
            idle.put(workplace)

    with ThreadPoolExecutor(len(workplaces)) as pool:
        for future in as_completed([pool.submit(in_turn, mutant) for mutant in in_order]):
            yield future.result()


def read(path: Path) -> list[Judged]:
    """The verdicts of a file."""
    records = json.loads(path.read_text(encoding="utf-8"))
    return [Judged(Mutant(**record.pop("mutant")), **record) for record in records]


def write(path: Path, verdicts: list[Judged]) -> None:
    """Write them as JSON, in the order of the code."""
    ordered = sorted(verdicts, key=lambda each: (each.mutant.file, each.mutant.line))
    path.write_text(json.dumps([asdict(each) for each in ordered], indent=1) + "\n", encoding="utf-8")


def _killed(judged: Judged | None) -> bool:
    return judged is not None and judged.verdict in KILLED


if __name__ == "__main__":
    sys.exit(main())
