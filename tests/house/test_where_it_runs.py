"""Where the pages say that the harness runs is where the checks run it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+) \| ([^|]+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str]]:
    """System, Python and what is run, of each row of docs/doctor.md that is about one version of Python."""
    return ROW.findall((ROOT / "docs" / "doctor.md").read_text(encoding="utf-8"))


def versions(file: str, name: str) -> list[str]:
    """The versions of Python in a tuple of a module."""
    (found,) = re.findall(rf"^{name} = \((.+)\)$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    return re.findall(r'"([\d.]+)"', found)


def test_the_versions_of_the_table_are_those_that_are_tested_and_claimed() -> None:
    on_linux = [python for system, python, _ in rows() if system == "Linux x86_64"]
    prefix = "Programming Language :: Python :: "
    claimed = [line.removeprefix(prefix) for line in PROJECT["classifiers"] if line.startswith(prefix)]
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    (looked_for,) = re.findall(r"^for version in (.+); do$", script, re.MULTILINE)
    assert on_linux == claimed == versions("noxfile.py", "PYTHONS") == looked_for.split()
    systems = [line for line in PROJECT["classifiers"] if line.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]


def test_the_table_names_the_pyodide_that_is_installed() -> None:
    folder = ROOT / "tests" / "clients" / "pinned" / "pyodide"
    (installed,) = re.findall(r'"pyodide": "(\d)(\d\d)\.', (folder / "package.json").read_text(encoding="utf-8"))
    assert [system for system, python, _ in rows() if python == ".".join(installed)] == [
        f"WebAssembly (Pyodide {''.join(installed)} in Node.js)"
    ]


def test_the_page_for_ci_has_the_marker_of_the_oldest_python() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f'\nconverse-harness; python_version >= "{oldest}"\n' in page
    assert f"converse-harness needs Python {oldest}." in page
