"""Every example in a docstring of the two packages runs."""

import doctest
import pkgutil
import re
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


SEARCHED_LONG = re.compile(
    r"converse_strategies\.(chunking|conversation|failing|guardrails|hostile|message|metadata|received|refused|requests"
    r"|responses|streams|tools|strands\.(citations|content|guardrails|memory|streaming|tools))\."
)
"""Of what is large, the smallest that hypothesis finds takes long to find."""


def is_slow(test: doctest.DocTest) -> bool:
    return bool(SEARCHED_LONG.match(test.name)) and any("find(" in example.source for example in test.examples)


@pytest.mark.parametrize(
    "example",
    [pytest.param(test, id=test.name, marks=[pytest.mark.slow] if is_slow(test) else []) for test in EXAMPLES],
)
def test_docstring(example: doctest.DocTest) -> None:
    run_doctest(example)
