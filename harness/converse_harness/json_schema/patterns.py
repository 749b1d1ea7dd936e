"""Compile regular expressions of JSON Schema for Python, and make texts that match them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

_TOKENS: Final = re.compile(r"\\.|\[\^?\]?|\]|\(\?<(?![=!])|\$|.", re.DOTALL)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern of JSON Schema for Python: `$` matches only the end of a text; `\d` and `\w` match only ASCII.

    Raises re.error for a pattern that Python's re cannot read, for example `\p{L}`.

    >>> bool(compiled(r"^\d+$").search("12\n")), bool(compiled("b").search("abc"))
    (False, True)
    """
    return re.compile("".join(_python(pattern)), re.ASCII)


def _python(pattern: str) -> Iterator[str]:
    r"""Yield a pattern's tokens in Python's syntax.

    Outside character classes, `$` becomes `\Z`, and `(?<name>` becomes `(?P<name>`; inside, `[` becomes `\[`.
    """
    inside = False
    for token in _TOKENS.findall(pattern):
        if inside:
            inside = token != "]"
            yield r"\[" if token[0] == "[" else token
        elif token == "$":
            yield r"\Z"
        elif token == "(?<":
            yield "(?P<"
        else:
            inside = token[0] == "["
            yield token


_LETTERS: Final = "".join(map(chr, (*range(97, 123), *range(48, 58), *range(65, 91))))
_PRINTABLE: Final = _LETTERS + "".join(char for char in map(chr, range(32, 127)) if char not in _LETTERS)
_MIXED: Final = "".join(
    "".join(several) for several in zip(_LETTERS[:10], _LETTERS[36:46], _LETTERS[26:36], "!#%&*+-=?@", strict=True)
)
"""Characters of four kinds in turn, because the pattern of a password often requires one character of each kind."""

_IN_VAIN: Final = 60
"""After this number of consecutive variants without a new text, a pattern counts as exhausted."""

_LONGEST: Final = 10_000
"""The maximum number of characters of a text that is made for a pattern."""


class PatternTooHard(Exception):
    """Raised if no text can be made for a pattern; the message is the reason."""


def matching(pattern: str, low: int, start: int = 0) -> Iterator[str]:
    r"""Yield different texts that contain a match of the pattern, shortest first, up to a number of variants.

    `low` is the wanted minimum length. The texts reach it only if a part of the pattern can repeat, or if the pattern
    allows characters after the match. `start` is the number of the first variant. Raises PatternTooHard for a pattern
    that Python's re cannot read.

    >>> next(matching(r"^\d{3}-[a-f]+$", 0)), next(matching(r"^\d{3}-[a-f]+$", 6))
    ('000-a', '000-a')
    """
    try:
        search = compiled(pattern).search
        # Since Python 3.11, this parser has no public name. The standard library has no other parser of patterns.
        tree: Any = import_module("re._parser").parse(compiled(pattern).pattern, re.ASCII)
    except (re.error, ImportError, OverflowError, RecursionError) as error:
        raise PatternTooHard(f"Python's re cannot read it ({error})") from error
    seen = set[str]()
    in_vain = 0
    for text in _variants(tree, low, start):
        in_vain += 1
        for padded in (text, text + "a" * (low - len(text))):
            if padded not in seen:
                in_vain = 0
                seen.add(padded)
                if search(padded):
                    yield padded
        if in_vain > _IN_VAIN:
            return


def _variants(tree: Any, low: int, start: int) -> Iterator[str]:
    repeats = (*range(12), *range(12, 80, 7), low)
    for branch in range(8):
        for chars in (_PRINTABLE, _MIXED + _PRINTABLE):
            for more in repeats:
                yield _Maker(chars, branch + start, more, start).text(tree)
    for shift in range(1, 40):
        yield _Maker(_PRINTABLE, shift, shift % 3, start + shift).text(tree)


class _Maker:
    """Maker of one text from a parsed pattern.

    `chars` are the characters to choose from; `branch` is the number of the alternative to take. `more` is the number
    of additional repeats of a repeated part, above its minimum. `shift` changes the choice of each character.
    """

    def __init__(self, chars: str, branch: int, more: int, shift: int) -> None:
        self._chars = chars
        self._branch = branch
        self._more = more
        self._shift = shift
        self._groups: dict[int, str] = {}
        self._made = 0

    def text(self, tree: Any) -> str:
        """Return the text for a part of the pattern."""
        return "".join(self._part(str(op), value) for op, value in tree)

    def _part(self, op: str, value: Any) -> str:
        if op in _EMPTY:
            return ""
        if op in _REPEATS:
            low, high, tree = value
            high = low + self._more if str(high) == "MAXREPEAT" else high
            made = ""
            for _ in range(min(low + self._more, high)):
                made += self.text(tree)
                if len(made) > _LONGEST:
                    break
            return made
        match op:
            case "LITERAL":
                self._made += 1
                return chr(value)
            case "BRANCH":
                return self.text(value[1][self._branch % len(value[1])])
            case "SUBPATTERN":
                made = self.text(value[3])
                self._groups[value[0]] = made
                return made
            case "ATOMIC_GROUP":
                return self.text(value)
            case "GROUPREF":
                return self._groups.get(value, "")
            case _:
                return self._char(op, value)

    def _char(self, op: str, value: Any) -> str:
        items = value if op == "IN" else [(op, value)]
        negated = any(str(name) == "NEGATE" for name, _ in items)
        tests = [_TESTS[name](given) for each, given in items if (name := str(each)) in _TESTS]
        fits = [char for char in self._chars if any(test(char) for test in tests) != negated]
        if not fits:
            known = [given if str(each) == "LITERAL" else given[0] for each, given in items if str(each) in _POINTS]
            if negated or not known:
                raise PatternTooHard("it has a part for which no character is known")
            return chr(known[0])
        self._made += 1
        place = self._made if self._chars is not _PRINTABLE else 0
        return fits[(place + self._shift) % len(fits)]


_EMPTY: Final = ("AT", "ASSERT", "ASSERT_NOT")
"""Parts that match a position, not characters. The finished text is checked against the whole pattern."""

_REPEATS: Final = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_POINTS: Final = ("LITERAL", "RANGE")

_Test = Callable[[str], object]

_CATEGORIES: Final[Mapping[str, str]] = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


_TESTS: Final[Mapping[str, Callable[[Any], _Test]]] = {
    "LITERAL": lambda value: lambda char: ord(char) == value,
    "NOT_LITERAL": lambda value: lambda char: ord(char) != value,
    "RANGE": lambda value: lambda char: value[0] <= ord(char) <= value[1],
    "ANY": lambda value: lambda char: True,
    "CATEGORY": lambda value: re.compile(_CATEGORIES[str(value)], re.ASCII).fullmatch,
}
"""Maps each kind of part in a character class to a function that makes the test of a character."""
