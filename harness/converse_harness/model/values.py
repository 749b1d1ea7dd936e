"""What counts as what in Python, wherever a value is checked or encoded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard


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
