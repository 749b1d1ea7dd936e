"""An agent of Strands with whatever tools is answered without a script: each tool is run once, and the loop ends."""

from typing import Any, Final

import pytest
from pydantic import BaseModel
from strands import Agent, tool
from strands.models import BedrockModel
from strands.tools.tools import PythonAgentTool

from converse_harness import Fake, fake_converse
from tests.features.improvise.offered_tools import MODELS, Offer, check_inputs, offers

OFFERS: Final = [*offers()]


def few() -> list[Offer]:
    """So many of them that each tool is there, and each model with each number of tools at once."""

    def shown(offer: Offer) -> set[object]:
        return {*offer.tools, (offer.model, offer.at_once)}

    chosen: list[Offer] = []
    missing = set[object]().union(*map(shown, OFFERS))
    while missing:
        chosen.append(max(OFFERS, key=lambda offer: len(shown(offer) & missing)))
        missing -= shown(chosen[-1])
    return chosen


def run(fake: Fake, offer: Offer) -> list[str]:
    """The names of the tools that were run."""
    ran: list[str] = []

    def answer(use: Any, **_: Any) -> Any:
        ran.append(use["name"])
        return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": "done"}]}

    fake.improvise(seed=offer.seed, at_once=offer.at_once)
    tools: list[Any] = [
        PythonAgentTool(name, {"name": name, "description": "It.", "inputSchema": {"json": schema}}, answer)
        for name, schema in offer.tools.items()
    ]
    agent = Agent(model=BedrockModel(model_id=offer.model), tools=tools, callback_handler=None)
    agent("hello")
    return ran


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(few(), id="each tool"),
        *(pytest.param(OFFERS[first::10], id=f"{first}", marks=pytest.mark.nightly) for first in range(10)),
    ],
)
def test_every_configuration_ends_without_an_error(chosen: list[Offer]) -> None:
    for offer in chosen:
        with fake_converse() as fake:
            assert sorted(run(fake, offer)) == sorted(offer.tools)
            check_inputs(fake, offer)
            assert fake.notes == []


@tool
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return f"18 °C in {city}"


class Report(BaseModel):
    """What was found."""

    score: int
    words: list[str]


def test_structured_output_is_improvised(converse: Fake) -> None:
    converse.improvise(tools=["get_weather"])
    agent = Agent(model=BedrockModel(model_id=MODELS[0]), tools=[get_weather], callback_handler=None)
    found = agent("hello", structured_output_model=Report)
    assert found.structured_output == Report(score=0, words=[])
    assert [call.tool_choice for call in converse.calls][-1] is not None
