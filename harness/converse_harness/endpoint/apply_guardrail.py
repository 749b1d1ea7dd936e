"""What ApplyGuardrail answers: a verdict on the text of the request, as a reply has it or that nothing was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.bedrock import guardrails as rails
from converse_harness.endpoint.call import Call
from converse_harness.reply.body import ErrorBody, MessageBody
from converse_harness.reply.reply import Reply

OPERATION: Final = "ApplyGuardrail"


def can_apply(reply: Reply) -> bool:
    """Whether it says what a guardrail does: it has a guardrail's trace, or is an error or no answer at all."""
    if isinstance(reply.body, ErrorBody) or reply.no_answer:
        return True
    return isinstance(reply.body, MessageBody) and bool(_trace(reply.body)) and reply.failure is None


def applied(reply: Reply | None, call: Call) -> str:
    """The JSON of the answer to an ApplyGuardrail call; without a reply nothing was found.

    What the reply says of the output, if that is where something was found, else what it says of the input, is said
    of the request's text. Characters and the guardrail are those of the request. Source: AWS's model and its guide;
    ApplyGuardrail is not recorded.
    """
    body = reply.body if reply is not None and isinstance(reply.body, MessageBody) else MessageBody((), "end_turn")
    side = str(call.body.get("source", "INPUT")).lower()
    assessments = _assessments(_trace(body), side)
    characters = _characters(call.body.get("content"))
    coverage = {"textCharacters": {"guarded": characters, "total": characters}}
    details = rails.guardrail_details(call.path_params["guardrailIdentifier"], call.path_params["guardrailVersion"])
    told: list[dict[str, Any]] = []
    for each in assessments:
        whole = rails.measured(each, side, characters, rails.units(side, characters, *assessments), details)
        metrics = {**whole["invocationMetrics"], "guardrailCoverage": coverage}
        told.append({**rails.detailed(whole, details), "invocationMetrics": metrics})
    reasons = {rails.reason(each) for each in assessments}
    reason = max(reasons, key=list(rails.REASONS.values()).index)
    intervened = reason != rails.REASONS["NONE"]
    members = {
        "usage": told[0]["invocationMetrics"]["usage"],
        "action": "GUARDRAIL_INTERVENED" if intervened else "NONE",
        "actionReason": reason,
        "outputs": [{"text": block["text"]} for block in body.content] if intervened else [],
        "assessments": told,
        "guardrailCoverage": coverage,
    }
    return bedrock.to_json(bedrock.operation(OPERATION).output_shape.name, members)


def _trace(body: MessageBody) -> Mapping[str, Any]:
    trace: Mapping[str, Any] = body.options.get("trace") or {}
    return trace.get("guardrail") or {}


def _assessments(guardrail: Mapping[str, Any], side: str) -> list[Mapping[str, Any]]:
    """Those of the side where something was found, or else of the side that is asked about; at least one."""
    by_input: Mapping[str, Mapping[str, Any]] = guardrail.get("inputAssessment") or {}
    by_output: Mapping[str, list[Mapping[str, Any]]] = guardrail.get("outputAssessments") or {}
    asked, answered = [*by_input.values()], [each for some in by_output.values() for each in some]
    for some in (answered, asked):
        if any(map(rails.policies_in, some)):
            return some
    return (answered if side == "output" else asked) or [{}]


def _characters(content: object) -> int:
    """How long the text of the request is; whatever a request may hold."""
    total = 0
    for block in cast("list[object]", content) if isinstance(content, list) else []:
        match block:
            case {"text": {"text": str(text)}}:
                total += len(text)
            case _:
                pass
    return total
