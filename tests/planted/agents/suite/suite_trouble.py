"""The tests that one writes after docs/trouble.md, one for each kind of trouble."""

import pytest
from agent import Blocked, BrokenAnswer, Busy, TooLong, Unfinished
from test_obvious import agent

from converse_harness import cases, faults, reply


def test_a_busy_service_is_reported(converse):
    converse.always(reply.throttled())
    with pytest.raises(Busy):
        agent().ask("Hi")


def test_a_long_conversation_is_reported(converse):
    converse.script(reply.context_overflow())
    with pytest.raises(TooLong):
        agent().ask("Hi")


def test_an_error_in_the_stream_is_reported(converse):
    converse.script(reply.text("Hello.").fails_after(2, "modelStreamErrorException"))
    with pytest.raises(Exception, match="modelStreamErrorException"):
        agent().ask("Hi")


def test_half_an_answer_is_no_answer(converse):
    converse.always(reply.text("Hello.").broken(faults.no_message_stop))
    with pytest.raises(BrokenAnswer):
        agent().ask("Hi")


def test_an_answer_that_is_cut_short_is_none(converse):
    converse.script(reply.text("Hello", stop_reason="max_tokens"))
    with pytest.raises(Unfinished):
        agent().ask("Hi")


def test_the_words_of_a_guardrail_are_no_answer(converse):
    converse.script(cases.guardrail_output_blocked.reply)
    with pytest.raises(Blocked):
        agent(guardrail={"guardrailIdentifier": "abcdefghijkl", "guardrailVersion": "1"}).ask("Hi")


def test_citations_are_kept(converse):
    converse.script(cases.citation_document.reply)
    assert agent().ask("Hi").citations


def test_the_usage_is_kept(converse):
    converse.script(reply.text("Hello.", usage={"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}))
    assert agent().ask("Hi").usage["totalTokens"] == 7


def test_a_tool_that_raises_is_an_error_to_the_model(converse):
    converse.script(reply.tool_use("get_weather", {"town": "Bern"}), reply.text("Which city?"))
    assert agent().ask("How is Bern?").text == "Which city?"
    assert converse.calls[1].tool_results[0]["status"] == "error"


def test_it_asks_on_after_an_error(converse):
    converse.script(reply.context_overflow(), reply.text("Hello."))
    chat = agent()
    with pytest.raises(TooLong):
        chat.ask("One?")
    assert chat.ask("Two?").text == "Hello."
    assert [block["text"] for message in converse.calls[1].messages for block in message["content"]] == ["Two?"]
