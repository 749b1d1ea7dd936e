"""Expected refusals in a project's tests."""

import pytest

from tests.plugin.conftest import asking, imported, project

__all__ = ["asking", "imported", "project"]

NO_START = "conversation_is_not_empty"
PASSES = f"""
from asking import *


def test_in_process(converse):
    converse.script(reply.text("hi"))
    with converse.refuses("{NO_START}", match="must start with a user message") as expected:
        assert careful([]) == "sorry"
    assert expected.call.messages == []
    assert ask() == "hi"


def test_on_the_server(converse_server):
    fake = converse_server.script()
    with fake.refuses("{NO_START}"):
        assert careful([], endpoint_url=fake.url) == "sorry"


def test_async(converse):
    import asyncio

    async def steps():
        with converse.refuses("{NO_START}"):
            assert await asyncio.to_thread(careful, []) == "sorry"

    asyncio.run(steps())
"""
FAILS = f"""
from asking import *


def test_no_refusal(converse):
    converse.script(reply.text("hi"))
    with converse.refuses("{NO_START}"):
        assert careful(HELLO) == "hi"


def test_another(converse):
    with converse.refuses("{NO_START}"):
        careful([])
        careful([{{"role": "user", "content": [{{"text": " "}}]}}])


def test_after_the_block(converse):
    with converse.refuses("{NO_START}"):
        careful([])
    careful([])


def test_unknown(converse):
    with converse.refuses("conversation_is_never_empty"):
        careful([])
"""


def test_what_is_expected_passes(asking: pytest.Pytester) -> None:
    asking.makepyfile(PASSES)
    asking.runpytest("-p", "no:randomly").assert_outcomes(passed=3)


def test_what_is_not_expected_fails_with_what_came(asking: pytest.Pytester) -> None:
    asking.makepyfile(FAILS)
    result = asking.runpytest("-rf")
    result.assert_outcomes(failed=4)
    lines = [
        f"*NotRefused: refuses('{NO_START}'): no request in this block breaks this rule.",
        '*arrived   1. Converse us.amazon.nova-lite-v1:0, 1 message, last: text "hi": 200 text "hi" (complete)',
        "*RefusedRequest: Bedrock would refuse call 2: *",
        "*rule      text_is_not_blank: *",
        '*Mend the request. Where the test is about this refusal: with converse.refuses("text_is_not_blank"): ...',
        "*RefusedRequest: Bedrock would refuse call 2: *",
        f"*ReplyError: refuses('conversation_is_never_empty'): no rule has this name. Did you mean '{NO_START}'? *",
    ]
    result.stdout.fnmatch_lines(lines)


OTHER_RULE = f"""
from asking import *


def test_other_rule(converse):
    with converse.refuses("{NO_START}"):
        careful([{{"role": "user", "content": [{{"text": " "}}]}}])


def test_uncaught(converse):
    with converse.refuses("{NO_START}"):
        ask([{{"role": "user", "content": [{{"text": " "}}]}}])
"""


def test_a_refusal_by_another_rule_is_one_failure_with_the_line_to_paste(asking: pytest.Pytester) -> None:
    asking.makepyfile(OTHER_RULE)
    result = asking.runpytest("-rfE", "-p", "no:randomly")
    result.assert_outcomes(failed=2)
    paste = [
        "*refused   call 1, by another rule: text_is_not_blank",
        "*broken at messages?0?.content?0?.text",
        "*The text field in the ContentBlock object at messages.0.content.0 is blank*",
        '*with converse.refuses("text_is_not_blank"): ...',
    ]
    result.stdout.fnmatch_lines([*paste, *paste])
    result.stdout.no_fnmatch_line("*RefusedRequest*")
    result.stdout.no_fnmatch_line("*ExceptionGroup*")


LEFT_OUT = f"""
from asking import *


def test_block(converse):
    converse.script(reply.text("hi"))
    with converse.refuses("{NO_START}"):
        careful([])
    ask()


@pytest.mark.converse(unexpected="allow")
def test_marker(converse):
    converse.script(reply.text("hi"))
    careful([])
    ask()
"""
"""Tests that every feature leaves out that runs tests again, or asks another model."""


def test_a_refusal_may_be_expected_by_a_block_or_by_the_marker(asking: pytest.Pytester) -> None:
    asking.makepyfile(LEFT_OUT)
    asking.runpytest().assert_outcomes(passed=2)
