"""strands and guardrails: it forgets what was blocked, keeps what was masked, and looks at the trace to tell."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from strands import Agent
from strands.models import BedrockModel

from converse_harness import Fake, Reply, reply

pytestmark = pytest.mark.any_answer

MODEL = "us.amazon.nova-lite-v1:0"
QUESTION = "Should I buy crypto?"
REDACTED = "[User input redacted.]"
OUTPUT_REDACTED = "[Assistant output redacted.]"

Mode = Literal["sync", "async"]


@pytest.fixture(params=["stream, sync", "stream, async", "whole"])
def how(request: pytest.FixtureRequest) -> tuple[bool, Mode | None]:
    """Whether the agent streams, and in which mode the guardrail looks at the stream."""
    streaming, _, mode = request.param.partition(", ")
    return streaming == "stream", mode or None


def ask(fake: Fake, says: Reply, how: tuple[bool, Mode | None], **config: Any) -> tuple[str, str, str]:
    """What became of question and answer in the agent's history, and the stop reason; the guardrail is on."""
    streaming, mode = how
    fake.script(says)
    answered = BedrockModel(
        model_id=MODEL,
        streaming=streaming,
        guardrail_id="abc",
        guardrail_version="7",
        guardrail_stream_processing_mode=mode,
        **config,
    )
    agent = Agent(model=answered, callback_handler=None)
    result = agent(QUESTION)
    (call,) = fake.calls
    assert call.guardrail is not None
    assert (call.guardrail["guardrailIdentifier"], call.guardrail.get("streamProcessingMode")) == ("abc", mode)
    question, answer = ("".join(block["text"] for block in message["content"]) for message in agent.messages)
    return question, answer, result.stop_reason


BLOCKED = {
    "input": reply.guardrail_blocked("No."),
    "content": reply.guardrail_blocked("No.", policy="content"),
    "output": reply.guardrail_blocked("No.", policy="word", side="output", original="Buy crypto."),
    "grounding": reply.guardrail_blocked("No.", policy="grounding"),
    "no trace": reply.guardrail_blocked("No.", trace=False),
}


@pytest.mark.parametrize("says", BLOCKED.values(), ids=BLOCKED)
def test_what_was_blocked_is_forgotten(converse: Fake, says: Reply, how: tuple[bool, Mode | None]) -> None:
    assert ask(converse, says, how) == (REDACTED, "No.", "guardrail_intervened")


@pytest.mark.parametrize("says", BLOCKED.values(), ids=BLOCKED)
def test_the_answer_is_forgotten_too_if_asked(converse: Fake, says: Reply, how: tuple[bool, Mode | None]) -> None:
    question, answer, _ = ask(converse, says, how, guardrail_redact_output=True, guardrail_redact_input=False)
    assert (question, answer) == (QUESTION, OUTPUT_REDACTED)


def test_what_the_async_mode_let_through_is_in_the_answer_until_it_is_redacted(converse: Fake) -> None:
    says = reply.guardrail_blocked("No.", policy="word", streamed="Buy some ")
    assert ask(converse, says, (True, "async")) == (REDACTED, "Buy some No.", "guardrail_intervened")


def test_what_the_async_mode_let_through_is_redacted(converse: Fake) -> None:
    says = reply.guardrail_blocked("No.", policy="word", streamed="Buy some ")
    assert ask(converse, says, (True, "async"), guardrail_redact_output=True)[1] == OUTPUT_REDACTED


KEPT = {
    "masked": reply.guardrail_masked("I am {NAME}."),
    "input masked": reply.guardrail_masked("I am {NAME}.", side="input"),
    "passed": reply.guardrail_passed("I am {NAME}."),
    "told": reply.guardrail_passed("I am {NAME}.", policy="topic"),
}


@pytest.mark.parametrize(("kind", "says"), KEPT.items(), ids=KEPT)
def test_what_was_masked_or_let_through_is_kept(
    converse: Fake, kind: str, says: Reply, how: tuple[bool, Mode | None]
) -> None:
    stop = "guardrail_intervened" if "masked" in kind else "end_turn"
    assert ask(converse, says, how, guardrail_redact_output=True) == (QUESTION, "I am {NAME}.", stop)


def test_without_a_trace_strands_cannot_tell_masked_from_blocked(converse: Fake, how: tuple[bool, Mode | None]) -> None:
    says = reply.guardrail_masked("I am {NAME}.", trace=False)
    assert ask(converse, says, how)[0] == REDACTED


def test_a_finding_that_is_not_detected_is_none_to_strands(converse: Fake, how: tuple[bool, Mode | None]) -> None:
    topic = {"name": "Weather", "type": "DENY", "action": "BLOCKED", "detected": False}
    says = reply.guardrail_blocked("No.", policy={"topicPolicy": {"topics": [topic]}})
    assert ask(converse, says, how)[0] == QUESTION
