"""Features that can be taken away: each is a folder, its tests, and a row of FEATURES.

A feature imports the core. The core imports no feature: it reads this table, and imports what a row names when it is
needed. This module imports nothing of the project.

Every start of pytest imports this module. It does without `from __future__ import annotations`, because a NamedTuple
would compile each annotation.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial, reduce
from importlib import import_module
from sys import modules
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

_T = TypeVar("_T")
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class CommandOption(NamedTuple):
    """An option that a feature adds to a command of the core: the arguments of `add_argument`, and a function.

    The command calls the function, named as "module.function", if the option is given: `show` and `record` with the
    parsed arguments, to do something else and return the exit code; `serve` without arguments, to answer what is not
    scripted, and the function returns a responder and its description.
    """

    arguments: Mapping[str, Any]
    function: str


class Feature(NamedTuple):
    """One feature.

    `lines` is its budget of lines of code. `commands` maps its commands to their texts in `--help`; the module of a
    command is `command`. `plugin` is a class of hooks of pytest in the module `hooks`. `options` maps the options of
    the command line (without `--converse-`) to the arguments of `addoption`. If one of the options is given, or one of
    the `settings` does not have its default, the class is called with pytest's config, and the object is registered as
    a plugin of pytest.
    """

    sentence: str
    lines: int
    commands: Mapping[str, str] = _NONE
    plugin: str = ""
    options: Mapping[str, Mapping[str, Any]] = _NONE
    settings: Mapping[str, tuple[str, Mapping[str, str]]] = _NONE
    """Maps each ini setting (without `converse_`) to its subject, and to its choices with their meanings.

    The first choice is the default.
    """
    line_settings: Mapping[str, str] = _NONE
    """Maps each ini setting (without `converse_`) that is a list of lines to its subject. The default is no line."""
    marked: Mapping[str, str] = _NONE
    """Maps each argument of the marker `converse` that the feature adds to a function, named as "module.function".

    The function is called with a test that has the argument, before the fixtures of the test are set up.
    """
    on_import: Mapping[str, str] = _NONE
    """Maps the name of another library's module to a function, named as "module.function".

    In a run of pytest, the function is called with pytest's config and the module, when the module is imported or if it
    is imported already.
    """
    command_options: Mapping[str, Mapping[str, CommandOption]] = _NONE
    """Maps a command of the core to the options, such as "--html", that the feature adds to it."""
    names: Mapping[str, str] = _NONE
    """Maps each name that the feature adds to the core, such as "reply.improvised", to its module and function.

    Names of a class are those of its methods. "server.pages" is a class: a server's answers for browsers.
    """
    comparison: str = ""
    """A function, named as "module.function", that explains a failed comparison of two values.

    It is called with the operator and the two values of a failed `assert`, and returns lines; none if the values are
    not the feature's. It is not called if the feature is not imported, because no value can be the feature's then.
    """
    routes: Mapping[str, str] = _NONE
    """Maps each route that the feature adds to the control API to a function, named as "module.function".

    A route is "GET {fake}/name": the function is called with the fake, and returns the value to answer with.
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
        lines=1300,
        plugin="ChaosHooks",
        options={
            "chaos": {
                "nargs": "?",
                "const": "60s",
                "metavar": "60s|PATH|FAULT,...",
                "help": "after the last test, run tests that passed again with a fault in one of their replies: for 60 "
                "seconds, or for a number of seconds (20s), for tests below a path, with named faults "
                "(context_overflow,reset), or all of these with commas between them",
            },
            "chaos-strict": {
                "action": "store_true",
                "help": "fail the run if --converse-chaos finds code that hangs, a fault not noticed, a wrong answer, "
                "or a request that Bedrock refuses after the fault",
            },
        },
    ),
    "report": Feature(
        "Show calls as HTML: the report of a run, recordings, the live page, views in a notebook.",
        lines=2300,
        plugin="ReportHooks",
        options={
            "report": {
                "metavar": "FILE",
                "help": "write a page of HTML to FILE: the calls of each test that failed, each request beside the one "
                "before it, each event with its time, and the number of calls of the other tests",
            },
        },
        command_options={
            "show": {
                "--html": CommandOption(
                    {
                        "metavar": "OUT",
                        "nargs": "?",
                        "const": "-",
                        "help": "a page of HTML with all of the recording: write it to the file OUT, or print it if no "
                        "file is named",
                    },
                    "command.write_page",
                ),
            },
        },
        names={
            "Fake._repr_html_": "notebook.fake_html",
            "Call._repr_html_": "notebook.call_html",
            "Reply._repr_html_": "notebook.reply_html",
            "server.pages": "live.LivePage",
        },
    ),
    "improvise": Feature(
        "Answer from the request, without a script.",
        lines=300,
        command_options={
            "serve": {
                "--improvise": CommandOption(
                    {
                        "action": "store_true",
                        "help": "answer every call, or those for which FILE has no reply, by itself: use each offered "
                        "tool once, with input that its schema allows, then send a text",
                    },
                    "improvised.improvised_answers",
                ),
            },
        },
        names={"reply.improvised": "improvised.improvised", "Scripting.improvise": "improvised.Improvises.improvise"},
    ),
    "outline": Feature(
        "Tell what a run asked and what its script answered, as data to compare with a snapshot.",
        lines=1100,
        command_options={
            "show": {
                "--outline": CommandOption(
                    {
                        "action": "store_true",
                        "help": "what was new in each request, and what was answered, without what differs by chance",
                    },
                    "command.print_outline",
                ),
            },
        },
        names={
            "Scripting.outline": "outline.Outlines.outline",
            "Call.outline": "outline.outline_of_call",
            "Seen.outline": "outline.outline_of_seen",
        },
        comparison="comparison.explained",
        routes={"GET {fake}/outline": "route.outline_of_fake"},
    ),
    "embeddings": Feature(
        "Answer embedding models with vectors made from the texts.",
        lines=300,
        names={"reply.embedding": "embedding.embedding"},
    ),
    "as_python": Feature(
        "Write a recording as the source of a test.",
        lines=900,
        commands={"new-test": "write a recording as the source of a test"},
    ),
    "cassettes": Feature(
        "Make recordings of vcrpy's cassettes, and of answers without a request.",
        lines=1300,
        commands={"import": "make recordings of vcrpy's cassettes, and of answers without a request"},
    ),
    "unused": Feature(
        "Find and remove recordings that no test uses.",
        lines=500,
        commands={"prune": "remove recordings and exchanges that no test uses"},
        plugin="UsedHooks",
        options={
            "used": {
                "metavar": "FILE",
                "help": "write to FILE which recordings the tests use, for `converse-harness prune --used FILE`",
            },
        },
    ),
    "boto_data": Feature(
        "Read botocore's data files once in a run of pytest.",
        lines=350,
        plugin="BotoDataHooks",
        settings={
            "boto_data": (
                "how often botocore reads its data files",
                {
                    "session": "once in a run of pytest; each session of botocore or boto3 gets copies",
                    "off": "in each session of botocore or boto3; the summary states what that costs",
                },
            ),
        },
        on_import={"botocore.loaders": "loading.botocore_imported"},
    ),
    "doctor": Feature(
        "Print what may keep a fake from working here.",
        lines=450,
        commands={"doctor": "print versions, what pytest loads and what it takes, and whether a fake answers here"},
    ),
    "drift": Feature(
        "Ask recorded requests again, and report how the service has drifted.",
        lines=750,
        plugin="DriftHooks",
        options={
            "drift": {
                "action": "store_true",
                "help": "after the last test, ask the requests of the recordings that were played again, with the "
                "keys of this environment, and list the answers whose form or usage has changed",
            },
        },
        command_options={
            "record": {
                "--again": CommandOption(
                    {
                        "metavar": "PATH",
                        "nargs": "+",
                        "help": "with --diff: ask the requests of recordings, or of all *.jsonl files in a folder, "
                        "again, with the keys of this environment",
                    },
                    "command.ask_again",
                ),
                "--diff": CommandOption(
                    {
                        "action": "store_true",
                        "help": "compare the new answers with the recorded ones, and write nothing: 0 if neither a "
                        "form nor the keys of a usage have changed, 1 if one has, 2 if that is not known, for wrong "
                        "usage and without keys",
                    },
                    "command.ask_again",
                ),
            },
        },
    ),
    "budgets": Feature(
        "Limit what the agent of a test may ask, and compare what tests cost.",
        lines=1000,
        commands={"costs": "compare what the tests of two runs cost"},
        plugin="BudgetHooks",
        options={
            "costs": {
                "metavar": "FILE",
                "help": "write to FILE what each test costs, such as calls and tools, for `converse-harness costs`",
            },
        },
        line_settings={"budget": "what the agent of each test may ask, a line each: KEY = NUMBER, such as calls = 20"},
        marked={"budget": "hooks.limit_test"},
        names={"Scripting.budget": "budget.Budgets.budget"},
    ),
    "shrink": Feature(
        "Make the conversation small with which a test fails.",
        lines=1350,
        commands={"shrink": "answer a failing test from a recording, and make the conversation small"},
        plugin="ShrinkHooks",
        options={
            "shrink": {
                "nargs": "?",
                "const": "60",
                "metavar": "SECONDS",
                "help": "after the last test, run tests that failed again, and print the smallest script with which "
                "they fail in the same way: for 60 seconds, or for a number of seconds",
            },
            "shrink-from": {
                "metavar": "FILE",
                "help": "answer the tests from the replies of FILE, a recording or a file of Python with one "
                "converse.script(...), in place of their own script, and shrink those that fail",
            },
        },
    ),
    "vitest": Feature(
        "Write the files by which tests in TypeScript use the fake.",
        lines=150,
        commands={"init": "write the files by which tests in another language use the fake"},
    ),
}
"""Maps the folder of each feature to its row."""


def names_of(owner: str) -> list[str]:
    """Return the names that features add to a module or class of the core, such as "reply" or "Fake"."""
    return [name for name, _, _ in _added_to(owner)]


def owned_by_feature(owner: str, name: str) -> Any:
    """Import and return what a feature adds to `owner` under this name; None if no feature does."""
    found = (_named_in(feature, place) for each, feature, place in _added_to(owner) if each == name)
    return next(found, None)


def with_methods_of_features(owner: type[_T]) -> type[_T]:
    """Add the methods that features declare for a class of the core. Each is imported when it is used first."""
    for name, feature, place in _added_to(owner.__name__):
        setattr(owner, name, _LazyMethod(owner, name, feature, place))
    return owner


def options_of(command: str) -> dict[str, Mapping[str, Any]]:
    """Return the options that features add to a command of the core, each with the arguments of `add_argument`."""
    rows = (row.command_options.get(command, _NONE) for row in FEATURES.values())
    return {name: option.arguments for each in rows for name, option in each.items()}


def functions_given(command: str, given: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield each option of a feature that the parsed arguments `given` of a command contain, with its function."""
    for feature, row in FEATURES.items():
        for name, option in row.command_options.get(command, _NONE).items():
            if getattr(given, name.lstrip("-").replace("-", "_")) not in (None, False):
                yield name, _named_in(feature, option.function)


def functions_marked(given: Container[str]) -> Iterator[Callable[[Any], object]]:
    """Import and yield the functions of features whose arguments of the marker `converse` are given."""
    for feature, row in FEATURES.items():
        for name, place in row.marked.items():
            if name in given:
                yield _named_in(feature, place)


def functions_on_import(module: str) -> list[Callable[[Any, Any], object]]:
    """Import and return the functions that features want to be called when a run imports this module."""
    rows = FEATURES.items()
    return [_named_in(feature, row.on_import[module]) for feature, row in rows if module in row.on_import]


def explanation_of(op: str, left: object, right: object) -> list[str]:
    """Return the lines by which the first feature that knows two compared values explains why they differ."""
    for name, row in FEATURES.items():
        if row.comparison and f"{__name__}.{name}" in modules:
            found = _named_in(name, row.comparison)(op, left, right)
            if found:
                return [*found]
    return []


def routes_of_fake() -> Iterator[tuple[str, str, str, Callable[[Any], object]]]:
    """Yield the routes that features add to the control API: method, path below a fake, name, and the function."""
    for feature, row in FEATURES.items():
        for route, place in row.routes.items():
            method, _, path = route.partition(" {fake}")
            yield method, path, place.rpartition(".")[2], partial(_called, feature, place)


def _called(feature: str, place: str, given: object) -> object:
    return _named_in(feature, place)(given)


def module_of(feature: str, name: str) -> Any:
    """Import and return a module of a feature."""
    return import_module(f"{__name__}.{feature}.{name}")


class _LazyMethod:
    """A descriptor that puts the method in its own place when the method is used first."""

    def __init__(self, owner: type, name: str, feature: str, place: str) -> None:
        self._owner, self._name, self._feature, self._place = owner, name, feature, place

    def __get__(self, instance: object, owner: type) -> Any:
        method = _named_in(self._feature, self._place)
        setattr(self._owner, self._name, method)
        return method.__get__(instance, owner)


def _added_to(owner: str) -> Iterator[tuple[str, str, str]]:
    """Yield each name that features add to `owner`, with the feature, and with its place in the feature."""
    for feature, row in FEATURES.items():
        for dotted, place in row.names.items():
            of, _, name = dotted.partition(".")
            if of == owner:
                yield name, feature, place


def _named_in(feature: str, place: str) -> Any:
    module, *names = place.split(".")
    return reduce(getattr, names, module_of(feature, module))
