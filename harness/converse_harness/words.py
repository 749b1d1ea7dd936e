"""Small texts for messages: a number with its noun, lists, values, long texts cut, and the most similar name."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final


def plural(count: int, one: str, many: str = "") -> str:
    """Return `one` if the count is 1, otherwise `many`. Without `many`, the plural is `one` with an `s`.

    >>> plural(1, "call"), plural(0, "call"), plural(2, "is", "are")
    ('call', 'calls', 'are')
    """
    return one if count == 1 else many or f"{one}s"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun. The arguments are those of `plural`.

    >>> counted(1, "call"), counted(3, "call"), counted(0, "reply", "replies")
    ('1 call', '3 calls', '0 replies')
    """
    return f"{count} {plural(count, one, many)}"


def listed(items: Iterable[str], last: str = "and") -> str:
    """Return the items as one text, with the word `last` before the last of several items.

    There must be at least one item.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    *others, end = items
    return f"{', '.join(others)} {last} {end}" if others else end


def and_more(items: Sequence[str], most: int, more: str = "and {} more") -> list[str]:
    """Return the first `most` items; if there are others, append `more` with their number in place of `{}`.

    >>> and_more(["a", "b", "c"], 3), and_more(["a", "b", "c"], 1)
    (['a', 'b', 'c'], ['a', 'and 2 more'])
    """
    left = len(items) - most
    return [*items[:most], more.format(left)] if left > 0 else [*items]


def first_few(items: Sequence[str], most: int) -> str:
    """Return the first `most` items as one text; if there are others, their number follows.

    >>> first_few(["a", "b", "c"], 3), first_few(["a", "b", "c"], 2)
    ('a, b, c', 'a, b and 1 more')
    """
    left = len(items) - most
    shown = ", ".join(items[:most])
    return f"{shown} and {left} more" if left > 0 else shown


def one_line(text: str) -> str:
    r"""Return a text with each run of spaces and line ends replaced by one space.

    >>> one_line(" first,\n  then second\n")
    'first, then second'
    """
    return " ".join(text.split())


def is_blank(text: str) -> bool:
    r"""Whether a text is empty or has nothing but white space: what Bedrock calls blank.

    >>> is_blank(""), is_blank(" \n"), is_blank("-")
    (True, True, False)
    """
    return not text.strip()


def cut(text: str, width: int) -> str:
    """Return a text that has at most `width` characters; if it was longer, its end is replaced by three dots.

    >>> cut("a long story", 12), cut("a long story", 9)
    ('a long story', 'a long...')
    """
    return text if len(text) <= width else f"{text[: width - 3]}..."


class _InJson(reprlib.Repr):
    """A Repr that writes JSON for values that JSON can represent."""

    def repr_str(self, x: str, level: int) -> str:
        written = json.dumps(x, ensure_ascii=False).encode(errors="backslashreplace").decode()  # for lone surrogates
        half = (self.maxstring - 3) // 2
        return written if len(written) <= self.maxstring else f"{written[:half]}...{written[-half:]}"

    def repr_bool(self, x: bool, level: int) -> str:
        return json.dumps(x)

    def repr_NoneType(self, x: None, level: int) -> str:  # noqa: N802 - `repr` finds the method by the type's name
        return json.dumps(x)

    def repr_tuple(self, x: tuple[Any, ...], level: int) -> str:
        return self.repr_list([*x], level)


def _brief(kind: type[reprlib.Repr]) -> reprlib.Repr:
    brief = kind()
    brief.maxstring = brief.maxother = 60
    brief.maxlevel, brief.maxdict, brief.maxlist = 1, 3, 3
    return brief


_IN_PYTHON: Final = _brief(reprlib.Repr)
_IN_JSON: Final = _brief(_InJson)


def shown(value: object, *, in_json: bool = False) -> str:
    """Return the text for a value in messages: its shortened repr or JSON, or for a blob its size. Never raises.

    >>> shown({"city": None}), shown({"city": None}, in_json=True)
    ("{'city': None}", '{"city": null}')
    """
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    try:
        return (_IN_JSON if in_json else _IN_PYTHON).repr(value)
    except ValueError:  # repr() raises this for an int with more digits than Python's limit
        return "a huge number"


def nearest(name: object, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the most similar known name, ignoring case; None if no name is similar.

    `cutoff`, from 0 to 1, is the least similarity that counts, as in `difflib.get_close_matches`.

    >>> nearest("Rles", ["rules", "history"]), nearest("x", ["rules"])
    ('rules', None)
    """
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


def unknown_in_table(name: object, known: Collection[str], kind: str, shown_by: str) -> str:
    """Return the text of an error about a name that a table lacks; "" if the table has it.

    `kind` is what the table has, such as "rule". `shown_by` says where a user finds the names.

    >>> unknown_in_table("Rles", ["rules"], "row", "The page has them.")
    "no row has this name. Did you mean 'rules'? The page has them."
    """
    if isinstance(name, str) and name in known:
        return ""
    close = nearest(name, known)
    hint = f"Did you mean {close!r}? " if close else ""
    return f"no {kind} has this name. {hint}{shown_by}"
