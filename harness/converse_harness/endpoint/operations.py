"""Find the operation of a request path in AWS's API model, and build the answers of ApplyGuardrail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from converse_harness import bedrock
from converse_harness.bedrock import guardrails as rails
from converse_harness.bedrock.api import rest
from converse_harness.endpoint.call import Call
from converse_harness.json_values import member_of, objects_of
from converse_harness.reply.body import ErrorBody, MessageBody
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import Request


class Route(NamedTuple):
    """An operation, the decoded values of the parameters in its path, for example of `modelId`, and its service."""

    operation: str
    path_params: Mapping[str, str]
    service: str = bedrock.SERVICE


def route(request: Request) -> Route | None:
    """Return the Bedrock Runtime operation of a request, by method and path; None if no operation matches.

    The path is matched before it is decoded: an ARN in the path contains `%2F`, and a decoded `/` would split the ARN.

    >>> from converse_harness.stream.http import Request
    >>> route(Request("POST", "/model/arn%3Aaws%3Abedrock%3A%3A%3Aprompt%2Fx/converse", (), b"")).path_params
    {'modelId': 'arn:aws:bedrock:::prompt/x'}
    """
    return find(request.method, request.target, bedrock.SERVICE)


def routes(request: Request, services: Iterable[str]) -> list[Route]:
    """Return the operations of these services that a request can mean, at most one of each service.

    The host of the request and its signature leave services out. Several services sign as "bedrock".

    >>> from converse_harness.stream.http import Request
    >>> [each.operation for each in routes(Request("POST", "/knowledgebases/kb/retrieve", (), b""), bedrock.services())]
    ['Retrieve']
    """
    _, host = host_of(request)
    signed = _SCOPE.search(next((value for name, value in request.headers if name.lower() == "authorization"), ""))
    found: list[Route] = []
    for service in services:
        by_host = host in bedrock.services()
        asked = service == host if by_host else signed is None or _signing_name(service) == signed[1]
        if asked and (route := _route_in(request, service)) is not None:
            found.append(route)
    return found


def other_service(service: str) -> dict[str, str]:
    """Return the key and the value that name a service in a recording: none for those whose operations need no name.

    >>> other_service("bedrock-runtime"), other_service("bedrock-agent")
    ({}, {'service': 'bedrock-agent'})
    """
    return {} if service in _KNOWN else {"service": service}


def any_route(request: Request, scripted: Sequence[NamedOperation] = ()) -> Route | None:
    """Return the operation of any Bedrock service that a request means; None if there is none.

    If it can mean several, it means the first of those in `scripted`, if any. The large models of services that the
    script does not name are loaded only if nothing else fits.
    """
    known = dict.fromkeys((bedrock.SERVICE, bedrock.CONTROL_PLANE, *(each.service for each in scripted)))
    found = routes(request, known) or routes(request, bedrock.services())
    of_names = {NamedOperation(each.service, each.operation): each for each in found}
    meant = (of_names[named] for named in scripted if named in of_names)
    return next(meant, next(iter(found), None))


class NamedOperation(NamedTuple):
    """An operation of one of the Bedrock services in botocore."""

    service: str
    name: str

    @property
    def in_code(self) -> str:
        """The arguments of `on_operation` that name the operation, for example `"InvokeModel"`."""
        usual = self.service in _KNOWN and bedrock.services_of(self.name) == (self.service,)
        return f'"{self.name}"' if usual else f'"{self.name}", service="{self.service}"'

    @property
    def in_json(self) -> str:
        """The members of a `when` of the control API that name the operation."""
        name, *service = self.in_code.split(", ", 1)
        return ", ".join([f'"operation": {name}', *([f'"service": "{self.service}"'] if service else [])])

    def written(self, *answers: str) -> str:
        """Return the source of a call of `on_operation` with these answers."""
        name, *service = self.in_code.split(", ", 1)
        return f"converse.on_operation({', '.join([name, *answers, *service])})"


def host_of(request: Request) -> tuple[str, str]:
    """Return the host of a request and the Bedrock service in its name; "" for each that is not there.

    >>> from converse_harness.stream.http import Request
    >>> host_of(Request("POST", "/mcp", (("Host", "x.gateway.bedrock-agentcore.us-east-1.amazonaws.com"),), b""))
    ('x.gateway.bedrock-agentcore.us-east-1.amazonaws.com', 'bedrock-agentcore')
    """
    host = next((value for name, value in request.headers if name.lower() == "host"), "")
    found = _IN_HOST.search(host)
    return host, "" if found is None else found[1].lower()


_KNOWN: Final = (bedrock.SERVICE, bedrock.CONTROL_PLANE)
"""The services whose operations need no name of a service."""

_IN_HOST: Final = re.compile(r"(?:^|\.)(bedrock(?:-[a-z]+)*?)(?:-fips)?\.", re.IGNORECASE)
_SCOPE: Final = re.compile(r"Credential=[^/]*/\d+/[^/]+/([a-z-]+)/aws4_request")


@cache
def _signing_name(service: str) -> str:
    metadata: Mapping[str, str] = bedrock.service(service).metadata
    return metadata.get("signingName", metadata["endpointPrefix"])


def _route_in(request: Request, service: str) -> Route | None:
    if not rest.is_json_protocol(service):
        return find(request.method, request.target, service)
    name = rest.named_in_header(request.headers, service)
    return None if name is None else Route(name, {}, service)


@cache
def labels(operation: str, service: str | None = None) -> tuple[str, ...] | None:
    """Return the names of the parameters in an operation's path.

    Return None if the service does not have the operation; without a service, if neither Bedrock Runtime nor Bedrock's
    control plane has it.

    >>> labels("ApplyGuardrail")
    ('guardrailIdentifier', 'guardrailVersion')
    """
    # A generator, so that the control plane's large model is loaded only if it is needed.
    services = _KNOWN if service is None else (service,) if service in bedrock.services() else ()
    if service is not None and service in services and rest.is_json_protocol(service):
        return () if operation in bedrock.operations(service) else None
    paths = (path for each in services for path in rest.paths(each))
    return next((tuple(path.pattern.groupindex) for path in paths if path.operation == operation), None)


@lru_cache(maxsize=256)
def find(method: str, target: str, service: str, operation: str | None = None) -> Route | None:
    """Return the operation of a service for an HTTP method and a percent-encoded path; None if no operation matches.

    With the name of an operation, only its own path is compared.
    """
    path = target.partition("?")[0]
    for its_method, pattern, name in rest.paths(service):
        if its_method == method and operation in (None, name) and (found := pattern.fullmatch(path)):
            return Route(name, {label: unquote(value) for label, value in found.groupdict().items()}, service)
    return None


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
