"""Where a request is not as AWS's model says, in the words in which the service reports it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from converse_harness import model
from converse_harness.model import Kind, Violation
from converse_harness.rules.rule import Asked, Breach
from converse_harness.rules.words import Steps, at_steps, steps_of, told

KEYS: Final = {
    "ContentBlock": "text, image, toolUse, toolResult, document, video, cachePoint, reasoningContent, "
    "citationsContent, searchResult.",
    "DocumentSource": "bytes, s3Location",
}
"""What the service says that a union may have, as it was seen; what others may have is taken from the model."""


def broken_constraints(asked: Asked) -> Iterator[Breach]:
    """The constraints on the body that are broken, in one message."""
    about_members = (Kind.UNKNOWN, Kind.UNION)
    yield from _breach(asked, asked.body, [each for each in _violations(asked) if each.kind not in about_members])


def broken_labels(asked: Asked) -> Iterator[Breach]:
    """The constraints on the model id that are broken."""
    sent = {"modelId": asked.model_id}
    found = model.validate(asked.shape, sent, checks=model.JSON_CHECKS)
    yield from _breach(asked, sent, [each for each in found if each.steps == ("modelId",)])


def unknown_members(asked: Asked) -> Iterator[Breach]:
    """The members that AWS's model does not have, in one message; a union that has no other is another matter."""
    unset = {steps for steps, _ in _unset_unions(asked)}
    found = [each for each in _violations(asked) if each.kind is Kind.UNKNOWN and each.steps not in unset]
    yield from _breach(asked, asked.body, found)


def unset_unions(asked: Asked) -> Iterator[Breach]:
    """A union has no member, or none that AWS's model has."""
    for steps, shape in _unset_unions(asked):
        keys = KEYS.get(shape) or f"{', '.join(model.shape(shape).members)}."
        yield Breach(_people_path(steps), {"shape": shape, "path": ".".join(map(str, steps)), "keys": keys})


def unions_of_several(asked: Asked) -> Iterator[Breach]:
    """The unions that have several members, in one message."""
    found = [each for each in _violations(asked) if each.kind is Kind.UNION and len(_known(asked, each)) > 1]
    yield from _breach(asked, asked.body, found)


def _unset_unions(asked: Asked) -> Iterator[tuple[Steps, str]]:
    for each in _violations(asked):
        union = each.kind is Kind.UNION or (each.kind is Kind.UNKNOWN and model.is_union(model.shape(each.shape)))
        if union and not _known(asked, each):
            yield each.steps, each.shape


def _known(asked: Asked, violation: Violation) -> Sequence[str]:
    """The members of a structure that the model has."""
    value: Mapping[str, Any] = at_steps(asked.body, violation.steps)
    return [name for name in value if name in model.shape(violation.shape).members]


def _violations(asked: Asked) -> Sequence[Violation]:
    """What the body breaks of the model; the members that travel in the path aside."""
    if not asked.violations:
        return ()
    labels = _labels(asked.operation)
    return [each for each in asked.violations if steps_of(each)[0] not in labels]


@cache
def _labels(operation: str) -> frozenset[str]:
    members = model.operation(operation).input_shape.members
    return frozenset(name for name, each in members.items() if each.serialization.get("location") == "uri")


def _breach(asked: Asked, value: Mapping[str, Any], violations: Sequence[Violation]) -> Iterator[Breach]:
    if violations:
        texts = told(asked.shape, value, violations)
        count = f"{len(texts)} validation error{'s' * (len(texts) > 1)} detected"
        yield Breach(_people_path(steps_of(violations[0])), {"errors": f"{count}: {'; '.join(texts)}"})


def _people_path(steps: Steps) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
