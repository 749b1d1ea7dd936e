"""Counts the house: files, floors and lines of each folder; core and features; what a fake with boto loads.

`python -m tests.house.measure [CHECKOUT]`
"""

import ast
import io
import json
import os
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = {"converse_harness": "harness", "converse_strategies": "strategies"}
# The names in types/ are those of Strands; strategies/strands makes them.
VOCABULARY = "converse_harness.types"
# What a line of code has to have: a line with nothing but these is blank, a comment or the end of another line.
_EMPTY = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_TEXT = {
    tokenize.STRING,
    *(
        getattr(tokenize, name)
        for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
        if hasattr(tokenize, name)
    ),
}


def files(root: Path = ROOT) -> dict[str, Path]:
    """The file of every module of the product, by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for file in sorted((root / folder / package).rglob("*.py")):
            parts = file.relative_to(root / folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def modules(root: Path = ROOT) -> dict[str, ast.Module]:
    """Every module of the product by its dotted name."""
    return {name: ast.parse(file.read_text("utf-8")) for name, file in files(root).items()}


def classes(trees: dict[str, ast.Module]) -> list[tuple[str, str]]:
    """Module and name of each class, nested ones included."""
    return [
        (module, node.name)
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not module.startswith(VOCABULARY)
    ]


def twice(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Names that more than one class has, with their modules."""
    names: dict[str, list[str]] = {}
    for module, name in classes(trees):
        names.setdefault(name, []).append(module)
    return {name: where for name, where in sorted(names.items()) if len(where) > 1}


def imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Which modules of the product each module imports at run time: at once, or when it is used."""
    found: dict[str, set[str]] = {module: set() for module in trees}
    for module, tree in trees.items():
        for node in _at_run_time(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [each if each in trees else str(node.module) for each in whole]
            else:
                continue
            found[module] |= {name for name in names if name in trees and name != module}
    return found


def _at_run_time(tree: ast.Module) -> Iterator[ast.stmt]:
    """All statements but those that only type checkers read."""
    todo: list[ast.AST] = [*tree.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            todo += node.orelse
            continue
        if isinstance(node, ast.stmt):
            yield node
        for block in ("body", "orelse", "handlers", "finalbody", "cases"):
            todo += getattr(node, block, ())


def circles(trees: dict[str, ast.Module]) -> list[list[str]]:
    """Groups of modules that need each other at run time."""
    edges = imports(trees)
    while free := [module for module, needed in edges.items() if not needed & edges.keys()]:
        for module in free:  # it needs nothing that is left, so no circle leads through it
            del edges[module]
    reach = {module: _reached(module, edges) for module in edges}
    groups = {frozenset(other for other in reach[module] if module in reach[other]) for module in edges}
    return sorted(sorted(group) for group in groups if group)


class Folder(NamedTuple):
    """What a folder has, without the folders in it. A floor is a module and those below it that it imports."""

    files: int
    floors: int
    lines: int


@cache
def folders(root: Path = ROOT) -> dict[str, Folder]:
    """The folders of the product by their paths below the packages. The face of a folder is no file of it."""
    trees = modules(root)
    edges = imports(trees)
    found = {}
    for package, place in PACKAGES.items():
        for face in sorted((root / place / package).rglob("__init__.py")):
            folder = face.parent
            name = ".".join(folder.relative_to(root / place).parts)
            files = [file for file in folder.glob("*.py") if file != face]
            inside = {f"{name}.{file.stem}" for file in files}
            lines = sum(len(file.read_text("utf-8").splitlines()) for file in (face, *files))
            found[name] = Folder(len(files), _floors(inside, edges), lines)
    return found


def _floors(modules: set[str], edges: dict[str, set[str]]) -> int:
    """The length of the longest chain of imports among these modules."""
    height: dict[str, int] = {}

    def of(module: str) -> int:
        if module not in height:
            height[module] = 0  # a circle ends here
            height[module] = 1 + max((of(other) for other in edges[module] & modules), default=0)
        return height[module]

    return max(map(of, modules), default=0)


def by_feature(found: Mapping[str, Folder]) -> dict[str, int]:
    """The lines of each feature."""
    prefix = "converse_harness.features."
    lines: Counter[str] = Counter()
    for name, folder in found.items():
        if name.startswith(prefix):
            lines[name.removeprefix(prefix).partition(".")[0]] += folder.lines
    return dict(sorted(lines.items()))


ANSWERED = """
import json, sys
from converse_harness import fake_converse, reply
from converse_harness.intercept.clients import create_client
with fake_converse(reply.text("hi")):
    asked = [{"role": "user", "content": [{"text": "hi"}]}]
    answer = create_client().converse_stream(modelId="us.amazon.nova-lite-v1:0", messages=asked)
    assert len([*answer["stream"]]) > 3
print(json.dumps({name: each.__file__ for name, each in sys.modules.items() if name.startswith("converse_harness")}))
"""
"""A program that streams one answer to a boto client, and prints the modules of the product that are loaded."""


def loaded(root: Path = ROOT) -> dict[str, int]:
    """The modules of the harness that a fake with boto loads, with their lines."""
    path = os.pathsep.join(str(root / folder) for folder in PACKAGES.values())
    environ = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run([sys.executable, "-c", ANSWERED], capture_output=True, text=True, check=True, env=environ)
    files: dict[str, str] = json.loads(run.stdout)
    return {name: len(Path(file).read_text("utf-8").splitlines()) for name, file in files.items()}


def _reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for other in (edges[todo.pop()] & edges.keys()) - seen:
            seen.add(other)
            todo.append(other)
    return seen


def layers(root: Path = ROOT) -> int:
    """Layers of the harness, one above the other, as import-linter holds them."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return len(next(c["layers"] for c in contracts if c.get("containers") == ["converse_harness"]))


def lines(root: Path = ROOT) -> Counter[str]:
    """Lines in all; those of code; of these, those that are part of a literal table or of nothing but a text."""
    found: Counter[str] = Counter()
    for package, folder in PACKAGES.items():
        for file in sorted((root / folder / package).rglob("*.py")):
            text = file.read_text("utf-8")
            code, texts = _code_and_texts(text)
            # The TypedDicts of the vocabulary say what stands in AWS's and Strands' pages: a table too.
            tables = code if (package, file.parent.name) == ("converse_harness", "types") else _tables(ast.parse(text))
            found["all"] += len(text.splitlines())
            found["code"] += len(code)
            found["tables"] += len(code & tables)
            found["texts"] += len((code & texts) - tables)
    found["code without tables and texts"] = found["code"] - found["tables"] - found["texts"]
    return found


def _code_and_texts(text: str) -> tuple[set[int], set[int]]:
    """Numbers of the lines that hold code, docstrings left out; and of those that hold nothing but text."""
    documentation = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code: set[int] = set()
    other: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _EMPTY:
            continue
        rows = range(token.start[0], token.end[0] + 1)
        code.update(rows)
        if token.type not in _TEXT and token.string not in set("()[]{},+"):
            other.update(rows)
    code -= documentation
    strings = {row for row in code if row not in other}
    lonely = {row for row, line in enumerate(text.splitlines(), 1) if not set(line.strip()) - set("()[]{},")}
    return code, strings - lonely


def _tables(tree: ast.Module) -> set[int]:
    """Lines of the literals of more than one line that a module or a class gives a name to."""
    found: set[int] = set()
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for node in (node for body in bodies for node in body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_table(node.value):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _is_table(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):  # MappingProxyType({...}), frozenset({...})
        return any(_is_table(each) for each in value.args)
    return isinstance(value, ast.Dict | ast.List | ast.Tuple | ast.Set) and value.end_lineno != value.lineno


def main(root: Path) -> None:
    """Print the measures of a checkout."""
    trees = modules(root)
    print(f"{'folder':52}files floors  lines")
    found = folders(root)
    for name, folder in found.items():
        print(f"{name:52}{folder.files:5}{folder.floors:7}{folder.lines:7}")
    print()
    from converse_harness.features import FEATURES  # here, as tests/house/dist.py imports this module without it

    features = by_feature(found)
    for name, count in features.items():
        print(f"feature {name:24}{count:7} of {FEATURES[name].lines}")
    harness = sum(folder.lines for name, folder in found.items() if name.startswith("converse_harness"))
    print(f"{'features':32}{sum(features.values()):7}")
    print(f"{'core':32}{harness - sum(features.values()):7}")
    print()
    print(f"modules          {len(trees):6}")
    print(f"classes          {len(classes(trees)):6}")
    print(f"names twice      {len(twice(trees)):6}  {', '.join(twice(trees))}")
    print(f"circles          {len(circles(trees)):6}")
    for circle in circles(trees):
        print(f"                         {' '.join(circle)}")
    print(f"layers           {layers(root):6}")
    needed = loaded(root)
    print(f"a fake with boto loads {len(needed)} modules with {sum(needed.values()):,} lines")
    for name, number in lines(root).items():
        print(f"lines: {name:32}{number:6}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
