"""The public surface as one text: what others build on, one line each, as it stands in public_api.txt.

`python -m tests.house.public_api --write` writes the file; without `--write` the surface is printed.
"""

import argparse
import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, cast

import converse_harness
import converse_strategies.strands
from converse_harness import cli, types
from converse_harness.plugin import parameters, settings
from converse_harness.recordings.format.lines import FORMAT, KINDS, VERSION

FILE: Final = Path(__file__).with_suffix(".txt")
WRITE: Final = f"python -m {'.'.join(Path(__file__).with_suffix('').parts[-3:])} --write"
MODULES: Final = (
    "converse_harness",
    "converse_harness.reply",
    "converse_harness.faults",
    "converse_harness.cases",
    "converse_harness.samples",
    "converse_harness.contract",
    "converse_strategies",
    "converse_strategies.shapes",
)
"""Modules that users import from. What is public in them stands in `__all__` or in the stub."""
ONLY: Final[Mapping[str, tuple[str, ...]]] = {"converse_strategies.shapes": ("values",)}
"""Public names of modules without an `__all__`."""
VOCABULARY: Final = (types, converse_strategies.strands)
"""Packages of which every name in every module is public."""
WIDTH: Final = 110
STARS: Final[Mapping[Any, str]] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
NOT_VOCABULARY: Final = ("table",)


def surface() -> str:
    """The whole surface, one section after the other."""
    sections: Mapping[str, Callable[[], Iterable[str]]] = {
        **{name: partial(of_module, name) for name in MODULES},
        **{name: partial(of_vocabulary, name) for name in vocabulary()},
        "pytest: fixtures": fixtures,
        "pytest: markers": lambda: settings.MARKERS,
        "pytest: options and ini settings": options,
        "converse-harness: commands": commands,
        "control API": control_api,
        f"recordings: {FORMAT} {VERSION}": recordings,
    }
    return "\n".join(f"{name}\n{''.join(map(written, make()))}" for name, make in sections.items())


def written(line: str) -> str:
    """A line of a section; where it is long, each parameter has a line of its own."""
    indent = " " * (4 + len(line) - len(line.lstrip()))
    if len(line) > WIDTH and (found := re.fullmatch(r"([^(]*(?:\([^()]*\): )?)\((.*)\)( -> .*)?", line.strip())):
        parameters = "".join(f"{indent}    {each},\n" for each in split(found[2]))
        return f"{indent}{found[1]}(\n{parameters}{indent}){found[3] or ''}\n"
    return f"    {line}\n"


def split(parameters: str) -> list[str]:
    """Parameters, at the commas that are in no brackets and in no text."""
    found, depth, quoted = [""], 0, False
    for each in parameters:
        quoted ^= each == "'"
        depth += (each in "([{") - (each in ")]}") if not quoted else 0
        if each == "," and not depth and not quoted:
            found.append("")
        else:
            found[-1] += each
    return [each.strip() for each in found]


def vocabulary() -> list[str]:
    """The modules of the vocabulary."""
    return [
        f"{package.__name__}.{module.name}"
        for package in VOCABULARY
        for module in pkgutil.iter_modules(package.__path__)
        if module.name not in NOT_VOCABULARY
    ]


# Python


def of_module(module_name: str) -> Iterator[str]:
    """The public names of a module."""
    module = importlib.import_module(module_name)
    for name in sorted(ONLY.get(module_name) or getattr(module, "__all__", None) or dir(module), key=str.lower):
        yield from of_name(name, getattr(module, name))


def of_vocabulary(module_name: str) -> Iterator[str]:
    """The names that a module of the vocabulary defines itself."""
    module = importlib.import_module(module_name)
    for node in ast.parse(inspect.getsource(module)).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        for name in names:
            if not name.startswith("_"):
                yield from of_name(name, getattr(module, name))


def get_args(value: object) -> tuple[object, ...]:
    """What stands in the brackets of a type."""
    return tuple(getattr(value, "__args__", ()))


def of_name(name: str, value: Any) -> Iterator[str]:
    """A name, and what is public of it."""
    if inspect.ismodule(value):
        yield f"module {name}"
    elif isinstance(value, type) and hasattr(value, "__required_keys__"):
        required: frozenset[str] = value.__required_keys__
        yield f"dict {name}: {', '.join(f'{key}{chr(63) * (key not in required)}' for key in value.__annotations__)}"
    elif isinstance(value, type) and issubclass(value, Enum):
        yield f"enum {name}: {', '.join(value.__members__)}"
    elif isinstance(value, type):
        yield from of_class(name, value)
    elif inspect.isroutine(value) or (callable(value) and hasattr(value, "__wrapped__")):
        yield f"{name}{signature(value)}"
    elif get_args(value):
        yield f"{name} = {annotation(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def of_class(name: str, kind: type) -> Iterator[str]:
    """A class, and the members that it has from classes of ours."""
    ours = [each for each in reversed(kind.__mro__) if each.__module__.partition(".")[0].startswith("converse_")]
    bases = ", ".join(base.__name__ for base in kind.__bases__ if base is not object and base.__name__ != "Generic")
    made = [vars(each)[maker] for each in ours for maker in ("__init__", "__new__") if maker in vars(each)]
    constructor = any(getattr(maker, "__name__", "") in ("__init__", "__new__") for maker in made)  # not a Protocol's
    yield f"class {name}{f'({bases})' if bases else ''}{f': {signature(kind)}' if constructor else ''}"
    members: dict[str, str] = {}
    for each in ours:
        for member in [*vars(each)]:
            getattr(each, member, None)  # what a feature adds is loaded when it is used first
        fields = {field: f": {annotation(its)}" for field, its in inspect.get_annotations(each).items()}
        for member, value in {**fields, **vars(each)}.items():
            if not member.startswith("_") and (text := of_member(value)) is not None:
                members[member] = text
    yield from (f"    .{member}{text}" for member, text in sorted(members.items()))


def without_docstring() -> list[str]:
    """The public functions and classes, and their methods and properties, that have no docstring."""
    found: list[str] = []
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in ONLY.get(module_name) or getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            if inspect.isroutine(value) or isinstance(value, type):
                parts = {name: value, **{f"{name}.{member}": each for member, each in _members(value)}}
                found += [f"{module_name}.{part}" for part, each in parts.items() if not inspect.getdoc(each)]
    return found


def _members(kind: object) -> Iterator[tuple[str, object]]:
    """The public methods and properties that a class has from classes of ours."""
    for each in kind.__mro__ if isinstance(kind, type) else ():
        if each.__module__.partition(".")[0] in ("converse_harness", "converse_strategies"):
            for name, value in vars(each).items():
                if not name.startswith("_") and of_member(value) is not None:
                    yield name, value


def of_member(value: Any) -> str | None:
    """How a member is written; None if it is nothing that a user calls or reads."""
    if isinstance(value, str) and value.startswith(": "):
        return value
    getter = value.fget if isinstance(value, property) else value.func if isinstance(value, cached_property) else None
    if getter is not None:
        return f": {annotation(inspect.signature(getter).return_annotation)}"
    if isinstance(value, classmethod | staticmethod):
        return signature(value.__func__)
    return signature(value) if inspect.isfunction(value) else None


def signature(function: Callable[..., Any]) -> str:
    """The parameters of a function or class with their types and defaults, and what it returns."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters, seen_star = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls", "_cls") or parameter.name.startswith("__"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            parameters.append("*")
        seen_star |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = STARS.get(parameter.kind, "")
        its_type = "" if parameter.annotation is parameter.empty else f": {annotation(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f" = {plain(parameter.default)}"
        parameters += unpacked(function, its_type) or [f"{stars}{parameter.name}{its_type}{default}"]
    returned = "" if isinstance(function, type) else f" -> {annotation(found.return_annotation)}"
    return f"({', '.join(parameters)}){returned}"


def unpacked(function: Callable[..., Any], its_type: str) -> list[str]:
    """The keywords of a parameter that is annotated as `Unpack[SomeTypedDict]`; none for other parameters."""
    maker: Any = getattr(function, "__init__") if isinstance(function, type) else function  # noqa: B009 - for mypy
    found = re.fullmatch(r": Unpack\[(\w+)\]", its_type)
    kind = maker.__globals__.get(found[1]) if found else None  # None: the module imports it for type checkers only
    its = {} if kind is None else kind.__annotations__
    return [f"{key}: {annotation(getattr(value, '__forward_arg__', value))} = ..." for key, value in its.items()]


def annotation(value: object) -> str:
    """A type as the source has it."""
    if value is inspect.Signature.empty:
        return "?"
    text = value if isinstance(value, str) else inspect.formatannotation(value)
    text = re.sub(r"ForwardRef\('(.*?)'\)", r"\1", text)
    return re.sub(
        r"\b(?:typing|collections\.abc|datetime|pathlib|threading|converse_harness\.types\.\w+)\.|~", "", text
    )


def plain(value: object) -> str:
    """A default: itself where its text is the same in every process, otherwise three dots."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(plain, cast('tuple[object, ...]', value)))})"
    return "..."


# pytest and the command


def fixtures() -> Iterator[str]:
    """The fixtures with their scopes."""
    found: dict[str, Any] = {}
    for module in (importlib.import_module("converse_harness.plugin"), parameters):
        for name, value in vars(module).items():
            # pytest 8.4 and newer, and older ones
            marker = getattr(value, "_fixture_function_marker", getattr(value, "_pytestfixturefunction", None))
            if marker is not None and not name.startswith("_"):
                found[name] = marker.scope
    yield from (f"{name} ({scope})" for name, scope in sorted(found.items()))


class _Options:
    """Takes what the plugin registers, as `pytest.Parser` does."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def getgroup(self, *_: str) -> "_Options":
        return self

    def addoption(self, *flags: str, **options: Any) -> None:
        choices = f" {{{','.join(options['choices'])}}}" if options.get("choices") else ""
        value = f" {options['metavar']}" if options.get("metavar") else choices
        self.lines.append(f"{' '.join(flags)}{value}{' (or without a value)' if options.get('nargs') == '?' else ''}")

    def addini(self, name: str, _: str, kind: str | None = None, default: Any = None) -> None:
        self.lines.append(f"ini {name} = {default!r} ({kind or 'string'})")


def options() -> list[str]:
    """The options of the command line and the settings of the ini file."""
    taken: Any = _Options()
    settings.add_options(taken)
    return sorted(taken.lines)


def commands() -> Iterator[str]:
    """The commands with their arguments, and the values that are a choice."""
    for name in vars(cli)["_COMMANDS"]:
        module = cli.module_of_command(name)
        parser = argparse.ArgumentParser(prog=name, add_help=False)
        for flags, given in module.ARGUMENTS.items():
            parser.add_argument(*flags.split(), **given)
        yield f"{name}"
        for action in parser._actions:
            flags = " ".join(action.option_strings) or str(action.dest)
            metavar = action.metavar if isinstance(action.metavar, str) else ""
            value = f" {{{','.join(map(str, action.choices))}}}" if action.choices else f" {metavar}" if metavar else ""
            yield f"    {flags}{value}{'' if action.nargs in (None, 0) else f' ({action.nargs})'}"


# Over HTTP and on disk


def control_api() -> Iterator[str]:
    """The paths of the control API, and the members of what they take and return."""
    file = Path(converse_harness.__file__).parent / "server/control/openapi.json"
    api = json.loads(file.read_text(encoding="utf-8"))
    yield f"version {api['info']['version']}"
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            if method in ("get", "post", "put", "patch", "delete"):
                asked = ", ".join(each["name"] for each in operation.get("parameters", ()))
                statuses = " ".join(operation["responses"])
                yield f"{method.upper()} {path}{f' ({asked})' if asked else ''} -> {statuses}"
    for name, schema in sorted(api["components"]["schemas"].items()):
        required = schema.get("required", ())
        members = (f"{each}{'' if each in required else '?'}" for each in schema.get("properties", ()))
        values = ", ".join(members) or " | ".join(map(str, schema.get("enum", ())))
        yield f"{name}{f': {values}' if values else ''}"


def recordings() -> Iterator[str]:
    """The kinds of lines of a recording with their keys."""
    for kind, line in KINDS.items():
        yield f"{kind}: {', '.join(f'{name}{chr(63) * (not key.required)}' for name, key in line.keys.items())}"


def main(arguments: list[str]) -> None:
    """Print the surface, or write the file."""
    if arguments == ["--write"]:
        FILE.write_text(surface(), encoding="utf-8")
    else:
        print(surface(), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
