"""Strategies for AWS GuardrailTraceAssessments with every policy and action, and for guardrail configurations.

Policies, their entries and all enums come from the installed botocore's model; this module makes their values
consistent.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import chain, product
from operator import itemgetter
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.bedrock.guardrails import REASONS
from converse_strategies import basics, shapes
from converse_strategies.basics import Texts, cached, chosen, composite, sampled

Assessment = dict[str, Any]

_ACCOUNT: Final = "arn:aws:bedrock:us-east-1:123456789012"
_REASONING: Final = "automatedReasoningPolicy"
IDS: Final = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
_RULES: Final = st.text(string.ascii_lowercase + string.digits, min_size=12, max_size=12)
_MOST_CHARACTERS: Final = 1000
"""The maximum length, in characters, of a text in a finding of automated reasoning, according to AWS's API model."""

VERSIONS: Final = basics.made(st.integers(0, 99), lambda number: str(number) if number else "DRAFT")
_RARELY: Final = st.sampled_from((False, False, False, True))
"""Strategy for whether a second guardrail, or a second assessment of an output, is drawn. It is rare, because each
assessment takes time.
"""

_TWO_PERCENTAGES: Final = st.tuples(st.integers(0, 100), st.integers(0, 100))
_TYPE: Final = itemgetter("type")
_MILLISECONDS: Final = st.integers(0, 10_000)
_CHARACTERS: Final = st.integers(0, 10_000)
_IMAGES: Final = st.sampled_from([(guarded, total) for total in range(5) for guarded in range(total + 1)])
_MOST_UNITS: Final = 4


@composite
def guardrail_traces(
    draw: st.DrawFn,
    *,
    policies: Collection[str] | None = None,
    actions: Collection[str] | None = None,
    texts: Texts | None = None,
) -> dict[str, Any]:
    """AWS GuardrailTraceAssessments, as in the member `trace.guardrail` of an answer.

    `inputAssessment` has one assessment per guardrail. If the model answered, there are also `modelOutput` and, per
    guardrail, a list in `outputAssessments`. If the input is blocked, the model did not answer. `actionReason`
    describes, in Bedrock's words, the most severe action on the input and on the output. `policies`, `actions` and
    `texts` mean the same as in `guardrail_assessments()`. The requested policies and actions are in the assessments of
    the output if there is an output, otherwise in those of the input. Source: recorded traces; AWS's API model. Raises
    InvalidArgument, when drawn, for an unknown policy or action.

    >>> from hypothesis import find
    >>> trace = find(guardrail_traces(actions=["ANONYMIZED"]), lambda trace: "modelOutput" not in trace)
    >>> trace["inputAssessment"]["0"]["sensitiveInformationPolicy"]["piiEntities"]
    [{'match': '', 'type': 'ADDRESS', 'action': 'ANONYMIZED', 'detected': True}]
    """
    some = basics.texts() if texts is None else texts
    wanted, least = _wanted("guardrail_traces", policies, actions)
    ids = list(dict.fromkeys(draw(IDS) for _ in range(1 + draw(_RARELY))))
    answered = draw(st.booleans())
    harmless = (wanted[0], wanted[1] - {"BLOCKED"}) if answered else wanted
    inputs = {each: _draw_assessment(draw, each, harmless, 0 if answered else least, some) for each in ids}
    trace: dict[str, Any] = {"inputAssessment": inputs}
    reasons = [_gravest(inputs.values())]
    if answered:
        trace["modelOutput"] = [draw(some)]
        trace["outputAssessments"] = outputs = {
            each: [_draw_assessment(draw, each, wanted, least, some) for _ in range(1 + draw(_RARELY))] for each in ids
        }
        reasons.append(_gravest(chain.from_iterable(outputs.values())))
    if bedrock.has_member("GuardrailTraceAssessment", "actionReason") and draw(st.booleans()):
        trace["actionReason"] = "\n".join(dict.fromkeys(REASONS[action] for action in reasons))
    return trace


@composite
def guardrail_assessments(
    draw: st.DrawFn,
    *,
    policies: Collection[str] | None = None,
    actions: Collection[str] | None = None,
    texts: Texts | None = None,
) -> Assessment:
    """AWS GuardrailAssessments: what one guardrail found in one text, often with its metrics and the guardrail's id.

    Each policy in an assessment has at least one entry. `detected` is true for the actions BLOCKED and ANONYMIZED. For
    NONE it may be true as well, because a guardrail can be configured to detect without acting. A content filter
    detects at the confidence that its strength requires; grounding and relevance are detected only below their
    threshold. In the metrics, the number of guarded characters is at most the total, and each policy in the assessment
    has used units.

    `policies` are some of the members of GuardrailAssessment that end in `Policy`; `actions` are some of BLOCKED,
    ANONYMIZED and NONE. If either is given, there is at least one entry, and every entry belongs to these policies and
    has one of these actions. `texts` draws the names and matches. Source: recorded traces; AWS's guide to guardrails.
    Raises InvalidArgument, when drawn, for an unknown policy or action.

    >>> from hypothesis import find
    >>> find(guardrail_assessments(policies=["topicPolicy"], actions=["BLOCKED"]), lambda assessment: True)
    {'topicPolicy': {'topics': [{'name': '', 'type': 'DENY', 'action': 'BLOCKED', 'detected': True}]}}
    """
    some = basics.texts() if texts is None else texts
    wanted, least = _wanted("guardrail_assessments", policies, actions)
    return _draw_assessment(draw, draw(IDS), wanted, least, some)


@composite
def guardrail_configs(draw: st.DrawFn) -> dict[str, Any]:
    """AWS GuardrailConfigurations, the `guardrailConfig` of Converse: an id or ARN, a version, and sometimes a trace
    setting.

    >>> from hypothesis import find
    >>> find(guardrail_configs(), lambda config: True)
    {'guardrailIdentifier': '0', 'guardrailVersion': 'DRAFT'}
    """
    return _draw_config(draw, "GuardrailConfiguration")


@composite
def guardrail_stream_configs(draw: st.DrawFn) -> dict[str, Any]:
    """AWS GuardrailStreamConfigurations, the `guardrailConfig` of ConverseStream, sometimes with a
    `streamProcessingMode`.

    This mode is sync or async; a GuardrailConfiguration has no such member.

    >>> from hypothesis import find
    >>> find(guardrail_stream_configs(), lambda config: "streamProcessingMode" in config)
    {'guardrailIdentifier': '0', 'guardrailVersion': 'DRAFT', 'streamProcessingMode': 'sync'}
    """
    return _draw_config(draw, "GuardrailStreamConfiguration")


@cache
def guardrail_policies() -> tuple[str, ...]:
    """Return the members of GuardrailAssessment in the installed botocore that end in `Policy` and that this module can
    draw.

    >>> guardrail_policies()[0]
    'topicPolicy'
    """
    members = bedrock.shape("GuardrailAssessment").members
    return tuple(name for name, shape in members.items() if name.endswith("Policy") and _known(name, shape))


def _known(policy: str, shape: bedrock.Shape) -> bool:
    """Whether this module can draw the member `policy` of GuardrailAssessment.

    It can draw automated reasoning, and policies all of whose members are lists of entries with an `action`.
    """
    lists = [each for each in shape.members.values() if each.type_name == "list"]
    actions = ["action" in getattr(each.member, "members", {}) for each in lists]
    return policy == _REASONING or (all(actions) and len(lists) == len(shape.members))


_Wanted = tuple[tuple[str, ...], frozenset[str]]
"""(names of the requested policies, the simplest first; the allowed actions)"""


def _wanted(function: str, policies: Collection[str] | None, actions: Collection[str] | None) -> tuple[_Wanted, int]:
    """Return the requested policies and actions, and the least number of policies that an assessment must have: 0 or 1.

    None for `policies` or `actions` means all. Raises InvalidArgument if none of the policies can have one of the
    actions.
    """
    wanted = chosen(function, "policies", policies, guardrail_policies())
    allowed = frozenset(chosen(function, "actions", actions, tuple(REASONS)))
    if not _fitting(wanted, allowed):
        raise InvalidArgument(
            f"{function}(policies={policies!r}, actions={actions!r}): none of these policies knows such an action. "
            "Leave one of both out; only sensitiveInformationPolicy anonymizes, automated reasoning has no action."
        )
    return (wanted, allowed), 0 if policies is None and actions is None else 1


@cache
def _fitting(policies: tuple[str, ...], actions: frozenset[str]) -> tuple[str, ...]:
    """Return those of `policies` that can have at least one of `actions`."""
    return tuple(name for name in policies if _has_action(name, actions))


def _has_action(policy: str, actions: frozenset[str]) -> bool:
    if policy == _REASONING:
        return "NONE" in actions
    lists = bedrock.member("GuardrailAssessment", policy).members.values()
    return any(_forms(each.member.name, actions) for each in lists)


def _draw_assessment(draw: st.DrawFn, id: str, wanted: _Wanted, least: int, texts: Texts) -> Assessment:
    actions = wanted[1]
    policies = _fitting(*wanted)
    assessment: Assessment = {}
    units: set[str] = set()
    for policy in draw(st.lists(sampled(policies), min_size=least, max_size=2, unique=True)) if policies else ():
        if policy == _REASONING:
            assessment[policy] = {"findings": draw(st.lists(_findings(texts), min_size=1, max_size=2))}
            units |= {"automatedReasoningPolicyUnits", "automatedReasoningPolicies"}
            continue
        assessment[policy] = entries = _draw_policy(draw, policy, actions, texts)
        found = [name for name, each in entries.items() if each]
        units |= {"sensitiveInformationPolicyFreeUnits" if name == "regexes" else f"{policy}Units" for name in found}
    if draw(st.booleans()):
        assessment["invocationMetrics"] = _draw_metrics(draw, units)
    if bedrock.has_shape("AppliedGuardrailDetails") and draw(st.booleans()):
        assessment["appliedGuardrailDetails"] = {
            "guardrailId": id,
            "guardrailVersion": draw(VERSIONS),
            "guardrailArn": f"{_ACCOUNT}:guardrail/{id}",
            "guardrailOrigin": draw(st.lists(sampled(bedrock.enum("GuardrailOrigin")), min_size=1, unique=True)),
            "guardrailOwnership": draw(sampled(bedrock.enum("GuardrailOwnership"))),
        }
    return assessment


@cached
def _findings(texts: Texts) -> st.SearchStrategy[dict[str, Any]]:
    policies = basics.made(_RULES, lambda rule: f"{_ACCOUNT}:automated-reasoning-policy/{rule}:1")
    return shapes.values(
        "GuardrailAutomatedReasoningFinding",
        overrides={"GuardrailAutomatedReasoningPolicyVersionArn": policies},
        texts=basics.made(texts, lambda text: text[:_MOST_CHARACTERS]),
    )


def _draw_policy(draw: st.DrawFn, policy: str, actions: frozenset[str], texts: Texts) -> dict[str, Any]:
    """Draw an assessment of the policy `policy`: a dict of lists. At least one of these lists has entries."""
    lists = {name: each.member.name for name, each in bedrock.member("GuardrailAssessment", policy).members.items()}
    fillable = tuple(name for name, entry in lists.items() if _forms(entry, actions))
    filled = draw(sampled(fillable))
    found: dict[str, Any] = {name: [] for name in lists}
    for name in fillable:
        # An assessment has at most one filter of each type, but may contain the same word or name several times.
        once = lists[name] in ("GuardrailContentFilter", "GuardrailContextualGroundingFilter")
        entries = _entries(lists[name], actions, texts)
        least = int(name == filled)
        found[name] = draw(st.lists(entries, min_size=least, max_size=2, unique_by=_TYPE if once else None))
    # In recorded traces, AWS leaves out an empty `regexes`, although AWS's API model requires this member.
    if found.get("regexes") == [] and draw(st.booleans()):
        del found["regexes"]
    return found


_Form = tuple[tuple[str, Any], ...]
"""The values of `detected` and of all enum members of one entry, as pairs (name of the member, value)."""


@cache
def _forms(entry: str, actions: frozenset[str]) -> tuple[_Form, ...]:
    """Return the consistent combinations of enum values and `detected` for the shape `entry`, the simplest first.

    Only combinations with one of `actions` are returned.
    """
    members = bedrock.shape(entry).members
    required = bedrock.shape(entry).metadata.get("required", ())
    enums = {name: bedrock.enum(each.name) for name, each in members.items() if bedrock.enum(each.name)}
    choices = {name: values if name in required else (None, *values) for name, values in enums.items()}
    values_of_action = choices.pop("action")[::-1]
    found: list[_Form] = []
    for detected, (action, *values) in product((False, True), [*product(values_of_action, *choices.values())]):
        form = dict(zip(choices, values, strict=True))
        if action in actions and (detected or action == "NONE") and _sound(form, detected=detected):
            whole = {**form, "action": action, "detected": detected}
            found.append(tuple((name, value) for name, value in whole.items() if value is not None))
    return tuple(found)


def _sound(form: Mapping[str, str | None], *, detected: bool) -> bool:
    """Whether `detected` fits the confidence and the strength of a content filter in `form`.

    A filter of higher strength detects already at a lower confidence. The result is True if `form` has no confidence.
    """
    confidence, strength = form.get("confidence"), form.get("filterStrength")
    if confidence is None or (strength is None and confidence != "NONE"):
        return True
    ranks = bedrock.enum("GuardrailContentFilterConfidence")
    return detected == (ranks.index(confidence) + ranks.index(strength or "NONE") >= len(ranks))


@cache
def _entries(entry: str, actions: frozenset[str], texts: Texts) -> st.SearchStrategy[dict[str, Any]]:
    members = bedrock.shape(entry).members
    forms = st.sampled_from(_forms(entry, actions))
    free = {name: texts for name, each in members.items() if each.type_name == "string" and not bedrock.enum(each.name)}
    numbers = {"numbers": _TWO_PERCENTAGES} if "threshold" in members else {}

    def entry_of(drawn: tuple[_Form, dict[str, Any]]) -> dict[str, Any]:
        form, rest = dict(drawn[0]), drawn[1]
        if numbers:
            rest = _grounding(*rest["numbers"], detected=form["detected"])
        whole = {**form, **rest}
        return {name: whole[name] for name in members if name in whole}

    return basics.made(st.tuples(forms, st.fixed_dictionaries({**free, **numbers})), entry_of)


def _grounding(one: int, other: int, *, detected: bool) -> dict[str, float]:
    low, high = sorted((one, other))
    if not detected:
        return {"threshold": low / 100, "score": high / 100}
    low, high = (low, high) if low < high else (low - 1, high) if low else (low, high + 1)
    return {"threshold": high / 100, "score": low / 100}


def _draw_metrics(draw: st.DrawFn, used: Collection[str]) -> dict[str, Any]:
    total, (guarded_images, images) = draw(_CHARACTERS), draw(_IMAGES)
    coverage = {"textCharacters": {"guarded": min(draw(_CHARACTERS), total), "total": total}}
    if images:
        coverage["images"] = {"guarded": guarded_images, "total": images}
    return {
        "guardrailProcessingLatency": draw(_MILLISECONDS),
        "usage": _draw_usage(draw, used),
        "guardrailCoverage": coverage,
    }


def _draw_usage(draw: st.DrawFn, used: Collection[str]) -> dict[str, int]:
    """Draw the numbers of used units, all from a single drawn number: each digit to the base `_MOST_UNITS` is one of
    them.

    The members of GuardrailUsage in `used` have at least 1.
    """
    names = bedrock.shape("GuardrailUsage").members
    number = draw(st.integers(0, _MOST_UNITS ** len(names) - 1))
    usage: dict[str, int] = {}
    for name in names:
        number, units = divmod(number, _MOST_UNITS)
        usage[name] = max(units, int(name in used))
    return usage


def has_intervened(trace: Mapping[str, Any]) -> bool:
    """Whether a guardrail blocked the input or the output, or anonymized the output, according to a
    GuardrailTraceAssessment.

    Recorded answers with such a trace have the stop reason `guardrail_intervened`.
    """
    outputs = chain.from_iterable(trace.get("outputAssessments", {}).values())
    return _gravest(outputs) != "NONE" or _gravest(trace.get("inputAssessment", {}).values()) == "BLOCKED"


def _gravest(assessments: Iterable[Assessment]) -> str:
    entries = [
        entry["action"]
        for assessment in assessments
        for policy, found in assessment.items()
        if policy.endswith("Policy") and policy != _REASONING
        for entries in found.values()
        for entry in entries
    ]
    return max(entries, key=list(REASONS).index, default="NONE")


def _draw_config(draw: st.DrawFn, shape: str) -> dict[str, Any]:
    name = draw(IDS)
    config = {
        "guardrailIdentifier": f"{_ACCOUNT}:guardrail/{name}" if draw(st.booleans()) else name,
        "guardrailVersion": draw(VERSIONS),
    }
    for key, each in bedrock.shape(shape).members.items():
        value = draw(sampled((None, *bedrock.enum(each.name))))
        if value is not None:
            config[key] = value
    return config
