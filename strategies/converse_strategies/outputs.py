"""Strategies for the outputs of Bedrock's operations, of every Bedrock service in botocore."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import ReplyError, bedrock
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.outputs import named_operation
from converse_harness.errors import Argument
from converse_strategies import shapes
from converse_strategies.basics import composite

_IN_HEADERS = st.characters(min_codepoint=33, max_codepoint=126)
"""Characters that an HTTP header can carry at every place."""
_LONGEST = 20
_MOST_EVENTS = 8


@composite
def operation_outputs(draw: st.DrawFn, operation: str, *, service: str | None = None) -> dict[str, Any]:
    """Outputs of an operation, as a boto3 client returns them and `on_operation` takes them.

    `service` is a Bedrock service of botocore. It may be left out where `on_operation` does not need it. Values satisfy
    AWS's API model. A stream of events is a list with at most eight events; seldom, the last one is an exception.
    Raises InvalidArgument, when drawn, for an operation that a script cannot answer.

    >>> from hypothesis import find
    >>> find(operation_outputs("Retrieve", service="bedrock-agent-runtime"), lambda output: True)
    {'retrievalResults': []}
    """
    try:
        named = named_operation(operation, service, Argument("operation_outputs", beside=f"{operation!r}, ..."))
    except ReplyError as error:
        raise InvalidArgument(str(error)) from None
    return _output(draw, named)


def _output(draw: st.DrawFn, named: NamedOperation) -> dict[str, Any]:
    described = bedrock.operation(named.name, named.service)
    shape = described.output_shape
    special: dict[str, st.SearchStrategy[Any]] = {}
    for name, member in shape.members.items():
        place = member.serialization.get("location")
        if place == "statusCode":
            special[f"{shape.name}.{name}"] = st.just(described.http.get("responseCode", 200))
        elif place == "header" and not member.enum and "pattern" not in member.metadata:
            low, high = member.metadata.get("min", 1), min(member.metadata.get("max", _LONGEST), _LONGEST)
            special[f"{shape.name}.{name}"] = st.text(_IN_HEADERS, min_size=low, max_size=max(low, high))
    stream = bedrock.event_stream(named.name, named.service)
    if stream is not None:
        special[f"{shape.name}.{stream.member}"] = events = _events(stream, named.service)
        found = draw(shapes.values(shape.name, overrides=special, service=named.service))
        return found if stream.member in found else {**found, stream.member: draw(events)}
    return draw(shapes.values(shape.name, overrides=special, service=named.service))


@composite
def _events(draw: st.DrawFn, stream: bedrock.EventStream, service: str) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, _MOST_EVENTS))):
        event = draw(shapes.values(stream.union.name, service=service))
        sent.append(event)
        if next(iter(event)) in stream.exceptions:
            break
    return sent
