"""Find the differences between two JSON values, and display each difference in a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from converse_harness.json_values import Steps, canonical, is_array, is_object, mapped, path_text
from converse_harness.recordings.digest import with_short_digests
from converse_harness.secrets.mask import common_length, mask
from converse_harness.secrets.process import own_secrets


class _Absent:
    """The type of ABSENT, which stands for a missing value."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()

_WIDTH: Final = 72
"""The maximum number of characters of a differing value that are shown. The rest is cut."""

_BEFORE: Final = 24
"""The maximum number of characters shown before the first difference if a text is cut. They are at most a third of the
text that is shown.
"""

_MANY: Final = 2000
"""If two lists have more items than this between their common beginning and end, difflib ignores frequent items, to
save time.
"""


class Difference(NamedTuple):
    """One difference between two JSON values: `path` leads to the place where the values `old` and `new` differ.

    ABSENT stands for a missing value. `was` is the path to the same place in the old JSON value. Its list indexes
    differ from those in `path` if earlier list items were added or removed.
    """

    path: Steps
    old: Any
    new: Any
    was: Steps


class Pair(NamedTuple):
    """The indexes of two corresponding items of two lists. An index is None if the other item has no counterpart."""

    old: int | None
    new: int | None

    def items(self, old: Sequence[Any], new: Sequence[Any], none: Any = None) -> tuple[Any, Any]:
        """Return the two items of the lists `old` and `new`; `none` stands for a missing item."""
        return none if self.old is None else old[self.old], none if self.new is None else new[self.new]

    @property
    def indexes(self) -> tuple[int, int]:
        """The indexes of both items. In place of a missing item's index stands the index of the other item."""
        return self.new or 0 if self.old is None else self.old, self.old or 0 if self.new is None else self.new


def differences(old: object, new: object, path: Steps = (), was: Steps = ()) -> Iterator[Difference]:
    """Yield the places where two JSON values differ.

    An added or removed list item is one difference: the items after it are still equal. All paths in the differences
    begin with `path` and `was`, the paths to `new` and `old`. In `Difference.path`, an item has its index in the new
    list, but a removed item has its index in the old list. 1, 1.0 and true are three different values.

    >>> for difference in differences({"a": [1, 2, 3], "b": "x"}, {"a": [1, 3], "b": "y"}):
    ...     print(*difference)
    ('a', 1) 2 absent ('a', 1)
    ('b',) x y ('b',)
    """
    if is_object(old) and is_object(new):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name, ABSENT), new.get(name, ABSENT), (*path, name), (*was, name))
    elif is_array(old) and is_array(new):
        for pair in aligned(old, new):
            before, after = pair.indexes
            yield from differences(*pair.items(old, new, ABSENT), (*path, after), (*was, before))
    elif differ(old, new):
        yield Difference(path, old, new, was)


def differ(old: object, new: object) -> bool:
    """Whether two JSON values differ. Each of them may be ABSENT."""
    if old is ABSENT or new is ABSENT:
        return old is not new
    return canonical(old) != canonical(new)


def aligned(old: Sequence[Any], new: Sequence[Any], *keys: Callable[[Any], str], leftovers: bool = True) -> list[Pair]:
    """Return the pairs of corresponding items of two lists, in order.

    An item without a counterpart is a pair with None. The first function of `keys` returns a text for each item, and
    items with equal texts are paired. Between these pairs, the next function is used in the same way, and so on. If
    `leftovers` is true, the items that remain between two pairs are then paired in order.
    """

    def between(olds: range, news: range, keys: Sequence[Callable[[Any], str]]) -> Iterator[Pair]:
        """Yield the pairs of the old items at the indexes `olds` and the new items at `news`."""
        if not keys or not olds or not news:
            together = min(len(olds), len(news)) if leftovers else 0
            yield from map(Pair, olds[:together], news[:together])
            yield from (Pair(gone, None) for gone in olds[together:])
            yield from (Pair(None, more) for more in news[together:])
            return
        first, *others = keys
        before, after = [first(old[index]) for index in olds], [first(new[index]) for index in news]
        # Long lists usually have a long common beginning and end. These are paired without difflib, which is slow.
        start = common_length(before, after)
        stop = common_length(before[start:][::-1], after[start:][::-1])
        yield from map(Pair, olds[:start], news[:start])
        middle, other = before[start : len(before) - stop], after[start : len(after) - stop]
        matcher = SequenceMatcher(None, middle, other, autojunk=max(len(middle), len(other)) > _MANY)
        for tag, i, j, k, m in matcher.get_opcodes():
            left, right = olds[start + i : start + j], news[start + k : start + m]
            yield from map(Pair, left, right) if tag == "equal" else between(left, right, others)
        yield from map(Pair, olds[len(olds) - stop :], news[len(news) - stop :])

    return [*between(range(len(old)), range(len(new)), keys or (canonical, outline))]


def outline(value: object) -> str:
    """Return the role and the keys of an object as text; for any other value, return the name of its type."""
    return f"{value.get('role')} {sorted(value)}" if is_object(value) else type(value).__name__


# The code below displays differences.


def shown(old: object, new: object, width: int = _WIDTH) -> tuple[str, str]:
    """Return the texts that show two differing values, each on one line.

    Long texts are cut to the part around the first difference. Secrets, even encoded ones, are masked before the cut,
    because a part of a secret could not be recognised.

    >>> shown("It is warm and sunny in Chur, " * 9 + "up there", "It is warm and sunny in Chur, " * 9 + "in there", 40)
    ('"...ny in Chur, up there"', '"...ny in Chur, in there"')
    """
    before, after = _flat(old), _flat(new)
    if before == after and isinstance(old, str) and isinstance(new, str):
        after = f"{after} (another one)"
    start = max(0, common_length(before, after) - min(_BEFORE, width // 3))
    if old is ABSENT or new is ABSENT or max(len(before), len(after)) <= width:
        start = 0
    return _cut(before, start, width, old), _cut(after, start, width, new)


def _flat(value: object) -> str:
    if value is ABSENT:
        return ""
    # Imported here, because it is slow to import and seldom needed.
    from converse_harness.secrets.removal import value_without_secrets

    with suppress(RecursionError):
        value = value_without_secrets(value, own_secrets())
    text = mask(value) if isinstance(value, str) else json.dumps(_masked(value), ensure_ascii=False)
    return with_short_digests(text)


def _masked(value: object) -> object:
    if isinstance(value, str):
        return mask(value)
    return mapped(value, lambda _, each: _masked(each))


def _cut(text: str, start: int, width: int, value: object) -> str:
    """Return `text[start:start + width]`, with "..." in place of any text left out before and after it.

    `text` is the printed form of `value`. If `value` is a string, quotes are put around the result.
    """
    end = start + width
    piece = f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
    return _printable(json.dumps(piece, ensure_ascii=False) if isinstance(value, str) else piece)


def lines_of(difference: Difference) -> Iterator[str]:
    """Yield a difference as text: a line with `-` for the old value, and a line with `+` for the new one."""
    values = zip("-+", (difference.old, difference.new), shown(difference.old, difference.new), strict=True)
    for sign, value, text in values:
        if value is not ABSENT:
            yield f"{sign} {_printable(path_text(difference.path))}  {text}"


def _printable(text: str) -> str:
    """Return a text with its unprintable characters escaped, for instance characters that move the cursor."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
