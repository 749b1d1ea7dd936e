"""A decorator that cannot wrap what is below it raises at its line: no test is lost without a word."""

from __future__ import annotations

import contextlib
import functools
import unittest
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from converse_harness import fake_converse, record, reply


class Plain:
    def test_it(self) -> None: ...


class OfUnittest(unittest.TestCase):
    def test_it(self) -> None: ...


def generator() -> Iterator[None]:
    yield


async def async_generator() -> AsyncIterator[None]:
    yield


@pytest.fixture
def fixture() -> Iterator[None]:
    yield  # noqa: PT022 - what stands behind it is not the subject


@contextlib.contextmanager
def manager() -> Iterator[None]:
    yield


@contextlib.asynccontextmanager
async def async_manager() -> AsyncIterator[None]:
    yield


IN_CLASS = r"the class .*Decorate each test method.*self\.enterContext\({made_by}\(\.\.\.\)\) in setUp"
IN_OBJECT = ".* Put it directly above the `def`"
IN_GENERATOR = r"the generator function .*Open it inside: `with {made_by}\(\.\.\.\):`"


@pytest.mark.parametrize(
    ("made_by", "decorator"),
    [("fake_converse", fake_converse(reply.text("hi"))), ("record", record(Path("never-written.jsonl")))],
    ids=["fake_converse", "record"],
)
@pytest.mark.parametrize(
    ("decorated", "advice"),
    [
        (Plain, IN_CLASS),
        (OfUnittest, IN_CLASS),
        (generator, IN_GENERATOR),
        (async_generator, IN_GENERATOR),
        (functools.partial(generator), IN_GENERATOR),
        (fixture, IN_GENERATOR),
        (manager, IN_GENERATOR),
        (async_manager, IN_GENERATOR),
        (classmethod(lambda cls: None), IN_OBJECT),
        (property(lambda self: None), IN_OBJECT),
    ],
)
def test_what_it_cannot_wrap_is_refused_at_its_line(made_by: str, decorator: Any, decorated: Any, advice: str) -> None:
    with pytest.raises(TypeError, match=rf"^@{made_by}\(\.\.\.\) on {advice.format(made_by=made_by)}"):
        decorator(decorated)


@pytest.mark.parametrize("made", [fake_converse, record])
@pytest.mark.parametrize("decorated", [Plain, OfUnittest, Plain.test_it])
def test_the_parentheses_are_missed(made: Any, decorated: Any) -> None:
    with pytest.raises(TypeError, match=rf"lacks its parentheses: write @{made.__name__}\(\.\.\.\)"):
        made(decorated)


def test_a_function_of_the_call_is_no_test() -> None:
    def answer(call: Any) -> Any:
        return reply.text("hi")

    fake_converse(answer)
    fake_converse(lambda call: reply.text("hi"))
