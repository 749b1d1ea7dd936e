"""Read drawn bytes as texts and as JSON objects.

One draw of bytes takes less time than a draw for each character and member. The number of bytes says how much there is,
so values shrink towards fewer pieces and members, each of them as simple as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from converse_strategies.values.lookalikes import LOOK_ALIKES
from converse_strategies.values.prose import ARGUMENTS, NAMES, ODD_NAMES, WORDS

DEEPEST: Final = 5
"""The largest number of objects and arrays around a value, the outermost object included."""

MISTAKEN: Final = (
    *(" ", "\n", "\r\n", "\r", "\t", "\u2028", "\u0085", "\xa0"),
    *("aa", "\U0001f600", "\U0001f468\u200d\U0001f469", '"', "\\", "}", "</"),
)
"""Short texts that consumers are known to read wrongly: white space, line ends, surrogate pairs, parts of JSON."""

_ALIKE: Final = tuple(each.text for each in LOOK_ALIKES)

_COMMON: Final[Mapping[str, int]] = {
    **dict.fromkeys(("true", "12"), 10),
    **dict.fromkeys(("false", '{"a": 1}'), 5),
    **dict.fromkeys(("null", "[1]", "<thinking>a</thinking>"), 4),
    "\ufeffa": 22,
}
"""The look-alikes that most consumers look for -> how often they are drawn beside the others."""

_NUMBERS: Final = (1, -1, 2, 12, 1000, 1.0, 0.5, -2.5, 1e300, 2**31)
_SMALL: Final = (1e-7, 0.1 + 0.2)
_BIG: Final = (2**53 + 1, 2**63, 2**64, -(2**63) - 1, 2**63 - 1, 10**30)
"""Numbers. Those in `_SMALL` have many decimal places, those in `_BIG` more than 53 or 64 bits: both are often changed.
"""


class TypedScalar(NamedTuple):
    """A scalar together with its type, because 1, 1.0 and True would be one key of a dict."""

    kind: type
    scalar: Any


class Several(NamedTuple):
    """The code of an array, an object, or a text of several pieces: how many items, members or pieces it has."""

    kind: type
    number: int


class Nested(NamedTuple):
    """The code of a value with as many arrays and objects around it as `levels` says, each of one item."""

    levels: int


Code = TypedScalar | Several | Nested


def _scalars(*scalars: Any) -> tuple[TypedScalar, ...]:
    return tuple(TypedScalar(type(scalar), scalar) for scalar in scalars)


def _table(simple: Sequence[Any], again: Mapping[Any, int]) -> tuple[Any, ...]:
    """Return one entry for each byte: those in `simple`, the simplest first, then those in `again`.

    `again` maps each entry that is drawn more often than others to a number of repetitions.
    """
    more = [each for each, number in again.items() for _ in range(number)]
    return (*simple, *(more[place % len(more)] for place in range(256 - len(simple))))


_SHORT: Final = ("0", *MISTAKEN, *_ALIKE)

FIRST: Final[Sequence[str]] = _table(
    (*_SHORT, *WORDS[::4]), {**_COMMON, **dict.fromkeys((" ", "\n", "\r\n", "\t"), 14)}
)
PIECES: Final[Sequence[str]] = _table((*_SHORT, *WORDS), dict.fromkeys(WORDS, 1))
"""Byte -> a piece of a text. The first piece, often the only one, is more often a look-alike."""

VALUES: Final[Sequence[Code]] = _table(
    (
        *_scalars(None, False, 0, "", True, 0.0, *_NUMBERS, *_SMALL, *_BIG, "0", *_ALIKE, *MISTAKEN, *ARGUMENTS),
        *(Several(list, number) for number in (0, 1, 2, 3, 10)),
        *(Several(dict, number) for number in (0, 1, 2, 3)),
        *(Several(str, number) for number in (2, 3, 6)),
        *(Nested(levels) for levels in (2, 3, 4)),
    ),
    {
        **{TypedScalar(str, text): number for text, number in _COMMON.items()},
        **dict.fromkeys(_scalars(False, True, 0), 6),
        **dict.fromkeys(_scalars(*_NUMBERS), 1),
        **dict.fromkeys(_scalars(*_BIG), 3),
        **dict.fromkeys(_scalars(*_SMALL), 5),
        **dict.fromkeys(_scalars("\U0001f600"), 16),
        **dict.fromkeys((Several(list, 2), Several(list, 3), Several(dict, 2), Several(str, 3), Nested(4)), 2),
        Several(list, 10): 4,
    },
)
"""Byte -> a value, or the code of a value that the next bytes say."""

MEMBERS: Final[Sequence[str]] = _table((*NAMES, *ODD_NAMES, *_ALIKE), dict.fromkeys(NAMES, 1))
"""Byte -> the name of a member."""


def read_text(drawn: bytes) -> str:
    r"""Read bytes as a text: each is a piece of it, a character, a look-alike, or a word.

    >>> read_text(b"\0\3\0")
    '0\r\n0'
    """
    return "".join([FIRST[byte] for byte in drawn[:1]] + [PIECES[byte] for byte in drawn[1:]])


def read_object(drawn: bytes) -> dict[str, Any]:
    r"""Read bytes as a JSON object: as many members as they are enough for, with different names.

    >>> read_object(b""), read_object(b"\0\2\0\5")
    ({}, {'a': 0, 'b': 0.0})
    """
    left = iter(drawn)
    found: dict[str, Any] = {}
    for byte in left:
        found[_unused(byte, found)] = _read_value(next(left, byte), left, 1)
    return found


def _unused(byte: int, known: Mapping[str, Any]) -> str:
    """Return the name that `byte` selects, or the next one in the table that `known` does not have."""
    while MEMBERS[byte % 256] in known:
        byte += 1
    return MEMBERS[byte % 256]


def _read_value(first: int, left: Iterator[int], depth: int) -> Any:
    """Read one value, at `depth` objects and arrays: the byte `first` selects it, its parts are read from `left`."""
    code = VALUES[first]
    if isinstance(code, TypedScalar):
        return code.scalar
    if isinstance(code, Nested):
        levels = min(code.levels, DEEPEST - depth)
        value = _read_value(next(left, 0), left, depth + levels)
        for level in range(levels):
            value = {MEMBERS[level]: value} if level % 2 else [value]
        return value
    if code.kind is str:
        return read_text(bytes(islice(left, code.number)))
    several = islice(left, code.number if depth < DEEPEST else 0)
    if code.kind is list:
        return [_read_value(byte, left, depth + 1) for byte in several]
    members: dict[str, Any] = {}
    for byte in several:
        members[_unused(byte, members)] = _read_value(next(left, byte), left, depth + 1)
    return members
