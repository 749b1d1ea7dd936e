"""A block of a test that expects a refusal: what passes, what fails, and what is said."""

# ruff: noqa: PT012, SIM117 - these tests are about which blocks stand in which

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from strands import Agent
from strands.models import BedrockModel

from converse_harness import (
    ConverseServer,
    Fake,
    NotRefused,
    RefusedRequest,
    ReplyError,
    UnexpectedCall,
    UnusedReplies,
    fake_converse,
    recording,
    reply,
)
from converse_harness.bedrock.rules import NOTING, RULES
from converse_harness.intercept.clients import create_client
from tests.endpoint.test_calls import check_dir, counts
from tests.package.test_wrong_arguments_of_fakes import VALUES, check_named

NOVA = "us.amazon.nova-lite-v1:0"
HELLO: dict[str, Any] = {"modelId": NOVA, "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
EMPTY: dict[str, Any] = {"modelId": NOVA, "messages": []}
BLANK: dict[str, Any] = {"modelId": NOVA, "messages": [{"role": "user", "content": [{"text": " "}]}]}
NO_START = "conversation_is_not_empty"
NO_BLANKS = "text_is_not_blank"


def refused(asked: dict[str, Any] = EMPTY, client: Any = None) -> str:
    with pytest.raises(ClientError) as raised:
        (client or create_client()).converse(**asked)
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(raised.value.response["Error"]["Message"])


def test_an_expected_refusal_fails_nothing() -> None:
    with fake_converse(reply.text("hi")) as fake:
        with fake.refuses(NO_START, match="must start with a user message") as expected:
            assert expected.refusals == []
            said = refused()
        create_client().converse(**HELLO)
    assert expected.refusal.message == said
    assert expected.refusal.rule.name == NO_START
    assert expected.call is fake.calls[0]
    assert expected.calls == fake.calls[:1]
    assert fake.calls[0].refusal == expected.refusal


def test_each_refusal_in_the_block_is_expected() -> None:
    with fake_converse() as fake, fake.refuses(NO_START) as expected:
        refused()
        refused()
    assert [call.number for call in expected.calls] == [1, 2]


def test_a_refusal_outside_the_block_fails() -> None:
    with pytest.raises(RefusedRequest, match=NO_START), fake_converse() as fake:
        with fake.refuses(NO_START):
            refused()
        refused()


@pytest.mark.parametrize("handled", [True, False])
def test_without_the_refusal_the_block_fails_and_says_what_came(handled: bool) -> None:
    with fake_converse(reply.text("hi"), reply.validation_error("Something else.")) as fake:
        with pytest.raises(NotRefused) as raised, fake.refuses(NO_START):
            create_client().converse(**HELLO)
            if handled:
                refused(HELLO)
            else:
                create_client().converse(**HELLO)
    assert str(raised.value) == (
        f"refuses('{NO_START}'): no request in this block breaks this rule.\n\n"
        f"rule      {NO_START}: the request has a message, unless the model id names a stored prompt\n"
        f'arrived   1. Converse {NOVA}, 1 message, last: text "hi": 200 text "hi" (complete)\n'
        f'          2. Converse {NOVA}, 1 message, last: text "hi": 400 ValidationException (400) "Something else." '
        "(complete)\n\n"
        "Ask in the block what breaks the rule, or name the rule that is broken.   More: converse-harness docs rules "
        "expected-refusals"
    )
    assert isinstance(raised.value.__cause__, ClientError) is not handled


def test_a_block_without_calls_fails() -> None:
    with fake_converse(reply.text("hi")) as fake:
        create_client().converse(**HELLO)
        with pytest.raises(NotRefused, match="arrived   nothing: no call reached the fake in this block"):
            with fake.refuses(NO_START):
                pass


def test_a_refusal_by_another_rule_fails_once_with_both_facts() -> None:
    with fake_converse() as fake:
        with pytest.raises(NotRefused, match=f"400 refused: {NO_BLANKS}") as raised, fake.refuses(NO_START):
            refused(BLANK)
    assert f"refused   call 1, by another rule: {NO_BLANKS}\n          broken at messages[0]" in str(raised.value)
    assert str(raised.value).endswith(f'\nwith converse.refuses("{NO_BLANKS}"): ...')


def test_a_refusal_by_another_rule_fails_also_where_the_expected_one_came() -> None:
    with pytest.raises(RefusedRequest, match=NO_BLANKS), fake_converse() as fake, fake.refuses(NO_START):
        refused()
        refused(BLANK)


def test_an_unexpected_call_still_fails() -> None:
    with pytest.raises(UnexpectedCall), fake_converse() as fake, fake.refuses(NO_START):
        refused()
        refused(HELLO)


def test_a_message_that_does_not_match_fails_once() -> None:
    with fake_converse() as fake:
        with pytest.raises(NotRefused) as raised, fake.refuses(NO_START, match="toolResult"):
            refused()
    assert "the rule was broken, and Bedrock's message does not match.\n\nmessage   A conversation must" in str(
        raised.value
    )
    assert "\npattern   toolResult\n" in str(raised.value)
    fake.check()


def test_a_message_that_does_not_match_fails_also_beside_one_that_does() -> None:
    other = {"modelId": NOVA, "messages": [{"role": "user", "content": []}]}
    twice = {
        **other,
        "messages": [*HELLO["messages"], {"role": "assistant", "content": [{"text": "a"}]}, *other["messages"]],
    }
    with pytest.raises(RefusedRequest, match="content_is_not_empty"), fake_converse() as fake:
        with fake.refuses("content_is_not_empty", match=re.compile("messages.0")) as expected:
            refused(other)
            refused(twice)
    assert len(expected.refusals) == 1


def test_blocks_nest() -> None:
    with fake_converse() as fake, fake.refuses(NO_START) as outer, fake.refuses(NO_BLANKS) as inner:
        refused()
        refused(BLANK)
    assert [outer.call.number, inner.call.number] == [1, 2]
    with pytest.raises(NotRefused), fake_converse() as fake, fake.refuses(NO_START), fake.refuses(NO_START):
        refused()  # the inner block keeps it


def test_a_block_serves_twice() -> None:
    with fake_converse() as fake:
        for _ in range(2):
            with fake.refuses(NO_START) as expected:
                refused()
            assert len(expected.calls) == 1


def test_other_threads_and_tasks() -> None:
    async def ask() -> None:
        await asyncio.gather(*(asyncio.to_thread(refused) for _ in range(3)))

    with fake_converse() as fake:
        with fake.refuses(NO_START) as expected:
            thread = threading.Thread(target=refused)
            thread.start()
            thread.join()
            asyncio.run(ask())
    assert len(expected.calls) == 4


def test_an_exception_that_is_no_error_passes() -> None:
    with fake_converse() as fake, pytest.raises(KeyboardInterrupt), fake.refuses(NO_START):
        raise KeyboardInterrupt


def test_it_stands_with_raises_in_any_order() -> None:
    with fake_converse() as fake:
        with pytest.raises(ClientError), fake.refuses(NO_START):
            create_client().converse(**EMPTY)
        with fake.refuses(NO_START), pytest.raises(ClientError):
            create_client().converse(**EMPTY)


def test_on_the_loopback_server() -> None:
    with ConverseServer() as server, server.script() as fake:
        client = create_client(endpoint_url=fake.url)
        with fake.refuses(NO_START) as expected:
            refused(client=client)
    assert expected.call.headers["host"].startswith("127.0.0.1:")


def test_an_agent_of_strands() -> None:
    history: list[Any] = [{"role": "assistant", "content": [{"text": "welcome"}]}]
    with fake_converse() as fake, fake.refuses("first_message_is_the_users"), pytest.raises(ClientError):
        Agent(BedrockModel(model_id=NOVA), messages=history, callback_handler=None)("hello")


def test_a_recorded_refusal_is_one(tmp_path: Path) -> None:
    from converse_harness import record

    path = tmp_path / "refused.jsonl"
    with ConverseServer() as server, server.script(reply.validation_error("As recorded."), rules="off") as service:
        with record(path, redaction=None):
            refused(client=create_client(endpoint_url=service.url))
    with fake_converse(recording(path)) as fake, fake.refuses(NO_START, match="As recorded") as expected:
        assert refused() == "As recorded."
    assert expected.refusal.message == "As recorded."


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (("conversation_is_no_empty",), {}, "no rule has this name. Did you mean 'conversation_is_not_empty'? "),
        ((None,), {}, "refuses(None): no rule has this name. "),
        (([],), {}, "refuses([]): no rule has this name. "),
        ((NO_START, "("), {}, f"refuses('{NO_START}', match='('): missing ), unterminated subpattern at position 0. "),
        ((NO_START, 5), {}, f"refuses('{NO_START}', match=5): a regular expression, as a string or compiled"),
        ((NO_START, re.compile(b"a")), {}, f"refuses('{NO_START}', match=re.compile(b'a')): a regular expression"),
        ((NO_START,), {"rules": "off"}, "this rule refuses nothing with rules='off'. "),
        ((NO_START,), {"rules": "warn"}, "this rule refuses nothing with rules='warn'. "),
        (("model_exists",), {}, "this rule refuses only at the strict level, and the level is 'default'. Raise it: "),
        (("roles_alternate",), {}, "this rule is only noted"),
        (("members_are_known",), {}, "Bedrock ignores what breaks this rule, so the rule is only noted."),
    ],
)
def test_what_cannot_be_expected_is_an_error_at_once(
    arguments: tuple[Any, ...], settings: dict[str, Any], said: str
) -> None:
    fake = Fake(**settings)
    name, *match = arguments
    with pytest.raises(ReplyError) as raised:
        fake.refuses(name, **dict(zip(("match",), match, strict=False)))
    assert said in str(raised.value)


def test_every_rule_that_refuses_can_be_expected() -> None:
    fake = Fake(rules="strict")
    for rule in RULES:
        if rule.verdict not in NOTING:
            assert fake.refuses(rule.name).rule is rule


def test_a_refusal_that_is_recorded_is_expected_too(tmp_path: Path) -> None:
    from converse_harness import record

    with ConverseServer() as server, server.script(reply.validation_error("As Bedrock says."), rules="off") as service:
        with record(tmp_path / "refused.jsonl") as recorder, recorder.refuses(NO_START) as expected:
            refused(client=create_client(endpoint_url=service.url))
    assert expected.call.status == 400


@pytest.mark.parametrize("value", VALUES)
def test_a_wrong_argument_is_named(value: str) -> None:
    check_named(lambda given: Fake().refuses(given), "refuses(", value)
    if value in ("none", "text"):
        Fake().refuses(NO_START, match=VALUES[value])
    else:
        check_named(lambda given: Fake().refuses(NO_START, match=given), f"refuses({NO_START!r}, match=", value)


def test_its_repr_has_the_rule_and_the_pattern_and_its_dir_no_private_name() -> None:
    made = Fake().refuses("content_is_not_empty", match="empty")
    assert repr(made) == "refuses('content_is_not_empty', match='empty')"
    check_dir(made)


def test_a_block_without_with_fails_at_the_end() -> None:
    def run(**settings: Any) -> None:
        with fake_converse(**settings) as fake:
            fake.refuses(NO_BLANKS)

    line = inspect.getsourcelines(run)[1] + 2
    with pytest.raises(UnusedReplies) as raised:
        run()
    at = "tests/endpoint/expected_refusals/test_refuses.py"
    assert str(raised.value).startswith(
        f"refuses('{NO_BLANKS}') at {at}:{line} was not entered, so it expects nothing."
    )
    run(unused="allow")


@counts
def test_a_refused_count_may_be_expected() -> None:
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    with fake_converse() as fake:
        with fake.refuses("model_counts_tokens") as expected, pytest.raises(ClientError):
            create_client().count_tokens(modelId=model, input={"converse": {"messages": HELLO["messages"]}})
    assert fake.notes == []
    assert expected.refusal.path == "modelId"
