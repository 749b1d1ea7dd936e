"""Answers to operations other than Converse and ConverseStream: check the scripted answers and build the responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from converse_harness import bedrock
from converse_harness.bedrock.api import rest
from converse_harness.bedrock.api.checks import FindingKind, Violation, is_array, is_object, raise_for, wrong_type
from converse_harness.endpoint.call import SCRIPTED, Call, check_service
from converse_harness.endpoint.occasion import Occasion, paddings
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.usage import invoked_headers
from converse_harness.errors import Advice, Argument, ReplyError
from converse_harness.reply.body import ErrorBody, OutputBody
from converse_harness.reply.operation_output import OperationOutput
from converse_harness.reply.reply import Reply
from converse_harness.stream.events import encode_event, encode_other_event
from converse_harness.stream.http import Chunk, HttpResponse, json_response, stream_response
from converse_harness.words import nearest

Handler: TypeAlias = Callable[[Call], Reply | OperationOutput | Mapping[str, Any]]
"""A function that answers a call of an operation. It returns the members of the output, or a Reply that is an error."""

Answer: TypeAlias = Reply | OperationOutput | Mapping[str, Any] | Handler
"""A scripted answer to an operation: the members of its output, a Reply that is an error, or a Handler."""


def no_handler(operation: NamedOperation) -> str | None:
    """Return the reason why `on_operation` cannot answer an operation, and advice about what the test can do instead.

    Return None if `on_operation` can answer it.
    """
    name, service = operation.name, operation.service
    if name in SCRIPTED and service == bedrock.SERVICE:
        return f"{name} is scripted: converse.always(lambda call: ...) answers it with a function of the call."
    if bedrock.operation(name, service).has_event_stream_input:
        return (
            f"{name} sends a stream of events in both directions, over HTTP/2. boto3 has no such method, and "
            "converse-harness cannot answer it: replace the object in your code that calls it."
        )
    return None


def named_operation(operation: object, service: object, at: Argument) -> NamedOperation:
    """Return the operation that a script names. Raises ReplyError unless a script can answer it.

    If `service` is None, the operation must be one of Bedrock Runtime, of the control plane, or of only one of the
    other services. `at` is the argument with the operation's name.
    """
    if not isinstance(operation, str):
        raise ReplyError(at, ': an operation is given by its name, as "InvokeModel".')
    if service is not None:
        check_service(at.function, service)
    having = bedrock.services_of(operation) if service is None else (str(service),)
    if len(having) > 1:
        listed = Advice(*(" or ".join(form.format(each) for each in having) for form in _SERVICE))
        raise ReplyError(at, ": several services have this operation. Name the service: ", listed, ".")
    if not having or operation not in bedrock.operations(having[0]):
        raise ReplyError(at, ": ", *_unknown(operation, having))
    found = NamedOperation(having[0], operation)
    refused = no_handler(found)
    if refused is not None:
        raise ReplyError(at, f": {refused}")
    return found


_SERVICE: Final = ('service="{}"', '"service": "{}"')


def _unknown(operation: str, services: Sequence[str]) -> list[str | Advice]:
    version = bedrock.botocore_version()
    if services and (elsewhere := bedrock.services_of(operation)):
        having = Advice(*(" or ".join(form.format(each) for each in elsewhere) for form in _SERVICE))
        return [f"{services[0]} has no operation of this name in botocore {version}. Did you mean ", having, "?"]
    known = {name: each for each in reversed(services or bedrock.services()) for name in bedrock.operations(each)}
    close = nearest(operation.replace("_", ""), known)
    where = f"{services[0]} has no operation" if services else "no service of Bedrock has an operation"
    text = f"{where} of this name in botocore {version}."
    if close is None:
        return [text]
    meant = NamedOperation(known[close], close)
    return [f"{text} Did you mean ", Advice(meant.in_code, meant.in_json), "?"]


def answer_of(operation: NamedOperation, given: Reply | OperationOutput | Mapping[str, Any]) -> Reply:
    """Return the Reply that gives this answer to the operation. Raises ReplyError for an output that does not fit it.

    An error gets the status that it has in the model of the operation's service.
    """
    name, service = operation.name, operation.service
    if isinstance(given, Reply):
        body = given.plan.body
        if isinstance(body, ErrorBody) and service != bedrock.SERVICE and body.name in bedrock.all_errors(service):
            having = bedrock.services_with_error(body.name)
            if bedrock.all_errors(having[0])[body.name].status == body.status:  # nobody has given another one
                status = bedrock.all_errors(service)[body.name].status
                return replace(given, plan=replace(given.plan, body=replace(body, status=status)))
        return given
    output = given if isinstance(given, OperationOutput) else OperationOutput(given)
    check_output(operation, output)
    return output.reply(name, service)


def check_output(operation: NamedOperation, output: OperationOutput) -> None:
    """Raise ReplyError unless the members fit AWS's API model of the operation's output."""
    name, service = operation.name, operation.service
    stream = bedrock.event_stream(name, service)
    members = output.members
    if not isinstance(members, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a handler is user code
        raise ReplyError(
            f"The handler of {name} returned {members!r}; it must return the members of its output as a dict, or "
            "a Reply."
        )
    members = output.members_of(name, service)
    shape = bedrock.operation(name, service).output_shape
    violations = rest.unsendable(bedrock.operation(name, service), members)
    if stream is not None and stream.member in members:
        violations += _violations_of_events(members[stream.member], stream, service, strict=output.strict)
    if output.strict:
        others = {key: each for key, each in members.items() if stream is None or key != stream.member}
        given = stream is not None and stream.member in members
        found = bedrock.validate(shape.name, others, of=service)
        named = {each.steps for each in violations}
        violations += [
            each
            for each in found
            if each.steps not in named and not (given and stream is not None and _lacks(each, stream.member))
        ]
    raise_for(violations, shape.name, Argument(name=name))


def _lacks(violation: Violation, member: str) -> bool:
    return violation.kind is FindingKind.REQUIRED and not violation.steps and violation.limit == member


def _violations_of_events(
    events: object, stream: bedrock.EventStream, service: str, *, strict: bool
) -> list[Violation]:
    if not is_array(events):
        return [wrong_type(stream.union.name, "list", events).under(stream.member)]
    found: list[Violation] = []
    for index, event in enumerate(events):
        if strict or not is_object(event) or len(event) != 1 or not all(map(is_object, event.values())):
            violations = bedrock.validate(stream.union.name, event, of=service)
            found += [each.under(index).under(stream.member) for each in violations]
    return found


_PADDED: Final = frozenset({"InvokeModelWithResponseStream"})
"""The operations whose recorded events have a padding, as those of ConverseStream have. Of other operations, no
recording is known; their events are sent without padding, as AWS's API model has them."""


def output_response(reply: Reply, body: OutputBody, occasion: Occasion) -> HttpResponse:
    """Build the response with an operation's output. Raises ReplyError for a value that JSON cannot carry.

    AWS's API model names the place of each member: the status, a header, the whole body, or the JSON in the body.
    """
    described = bedrock.operation(body.operation, body.service)
    parts = rest.response_parts(described, body.service, body.members)
    pace = reply.plan.pace
    if body.stream is None:
        response = json_response(parts.body, occasion.request_id, delay=pace.first)
    else:
        response = stream_response(_Chunks(reply, body, occasion), occasion.request_id)
    headers = dict(parts.headers)
    if body.operation == "InvokeModel":
        headers |= invoked_headers(occasion.call, parts.body)
    if body.stream is not None:
        headers.pop("Content-Type", None)  # it is that of an event stream, whatever member has its name
    absent = ("Content-Type", "Content-Length") if parts.status in rest.WITHOUT_BODY else ()
    kept = tuple((name, headers.pop(name, value)) for name, value in response.headers if name not in absent)
    return HttpResponse(parts.status, (*kept, *headers.items()), response.chunks)


class _Chunks:
    """The chunks of a stream of events, one for each event, up to the failure of the reply."""

    def __init__(self, reply: Reply, body: OutputBody, occasion: Occasion) -> None:
        self._reply, self._body, self._occasion = reply, body, occasion

    def __iter__(self) -> Iterator[Chunk]:
        reply, body, occasion = self._reply, self._body, self._occasion
        stream, failure = body.stream, reply.plan.failure
        if stream is None:
            return
        events = body.events if failure is None else body.events[: failure.after]
        pads: Sequence[int | None] = [None] * len(events)
        if body.operation in _PADDED:
            pads = paddings(occasion.seed, occasion.place, len(events))
        delay = reply.plan.pace.first
        for event, padding in zip(events, pads, strict=False):
            yield Chunk(encode_other_event(event, stream, body.service, padding), delay, event)
            delay = reply.plan.pace.each
        if failure is not None:
            event = dict(failure.event)
            modelled = next(iter(event)) in stream.exceptions
            data = encode_other_event(event, stream, body.service) if modelled else encode_event(event)
            yield Chunk(data, delay, event)


def own_response(output: Mapping[str, Any], request_id: str) -> HttpResponse:
    """Build the response with an output of the fake's own, which may lack members that the model requires."""
    return json_response(json.dumps(output, separators=(",", ":")).encode(), request_id)
