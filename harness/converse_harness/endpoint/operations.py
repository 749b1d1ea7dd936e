"""Find the operation of a request path in AWS's API model, and build the answers of ApplyGuardrail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from converse_harness import bedrock
from converse_harness.bedrock import guardrails as rails
from converse_harness.endpoint.call import Call
from converse_harness.json_values import member_of, objects_of
from converse_harness.reply.body import ErrorBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import Request


class Route(NamedTuple):
    """An operation, and the decoded values of the parameters in its path, for example of `modelId`."""

    operation: str
    path_params: Mapping[str, str]


def route(request: Request) -> Route | None:
    """Return the Bedrock Runtime operation of a request, by method and path; None if no operation matches.

    The path is matched before it is decoded: an ARN in the path contains `%2F`, and a decoded `/` would split the ARN.

    >>> from converse_harness.stream.http import Request
    >>> route(Request("POST", "/model/arn%3Aaws%3Abedrock%3A%3A%3Aprompt%2Fx/converse", (), b""))
    Route(operation='Converse', path_params={'modelId': 'arn:aws:bedrock:::prompt/x'})
    """
    return find(request.method, request.target, bedrock.SERVICE)


def control_route(request: Request) -> Route | None:
    """Return the control plane operation of a request, by method and path; None if no operation matches.

    >>> from converse_harness.stream.http import Request
    >>> control_route(Request("GET", "/inference-profiles/us.amazon.nova-lite-v1%3A0", (), b"")).operation
    'GetInferenceProfile'
    """
    return find(request.method, request.target, bedrock.CONTROL_PLANE)


@cache
def labels(operation: str) -> tuple[str, ...] | None:
    """Return the names of the parameters in an operation's path.

    Return None if neither Bedrock Runtime nor Bedrock's control plane has the operation.

    >>> labels("ApplyGuardrail")
    ('guardrailIdentifier', 'guardrailVersion')
    """
    services = (bedrock.SERVICE, bedrock.CONTROL_PLANE)
    # A generator, so that the control plane's large model is loaded only if it is needed.
    paths = (path for service in services for path in _paths(service))
    return next((tuple(pattern.groupindex) for _, pattern, name in paths if name == operation), None)


@lru_cache(maxsize=256)
def find(method: str, target: str, service: str) -> Route | None:
    """Return the operation of a service for an HTTP method and a percent-encoded path; None if no operation matches."""
    path = target.partition("?")[0]
    for its_method, pattern, operation in _paths(service):
        found = pattern.fullmatch(path) if its_method == method else None
        if found:
            return Route(operation, {name: unquote(value) for name, value in found.groupdict().items()})
    return None


@cache
def _paths(service: str) -> tuple[tuple[str, re.Pattern[str], str], ...]:
    described = bedrock.service(service)
    paths: list[tuple[str, re.Pattern[str], str]] = []
    for name in described.operation_names:
        http = described.operation_model(name).http
        # At this point, re.escape() has turned the labels {name} and {name+} into \{name\} and \{name\+\}.
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(http["requestUri"].partition("?")[0]))
        pattern = re.sub(r"\\{(\w+)\\\+\\}", r"(?P<\1>.+)", pattern)
        paths.append((http["method"], re.compile(pattern), name))
    return tuple(paths)


OPERATION: Final = "ApplyGuardrail"


def is_failure(reply: Reply) -> bool:
    """Whether a reply is an error before the stream or a connection failure, so that it can answer any operation."""
    return isinstance(reply.plan.body, ErrorBody) or reply.plan.no_answer


def can_apply(reply: Reply) -> bool:
    """Whether a reply can answer ApplyGuardrail: it has a guardrail trace, is an error, or is a connection failure."""
    has_trace = isinstance(reply.plan.body, MessageBody) and bool(_trace(reply.plan.body))
    return is_failure(reply) or (has_trace and reply.plan.failure is None)


def applied(reply: Reply | None, call: Call) -> str:
    """Return the JSON of the answer to an ApplyGuardrail call; without a reply, the guardrail has no findings.

    The findings are those of the output in the reply's guardrail trace, or those of the input if the output has none,
    whatever the request's `source` is. `source` determines the latency and the usage if the trace does not contain
    them. The character count and the guardrail come from the request.

    The form of the answer follows AWS's model and guide, because there is no recording of ApplyGuardrail.
    """
    planned = None if reply is None else reply.plan.body
    body = planned if isinstance(planned, MessageBody) else MessageBody((), "end_turn")
    side = str(call.body.get("source", "INPUT")).lower()
    assessments = _assessments(_trace(body), side)
    texts = [member_of(block, "text", "text") for block in objects_of(call.body.get("content"))]
    characters = sum(len(text) for text in texts if isinstance(text, str))  # blocks without a valid text count 0
    coverage = {"textCharacters": {"guarded": characters, "total": characters}}
    details = rails.guardrail_details(call.path_params["guardrailIdentifier"], call.path_params["guardrailVersion"])
    shown: list[dict[str, Any]] = []
    for each in assessments:
        whole = rails.measured(each, side, characters, rails.units(side, characters, *assessments), details)
        metrics = {**whole["invocationMetrics"], "guardrailCoverage": coverage}
        shown.append({**rails.detailed(whole, details), "invocationMetrics": metrics})
    reasons = {rails.reason(each) for each in assessments}
    reason = max(reasons, key=list(rails.REASONS.values()).index)
    intervened = reason != rails.REASONS["NONE"]
    members = {
        "usage": shown[0]["invocationMetrics"]["usage"],
        "action": "GUARDRAIL_INTERVENED" if intervened else "NONE",
        "actionReason": reason,
        "outputs": [{"text": block["text"]} for block in body.content] if intervened else [],
        "assessments": shown,
        "guardrailCoverage": coverage,
    }
    return bedrock.to_json(bedrock.operation(OPERATION).output_shape.name, members)


def _trace(body: MessageBody) -> Mapping[str, Any]:
    trace: Mapping[str, Any] = body.options.get("trace") or {}
    return trace.get("guardrail") or {}


def _assessments(guardrail: Mapping[str, Any], side: str) -> list[Mapping[str, Any]]:
    """Return the assessments of the output in a guardrail trace if they have findings, otherwise those of the input.

    If neither the output nor the input has findings, return the assessments of `side`: "output" or "input". If there is
    no assessment either, return one empty assessment.
    """
    by_input: Mapping[str, Mapping[str, Any]] = guardrail.get("inputAssessment") or {}
    by_output: Mapping[str, list[Mapping[str, Any]]] = guardrail.get("outputAssessments") or {}
    of_input, of_output = [*by_input.values()], [each for some in by_output.values() for each in some]
    for assessments in (of_output, of_input):
        if any(map(rails.policies_in, assessments)):
            return assessments
    return (of_output if side == "output" else of_input) or [{}]
