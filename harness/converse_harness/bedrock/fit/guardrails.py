"""What an answer with a guardrail's trace, or blocked by a guardrail, needs in the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converse_harness.bedrock.fit.row import Answer, Fit, Found
from converse_harness.bedrock.guardrails import UNNAMED_GUARDRAIL, VERSION, guardrail_details
from converse_harness.bedrock.rules.request import RuleRequest
from converse_harness.bedrock.rules.rule import documented, recorded, reported
from converse_harness.json_values import is_array, object_of

TRACED: Final = ("enabled", "enabled_full")
"""The values of `guardrailConfig.trace` for which Bedrock sends a trace."""

_ENFORCED: Final = frozenset({"ACCOUNT_ENFORCED", "ORGANIZATION_ENFORCED"})

TRACE_IS_ASKED: Final = "trace_is_asked"
"""The name of the row whose misfit is not sent: a trace that the request does not ask for."""


def misfits_of_guardrails(asked: RuleRequest, answer: Answer) -> Found:
    """Find traces and interventions of a guardrail that the request does not name."""
    config = object_of(asked.body.get("guardrailConfig"))
    trace = config.get("trace")
    if answer.guardrail_trace is not None and trace not in TRACED:
        without = f"has guardrailConfig.trace {trace!r}" if trace else "has no guardrailConfig.trace"
        yield TRACE_IS_ASKED, {"request": without if config else "has no guardrailConfig"}
    if not _is_enforced(answer):
        yield from _other_guardrails(config, answer)
    if any("contextualGroundingPolicy" in each for _, each in answer.assessments):
        qualifiers = _qualifiers(asked)
        if missing := [each for each in ("grounding_source", "query") if each not in qualifiers]:
            yield "grounding_has_a_source_and_a_query", {"missing": " and ".join(missing)}


def _is_enforced(answer: Answer) -> bool:
    """Whether the account or the organization enforces the guardrail, so that no request needs to name it."""
    origins = [object_of(each.get("appliedGuardrailDetails")).get("guardrailOrigin") for _, each in answer.assessments]
    return any(is_array(origin) and not _ENFORCED.isdisjoint(origin) for origin in origins)


def _other_guardrails(config: Mapping[str, object], answer: Answer) -> Found:
    if not config:
        if answer.stop_reason == "guardrail_intervened":
            yield "guardrail_is_asked", {"has": "stopReason guardrail_intervened"}
        elif answer.assessments:
            yield "guardrail_is_asked", {"has": "a guardrail's assessment"}
        return
    version = str(config.get("guardrailVersion") or VERSION)
    wanted = guardrail_details(str(config.get("guardrailIdentifier")), version)["guardrailId"]
    for name, each in answer.assessments:
        applied = object_of(each.get("appliedGuardrailDetails"))
        if UNNAMED_GUARDRAIL in (name, applied.get("guardrailId")):
            continue  # it stands for the guardrail of the request
        if name != wanted:
            yield "guardrail_is_the_asked_one", {"has": f"guardrail {name!r}", "wanted": repr(wanted)}
        elif applied.get("guardrailVersion", version) != version:
            has = f"version {applied['guardrailVersion']!r} of the guardrail"
            yield "guardrail_is_the_asked_one", {"has": has, "wanted": f"version {version!r}"}


def _qualifiers(asked: RuleRequest) -> set[object]:
    """Return the qualifiers of the guarded texts in a request."""
    guarded = [value for _, _, value in asked.blocks("guardContent")]
    guarded += [block["guardContent"] for block in asked.system if "guardContent" in block]
    given = (object_of(object_of(each).get("text")).get("qualifiers") for each in guarded)
    return {each for several in given if is_array(several) for each in several}


_API: Final = "AWS's API model"

GUARDRAILS: Final = (
    Fit(
        TRACE_IS_ASKED,
        "a guardrail's trace",
        "`guardrailConfig.trace` enabled or enabled_full",
        "a guardrail's trace; the request {request}, so no trace is sent. Ask for it: "
        '"guardrailConfig": {{..., "trace": "enabled"}}.',
        ("trace",),
        (recorded("23 of 23", "2026-09"), reported("strands-agents/harness-sdk#3612", "2026-08")),
        "never",
        "guardrailConfig.trace",
    ),
    Fit(
        "guardrail_is_asked",
        "stopReason guardrail_intervened, or an assessment",
        "`guardrailConfig`, unless the assessment says that the account or the organization enforces the guardrail",
        "{has}; the request has no guardrailConfig. Was it dropped on the way?",
        ("stop guardrail_intervened", "trace"),
        (recorded("16 of 16", "2026-09"), documented(f"{_API}, AppliedGuardrailDetails", "2026-11")),
        "seldom",
        "guardrailConfig",
    ),
    Fit(
        "grounding_has_a_source_and_a_query",
        "an assessment with contextualGroundingPolicy",
        "guardContent with the qualifiers grounding_source and query",
        "an assessment with contextualGroundingPolicy; the request has no guardContent with the qualifier {missing}.",
        ("trace",),
        (documented(f"{_API}, GuardrailConverseContentQualifier", "2026-11"),),
        "seldom",
        "messages",
    ),
    Fit(
        "guardrail_is_the_asked_one",
        "the id and the version of a guardrail in the trace",
        "the same in `guardrailConfig`",
        "the trace of {has}; the request has {wanted} (guardrailConfig).",
        ("trace",),
        (documented(f"{_API}, GuardrailTraceAssessment", "2026-11"),),
        "seldom",
        "guardrailConfig",
    ),
)
"""The rows about guardrails."""
