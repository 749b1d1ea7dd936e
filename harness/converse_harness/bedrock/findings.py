"""Violations of AWS's API model. A violation's text names the value, the allowed values, and the shape with the rule.

In a message, the text follows the path of the value: `content[0]` + `has two members, ...`. This module also defines
which values are JSON objects, arrays and numbers, and compiles the Java regular expressions of AWS's API model.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Final, TypeGuard

from converse_harness.bedrock.service import botocore_version, nearest


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

    def under(self, step: str | int) -> Violation:
        """Return this violation with one more step in front of its path."""
        return replace(self, steps=(step, *self.steps))

    @property
    def path(self) -> str:
        """The path as a text, for example `content[0].toolUse.name`."""
        path = self.root
        for step in self.steps:
            if isinstance(step, str) and step.isidentifier():
                path += f".{step}" if path else step
            else:
                path += f"[{step!r}]"
        return path

    @property
    def message(self) -> str:
        """The path (the name of the checked shape if the path is empty), followed by the violation's text."""
        return f"{self.path or f'the {self.checked}'} {self.text}"


_TYPES: Final[Mapping[str, str]] = {
    "structure": "a dict",
    "map": "a dict",
    "list": "a list",
    "string": "a str",
    "integer": "an int",
    "long": "an int",
    "float": "a finite float or int",
    "double": "a finite float or int",
    "boolean": "a bool",
    "blob": "bytes",
    "timestamp": "a datetime with a time zone",
    "document": "free-form JSON: dict with str keys, list, str, finite int or float, bool; None only inside of these",
}
"""Maps each type of AWS's API model to the description of its Python values in messages."""


def wrong_type(shape: str, type_name: str, value: object) -> Violation:
    """Make the violation for a value of the wrong type. For None, the text advises the user to leave the member out."""
    expected = _TYPES[type_name]
    came = "None" if value is None else f"{shown(value)} ({type(value).__name__})"
    advice = ", or its member left out" if value is None else ""
    return Violation(FindingKind.TYPE, shape, f"is {came}; it must be {expected}{advice} ({_model(shape)}).", expected)


def not_utf8(shape: str, value: str) -> Violation:
    """Make the violation for a str that contains a lone surrogate, which UTF-8 cannot encode."""
    text = f"is {shown(value)}, which holds a lone surrogate; UTF-8 cannot carry that, leave it out ({_model(shape)})."
    return Violation(FindingKind.TYPE, shape, text, _TYPES["string"])


def wrong_key(shape: str, key: object) -> Violation:
    """Make the violation for a free-form document with a key that is not a str or that UTF-8 cannot encode."""
    text = (
        f"has the key {shown(key)} ({type(key).__name__}); a key must be a str that UTF-8 can carry ({_model(shape)})."
    )
    return Violation(FindingKind.TYPE, shape, text, _TYPES["string"])


def endless(shape: str) -> Violation:
    """Make the violation for a free-form document that contains itself or exceeds Python's recursion limit."""
    text = f"contains itself or is nested too deeply; it must be {_TYPES['document']} ({_model(shape)})."
    return Violation(FindingKind.TYPE, shape, text, _TYPES["document"])


def not_one(shape: str, came: Sequence[object], members: Sequence[str]) -> Violation:
    """Make the violation for a union that has no member or several members; `came` are the keys of the union."""
    if came:
        count = {2: "two", 3: "three"}.get(len(came), str(len(came)))
        named = " and ".join([", ".join(map(repr, came[:-1])), repr(came[-1])])
        text = f"has {count} members, {named}; {_a(shape)} has exactly one ({_model(shape)})."
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
    text = f"has {count} {unit}{'' if count == 1 else 's'}; {_a(shape)} has {_between(low, high)} ({_model(shape)})."
    return [Violation(FindingKind.LENGTH, shape, text, (low, high))]


def out_of_range(shape: str, value: float, low: float | None, high: float | None) -> Violation:
    """Make the violation for a number outside its limits."""
    text = f"is {shown(value)}; {_a(shape)} is {_between(low, high)} ({_model(shape)})."
    return Violation(FindingKind.RANGE, shape, text, (low, high))


_BRIEF: Final = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 60
_BRIEF.maxlevel, _BRIEF.maxdict, _BRIEF.maxlist = 1, 3, 3


def shown(value: object) -> str:
    """Return the text for a value in messages: its shortened repr, or for a blob its size. Never raises."""
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    try:
        return _BRIEF.repr(value)
    except ValueError:  # repr() raises this for an int with more digits than Python's limit
        return "a huge number"


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
