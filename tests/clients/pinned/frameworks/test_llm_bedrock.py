"""A program on Simon Willison's llm with its plugin llm-bedrock, tested as its users test one."""

import llm
import pytest

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)


@pytest.fixture
def model():
    return llm.get_model("nova-lite")


def test_text(converse, model):
    converse.script(reply.text("Zürich"))
    assert model.prompt("Where to?", system="Be brief.", stream=False).text() == "Zürich"
    (call,) = converse.calls
    assert (call.operation, call.system_text, call.last_user_text) == ("Converse", "Be brief.", "Where to?")


def test_stream(converse, model):
    converse.script(reply.text("One fine day in May."))
    assert "".join(model.prompt("When?")) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_conversation(converse, model):
    converse.script(reply.text("Zürich"), reply.text("An hour."))
    conversation = model.conversation()
    assert conversation.prompt("Where to?").text() == "Zürich"
    assert conversation.prompt("How far is it?").text() == "An hour."
    assert [message["role"] for message in converse.calls[1].messages] == ["user", "assistant", "user"]


def test_throttled(converse, model):
    converse.script(reply.throttled(), reply.text("ok"))
    assert model.prompt("Are you there?").text() == "ok"
    assert [call.status for call in converse.calls] == [429, 200]
