"""What the house keeps: a class name occurs once, no modules need each other in a circle, and what is named exists."""

from converse_harness.intercept.patch_points import POINTS
from converse_harness.intercept.patches import function_named
from tests.house.measure import circles, modules, twice


def test_a_class_name_occurs_once() -> None:
    assert twice(modules()) == {}


def test_no_modules_need_each_other() -> None:
    assert circles(modules()) == []


def test_what_replaces_an_attribute_exists() -> None:
    assert all(callable(function_named(point.replace)) for point in POINTS if point.replace is not None)
