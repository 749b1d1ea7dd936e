"""Structured answers by Instructor, tested as its users test them."""

import asyncio

import instructor
import pytest
from instructor.core import InstructorRetryException
from pydantic import BaseModel

from converse_harness import reply

MODEL = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BERN = {"city": "Bern", "nights": 2}


class Trip(BaseModel):
    """A trip."""

    city: str
    nights: int


@pytest.fixture
def client(converse):
    return instructor.from_provider(MODEL)


def ask(client, question, **options):
    trip = client.create(messages=[{"role": "user", "content": question}], response_model=Trip, **options)
    return trip.model_dump()


def test_text(converse):
    converse.script(reply.json(BERN))
    assert ask(instructor.from_provider(MODEL, mode=instructor.Mode.MD_JSON), "Two nights in Bern.") == BERN
    (call,) = converse.calls
    assert (call.tool_names, call.last_user_text) == ([], "Two nights in Bern.")


def test_tool_use(converse, client):
    converse.script(reply.tool_use("Trip", BERN))
    assert ask(client, "Two nights in Bern.") == BERN
    (call,) = converse.calls
    assert (call.tool_names, call.last_user_text) == (["Trip"], "Two nights in Bern.")


@pytest.mark.converse(answers={"tool_input_fits_its_schema": "off"})  # the model makes a mistake on purpose
def test_tool_loop(converse, client):
    converse.script(reply.tool_use("Trip", {"city": "Bern", "nights": "two"}), reply.tool_use("Trip", BERN))
    assert ask(client, "Two nights in Bern.", max_retries=2) == BERN
    (result,) = converse.calls[1].tool_results
    assert result["status"] == "error"
    assert "should be a valid integer" in result["content"][0]["text"]


def test_throttled(converse, client):
    converse.script(reply.throttled(), reply.tool_use("Trip", BERN))
    assert ask(client, "Two nights in Bern.") == BERN
    assert [call.status for call in converse.calls] == [429, 200]


def test_partial_is_an_error(converse, client):
    with pytest.raises(InstructorRetryException, match='Unknown parameter in input: "stream"'):
        client.create_partial(messages=[{"role": "user", "content": "Two nights in Bern."}], response_model=Trip)
    assert not converse.calls


def test_async(converse):
    async def ask():
        client = instructor.from_provider(MODEL, async_client=True)
        return await client.create(messages=[{"role": "user", "content": "Two nights in Bern."}], response_model=Trip)

    converse.script(reply.tool_use("Trip", BERN))
    assert asyncio.run(ask()).model_dump() == BERN
