"""Replace a test function's marker, which names a recording, with a script of replies in its body.

All other lines stay.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from converse_harness.recordings.edits import CannotEdit, imports_of, lines_of, newline_of, parsed, with_imports

Function = ast.FunctionDef | ast.AsyncFunctionDef

FIXTURE: Final = "converse"
_MARKER: Final = "mark.converse_recording"
_MARK: Final = "mark."
_PARAMETERS: Final = "mark.parametrize"


class Found(NamedTuple):
    """A test function in a file: its syntax node, whether it is a method, and the indentation of its body."""

    node: Function
    is_method: bool
    indent: str


def find(source: str, name: str, line: int) -> Found:
    """Find the test function with this name. `line` is the line of its first decorator, or of `def` if it has none.

    Raises CannotEdit if the function is not there, or if it has a form that cannot be edited safely.
    """
    there = [
        (node, is_method)
        for node, is_method in _functions(parsed(source).body, is_method=False)
        if node.name == name and min([node.lineno, *(each.lineno for each in node.decorator_list)]) == line
    ]
    if not there:
        raise CannotEdit("its function is not in the file, but was made by other code.")
    node, is_method = there[0]
    _check_decorators(node)
    _check_names(node)
    _header_end(source, node)
    first = node.body[0]
    indent = _line(source, first.lineno)[: _column(source, first.lineno, first.col_offset)]
    beside = [each for each in node.body[1:] if each.lineno <= (first.end_lineno or 0)]
    if beside and ast.get_docstring(node, clean=False) is not None:
        raise CannotEdit("a statement stands on the line of its docstring.")
    _argument(source, Found(node, is_method, indent))
    return Found(node, is_method, indent)


def with_script(source: str, found: Found, script: str, names: Sequence[str]) -> str:
    """Return `source` with `script` at the start of the test function's body, and the fixture instead of the marker.

    `found` is the result of `find` for the same source. The lines of `script` are indented by as many spaces as
    `found.indent` has characters. Imports of `names` are added. Raises CannotEdit if the module uses one of these names
    for something else.
    """
    newline = newline_of(source)
    lines = lines_of(source)
    node = found.node
    after = _body_start(source, node)
    if not lines[after - 1].endswith("\n"):
        lines[after - 1] += newline
    lines[after:after] = [found.indent + line[len(found.indent) :] + newline for line in script.splitlines()]
    if place := _argument(source, found):
        row, column, text = place
        lines[row - 1] = lines[row - 1][:column] + text + lines[row - 1][column:]
    for decorator in node.decorator_list:
        if _dotted(decorator).endswith(_MARKER):
            _remove(lines, source, decorator)
    made = with_imports("".join(lines), names)
    if ast.dump(_without(parsed(source), found)) != ast.dump(_without(parsed(made), found)):
        raise CannotEdit("the edit would change other code.")  # this can only happen if this module has a bug
    return made


def _functions(body: Sequence[ast.stmt], *, is_method: bool) -> Iterator[tuple[Function, bool]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, is_method
        else:
            inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
            yield from _functions(inner, is_method=is_method or isinstance(node, ast.ClassDef))


def _dotted(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _check_decorators(node: Function) -> None:
    names = [*map(_dotted, node.decorator_list)]
    for name in names:
        if name.endswith(_PARAMETERS):
            raise CannotEdit("it is parametrized, and each of its parameters has replies of its own.")
        if not name.startswith((_MARK, f"pytest.{_MARK}")):
            raise CannotEdit(f"it has the decorator @{name}, and what that does is not known.")
    if not any(name.endswith(_MARKER) for name in names):
        raise CannotEdit("its marker is not on the function itself, but on its class or module.")


def _check_names(node: Function) -> None:
    """Raise CannotEdit if the script needs a name that the function already uses for something else."""
    arguments = {each.arg for each in _arguments(node)}
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    imports = [each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)]
    used = {each.id for each in names}
    bound = arguments | {each.id for each in names if isinstance(each.ctx, ast.Store)}
    bound |= {alias.asname or alias.name for each in imports for alias in each.names}
    taken = bound & {"reply", "faults"} or ({FIXTURE} & (bound | used) if FIXTURE not in arguments else set[str]())
    if taken:
        raise CannotEdit(f"its function uses the name {min(taken)!r} for something else.")


def _arguments(node: Function) -> list[ast.arg]:
    given = node.args
    others = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *others]


def _argument(source: str, found: Found) -> tuple[int, int, str] | None:
    """Return the line, column and text with which to add the fixture's argument; None if the test already has it."""
    node, given = found.node, found.node.args
    if any(each.arg == FIXTURE for each in _arguments(node)):
        return None
    others = given.args[found.is_method :]
    unknown = found.is_method > len(given.args) or (not others and len(_arguments(node)) > found.is_method)
    if given.posonlyargs or unknown:
        raise CannotEdit("the arguments of its function have a form that is not known.")
    if others:
        row, column = others[0].lineno, _column(source, others[0].lineno, others[0].col_offset)
        before = _line(source, row)[:column]
        return row, column, f"{FIXTURE},{newline_of(source)}{before}" if not before.strip() else f"{FIXTURE}, "
    if found.is_method:
        last = given.args[0]
        row = last.end_lineno or last.lineno
        return row, _column(source, row, last.end_col_offset or 0), f", {FIXTURE}"
    opened = next(token for token in _tokens(source, node) if token.string == "(")
    return opened.end[0], opened.end[1], FIXTURE


def _tokens(source: str, node: Function) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a file, from the name of this function on."""
    begun = False
    for token in tokenize.generate_tokens(io.StringIO(source, newline="").readline):
        begun = begun or (token.start[0] >= node.lineno and token.type == tokenize.NAME and token.string == node.name)
        if begun:
            yield token


def _header_end(source: str, node: Function) -> int:
    """Return the line number of the colon that ends `def ...:`. Raises CannotEdit if the body begins on this line."""
    end = next(token.start[0] for token in _tokens(source, node) if token.type == tokenize.NEWLINE)
    if node.body[0].lineno <= end:
        raise CannotEdit("the body of its function begins on the line of `def`.")
    return end


def _body_start(source: str, node: Function) -> int:
    """Return the number of the line after which a script is inserted: the last line of the docstring or `def ...:`."""
    if ast.get_docstring(node, clean=False) is not None:
        return node.body[0].end_lineno or node.body[0].lineno
    return _header_end(source, node)


def _remove(lines: list[str], source: str, decorator: ast.expr) -> None:
    """Remove a decorator from `lines`, but keep a comment that stands after it on its line."""
    end = decorator.end_lineno or decorator.lineno
    rest = _line(source, end)[_column(source, end, decorator.end_col_offset or 0) :]
    indent = lines[decorator.lineno - 1].partition("@")[0]
    lines[decorator.lineno - 1 : end] = [indent + rest.lstrip()] if rest.strip() else []


def _line(source: str, number: int) -> str:
    return lines_of(source)[number - 1]


def _column(source: str, line: int, offset: int) -> int:
    """Return the column, in characters, for a byte offset in a syntax tree."""
    return len(_line(source, line).encode()[:offset].decode())


def _without(module: ast.Module, found: Found) -> ast.Module:
    """Remove what an edit may change from a syntax tree: imports, and the function's decorators, arguments, script."""
    imports = {*imports_of(module)}
    module.body = [node for node in module.body if node not in imports]
    for node, is_method in _functions(module.body, is_method=False):
        if node.name == found.node.name and is_method == found.is_method:
            node.decorator_list, node.args = [], ast.arguments([], [], None, [], [], None, [])
            node.body = [each for each in node.body if not ast.unparse(each).startswith(f"{FIXTURE}.script(")]
    return module
