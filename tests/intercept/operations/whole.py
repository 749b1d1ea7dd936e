"""Inputs, outputs and events with every member that AWS's API model has, for readers in other languages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.bedrock.api.example import input_example, output_example, value_example
from converse_harness.bedrock.api.service import Shape, is_document, is_union

PICKS: Final = 3
"""How many of a union's members occur."""

_PARTS: Final = (0, 789_000, 500_000)
"""The microseconds of the times."""


def whole(shape: Shape, pick: int = 0, inside: tuple[str, ...] = ()) -> Any:
    """Return a value of a shape with all members. Each union has the member of number `pick`, or of the rest of it.

    A shape that contains itself has only its required members the second time.
    """
    if shape.name in inside or is_document(shape):
        return {"made": [1, "Zürich"]} if is_document(shape) else value_example(shape)
    inside = (*inside, shape.name)
    match shape.type_name:
        case "structure" if is_union(shape):
            names = [name for name, each in shape.members.items() if each.name not in inside]
            name = names[pick % len(names)]
            return {name: whole(shape.members[name], pick, inside)}
        case "structure":
            return {name: whole(each, pick, inside) for name, each in shape.members.items()}
        case "list":
            return [whole(shape.member, pick, inside)] * max(1, shape.metadata.get("min", 1))
        case "map":
            return {value_example(shape.key): whole(shape.value, pick, inside)}
        case "float" | "double":
            return min(value_example(shape) + 0.5, shape.metadata.get("max", inf))
        case "timestamp":
            return datetime(2026, 1, 1, 12, 34, 56, _PARTS[pick % 3], tzinfo=UTC)
        case _:
            return value_example(shape)


def whole_input(name: str, service: str, pick: int = 0) -> dict[str, Any]:
    """Return an input of an operation with all members."""
    shape = bedrock.operation(name, service).input_shape
    found: dict[str, Any] = whole(shape, pick)
    in_path = [each for each, member in shape.members.items() if member.serialization.get("location") == "uri"]
    found |= {each: found[each] or "a" for each in in_path}  # no path has an empty label
    return {**found, **{each: value for each, value in input_example(name, service).items() if value == b"{}"}}


def whole_output(name: str, service: str, pick: int = 0) -> dict[str, Any]:
    """Return an output of an operation with all members; an event stream has several events of each kind."""
    described, stream = bedrock.operation(name, service), bedrock.event_stream(name, service)
    members = described.output_shape.members
    found = {each: whole(shape, pick) for each, shape in members.items() if stream is None or each != stream.member}
    status = {each for each in found if members[each].serialization.get("location") == "statusCode"}
    found |= dict.fromkeys(status, described.http.get("responseCode", 200))
    usual = output_example(name, service)
    found |= {each: usual[each] for each in ("contentType", "body") if each in found and each in usual}
    return found if stream is None else {**found, stream.member: list(_events(stream))}


def _events(stream: bedrock.EventStream) -> Iterator[dict[str, Any]]:
    for pick in range(PICKS):
        for kind, shape in stream.events.items():
            yield {kind: whole(shape, pick)}
