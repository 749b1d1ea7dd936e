"""A short example of a value of any shape of AWS's API model, for advice that can be pasted into a test."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, Final

from converse_harness.bedrock.api import checks
from converse_harness.bedrock.api.service import Shape, event_stream, is_document, is_union, operation
from converse_harness.json_schema.patterns import PatternTooHard, matching

_TIME: Final = "2026-01-01T00:00:00Z"
_USUAL: Final = {"contentType": "application/json"}
_TELLING: Final = ("text", "bytes")
"""Members that an example has although they are not required, if the structure requires none."""


def input_example(name: str, of: str) -> dict[str, Any]:
    """Return an input of an operation with all required members, which AWS's API model allows."""
    members = operation(name, of).input_shape.members
    found: dict[str, Any] = _example(operation(name, of).input_shape, ())
    return {each: b"{}" if members[each].type_name == "blob" else value for each, value in found.items()}


def output_example(name: str, of: str) -> dict[str, Any]:
    """Return an output of an operation with all required members, which AWS's API model allows.

    >>> output_example("InvokeModel", "bedrock-runtime")
    {'body': b'...', 'contentType': '...'}
    """
    stream = event_stream(name, of)
    shape = operation(name, of).output_shape
    found: dict[str, Any] = {}
    for member in shape.metadata.get("required", ()):
        if stream is None or member != stream.member:
            found[member] = _USUAL.get(member) or _example(shape.members[member], ())
    if isinstance(found.get(shape.serialization.get("payload", "")), bytes):
        found[shape.serialization["payload"]] = b"{}"
    if stream is not None:
        event = next(iter(stream.events))
        found[stream.member] = [{event: _example(stream.events[event], ())}]
    return found


def value_example(shape: Shape) -> Any:
    """Return a value of a shape, with all required members."""
    return _example(shape, ())


def required_example(shape: Shape, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return examples of the required members of a structure that are not given."""
    missing = [name for name in shape.metadata.get("required", ()) if name not in given]
    return {name: _example(shape.members[name], (shape.name,)) for name in missing}


def _example(shape: Shape, inside: tuple[str, ...]) -> Any:
    inside = (*inside, shape.name)
    metadata = shape.metadata
    match shape.type_name:
        case "structure" if is_document(shape):
            return {}
        case "structure" if is_union(shape):
            # The first member that does not contain this union again.
            name = next((name for name, each in shape.members.items() if each.name not in inside), None)
            return {} if name is None else {name: _example(shape.members[name], inside)}
        case "structure":
            names = metadata.get("required") or [name for name in _TELLING if name in shape.members]
            return {name: _example(shape.members[name], inside) for name in names}
        case "list":
            count = metadata.get("min", 1 if len(inside) == 1 and shape.member.name not in inside else 0)
            return [_example(shape.member, inside) for _ in range(count)]
        case "map":
            keys = (f"{_example(shape.key, inside)}{number or ''}" for number in range(metadata.get("min", 0)))
            return {key: _example(shape.value, inside) for key in keys}
        case "string":
            return _text(shape)
        case "blob":
            return b"..." + b"." * (metadata.get("min", 0) - 3)
        case "boolean":
            return True
        case "timestamp":
            return _TIME
        case _:
            return max(1, metadata.get("min", 1))


def _text(shape: Shape) -> str:
    metadata: Mapping[str, Any] = shape.metadata
    if shape.enum:
        return shape.enum[0]
    low: int = metadata.get("min") or 0
    most: float = metadata.get("max", inf)
    usual = ("..." + "." * (low - 3))[: int(min(most, max(low, 3)))]
    pattern: str | None = metadata.get("pattern")
    expression = checks.compiled(pattern) if pattern else None
    if expression is None or expression.fullmatch(usual):
        return usual
    try:
        low = max(low, 1)  # an empty text in a path would be no text
        candidates = matching(f"^(?:{expression.pattern})$", low)
        found = next((text for text in candidates if low <= len(text) <= most and expression.fullmatch(text)), usual)
    except PatternTooHard:
        return usual
    # Account ids of AWS's documentation are never masked, so that the example can be pasted from a failure message.
    in_documentation = found.replace("0" * 12, "123456789012")
    return in_documentation if expression.fullmatch(in_documentation) else found
