"""Run the steps of `.ci/run`, two at a time, each in a process group of its own; the standard library is enough."""

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

LIMIT = 2700.0
"""Seconds for a step; one that takes longer hangs."""

CLOSING_LINE = re.compile(r"^(?:=+ )?((?:\d+ \w+, )*(?:\d+ \w+|no tests ran) in [\d.]+s.*?)(?: =+)?$", re.MULTILINE)
DID_NOT_RUN = re.compile(r"\d+ (?:skipped|deselected|xfailed)")
MAY_SKIP = ("floor",)
"""The oldest botocore lacks shapes that some tests are about."""

MATRIX = tuple(
    f"matrix-{name}" for name in tomllib.loads(Path("tests/clients/matrix/clients.toml").read_text(encoding="utf-8"))
)
"""The clients of the matrix. What they are known to do wrong is expected to fail there, and fails when it does not."""


@dataclass
class Step:
    """One step: its shell command, and after it ran its output, status and seconds."""

    name: str
    command: str
    output: str = ""
    status: int = 0
    seconds: float = 0
    group: int = field(default=0, repr=False)

    def run(self) -> "Step":
        """Run the command to its end or to the limit."""
        started = time.monotonic()
        with subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", self.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            self.group = process.pid
            try:
                output, _ = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                self.stop()
                output, _ = process.communicate()
                output += f"\nStopped: it took longer than {LIMIT:.0f} s.\n".encode()
        self.output, self.status, self.group = output.decode(errors="replace"), process.returncode, 0
        self.seconds = time.monotonic() - started
        must_run = self.closing_line if self.name not in MATRIX else re.sub(r"\d+ xfailed", "", self.closing_line)
        if not self.status and self.name not in MAY_SKIP and DID_NOT_RUN.search(must_run):
            self.output += f"\nUnder CI every test must run, but: {self.closing_line}\n"
            self.status = 1
        return self

    def stop(self) -> None:
        """End everything that the step started."""
        if group := self.group:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)
                time.sleep(2)
                os.killpg(group, signal.SIGKILL)

    @property
    def closing_line(self) -> str:
        """What pytest said last."""
        lines = CLOSING_LINE.findall(self.output)
        return lines[-1] if lines else ""

    @property
    def verdict(self) -> str:
        """Whether it holds."""
        return f"FAILED ({self.status})" if self.status else "ok"


def in_fresh_environment(python: str, folder: Path, command: str) -> str:
    """A command of the README, in a virtual environment of its own; it must stand there as a line."""
    lines = [line.strip().removeprefix("$ ") for line in Path("README.md").read_text(encoding="utf-8").splitlines()]
    if command not in lines:
        return f"echo {shlex.quote(f'README.md has no line that reads: {command}')}; false"
    return f"{python} -m venv {folder}; source {folder}/bin/activate; {command}"


def steps(arguments: argparse.Namespace, work: Path) -> dict[str, Step]:
    """All steps by name, the longest first."""
    pythons = dict(version_and_path.split("=", 1) for version_and_path in arguments.python)
    oldest = next(iter(pythons.values()))
    nox = f"{work}/nox/bin/nox --envdir {work}/sessions --error-on-missing-interpreters --non-interactive --session"
    commands = {
        "tests": in_fresh_environment(oldest, work / "tests", arguments.tests),
        **{name: f"{nox} {name}" for name in ("coverage", "typing", "lint")},
        # The oldest Python has run them as the README says, the newest with coverage.
        **{
            f"tests-{version}": f"PATH={Path(pythons[version]).parent}:$PATH {nox} tests-{version}"
            for version in list(pythons)[1:-1]
        },
        **{name: f"{nox} {name}" for name in ("floor", "aiobotocore", "javascript", "litellm", "ministack", "dist")},
        **{
            name: f"PATH={Path(pythons['3.12']).parent}:$PATH {nox} {name}"
            if "3.12" in pythons
            else "echo 'It needs Python 3.12, and that is not found.'; false"
            for name in ("smithy", *MATRIX)
        },
        "demo": in_fresh_environment(oldest, work / "demo", arguments.demo),
    }
    return {name: Step(name, command) for name, command in commands.items()}


def main() -> int:
    """Run what was asked for; the exit status is 1 if a step failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", required=True, help="VERSION=PATH, the oldest first")
    parser.add_argument("--tests", required=True, help="the README's test command")
    parser.add_argument("--demo", required=True, help="the README's demo command")
    parser.add_argument("steps", nargs="*", help="all if none is named")
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        work = Path(folder)
        known = steps(arguments, work)
        if unknown := set(arguments.steps) - known.keys():
            parser.error(f"no step {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        chosen = [known[name] for name in arguments.steps or known]
        print("CI:", ", ".join(step.name for step in chosen), flush=True)
        subprocess.run([sys.executable, "-m", "venv", f"{work}/nox"], check=True)
        subprocess.run([f"{work}/nox/bin/pip", "install", "--quiet", "nox"], check=True)
        with ThreadPoolExecutor(2) as pool:
            try:
                for done in as_completed([pool.submit(step.run) for step in chosen]):
                    step = done.result()
                    print(f"\n######## {step.name}: {step.verdict}, {step.seconds:.0f} s\n\n{step.output}", flush=True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for step in chosen:
                    step.stop()
                raise
    print(f"\n######## {time.monotonic() - started:.0f} s in all\n")
    for step in chosen:
        print(f"{step.name:22} {step.verdict:12} {step.seconds:5.0f} s  {step.closing_line}")
    if "tests" in known and known["tests"] in chosen:
        print(f"\n{arguments.tests}\n{known['tests'].closing_line or 'pytest did not get to its end'}")
    if failed := [step.name for step in chosen if step.status]:
        print(f"CI FAILED in: {', '.join(failed)}")
        return 1
    print("CI: every step passed.")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
