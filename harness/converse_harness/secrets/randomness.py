"""Whether a text looks drawn at random, as tokens and keys do, or is made of words, as names are."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_FOLLOWING: Final = {
    "a": "bcdgilmnprstu",
    "b": "aelou",
    "c": "aehklot",
    "d": "aeio",
    "e": "acdeflmnprstvx",
    "f": "aior",
    "g": "eis",
    "h": "aeio",
    "i": "acdeglmnorst",
    "k": "e",
    "l": "adefilostu",
    "m": "aeiop",
    "n": "acdefgiost",
    "o": "cdlmnoprstuvw",
    "p": "aeloprt",
    "q": "u",
    "r": "aegimnorstuy",
    "s": "acehiopstu",
    "t": "aehiorstuy",
    "u": "elmnprst",
    "v": "aei",
    "w": "ai",
    "x": "t",
    "y": "p",
}
"""The 160 commonest pairs of letters in English prose and source code: a first letter, and the letters after it.

They are 88 % of the pairs in the Python sources from which they were counted (2026-11-30), and 24 % of random ones.
"""
_COMMON: Final = frozenset(first + second for first, others in _FOLLOWING.items() for second in others)

_FEWEST_PAIRS: Final = 6
_MOST_COMMON: Final = 0.58
"""The greatest share of common pairs in a random text. Of 20,000 random texts of 20 letters and digits some 1 % have
more; of 29,000 names of at least 16 characters in Python sources, 1 to 2 % have less."""

_HEX: Final = re.compile(r"[0-9a-f_.:-]+|[0-9A-F_.:-]+")
_DIGITS: Final = re.compile(r"\d+")
_WITHIN: Final = re.compile(r"(?<=[A-Za-z])\d+(?=[A-Za-z])")
_MANY: Final = 3
"""So many numbers within words make a text random."""
_PLACEHOLDER: Final = re.compile(r"(.)\1{4}|\.\.\.|\*\*\*")
"""Matches in what manuals write for a secret: xxxxx, 00000, ..."""


def looks_random(text: str) -> bool:
    """Return whether a text, such as a token, looks random: its pairs of letters are not those of words.

    >>> looks_random("x9KqTz4vWb71LmPd"), looks_random("santa_party_planning_for_2026")
    (True, False)
    """
    if _PLACEHOLDER.search(text):
        return False
    if _HEX.fullmatch(text) and any(map(str.isalpha, text)):
        return _DIGITS.search(text) is not None
    if len(_WITHIN.findall(text)) >= _MANY:
        return True
    pairs = [first + second for first, second in pairwise(text.lower()) if first.isalpha() and second.isalpha()]
    if len(pairs) < _FEWEST_PAIRS:
        return len(_DIGITS.findall(text)) > 1 and any(map(str.isalpha, text))
    return sum(pair in _COMMON for pair in pairs) < _MOST_COMMON * len(pairs)


_PART: Final = re.compile(r"(?:%[0-9a-fA-F]{2}|[\w.~+/-]){16,}")


def holds_random(text: str) -> bool:
    """Return whether a part of a text looks random, such as one of the cookies in a header.

    >>> holds_random("theme=dark; sid=x9KqTz4vWb71LmPd"), holds_random("chocolate-chip=recipe-number-0012345")
    (True, False)
    """
    return any(map(looks_random, _PART.findall(text)))


_JOINED: Final = re.compile(r"""['"]\s?[+.&]|[A-Za-z_][\w.]*\([^()]*\)$""")
"""Matches what stands for a password in a program that joins a URL: the end of a literal, or all of a call."""
_CODE: Final = re.compile(r"[A-Za-z_][\w.]*[(\[]|[$#]?\{\{?[A-Za-z_ ]|[$%]\(|[$%<][A-Za-z_]|\*\*\*|\.\.\.")
"""Matches at the beginning of what stands for a password: a call, or a variable of a shell or of a template."""
_HOST: Final = re.compile(r"\.?\w[\w-]*(?:\.[\w-]+)*:\d{2,5}\b.{0,2}")
"""Matches a host with a port, which often stands next to a password."""
_SHORT: Final = 8
_LONG: Final = 16
_SPECIAL: Final = re.compile(r"[^\w.-]")


def is_password(text: str) -> bool:
    """Return whether a text can be a password, and is not an example, a placeholder or code.

    >>> [is_password(text) for text in ("pa$$w0rd{2}", "password", "${DB_PASSWORD}", "getpass()")]
    [True, False, False, False]
    """
    if _CODE.match(text) or _HOST.fullmatch(text) or text.endswith(("()", "}}")):
        return False
    mixed = any(map(str.isalpha, text)) and any(map(str.isdigit, text)) and _SPECIAL.search(text) is not None
    return (mixed and len(text) >= _SHORT) or (len(text) >= _LONG and looks_random(text))


def is_password_of_url(text: str) -> bool:
    """Return whether a text at the place of a password can be one: there, a digit is enough.

    >>> [is_password_of_url(text) for text in ("x7kq9tzw", "271828", "password", "${PASSWORD1}", "'+pass1+'")]
    [True, True, False, False, False]
    """
    is_code = _CODE.match(text) is not None and not text[0].isalpha()
    if is_code or _JOINED.match(text) or _PLACEHOLDER.search(text):
        return False
    return any(map(str.isdigit, text)) or is_password(text)
