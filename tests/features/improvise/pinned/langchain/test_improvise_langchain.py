"""langchain-aws with whatever tools is answered without a script: each tool is called once, and the loop ends."""

from typing import Any, Final

import pytest
from langchain_aws import ChatBedrockConverse
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from converse_harness import Fake, fake_converse
from tests.features.improvise.offered_tools import MODELS, Offer, check_inputs, offers

OFFERS: Final = [*offers()]


def run(fake: Fake, offer: Offer) -> list[str]:
    """Somebody's tool loop; the names of the tools that the model asked for."""
    fake.improvise(seed=offer.seed, at_once=offer.at_once)
    tools = [{"name": name, "description": "It.", "input_schema": schema} for name, schema in offer.tools.items()]
    model = ChatBedrockConverse(model=offer.model, region_name="us-east-1").bind_tools(tools)
    messages: list[BaseMessage] = [HumanMessage("hello")]
    asked: list[str] = []
    while True:
        answer = model.invoke(messages)
        messages.append(answer)
        if not answer.tool_calls:
            return asked
        asked += [call["name"] for call in answer.tool_calls]
        messages += [ToolMessage("done", tool_call_id=call["id"]) for call in answer.tool_calls]


@pytest.mark.parametrize("first", range(10))
def test_every_configuration_ends_without_an_error(first: int) -> None:
    for offer in OFFERS[first::10]:
        with fake_converse() as fake:
            assert sorted(run(fake, offer)) == sorted(offer.tools)
            check_inputs(fake, offer)
            assert fake.notes == []


@tool
def get_weather(city: str, days: int = 3) -> str:
    """Look up the weather."""
    return f"{days} days of sun in {city}"


def test_a_tool_of_langchain_takes_its_input(converse: Fake) -> None:
    converse.improvise(seed=4)
    model: Any = ChatBedrockConverse(model=MODELS[0], region_name="us-east-1").bind_tools([get_weather])
    (call,) = model.invoke("hello").tool_calls
    assert "of sun in" in get_weather.invoke(call["args"])


class Report(BaseModel):
    """What was found."""

    score: int
    words: list[str]


def test_structured_output_is_improvised(converse: Fake) -> None:
    converse.improvise()
    model = ChatBedrockConverse(model=MODELS[0], region_name="us-east-1").with_structured_output(Report)
    assert model.invoke("hello") == Report(score=0, words=[])
