"""Run tests in a copy of the checkout from which features are removed: their folders, their tests, their rows.

    python -m tests.without_features [-f FEATURE]... [ARGUMENT OF PYTEST]...

Without `-f`, all features are removed, so that the rest is the core. What describes the whole product is not run:
tests/house and tests/examples, and no test looks for the installed wheel.
"""

import argparse
import ast
import os
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
_WHOLE: Final = ("tests/house", "tests/examples")
_OF_WHEEL: Final = "tests/package/test_imports.py::test_ci_tests_the_installed_wheel"


def without(features: Collection[str], folder: Path) -> None:
    """Copy the files that git knows, and those that are new, to a folder, without these features."""
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, text=True)
    gone = [f"{place}/{name}/" for name in features for place in (_TABLE.parent.as_posix(), "tests/features")]
    for name in filter(None, listed.split("\0")):
        if not name.startswith(tuple(gone)) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    table = folder / _TABLE
    table.write_text(_without_rows(table.read_text(encoding="utf-8"), features), encoding="utf-8")


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
    parser = argparse.ArgumentParser(prog="python -m tests.without_features")
    parser.add_argument("-f", dest="features", action="append", choices=FEATURES, metavar="FEATURE")
    given, others = parser.parse_known_args(arguments)
    features = given.features or [*FEATURES]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, ROOT.name)
        without(features, folder)
        shared = ROOT.parent / "shared"
        if shared.is_dir():  # the tests of the oracle compare with it, beside the project
            (folder.parent / shared.name).symlink_to(shared)
        path = os.pathsep.join(str(folder / name) for name in ("harness", "strategies"))
        ignored = [*(f"--ignore={name}" for name in _WHOLE), f"--deselect={_OF_WHEEL}"]
        print(f"without {', '.join(features)}", flush=True)
        command = [sys.executable, "-m", "pytest", *ignored, *others]
        return subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
