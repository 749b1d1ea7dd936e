"""What a real strands Agent makes of every case of the catalogue, streaming and not; also where that is not right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from botocore.config import Config
from strands import Agent, tool
from strands.models import BedrockModel

from converse_harness import Call, fake_converse, reply
from converse_harness.cases import CASES
from tests.clients.case_runs import answer, sampled
from tests.clients.case_strands_outcomes import ATTEMPTS, DONE, LIVES, LOSES, Lived
from tests.clients.scenarios import MODEL, QUESTION, STREAM, canonical


@tool
def get_weather(city: str = "nowhere") -> str:
    """Look up the weather.

    Args:
        city: Where.
    """
    return f"18 °C, sunny in {city}"


@cache
def model(streaming: bool) -> BedrockModel:
    """As its users make it; it has a client, which is made while a fake is open."""
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    return BedrockModel(model_id=MODEL, streaming=streaming, boto_client_config=Config(retries=retries))


def live(streaming: bool) -> Lived:
    """Ask an agent the question."""
    agent = Agent(model=model(streaming), tools=[get_weather], callback_handler=None)
    try:
        result = agent(QUESTION)
    except Exception as error:  # noqa: BLE001 - whatever it is, the table names it
        lived = Lived(raised=type(error).__name__)
    else:
        lived = Lived(text=str(result).strip(), stop=result.stop_reason)
    return replace(lived, tools=tuple(ran(agent.messages)), history=history(agent.messages))


def ran(messages: Iterable[Any]) -> Iterable[tuple[str, str, str]]:
    """Each tool with its input and the status of its result."""
    asked: dict[str, tuple[str, str]] = {}
    for message in messages:
        for block in message["content"]:
            match block:
                case {"toolUse": use}:
                    asked[use["toolUseId"]] = (use["name"], canonical(use["input"]))
                case {"toolResult": {"toolUseId": id, "status": status}}:
                    yield (*asked.get(id, ("", "")), status)
                case _:
                    pass


def history(messages: Iterable[Any]) -> str:
    """What is remembered, in short."""
    return " ".join(f"{message['role'][0]}[{' '.join(map(kind, message['content']))}]" for message in messages)


def kind(block: Mapping[str, Any]) -> str:
    """What a block is; a text that was redacted, where citations point to."""
    match block:
        case {"text": "[User input redacted.]"}:
            return "redacted"
        case {"citationsContent": {"citations": citations}}:
            return "+".join(place for citation in citations for place in citation.get("location", ("nowhere",)))
        case {"reasoningContent": {"redactedContent": _}}:
            return "redactedContent"
        case _:
            return "+".join(block)


def after_tools(call: Call) -> bool:
    """Whether the model has answered before."""
    return call.turn > 1


@pytest.mark.parametrize(("name", "operation"), sampled("boto"))
def test_case(name: str, operation: str) -> None:
    stream, whole = LIVES[name]
    with fake_converse(unused="allow", answers="off") as fake:
        fake.when(after_tools).always(reply.text(DONE))
        answer(fake, name)
        lived = replace(live(operation == STREAM), requests=len(fake.calls))
    assert lived == (stream if operation == STREAM else whole)


def test_every_case_has_a_row_and_every_row_a_case() -> None:
    assert set(LIVES) == set(CASES)
    assert {name for name, (_, whole) in LIVES.items() if whole is None} == {
        name for name, case in CASES.items() if case.stream_only
    }
    assert set(LOSES) <= set(LIVES)
