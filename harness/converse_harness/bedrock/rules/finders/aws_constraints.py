"""The messages of AWS services for a value that breaks a constraint of AWS's API model.

An example is `Value 'x' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must ...`. If
an item in a list or map of scalars breaks a constraint, the message is about the whole list or map: `Map value must
satisfy constraint: [Member must ..., ...]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, cast

from converse_harness import bedrock
from converse_harness.bedrock import FindingKind, Shape, Violation
from converse_harness.bedrock.rules.request import FIELDS, RuleRequest, RuleViolation, labels, needs
from converse_harness.words import counted, nearest

Steps = tuple[str | int, ...]

_HIDDEN: Final = re.compile(
    r"messages\.\d+\.member\.content\.\d+|system\.\d+|toolConfig\.tools$"
    r"|(?:additionalModelRequestFields|promptVariables|requestMetadata)\b"
)
"""Matches the paths of values that the service's message does not repeat. This was observed for content blocks,
requestMetadata and the list of tools; it is assumed for the others. Roles, tool names and parameters are repeated."""

_ELEMENTS: Final = {"list": "Member", "map": "Map value"}
"""The service's name for the elements of a list and of a map."""

_PLAIN: Final = (FindingKind.LENGTH, FindingKind.RANGE, FindingKind.ENUM, FindingKind.PATTERN)
"""The kinds of violation that are about the value of a scalar."""


def _told(shape_name: str, value: Mapping[str, Any], violations: Sequence[Violation], within: Steps = ()) -> list[str]:
    """Return the service's sentences about a value, one for each broken constraint.

    `within` is the path of the value in the request.

    >>> request = {"inferenceConfig": {"maxTokens": 0}, "modelId": "m"}
    >>> _told("ConverseRequest", request, bedrock.validate("ConverseRequest", request))
    ["Value '0' at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or \
equal to 1"]
    """
    found: dict[Steps, list[str]] = {}
    for violation in violations:
        steps, texts = _constraints(shape_name, value, violation)
        of_place = found.setdefault(steps, [])
        of_place += [text for text in texts if text not in of_place]
    return [
        f"Value{_repeated(value, steps)} at '{_path((*within, *steps))}' failed to satisfy constraint: {text}"
        for steps, texts in found.items()
        for text in sorted(texts, key=lambda text: text.startswith(_LAST))
    ]


def _steps_of(violation: Violation) -> Steps:
    """Return the path of the violating value; for a missing or unknown member, it is the path of this member."""
    about = (str(violation.limit),) if violation.kind in (FindingKind.REQUIRED, FindingKind.UNKNOWN) else ()
    return (*violation.steps, *about)


def _at_steps(value: Any, steps: Steps) -> Any:
    """Return the value at this path, or None if the path does not exist."""
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def _constraints(shape_name: str, value: Any, violation: Violation) -> tuple[Steps, Sequence[str]]:
    """Return the path that the service's message names for a violation, and the texts of the broken constraints."""
    steps = _steps_of(violation)
    if violation.kind in _PLAIN:
        *_, holder, broken = _shapes(shape_name, steps)
        if holder.type_name in _ELEMENTS:
            return steps[:-1], [f"{_ELEMENTS[holder.type_name]} must satisfy constraint: [{_all_of(violation.shape)}]"]
        if broken.type_name == "map" and broken.key.name == violation.shape:
            return steps, [f"Map keys must satisfy constraint: [{_all_of(violation.shape)}]"]
    return steps, [*_CONSTRAINTS[violation.kind](violation, _at_steps(value, steps))]


def _shapes(shape_name: str, steps: Steps) -> Iterator[Shape]:
    """Yield the shape with the given name, then the shape of the value at each step of the path.

    For a member that is not in AWS's API model, the shape of its structure is yielded again.
    """
    shape = bedrock.shape(shape_name)
    yield shape
    for step in steps:
        if shape.type_name == "structure":
            shape = shape.members.get(str(step), shape)
        else:
            shape = shape.member if shape.type_name == "list" else shape.value
        yield shape


def _all_of(shape_name: str) -> str:
    """Return the texts of all constraints of a scalar shape. A message about an item of a list contains all of them."""
    shape = bedrock.shape(shape_name)
    what = "length" if shape.type_name == "string" else "value"
    texts = [*_limits(what, shape.metadata.get("min"), shape.metadata.get("max"))]
    if "pattern" in shape.metadata:
        texts.append(_pattern(shape.metadata["pattern"]))
    if shape.enum:
        texts.append(_one_of(shape.enum))
    return ", ".join(texts)


def _path(steps: Steps) -> str:
    """Return the path as the service writes it, with list indexes that count from 1.

    >>> _path(("messages", 72, "content", 1, "toolUse", "name"))
    'messages.73.member.content.2.member.toolUse.name'
    """
    return ".".join(f"{step + 1}.member" if isinstance(step, int) else step for step in steps)


def _repeated(value: Any, steps: Steps) -> str:
    if _HIDDEN.match(_path(steps)):
        return ""
    found = _at_steps(value, steps)
    return " null" if found is None else f" '{_text(found)}'"


def _text(value: Any) -> str:
    """Return a value as the service prints it (the service is written in Java)."""
    if isinstance(value, list):
        return f"[{', '.join(map(_text, cast('list[object]', value)))}]"
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return f"{{{', '.join(f'{name}={_text(each)}' for name, each in members.items())}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)


_LAST: Final = "Member must have length greater"
"""The beginning of the text for a minimum length, which the service puts after the texts of all other constraints."""


def _limits(what: str, low: float | None, high: float | None) -> Iterator[str]:
    if high is not None:
        yield f"Member must have {what} less than or equal to {high}"
    if low is not None:
        yield f"Member must have {what} greater than or equal to {low}"


def _pattern(pattern: object) -> str:
    return f"Member must satisfy regular expression pattern: {pattern}"


_PRINTED: Final[Mapping[tuple[str, ...], Sequence[str]]] = {("standard", "optimized"): ("optimized", "standard")}
"""Maps the values of an enum, in the order of AWS's API model, to their order in the service's messages."""


def _one_of(values: Sequence[str]) -> str:
    values = _PRINTED.get(tuple(values), values)
    return f"Member must satisfy enum value set: [{', '.join(values)}]"


def _outside(what: str, measure: Callable[[Any], float]) -> Callable[[Violation, Any], Iterator[str]]:
    """Make a function that yields the constraint text for a value that is too small or too large.

    `what` is "length" or "value"; `measure` returns the number that is compared with the limits.
    """

    def words(violation: Violation, value: Any) -> Iterator[str]:
        low, high = cast("tuple[float | None, float | None]", violation.limit)
        over = high is not None and measure(value) > high
        yield from _limits(what, None if over else low, high if over else None)

    return words


def _saying(words: Callable[[Any], str]) -> Callable[[Violation, Any], Iterator[str]]:
    """Make a function that yields one text, `words(violation.limit)`."""
    return lambda violation, _: iter([words(violation.limit)])


_CONSTRAINTS: Final[Mapping[FindingKind, Callable[[Violation, Any], Iterator[str]]]] = {
    FindingKind.LENGTH: _outside("length", len),
    FindingKind.RANGE: _outside("value", float),
    FindingKind.ENUM: _saying(_one_of),
    FindingKind.PATTERN: _saying(_pattern),
    FindingKind.REQUIRED: _saying(lambda _: "Member must not be null"),
    FindingKind.TYPE: _saying(lambda _: "Member must be of the type of the model"),
}
"""Maps each kind of violation to the function that yields the text of the constraint that `broken_constraints`
reports. The text of the last kind is ours, not the service's."""


_KEYS: Final = {
    "ContentBlock": "text, image, toolUse, toolResult, document, video, cachePoint, reasoningContent, "
    "citationsContent, searchResult.",
    "DocumentSource": "bytes, s3Location",
}
"""Maps the name of a union to the list of its members in an observed message of the service.

For any other union, the message lists the members in AWS's API model.
"""


_TIER: Final = ("serviceTier", "type")
"""The path of the service tier. Another rule checks the tier, because the service has a special message for a wrong
tier.
"""


_VIOLATION: Final = "a violation of AWS's API model"


@needs(_VIOLATION)
def broken_constraints(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the constraints of AWS's API model that the body breaks, and report all of them in one message."""
    about_members = (FindingKind.UNKNOWN, FindingKind.UNION)
    found = [each for each in _violations(asked) if each.kind not in about_members and each.steps != _TIER]
    yield from _in_body(asked, found)


def broken_labels(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the constraints that the model id breaks, and report all of them in one message."""
    shape = asked.input_shape
    yield from _breach(shape, {"modelId": asked.model_id}, _broken_labels(shape, asked.model_id))


@lru_cache(128)
def _broken_labels(shape: str, model_id: str) -> Sequence[Violation]:
    found = bedrock.validate(shape, {"modelId": model_id}, checks=bedrock.JSON_CHECKS)
    return [each for each in found if each.steps == ("modelId",)]


@needs(_VIOLATION)
def unknown_members(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find members of structures that AWS's API model lacks, and report all of them in one message.

    The message states botocore's version, as AWS extends structures. Unions are left to `unset_unions` and
    `unions_of_several`.
    """
    found = [each for each in _violations(asked) if each.kind is FindingKind.UNKNOWN and not _in_union(each)]
    if found:
        members = ", ".join(f"{_people_path(_steps_of(each))} ({_advice(asked.shape, each)})" for each in found)
        values = {"members": members, "version": bedrock.botocore_version()}
        yield RuleViolation(_people_path(_steps_of(found[0])), values)


def _in_union(violation: Violation) -> bool:
    return bedrock.is_union(bedrock.shape(violation.shape))


_ALIKE: Final = 0.85
"""How similar a name must be to the name of a member. `max_tokens` is similar to `maxTokens`, `topK` not to `topP`."""


def _advice(request: str, violation: Violation) -> str:
    """Return where an unknown member may belong.

    >>> found = bedrock.validate("ConverseRequest", {"modelId": "m", "max_tokens": 5, "inferenceConfig": {"topK": 5}})
    >>> [_advice("ConverseRequest", each) for each in found if each.kind is FindingKind.UNKNOWN]
    ['misplaced? AWS has inferenceConfig.maxTokens', 'misplaced? fields that only some models have belong in \
additionalModelRequestFields']
    """
    own = bedrock.shape(violation.shape).members
    prefix = f"{_people_path(violation.steps)}." if violation.steps else ""
    places = {**_places(request), **{name: prefix + name for name in own}}
    close = nearest(violation.limit, places, cutoff=_ALIKE)
    if close is not None:
        return f"misplaced? AWS has {places[close]}"
    if violation.steps in ((), ("inferenceConfig",)):
        return f"misplaced? fields that only some models have belong in {FIELDS}"
    return f"misplaced? AWS has {', '.join(own)} there"


@cache
def _places(request: str) -> Mapping[str, str]:
    """Return, by name, the paths of the members of a request's shape and of its structures; lists are left out."""
    members = bedrock.shape(request).members
    structures = {name: shape for name, shape in members.items() if shape.type_name == "structure"}
    inner = {name: f"{each}.{name}" for each, shape in structures.items() for name in shape.members}
    return {**inner, **{name: name for name in members}}


@needs(_VIOLATION)
def unset_unions(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find unions without any member that AWS's API model contains."""
    for steps, shape in _unset_unions(asked):
        yield _about_union(steps, shape)


def _about_union(steps: Steps, shape: str) -> RuleViolation:
    keys = _KEYS.get(shape) or f"{', '.join(bedrock.shape(shape).members)}."
    return RuleViolation(_people_path(steps), {"shape": shape, "path": ".".join(map(str, steps)), "keys": keys})


@needs(_VIOLATION)
def unions_of_several(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find unions with several members, of which AWS's API model contains at least one."""
    for each in _violations(asked):
        if each.kind is FindingKind.UNION and _known(asked, each):
            yield _about_union(each.steps, each.shape)


def _unset_unions(asked: RuleRequest) -> Iterator[tuple[Steps, str]]:
    for each in _violations(asked):
        union = each.kind is FindingKind.UNION or (each.kind is FindingKind.UNKNOWN and _in_union(each))
        if union and not _known(asked, each):
            yield each.steps, each.shape


def _known(asked: RuleRequest, violation: Violation) -> Sequence[str]:
    """Return the names of the violating structure's members, without those that AWS's API model lacks."""
    value: Mapping[str, Any] = _at_steps(asked.body, violation.steps)
    return [name for name in value if name in bedrock.shape(violation.shape).members]


def _violations(asked: RuleRequest) -> Sequence[Violation]:
    """Return the body's violations of AWS's API model, without violations of members that are sent in the URL path."""
    in_path = labels(asked.operation)
    return [each for each in asked.violations if _steps_of(each)[0] not in in_path]


def _in_body(asked: RuleRequest, violations: Sequence[Violation]) -> Iterator[RuleViolation]:
    return _breach(asked.shape, asked.body, violations, asked.within)


def _breach(
    shape: str, value: Mapping[str, Any], violations: Sequence[Violation], within: Steps = ()
) -> Iterator[RuleViolation]:
    if violations:
        texts = _told(shape, value, violations, within)
        count = f"{counted(len(texts), 'validation error')} detected"
        yield RuleViolation(_people_path(_steps_of(violations[0])), {"errors": f"{count}: {'; '.join(texts)}"})


def _people_path(steps: Steps) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
