"""Answers in which a guardrail has a say: texts, usage, stop reason and trace fit together, and nonsense is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from converse_harness import Endpoint, Reply, ReplyError, bedrock, reply
from converse_harness.bedrock.guardrails import BLOCKED_MESSAGE, POLICIES, REASONS, actions
from converse_harness.literals import BlockingPolicy, GuardrailPolicy, MaskingPolicy
from converse_harness.stream.http import Request

KNOWN = [name for name, policy in POLICIES.items() if bedrock.has_member("GuardrailAssessment", policy.member)]
BLOCKING = [name for name in KNOWN if "BLOCKED" in actions(POLICIES[name])]
MASKING = [name for name in KNOWN if "ANONYMIZED" in actions(POLICIES[name])]
TOPIC = {"topicPolicy": {"topics": [{"name": "Weather", "type": "DENY"}]}}


def trace_of(answer: Reply) -> dict[str, Any]:
    """What a stream tells of the guardrail."""
    (*_, metadata) = answer.events()
    guardrail: dict[str, Any] = metadata["metadata"]["trace"]["guardrail"]
    return guardrail


def assessments(answer: Reply) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Those of input and output."""
    trace = trace_of(answer)
    (asked,) = trace["inputAssessment"].values()
    answered = [one for (one,) in trace.get("outputAssessments", {}).values()]
    return asked, answered[0] if answered else None


def findings(assessment: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found = [policy for name, policy in (assessment or {}).items() if name.endswith("Policy")]
    return [each for policy in found for entries in policy.values() for each in entries]


def whole(answer: Reply, **config: str) -> dict[str, Any]:
    """The JSON of plain Converse."""
    asked = {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        **({"guardrailConfig": config} if config else {}),
    }
    request = Request("POST", "/model/us.amazon.nova-lite-v1%3A0/converse", (), json.dumps(asked).encode())
    chunks = Endpoint(answer, answers="off").exchange(request).response.chunks
    body: dict[str, Any] = json.loads(b"".join(chunk.data for chunk in chunks))
    return body


# Blocked


@pytest.mark.parametrize("name", BLOCKING)
def test_whether_it_was_detected_can_be_left_out(name: BlockingPolicy) -> None:
    found = [each for side in assessments(reply.guardrail_blocked(policy=name)) for each in findings(side)]
    short = reply.guardrail_blocked(policy=name, omit_detected=True)
    told = [each for side in assessments(short) for each in findings(side)]
    assert [each.pop("detected") for each in found] == [True]
    assert told == found


def test_what_is_masked_or_written_so_says_what_is_written() -> None:
    masked = reply.guardrail_masked("Write to {EMAIL}.", omit_detected=True)
    assert [each.keys() for each in findings(assessments(masked)[1])] == [{"action", "match", "type"}]
    policy = {"topicPolicy": {"topics": [{"name": "Weather", "type": "DENY", "action": "BLOCKED", "detected": True}]}}
    (finding,) = findings(assessments(reply.guardrail_blocked(policy=policy, omit_detected=True))[0])
    assert finding["detected"] is True


def test_a_word_is_told_without_the_lists_that_found_nothing() -> None:
    word, _ = assessments(reply.guardrail_blocked(policy="word"))
    assert word["wordPolicy"].keys() == {"customWords"}
    listed, _ = assessments(reply.guardrail_blocked(policy="managed_word"))
    assert listed["wordPolicy"] == {"customWords": [], "managedWordLists": findings(listed)}


def test_the_easy_case_is_a_blocked_input() -> None:
    answer = reply.guardrail_blocked()
    _, delta, _, stop, metadata = answer.events()
    assert delta["contentBlockDelta"]["delta"] == {"text": BLOCKED_MESSAGE}
    assert stop["messageStop"]["stopReason"] == "guardrail_intervened"
    none = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0, "serverToolUsage": {}}
    assert metadata["metadata"]["usage"] == none
    assert trace_of(answer).keys() == {"actionReason", "inputAssessment"}
    assert whole(answer)["trace"]["guardrail"].keys() == {"actionReason", "inputAssessment", "modelOutput"}
    assert whole(answer)["usage"] == none


if bedrock.has_shape("AppliedGuardrailDetails"):

    def test_a_blocked_input_is_as_the_recorded_one() -> None:
        answer = reply.guardrail_blocked("No weather here.", policy=TOPIC, guardrail_id="abc")
        counters = [each for each in bedrock.shape("GuardrailUsage").members if "automatedReasoning" not in each]
        usage = dict.fromkeys(counters, 0) | {"topicPolicyUnits": 1}
        coverage = {"textCharacters": {"guarded": 40, "total": 40}}
        assessment = {
            "appliedGuardrailDetails": {
                "guardrailArn": "arn:aws:bedrock:us-east-1:123456789012:guardrail/abc",
                "guardrailId": "abc",
                "guardrailOrigin": ["REQUEST"],
                "guardrailOwnership": "SELF",
                "guardrailVersion": "DRAFT",
            },
            "invocationMetrics": {
                "guardrailCoverage": coverage,
                "guardrailProcessingLatency": 195,
                "usage": usage,
            },
            "topicPolicy": {
                "topics": [{"action": "BLOCKED", "detected": True, "name": "Weather", "type": "DENY"}],
            },
        }
        assert trace_of(answer) == {"actionReason": "Guardrail blocked.", "inputAssessment": {"abc": assessment}}


@pytest.mark.parametrize("policy", BLOCKING)
def test_every_policy_that_can_blocks_with_one_detected_finding(policy: BlockingPolicy) -> None:
    answer = reply.guardrail_blocked(policy=policy)
    asked, answered = assessments(answer)
    (finding,) = findings(asked) + findings(answered)
    assert (finding["action"], finding["detected"]) == ("BLOCKED", True)
    assert bool(findings(asked)) == ("input" in POLICIES[policy].sides)
    told = asked if findings(asked) else answered
    assert told is not None
    assert POLICIES[policy].findings in told[POLICIES[policy].member]
    assert told["invocationMetrics"]["usage"][POLICIES[policy].counter] == 1


def test_a_blocked_output_has_cost_tokens_and_tells_what_the_model_wrote() -> None:
    answer = reply.guardrail_blocked("No.", policy="word", original="Buy crypto.")
    asked, answered = assessments(answer)
    assert findings(asked) == []
    assert [each["match"] for each in findings(answered)] == ["crypto"]
    assert trace_of(answer)["actionReason"] == "No action.\nGuardrail blocked."
    assert trace_of(answer)["modelOutput"] == ["Buy crypto."]
    assert answered is not None
    assert answered["invocationMetrics"]["guardrailCoverage"]["textCharacters"]["total"] == len("Buy crypto.")
    assert whole(answer)["usage"]["outputTokens"] > 0


def test_the_async_stream_mode_lets_something_through_before() -> None:
    answer = reply.guardrail_blocked("No.", policy="word", streamed="Buy some ")
    deltas = [each["contentBlockDelta"]["delta"]["text"] for each in answer.events() if "contentBlockDelta" in each]
    assert deltas == ["Buy", " some", " ", "No."]
    assert findings(assessments(answer)[1])


def test_without_trace_only_the_stop_reason_tells() -> None:
    for answer in (reply.guardrail_blocked(trace=False), reply.guardrail_masked("I am {NAME}.", trace=False)):
        (*_, stop, metadata) = answer.events()
        assert stop["messageStop"]["stopReason"] == "guardrail_intervened"
        assert "trace" not in metadata["metadata"]
        assert "trace" not in whole(answer)


def test_findings_may_leave_out_what_was_done() -> None:
    blocked = reply.guardrail_blocked(policy=TOPIC)
    assert findings(assessments(blocked)[0]) == [
        {"name": "Weather", "type": "DENY", "action": "BLOCKED", "detected": True}
    ]
    told = {"topicPolicy": {"topics": [{"name": "Weather", "type": "DENY", "action": "BLOCKED", "detected": False}]}}
    assert findings(assessments(reply.guardrail_blocked(policy=told))[0]) == told["topicPolicy"]["topics"]
    assert "action" not in TOPIC["topicPolicy"]["topics"][0]


def test_metrics_are_what_was_said() -> None:
    said = {"guardrailProcessingLatency": 7}
    asked, answered = assessments(
        reply.guardrail_blocked(policy=TOPIC, side="output", input_assessment={"invocationMetrics": said})
    )
    assert asked["invocationMetrics"]["guardrailProcessingLatency"] == 7
    assert asked["invocationMetrics"]["usage"]["topicPolicyUnits"] == 1
    assert answered is not None
    assert answered["invocationMetrics"]["guardrailProcessingLatency"] > 7
    assert whole(reply.guardrail_blocked(metrics={"latencyMs": 9}))["metrics"] == {"latencyMs": 9}


# Masked


def test_what_was_masked_follows_from_the_texts() -> None:
    answer = reply.guardrail_masked("I am {NAME}, {Booking}.", original="I am Ada, BK-482913.")
    asked, answered = assessments(answer)
    assert findings(asked) == []
    assert findings(answered) == [
        {"match": "Ada", "type": "NAME", "action": "ANONYMIZED", "detected": True},
        {"name": "Booking", "match": "BK-482913", "regex": "BK\\-482913", "action": "ANONYMIZED", "detected": True},
    ]
    assert trace_of(answer)["actionReason"] == "No action.\nGuardrail masked."
    assert trace_of(answer)["modelOutput"] == ["I am Ada, BK-482913."]
    assert whole(answer)["output"]["message"]["content"] == [{"text": "I am {NAME}, {Booking}."}]


@pytest.mark.parametrize("kind", bedrock.enum("GuardrailPiiEntityType"))
def test_every_kind_of_personal_data_is_masked_without_an_original(kind: str) -> None:
    answer = reply.guardrail_masked(f"Here: {{{kind}}}.", policy="pii")
    (finding,) = findings(assessments(answer)[1])
    assert finding["type"] == kind
    assert trace_of(answer)["modelOutput"] == [f"Here: {finding['match']}."]


@pytest.mark.parametrize("policy", MASKING)
def test_what_the_user_wrote_is_masked_before_the_model_sees_it(policy: MaskingPolicy) -> None:
    answer = reply.guardrail_masked("Hello!", side="input", policy=policy)
    asked, answered = assessments(answer)
    assert [each["action"] for each in findings(asked)] == ["ANONYMIZED"]
    assert (findings(answered), trace_of(answer)["actionReason"]) == ([], "Guardrail masked.\nNo action.")


# Let through


def test_nothing_found_is_told_too() -> None:
    answer = reply.guardrail_passed("18 °C and sunny.")
    assert [findings(each) for each in assessments(answer)] == [[], []]
    assert trace_of(answer)["actionReason"] == "No action."
    assert whole(answer)["stopReason"] == "end_turn"
    assert whole(answer)["trace"]["guardrail"]["modelOutput"] == []


@pytest.mark.parametrize("policy", KNOWN)
def test_every_policy_can_tell_without_doing_anything(policy: GuardrailPolicy) -> None:
    answer = reply.guardrail_passed("18 °C and sunny.", policy=policy)
    asked, answered = assessments(answer)
    (finding,) = findings(asked) + findings(answered)
    if actions(POLICIES[policy]):
        assert (finding["action"], finding["detected"]) == ("NONE", True)
    assert trace_of(answer)["actionReason"] == "No action."


# The guardrail of the request


@pytest.mark.parametrize("identifier", ["abc", "arn:aws:bedrock:eu-west-1:123456789012:guardrail/abc"])
def test_the_guardrail_is_the_one_that_the_request_asks_for(identifier: str) -> None:
    config = {"guardrailIdentifier": identifier, "guardrailVersion": "7"}
    trace = whole(reply.guardrail_masked("I am {NAME}."), **config)["trace"]["guardrail"]
    assert (list(trace["inputAssessment"]), list(trace["outputAssessments"])) == (["abc"], ["abc"])
    if bedrock.has_shape("AppliedGuardrailDetails"):
        for applied in (trace["inputAssessment"]["abc"], trace["outputAssessments"]["abc"][0]):
            details = applied["appliedGuardrailDetails"]
            assert (details["guardrailId"], details["guardrailVersion"]) == ("abc", "7")
            assert details["guardrailArn"].startswith("arn:aws:bedrock:")
    named = reply.guardrail_blocked(guardrail_id="mine")
    assert list(whole(named, **config)["trace"]["guardrail"]["inputAssessment"]) == ["mine"]


def test_a_trace_that_was_written_is_sent_as_it_is() -> None:
    written = {"guardrail": {"inputAssessment": {"mine": TOPIC_BLOCKED}}}
    config = {"guardrailIdentifier": "abc", "guardrailVersion": "7"}
    assert whole(reply.message({"text": "No."}, trace=written), **config)["trace"] == written


TOPIC_BLOCKED = {"topicPolicy": {"topics": [{"name": "Weather", "type": "DENY", "action": "BLOCKED"}]}}

# Nonsense

GROUNDED = {"contextualGroundingPolicy": {"filters": [{"type": "GROUNDING", "threshold": 1.0, "score": 0.0}]}}
MASKED = {"sensitiveInformationPolicy": {"piiEntities": [{"type": "NAME", "match": "Ada", "action": "ANONYMIZED"}]}}

NONSENSE: list[tuple[Callable[[], Reply], str]] = [
    (lambda: reply.guardrail_blocked(policy="topics"), "One of: topic, content, word"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_blocked(policy={}), "Give it a finding with action BLOCKED"),
    (lambda: reply.guardrail_blocked(policy=5), "guardrail_blocked(policy=5): it must be one of topic"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_blocked(policy={"topicPolicy": {}}), "lacks 'topics'"),
    (lambda: reply.guardrail_blocked(policy=MASKED), "'Guardrail masked.', and this reply says 'Guardrail blocked.'"),
    (lambda: reply.guardrail_blocked(policy={"topicPolicy": 5}), "policy.topicPolicy is 5"),
    (lambda: reply.guardrail_blocked(policy={"topicPolicy": {"topics": [5]}}), "policy.topicPolicy.topics[0] is 5"),
    (lambda: reply.guardrail_blocked(policy={"topicPolicy": {"topics": "x"}}), "policy.topicPolicy.topics is 'x'"),
    (lambda: reply.guardrail_blocked(policy={"topicPolicy": {"topics": 5}}), "policy.topicPolicy.topics is 5"),
    (lambda: reply.guardrail_blocked(policy={**TOPIC, "invocationMetrics": 5}), "policy.invocationMetrics is 5"),
    (lambda: reply.guardrail_blocked(side="output", input_assessment=5), "input_assessment"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_blocked(5), "text=5"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_blocked(original=5), "original=5"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_masked(5), "text=5"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_passed(5), "text=5"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_blocked(side="both"), "'input' or 'output'"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_blocked(policy="grounding", side="input"), "Use side='output'"),
    (lambda: reply.guardrail_blocked(policy=GROUNDED, side="input"), "Use side='output'"),
    (lambda: reply.guardrail_blocked(side="input", original="x"), "the model writes nothing"),
    (lambda: reply.guardrail_blocked(side="input", streamed="x"), "the model writes nothing"),
    (lambda: reply.guardrail_blocked(side="input", input_assessment={}), "the model writes nothing"),
    (lambda: reply.guardrail_blocked(streamed=""), "leave it out"),
    (lambda: reply.guardrail_blocked(guardrail_id="A B"), "guardrail_id is 'A B'"),
    (lambda: reply.guardrail_blocked(version="latest"), "version is 'latest'"),
    (lambda: reply.guardrail_blocked(side="output", input_assessment={"topic": {}}), "input_assessment"),
    (lambda: reply.guardrail_masked("I am Ada."), "has no mask"),
    (lambda: reply.guardrail_masked("I am {NAME}.", original="I'm Ada."), "differ in more than the masks"),
    (lambda: reply.guardrail_masked("I am {NAME}.", policy="topic"), "Those that can: pii, regex"),  # type: ignore[arg-type]
    (lambda: reply.guardrail_masked("I am {NAME}.", policy="regex"), "write only masks of regex"),
    (lambda: reply.guardrail_masked("I am {Booking}.", policy="pii"), "Personal data: ADDRESS"),
    (lambda: reply.guardrail_masked("I am {NAME}.", policy=TOPIC), "Give it a finding with action ANONYMIZED"),
    (lambda: reply.guardrail_masked("Hello!", side="input", original="Ada"), "Leave original out"),
    (lambda: reply.guardrail_passed("Hello!", policy=TOPIC_BLOCKED), "Use reply.guardrail_blocked"),
    (lambda: reply.guardrail_passed("Hello!", policy="grounding", side="input"), "Use side='output'"),
]


@pytest.mark.parametrize(("written", "said"), NONSENSE)
def test_nonsense_fails_where_it_is_written(written: Callable[[], Reply], said: str) -> None:
    with pytest.raises(ReplyError) as refused:
        written()
    assert said in str(refused.value)


if "automated_reasoning" in KNOWN:

    def test_automated_reasoning_only_tells() -> None:
        with pytest.raises(ReplyError, match=r"cannot block\. .*guardrail_passed"):
            reply.guardrail_blocked(policy="automated_reasoning")  # type: ignore[arg-type]

else:

    def test_a_policy_that_the_model_lacks_is_named() -> None:
        with pytest.raises(ReplyError, match=f"botocore {bedrock.botocore_version()}.*automatedReasoningPolicy"):
            reply.guardrail_passed("18 °C and sunny.", policy="automated_reasoning")


def test_every_reason_is_of_an_action_in_the_model() -> None:
    assert set(REASONS) == set(actions(POLICIES["pii"]))
