"""Strict validation of a value against a shape of AWS's model, and of what AWS is recorded to send beyond it.

botocore's own validator checks types, required and unknown members, minima and unions; this one also enums, maxima,
patterns, the ranges of integers, and whether JSON can carry the value. Blobs are bytes, as botocore gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from converse_harness.errors import ReplyError
from converse_harness.model.beyond import BEYOND_MODEL
from converse_harness.model.checks import Checks, encoded_blob
from converse_harness.model.findings import Kind

_CHECKS: Final = Checks(BEYOND_MODEL)

JSON_CHECKS: Final = Checks(BEYOND_MODEL, encoded_blob)
"""The same for values in which blobs are base64, as requests have them."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of AWS's model that a value breaks.

    `path` and `message` are for people, `content[0].toolUse.name` for instance; `steps` is the path as keys and
    indexes, `shape` the shape that has the rule, `limit` what it allows: enum values, the pattern, (min, max), the
    missing or unknown member.
    """

    path: str
    message: str
    kind: Kind
    shape: str
    steps: tuple[str | int, ...]
    limit: object


def validate(shape_name: str, value: object, *, root: str = "", checks: Checks = _CHECKS) -> list[Violation]:
    """Every rule that a value of a shape breaks; empty if AWS could have sent it. `root` stands before each path.

    Raises NotInModel for an unknown shape.

    >>> [each.path for each in validate("Message", {"role": "user", "content": [{"text": 5}]})]
    ['content[0].text']
    """
    return [
        Violation(path, f"{path or f'the {shape_name}'} {each.text}", each.kind, each.shape, each.steps, each.limit)
        for each in checks.of(shape_name)(value)
        for path in [_path(root, each.steps)]
    ]


def check(
    shape_name: str,
    value: object,
    *,
    root: str = "",
    error: Callable[[str], Exception] = ReplyError,
    allowing: Collection[Kind] = (),
) -> None:
    """Raise `error` with all the rules that a value breaks, one per line; nothing happens if AWS could have sent it.

    `allowing` are rules that it may break.

    >>> check("StopReason", "endturn", root="stop_reason")
    Traceback (most recent call last):
    converse_harness.errors.ReplyError: stop_reason is 'endturn'; did you mean 'end_turn'? A StopReason is one of ...
    """
    violations = [each for each in validate(shape_name, value, root=root) if each.kind not in allowing]
    if len(violations) == 1:
        raise error(violations[0].message)
    if violations:
        lines = [f"  {each.message}" for each in violations]
        raise error("\n".join([f"{len(violations)} things are not as in AWS's model:", *lines]))


def _path(root: str, steps: Iterable[str | int]) -> str:
    path = root
    for step in steps:
        if isinstance(step, str) and step.isidentifier():
            path += f".{step}" if path else step
        else:
            path += f"[{step!r}]"
    return path
