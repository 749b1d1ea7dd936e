"""Metrics of DeepEval that Bedrock judges, tested as their users test them."""

import asyncio

import pytest
from deepeval.metrics import AnswerRelevancyMetric, GEval
from deepeval.models import AmazonBedrockModel
from deepeval.test_case import LLMTestCase, SingleTurnParams

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
CASE = LLMTestCase(input="Where to?", actual_output="To Zürich. Boats are slow.")


@pytest.fixture
def judge(converse):
    return AmazonBedrockModel(model=MODEL, region="us-east-1")


@pytest.fixture
def polite(judge):
    params = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]
    return GEval("Polite", params, evaluation_steps=["Is the answer polite?"], model=judge)


def test_text(converse, polite):
    converse.script(reply.json({"reason": "It is curt.", "score": 4}))
    assert polite.measure(CASE) == 0.4
    assert (polite.reason, polite.is_successful()) == ("It is curt.", False)
    (call,) = converse.calls
    assert "To Zürich. Boats are slow." in call.last_user_text


def test_async(converse, judge):
    relevant = AnswerRelevancyMetric(model=judge)
    converse.script(
        reply.json({"statements": ["Go to Zürich.", "Boats are slow."]}),
        reply.json({"verdicts": [{"verdict": "yes"}, {"verdict": "no", "reason": "Nobody asked for boats."}]}),
        reply.json({"reason": "Half of it is on boats."}),
    )
    assert asyncio.run(relevant.a_measure(CASE)) == 0.5
    assert relevant.reason == "Half of it is on boats."
    _, verdicts, reason = converse.calls
    assert "Boats are slow." in verdicts.last_user_text
    assert "Nobody asked for boats." in reason.last_user_text


def test_throttled(converse, polite):
    converse.script(reply.throttled(), reply.json({"reason": "It is curt.", "score": 4}))
    assert polite.measure(CASE) == 0.4
    assert [call.status for call in converse.calls] == [429, 200]
