"""Run the steps of `.ci/run`, each in a process group of its own; the standard library is enough.

The README's demo runs first and alone, so that its seconds are those of a person; the rest two at a time. The README's
tests use all cores, but they also wait, so another step runs beside them.
"""

import argparse
import os
import re
import shlex
import shutil
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

sys.path.insert(0, ".")  # the root of the project, where `.ci/run` goes

from tests import seconds

LIMIT = 3000.0
"""Seconds for a step; one that takes longer hangs."""

UV = "uv==0.13.9"
"""It installs everything else: none of it is newer than the day in pyproject.toml."""

TIMES = re.compile(r"^TIMES (.+): ([\d.]+) ([\d.]+) ([\d.]+)\n", re.MULTILINE)
"""What a command took: its seconds, and the seconds of CPU of user and system."""
CLOSING_LINE = re.compile(r"^(?:=+ )?((?:\d+ \w+, )*(?:\d+ \w+|no tests ran) in [\d.]+s.*?)(?: =+)?$", re.MULTILINE)
DID_NOT_RUN = re.compile(r"\d+ (?:skipped|xfailed)")
MAY_SKIP = ("floor",)
"""The oldest botocore lacks shapes that some tests are about."""

PARTS = {"coverage": "--half 1", "tests-3.12": "--hypothesis-profile=quick tests/features"}
"""What a step runs of the default tier. The README's command runs all of it on the oldest Python; on 3.12, `core` runs
the tests of the core, without features. For `--half`, see tests/halves.py."""
MEASURED = ("readme", "slow")
"""Together each test of the two tiers, once."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The commands that tests/clients/pinned/browser/ looks for."""
ALONE = ("demo",)
"""The steps beside which no other one runs."""

CLIENTS = {
    f"matrix-{name}": client
    for name, client in tomllib.loads(Path("tests/clients/matrix/clients.toml").read_text(encoding="utf-8")).items()
}
MATRIX = tuple(CLIENTS)
"""The clients of the matrix. What they are known to do wrong is expected to fail there, and fails when it does not."""


@dataclass
class Step:
    """One step: its shell command, and after it ran its output, status and seconds."""

    name: str
    command: str
    lacks: str = ""
    """What it needs and this machine has not: then it is not run."""
    output: str = ""
    status: int = 0
    seconds: float = 0
    times: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The seconds and the seconds of CPU of `all`, and of each command of the README."""
    group: int = field(default=0, repr=False)

    def run(self) -> "Step":
        """Run the command to its end or to the limit."""
        if self.lacks:
            self.output = f"Not tested: it needs {self.lacks}."
            return self
        started = time.monotonic()
        with subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", timed(f"({self.command})", "all")],
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
        took = [
            (name, float(real), float(user) + float(system)) for name, real, user, system in TIMES.findall(self.output)
        ]
        # bash names the whole as the last of its commands. A step that was stopped tells nothing.
        names = [*(name for name, _, _ in took[:-1]), "all"]
        self.times = {name: (real, cpu) for name, (_, real, cpu) in zip(names, took, strict=False)}
        self.output = TIMES.sub("", self.output)
        must_run = self.closing_line if self.name not in MATRIX else re.sub(r"\d+ xfailed", "", self.closing_line)
        if not self.status and self.name not in MAY_SKIP and DID_NOT_RUN.search(must_run):
            self.output += f"\nUnder CI every test must run, but: {self.closing_line}\n"
            self.status = 1
        return self

    def stop(self) -> None:
        """End everything that the step started."""
        if group := self.group:
            with suppress(ProcessLookupError):  # nothing of it is left
                os.killpg(group, signal.SIGTERM)
                time.sleep(2)
                os.killpg(group, signal.SIGKILL)

    @property
    def cpu(self) -> float:
        """Seconds of CPU of all its processes; 0 if it was stopped."""
        return self.times.get("all", (0, 0))[1]

    @property
    def closing_line(self) -> str:
        """What pytest said last."""
        lines = CLOSING_LINE.findall(self.output)
        return lines[-1] if lines else ""

    @property
    def verdict(self) -> str:
        """Whether it holds."""
        if self.lacks:
            return "not tested"
        return f"FAILED ({self.status})" if self.status else "ok"


def timed(command: str, name: str) -> str:
    """The same for bash, which prints what it took in the form of TIMES."""
    return f"TIMEFORMAT={shlex.quote(f'TIMES {name}: %R %U %S')}; time {command}"


def in_fresh_environment(python: str, folder: Path, command: str) -> str:
    """A command of the README, as a person runs it, in a virtual environment; it must stand there as a line."""
    lines = [line.strip().removeprefix("$ ") for line in Path("README.md").read_text(encoding="utf-8").splitlines()]
    if command not in lines:
        return f"echo {shlex.quote(f'README.md has no line that reads: {command}')}; false"
    each = (timed(part, part.partition(" ")[0]) for part in command.split(" && "))
    return f"unset CI; {python} -m venv {folder}; source {folder}/bin/activate; {'; '.join(each)}"


def chromium() -> tuple[str, str]:
    """The command that installs Chromium, or nothing where there is one; and what is missing where it cannot."""
    if any(map(shutil.which, CHROMIUM)):
        return "", ""
    release = Path("/etc/os-release")
    debian = release.exists() and "ID=debian" in release.read_text(encoding="utf-8").splitlines()
    if not (debian and os.geteuid() == 0 and shutil.which("apt-get")):
        return "", "Chromium"
    quiet = "DEBIAN_FRONTEND=noninteractive apt-get -qq"
    return f"{{ {quiet} update && {quiet} install --no-install-recommends chromium; }} >/dev/null;", ""


def steps(arguments: argparse.Namespace, work: Path) -> dict[str, Step]:
    """All steps by name: the README's first, then the longest first."""
    pythons = dict(version_and_path.split("=", 1) for version_and_path in arguments.python)
    oldest, newest = next(iter(pythons)), list(pythons)[-1]
    nox = f"{work}/nox/bin/nox --envdir {work}/sessions --error-on-missing-interpreters --non-interactive"
    node = "" if all(map(shutil.which, ("node", "npm"))) else "Node.js 20 or newer with npm"

    installs, no_chromium = chromium()

    def session(name: str, version: str = newest, *, first: str = "", lacks: str = "") -> Step:
        if version not in pythons:
            return Step(name, "", lacks=f"Python {version}")
        path = f"PATH={Path(pythons[version]).parent}:$PATH"
        part = f" -- --tier default {PARTS[name]}" if name in PARTS else ""
        return Step(name, f"{first} {path} {nox} --session {name}{part}".lstrip(), lacks=lacks)

    def measured(step: Step) -> Step:
        step.command = f"export {seconds.FILE}={work / step.name}.json; {step.command}"
        return step

    found = [
        Step("demo", in_fresh_environment(pythons[oldest], work / "demo", arguments.demo)),
        Step("readme", in_fresh_environment(pythons[oldest], work / "readme", arguments.tests)),
        *map(session, ("coverage", "slow")),
        session("core", "3.12"),
        session("tests-3.12", "3.12"),
        session("typing"),
        session("floor", "3.11"),
        *map(
            session,
            ("aiobotocore", "neighbours", "companions", "snapshots", "rehearsal", "badday", "plugins", "litellm"),
        ),
        *map(session, ("network", "notebook")),
        *(session(name, "3.12", lacks=node if client.get("node") else "") for name, client in CLIENTS.items()),
        session("javascript", lacks=node),
        session("pyodide", lacks=node),
        session("smithy", "3.12"),
        session("browser", first=installs, lacks=no_chromium),
        *map(session, ("ministack", "site", "lint", "dist")),
    ]
    return {step.name: measured(step) if step.name in MEASURED else step for step in found}


def prepare(work: Path) -> None:
    """Install nox, build the wheel that every session takes, and fill uv's cache with what most sessions need.

    uv finds in pyproject.toml how new packages may be.
    """
    os.environ |= {"UV_CACHE_DIR": f"{work}/uv", "UV_PYTHON_DOWNLOADS": "never"}
    os.environ.setdefault("UV_SYSTEM_CERTS", "true")  # the system's certificates count, as they do for pip
    tools = f"{work}/nox/bin"
    install = [f"{tools}/uv", "pip", "install", "--quiet", "--python", f"{tools}/python"]
    for command in (
        [sys.executable, "-m", "venv", f"{work}/nox"],
        [f"{tools}/pip", "install", "--quiet", UV],
        [*install, "nox[uv]", UV],
        [f"{tools}/uv", "build", "--quiet", "--wheel", "--python", f"{tools}/python", "--out-dir", f"{work}/wheel"],
    ):
        subprocess.run(command, check=True)
    (wheel,) = (work / "wheel").glob("*.whl")
    os.environ["CONVERSE_WHEEL"] = str(wheel)
    # Two uv processes that download the same package into an empty cache disturb each other (astral-sh/uv#7434), so one
    # fills the cache before the sessions begin.
    subprocess.run([*install, "--target", f"{work}/filled", f"{wheel}[test]"], check=True)


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
        chosen = [step for name, step in known.items() if name in (arguments.steps or known)]
        print("CI:", ", ".join(step.name for step in chosen), flush=True)
        run_all([step for step in chosen if step.name in ALONE], at_once=1)
        if others := [step for step in chosen if step.name not in ALONE]:
            prepare(work)
            run_all(others, at_once=2)
        took = seconds.read(file for name in MEASURED if (file := work / f"{name}.json").exists())
    if took:
        print(f"\n{seconds.text(took)}")
    print(f"\n{'step':22} {'':12} {'time':>7} {'CPU':>7}")
    for step in chosen:
        print(f"{step.name:22} {step.verdict:12} {step.seconds:5.0f} s {step.cpu:5.0f} s  {step.closing_line}")
    print(f"{'all':22} {'':12} {time.monotonic() - started:5.0f} s {sum(step.cpu for step in chosen):5.0f} s")
    for step in chosen:
        if step.name == "readme":
            print(f"\n{step.seconds:.0f} s: {arguments.tests}\n{step.closing_line or 'pytest did not get to its end'}")
            for name, (while_, cpu) in step.times.items():
                print(f"{name:8} {while_:5.0f} s, {cpu:5.0f} s of CPU")
    for sentence in seconds.over(took):
        print(f"OVER ITS BUDGET: {sentence}")
    if failed := [step.name for step in chosen if step.status]:
        print(f"CI FAILED in: {', '.join(failed)}")
        return 1
    if missing := [step.name for step in chosen if step.lacks]:
        print(f"CI: every step passed but these, which were not tested: {', '.join(missing)}.")
    else:
        print("CI: every step passed.")
    return 0


def run_all(chosen: list[Step], *, at_once: int) -> None:
    """Run steps so many at a time, and print each when it is done."""
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for done in as_completed([pool.submit(step.run) for step in chosen]):
                step = done.result()
                print(f"\n######## {step.name}: {step.verdict}, {step.seconds:.0f} s\n\n{step.output}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for step in chosen:
                step.stop()
            raise


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
