"""ApplyGuardrail: nothing was found unless a `when` names it, and what that says is said of the request's text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from converse_harness import Fake, RefusedRequest, Reply, ReplyError, UnexpectedCall, bedrock, reply
from converse_harness.stream.http import Request

ARN = "arn:aws:bedrock:eu-west-1:123456789012:guardrail/abc"
PATH = "/guardrail/{}/version/7/apply"
TEXT = "May I have your account number?"


def apply(fake: Fake, *, source: str = "INPUT", identifier: str = "abc", body: bytes | None = None) -> dict[str, Any]:
    """Status and members of an answer, held to AWS's API model."""
    content = [{"text": {"text": TEXT, "qualifiers": ["guard_content"]}}]
    asked = json.dumps({"source": source, "content": content}).encode() if body is None else body
    response = fake.core.exchange(Request("POST", PATH.format(identifier.replace("/", "%2F")), (), asked)).response
    members: dict[str, Any] = json.loads(b"".join(chunk.data for chunk in response.chunks))
    if response.status == 200:
        bedrock.check("ApplyGuardrailResponse", members)
    return {"status": response.status, **members}


@pytest.mark.parametrize("source", ["INPUT", "OUTPUT"])
@pytest.mark.parametrize("identifier", ["abc", ARN])
def test_nothing_is_found_and_nothing_used_up(source: str, identifier: str) -> None:
    fake = Fake(reply.text("script"))
    fake.when(lambda call: True).script(reply.text("predicate"))
    fake.when(model="*").always(reply.guardrail_blocked())
    fake.always(reply.guardrail_blocked())
    answer = apply(fake, source=source, identifier=identifier)
    coverage = {"textCharacters": {"guarded": len(TEXT), "total": len(TEXT)}}
    (assessment,) = answer["assessments"]
    assert (answer["status"], answer["action"], answer["actionReason"]) == (200, "NONE", "No action.")
    assert (answer["outputs"], answer["guardrailCoverage"]) == ([], coverage)
    assert assessment["invocationMetrics"]["guardrailCoverage"] == coverage
    assert set(answer["usage"].values()) == {0}
    if bedrock.has_shape("AppliedGuardrailDetails"):
        details = assessment["appliedGuardrailDetails"]
        assert (details["guardrailId"], details["guardrailVersion"]) == ("abc", "7")
        assert details["guardrailArn"].endswith(":guardrail/abc")
    assert [(call.operation, call.reply) for call in fake.calls.all] == [("ApplyGuardrail", None)]
    assert [slot.used_by for _, slot in fake.endpoint.script.slots()] == [[], [], [], []]
    assert fake.endpoint.problems == []


@pytest.mark.parametrize(
    ("says", "action", "reason", "outputs", "member"),
    [
        (
            reply.guardrail_blocked("No.", guardrail_id="mine"),
            "GUARDRAIL_INTERVENED",
            "Guardrail blocked.",
            [{"text": "No."}],
            "topicPolicy",
        ),
        (
            reply.guardrail_blocked("No.", policy="grounding"),
            "GUARDRAIL_INTERVENED",
            "Guardrail blocked.",
            [{"text": "No."}],
            "contextualGroundingPolicy",
        ),
        (
            reply.guardrail_masked("I am {NAME}."),
            "GUARDRAIL_INTERVENED",
            "Guardrail masked.",
            [{"text": "I am {NAME}."}],
            "sensitiveInformationPolicy",
        ),
        (reply.guardrail_passed("Hello!", policy="topic"), "NONE", "No action.", [], "topicPolicy"),
    ],
    ids=["blocked", "grounding", "masked", "passed"],
)
@pytest.mark.parametrize("source", ["INPUT", "OUTPUT"])
def test_a_verdict_is_that_of_the_reply(
    says: Reply, action: str, reason: str, outputs: object, member: str, source: str
) -> None:
    fake = Fake()
    fake.when(operation="ApplyGuardrail").script(says)
    answer = apply(fake, source=source)
    (assessment,) = answer["assessments"]
    (finding,) = (each for entries in assessment[member].values() for each in entries)
    assert (answer["action"], answer["actionReason"], answer["outputs"]) == (action, reason, outputs)
    assert finding["detected"] is True
    assert answer["usage"] == assessment["invocationMetrics"]["usage"]
    assert sum(answer["usage"].values()) == 1
    assert assessment["invocationMetrics"]["guardrailCoverage"] == answer["guardrailCoverage"]
    assert answer["guardrailCoverage"]["textCharacters"]["total"] == len(TEXT)
    if bedrock.has_shape("AppliedGuardrailDetails"):
        named = "mine" if "mine" in json.dumps(says.plan.body.options["trace"]) else "abc"  # type: ignore[union-attr]
        assert assessment["appliedGuardrailDetails"]["guardrailId"] == named
    assert fake.calls.all[0].reply is says
    assert "has no answer left" in apply(fake)["message"]
    with pytest.raises(UnexpectedCall):
        fake.check()


def test_nothing_found_tells_of_the_side_that_is_asked_about() -> None:
    fake = Fake()
    metrics = {"invocationMetrics": {"guardrailProcessingLatency": 7}}
    fake.when(operation="ApplyGuardrail").always(reply.guardrail_passed("Hello!", input_assessment=metrics))
    latencies = [
        apply(fake, source=source)["assessments"][0]["invocationMetrics"]["guardrailProcessingLatency"]
        for source in ("INPUT", "OUTPUT")
    ]
    assert (latencies[0], latencies[1] != 7) == (7, True)


def test_errors_and_functions_answer_it_too() -> None:
    fake = Fake()
    fake.when(operation="ApplyGuardrail").script(
        reply.throttled("Slow down"), lambda call: reply.guardrail_blocked(f"No {call.params['source']}.")
    )
    assert apply(fake) == {"status": 429, "message": "Slow down"}
    assert apply(fake)["outputs"] == [{"text": "No INPUT."}]
    fake.check()


def test_a_handler_answers_with_members_or_a_guardrails_reply() -> None:
    fake = Fake()
    fake.on_operation("ApplyGuardrail", lambda call: reply.guardrail_blocked("No."))
    assert apply(fake)["outputs"] == [{"text": "No."}]
    fake.on_operation("ApplyGuardrail", lambda call: reply.text("No."))
    assert apply(fake)["status"] == 400
    with pytest.raises(ReplyError, match="cannot answer ApplyGuardrail"):
        fake.check()


@pytest.mark.parametrize(
    "says",
    [
        reply.text("hi"),
        reply.guardrail_blocked(trace=False),
        reply.guardrail_blocked().fails_after(1, "throttlingException"),
        reply.events(reply.guardrail_blocked().events(), strict=False),
    ],
    ids=["text", "no trace", "failure", "events"],
)
def test_an_answer_of_a_model_cannot_answer_it(says: Reply) -> None:
    with pytest.raises(ReplyError, match=r"cannot answer ApplyGuardrail: .* reply.guardrail_blocked\(\)"):
        Fake().when(operation="ApplyGuardrail").script(says)


@pytest.mark.parametrize(
    ("body", "status", "total"),
    [
        (b"[]", 400, 0),
        (b"{", 400, 0),
        (b"{}", 200, 0),
        (b'{"content": 5}', 400, 0),
        (b'{"content": [{"image": {"format": "png", "source": {"bytes": ""}}}], "source": "INPUT"}', 200, 0),
        (b'{"content": [{"text": {"text": "ab"}}, {"text": {"text": "c"}}], "source": "INPUT"}', 200, 3),
    ],
)
def test_any_request_gets_an_answer(body: bytes, status: int, total: int) -> None:
    fake = Fake()
    answer = apply(fake, body=body)
    assert answer["status"] == status
    if status == 200:
        assert answer["guardrailCoverage"]["textCharacters"]["total"] == total
    if status == 200:
        fake.check()
    else:
        with pytest.raises(RefusedRequest):
            fake.check()
