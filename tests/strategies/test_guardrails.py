"""Guardrail traces: all of what the model allows is reached, and only what hangs together."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.bedrock.guardrails import REASONS
from converse_strategies.message.guardrails import (
    guardrail_assessments,
    guardrail_configs,
    guardrail_policies,
    guardrail_stream_configs,
    guardrail_traces,
)
from tests.strategies.conftest import found, never

POLICIES = guardrail_policies()
REASONING = "automatedReasoningPolicy"
has_reasoning = pytest.mark.skipif(REASONING not in POLICIES, reason="this botocore has no automated reasoning")
STRENGTH_DETECTS = {
    "NONE": set[str](),
    "LOW": {"HIGH"},
    "MEDIUM": {"HIGH", "MEDIUM"},
    "HIGH": {"HIGH", "MEDIUM", "LOW"},
}


def entries(assessment: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The shape and the value of every entry of the policies that have entries."""
    for policy in POLICIES:
        lists = bedrock.member("GuardrailAssessment", policy).members
        for name, items in assessment.get(policy, {}).items() if policy != REASONING else ():
            for entry in items:
                yield lists[name].member.name, entry


def assessments(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from trace["inputAssessment"].values()
    for each in trace.get("outputAssessments", {}).values():
        yield from each


def check_assessment(assessment: dict[str, Any]) -> None:
    for policy in set(POLICIES).intersection(assessment):
        assert any(assessment[policy].values()), f"{policy} without an entry"
    for _, entry in entries(assessment):
        assert entry["detected"] or entry["action"] == "NONE"
        if "threshold" in entry:
            assert entry["detected"] == (entry["score"] < entry["threshold"])
        if "filterStrength" in entry:
            assert entry["detected"] == (entry["confidence"] in STRENGTH_DETECTS[entry["filterStrength"]])
    for policy in ("contentPolicy", "contextualGroundingPolicy"):
        types = [entry["type"] for entry in assessment.get(policy, {}).get("filters", ())]
        assert len(set(types)) == len(types)
    metrics = assessment.get("invocationMetrics")
    if metrics:
        check_metrics(metrics, assessment)


def check_metrics(metrics: dict[str, Any], assessment: dict[str, Any]) -> None:
    assert metrics["guardrailProcessingLatency"] >= 0
    assert all(0 <= each["guarded"] <= each["total"] for each in metrics["guardrailCoverage"].values())
    assert all(units >= 0 for units in metrics["usage"].values())
    used = {policy for policy in POLICIES if policy in assessment and policy != "sensitiveInformationPolicy"}
    sensitive = assessment.get("sensitiveInformationPolicy", {})
    used |= {"sensitiveInformationPolicy"} if sensitive.get("piiEntities") else set()
    used |= {"sensitiveInformationPolicyFree"} if sensitive.get("regexes") else set()
    assert all(metrics["usage"][f"{policy}Units"] for policy in used)


@given(guardrail_assessments())
def test_an_assessment_hangs_together(assessment: dict[str, Any]) -> None:
    bedrock.check("GuardrailAssessment", assessment)
    check_assessment(assessment)


@given(guardrail_traces())
def test_a_trace_hangs_together(trace: dict[str, Any]) -> None:
    bedrock.check("ConverseTrace", {"guardrail": trace})
    for each in assessments(trace):
        check_assessment(each)
    for guardrail, assessment in trace["inputAssessment"].items():
        details = assessment.get("appliedGuardrailDetails")
        if details:
            assert details["guardrailId"] == guardrail
            assert details["guardrailArn"].endswith(f":guardrail/{guardrail}")
    blocked = any(
        entry["action"] == "BLOCKED" for each in trace["inputAssessment"].values() for _, entry in entries(each)
    )
    assert ("outputAssessments" in trace) == ("modelOutput" in trace)
    if "outputAssessments" in trace:
        assert not blocked
        assert trace["outputAssessments"].keys() == trace["inputAssessment"].keys()
        assert all(trace["outputAssessments"].values())


@given(guardrail_traces())
def test_the_reason_tells_the_gravest_action_of_input_and_output(trace: dict[str, Any]) -> None:
    if "actionReason" not in trace:
        return
    lines = trace["actionReason"].split("\n")
    sides = [list(trace["inputAssessment"].values())]
    if "outputAssessments" in trace:
        sides.append([each for found in trace["outputAssessments"].values() for each in found])
    graver: list[str] = []
    for side in sides:
        found = {entry["action"] for each in side for _, entry in entries(each)}
        graver += [action for action in ("BLOCKED", "ANONYMIZED", "NONE") if action in found][:1] or ["NONE"]
    assert lines == list(dict.fromkeys(REASONS[action] for action in graver)), "where both are alike it is said once"


def enum_values(policy: str) -> Iterator[tuple[str, str, str]]:
    """Every value of every enum in a policy's entries: the entry's shape, its member, the value."""
    for each in bedrock.member("GuardrailAssessment", policy).members.values() if policy != REASONING else ():
        for name, member in each.member.members.items():
            for value in bedrock.enum(member.name):
                yield each.member.name, name, value


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != REASONING])
def test_every_value_of_every_enum_is_reached_in_every_entry(policy: str) -> None:
    values = set(enum_values(policy))
    wanted = values | {(shape, "NONE", detected) for shape, _, _ in values for detected in (True, False)}

    def seen(assessment: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
        for shape, entry in entries(assessment):
            yield from ((shape, name, value) for name, value in entry.items() if isinstance(value, str))
            yield shape, entry["action"], entry["detected"]

    assert never(guardrail_assessments(policies=[policy]), wanted, seen) == set()


def test_all_actions_of_the_model_have_a_word() -> None:
    actions = {value for policy in POLICIES for _, name, value in enum_values(policy) if name == "action"}
    assert actions == set(REASONS)


def test_every_policy_of_the_model_is_drawn() -> None:
    assert set(POLICIES) == {name for name in bedrock.shape("GuardrailAssessment").members if name.endswith("Policy")}


def test_every_member_is_reached() -> None:
    members = {*bedrock.shape("GuardrailAssessment").members, *bedrock.shape("GuardrailTraceAssessment").members}
    assert never(guardrail_traces(), members, lambda trace: {*trace}.union(*assessments(trace))) == set()


@has_reasoning
def test_every_finding_of_automated_reasoning_is_reached() -> None:
    findings = bedrock.shape("GuardrailAutomatedReasoningFinding").members
    wanted = {(kind, part) for kind, shape in findings.items() for part in (*shape.members, "")}

    def seen(assessment: dict[str, Any]) -> Iterator[tuple[str, str]]:
        bedrock.check("GuardrailAssessment", assessment)
        for finding in assessment[REASONING]["findings"]:
            ((kind, parts),) = finding.items()
            yield from ((kind, part) for part in (*parts, ""))

    assert never(guardrail_assessments(policies=[REASONING]), wanted, seen) == set()


@has_reasoning
def test_long_statements_are_cut_to_what_the_model_allows() -> None:
    texts = st.just("x" * 2000)
    strategy = guardrail_assessments(policies=[REASONING], texts=texts)

    def statements(assessment: dict[str, Any]) -> list[dict[str, str]]:
        parts = chain.from_iterable(finding.values() for finding in assessment[REASONING]["findings"])
        translations = [part["translation"] for part in parts if "translation" in part]
        return [*chain.from_iterable(each.get("claims", []) + each.get("premises", []) for each in translations)]

    assessment = found(strategy, lambda assessment: any(statements(assessment)))
    bedrock.check("GuardrailAssessment", assessment)
    assert {len(text) for each in statements(assessment) for text in each.values()} == {1000}


@given(guardrail_traces(actions=["BLOCKED"]))
def test_a_chosen_action_is_there_and_no_other(trace: dict[str, Any]) -> None:
    last = trace.get("outputAssessments") or {name: [each] for name, each in trace["inputAssessment"].items()}
    for assessment in chain.from_iterable(last.values()):
        assert {entry["action"] for _, entry in entries(assessment)} == {"BLOCKED"}
        assert REASONING not in assessment


@given(guardrail_assessments(actions=["ANONYMIZED", "NONE"], policies=["topicPolicy", "sensitiveInformationPolicy"]))
def test_policies_and_actions_go_together(assessment: dict[str, Any]) -> None:
    actions = {shape: entry["action"] for shape, entry in entries(assessment)}
    assert actions
    assert actions.pop("GuardrailTopic", "NONE") == "NONE"
    assert set(actions) <= {"GuardrailPiiEntityFilter", "GuardrailRegexFilter"}
    assert set(actions.values()) <= {"ANONYMIZED", "NONE"}


@given(guardrail_traces(texts=st.just("as given")))
def test_texts_are_those_that_are_given(trace: dict[str, Any]) -> None:
    assert set(trace.get("modelOutput", [])) <= {"as given"}
    for each in assessments(trace):
        for _, entry in entries(each):
            assert {entry[name] for name in ("name", "match", "regex") if name in entry} <= {"as given"}


@pytest.mark.parametrize("lists", [["piiEntities"], ["piiEntities", "regexes"]])
def test_where_no_regex_matched_there_is_no_list_as_recorded_or_an_empty_one_as_modelled(lists: list[str]) -> None:
    def bare(assessment: dict[str, Any]) -> bool:
        policy = assessment["sensitiveInformationPolicy"]
        return list(policy) == lists and not policy.get("regexes")

    assessment = found(guardrail_assessments(policies=["sensitiveInformationPolicy"]), bare)
    assert assessment["sensitiveInformationPolicy"]["piiEntities"]


@given(guardrail_configs(), guardrail_stream_configs())
def test_configurations_are_valid(config: dict[str, Any], stream_config: dict[str, Any]) -> None:
    bedrock.check("GuardrailConfiguration", config)
    bedrock.check("GuardrailStreamConfiguration", stream_config)


def test_every_choice_of_a_configuration_is_reached() -> None:
    choices = {"trace": "GuardrailTrace", "streamProcessingMode": "GuardrailStreamProcessingMode"}
    wanted = {(name, value) for name, shape in choices.items() for value in (None, *bedrock.enum(shape))}
    unseen = never(guardrail_stream_configs(), wanted, lambda config: [(name, config.get(name)) for name in choices])
    assert unseen == set()


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        (guardrail_traces(policies=["wordsPolicy"]), "guardrail_traces(policies=['wordsPolicy']): 'wordsPolicy'"),
        (guardrail_assessments(actions=[]), "[] is no choice of actions"),
        (guardrail_assessments(actions="BLOCKED"), "Write actions=['BLOCKED']"),
        (guardrail_traces(policies=["topicPolicy"], actions=["ANONYMIZED"]), "none of these policies knows"),
    ],
)
def test_what_is_wrong_is_said_when_drawn(strategy: st.SearchStrategy[Any], told: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        found(strategy)
    assert told in str(caught.value)
