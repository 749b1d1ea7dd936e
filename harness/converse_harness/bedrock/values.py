"""What counts as what in Python, wherever a value is checked or encoded."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeGuard


def is_object(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether it is a JSON object: a dict or any other mapping."""
    return type(value) is dict or isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether it is a JSON array: a list or a tuple."""
    return isinstance(value, list | tuple)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number that JSON can carry: no bool, NaN or infinity, no int beyond all floats."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_utf8(value: str) -> bool:
    """Whether UTF-8 can carry a str: it holds no lone surrogate."""
    return value.isascii() or not any("\ud800" <= each <= "\udfff" for each in value)


OTHERWISE_IN_JAVA: Final = (r"\v", r"\z", r"\Z", r"\0")
"""What Python reads as something else; what only Java can read (`\\p{Alpha}`, `\\h`) Python refuses by itself."""

_SET_OPERATORS: Final = ("[", "&&", "||", "--", "~~")
# A class is one atom; a `[` that stands alone opens one that is never closed.
_ATOMS: Final = re.compile(r"\\.|\[\^?+\]?+(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_JAVA_DOT: Final = r"[^\n\r\u0085\u2028\u2029]"


@cache
def compiled(pattern: str) -> re.Pattern[str] | None:
    r"""A Java pattern for `fullmatch`, or None if Python cannot say the same. `\s`, `\w`, `\d` are ASCII, as in Java.

    >>> bool(compiled(r"[a-zA-Z0-9_-]+").fullmatch("get_weather"))
    True
    >>> compiled(r"\p{Alpha}+") is None
    True
    """
    if any(construct in pattern for construct in OTHERWISE_IN_JAVA):
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
