"""Patches that stay while a session's tests run: with no fake open nobody notices, at the end everything is back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

import boto3
import botocore.endpoint
import pytest
import wrapt
from opentelemetry.instrumentation.threading import ThreadingInstrumentor

from converse_harness import fake_converse, reply
from converse_harness.intercept.registry import OPEN_FAKES
from tests.intercept.test_leaving import attributes
from tests.nested import OURS

pytest_plugins = ("pytester",)


@contextmanager
def mocked() -> Iterator[None]:
    with mock.patch("botocore.endpoint.Endpoint._send"):
        yield


@contextmanager
def wrapped() -> Iterator[None]:
    """As instrumentation does it: a proxy of wrapt is put in, and what it wraps is put back."""

    def instrument(below: Any, instance: object, args: Any, kwargs: Any) -> Any:
        return below(*args, **kwargs)

    holder: Any = botocore.endpoint.Endpoint
    wrapt.wrap_function_wrapper(botocore.endpoint, "Endpoint._send", instrument)
    try:
        yield
    finally:
        holder._send = vars(holder)["_send"].__wrapped__


@contextmanager
def instrumented() -> Iterator[None]:
    """OpenTelemetry's own, which wraps `Thread.start`."""
    instrumentor = ThreadingInstrumentor()
    instrumentor.instrument()
    try:
        yield
    finally:
        instrumentor.uninstrument()


SOMEBODY: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "unittest.mock": mocked,
    "wrapt": wrapped,
    "OpenTelemetry": instrumented,
}


@pytest.fixture
def kept(unkept: None) -> Iterator[Callable[[], None]]:
    """Somebody keeps the patches until this is called."""
    OPEN_FAKES.forget_threads()
    OPEN_FAKES.unpatch_if_idle()
    owner = object()
    OPEN_FAKES.keep_patches(owner)
    yield lambda: OPEN_FAKES.drop_patches(owner)
    OPEN_FAKES.drop_patches(owner)


def ask() -> str:
    client = boto3.Session().client("bedrock-runtime", region_name="us-east-1")
    asked: dict[str, Any] = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    answer = client.converse(**asked)
    return str(answer["output"]["message"]["content"][0]["text"])


def test_patches_are_the_same_in_every_fake_and_back_at_the_end(kept: Callable[[], None]) -> None:
    originals = attributes()
    with fake_converse(reply.text("one")):
        assert ask() == "one"
        during = attributes()
    assert attributes() == during != originals
    with fake_converse(reply.text("two")):
        assert ask() == "two"
        assert attributes() == during
    kept()
    assert attributes() == originals


@pytest.mark.parametrize("name", SOMEBODY)
@pytest.mark.parametrize("fake_open", [False, True], ids=["between two fakes", "while a fake is open"])
def test_somebody_else_comes_between_two_fakes(kept: Callable[[], None], name: str, fake_open: bool) -> None:
    with_fakes_around(SOMEBODY[name], kept, fake_open=fake_open)


def with_fakes_around(
    somebody: Callable[[], AbstractContextManager[object]], kept: Callable[[], None], *, fake_open: bool
) -> None:
    """Somebody comes after a fake and leaves before another; botocore is the original at the end."""
    originals = attributes()
    with fake_converse(reply.text("one")):
        assert ask() == "one"
    with somebody():
        if fake_open:
            with fake_converse(reply.text("two")):
                assert ask() == "two"
    with fake_converse(reply.text("three")):
        assert ask() == "three"
    kept()
    assert attributes() == originals


@pytest.mark.parametrize("name", ["unittest.mock", "OpenTelemetry"])
def test_somebody_who_was_there_before_leaves_while_patches_are_kept(kept: Callable[[], None], name: str) -> None:
    originals = attributes()
    with SOMEBODY[name](), fake_converse(reply.text("one")):
        assert ask() == "one"
    with fake_converse(reply.text("two")):
        assert ask() == "two"
    kept()
    assert attributes() == originals


@pytest.fixture
def alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project that loads of the installed plugins ours alone."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(OURS))
    return pytester


@pytest.mark.parametrize("patches", ["session", "test"])
def test_the_setting(alone: pytest.Pytester, patches: str) -> None:
    alone.makeini(f"[pytest]\nconverse_patches = {patches}")
    alone.makeconftest(
        """
        import botocore.endpoint, pytest
        ORIGINAL = botocore.endpoint.Endpoint._send

        @pytest.hookimpl(trylast=True)
        def pytest_unconfigure(config):
            print("back at the end:", botocore.endpoint.Endpoint._send is ORIGINAL)
        """
    )
    alone.makepyfile(
        f"""
        import botocore.endpoint
        from conftest import ORIGINAL

        def test_before(): assert botocore.endpoint.Endpoint._send is ORIGINAL
        def test_with_a_fake(converse): assert botocore.endpoint.Endpoint._send is not ORIGINAL
        def test_after(): assert (botocore.endpoint.Endpoint._send is ORIGINAL) is {patches == "test"}
        """
    )
    result = alone.runpytest_subprocess()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["back at the end: True"])


def test_a_setting_that_is_none(alone: pytest.Pytester) -> None:
    alone.makeini("[pytest]\nconverse_patches = always")
    result = alone.runpytest()
    result.stderr.fnmatch_lines(["*converse_patches = always: one of session, test.*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
