"""Mistakes that people make with their first tests: what the message advises, and that the advice is true."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from botocore.exceptions import ClientError

from converse_harness import Fake, ReplyError, TransportError, UnexpectedCall, UnusedReplies, fake_converse, reply
from converse_harness.intercept.clients import create_client

NOVA = "us.amazon.nova-lite-v1:0"


def ask(text: str = "What weather?") -> Any:
    return create_client().converse(modelId=NOVA, messages=[{"role": "user", "content": [{"text": text}]}])


def stream() -> None:
    create_client().converse_stream(modelId=NOVA, messages=[{"role": "user", "content": [{"text": "?"}]}])


NO_MATCH: dict[str, tuple[Callable[[Fake], object], Callable[[], object], str]] = {
    "one of two operations": (
        lambda fake: fake.when(operation="Converse").script(reply.text("x")),
        stream,
        "no match: operation is ConverseStream (operation= is one exact name, leave it out for both)\n",
    ),
    "capitals": (
        lambda fake: fake.when(last_user_text="*Weather*").script(reply.text("x")),
        ask,
        'no match: last_user_text is "What weather?" (capitals count in a glob)\n',
    ),
    "part of a text": (
        lambda fake: fake.when(last_user_text="weather").script(reply.text("x")),
        ask,
        "(a string is a glob of the whole text: last_user_text='*weather*')\n",
    ),
}


@pytest.mark.parametrize(("write", "asked", "told"), NO_MATCH.values(), ids=NO_MATCH)
def test_a_condition_that_nearly_matches(
    write: Callable[[Fake], object], asked: Callable[[], object], told: str
) -> None:
    with closing(fake_converse().open()) as fake:
        write(fake)
        with pytest.raises(ClientError):
            asked()
        with pytest.raises(UnexpectedCall) as raised:
            fake.check()
    assert told in str(raised.value)


def test_a_fake_that_is_opened_twice_is_an_error_and_stays_open() -> None:
    with fake_converse(reply.text("hi")) as fake:
        with pytest.raises(TransportError, match="already open"), fake:
            pass
        assert ask()["output"]["message"]["content"] == [{"text": "hi"}]


MESSAGE: dict[str, Any] = {"role": "assistant", "content": [{"text": "x"}]}
PASTED = {"output": {"message": MESSAGE}, "stopReason": "end_turn"}

ADVICE: dict[str, tuple[Callable[[Any], object], str]] = {
    "a block": (lambda fake: fake.script({"text": "hi"}), " For a block of a message: reply.message({...})."),
    "a message": (
        lambda fake: fake.script(MESSAGE),
        'For a message, give its blocks: reply.message(*message["content"]).',
    ),
    "a response": (lambda fake: fake.always(PASTED), " For what boto3 returned, as it is: reply.response({...})."),
    "a generator": (lambda fake: fake.script(reply.text(x) for x in "ab"), "write a star before the list, *replies."),
    "an output": (lambda fake: fake.script({"body": b"1"}), 'converse.on_operation("InvokeModel", {...})'),
}


@pytest.mark.parametrize(("write", "told"), ADVICE.values(), ids=ADVICE)
def test_what_to_write_instead_of_a_dict(write: Callable[[Any], object], told: str) -> None:
    with fake_converse() as fake, pytest.raises(ReplyError) as raised:
        write(fake)
    assert told in str(raised.value)


def test_the_advice_for_dicts_is_true() -> None:
    with fake_converse() as fake:
        fake.script(reply.message({"text": "hi"}), reply.message(*MESSAGE["content"]), reply.response(PASTED))
        assert [ask()["output"]["message"]["content"] for _ in range(3)] == [
            [{"text": word}] for word in ["hi", "x", "x"]
        ]


def test_calls_of_an_operation_that_did_not_arrive() -> None:
    with fake_converse() as fake:
        fake.script(reply.text("a"))
        ask()
        with pytest.raises(IndexError) as raised:
            _ = fake.calls.of("ApplyGuardrail").last
        assert (
            str(raised.value)
            == "calls.of('ApplyGuardrail').last: no ApplyGuardrail call arrived. Calls so far: Converse (1)."
        )
        with pytest.raises(IndexError, match=r"^calls.of\('ApplyGuardrail'\)\[0\]: no ApplyGuardrail call arrived\. "):
            fake.calls.of("ApplyGuardrail")[0]
        with pytest.raises(IndexError, match=r"^calls\[1\]: there is 1 call: calls\[0\]\.$"):
            fake.calls[1]
        with pytest.raises(IndexError, match=r"^calls.of\('Converse'\)\[1\]: there is 1 call: "):
            fake.calls.of("Converse")[1]


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda fake: fake.script(*[]), r'^script\(\): it needs a reply, as script\(reply.text\("..."\)\).$'),
        (lambda fake: fake.when(turn=1).script(), r"^when\(\).script\(\): it needs a reply, as when\(\).script\(reply"),
    ],
)
def test_a_script_of_nothing(write: Callable[[Fake], object], told: str) -> None:
    with fake_converse(unused="allow") as fake, pytest.raises(ReplyError, match=told):
        write(fake)


def test_a_condition_without_a_reply_fails_at_the_end() -> None:
    def run(**settings: Any) -> None:
        with fake_converse(reply.text("a"), **settings) as fake:
            fake.when(last_user_text="*x*")
            ask()

    first = inspect.getsourcelines(run)[1] + 2
    with pytest.raises(UnusedReplies) as raised:
        run()
    at = "tests/intercept/test_first_mistakes.py"
    assert str(raised.value).startswith(
        f"when(last_user_text='*x*') at {at}:{first} has no reply, so it does nothing. Write .script("
    )
    run(unused="allow")


def test_what_ended_with_its_block_is_not_forgotten() -> None:
    with fake_converse() as fake, fake.when(turn=1).script(reply.text("a")):
        ask()
