"""Run mypy and pyright on the files of this folder and of the features, against the installed package.

`accepts_*.py` must be clean. In `refuses_*.py` each line that ends in `# error` must be reported by both checkers, and
no other line. Both run strict, on a copy outside of the project, without its settings: as in a user's own project.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent

Lines = set[tuple[str, int]]


def expected(files: list[Path]) -> Lines:
    """The lines that a checker must report."""
    return {
        (file.name, number)
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith("# error")
    }


def mypy(folder: Path) -> Mapping[tuple[str, int], str]:
    """What mypy reports, by file and line."""
    environment = {**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "")}
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "--no-pretty", "--no-error-summary"]
    command += ["--hide-error-context", "."]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    if done.returncode not in (0, 1) or done.stderr:
        raise SystemExit(f"mypy did not run:\n{done.stdout}{done.stderr}")
    found = re.finditer(r"^(?P<file>.+?):(?P<line>\d+): error: (?P<text>.*)$", done.stdout, re.MULTILINE)
    return {(Path(match["file"]).name, int(match["line"])): match["text"] for match in found}


def pyright(folder: Path) -> Mapping[tuple[str, int], str]:
    """What pyright reports, by file and line."""
    Path(folder, "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pyright did not run:\n{done.stdout}{done.stderr}")
    report = json.loads(done.stdout)
    if not report["summary"]["filesAnalyzed"]:
        raise SystemExit("pyright found no file to check.")
    return {
        (Path(item["file"]).name, item["range"]["start"]["line"] + 1): item["message"]
        for item in report["generalDiagnostics"]
        if item["severity"] == "error"
    }


CHECKERS: tuple[Callable[[Path], Mapping[tuple[str, int], str]], ...] = (mypy, pyright)


def main() -> int:
    """Compare; the exit status is the number of lines on which a checker is not of our opinion."""
    folders = [HERE, *HERE.parent.glob("features/*/typing")]
    files = sorted(
        file for folder in folders for kind in ("accepts", "refuses") for file in folder.glob(f"{kind}_*.py")
    )
    wanted = expected(files)
    if not files or not wanted:
        raise SystemExit(f"{HERE} holds nothing to check.")
    wrong = 0
    for checker in CHECKERS:
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                shutil.copy(file, folder)
            found = checker(Path(folder))
        for name, line in sorted(found.keys() - wanted):
            print(f"{name}:{line}: {checker.__name__} refuses this: {found[name, line]}")
        for name, line in sorted(wanted - found.keys()):
            print(f"{name}:{line}: {checker.__name__} must refuse this and does not")
        wrong += len(found.keys() ^ wanted)
    print(f"{len(files)} files, {len(wanted)} lines to refuse, {wrong} differences")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
