"""Metrics of Ragas that Bedrock judges, tested as their users test them. They ask through litellm."""

import asyncio

import litellm
import pytest
from instructor.core import InstructorRetryException
from ragas.llms import llm_factory
from ragas.metrics import DiscreteMetric
from ragas.metrics.collections import Faithfulness

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)

MODEL = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
CASE = {"user_input": "Where to?", "response": "To Zürich, by boat.", "retrieved_contexts": ["Zürich is nice."]}
ZURICH = {"statement": "Go to Zürich.", "reason": "It is nice.", "verdict": 1}
BOAT = {"statement": "Go by boat.", "reason": "No word of it.", "verdict": 0}
CURT = {"value": "no", "reason": "It is curt."}

polite = DiscreteMetric(name="polite", allowed_values=["yes", "no"], prompt="Is this polite? {response}")


def judge(client=litellm.completion, **options):
    return llm_factory(MODEL, provider="litellm", client=client, **options)


def test_text(converse):
    converse.script(reply.json(CURT))
    score = polite.score(llm=judge(top_p=None), response="Zürich.")
    assert (score.value, score.reason) == ("no", "It is curt.")
    (call,) = converse.calls
    assert call.last_user_text == "Is this polite? Zürich."


def test_async(converse):
    faithful = Faithfulness(llm=judge(litellm.acompletion, top_p=None))
    statements = [ZURICH["statement"], BOAT["statement"]]
    converse.script(reply.json({"statements": statements}), reply.json({"statements": [ZURICH, BOAT]}))
    assert asyncio.run(faithful.ascore(**CASE)).value == 0.5
    split, verdicts = converse.calls
    assert "To Zürich, by boat." in split.last_user_text
    assert "Go by boat." in verdicts.last_user_text


def test_throttled(converse):
    converse.script(reply.throttled(), reply.json(CURT))
    assert polite.score(llm=judge(top_p=None, num_retries=1), response="Zürich.").value == "no"
    assert [call.status for call in converse.calls] == [429, 200]


def test_defaults_are_refused(converse):
    with (
        converse.refuses("claude_has_one_way_to_choose"),
        pytest.raises(InstructorRetryException, match="`temperature` and `top_p` cannot both be specified"),
    ):
        polite.score(llm=judge(), response="Zürich.")


def test_collections_refuse_the_synchronous_client(converse):
    with pytest.raises(TypeError, match="Cannot use agenerate"):
        Faithfulness(llm=judge(top_p=None)).score(**CASE)
    assert not converse.calls
