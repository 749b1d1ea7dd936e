"""What a user's function or predicate raises: the message has whose function it is, and where it was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from botocore.exceptions import ClientError

from converse_harness import Call, Fake, Reply, fake_converse, reply
from converse_harness.intercept.clients import create_client
from tests.nested import OURS

HERE = "test_user_functions.py"


def ask() -> None:
    create_client().converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])


def embed() -> None:
    create_client().invoke_model(modelId="m", body=b"{}")


def answer(call: Call) -> Reply:
    return reply.text(call.body["foo"])


RAISES_AT = inspect.getsourcelines(answer)[1] + 1

FUNCTIONS: dict[str, tuple[Callable[[Any], object], Callable[[], None], str]] = {
    "always": (
        lambda fake: fake.always(lambda call: reply.text(call.body["foo"])),
        ask,
        "raised by the function given to always() at {given}, while it answered call 1",
    ),
    "a name": (
        lambda fake: fake.script(answer),
        ask,
        "raised at {raised} by the function answer given to script() at {given}, while it answered call 1",
    ),
    "no argument": (
        lambda fake: fake.when(turn=1).always(lambda: reply.text("a")),
        ask,
        "raised by the function given to when().always() at {given}, while it answered call 1",
    ),
    "on_operation": (
        lambda fake: fake.on_operation("InvokeModel", lambda call: [0.5]),
        embed,
        "returned by the function given to on_operation('InvokeModel', ...) at {given}, while it answered call 1",
    ),
    "a predicate": (
        lambda fake: fake.when(lambda call: call.nothing).always(reply.text("a")),
        ask,
        "raised by the predicate given to when() at {given}, while it looked at call 1",
    ),
    "a predicate of an operation": (
        lambda fake: fake.when(lambda call: call.body["foo"], operation="InvokeModel").always(reply.throttled()),
        embed,
        "raised by the predicate given to when() at {given}, while it looked at call 1",
    ),
}


@pytest.mark.parametrize(("write", "asked", "told"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_an_error_of_a_users_function_has_its_place(
    write: Callable[[Fake], object], asked: Callable[[], None], told: str
) -> None:
    line = inspect.getsourcelines(write)[1] + (0 if "lambda fake" in inspect.getsourcelines(write)[0][0] else 1)
    with closing(fake_converse().open()) as fake:
        write(fake)
        with pytest.raises(ClientError) as seen:
            asked()
        expected = told.format(given=f"tests/intercept/{HERE}:{line}", raised=f"tests/intercept/{HERE}:{RAISES_AT}")
        assert seen.value.response["Error"]["Message"].endswith(f", {expected}")
        assert f", {expected}" in fake.transcript
        with pytest.raises((LookupError, AttributeError, TypeError, ValueError)) as raised:
            fake.check()
    assert raised.value.__notes__ == [expected]


def test_an_error_that_is_raised_again_has_one_note_for_each_call() -> None:
    error = KeyError("foo")

    def answers(call: Call) -> Reply:
        raise error

    with closing(fake_converse().open()) as fake:
        fake.always(answers)
        for _ in range(2):
            with pytest.raises(ClientError):
                ask()
    assert [note.rpartition("while ")[2] for note in error.__notes__] == ["it answered call 1", "it answered call 2"]


def test_the_failure_of_a_test_has_it_also_where_the_client_swallows_the_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        test_a="""
import boto3
from converse_harness import reply

def ask():
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])

def test_raises(converse):
    converse.always(lambda call: reply.text(call.body["foo"]))
    ask()

def test_swallows(converse):
    converse.when(lambda call: call.nothing).script(reply.text("a"))
    try:
        ask()
    except Exception:
        pass
"""
    )
    result = pytester.runpytest_inprocess(*OURS)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*KeyError: 'foo'",
            "E*raised by the function given to always() at test_a.py:9, while it answered call 1",
            "E*AttributeError: 'Call' object has no attribute 'nothing'",
            "E*raised by the predicate given to when() at test_a.py:13, while it looked at call 1",
        ]
    )
