"""Which operation an HTTP request asks for: the paths of AWS's model, matched raw, each label decoded afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from converse_harness import bedrock
from converse_harness.errors import ReplyError
from converse_harness.stream.http import Request, Response, json_response


class Route(NamedTuple):
    """An operation and the decoded labels of its path, `modelId` for instance."""

    operation: str
    path_params: Mapping[str, str]


def route(request: Request) -> Route | None:
    """The operation of Bedrock Runtime that the request asks for, or None.

    The raw path is matched: an ARN in it has its `/` as `%2F`, and decoding first would split it.

    >>> from converse_harness.stream.http import Request
    >>> route(Request("POST", "/model/arn%3Aaws%3Abedrock%3A%3A%3Aprompt%2Fx/converse", (), b""))
    Route(operation='Converse', path_params={'modelId': 'arn:aws:bedrock:::prompt/x'})
    """
    return _find(request, bedrock.SERVICE)


def control_route(request: Request) -> Route | None:
    """The operation of Bedrock's control plane that the request asks for, or None.

    >>> from converse_harness.stream.http import Request
    >>> control_route(Request("GET", "/inference-profiles/us.amazon.nova-lite-v1%3A0", (), b"")).operation
    'GetInferenceProfile'
    """
    return _find(request, bedrock.CONTROL_PLANE)


@cache
def labels(operation: str) -> tuple[str, ...] | None:
    """The labels in the path of an operation of either service; None for an operation that is none of theirs.

    >>> labels("ApplyGuardrail")
    ('guardrailIdentifier', 'guardrailVersion')
    """
    for service in (bedrock.SERVICE, bedrock.CONTROL_PLANE):  # the second is large, and seldom asked for
        for _, pattern, name in _paths(service):
            if name == operation:
                return tuple(pattern.groupindex)
    return None


def _find(request: Request, service: str) -> Route | None:
    path = request.target.partition("?")[0]
    for method, pattern, operation in _paths(service):
        found = pattern.fullmatch(path) if method == request.method else None
        if found:
            return Route(operation, {name: unquote(value) for name, value in found.groupdict().items()})
    return None


@cache
def _paths(service: str) -> tuple[tuple[str, re.Pattern[str], str], ...]:
    described = bedrock.service(service)
    paths: list[tuple[str, re.Pattern[str], str]] = []
    for name in described.operation_names:
        http = described.operation_model(name).http
        uri = http["requestUri"].partition("?")[0]
        parts = re.split(r"\{(\w+)(\+?)\}", uri)
        pattern = ""
        for text, label, greedy in zip(parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True):
            pattern += re.escape(text) + (f"(?P<{label}>{'.+' if greedy else '[^/]+'})" if label else "")
        paths.append((http["method"], re.compile(pattern), name))
    return tuple(paths)


def output_response(operation: str, output: Mapping[str, Any], request_id: str) -> Response:
    """200 with the members of an operation's output: a payload member is the body, header members are headers.

    An operation that is not of Bedrock Runtime gets its members as JSON. Raises ReplyError for an output that is no
    mapping, and for an operation that streams.
    """
    if not isinstance(output, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a handler is user code
        raise ReplyError(
            f"The handler of {operation} returned {output!r}; it must return the members of its output as a dict, or "
            "a Reply."
        )
    if operation not in bedrock.operations():
        return json_response(json.dumps(output, separators=(",", ":"), default=_plain).encode(), request_id)
    described = bedrock.operation(operation)
    if described.has_event_stream_output:
        raise ReplyError(
            f"{operation} answers with an event stream, which a handler cannot give yet; only Converse streams."
        )
    shape = described.output_shape
    bedrock.check(shape.name, output, root=operation)
    payload = shape.serialization.get("payload")
    in_headers = {
        member.serialization.get("name", name): str(output[name])
        for name, member in shape.members.items()
        if member.serialization.get("location") == "header" and name in output
    }
    response = json_response(output[payload] if payload else bedrock.to_json(shape.name, output).encode(), request_id)
    kept = tuple((name, in_headers.pop(name, value)) for name, value in response.headers)
    return Response(response.status, (*kept, *in_headers.items()), response.chunks)


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else str(value)
