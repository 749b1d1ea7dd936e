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

from converse_harness.cli.terminal import plain

OWN: Final = "converse-harness"
OWN_PLUGIN: Final = "converse"

_NEIGHBOURS: Final = (
    *("boto3", "aiobotocore", "httpx2", "strands-agents", "langchain-aws", "pydantic-ai-slim", "litellm"),
    *("anthropic", "moto", "vcrpy", "ddtrace", "pytest-xdist", "pytest-asyncio"),
)
"""Packages that the harness does not need. Their versions help to explain a problem."""

ENVIRONMENT: Final[Mapping[str, str]] = {
    "AWS_ENDPOINT_URL*": "clients that no fake answers go there",
    "AWS_*": "fakes neither need nor send it",
    "BEDROCK_*": "read by some frameworks",
    "PYTEST_*": "changes which plugins and options every pytest has",
    "*_PROXY": "clients over the loopback need localhost in NO_PROXY",
    "CI": "hypothesis and the harness's own tests look at it",
}
"""Maps globs of names of environment variables to the reason why such a variable matters.

Upper and lower case are equal. The first glob that matches a name applies.
"""

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
"""Maps features that some systems lack to a function and a text.

The function returns whether this system has the feature. The text is the consequence if it is missing.
"""

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
    except BaseException:  # `costs` reports it; a plugin may also call sys.exit or pytest.skip
        pass
spent = time.process_time() - before
from converse_harness.features.doctor.checkup import look
look(spent)
"""


class Package(NamedTuple):
    """A package that is examined. `version` is its installed version; None if it is not installed.

    `needed` is the condition on its version that the harness requires, such as `>=1.40`; "" for a package that the
    harness does not need.
    """

    name: str
    version: str | None
    needed: str = ""

    @property
    def problem(self) -> str:
        """The reason why the version is wrong, with the remedy; "" if the version is as required."""
        from packaging.specifiers import SpecifierSet

        if self.version is None:
            wrong = f"is not installed, and {OWN} needs it"
        elif not SpecifierSet(self.needed).contains(self.version, prereleases=True):
            wrong = f"{self.version} is not a version that {OWN} works with"
        else:
            return ""
        return f"{self.name} {wrong}: pip install '{self.name}{self.needed}'"


class PluginCost(NamedTuple):
    """A plugin that pytest loads by itself: the name of its entry point, its package with the version, and its cost.

    `ms` is the CPU time of loading in milliseconds, None if loading fails with the message `error`.
    """

    name: str
    package: str
    ms: float | None
    error: str = ""

    @property
    def off(self) -> str:
        """The option of pytest that disables the plugin."""
        return f"-p no:{self.name}"

    @property
    def problem(self) -> str:
        """The reason why pytest cannot load the plugin, with the remedy; "" if pytest can load it."""
        return self.error and (
            f"pytest cannot load the plugin {self.name} of {self.package}: {plain(self.error)}. Every pytest fails "
            f"here: mend or remove that package, or leave the plugin out with {self.off}"
        )


class Patched(NamedTuple):
    """The observations of `look` in a process that has loaded all plugins of pytest.

    `places` is the number of botocore's attributes that fakes replace. `changed` maps each of these attributes that
    another package has replaced to the name of this package. `problem` is the reason why a fake cannot answer; "" if it
    can. `ms` is the CPU time for loading all plugins, in milliseconds.
    """

    places: int
    changed: Mapping[str, str]
    problem: str
    ms: float


def packages() -> list[Package]:
    """Return the packages that the harness needs, and those of _NEIGHBOURS that are installed."""
    from packaging.requirements import Requirement  # always installed, because pytest needs it

    needed = [Requirement(line) for line in requires(OWN) or () if "extra ==" not in line]
    found = [Package(each.name, _version(each.name), str(each.specifier)) for each in needed]
    return [*found, *(Package(name, its) for name in _NEIGHBOURS if (its := _version(name)))]


def tried_pythons() -> list[str]:
    """Return the Python versions with which this release was tested, as text."""
    classifiers = metadata(OWN).get_all("Classifier") or []
    named = (line.removeprefix("Programming Language :: Python :: ") for line in classifiers)
    return [each for each in named if each.startswith("3.")]


def system() -> tuple[str, bool, list[str]]:
    """Return the operating system, whether this release was tested on it, and the features that it lacks."""
    lacking = [f"{name}: {words}" for name, (is_there, words) in LACKING.items() if not is_there()]
    return f"{platform.system()} {platform.machine()}", platform.system() == "Linux", lacking


def environment() -> dict[str, str]:
    """Return the environment variables that match ENVIRONMENT: names with reasons, sorted by name, without values."""
    globs = ENVIRONMENT.items()
    found = {name: [why for glob, why in globs if fnmatch(name.upper(), glob)] for name in sorted(os.environ)}
    return {name: reasons[0] for name, reasons in found.items() if reasons}


def plugins() -> list[EntryPoint]:
    """Return the plugins that pytest loads by itself, one for each name."""
    return [*{entry.name: entry for entry in sorted(entry_points(group="pytest11"))}.values()]


def costs(entries: list[EntryPoint]) -> list[PluginCost]:
    """Measure the CPU time of loading each plugin in a process of its own, and return the slowest plugin first.

    The time for loading pytest itself is not included. The first time after installation, Python also compiles the
    plugin; therefore call `patched` first, which loads all plugins.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        measured = [*pool.map(_cost, entries)]
    return sorted(measured, key=lambda each: -(each.ms or 0))


def _cost(entry: EntryPoint) -> PluginCost:
    name = "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
    printed, error = _python(_LOAD, entry.name)
    return PluginCost(entry.name, name, None if error else float(printed) * 1000, error)


def patched() -> Patched:
    """Load all plugins of pytest in another process, then run `look` there, and return its observations."""
    printed, error = _python(_LOOK)
    return Patched(0, {}, error, 0.0) if error else Patched(*json.loads(printed))


def look(spent: float) -> None:
    """Examine the attributes that fakes replace, let a fake answer a call, and print the observations as JSON.

    `patched` calls this function in another process, and reads its output as the members of a Patched. `spent` is the
    CPU time in seconds that the plugins took to load.
    """
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
    except Exception as error:  # noqa: BLE001  (the command reports every error)
        problem = f"a fake does not answer a botocore client: {type(error).__name__}: {error}"
    print(f"\n{json.dumps([len(places), changed, problem, spent * 1000])}")  # noqa: T201  (`patched` reads it)


def changed_by(found: Any, module: str) -> str:
    """Return the package that has set an attribute of a module to `found`; "" if no other package has done so.

    >>> import json
    >>> changed_by(json.loads, "json"), changed_by(json.loads, "botocore.session")
    ('', 'json')
    """
    kind = type(cast("object", found))
    if kind is FunctionType:  # its `__module__` may be copied from the wrapped function
        name = str(found.__globals__.get("__name__", ""))
    else:
        name = found.__name__ if kind.__name__ == "module" else kind.__module__
    package = name.partition(".")[0]
    return "" if package in (module.partition(".")[0], "builtins", "time", "converse_harness") else package


def _python(program: str, *arguments: str) -> tuple[str, str]:
    """Run a program in a new Python process.

    Return the last line of stdout and "", or "" and the reason of a failure.
    """
    command = [sys.executable, "-X", "utf8", "-c", program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "", f"it takes more than {_SECONDS:.0f} s"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
    return ("", lines[-1]) if done.returncode else (lines[-1], "")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
