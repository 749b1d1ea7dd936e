"""Answers to operations other than Converse and ConverseStream: check the scripted answers and build the responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from converse_harness import bedrock
from converse_harness.endpoint.call import SCRIPTED, Call
from converse_harness.errors import Advice, Argument, ReplyError
from converse_harness.reply.operation_output import OperationOutput
from converse_harness.reply.reply import Reply
from converse_harness.stream.http import HttpResponse, json_response

Handler: TypeAlias = Callable[[Call], Reply | OperationOutput | Mapping[str, Any]]
"""A function that answers a call of an operation. It returns the members of the output, or a Reply that is an error."""

Answer: TypeAlias = Reply | OperationOutput | Mapping[str, Any] | Handler
"""A scripted answer to an operation: the members of its output, a Reply that is an error, or a Handler."""

ANSWERED: Final = (bedrock.SERVICE, bedrock.CONTROL_PLANE)
"""The services whose operations `on_operation` can answer."""


def no_handler(operation: str) -> str | None:
    """Return the reason why `on_operation` cannot answer an operation, and advice about what the test can do instead.

    Return None if the operation is unknown, or if `on_operation` can answer it.
    """
    service = bedrock.service_of(operation)
    if service is None:
        return None
    described = bedrock.service(service).operation_model(operation)
    if operation in SCRIPTED:
        return f"{operation} is scripted: converse.always(lambda call: ...) answers it with a function of the call."
    if described.has_event_stream_output:
        hook = f"before-call.{described.service_model.service_id.hyphenize()}.{operation}"
        return (
            f"{operation} of {service} answers with a stream of events, which neither on_operation() nor botocore's "
            f"Stubber can give. Answer it on its client, by the hook on which Stubber stands: "
            f'client.meta.events.register("{hook}", ...)   '
            "More: converse-harness docs scripting other-services-and-streams-of-events"
        )
    if service not in ANSWERED:
        return (
            f"{operation} is an operation of {service}, and on_operation() answers those of {' and '.join(ANSWERED)}. "
            f"Answer it on its client, with botocore's Stubber: "
            f'Stubber(client).add_response("{bedrock.method_of(operation)}", {{...}})'
            "   More: converse-harness docs scripting other-services-and-streams-of-events"
        )
    return None


def check_operation(operation: object, at: Argument, otherwise: str = "") -> None:
    """Raise ReplyError unless a script can answer the operation, which is the argument `at`.

    For users of the control API, the error's text ends with `otherwise`.
    """
    if not isinstance(operation, str):
        raise ReplyError(at, ": ", Advice('an operation is given by its name, as "InvokeModel".', otherwise))
    refused = no_handler(operation)
    if refused is not None:
        raise ReplyError(at, ": ", Advice(refused, otherwise))
    try:
        bedrock.check_operation(operation)
    except bedrock.NotInModel as error:
        raise ReplyError(at, ": ", Advice(str(error), otherwise)) from None


def check_output(operation: str, members: Mapping[str, Any]) -> None:
    """Raise ReplyError unless the members fit AWS's API model of the operation's output.

    Outputs of the control plane are not checked, because a test needs only a few of their required members.
    """
    if operation in bedrock.operations():
        bedrock.check(bedrock.operation(operation).output_shape.name, members, root=operation)


def output_response(operation: str, output: Mapping[str, Any], request_id: str) -> HttpResponse:
    """Build a response with status 200 from an operation's output.

    If AWS's API model of the operation names a member as the payload, this member becomes the body. Members for headers
    become headers. For an operation outside Bedrock Runtime, the body is the output as JSON. Raises ReplyError if the
    output is not a mapping, or does not fit the model.
    """
    if not isinstance(output, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a handler is user code
        raise ReplyError(
            f"The handler of {operation} returned {output!r}; it must return the members of its output as a dict, or "
            "a Reply."
        )
    if operation not in bedrock.operations():
        return json_response(json.dumps(output, separators=(",", ":"), default=_plain).encode(), request_id)
    check_output(operation, output)
    shape = bedrock.operation(operation).output_shape
    payload = shape.serialization.get("payload")
    in_headers = {
        member.serialization.get("name", name): str(output[name])
        for name, member in shape.members.items()
        if member.serialization.get("location") == "header" and name in output
    }
    response = json_response(output[payload] if payload else bedrock.to_json(shape.name, output).encode(), request_id)
    kept = tuple((name, in_headers.pop(name, value)) for name, value in response.headers)
    return HttpResponse(response.status, (*kept, *in_headers.items()), response.chunks)


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else str(value)
