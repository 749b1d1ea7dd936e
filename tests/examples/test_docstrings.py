"""Every example in a docstring of the two packages runs."""

import doctest
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

from tests.examples.pages import run_doctest

PACKAGES = ("converse_harness", "converse_strategies")


def modules() -> Iterator[ModuleType]:
    """Every module of the packages."""
    for package in map(import_module, PACKAGES):
        for name in package.__all__:
            getattr(package, name)  # a class that says it is of the package is found there, once it is loaded
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield import_module(found.name)


EXAMPLES = [test for module in modules() for test in doctest.DocTestFinder().find(module) if test.examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda test: test.name)
def test_docstring(example: doctest.DocTest) -> None:
    run_doctest(example)
