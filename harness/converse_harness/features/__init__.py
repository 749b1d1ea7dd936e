"""Features that can be taken away: each is a folder, its tests, and a row of FEATURES.

A feature imports the core. The core imports no feature: it reads this table, and imports what a row names when it is
needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Feature(NamedTuple):
    """One feature.

    `lines` is its budget of lines of code. `commands` maps its commands to their texts in `--help`; the module of a
    command is `command`. `plugin` is a class of hooks of pytest in the module `hooks`. `options` maps the options of
    the command line (without `--converse-`) to the arguments of `addoption`. If the first option is given, the
    class is called with pytest's config, and the object is registered as a plugin of pytest.
    """

    sentence: str
    lines: int
    commands: Mapping[str, str] = _NONE
    plugin: str = ""
    options: Mapping[str, Mapping[str, Any]] = _NONE
    names: Mapping[str, str] = _NONE
    """Maps each public name that the feature adds to the core, such as "reply.improvised", to its module and function.
    """


FEATURES: Final[Mapping[str, Feature]] = {
    "rehearsal": Feature(
        "Report which requests another model would refuse.",
        lines=800,
        commands={"rehearse": "report what Bedrock would refuse of recorded requests if they went to another model"},
        plugin="RehearsalHooks",
        options={
            "as": {
                "action": "append",
                "default": [],
                "metavar": "[PATTERN=]MODEL",
                "help": "report which requests of the tests Bedrock would refuse if they went to MODEL: those whose "
                "model id matches PATTERN, or the id asked most often; MODEL `all`: the newest model of each line (can "
                "be given again)",
            },
            "as-strict": {
                "action": "store_true",
                "help": "fail the run if --converse-as finds a request that is refused",
            },
        },
    ),
    "chaos": Feature(
        "Run tests that passed again, with a fault in one of their replies.",
        lines=800,
        plugin="ChaosHooks",
        options={
            "chaos": {
                "nargs": "?",
                "const": "60s",
                "metavar": "60s|PATH|FAULT,...",
                "help": "after the last test, run tests that passed again with a fault in one of their replies: for 60 "
                "seconds, or for a number of seconds (20s), for tests below a path, with named faults "
                "(no_message_stop,reset), or all of these with commas between them",
            },
            "chaos-strict": {
                "action": "store_true",
                "help": "fail the run if --converse-chaos finds code that hangs, a fault not noticed, or a wrong "
                "answer",
            },
        },
    ),
    "report": Feature(
        "Show calls as HTML: the report of a run, recordings, the live page, views in a notebook.",
        lines=2200,
        plugin="ReportHooks",
        options={
            "report": {
                "metavar": "FILE",
                "help": "write a page of HTML to FILE: the calls of each test that failed, each request beside the one "
                "before it, each event with its time, and the number of calls of the other tests",
            },
        },
    ),
    "improvise": Feature(
        "Answer from the request, without a script.",
        lines=300,
        names={"reply.improvised": "improvised.improvised", "Fake.improvise": "improvised.improvise"},
    ),
    "as_python": Feature(
        "Write a recording as the source of a test.",
        lines=900,
        commands={"new-test": "write a recording as the source of a test"},
    ),
    "cassettes": Feature(
        "Make recordings of vcrpy's cassettes.",
        lines=1000,
        commands={"import": "make recordings of vcrpy's cassettes"},
    ),
    "unused": Feature(
        "Find and remove recordings that no test uses.",
        lines=500,
        commands={"prune": "remove recordings and exchanges that no test uses"},
    ),
    "doctor": Feature(
        "Print what may keep a fake from working here.",
        lines=450,
        commands={"doctor": "print versions, what pytest loads and what it takes, and whether a fake answers here"},
    ),
    "vitest": Feature(
        "Write the files by which tests in TypeScript use the fake.",
        lines=150,
        commands={"init": "write the files by which tests in another language use the fake"},
    ),
}
"""Maps the folder of each feature to its row."""


def names_of(owner: str) -> list[str]:
    """Return the names that features add to a public object of the core: "reply", "Fake", "Call" or "Reply"."""
    dotted = (each.partition(".") for row in FEATURES.values() for each in row.names)
    return [name for of, _, name in dotted if of == owner]


def owned_by_feature(owner: str, name: str) -> Any:
    """Import and return what a feature adds to `owner` under this name; None if no feature does."""
    for feature, row in FEATURES.items():
        if (place := row.names.get(f"{owner}.{name}")) is not None:
            module, _, function = place.partition(".")
            return getattr(module_of(feature, module), function)
    return None


def module_of(feature: str, name: str) -> Any:
    """Import and return a module of a feature."""
    return import_module(f"{__name__}.{feature}.{name}")
