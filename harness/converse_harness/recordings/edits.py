"""Add tests and imports to Python files. All other lines stay as they are, byte for byte."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from converse_harness.json_values import member_of
from converse_harness.recordings.source import WIDTH

PACKAGE: Final = "converse_harness"

_LINE_LENGTHS: Final = (
    ("pyproject.toml", "tool", "ruff", "line-length"),
    ("pyproject.toml", "tool", "black", "line-length"),
    ("ruff.toml", "line-length"),
    (".ruff.toml", "line-length"),
)
"""The configuration files that may set a project's line length, each with the path of this setting in the file."""

_NARROWEST: Final = 40
"""Settings below this number of columns are ignored."""


class CannotEdit(Exception):
    """Raised if a file cannot be edited safely; the message contains the reason, and the file is unchanged."""


def line_length(path: Path) -> int:
    """Return the line length in the ruff or black settings of a file's project; 88 without a setting."""
    import tomllib

    for folder in path.resolve().parents:
        settings: dict[str, Any] = {}
        for name, *_ in _LINE_LENGTHS:
            with suppress(OSError, ValueError):
                settings[name] = tomllib.loads((folder / name).read_text(encoding="utf-8"))
        for found in (member_of(settings, *steps) for steps in _LINE_LENGTHS):
            if isinstance(found, int) and found >= _NARROWEST:
                return found
        if member_of(settings, "pyproject.toml", "project") is not None:
            break  # the folder is the root of the project
    return WIDTH


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a file. Raises CannotEdit for a file that is not valid Python."""
    if re.search(r"\r(?!\n)", source):
        raise CannotEdit("its lines end in CR alone.")
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise CannotEdit(f"{'' if line is None else f'line {line}: '}it is not valid Python ({error}).") from error


def with_test(source: str, test: str, name: str, names: Sequence[str]) -> str:
    """Return the source of a file with the test added at its end, and with imports of `names` from `converse_harness`.

    Raises CannotEdit if the file already contains a test with this name, or uses one of the names for something else.
    """
    module = parsed(source)
    if name in set(_bound(module)):
        raise CannotEdit(f"{name} is there already; --name gives another name.")
    made = with_imports(source, names)
    newline = newline_of(source)
    missing = 3 - made[len(made.rstrip()) :].count("\n") if made.strip() else 0
    return made + newline * missing + test.replace("\n", newline)


def read_source(path: Path) -> str:
    """Return the text of a Python file with its own line ends.

    Raises CannotEdit for a file that is not UTF-8, and OSError for a file that cannot be read.
    """
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise CannotEdit("it is not UTF-8.") from error


def lines_of(source: str) -> list[str]:
    """Return the lines of a file with their line ends.

    Lines are counted as Python counts them: a form feed or U+2028 does not end a line.
    """
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def newline_of(source: str) -> str:
    r"""Return the line end of a file: `\r\n` if it occurs in the file, otherwise `\n`."""
    return "\r\n" if "\r\n" in source else "\n"


def with_imports(source: str, names: Iterable[str]) -> str:
    """Return the source of a file with imports of these names from `converse_harness`.

    Raises CannotEdit if the module uses one of the names for something else.
    """
    module = parsed(source)
    there = {alias.asname or alias.name for node in imports_of(module) for alias in node.names}
    missing = sorted(set(names) - there)
    for name in sorted({*names} & {*_bound(module)} - there):
        raise CannotEdit(f"the module uses the name {name!r} for something else.")
    if not missing:
        return source
    lines = lines_of(source)
    for node in imports_of(module):
        text = lines[node.lineno - 1]
        if text.rstrip() == ast.unparse(node):
            merged = sorted([*map(ast.unparse, node.names), *missing], key=_import_order)
            lines[node.lineno - 1] = text.replace(text.rstrip(), f"from {PACKAGE} import {', '.join(merged)}")
            return "".join(lines)
    line = f"from {PACKAGE} import {', '.join(missing)}"
    at, before, after = _place(module, line)
    newline = newline_of(source)
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += newline
    lines.insert(at, newline * before + line + newline + newline * after)
    return "".join(lines)


def _place(module: ast.Module, line: str) -> tuple[int, int, int]:
    """Return the place for an import: the number of lines above it, and the numbers of blank lines before and after it.

    The place is in the first block of imports, in alphabetical order. Without imports, it is below the docstring.
    """
    body, docstring = module.body, ast.get_docstring(module, clean=False) is not None
    imports = [*takewhile(lambda node: isinstance(node, ast.Import | ast.ImportFrom), body[docstring:])]
    future = [node for node in imports if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    others = imports[len(future) :]
    if not others:
        first = docstring + len(future)
        at = (body[first - 1].end_lineno or 0) if first else 0
        gap = body[first].lineno - 1 - at if body[first:] else 1
        return at, int(at > 0), int(gap == 0)
    # `import x` comes before `from x import y`, both in alphabetical order. Existing imports are not sorted.
    above = [node for node in others if _statement_order(ast.unparse(node)) <= _statement_order(line)]
    return (above[-1].end_lineno or 0) if above else others[0].lineno - 1, 0, 0


def _statement_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split()[1].lower()


def _import_order(name: str) -> tuple[int, str]:
    """Return the sort key of a name in isort's order: constants, then classes, then other names."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name


def imports_of(module: ast.Module) -> list[ast.ImportFrom]:
    """Return the statements at the top level of a module that import names from `converse_harness`."""
    statements = [node for node in module.body if isinstance(node, ast.ImportFrom)]
    return [node for node in statements if node.module == PACKAGE and not node.level]


def _bound(module: ast.Module) -> Iterator[str]:
    """Yield the names that a module binds at its top level."""
    waiting: list[ast.AST] = [*module.body]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=given):
                yield given or name.partition(".")[0]
            case _:
                pass
        waiting += ast.iter_child_nodes(node)
