"""Add tests and imports to Python files. All other lines keep their exact bytes."""

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
"""The configuration files that may set a project's line length. After the name of each file stand the keys that lead to
the setting.
"""

_NARROWEST: Final = 40
"""A line length below this number of columns is ignored."""


class CannotEdit(Exception):
    """Raised if a file cannot be edited safely; the message contains the reason, and the file is unchanged."""


def line_length(path: Path) -> int:
    """Return the line length that is set for ruff or black in the project of the file `path`; 88 if none is set."""
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
            break  # the folder is the root of the project, so folders above it do not count
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
    """Return `source` with the code `test` added at its end, and with imports of `names` from `converse_harness`.

    Raises CannotEdit if the file already defines `name`, the name of the test, or uses one of `names` for something
    else.
    """
    module = parsed(source)
    if name in set(_bound(module)):
        raise CannotEdit(f"{name} is there already; --name gives another name.")
    made = with_imports(source, names)
    newline = newline_of(source)
    missing = 3 - made[len(made.rstrip()) :].count("\n") if made.strip() else 0
    return made + newline * missing + test.replace("\n", newline)


def read_source(path: Path) -> str:
    """Return the text of a Python file, without conversion of its line ends.

    Raises CannotEdit for a file that is not UTF-8, and OSError for a file that cannot be read.
    """
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise CannotEdit("it is not UTF-8.") from error


def lines_of(source: str) -> list[str]:
    """Return the lines of a text, each with its line end.

    The lines agree with the line numbers of `ast`: a form feed or U+2028 does not end a line, unlike in
    `str.splitlines`.
    """
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def newline_of(source: str) -> str:
    r"""Return the line end for new lines of a file: `\r\n` if it occurs in `source`, otherwise `\n`."""
    return "\r\n" if "\r\n" in source else "\n"


def with_imports(source: str, names: Iterable[str]) -> str:
    """Return `source` with imports of `names` from `converse_harness` added, if they are missing.

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
    """Return after how many lines to insert the import `line`, and how many blank lines to add before and after it.

    It is inserted into the first block of imports, in alphabetical order. If there is none, it is inserted below the
    docstring.
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
    # All `import x` come before all `from x import y`; each kind is in alphabetical order. Existing imports are not
    # moved.
    above = [node for node in others if _statement_order(ast.unparse(node)) <= _statement_order(line)]
    return (above[-1].end_lineno or 0) if above else others[0].lineno - 1, 0, 0


def _statement_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split()[1].lower()


def _import_order(name: str) -> tuple[int, str]:
    """Return a sort key that orders imported names as isort does: constants, then classes, then other names."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name


def imports_of(module: ast.Module) -> list[ast.ImportFrom]:
    """Return a module's top-level statements of the form `from converse_harness import ...`."""
    statements = [node for node in module.body if isinstance(node, ast.ImportFrom)]
    return [node for node in statements if node.module == PACKAGE and not node.level]


def _bound(module: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines, assigns or imports at its top level."""
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
