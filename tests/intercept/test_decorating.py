"""A fake as a decorator: around each call, the life of a generator, each test of a class; no test is lost."""

from __future__ import annotations

import asyncio
import contextlib
import io
import unittest
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from converse_harness import ConverseServer, UnusedReplies, fake_converse, record, reply
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.recordings.format.read import read

ONE = fake_converse(reply.text("one"))


def ask(url: str | None = None) -> str:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    client = boto3.client("bedrock-runtime", endpoint_url=url, **keys)
    message = {"role": "user", "content": [{"text": "?"}]}
    text: str = client.converse(modelId="m", messages=[message])["output"]["message"]["content"][0]["text"]
    return text


def is_open() -> bool:
    return OPEN_FAKES.newest() is not None


# Classes of pytest


class Base:
    def test_inherited(self) -> str:
        return ask()

    def helper(self) -> bool:
        return is_open()

    @property
    def test_property(self) -> bool:
        return is_open()


@ONE
class Plain(Base):
    def test_it(self) -> str:
        return ask()

    async def test_async(self) -> str:
        return ask()

    @staticmethod
    def test_static() -> str:
        return ask()

    @classmethod
    def test_of_class(cls) -> str:
        return f"{cls.__name__} {ask()}"


def test_each_test_of_a_class_has_a_fake_of_its_own() -> None:
    plain = Plain()
    for _ in range(2):
        assert [plain.test_it(), asyncio.run(plain.test_async()), plain.test_static()] == ["one"] * 3
        assert [plain.test_inherited(), plain.test_of_class()] == ["one", "Plain one"]
    assert not is_open()


def test_what_is_no_test_of_a_class_stays_as_it_is() -> None:
    assert (Plain().helper(), Plain().test_property) == (False, False)
    assert Base.test_inherited is not Plain.test_inherited
    assert Base.helper is Plain.helper


def test_the_decorator_of_a_subclass_replaces_that_of_its_base() -> None:
    @fake_converse(reply.text("two"))
    class Lower(Plain):
        pass

    assert (Lower().test_it(), Lower().test_inherited(), Plain().test_it()) == ("two", "two", "one")


def test_a_reply_that_a_test_of_a_class_leaves_fails_it() -> None:
    @ONE
    class Idle:
        def test_it(self) -> None: ...

    with pytest.raises(UnusedReplies):
        Idle().test_it()


@pytest.mark.needs_os
def test_a_class_that_records_has_a_file_for_each_test(converse_server: ConverseServer, tmp_path: Path) -> None:
    with converse_server.script(reply.text("a"), reply.text("b")) as service:

        @record(tmp_path / "trip.jsonl")
        class Recorded:
            def test_a(self) -> str:
                return ask(service.url)

            def test_b(self) -> str:
                return ask(service.url)

        assert (Recorded().test_a(), Recorded().test_b()) == ("a", "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trip.test_a.jsonl", "trip.test_b.jsonl"]
    assert len(read(tmp_path / "trip.test_b.jsonl").exchanges) == 1


# Classes of unittest


class Steps:
    """What a test of unittest saw, in its order: where the fake was open, and where not."""

    __test__ = False  # for pytest
    seen: list[tuple[str, bool]]

    def see(self, step: str) -> None:
        self.seen.append((step, is_open()))


def run(kind: type[unittest.TestCase], seen: list[tuple[str, bool]] | None = None) -> unittest.TestResult:
    kind.seen = [] if seen is None else seen  # type: ignore[attr-defined]
    return unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(kind))


class OfUnittest(Steps, unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.seen.append(("setUpClass", is_open()))

    def setUp(self) -> None:
        self.see("setUp")
        self.addCleanup(self.see, "cleanup")

    def tearDown(self) -> None:
        self.see("tearDown")

    def test_it(self) -> None:
        self.see("test")
        assert ask() == "one"


INSIDE = [("setUp", True), ("test", True), ("tearDown", True), ("cleanup", True)]


def decorated(base: type, **members: Any) -> Any:
    return ONE(type("Decorated", (base,), members))


def decorated_twice(base: type, **members: Any) -> Any:
    return ONE(type("Lower", (fake_converse(reply.text("upper"))(type("Upper", (base,), members)),), {}))


def with_own_set_up(base: Any) -> Any:
    def set_up(self: Any) -> None:
        base.setUp(self)

    return decorated(base, setUp=set_up)


class OfUnittestAsync(Steps, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.see("setUp")
        self.addCleanup(self.see, "cleanup")

    async def asyncTearDown(self) -> None:
        self.see("tearDown")

    async def test_it(self) -> None:
        self.see("test")
        assert ask() == "one"


@pytest.mark.parametrize("make", [decorated, decorated_twice, with_own_set_up])
@pytest.mark.parametrize("base", [OfUnittest, OfUnittestAsync])
def test_all_of_a_test_of_unittest_is_inside_one_fake(base: Any, make: Callable[[Any], Any]) -> None:
    if make is with_own_set_up and base is OfUnittestAsync:
        make = decorated  # it has its own in asyncSetUp
    seen: list[tuple[str, bool]] = []
    result = run(make(base), seen)
    assert (result.testsRun, result.wasSuccessful()) == (1, True), result
    assert [step for step in seen if step[0] != "setUpClass"] == INSIDE
    assert ("setUpClass", True) not in seen
    assert not is_open()


@pytest.mark.parametrize("where", ["setUp", "test_it", "tearDown", "nowhere"])
def test_a_test_of_unittest_fails_once(where: str) -> None:
    def fail(self: Any) -> None:
        raise ValueError(where)

    result = run(decorated(unittest.TestCase, **{"test_it": lambda self: None, where: fail}))
    problems = [text for _, text in (*result.errors, *result.failures)]
    said = f"ValueError: {where}" if where in ("setUp", "test_it") else "UnusedReplies"
    assert said in problems[-1]
    assert len(problems) == (2 if where == "tearDown" else 1)
    assert not is_open()


# Generators


def test_a_generator_is_inside_for_its_life() -> None:
    @ONE
    def steps() -> Generator[str, str, str]:
        sent = yield ask()
        try:
            yield sent
        except ValueError as error:
            return str(error)
        return "not thrown"

    going = steps()
    assert not is_open()
    assert next(going) == "one"
    assert is_open()
    assert going.send("sent") == "sent"
    with pytest.raises(StopIteration, match="thrown"):
        going.throw(ValueError("thrown"))
    assert not is_open()


def test_an_async_generator_is_inside_for_its_life() -> None:
    ended: list[str] = []

    @ONE
    async def steps() -> AsyncGenerator[str, str]:
        sent = yield ask()
        try:
            yield sent
        except ValueError as error:
            yield str(error)
        finally:
            ended.append("ended")

    async def go(*, leave: bool) -> None:
        going = steps()
        assert not is_open()
        assert await anext(going) == "one"
        assert is_open()
        assert await going.asend("sent") == "sent"
        if leave:
            await going.aclose()
        else:
            assert await going.athrow(ValueError("thrown")) == "thrown"
            assert [each async for each in going] == []
        assert not is_open()

    for leave in (False, True):
        asyncio.run(go(leave=leave))
    assert ended == ["ended", "ended"]


@pytest.fixture
@ONE
def opened() -> Iterator[str]:
    yield ask()  # noqa: PT022 - a generator is the subject


@contextlib.contextmanager
@ONE
def managed() -> Iterator[str]:
    yield ask()


def test_a_fixture_and_a_context_manager_are_inside_for_their_lives(opened: str) -> None:
    assert (opened, is_open()) == ("one", True)
    with managed() as answer:
        assert answer == "one"


# What cannot be wrapped


@pytest.fixture
def fixture() -> Iterator[None]:
    yield  # noqa: PT022 - what stands behind it is not the subject


@contextlib.contextmanager
def manager() -> Iterator[None]:
    yield


@contextlib.asynccontextmanager
async def async_manager() -> AsyncIterator[None]:
    yield


class Undecorated:
    def test_it(self) -> None: ...


IN_GENERATOR = r".* made of a generator function: .* Put it directly above the `def`, below @pytest.fixture"


@pytest.mark.parametrize(
    ("made_by", "decorator"),
    [("fake_converse", fake_converse(reply.text("hi"))), ("record", record(Path("never-written.jsonl")))],
    ids=["fake_converse", "record"],
)
@pytest.mark.parametrize(
    ("decorated", "advice"),
    [
        (Steps, "the class Steps, which has no test method"),
        (fixture, IN_GENERATOR),
        (manager, IN_GENERATOR),
        (async_manager, IN_GENERATOR),
        (property(lambda self: None), ".* it wraps functions, generators and classes of tests"),
    ],
)
def test_what_it_cannot_wrap_is_refused_at_its_line(made_by: str, decorator: Any, decorated: Any, advice: str) -> None:
    with pytest.raises(TypeError, match=rf"^@{made_by}\(\.\.\.\) on {advice}"):
        decorator(decorated)


@pytest.mark.parametrize("made", [fake_converse, record])
@pytest.mark.parametrize("decorated", [Undecorated, OfUnittest, Undecorated.test_it])
def test_the_parentheses_are_missed(made: Any, decorated: Any) -> None:
    with pytest.raises(TypeError, match=rf"lacks its parentheses: write @{made.__name__}\(\.\.\.\)"):
        made(decorated)


def test_a_function_of_the_call_is_no_test() -> None:
    def answer(call: Any) -> Any:
        return reply.text("hi")

    fake_converse(answer)(lambda: None)
    fake_converse(lambda call: reply.text("hi"))(lambda: None)
