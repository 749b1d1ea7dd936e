"""Guards of Guardrails AI, tested as their users test them. They ask through litellm."""

import asyncio

import pytest
from guardrails import AsyncGuard, Guard
from pydantic import BaseModel

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)

MODEL = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BERN = {"city": "Bern", "nights": 2}


class Trip(BaseModel):
    """A trip."""

    city: str
    nights: int


def asking(text, **options):
    return {"model": MODEL, "messages": [{"role": "user", "content": text}], **options}


def test_text(converse):
    converse.script(reply.json(BERN))
    outcome = Guard.for_pydantic(Trip)(**asking("Two nights in Bern."))
    assert (outcome.validation_passed, outcome.validated_output) == (True, BERN)
    (call,) = converse.calls
    assert call.last_user_text == "Two nights in Bern."


def test_asks_again(converse):
    converse.script(reply.json({"city": "Bern", "nights": "two"}), reply.json(BERN))
    assert Guard.for_pydantic(Trip)(**asking("Two nights in Bern.")).validated_output == BERN
    assert "'two' is not of type 'integer'" in converse.calls.last.last_user_text


def test_stream(converse):
    converse.script(reply.text("One fine day in May."))
    pieces = [outcome.validated_output for outcome in Guard()(**asking("When?", stream=True))]
    assert len(pieces) > 1
    assert "".join(pieces) == "One fine day in May."
    assert [call.operation for call in converse.calls] == ["ConverseStream"]


def test_async(converse):
    converse.script(reply.json(BERN))
    outcome = asyncio.run(AsyncGuard.for_pydantic(Trip)(**asking("Two nights in Bern.")))
    assert outcome.validated_output == BERN


def test_throttled(converse):
    converse.script(reply.throttled(), reply.json(BERN))
    assert Guard.for_pydantic(Trip)(**asking("Two nights in Bern.", num_retries=1)).validated_output == BERN
    assert [call.status for call in converse.calls] == [429, 200]


def test_the_input_of_a_tool_is_not_read(converse):
    guard = Guard.for_pydantic(Trip)
    converse.script(reply.tool_use("gd_response_tool", BERN))
    tools = guard.json_function_calling_tool()
    outcome = guard(**asking("Two nights in Bern.", tools=tools, tool_choice="required", num_reasks=0))
    assert (outcome.validation_passed, outcome.raw_llm_output) == (False, "")
