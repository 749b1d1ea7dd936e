"""The directives of the API pages: they write one entry for each public name that tests/house/public_api.py finds.

.. public-names:: MODULE        autodoc's entry of each name of the module, or of those in the content
.. vocabulary:: MODULE          a short entry of each name that a module of the vocabulary defines
.. faults::                     an entry of each fault
.. fixtures::                   pytest's fixtures; `:samples:` those that are samples, otherwise all others
.. settings::                   the options of pytest's command line and the settings of its ini file
.. commands::                   the commands with their arguments
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, cast

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

import converse_harness
from converse_harness import cli
from converse_harness.plugin import parameters, settings
from tests.house import public_api

VOCABULARY = tuple(f"{package.__name__}." for package in public_api.VOCABULARY)
_STUB_LINE = re.compile(r"from (\S+) import (\w+) as \2")


class GeneratedEntries(SphinxDirective):
    """A directive whose content is written by `entries`, as reStructuredText."""

    has_content = True
    optional_arguments = 1
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {"samples": directives.flag}

    def entries(self) -> Iterable[str]:
        """Return the source of the entries."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the entries."""
        lines = "\n\n".join(self.entries()).splitlines()
        source = f"{self.env.doc2path(self.env.docname)}:{self.lineno}:{self.name}"
        return self.parse_content_to_nodes_of(StringList(lines, source))

    def parse_content_to_nodes_of(self, lines: StringList) -> list[nodes.Node]:
        """Parse these lines in the place of the directive's own content."""
        self.content = lines
        return self.parse_content_to_nodes(allow_section_headings=True)


class PublicNames(GeneratedEntries):
    """Entries of autodoc for the public names of a module."""

    def entries(self) -> Iterator[str]:
        """The names in the content, in its order; without content all names of the module, by the alphabet."""
        module = self.arguments[0]
        public = {name: value for name, value in public_names(module) if not inspect.ismodule(value)}
        chosen = " ".join(self.content).split() or list(public)
        if unknown := [name for name in chosen if name not in public]:
            raise self.error(f"{module} has no public name {', '.join(unknown)}; it has {', '.join(public)}.")
        for name in chosen:
            yield entry(f"{module}.{name}", public[name])


class Vocabulary(GeneratedEntries):
    """Short entries for a module of the vocabulary: the docstring, and the members of a TypedDict."""

    def entries(self) -> Iterator[str]:
        """The names that the module defines, in their order."""
        module = self.arguments[0]
        yield f".. py:module:: {module}\n\n{inspect.getdoc(importlib.import_module(module)) or ''}"
        for line in public_api.of_vocabulary(module):
            if line.startswith(" "):
                continue
            found = re.match(r"(?:(dict|enum|class) )?(\w+)", line)
            assert found is not None, line
            name = found[2]
            value = getattr(importlib.import_module(module), name)
            if inspect.isroutine(value) or found[1] in ("class", "enum") or hasattr(value, "__wrapped__"):
                yield entry(f"{module}.{name}", value)
            elif found[1] == "dict":
                members = line.partition(": ")[2]
                listed = f"\n\n    Members: ``{members}``" if members else ""
                yield f".. py:class:: {name}\n\n{indented(doc_of(value))}{listed}"
            else:
                yield f".. autodata:: {module}.{name}\n    :no-value:"


class Faults(GeneratedEntries):
    """The faults, each with its sentence."""

    def entries(self) -> Iterator[str]:
        """One entry for each public name of `converse_harness.faults`."""
        module = "converse_harness.faults"
        yield f".. py:module:: {module}"
        for name, fault in public_names(module):
            transports = ", ".join(sorted(fault.transports)) if fault.transports else "all"
            yield (
                f".. py:data:: {name}\n\n    {fault.sentence}\n\n"
                f"    Level: ``{fault.level}``. Transports: {transports}."
            )


class Fixtures(GeneratedEntries):
    """pytest's fixtures, with their scopes and docstrings."""

    def entries(self) -> Iterator[str]:
        """The samples, or all other fixtures."""
        samples = set(sample_fixtures())
        for line in public_api.fixtures():
            name, _, scope = line.rstrip(")").partition(" (")
            if (name in samples) == ("samples" in self.options):
                yield f".. pytest-fixture:: {name}\n\n{indented(fixture_doc(name))}\n\n    Scope: {scope}."


class Settings(GeneratedEntries):
    """Options of pytest's command line, and settings of its ini file."""

    def entries(self) -> Iterator[str]:
        """The options, then the settings."""
        taken = Helps.of_plugin()
        yield ".. program:: pytest"
        yield from (f".. option:: {name}\n\n    {text}" for name, text in sorted(taken.options.items()))
        yield from (f".. pytest-setting:: {name}\n\n    {text}" for name, text in sorted(taken.settings.items()))


class Helps:
    """Takes what the plugin registers, as `pytest.Parser` does, and keeps the help texts."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}
        self.settings: dict[str, str] = {}

    @classmethod
    def of_plugin(cls) -> Helps:
        """Return what our plugin registers."""
        taken: Any = cls()
        settings.add_options(taken)
        return cast("Helps", taken)

    def getgroup(self, *_: str) -> Helps:
        """Take the name of a group, and go on."""
        return self

    def addoption(self, *flags: str, **given: Any) -> None:
        """Take an option of the command line."""
        metavar = given.get("metavar") or ("{" + ",".join(given["choices"]) + "}" if given.get("choices") else "")
        self.options[f"{flags[-1]} {metavar}".strip()] = escaped(given.get("help", ""))

    def addini(self, name: str, text: str, kind: str | None = None, default: Any = None) -> None:
        """Take a setting of the ini file."""
        self.settings[name] = f"{escaped(text)}\n\n    Kind: {kind or 'string'}. Default: ``{default!r}``."


class Commands(GeneratedEntries):
    """The subcommands of `converse-harness`."""

    def entries(self) -> Iterator[str]:
        """A section for each command: its description, then its arguments."""
        for name in vars(cli)["_COMMANDS"]:
            module = cli.module_of_command(name)
            title = f"converse-harness {name}"
            yield f"{title}\n{'-' * len(title)}\n\n{escaped(module.DESCRIPTION)}\n\n.. program:: {title}"
            for flags, given in module.ARGUMENTS.items():
                metavar = given.get("metavar") or ""
                if given.get("choices") and not metavar:
                    metavar = "{" + ",".join(map(str, given["choices"])) + "}"
                shown = f"{', '.join(flags.split())} {metavar}" if flags.startswith("-") else metavar or flags
                yield f".. option:: {shown.strip()}\n\n    {escaped(given.get('help') or '')}"


def public_names(module_name: str) -> list[tuple[str, Any]]:
    """The public names of a module with their values."""
    module = importlib.import_module(module_name)
    names = public_api.ONLY.get(module_name) or getattr(module, "__all__", None) or dir(module)
    return [(name, getattr(module, name)) for name in sorted(names, key=str.lower)]


def entry(path: str, value: Any) -> str:
    """The directive of autodoc for one object."""
    if isinstance(value, type):
        # The members that a class has from classes of ours that are no public names, as Scripting of Fake.
        listed = [line.split(":")[0].split("(")[0].strip(" .") for line in own_members(value)]
        options = [f":members: {', '.join(listed)}", ":undoc-members:"] if listed else []
        if issubclass(value, Enum):
            options = [":members:", ":undoc-members:"]
        if any(not is_private(base, public_places()) for base in value.__bases__):
            options.append(":show-inheritance:")
        return "\n    ".join([f".. autoclass:: {path}", *options])
    if inspect.isroutine(value) or (callable(value) and hasattr(value, "__wrapped__")):
        return f".. autofunction:: {path}"
    return f".. autodata:: {path}\n    :no-value:"


def own_members(kind: type) -> list[str]:
    """The lines of public_api.py for the members of a class, without those of another public class."""
    places = public_places()
    bases = [base for base in kind.__mro__[1:] if f"{base.__module__}.{base.__name__}" in places]
    inherited = {line for base in bases for line in public_api.of_class("", base)}
    return [line for line in public_api.of_class("", kind) if line.startswith(" ") and line not in inherited]


@cache
def public_places() -> dict[str, str]:
    """Where a public name is defined -> the name under which it is imported."""
    places: dict[str, str] = {}
    for package in ("converse_harness", "converse_strategies"):
        file = importlib.import_module(package).__file__
        assert file is not None
        for module, name in _STUB_LINE.findall(Path(file).with_suffix(".pyi").read_text("utf-8")):
            places[f"{module}.{name}"] = f"{package}.{name}"
    return places


def sample_fixtures() -> Iterator[str]:
    """The names of the fixtures that are samples, or a test once for each variant of one."""
    yield from (function.__name__ for function in vars(parameters)["_FIXTURES"])


def fixture_doc(name: str) -> str:
    """The docstring of a fixture."""
    for module in (importlib.import_module("converse_harness.plugin"), parameters):
        fixture = getattr(module, name, None)
        if fixture is not None:
            return doc_of(getattr(fixture, "_fixture_function", None) or getattr(fixture, "__wrapped__", fixture))
    return ""


def doc_of(value: Any) -> str:
    """The docstring of an object itself, without those that it inherits."""
    return inspect.cleandoc(getattr(value, "__doc__", None) or "")


def indented(text: str) -> str:
    """A text as the body of a directive."""
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


def escaped(text: str) -> str:
    """A help text as reStructuredText: nothing in it is markup but what stands between backquotes."""
    parts = " ".join(text.replace("%%", "%").split()).split("`")
    return "".join(
        f"\\ ``{part}``\\ " if number % 2 else re.sub(r"([\\*|_:])", r"\\\1", part) for number, part in enumerate(parts)
    )


def resolved(app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: nodes.TextElement) -> nodes.Node | None:
    """Link a type in a signature to the public name of its class; a type that is not public stays a word.

    A reference that a person wrote to a name of ours is left to Sphinx, which reports it if it leads nowhere.
    """
    target = node["reftarget"]
    if node.get("refdomain") != "py" or ("refwarn" in node and target.startswith("converse_")):
        return None
    public = public_places().get(target)
    if public is None and "." not in target and target in dir(converse_harness):
        public = f"converse_harness.{target}"
    domain = env.domains.python_domain
    if public in domain.objects:
        found = domain.objects[public]
        return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, shown, public)
    return shown


def public_bases(app: Sphinx, name: str, kind: type, options: object, bases: list[Any]) -> None:
    """Leave out base classes that are private; write those of other projects as plain words."""
    places = public_places()
    named = [base for base in bases if not is_private(base, places)]
    bases[:] = [base if is_ours(base) else f"``{getattr(base, '__name__', base)}``" for base in named]


def is_ours(base: Any) -> bool:
    """Whether a class is of one of the two packages."""
    return str(getattr(base, "__module__", "")).partition(".")[0] in ("converse_harness", "converse_strategies")


def is_private(base: Any, places: Mapping[str, str]) -> bool:
    """Whether a class of ours has no public name."""
    name = getattr(base, "__name__", "")
    where = f"{getattr(base, '__module__', '')}.{name}"
    public = where in places or (where.startswith(VOCABULARY) and not name.startswith("_"))
    return base is object or (is_ours(base) and not public)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_object_type("pytest-fixture", "fixture", "pair: %s; pytest fixture", objname="pytest fixture")
    app.add_object_type("pytest-setting", "setting", "pair: %s; ini setting", objname="setting of pytest's ini file")
    for name, directive in {
        "public-names": PublicNames,
        "vocabulary": Vocabulary,
        "faults": Faults,
        "fixtures": Fixtures,
        "settings": Settings,
        "commands": Commands,
    }.items():
        app.add_directive(name, directive)
    app.connect("missing-reference", resolved)
    app.connect("autodoc-process-bases", public_bases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
