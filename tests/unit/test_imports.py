"""Importing the package costs nothing: what is heavy is loaded at first need. Its public names are all there."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import converse_harness

HEAVY = frozenset({"asyncio", "botocore", "faker", "h11", "h2", "httpx", "hypothesis", "respx"})

# Only what comes on top of pytest counts: it may load parts of the standard library itself.
LOADED_BY = """
import json, sys
import pytest
before = set(sys.modules)
import {module}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded_by(module: str) -> set[str]:
    """The modules that an import loads in a fresh interpreter, pytest's own aside."""
    run = subprocess.run(
        [sys.executable, "-c", LOADED_BY.format(module=module)], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(run.stdout))


@pytest.mark.parametrize("module", ["converse_harness", "converse_harness.cases", "converse_harness.plugin"])
def test_import_loads_nothing_heavy(module: str) -> None:
    loaded = loaded_by(module)
    assert module in loaded
    assert {name for name in loaded if name.partition(".")[0] in HEAVY} == set()


def test_what_recordings_need_is_loaded_with_the_first_of_them() -> None:
    loaded = loaded_by("converse_harness.plugin")
    assert {name for name in loaded if "recording" in name} == {
        "converse_harness.plugin.recording",
        "converse_harness.recordings",
        "converse_harness.recordings.choices",
    }


def test_a_plugin_without_a_contract_loads_none() -> None:
    loaded = loaded_by("converse_harness.plugin")
    assert "converse_harness.plugin.contracts" in loaded
    assert {name for name in loaded if name.startswith("converse_harness.contract")} == set()


def test_strategies_load_the_service_model_at_first_need() -> None:
    assert {name for name in loaded_by("converse_strategies") if name.partition(".")[0] == "botocore"} == set()


def test_public_names_are_sorted_and_unique() -> None:
    assert list(converse_harness.__all__) == sorted(set(converse_harness.__all__))


@pytest.mark.parametrize("name", converse_harness.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(converse_harness, name) is getattr(converse_harness, name)
    assert name in dir(converse_harness)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(converse_harness, "no_such_name")  # noqa: B009  (a checker knows that the name is wrong)


def test_ci_tests_the_installed_wheel() -> None:
    """The root of the tree, which is on sys.path, has no package of ours; under CI=true the installed is imported."""
    imported = Path(converse_harness.__file__).resolve()
    root = Path(__file__).resolve().parents[2]
    if os.environ.get("CI") == "true":
        assert imported.is_relative_to(Path(sysconfig.get_paths()["purelib"]).resolve())
    assert not list(root.glob("converse_*"))
