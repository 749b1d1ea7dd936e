"""The constraints of AWS's model, in the words in which the service reports them: all of a request in one message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

from converse_harness import model
from converse_harness.model import Kind, Violation
from converse_harness.rules.rule import Asked, Breach

UNQUOTED: Final = frozenset(
    {"additionalModelRequestFields", "messages", "promptVariables", "requestMetadata", "system"}
)
"""The members of a request whose values the service does not repeat: seen of `messages`, the others are like it."""

Steps = tuple[str | int, ...]

Words = Callable[[Violation, Any], Iterator[str]]


def broken_constraints(asked: Asked) -> Iterator[Breach]:
    """The constraints on the body that are broken, in one message."""
    labels = _labels(asked.operation)
    yield from _breach(asked.body, (each for each in _violations(asked, asked.body) if each[0][0] not in labels))


def broken_labels(asked: Asked) -> Iterator[Breach]:
    """The constraints on the model id that are broken."""
    sent = {"modelId": asked.model_id}
    yield from _breach(sent, (each for each in _violations(asked, sent) if each[0] == ("modelId",) and each[1].steps))


def _violations(asked: Asked, value: Mapping[str, Any]) -> Iterator[tuple[Steps, Violation]]:
    """Each violation with the steps to the member that it is about, also where that is not there."""
    shape = model.operation(asked.operation).input_shape.name
    for violation in model.validate(shape, value, checks=model.JSON_CHECKS):
        about = (str(violation.limit),) if violation.kind in (Kind.REQUIRED, Kind.UNKNOWN) else ()
        if steps := (*violation.steps, *about):
            yield steps, violation


@cache
def _labels(operation: str) -> frozenset[str]:
    """The members that travel in the path."""
    members = model.operation(operation).input_shape.members
    return frozenset(name for name, each in members.items() if each.serialization.get("location") == "uri")


def _breach(value: Mapping[str, Any], violations: Iterable[tuple[Steps, Violation]]) -> Iterator[Breach]:
    told: list[str] = []
    first: Steps = ()
    for steps, violation in violations:
        first = first or steps
        broken = _at(value, steps)
        head = f"Value{_quoted(broken, steps)} at '{_path(steps)}' failed to satisfy constraint"
        told += (f"{head}: {constraint}" for constraint in _CONSTRAINTS[violation.kind](violation, broken))
    if told:
        count = f"{len(told)} validation error{'s' * (len(told) > 1)} detected"
        yield Breach(_people_path(first), {"errors": f"{count}: {'; '.join(told)}"})


def _at(value: Any, steps: Steps) -> Any:
    """What the steps lead to; None where it is not there."""
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def _path(steps: Steps) -> str:
    """As the service writes it: lists count from 1.

    >>> _path(("messages", 72, "content", 1, "toolUse", "name"))
    'messages.73.member.content.2.member.toolUse.name'
    """
    return ".".join(f"{step + 1}.member" if isinstance(step, int) else step for step in steps)


def _people_path(steps: Steps) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _quoted(value: Any, steps: Steps) -> str:
    if steps[0] in UNQUOTED:
        return ""
    return " null" if value is None else f" '{_text(value)}'"


def _text(value: Any) -> str:
    """A value as the service prints it, which is written in Java."""
    if isinstance(value, list):
        return f"[{', '.join(map(_text, cast('list[object]', value)))}]"
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return f"{{{', '.join(f'{name}={_text(each)}' for name, each in members.items())}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _limits(what: str, violation: Violation, measured: float) -> Iterator[str]:
    low, high = cast("tuple[float | None, float | None]", violation.limit)
    if high is not None and measured > high:
        yield f"Member must have {what} less than or equal to {high}"
    if low is not None and measured < low:
        yield f"Member must have {what} greater than or equal to {low}"


def _length(violation: Violation, value: Any) -> Iterator[str]:
    yield from _limits("length", violation, len(value))


def _range(violation: Violation, value: Any) -> Iterator[str]:
    yield from _limits("value", violation, value)


def _one_of(violation: Violation, _: Any) -> Iterator[str]:
    yield f"Member must satisfy enum value set: [{', '.join(cast('Sequence[str]', violation.limit))}]"


def _pattern(violation: Violation, _: Any) -> Iterator[str]:
    yield f"Member must satisfy regular expression pattern: {violation.limit}"


def _fixed(text: str) -> Words:
    def words(_: Violation, __: Any) -> Iterator[str]:
        yield text

    return words


_CONSTRAINTS: Final[Mapping[Kind, Words]] = {
    Kind.LENGTH: _length,
    Kind.RANGE: _range,
    Kind.ENUM: _one_of,
    Kind.PATTERN: _pattern,
    Kind.REQUIRED: _fixed("Member must not be null"),
    Kind.UNION: _fixed("Member must have exactly one of its members set"),
    Kind.UNKNOWN: _fixed("Member must be one of the model"),
    Kind.TYPE: _fixed("Member must be of the type of the model"),
}
"""Constraint -> the words for it. Those for lengths and patterns were seen of Bedrock, those for ranges, enums and null
of other services of AWS; the last three are ours."""
