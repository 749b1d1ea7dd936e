"""Examine the environment for `converse-harness doctor`: packages, pytest plugins, patched attributes, platform.

Code that loads plugins or patches botocore runs in separate processes, so that it changes nothing in this process.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, metadata, requires, version
from types import FunctionType
from typing import Any, Final, NamedTuple, cast

OWN: Final = "converse-harness"
OWN_PLUGIN: Final = "converse"

_NEIGHBOURS: Final = (
    *("boto3", "aiobotocore", "httpx2", "strands-agents", "langchain-aws", "pydantic-ai-slim", "litellm"),
    *("anthropic", "moto", "vcrpy", "ddtrace", "pytest-xdist", "pytest-asyncio"),
)
"""Packages that we do not need, but whose versions help to explain a problem."""

ENVIRONMENT: Final[Mapping[str, str]] = {
    "AWS_ENDPOINT_URL*": "clients that no fake answers go there",
    "AWS_*": "fakes neither need nor send it",
    "BEDROCK_*": "read by some frameworks",
    "PYTEST_*": "changes which plugins and options every pytest has",
    "*_PROXY": "clients over the loopback need localhost in NO_PROXY",
    "CI": "hypothesis and the harness's own tests look at it",
}
"""Globs of environment variables, in upper or lower case, with the reason why each matters. The first match counts."""

LACKING: Final[Mapping[str, tuple[Callable[[], bool], str]]] = {
    "signal.setitimer": (
        lambda: hasattr(__import__("signal"), "setitimer"),
        "--converse-chaos cannot end code that hangs: give the client a timeout of its own",
    ),
    "os.register_at_fork": (
        lambda: hasattr(os, "register_at_fork"),
        "there is no fork, so the guard of forked children has nothing to do",
    ),
    "TIOCOUTQ": (
        lambda: sys.platform == "linux",
        "Call.outcome of the loopback server may be complete although the client left before the last bytes",
    ),
}
"""Features that some systems lack: for each, whether this system has it, and the consequence if it is missing."""

_TRIED_SYSTEM: Final = "Linux"

_SECONDS: Final = 60.0

_LOAD: Final = """
import sys, time, pytest
from importlib.metadata import entry_points
entry = next(iter(entry_points(group="pytest11", name=sys.argv[1])))
before = time.process_time()
entry.load()
print(chr(10) + str(time.process_time() - before))
"""

_LOOK: Final = """
import time, pytest
from importlib.metadata import entry_points
before = time.process_time()
for entry in entry_points(group="pytest11"):
    try:
        entry.load()
    except BaseException:  # reported where it is loaded alone; a plugin may also exit or skip
        pass
spent = time.process_time() - before
from converse_harness.cli.checkup import look
look(spent)
"""


class Package(NamedTuple):
    """A package, its version (None if it is not installed), and the versions that we require (`>=1.40`), if any."""

    name: str
    version: str | None
    needed: str = ""


class PluginCost(NamedTuple):
    """A plugin that pytest loads by itself: its entry point, its package, its ms of CPU or its error while loading."""

    name: str
    package: str
    ms: float | None
    error: str = ""

    @property
    def off(self) -> str:
        """The option of pytest that disables the plugin."""
        return f"-p no:{self.name}"


class Patched(NamedTuple):
    """Observations in a process with all plugins: the replaced attributes, who changed some of them, and what is
    broken.
    """

    places: int
    changed: Mapping[str, str]
    problem: str
    ms: float


def packages() -> list[Package]:
    """Return the packages that we need, and those of _NEIGHBOURS that are installed."""
    from packaging.requirements import Requirement  # pytest needs this package too

    needed = [Requirement(line) for line in requires(OWN) or () if "extra ==" not in line]
    found = [Package(each.name, _version(each.name), str(each.specifier)) for each in needed]
    return [*found, *(Package(name, its) for name in _NEIGHBOURS if (its := _version(name)))]


def too_old(package: Package) -> bool:
    """Whether a package is older than the required version."""
    from packaging.specifiers import SpecifierSet

    return package.version is not None and not SpecifierSet(package.needed).contains(package.version, prereleases=True)


def tried_pythons() -> list[str]:
    """Return the versions of Python with which this release was tested."""
    named = (line.removeprefix("Programming Language :: Python :: ") for line in _classifiers())
    return [each for each in named if each.startswith("3.")]


def system() -> tuple[str, bool, list[str]]:
    """Return the operating system, whether this release was tested on it, and what does not work on it."""
    lacking = [f"{name}: {words}" for name, (is_there, words) in LACKING.items() if not is_there()]
    return f"{platform.system()} {platform.machine()}", platform.system() == _TRIED_SYSTEM, lacking


def environment() -> dict[str, str]:
    """Return the names of the environment variables that matter, with the reasons, but without their values."""
    globs = ENVIRONMENT.items()
    said = {name: [why for glob, why in globs if fnmatch(name.upper(), glob)] for name in sorted(os.environ)}
    return {name: reasons[0] for name, reasons in said.items() if reasons}


def plugins() -> list[EntryPoint]:
    """Return the plugins that pytest loads by itself, one for each name."""
    return [*{entry.name: entry for entry in sorted(entry_points(group="pytest11"))}.values()]


def costs(entries: list[EntryPoint]) -> list[PluginCost]:
    """Measure in a separate process how long each plugin takes to load after pytest itself; the slowest comes first.

    The time includes compiling, if Python has to compile a plugin. To avoid this, call `patched` first, which loads all
    plugins.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        measured = [*pool.map(_cost, entries)]
    return sorted(measured, key=lambda each: -(each.ms or 0))


def _cost(entry: EntryPoint) -> PluginCost:
    name = "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
    printed, error = _python(_LOAD, entry.name)
    return PluginCost(entry.name, name, None if error else float(printed) * 1000, error)


def patched() -> Patched:
    """In another process, load all plugins, examine the attributes that we replace in botocore, and let a fake answer a
    call.
    """
    printed, error = _python(_LOOK)
    return Patched(0, {}, error, 0.0) if error else Patched(*json.loads(printed))


def look(spent: float) -> None:
    """Print the observations as JSON for `patched`, which reads them. This function runs in the other process."""
    from importlib import import_module

    from converse_harness import TransportError, fake_converse, reply
    from converse_harness.intercept.clients import create_client
    from converse_harness.intercept.patch_points import POINTS

    places = [point for point in POINTS if point.eager and point.replace]
    changed: dict[str, str] = {}
    problem = ""
    try:
        for point in places:
            found: Any = import_module(point.module)
            for step in (*point.path, point.name):
                found = getattr(found, step)
            if other := changed_by(found, point.module):
                changed[str(point)] = other
        with fake_converse(reply.text("ok")):
            create_client().converse(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])
    except TransportError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is what the doctor was asked for)
        problem = f"a fake does not answer a botocore client: {type(error).__name__}: {error}"
    print(f"\n{json.dumps([len(places), changed, problem, spent * 1000])}")  # noqa: T201  (a pipe)


def changed_by(found: Any, module: str) -> str:
    """Return the package whose code replaced an attribute of this module; "" if the code is the module's own or ours.

    >>> import json
    >>> changed_by(json.loads, "json"), changed_by(json.loads, "botocore.session")
    ('', 'json')
    """
    kind = type(cast("object", found))
    if kind is FunctionType:  # a wrapper copies `__module__` of the wrapped function, but not its globals
        name = str(found.__globals__.get("__name__", ""))
    else:
        name = found.__name__ if kind.__name__ == "module" else kind.__module__
    package = name.partition(".")[0]
    return "" if package in (module.partition(".")[0], "builtins", "time", "converse_harness") else package


def _python(program: str, *arguments: str) -> tuple[str, str]:
    """Run a program in a new Python process; return the last line that it prints, and its error."""
    command = [sys.executable, "-c", program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "", f"it takes more than {_SECONDS:.0f} s"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
    return ("", lines[-1]) if done.returncode else (lines[-1], "")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _classifiers() -> list[str]:
    return metadata(OWN).get_all("Classifier") or []
