"""Guardrails: one table of their policies, and functions that build assessments and traces from findings."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock.api.beyond import MayBeAbsent
from converse_harness.errors import Advice, Argument, ReplyError, quoted
from converse_harness.json_values import object_of
from converse_harness.literals import GuardrailSide

BOTH: Final[tuple[GuardrailSide, ...]] = ("input", "output")
_OUTPUT: Final[tuple[GuardrailSide, ...]] = ("output",)


@dataclass(frozen=True, slots=True)
class Policy:
    """A guardrail policy and its place in AWS's API model.

    `member` is the name of the policy's member of GuardrailAssessment, and `findings` is the name of the list of
    findings in this member. `sides` are the sides (input, output) that the policy checks. `counter` is the member of
    GuardrailUsage that counts the policy's text units. `finding` is an example of a finding, without an action.
    """

    member: str
    findings: str
    sides: tuple[GuardrailSide, ...]
    counter: str
    finding: Mapping[str, Any]


POLICIES: Final[Mapping[str, Policy]] = {
    "topic": Policy("topicPolicy", "topics", BOTH, "topicPolicyUnits", {"name": "Investment advice", "type": "DENY"}),
    "content": Policy(
        "contentPolicy",
        "filters",
        BOTH,
        "contentPolicyUnits",
        {"type": "INSULTS", "confidence": "HIGH", "filterStrength": "HIGH"},
    ),
    "word": Policy("wordPolicy", "customWords", BOTH, "wordPolicyUnits", {"match": "crypto"}),
    "managed_word": Policy(
        "wordPolicy", "managedWordLists", BOTH, "wordPolicyUnits", {"match": "damn", "type": "PROFANITY"}
    ),
    "pii": Policy(
        "sensitiveInformationPolicy",
        "piiEntities",
        BOTH,
        "sensitiveInformationPolicyUnits",
        {"type": "EMAIL", "match": "ada@example.com"},
    ),
    "regex": Policy(
        "sensitiveInformationPolicy",
        "regexes",
        BOTH,
        "sensitiveInformationPolicyFreeUnits",
        {"name": "Booking", "match": "BK-482913", "regex": "BK-[0-9]{6}"},
    ),
    "grounding": Policy(
        "contextualGroundingPolicy",
        "filters",
        _OUTPUT,
        "contextualGroundingPolicyUnits",
        {"type": "GROUNDING", "threshold": 0.75, "score": 0.25},
    ),
    "automated_reasoning": Policy(
        "automatedReasoningPolicy",
        "findings",
        _OUTPUT,
        "automatedReasoningPolicyUnits",
        {
            "invalid": {
                "translation": {
                    "claims": [{"logic": "refundable = true", "naturalLanguage": "Every booking is refundable"}],
                    "confidence": 1.0,
                },
                "contradictingRules": [
                    {
                        "identifier": "a1b2c3d4e5f6",
                        "policyVersionArn": "arn:aws:bedrock:us-east-1:123456789012:automated-reasoning-policy/"
                        "a1b2c3d4e5f6:1",
                    }
                ],
            }
        },
    ),
}
"""Every policy by its name in `reply.guardrail_blocked` and similar functions. AWS's API model defines the actions of a
policy's findings; the findings of automated reasoning have no action, since this policy only reports."""

REASONS: Final[Mapping[str, str]] = {
    "NONE": "No action.",
    "ANONYMIZED": "Guardrail masked.",
    "BLOCKED": "Guardrail blocked.",
}
"""The text of `actionReason`, by the most severe action in an assessment. Source: recorded answers."""

BLOCKED_MESSAGE: Final = "Sorry, the model cannot answer this question."
"""The AWS console's default text for the two messages of a guardrail: for blocked input and for blocked output."""

UNNAMED_GUARDRAIL: Final = "gr0000000000"
"""The placeholder for the guardrail's id in a scripted reply without such an id. The id in the request's
guardrailConfig replaces the placeholder."""

VERSION: Final = "DRAFT"


INPUT_CHARACTERS: Final = 40
"""The number of characters of input that every assessment of an input reports; it comes from a recorded answer. The
real number is unknown, because a test creates the reply before the request arrives."""

_UNIT: Final = 1000
"""Characters per text unit, the unit in which AWS bills guardrails. Source: AWS's price list."""

_LATENCIES: Final[Mapping[str, int]] = {"input": 195, "output": 250}
"""The `guardrailProcessingLatency` of each side in milliseconds, as recorded."""

_LEFT_OUT: Final = {(row.shape, row.member) for row in bedrock.BEYOND_MODEL if isinstance(row, MayBeAbsent)}
"""The lists, as (shape, member), that AWS omits if they are empty although AWS's API model requires them. Source:
recordings."""

_ARN: Final = "arn:aws:bedrock:us-east-1:123456789012:guardrail/"


def actions(policy: Policy) -> tuple[str, ...]:
    """Return the possible actions of a policy in AWS's API model; the result is empty if the policy only reports.

    Raises NotInModel for a policy that the API model lacks.

    >>> actions(POLICIES["pii"])
    ('ANONYMIZED', 'BLOCKED', 'NONE')
    """
    finding = bedrock.member(bedrock.member("GuardrailAssessment", policy.member).name, policy.findings).member
    return bedrock.enum(finding.members["action"].name) if "action" in finding.members else ()


def able(action: str) -> list[str]:
    """Return the names of the policies that can take `action`, without those that the installed botocore lacks."""
    known = {name: each for name, each in POLICIES.items() if bedrock.has_member("GuardrailAssessment", each.member)}
    return [name for name, policy in known.items() if action in actions(policy)]


def found(policy: Policy, *findings: Mapping[str, Any]) -> dict[str, Any]:
    """Build an AWS GuardrailAssessment with `findings` of one policy; without findings, it contains the policy's
    example.

    Empty lists are added if AWS always sends them.

    >>> found(POLICIES["word"])
    {'wordPolicy': {'customWords': [{'match': 'crypto'}]}}
    """
    shape = bedrock.member("GuardrailAssessment", policy.member)
    needed = [name for name in shape.metadata.get("required", ()) if (shape.name, name) not in _LEFT_OUT]
    lists: dict[str, Any] = {name: [] for name in needed}
    lists[policy.findings] = [copy.deepcopy(dict(each)) for each in findings or (policy.finding,)]
    return {policy.member: lists}


def policies_in(assessment: Mapping[str, Any]) -> list[Policy]:
    """Return the policies with at least one finding in the assessment.

    >>> [policy.counter for policy in policies_in(found(POLICIES["topic"]))]
    ['topicPolicyUnits']
    """
    return [policy for policy in POLICIES.values() if assessment.get(policy.member, {}).get(policy.findings)]


def complete(assessment: Mapping[str, Any], action: str, *, detected: bool = True) -> dict[str, Any]:
    """Return a copy of the assessment in which each finding has an action and the member `detected`.

    Findings of a policy that only reports are not changed. A finding without an action gets `action`, or NONE if its
    policy cannot take `action`. With `detected=False`, the member `detected` is not added. It is optional in AWS's API
    model, but Strands ignores a finding without it.
    """
    whole = copy.deepcopy(dict(assessment))
    for finding, can in _findings(whole):
        told = "action" not in finding
        if told:
            finding["action"] = action if action in can else "NONE"
        if detected:
            finding.setdefault("detected", told or finding["action"] != "NONE")
    return whole


def done(assessment: Mapping[str, Any]) -> set[str]:
    """Return the set of actions in an assessment's findings.

    >>> sorted(done(complete(found(POLICIES["topic"]), "BLOCKED")))
    ['BLOCKED']
    """
    return {finding["action"] for finding, _ in _findings(assessment) if "action" in finding}


def actions_in(trace: Mapping[str, Any]) -> set[str]:
    """Return the set of actions in all assessments of a ConverseTrace, of the input and of the output.

    >>> assessment = complete(found(POLICIES["pii"]), "ANONYMIZED")
    >>> actions_in({"guardrail": {"outputAssessments": {"abcdefghijkl": [assessment]}}})
    {'ANONYMIZED'}
    """
    guardrail = object_of(trace.get("guardrail"))
    asked = object_of(guardrail.get("inputAssessment")).values()
    answered = chain.from_iterable(object_of(guardrail.get("outputAssessments")).values())
    return {action for assessment in (*asked, *answered) for action in done(assessment)}


def reason(assessment: Mapping[str, Any]) -> str:
    """Return the `actionReason` text for one assessment."""
    happened = done(assessment)
    return REASONS[max(happened & REASONS.keys(), key=list(REASONS).index, default="NONE")]


def _findings(assessment: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """Yield each finding of a policy that can take actions, together with the possible actions of this policy."""
    for policy in POLICIES.values():
        for finding in assessment.get(policy.member, {}).get(policy.findings, ()):
            can = actions(policy)
            if can:
                yield finding, can


def units(side: str, characters: int, *assessments: Mapping[str, Any]) -> dict[str, int]:
    """Return the GuardrailUsage, in text units, of one side (input or output) with `characters` characters of text.

    A policy with a finding in one of the assessments has checked the whole text; every other policy has the usage 0.
    The two counters of automated reasoning are there only if this policy found something. Source: four traces of
    September 2026 without these counters (agentjido/req_llm); from August 2025 on, traces had both with the value 0.
    """
    used = max(1, -(-characters // _UNIT))
    policies = [policy for each in assessments for policy in policies_in(each) if side in policy.sides]
    counters = {policy.counter: used for policy in policies}
    counted = [*bedrock.shape("GuardrailUsage").members]
    if POLICIES["automated_reasoning"] not in policies:
        counted = [name for name in counted if not name.startswith("automatedReasoning")]
    return {name: counters.get(name, 0) for name in counted}


def measured(
    assessment: Mapping[str, Any], side: str, characters: int, usage: Mapping[str, int], details: Mapping[str, str]
) -> dict[str, Any]:
    """Return a copy of the assessment to which the metrics of one side and the `details` of the guardrail are added.

    Metrics and details that the assessment already contains are kept.
    """
    metrics = {
        "guardrailProcessingLatency": _LATENCIES[side],
        "usage": dict(usage),
        "guardrailCoverage": {"textCharacters": {"guarded": characters, "total": characters}},
        **assessment.get("invocationMetrics", {}),
    }
    whole = {**assessment, "invocationMetrics": metrics}
    if bedrock.has_member("GuardrailAssessment", "appliedGuardrailDetails"):
        applied = {**details, "guardrailOrigin": ["REQUEST"], "guardrailOwnership": "SELF"}
        whole.setdefault("appliedGuardrailDetails", applied)
    return copy.deepcopy(whole)


def guardrail_details(identifier: str, version: str) -> dict[str, str]:
    """Return the id, version and ARN of a guardrail for `appliedGuardrailDetails`; `identifier` is the id or the ARN.

    >>> guardrail_details("arn:aws:bedrock:eu-west-1:123456789012:guardrail/abc", "1")["guardrailId"]
    'abc'
    """
    arn = identifier if ":" in identifier else _ARN + identifier
    return {"guardrailId": arn.rpartition("/")[2], "guardrailVersion": version, "guardrailArn": arn}


def named(trace: Mapping[str, Any], config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a ConverseTrace in which the guardrail id in `config` replaces the placeholder id.

    `config` is the request's guardrailConfig. Without a placeholder, or without an id in `config`, the trace is
    returned unchanged.
    """
    guardrail: Mapping[str, Any] = trace.get("guardrail") or {}
    asked: Mapping[str, Any] = guardrail.get("inputAssessment") or {}
    answered: Mapping[str, Any] = guardrail.get("outputAssessments") or {}
    if UNNAMED_GUARDRAIL not in {*asked, *answered} or not config or not config.get("guardrailIdentifier"):
        return trace
    details = guardrail_details(config["guardrailIdentifier"], config.get("guardrailVersion") or VERSION)
    new = {UNNAMED_GUARDRAIL: details["guardrailId"]}
    sides: dict[str, Any] = {
        "inputAssessment": {new.get(name, name): detailed(each, details) for name, each in asked.items()}
    }
    if answered:
        sides["outputAssessments"] = {
            new.get(name, name): [detailed(each, details) for each in some] for name, some in answered.items()
        }
    return {**trace, "guardrail": {**guardrail, **sides}}


def detailed(assessment: Mapping[str, Any], details: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the assessment with its guardrail details replaced by `details`.

    If its guardrail details do not have the placeholder id, the assessment is returned unchanged.
    """
    applied: Mapping[str, Any] = assessment.get("appliedGuardrailDetails", {})
    if applied.get("guardrailId") != UNNAMED_GUARDRAIL:
        return assessment
    return {**assessment, "appliedGuardrailDetails": {**applied, **details}}


def in_json(trace: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a ConverseTrace as Converse (not ConverseStream) sends it.

    A guardrail trace with `actionReason` but without `modelOutput` gets an empty `modelOutput`. Recorded answers of
    Converse have both members; older ones have neither. Streams have no `modelOutput`.
    """
    guardrail: Mapping[str, Any] = trace.get("guardrail") or {}
    if "actionReason" not in guardrail or "modelOutput" in guardrail:
        return trace
    return {**trace, "guardrail": {**guardrail, "modelOutput": []}}


_MASK: Final = re.compile(r"\{([^{}]+)\}")
"""Matches a mask in a text: in braces, the type of the personal data or the name of the guardrail's regular expression.
"""

_EXAMPLES: Final[Mapping[str, str]] = {
    "ADDRESS": "Zürich",
    "EMAIL": "ada@example.com",
    "NAME": "Ada Lovelace",
    "PHONE": "+41 44 668 18 00",
    "URL": "https://example.com",
}
"""Maps some types of personal data to an invented example."""


def unmasked(text: str) -> str:
    """Return the text with an invented original text in place of each mask. A mask is a name in braces.

    >>> unmasked("I am {NAME}, booking {Booking}.")
    'I am Ada Lovelace, booking Booking.'
    """
    return _MASK.sub(lambda mask: _EXAMPLES.get(mask[1], mask[1].replace("_", " ").capitalize()), text)


_POLICY: Final = Advice("policy={...}.", '"policy": {...}.')


def masks(text: str, original: str) -> list[tuple[str, str]]:
    """Return each mask of a text together with the original text that the mask replaced.

    Raises ReplyError if there is no mask, or if the two texts differ outside the masks.

    >>> masks("I live in {ADDRESS}.", "I live in Rome.")
    [('ADDRESS', 'Rome')]
    """
    names = _MASK.findall(text)
    if not names:
        raise ReplyError(
            Argument("guardrail_masked", "text", value=text),
            ": the text has no mask. Write what was masked as Bedrock does, 'My name is {NAME}.' for instance; or give "
            "what was found as ",
            _POLICY,
        )
    pattern = "(.+?)".join(re.escape(part) for part in _MASK.split(text)[::2])
    stood = re.fullmatch(pattern, original, re.DOTALL)
    if stood is None:
        raise ReplyError(
            Argument("guardrail_masked", "original", value=original),
            ": it is not ",
            quoted(text),
            " before masking: they differ in more than the masks. Make them agree, or give what was found as ",
            _POLICY,
        )
    return list(zip(names, stood.groups(), strict=True))


def masked(found_there: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Build an assessment from (mask, original) pairs.

    Masks that are AWS types of personal data become `piiEntities`, all others become `regexes`.

    >>> masked([("NAME", "Ada")])
    {'sensitiveInformationPolicy': {'piiEntities': [{'match': 'Ada', 'type': 'NAME'}]}}
    """
    kinds = bedrock.enum("GuardrailPiiEntityType")
    entities = [{"match": match, "type": name} for name, match in found_there if name in kinds]
    regexes = [
        {"name": name, "match": match, "regex": re.escape(match)} for name, match in found_there if name not in kinds
    ]
    policy = {"piiEntities": entities, "regexes": regexes}
    return {"sensitiveInformationPolicy": {name: each for name, each in policy.items() if each or name != "regexes"}}
