"""Run tests in a copy of the checkout without features and built-in stages: their folders, their tests, their lines.

    python -m tests.without [-f FEATURE]... [-s STAGE]... [ARGUMENT OF PYTEST]...

Without `-f` and `-s`, all features and all built-in stages are removed, so that the rest is the core. What describes
the whole product is not run: tests/house and tests/examples, and no test looks for the installed wheel. Without a
stage, the tests of threads that use all stages at once are not run either.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from converse_harness.features import FEATURES

ROOT: Final = Path(__file__).parents[1]
_TABLE: Final = Path("harness/converse_harness/features/__init__.py")
_STAGES: Final = Path("harness/converse_harness/endpoint/stages.py")
_WHOLE: Final = ("tests/house", "tests/examples")
_ALL_STAGES: Final = ("tests/endpoint/test_shared_calls.py", "tests/endpoint/test_shared_state.py")
_OF_WHEEL: Final = "tests/package/test_imports.py::test_ci_tests_the_installed_wheel"


def stages() -> list[str]:
    """Return the names of the built-in stages: the folders of the endpoint from which `stages.py` imports."""
    tree = ast.parse((ROOT / _STAGES).read_text(encoding="utf-8"))
    return sorted({*filter(None, map(_stage_of, tree.body))})


def _stage_of(node: ast.AST) -> str | None:
    """Return the name of the built-in stage that a statement imports."""
    imported = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    found = re.fullmatch(r"converse_harness\.endpoint\.(\w+)\.\w+", imported)
    return found and found[1]


def without(features: Collection[str], stages: Collection[str], folder: Path) -> None:
    """Copy the files that git knows, and those that are new, to a folder, without these features and stages."""
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, text=True)
    parts = [(features, _TABLE.parent, "tests/features"), (stages, _STAGES.parent, "tests/endpoint")]
    gone = [f"{place}/{name}/" for names, *places in parts for name in names for place in places]
    for name in filter(None, listed.split("\0")):
        if not name.startswith(tuple(gone)) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    table, module = folder / _TABLE, folder / _STAGES
    table.write_text(_without_rows(table.read_text(encoding="utf-8"), features), encoding="utf-8")
    tree = _WithoutStages(stages).visit(ast.parse(module.read_text(encoding="utf-8")))
    module.write_text(ast.unparse(tree), encoding="utf-8")


class _WithoutStages(ast.NodeTransformer):
    """Removes the imports of these stages, and then each use of an imported name in a list, a tuple or the bases."""

    def __init__(self, stages: Collection[str]) -> None:
        self._stages = stages
        self._names: set[str] = set()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        if _stage_of(node) not in self._stages:
            return node
        self._names |= {each.asname or each.name for each in node.names}
        return None

    def visit_Name(self, node: ast.Name) -> ast.AST | None:
        return None if node.id in self._names else node


def _without_rows(source: str, features: Collection[str]) -> str:
    """Remove the rows of these features from the table."""
    tree = ast.parse(source)
    (rows,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "FEATURES"
    )
    assert isinstance(rows, ast.Dict)
    lines = source.splitlines(keepends=True)
    for key, row in [*zip(rows.keys, rows.values, strict=True)][::-1]:
        if isinstance(key, ast.Constant) and key.value in features:
            del lines[key.lineno - 1 : row.end_lineno]
    return "".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.without")
    parser.add_argument("-f", dest="features", action="append", choices=FEATURES, metavar="FEATURE")
    parser.add_argument("-s", dest="stages", action="append", choices=stages(), metavar="STAGE")
    given, others = parser.parse_known_args(arguments)
    everything = not (given.features or given.stages)
    features = [*FEATURES] if everything else given.features or []
    built_in = stages() if everything else given.stages or []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, ROOT.name)
        without(features, built_in, folder)
        shared = ROOT.parent / "shared"
        if shared.is_dir():  # the tests of the oracle compare with it, beside the project
            (folder.parent / shared.name).symlink_to(shared)
        path = os.pathsep.join(str(folder / name) for name in ("harness", "strategies"))
        whole = (*_WHOLE, *_ALL_STAGES) if built_in else _WHOLE
        ignored = [*(f"--ignore={name}" for name in whole), f"--deselect={_OF_WHEEL}"]
        print(f"without {', '.join([*features, *built_in])}", flush=True)
        command = [sys.executable, "-m", "pytest", *ignored, *others]
        return subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
