"""Check values against AWS's API model. For each shape, one function is built once; it returns the violations of a
value.

A violation's path is relative to the checked value. Therefore the function of a structure, list or map adds a member's
key or index in front of the paths of the member's violations. For a valid value no path is built, for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from converse_harness.bedrock import findings
from converse_harness.bedrock.beyond import BEYOND_MODEL, Beyond, ExtraMember, ExtraValue, MayBeAbsent
from converse_harness.bedrock.findings import FindingKind, Violation, is_array, is_number, is_object, is_utf8
from converse_harness.bedrock.service import Shape, is_document, is_union
from converse_harness.bedrock.walk import ShapeWalk
from converse_harness.errors import ReplyError

Check = Callable[[Any], Sequence[Violation]]

INTEGERS: Final[Mapping[str, tuple[int, int]]] = {"integer": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
"""Maps each integer type of AWS's API model to its smallest and its largest value."""


class Checks(ShapeWalk[Check]):
    """Maps the name of each shape to its check, a function that returns the violations of a value.

    `beyond` lists the allowed deviations from AWS's API model. `blobs` is a function that makes the check of a blob
    shape; the default check expects bytes.
    """

    def __init__(self, beyond: Iterable[Beyond], blobs: Callable[[Shape], Check] | None = None) -> None:
        super().__init__()
        self._beyond = tuple(beyond)
        self._scalars = _SCALARS if blobs is None else {**_SCALARS, "blob": blobs}

    def plain(self, shape: Shape) -> Check:
        """Return the check of a scalar shape or a free-form document."""
        return _document if is_document(shape) else self._scalars[shape.type_name](shape)

    def holder(self, shape: Shape, inner: Mapping[str, Check]) -> Check:
        """Return the check of a structure, list or map. Members that `beyond` lists as MayBeAbsent are not required."""
        if shape.type_name != "structure":
            return (_list if shape.type_name == "list" else _map)(shape.name, inner, *_limits(shape))
        absent = {row.member for row in self._beyond if isinstance(row, MayBeAbsent) and row.shape == shape.name}
        required = [name for name in shape.metadata.get("required", ()) if name not in absent]
        return _structure(shape.name, inner, required, union=is_union(shape))

    def more_members(self, shape: Shape) -> Mapping[str, Check]:
        """Return, by name, the checks of those members for which `beyond` has an ExtraMember or ExtraValue row."""
        found: dict[str, Check] = {}
        for row in self._beyond:
            if isinstance(row, ExtraMember) and row.shape == shape.name and row.member not in shape.members:
                found[row.member] = _EXTRA_MEMBERS[row.type](f"{shape.name}.{row.member}")
            elif isinstance(row, ExtraValue) and row.shape == shape.name:
                modelled = shape.members.get(row.member)
                name = modelled.name if modelled else f"{shape.name}.{row.member}"
                found[row.member] = _string(name, (*(modelled.enum if modelled else ()), row.value))
        return found


def _string(
    name: str, enum: Sequence[str] = (), low: int | None = None, high: int | None = None, pattern: str | None = None
) -> Check:
    """Make the check of a string shape; `low` and `high` limit the length in characters."""
    expression = findings.compiled(pattern) if pattern else None

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, str):
            return [findings.wrong_type(name, "string", value)]
        if not value.isascii() and not is_utf8(value):
            return [findings.not_utf8(name, value)]
        found = [] if low is high is None else [*findings.length(name, len(value), "character", low, high)]
        if enum and value not in enum:
            found.append(findings.not_in_enum(name, value, enum))
        if pattern and expression and not expression.fullmatch(value):
            found.append(findings.no_match(name, value, pattern))
        return found

    return check


def _integer(name: str, type_name: str = "integer", low: int | None = None, high: int | None = None) -> Check:
    """Make the check of an integer or long shape; the check rejects bool."""
    least, most = INTEGERS[type_name]
    least, most = least if low is None else max(least, low), most if high is None else min(most, high)

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, int) or isinstance(value, bool):
            return [findings.wrong_type(name, type_name, value)]
        return () if least <= value <= most else [findings.out_of_range(name, value, least, most)]

    return check


def _real(name: str, low: float | None = None, high: float | None = None) -> Check:
    """Make the check of a float or double shape; the check accepts int and rejects bool, NaN and infinity."""

    def check(value: Any) -> Sequence[Violation]:
        if not is_number(value):
            return [findings.wrong_type(name, "double", value)]
        within = (low is None or low <= value) and (high is None or value <= high)
        return () if within else [findings.out_of_range(name, value, low, high)]

    return check


def _blob(name: str, low: int | None = None, high: int | None = None) -> Check:
    """Make the check of a blob shape; `low` and `high` limit the length in bytes, before base64 encoding."""

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, bytes | bytearray):
            return [findings.wrong_type(name, "blob", value)]
        return findings.length(name, len(value), "byte", low, high)

    return check


def _encoded_blob(shape: Shape) -> Check:
    """Make the check of a blob that is base64 text. The shape limits the number of bytes that the text encodes."""
    low, high = _limits(shape)

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, str):
            return [findings.wrong_type(shape.name, "string", value)]
        return findings.length(shape.name, len(value) // 4 * 3 - value[-2:].count("="), "byte", low, high)

    return check


def _typed(name: str, type_name: str, fits: Callable[[Any], bool]) -> Check:
    """Make the check of a shape whose only requirement is that `fits` returns True for the value."""
    return lambda value: () if fits(value) else [findings.wrong_type(name, type_name, value)]


def _is_aware(value: Any) -> bool:
    """Whether a value is a datetime with a time zone."""
    return isinstance(value, datetime) and value.utcoffset() is not None


def _document(value: Any, name: str = "Document") -> Sequence[Violation]:
    """Check free-form JSON.

    The document itself must not be None, because AWS omits a member instead of sending null. Values inside the document
    may be None.
    """
    if value is None:
        return [findings.wrong_type(name, "document", value)]
    try:
        return _json(value, name)
    except RecursionError:
        return [findings.endless(name)]


def _json(value: Any, name: str) -> Sequence[Violation]:
    if value is None or isinstance(value, bool) or is_number(value):
        return ()
    if isinstance(value, str):
        return () if is_utf8(value) else [findings.not_utf8(name, value)]
    if is_array(value):
        return [each.under(index) for index, item in enumerate(value) for each in _json(item, name)]
    if not is_object(value):
        return [findings.wrong_type(name, "document", value)]
    found = [findings.wrong_key(name, key) for key in value if not isinstance(key, str) or not is_utf8(key)]
    return found + [each.under(key) for key, item in value.items() for each in _json(item, name)]


def _object(name: str) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        return _document(value, name) if is_object(value) else [findings.wrong_type(name, "structure", value)]

    return check


def _structure(name: str, members: Mapping[str, Check], required: Sequence[str], *, union: bool) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        if value.__class__ is not dict and not is_object(value):
            return [findings.wrong_type(name, "structure", value)]
        found: list[Violation] = []
        if union and len(value) != 1:
            found.append(findings.not_one(name, list(value), list(members)))
        for each in required:
            if each not in value:
                found.append(findings.lacking(name, each, required))  # noqa: PERF401 - this line rarely runs
        for key, item in value.items():
            inner = members.get(key)
            if inner is None:
                found.append(findings.unknown(name, key, list(members)))
            elif broken := inner(item):
                found += [each.under(key) for each in broken]
        return found

    return check


def _list(name: str, inner: Mapping[str, Check], low: int | None, high: int | None) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        if value.__class__ is not list and not is_array(value):
            return [findings.wrong_type(name, "list", value)]
        found = [] if low is high is None else [*findings.length(name, len(value), "item", low, high)]
        check_item = inner["member"]
        for index, item in enumerate(value):
            if broken := check_item(item):
                found += [each.under(index) for each in broken]
        return found

    return check


def _map(name: str, inner: Mapping[str, Check], low: int | None, high: int | None) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        if not is_object(value):
            return [findings.wrong_type(name, "map", value)]
        found = list(findings.length(name, len(value), "member", low, high))
        for key, item in value.items():
            found += [replace(each, text=f"has a key that {each.text}") for each in inner["key"](key)]
            found += [each.under(key) for each in inner["value"](item)]
        return found

    return check


def _limits(shape: Shape) -> tuple[Any, Any]:
    return shape.metadata.get("min"), shape.metadata.get("max")


_SCALARS: Final[Mapping[str, Callable[[Shape], Check]]] = {
    "string": lambda shape: _string(shape.name, tuple(shape.enum), *_limits(shape), shape.metadata.get("pattern")),
    "integer": lambda shape: _integer(shape.name, "integer", *_limits(shape)),
    "long": lambda shape: _integer(shape.name, "long", *_limits(shape)),
    "float": lambda shape: _real(shape.name, *_limits(shape)),
    "double": lambda shape: _real(shape.name, *_limits(shape)),
    "boolean": lambda shape: _typed(shape.name, "boolean", lambda value: isinstance(value, bool)),
    "blob": lambda shape: _blob(shape.name, *_limits(shape)),
    "timestamp": lambda shape: _typed(shape.name, "timestamp", _is_aware),
}

_EXTRA_MEMBERS: Final[Mapping[str, Callable[[str], Check]]] = {
    "integer": _integer,
    "string": _string,
    "object": _object,
}


_CHECKS: Final = Checks(BEYOND_MODEL)

JSON_CHECKS: Final = Checks(BEYOND_MODEL, _encoded_blob)
"""The checks for JSON values, such as request bodies, in which blobs are base64 text."""


def validate(shape_name: str, value: object, *, root: str = "", checks: Checks = _CHECKS) -> list[Violation]:
    """Return all ways in which a value violates a shape; an empty list means that AWS could have sent the value.

    `root` prefixes the path of each violation. `checks` is JSON_CHECKS if blobs in the value are base64 text. Raises
    NotInModel for an unknown shape.

    >>> [each.path for each in validate("Message", {"role": "user", "content": [{"text": 5}]})]
    ['content[0].text']
    """
    return [replace(each, root=root, checked=shape_name) for each in checks[shape_name](value)]


def check(
    shape_name: str,
    value: object,
    *,
    root: str = "",
    error: Callable[[str], Exception] = ReplyError,
    allowing: Collection[FindingKind] = (),
) -> None:
    """Check a value against a shape. If there are violations, raise `error` with one line for each violation.

    `allowing` contains the kinds of violation that are ignored.

    >>> check("StopReason", "endturn", root="stop_reason")
    Traceback (most recent call last):
    converse_harness.errors.ReplyError: stop_reason is 'endturn'; did you mean 'end_turn'? A StopReason is one of ...
    """
    violations = [each for each in validate(shape_name, value, root=root) if each.kind not in allowing]
    if len(violations) == 1:
        raise error(violations[0].message)
    if violations:
        lines = [f"  {each.message}" for each in violations]
        raise error("\n".join([f"{len(violations)} things are not as in AWS's API model:", *lines]))
