"""Check values against AWS's API model. For each shape, one function is built once; it returns the violations of a
value.

A violation's path is relative to the checked value. Therefore the function of a structure, list or map adds a member's
key or index in front of the paths of the member's violations. For a valid value no path is built, for speed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Final, TypeGuard

from converse_harness.bedrock.api.beyond import BEYOND_MODEL, Beyond, ExtraMember, ExtraValue, MayBeAbsent
from converse_harness.bedrock.api.service import SERVICE, Shape, ShapeWalk, botocore_version, is_document, is_union
from converse_harness.errors import Advice, Argument, ReplyError, path_text
from converse_harness.words import counted, listed, nearest, shown


class FindingKind(Enum):
    """The kind of rule that a value breaks."""

    UNION = "a union has exactly one member"
    REQUIRED = "a required member is there"
    UNKNOWN = "every member is one of the shape's"
    TYPE = "a value has the shape's type"
    ENUM = "a value is one of the enum's"
    LENGTH = "a length is within min and max"
    RANGE = "a number is within min and max"
    PATTERN = "a string matches the pattern"


@dataclass(frozen=True, slots=True)
class Violation:
    """One part of a value that violates AWS's API model.

    `shape` is the shape that defines the rule. `limit` is the operand of the rule: the enum values, the pattern, (min,
    max), or the missing or unknown member. `steps` are the keys and indexes from the checked value to the wrong part.
    `root` is the path of the checked value, and `checked` is the name of the shape against which the value was checked.
    """

    kind: FindingKind
    shape: str
    text: str
    limit: object = None
    steps: tuple[str | int, ...] = ()
    root: str = ""
    checked: str = ""
    in_json: str = ""
    """The text for callers of the control API; "" if it is the same."""

    def under(self, step: str | int) -> Violation:
        """Return this violation with one more step in front of its path."""
        return replace(self, steps=(step, *self.steps))

    @property
    def path(self) -> str:
        """The path as a text, for example `content[0].toolUse.name`."""
        return path_text(self.root, self.steps)

    @property
    def message(self) -> str:
        """The path (the name of the checked shape if the path is empty), followed by the violation's text."""
        return f"{self.path or f'the {self.checked}'} {self.text}"


_TYPES: Final[Mapping[str, Advice]] = {
    "structure": Advice("a dict", "an object"),
    "map": Advice("a dict", "an object"),
    "list": Advice("a list", "a list"),
    "string": Advice("a str", "a string"),
    "integer": Advice("an int", "a whole number"),
    "long": Advice("an int", "a whole number"),
    "float": Advice("a finite float or int", "a number"),
    "double": Advice("a finite float or int", "a number"),
    "boolean": Advice("a bool", "true or false"),
    "blob": Advice("bytes", "a string in base64"),
    "timestamp": Advice("a datetime with a time zone, or its text in ISO 8601", "a time with a time zone, in ISO 8601"),
    "document": Advice(
        "free-form JSON: dict with str keys, list, str, finite int or float, bool; None only inside of these",
        "free-form JSON; null only inside of it",
    ),
}
"""Maps each type of AWS's API model to the description of its values in messages."""


def wrong_type(shape: str, type_name: str, value: object) -> Violation:
    """Make the violation for a value of the wrong type. For None, the text advises the user to leave the member out."""
    expected = _TYPES[type_name]
    came = "None" if value is None else f"{shown(value)} ({type(value).__name__})"
    rest = f"{', or its member left out' if value is None else ''} ({_model(shape)})."
    return Violation(
        FindingKind.TYPE,
        shape,
        f"is {came}; it must be {expected.python}{rest}",
        expected.python,
        in_json=f"is {shown(value, in_json=True)}; it must be {expected.json}{rest}",
    )


def not_utf8(shape: str, value: str) -> Violation:
    """Make the violation for a str that contains a lone surrogate, which UTF-8 cannot encode."""
    text = f"is {shown(value)}, which holds a lone surrogate; UTF-8 cannot carry that, leave it out ({_model(shape)})."
    return Violation(FindingKind.TYPE, shape, text, _TYPES["string"].python)


def wrong_key(shape: str, key: object) -> Violation:
    """Make the violation for a free-form document with a key that is not a str or that UTF-8 cannot encode."""
    text = (
        f"has the key {shown(key)} ({type(key).__name__}); a key must be a str that UTF-8 can carry ({_model(shape)})."
    )
    return Violation(FindingKind.TYPE, shape, text, _TYPES["string"].python)


def endless(shape: str) -> Violation:
    """Make the violation for a free-form document that contains itself or exceeds Python's recursion limit."""
    text = f"contains itself or is nested too deeply; it must be {_TYPES['document'].python} ({_model(shape)})."
    return Violation(FindingKind.TYPE, shape, text, _TYPES["document"].python)


def not_one(shape: str, came: Sequence[object], members: Sequence[str]) -> Violation:
    """Make the violation for a union that has no member or several members; `came` are the keys of the union."""
    if came:
        count = {2: "two", 3: "three"}.get(len(came), str(len(came)))
        text = f"has {count} members, {listed(map(repr, came))}; {_a(shape)} has exactly one ({_model(shape)})."
    else:
        text = f"has no member; {_a(shape)} has exactly one of {_listed(members)} ({_model(shape)})."
    return Violation(FindingKind.UNION, shape, text, tuple(members))


def lacking(shape: str, member: str, required: Sequence[str]) -> Violation:
    """Make the violation for a missing required member."""
    text = f"lacks {member!r}; {_a(shape)} needs {_listed(required)} ({_model(shape)})."
    return Violation(FindingKind.REQUIRED, shape, text, member)


def unknown(shape: str, key: object, members: Sequence[str]) -> Violation:
    """Make the violation for an unknown member. The text states botocore's version, as AWS extends structures."""
    text = (
        f"has the unknown member {shown(key)}; {_hint(shape, key, members, 'has')} ({_model(shape, versioned=True)})."
    )
    return Violation(FindingKind.UNKNOWN, shape, text, key)


def not_in_enum(shape: str, value: str, enum: Sequence[str]) -> Violation:
    """Make the violation for a string outside the enum. The text states botocore's version, as AWS extends enums."""
    text = f"is {shown(value)}; {_hint(shape, value, enum, 'is one of')} ({_model(shape, versioned=True)})."
    return Violation(FindingKind.ENUM, shape, text, tuple(enum))


def no_match(shape: str, value: str, pattern: str) -> Violation:
    """Make the violation for a string that does not match the pattern; the text shows the pattern as AWS writes it."""
    text = f"is {shown(value)}; {_a(shape)} matches {pattern} ({_model(shape)})."
    return Violation(FindingKind.PATTERN, shape, text, pattern)


def length(shape: str, count: int, unit: str, low: int | None, high: int | None) -> Sequence[Violation]:
    """Return a sequence with one violation if a length is outside its limits, otherwise an empty sequence.

    `unit` is `character`, `item`, `member` or `byte`.
    """
    if (low is None or low <= count) and (high is None or count <= high):
        return ()
    text = f"has {counted(count, unit)}; {_a(shape)} has {_between(low, high)} ({_model(shape)})."
    return [Violation(FindingKind.LENGTH, shape, text, (low, high))]


def out_of_range(shape: str, value: float, low: float | None, high: float | None) -> Violation:
    """Make the violation for a number outside its limits."""
    text = f"is {shown(value)}; {_a(shape)} is {_between(low, high)} ({_model(shape)})."
    return Violation(FindingKind.RANGE, shape, text, (low, high))


def _hint(shape: str, came: object, allowed: Sequence[str], verb: str) -> str:
    close = nearest(came, allowed)
    rule = f"{_a(shape)} {verb} {_listed(allowed)}"
    return f"did you mean {close!r}? {rule[0].upper()}{rule[1:]}" if close else rule


def _model(shape: str, *, versioned: bool = False) -> str:
    # A name with a dot is that of a member that AWS's API model lacks; BEYOND_MODEL adds the member from a recording.
    origin = f"recorded {shape}" if "." in shape else f"AWS model {shape}"
    return f"{origin}, botocore {botocore_version()}" if versioned else origin


def _a(shape: str) -> str:
    return f"an {shape}" if shape[0] in "AEIOU" else f"a {shape}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _between(low: float | None, high: float | None) -> str:
    if high is None:
        return f"at least {low}"
    return f"at most {high}" if low is None else f"{low} to {high}"


def is_object(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether a value is a JSON object: a dict or another mapping."""
    return type(value) is dict or isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a JSON array: a list or a tuple."""
    return isinstance(value, list | tuple)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number in JSON: a finite float, or an int that a float can hold. A bool is not a number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_utf8(value: str) -> bool:
    """Whether UTF-8 can encode a str, that is, whether the str has no lone surrogate."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_OTHERWISE_IN_JAVA: Final = (r"\v", r"\z", r"\Z", r"\0")
"""Escapes whose meaning differs between Java and Python. Escapes that only Java has, such as `\\h` and `\\p{Alpha}`,
are not listed, because `re.compile` rejects them."""

_SET_OPERATORS: Final = ("[", "&&", "||", "--", "~~")

# Matches one atom of a regular expression: an escape, a whole character class, or any other single character.
_ATOMS: Final = re.compile(r"\\.|\[\^?+\]?+(?:\\.|[^\]\\])*\]|.", re.DOTALL)

_JAVA_DOT: Final = r"[^\n\r\u0085\u2028\u2029]"


@cache
def compiled(pattern: str) -> re.Pattern[str] | None:
    r"""Compile a Java pattern for `fullmatch`; None if Python has no equivalent. `\s`, `\w`, `\d` match only ASCII,
    as in Java.

    >>> bool(compiled(r"[a-zA-Z0-9_-]+").fullmatch("get_weather"))
    True
    >>> compiled(r"\p{Alpha}+") is None
    True
    """
    if any(construct in pattern for construct in _OTHERWISE_IN_JAVA):
        return None
    parts: list[str] = []
    for atom in _ATOMS.findall(pattern):
        in_class = re.sub(r"\\.", "", atom[1:-1], flags=re.DOTALL) if atom.startswith("[") else ""
        if atom == "[" or any(operator in in_class for operator in _SET_OPERATORS):
            return None
        parts.append(_JAVA_DOT if atom == "." else atom)
    try:
        return re.compile("".join(parts), re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None


Check = Callable[[Any], Sequence[Violation]]

INTEGERS: Final[Mapping[str, tuple[int, int]]] = {"integer": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
"""Maps each integer type of AWS's API model to its smallest and its largest value."""


class Checks(ShapeWalk[Check]):
    """Maps the name of each shape to its check, a function that returns the violations of a value.

    `beyond` lists the allowed deviations from AWS's API model. `blobs` is a function that makes the check of a blob
    shape; the default check expects bytes.
    """

    def __init__(
        self, beyond: Iterable[Beyond], blobs: Callable[[Shape], Check] | None = None, of: str = SERVICE
    ) -> None:
        super().__init__(of)
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
    expression = compiled(pattern) if pattern else None

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, str):
            return [wrong_type(name, "string", value)]
        if not value.isascii() and not is_utf8(value):
            return [not_utf8(name, value)]
        found = [] if low is high is None else [*length(name, len(value), "character", low, high)]
        if enum and value not in enum:
            found.append(not_in_enum(name, value, enum))
        if pattern and expression and not expression.fullmatch(value):
            found.append(no_match(name, value, pattern))
        return found

    return check


def _integer(name: str, type_name: str = "integer", low: int | None = None, high: int | None = None) -> Check:
    """Make the check of an integer or long shape; the check rejects bool."""
    least, most = INTEGERS[type_name]
    least, most = least if low is None else max(least, low), most if high is None else min(most, high)

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, int) or isinstance(value, bool):
            return [wrong_type(name, type_name, value)]
        return () if least <= value <= most else [out_of_range(name, value, least, most)]

    return check


def _real(name: str, low: float | None = None, high: float | None = None) -> Check:
    """Make the check of a float or double shape; the check accepts int and rejects bool, NaN and infinity."""

    def check(value: Any) -> Sequence[Violation]:
        if not is_number(value):
            return [wrong_type(name, "double", value)]
        within = (low is None or low <= value) and (high is None or value <= high)
        return () if within else [out_of_range(name, value, low, high)]

    return check


def _blob(name: str, low: int | None = None, high: int | None = None) -> Check:
    """Make the check of a blob shape; `low` and `high` limit the length in bytes, before base64 encoding."""

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, bytes | bytearray):
            return [wrong_type(name, "blob", value)]
        return length(name, len(value), "byte", low, high)

    return check


def _encoded_blob(shape: Shape) -> Check:
    """Make the check of a blob that is base64 text. The shape limits the number of bytes that the text encodes."""
    low, high = _limits(shape)

    def check(value: Any) -> Sequence[Violation]:
        if not isinstance(value, str):
            return [wrong_type(shape.name, "string", value)]
        return length(shape.name, len(value) // 4 * 3 - value[-2:].count("="), "byte", low, high)

    return check


def _typed(name: str, type_name: str, fits: Callable[[Any], bool]) -> Check:
    """Make the check of a shape whose only requirement is that `fits` returns True for the value."""
    return lambda value: () if fits(value) else [wrong_type(name, type_name, value)]


def _is_aware(value: Any) -> bool:
    """Whether a value is a datetime with a time zone, or its text in ISO 8601."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return False
    return isinstance(found, datetime) and found.utcoffset() is not None


def _document(value: Any, name: str = "Document") -> Sequence[Violation]:
    """Check free-form JSON.

    The document itself must not be None, because AWS omits a member instead of sending null. Values inside the document
    may be None.
    """
    if value is None:
        return [wrong_type(name, "document", value)]
    try:
        return _json(value, name)
    except RecursionError:
        return [endless(name)]


def _json(value: Any, name: str) -> Sequence[Violation]:
    if value is None or isinstance(value, bool) or is_number(value):
        return ()
    if isinstance(value, str):
        return () if is_utf8(value) else [not_utf8(name, value)]
    if is_array(value):
        return [each.under(index) for index, item in enumerate(value) for each in _json(item, name)]
    if not is_object(value):
        return [wrong_type(name, "document", value)]
    found = [wrong_key(name, key) for key in value if not isinstance(key, str) or not is_utf8(key)]
    return found + [each.under(key) for key, item in value.items() for each in _json(item, name)]


def _object(name: str) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        return _document(value, name) if is_object(value) else [wrong_type(name, "structure", value)]

    return check


def _structure(name: str, members: Mapping[str, Check], required: Sequence[str], *, union: bool) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        if value.__class__ is not dict and not is_object(value):
            return [wrong_type(name, "structure", value)]
        found: list[Violation] = []
        if union and len(value) != 1:
            found.append(not_one(name, list(value), list(members)))
        for each in required:
            if each not in value:
                found.append(lacking(name, each, required))  # noqa: PERF401 - this line rarely runs
        for key, item in value.items():
            inner = members.get(key)
            if inner is None:
                found.append(unknown(name, key, list(members)))
            elif broken := inner(item):
                found += [each.under(key) for each in broken]
        return found

    return check


def _list(name: str, inner: Mapping[str, Check], low: int | None, high: int | None) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        if value.__class__ is not list and not is_array(value):
            return [wrong_type(name, "list", value)]
        found = [] if low is high is None else [*length(name, len(value), "item", low, high)]
        check_item = inner["member"]
        for index, item in enumerate(value):
            if broken := check_item(item):
                found += [each.under(index) for each in broken]
        return found

    return check


def _map(name: str, inner: Mapping[str, Check], low: int | None, high: int | None) -> Check:
    def check(value: Any) -> Sequence[Violation]:
        if not is_object(value):
            return [wrong_type(name, "map", value)]
        found = list(length(name, len(value), "member", low, high))
        for key, item in value.items():
            found += [replace(each, text=f"has a key that {each.text}", in_json="") for each in inner["key"](key)]
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


@cache
def _checks_of(service: str) -> Checks:
    """Return the checks of a service. What AWS sends beyond its model is known only of Bedrock Runtime."""
    return _CHECKS if service == SERVICE else Checks((), of=service)


def validate(
    shape_name: str, value: object, *, root: str = "", checks: Checks = _CHECKS, of: str = SERVICE
) -> list[Violation]:
    """Return all ways in which a value violates a shape; an empty list means that AWS could have sent the value.

    `root` prefixes the path of each violation. `checks` is JSON_CHECKS if blobs in the value are base64 text. `of` is
    the service whose model has the shape. Raises NotInModel for an unknown shape.

    >>> [each.path for each in validate("Message", {"role": "user", "content": [{"text": 5}]})]
    ['content[0].text']
    """
    found = checks if of == SERVICE else _checks_of(of)
    return [replace(each, root=root, checked=shape_name) for each in found[shape_name](value)]


def check(
    shape_name: str,
    value: object,
    *,
    root: str | Argument = "",
    error: Callable[[str], Exception] = ReplyError,
    allowing: Collection[FindingKind] = (),
    of: str = SERVICE,
) -> None:
    """Check a value against a shape. If there are violations, raise `error` with one line for each violation.

    `root` is the argument that contains the value, or its name. `allowing` contains the kinds of violation that are
    ignored. `of` is the service whose model has the shape.

    >>> check("StopReason", "endturn", root="stop_reason")
    Traceback (most recent call last):
    converse_harness.errors.ReplyError: stop_reason is 'endturn'; did you mean 'end_turn'? A StopReason is one of ...
    """
    violations = [each for each in validate(shape_name, value, of=of) if each.kind not in allowing]
    at = Argument(name=root) if isinstance(root, str) else root
    raise_for(violations, shape_name, at, error)


def raise_for(
    violations: Sequence[Violation], shape_name: str, at: Argument, error: Callable[[str], Exception] = ReplyError
) -> None:
    """Raise `error` with one line for each violation of a shape; without violations, do nothing.

    `at` is the argument that contains the value.
    """
    if not violations:
        return
    parts: list[str | Advice | Argument] = []
    if len(violations) > 1:
        parts.append(f"{len(violations)} things are not as in AWS's API model:")
    for each in violations:
        place = at._replace(path=(*at.path, *each.steps))
        parts += ["\n  "] if len(violations) > 1 else []
        parts.append(place if place.place else f"the {shape_name}")
        parts.append(Advice(f" {each.text}", f" {each.in_json or each.text}"))
    problem = ReplyError(*parts)
    raise problem if error is ReplyError else error(str(problem))
