"""The check digits that make a made-up number look like one that was issued."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_VIN_WEIGHTS: Final = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VIN_VALUES: Final = {
    **{str(digit): digit for digit in range(10)},
    **dict(zip("ABCDEFGH", range(1, 9), strict=True)),
    **dict(zip("JKLMN", range(1, 6), strict=True)),
    "P": 7,
    "R": 9,
    **dict(zip("STUVWXYZ", range(2, 10), strict=True)),
}
_NHS_WEIGHTS: Final = (10, 9, 8, 7, 6, 5, 4, 3, 2)
_UTR_WEIGHTS: Final = (6, 7, 8, 9, 10, 5, 4, 3, 2)
_UTR_CHECKS: Final = "21987654321"


def luhn(number: str) -> str:
    """A number with the last digit that Luhn's formula asks for (ISO/IEC 7812-1).

    >>> luhn("411111111111111")
    '4111111111111111'
    """
    odd, even = number[-1::-2], number[-2::-2]
    total = sum(map(int, even)) + sum(sum(divmod(2 * int(digit), 10)) for digit in odd)
    return f"{number}{-total % 10}"


def nhs(number: str) -> str:
    """Nine digits with the tenth of a number of the UK's National Health Service: modulo 11 (NHS Data Dictionary).

    Where no digit fits, the next number that has one.

    >>> nhs("943476591")
    '9434765919'
    """
    check = -_weigh(number, _NHS_WEIGHTS) % 11
    return nhs(f"{int(number) + 1:09}") if check == 10 else f"{number}{check}"


def utr(number: str) -> str:
    """Nine digits with the first of a Unique Taxpayer Reference of the UK: modulo 11.

    >>> utr("123456789")
    '1123456789'
    """
    return f"{_UTR_CHECKS[_weigh(number, _UTR_WEIGHTS) % 11]}{number}"


def vin(number: str) -> str:
    """A vehicle identification number of 17 characters with the right ninth one, modulo 11 (49 CFR 565.15).

    >>> vin("1M8GDM9A_KP042788")
    '1M8GDM9AXKP042788'
    """
    total = sum(_VIN_VALUES.get(character, 0) * weight for character, weight in zip(number, _VIN_WEIGHTS, strict=True))
    return f"{number[:8]}{'0123456789X'[total % 11]}{number[9:]}"


def _weigh(number: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(number, weights, strict=True))
