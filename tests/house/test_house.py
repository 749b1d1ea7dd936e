"""What the house keeps: a class name occurs once, no modules in a circle, and what is named exists."""

import re
from collections import Counter

import pytest

from converse_harness.intercept.patch_points import POINTS
from converse_harness.intercept.patches import function_named
from tests.house.measure import PACKAGES, ROOT, circles, modules


def test_a_class_name_occurs_once() -> None:
    files = [file for folder in PACKAGES.values() for file in (ROOT / folder).rglob("*.py")]
    texts = [file.read_text("utf-8") for file in files if file.parent.name != "types"]  # its names are Strands'
    names = Counter(name for text in texts for name in re.findall(r"(?m)^ *class (\w+)", text))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.slow
def test_no_modules_need_each_other() -> None:
    assert circles(modules()) == []


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
