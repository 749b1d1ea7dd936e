"""An evaluation by Strands Evals, tested as its users test one. The agent, the judge and the simulated user ask."""

import asyncio

from strands import Agent, tool
from strands_evals import ActorSimulator, Case, Experiment
from strands_evals.evaluators import OutputEvaluator
from strands_evals.types.simulation import ActorProfile

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
VERDICT = {"score": 1.0, "test_pass": True, "reason": "It is a city."}


@tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"18 °C in {city}"


def agent():
    return Agent(MODEL, callback_handler=None)


def experiment(*tools):
    judge = OutputEvaluator("It names a city of Switzerland.", model=MODEL, tools=[*tools])
    return Experiment([Case(input="Where to?")], [judge])


def test_text(converse):
    converse.script(reply.text("Zürich"), reply.tool_use("EvaluationOutput", VERDICT))
    report = experiment().run_evaluations(lambda case: str(agent()(case.input)))
    assert (report.scores, report.test_passes, report.reasons) == ([1.0], [True], ["It is a city."])
    asked, judged = converse.calls
    assert asked.last_user_text == "Where to?"
    assert judged.tool_names == ["EvaluationOutput"]
    assert "<Output>Zürich\n</Output>" in judged.last_user_text


def test_tool_loop(converse):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}), reply.tool_use("EvaluationOutput", VERDICT))
    report = experiment(get_weather).run_evaluations(lambda case: "Bern")
    assert report.test_passes == [True]
    asked, judged = converse.calls
    assert sorted(asked.tool_names) == ["EvaluationOutput", "get_weather"]
    assert judged.tool_results[0]["content"] == [{"text": "18 °C in Bern"}]


def test_throttled(converse):
    converse.script(reply.throttled(), reply.tool_use("EvaluationOutput", VERDICT))
    assert experiment().run_evaluations(lambda case: "Zürich").test_passes == [True]
    assert [call.status for call in converse.calls] == [429, 200]


def test_async(converse):
    async def answer(case):
        return str(await agent().invoke_async(case.input))

    converse.script(reply.text("Zürich"), reply.tool_use("EvaluationOutput", VERDICT))
    assert asyncio.run(experiment().run_evaluations_async(answer)).test_passes == [True]


def test_a_message_that_fits_the_schema_is_refused(converse):
    profile = ActorProfile(traits={}, context="A traveller.", actor_goal="A journey.")
    blocks, goodbye = {"reasoning": "No date.", "message": [{"text": "When?"}]}, {"reasoning": "Done.", "stop": True}
    converse.script(reply.tool_use("ActorResponse", blocks), reply.tool_use("ActorResponse", goodbye))
    assert ActorSimulator(profile, "Where to?", model=MODEL).act("Zürich").structured_output.stop
    asked, again = converse.calls
    schema = asked.tools[asked.tool_names.index("ActorResponse")]["toolSpec"]["inputSchema"]["json"]
    assert schema["properties"]["message"]["type"] == ["array", "null"]  # it is a str | list[ContentBlock] | None
    assert "must be a str or None" in again.tool_results[0]["content"][0]["text"]
