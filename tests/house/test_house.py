"""What the house keeps: a class name occurs once, no modules in a circle, and what is named exists."""

import re
import subprocess
import sys
from collections import Counter

import pytest

from converse_harness.features import FEATURES
from converse_harness.intercept.patch_points import POINTS
from converse_harness.intercept.patches import function_named
from tests.house.measure import PACKAGES, ROOT, by_feature, circles, files, folders, loaded, modules
from tests.without import stages


def test_a_class_name_occurs_once() -> None:
    files = [file for folder in PACKAGES.values() for file in (ROOT / folder).rglob("*.py")]
    texts = [file.read_text("utf-8") for file in files if file.parent.name != "types"]  # its names are Strands'
    names = Counter(name for text in texts for name in re.findall(r"(?m)^ *class (\w+)", text))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []


MOST_FILES = 12


def test_a_folder_has_few_files() -> None:
    assert [name for name, folder in folders().items() if folder.files > MOST_FILES] == []


def test_no_modules_need_each_other() -> None:
    assert circles(modules()) == []


def test_a_feature_keeps_its_budget() -> None:
    lines = by_feature(folders())
    assert lines.keys() == FEATURES.keys()
    assert [name for name, count in lines.items() if count > FEATURES[name].lines] == []


NOT_LOADED = (
    "converse_harness.features.",
    "converse_harness.recordings.record",
    "converse_harness.recordings.redaction",
    "converse_harness.recordings.format.check",
)


@pytest.mark.needs_os
def test_a_fake_with_boto_loads_no_feature_and_no_writer() -> None:
    names = loaded()
    assert {"converse_harness.endpoint.render", "converse_harness.intercept.boto.sync"} <= names.keys()
    assert [name for name in names if name.startswith(NOT_LOADED)] == []


REMOVED = {
    **{feature: ("-f", feature) for feature in FEATURES},
    **{stage: ("-s", stage) for stage in stages()},
    # The prompt cache compares a call with its parent, which history finds. Without it, nothing counts as rewritten.
    "history": ("-s", "history", "-s", "prompt_cache"),
    "all features": tuple(option for feature in FEATURES for option in ("-f", feature)),
}


@pytest.mark.nightly
@pytest.mark.parametrize("options", REMOVED.values(), ids=REMOVED)
def test_the_others_stand_without(options: tuple[str, ...]) -> None:
    """The session `core` tests the core without all features and built-in stages."""
    command = [sys.executable, "-m", "tests.without", *options, "--tier", "default", "-q"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-5000:]


@pytest.mark.nightly
@pytest.mark.parametrize("module", files())
def test_a_module_can_be_imported_first(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


def test_what_replaces_an_attribute_exists() -> None:
    assert all(callable(function_named(point.replace)) for point in POINTS if point.replace is not None)


JS_TEST = re.compile(r"(?:(?:^|.*[._-])(?:test|spec)|test-.*)\.[cm]?[jt]sx?")
"""What vitest, jest or node:test take for a test."""


def test_no_shipped_file_is_a_test_of_somebody_else() -> None:
    """A runner of JavaScript that starts beside a `.venv` looks for tests in it, and fails on ours."""
    folders = [ROOT / "docs", *(ROOT / folder for folder in PACKAGES.values())]
    files = [file.relative_to(ROOT) for folder in folders for file in folder.rglob("*.*") if file.is_file()]
    assert any(file.suffix == ".mjs" for file in files)
    assert [file for file in files if JS_TEST.fullmatch(file.name) or {*file.parts} & {"test", "__tests__"}] == []
