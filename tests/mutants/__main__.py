"""Draw mutants of the product by a seed, judge each by the tests that cover its line, and print the score.

The default tier judges first, and what lives for no reason that is listed is judged by the slow tests once more.

`nox -s mutants -- --help` lists the options.
"""

import argparse
import json
import os
import queue
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from coverage import Coverage, CoverageData

from tests.mutants import covering
from tests.mutants.drawing import Mutant, draw
from tests.mutants.judging import KILLED, Covering, Judged, Workplace, judge
from tests.mutants.survivors import SURVIVORS
from tests.mutants.topics import LEAST, SCORED, TOPICS
from tests.tiers import TIERS

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = {
    "converse_harness": "harness/converse_harness",
    "converse_strategies": "strategies/converse_strategies",
}
OTHER_SUITES: Final = (
    "harness/converse_harness/intercept/boto/aio.py",
    "harness/converse_harness/intercept/boto/forward.py",
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
    """The status is 1 if too few are killed, or one lives that is not listed, or one of `--again` that was killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=SCORED, help=f"how many mutants ({SCORED})")
    parser.add_argument("--seed", type=int, default=0, help="which mutants (0)")
    parser.add_argument("--topic", action="append", choices=TOPICS, help="of what; can be given again (all)")
    parser.add_argument(
        "--package", action="append", metavar="NAME", help="in place of topics: a package or a part of it"
    )
    parser.add_argument(
        "--all", action="store_const", dest="package", const=[*PACKAGES], help="in place of topics: every package"
    )
    parser.add_argument("--tier", choices=TIERS, default="default", help="the tests up to this tier judge (default)")
    parser.add_argument("--patience", type=float, default=60, help="seconds of tests that judge a mutant (60)")
    parser.add_argument("--coverage", type=Path, metavar="FOLDER", help="kept there, and taken from there if it is")
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="only these are measured, and judge")
    parser.add_argument("--verdicts", type=Path, default=Path("mutants.json"), help="where they go (mutants.json)")
    parser.add_argument("--resume", action="store_true", help="of the verdicts that are there keep the killed ones")
    parser.add_argument("--again", type=Path, metavar="VERDICTS", help="judge the mutants of this file, not new ones")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="so many at a time")
    arguments = parser.parse_args()
    earlier = {each.mutant: each for each in read(arguments.again)} if arguments.again else {}
    named = arguments.package or [module for topic in arguments.topic or TOPICS for module in TOPICS[topic]]
    modules = [file for name in named for file in files(name)]
    mutants = list(earlier) or draw(arguments.count, seed=arguments.seed, files=modules, root=ROOT)
    known = read(arguments.verdicts) if arguments.resume and arguments.verdicts.exists() else []
    killed = {each.mutant.change: each for each in known if _killed(each)}
    verdicts = {each: replace(killed[each.change], mutant=each) for each in mutants if each.change in killed}
    left = [mutant for mutant in mutants if mutant.change not in killed]
    print(f"{len(mutants)} mutants, {len(left)} to be judged", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        workplaces = [Workplace(ROOT, Path(folder, str(number))) for number in range(arguments.workers)]
        kept = arguments.coverage or Path(folder, "coverage")

        def judge_by(tier: str, left: list[Mutant], kept: Path, tests: list[str]) -> None:
            if not kept.exists():
                measure(workplaces[0], kept.resolve(), arguments.workers, tier, tests)
            covered = read_coverage(kept, tier=tier, patience=arguments.patience)
            for number, judged in enumerate(judge_all(left, covered, workplaces), start=1):
                if _killed(judged) or judged.mutant not in verdicts:
                    verdicts[judged.mutant] = judged
                where = f"{judged.mutant.file}:{judged.mutant.line}"
                print(f"{number:4} {judged.verdict:9} {judged.seconds:5.0f} s  {where}  {judged.by}", flush=True)
                write(arguments.verdicts, verdicts.values())

        judge_by(arguments.tier, left, kept, arguments.tests)
        living = [each.mutant for each in verdicts.values() if not _killed(each) and not _reason(each)]
        if living and arguments.tier == "default" and not arguments.tests:
            print(f"{len(living)} live, for no reason that is listed: the slow tests judge them as well", flush=True)
            judge_by("slow", living, kept.with_name(f"{kept.name}-slow"), ["-m", "slow"])
    lost = [each for each in verdicts.values() if not _killed(each) and _killed(earlier.get(each.mutant))]
    for each in lost:
        print(f"was killed by {earlier[each.mutant].by}:\n{_shown(each.mutant)}")
    return 1 if lost or not well_killed([*verdicts.values()]) else 0


def well_killed(verdicts: list[Judged]) -> bool:
    """Whether enough are killed and every other has its reason; prints which have not, and the score."""
    living = [each for each in verdicts if each.verdict not in KILLED]
    for judged in living:
        print(f"{judged.verdict}, {_reason(judged) or 'FOR NO REASON THAT IS LISTED'}:\n{_shown(judged.mutant)}")
    listed = sum(bool(_reason(each)) for each in living)
    killed = len(verdicts) - len(living)
    score = 100 * killed / len(verdicts) if verdicts else 100
    counted = ", ".join(f"{many} {verdict}" for verdict, many in Counter(each.verdict for each in verdicts).items())
    print(f"{score:.1f} of 100 killed ({counted}); at least {LEAST} must be.")
    print(f"{listed} of the {len(living)} that live have a reason in tests/mutants/survivors.py.")
    return score >= LEAST and listed == len(living)


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


def measure(workplace: Workplace, folder: Path, workers: int, tier: str, tests: list[str]) -> None:
    """Run these tests, or all, up to a tier, and write who ran which line and what it cost."""
    folder.mkdir(parents=True)
    settings = folder / "settings"
    settings.write_text(SETTINGS, encoding="utf-8")
    variables = {
        "COVERAGE_PROCESS_START": str(settings),
        "COVERAGE_FILE": str(folder / "data"),
        covering.COSTS: str(folder),
        "CI": "true",
    }
    ran = workplace.pytest("-q", "-n", str(workers), "--tier", tier, *tests, variables=variables)
    (folder / "output").write_text(ran.stdout, encoding="utf-8")
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{ran.stdout}\npytest ended with {ran.returncode} without any mutant.")
    measured = Coverage(data_file=str(folder / "data"), config_file=str(settings))
    measured.combine()
    measured.save()
    (folder / "tree").write_text(str(workplace.tree), encoding="utf-8")


def read_coverage(folder: Path, *, tier: str, patience: float) -> Covering:
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
    return Covering(data, Path((folder / "tree").read_text(encoding="utf-8")), costs, patience)


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


def write(path: Path, verdicts: Iterable[Judged]) -> None:
    """Write them as JSON, in the order of the code."""
    ordered = sorted(verdicts, key=lambda each: (each.mutant.file, each.mutant.line))
    path.write_text(json.dumps([asdict(each) for each in ordered], indent=1) + "\n", encoding="utf-8")


def _shown(mutant: Mutant) -> str:
    return f"  {mutant.file}:{mutant.line}\n  - {mutant.before.strip()}\n  + {mutant.after.strip()}"


def _reason(judged: Judged) -> str:
    return SURVIVORS.get((judged.mutant.before.strip(), judged.mutant.after.strip()), "")


def _killed(judged: Judged | None) -> bool:
    return judged is not None and judged.verdict in KILLED


if __name__ == "__main__":
    sys.exit(main())
