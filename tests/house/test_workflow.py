"""The workflow for Linux, Windows and macOS has the Pythons that the project names, and the commands of the project."""

import re
import tomllib
from typing import Any, Final

import yaml

from tests.house.measure import ROOT

FOLDER: Final = ROOT / ".github" / "workflows"
SYSTEMS: Final = ["ubuntu-latest", "windows-latest", "macos-latest"]
NOT_NAMED: Final = ["3.14"]
"""Pythons that are tried before a classifier names them."""

PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def workflow() -> Any:
    return yaml.safe_load((FOLDER / "tests.yml").read_text("utf-8"))


def test_the_only_workflow_states_that_it_was_never_run() -> None:
    assert [file.name for file in FOLDER.iterdir()] == ["tests.yml"]
    first = (FOLDER / "tests.yml").read_text("utf-8").partition("\n")[0]
    assert first.startswith("# This workflow was never run, because the address of the project is not known yet.")
    assert "urls" not in PROJECT, "the address is known: run the workflow, and take the sentence away"


def test_it_has_the_pythons_that_the_project_names() -> None:
    matrix = workflow()["jobs"]["tests"]["strategy"]["matrix"]
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert matrix["python"] == list(dict.fromkeys([*named, *NOT_NAMED]))
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert matrix["os"] == SYSTEMS


def test_its_commands_are_the_projects() -> None:
    job = workflow()["jobs"]["tests"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == ['python -m pip install ".[test]"', "python -m pytest -n auto --tier default"]
    assert "test" in PROJECT["optional-dependencies"]
    assert job["env"] == {"CI": "false"}  # with "true" the oracle fails without its folder


def test_it_names_no_host() -> None:
    text = (FOLDER / "tests.yml").read_text("utf-8")
    assert "://" not in text
    assert re.findall(r"\b[\w-]+\.(?:org|com|io|net|dev)\b", text) == []
