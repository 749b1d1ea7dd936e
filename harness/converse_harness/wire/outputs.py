"""The output of any operation of Bedrock Runtime that has no stream, as rest-json puts it into headers and body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from converse_harness import model
from converse_harness.errors import ReplyError
from converse_harness.wire.http import Response, json_response


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
    if operation not in model.operations():
        return json_response(json.dumps(output, separators=(",", ":"), default=_plain).encode(), request_id)
    described = model.operation(operation)
    if described.has_event_stream_output:
        raise ReplyError(
            f"{operation} answers with an event stream, which a handler cannot give yet; only Converse streams."
        )
    shape = described.output_shape
    model.check(shape.name, output, root=operation)
    payload = shape.serialization.get("payload")
    in_headers = {
        member.serialization.get("name", name): str(output[name])
        for name, member in shape.members.items()
        if member.serialization.get("location") == "header" and name in output
    }
    response = json_response(output[payload] if payload else model.to_json(shape.name, output).encode(), request_id)
    kept = tuple((name, in_headers.pop(name, value)) for name, value in response.headers)
    return Response(response.status, (*kept, *in_headers.items()), response.chunks)


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else str(value)
