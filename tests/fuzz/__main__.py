"""Fuzz what reads bytes of others, guided by coverage: event streams, recordings, cassettes, the control API.

`nox -s fuzz -- --help` lists the options. Needs atheris. A finding is an input for which a target raises, takes longer
than 10 seconds or more than 1 GB. The input is kept, and the target ends; the status is then 1.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.fuzz.inside import TARGETS, load

if TYPE_CHECKING:
    from tests.fuzz.target import Target

IN_MEMORY: Final = "/dev/shm"
"""Where files are made, if it is there: a recording is written through to the disk."""
LONGEST: Final = 10
"""Seconds for one input."""
LARGEST: Final = 1024
"""Megabytes for the process."""
SETTINGS: Final = (f"-timeout={LONGEST}", f"-rss_limit_mb={LARGEST}", "-print_final_stats=1", "-detect_leaks=0")

_RUNS: Final = re.compile(r"stat::number_of_executed_units: (\d+)")
_RAISED: Final = "=== Uncaught Python exception: ==="


@dataclass(frozen=True)
class Fuzzed:
    """How a target ended: how many inputs it read, and what it left where one was a finding, with what was said."""

    inputs: int
    finding: Path | None
    said: str


def main() -> int:
    """The status is 1 if there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(TARGETS)} (all)")
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together (600)")
    parser.add_argument("--seed", type=int, default=0, help="of chance; 0 takes another each time (0)")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="where inputs are kept (findings)")
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="the inputs that reach new code, kept for longer")
    parser.add_argument("--input", type=Path, metavar="FILE", help="read this one input; needs no atheris")
    arguments = parser.parse_args()
    targets: list[str] = arguments.targets or [*TARGETS]
    if unknown := set(targets) - {*TARGETS}:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    if arguments.input is not None:
        if len(targets) > 1:
            parser.error("an input is read by one target: name it")
        return read_again(load(targets[0]), arguments.input)
    arguments.findings.mkdir(parents=True, exist_ok=True)
    found = 0
    for name in targets:
        seconds = max(1, arguments.seconds // len(targets))
        with tempfile.TemporaryDirectory(dir=IN_MEMORY if Path(IN_MEMORY).is_dir() else None) as folder:
            corpus = (arguments.corpus or Path(folder)) / name
            fuzzed = fuzz(name, seconds, arguments.seed, corpus, arguments.findings, folder)
        findings = 0 if fuzzed.finding is None else 1
        print(f"{name}: {fuzzed.inputs} inputs in at most {seconds} s, {findings} findings", flush=True)
        if fuzzed.finding is not None:
            found += 1
            print(f"{fuzzed.said}\nAgain: python -m tests.fuzz {name} --input {fuzzed.finding}", flush=True)
    print(f"{found} findings")
    return 1 if found else 0


def read_again(target: "Target", file: Path) -> int:
    """Read one input; the status is 1 if it still is a finding."""
    try:
        target.check(file.read_bytes())
    except BaseException:  # noqa: BLE001 - whatever it raises is what is looked for
        traceback.print_exc(file=sys.stdout)
        return 1
    print("No finding.")
    return 0


def fuzz(name: str, seconds: int, seed: int, corpus: Path, findings: Path, folder: str) -> Fuzzed:
    """Fuzz in a process of its own, which ends with the first finding."""
    corpus.mkdir(parents=True, exist_ok=True)
    target = load(name)
    for number, data in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(data)
    words = corpus.with_name(f"{name}.words")
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words), encoding="ascii")
    before = {*findings.iterdir()}
    settings = [f"-max_total_time={seconds}", f"-seed={seed}", f"-dict={words}", f"-artifact_prefix={findings}/{name}-"]
    command = [sys.executable, "-m", "tests.fuzz.inside", name, *settings, *SETTINGS, str(corpus)]
    # What else is in the environment may be a secret of this process: each text is searched for it.
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    environ = {**kept, "TMPDIR": folder}
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environ)
    runs = _RUNS.search(ran.stderr)
    new = sorted({*findings.iterdir()} - before)
    if ran.returncode and not new:
        raise SystemExit(f"{ran.stderr[-4000:]}\nThe target {name} ended with {ran.returncode} and without an input.")
    said = ran.stdout.partition(_RAISED)[2].strip() or ran.stderr[-2000:]
    return Fuzzed(int(runs[1]) if runs else 0, new[0] if new else None, said)


def _escaped(word: str) -> str:
    """As a dictionary of libFuzzer has it."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}" for byte in word.encode())


if __name__ == "__main__":
    sys.exit(main())
