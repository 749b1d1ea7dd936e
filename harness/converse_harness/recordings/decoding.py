"""Every text that a recording holds, also what is encoded or packed in another, or comes in pieces."""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from converse_harness.json_values import is_array, is_object
from converse_harness.recordings.encodings import ALL, LARGE, LONG_RUN, RUN, WHOLE, WHOLE_FORMS, bytes_of, texts_of

_DEPTH: Final = 6
"""How many encodings, one in the other, are undone."""

Path = tuple[str | int, ...]


class View(NamedTuple):
    """A text, the number of the line that it is on, its place in the JSON of that line, and how it was encoded.

    `binary`: it is an image or its like, in which nothing that looks encoded is.
    """

    text: str
    line: int
    path: Path
    form: tuple[str, ...] = ()
    binary: bool = False


class Joined:
    """Views that are searched at once: one search in a text of a megabyte is faster than thousands in short ones.

    `searched` is the text without base64 that is too long to be a secret; positions in it are good for `view_at`.
    """

    BETWEEN: Final = "\n\x00\n"

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self.text = self.searched = self.BETWEEN.join(view.text for view in views)
        if len(views) == 1 and len(self.text) >= LARGE and not views[0].binary:
            self.searched = LONG_RUN.sub("", self.text)
        self._starts: list[int] = []
        at = 0
        for view in views:
            self._starts.append(at)
            at += len(view.text) + len(self.BETWEEN)

    def view_at(self, position: int) -> View:
        """The view that a position in the text belongs to."""
        return self.views[bisect_right(self._starts, position) - 1]


def levels(views: Iterable[View]) -> Iterator[Joined]:
    """These views in groups to be searched, then what is encoded in them, then what is encoded in that."""
    # What is large is searched once, wherever it stands again: an image that each request of a session repeats.
    seen: set[object] = set()
    runs: set[object] = set()
    level: list[View] = list(views)
    for _ in range(_DEPTH + 1):
        large = [(view,) for view in level if len(view.text) >= LARGE]
        small = [view for view in level if len(view.text) < LARGE]
        groups = [Joined(each) for each in (small, *large) if each]
        yield from groups
        level = []
        for view in (view for group in groups for view in _decoded(group, runs)):
            key = view.text if len(view.text) >= LARGE else (view.text, view.line, view.path)
            if key not in seen:
                seen.add(key)
                level.append(view)
        if not level:
            return


def views_of(line: Any, number: int) -> Iterator[View]:
    """The texts of one line as they stand: strings, keys, and numbers of twelve digits; a value with its name.

    The name is its key, that of the list that it is in, or what stands beside it in a pair.
    """
    stack: list[tuple[Any, Path, str]] = [(line, (), "")]
    while stack:
        value, path, name = stack.pop()
        if is_object(value):
            later: list[tuple[Any, Path, str]] = []
            data = value.get("data")
            if value.get("type") == "Buffer" and is_array(data):
                yield from _buffer(data, number, (*path, "data"))
            names = value_names(value)
            for key, item in value.items():
                shown = names[key]
                if type(item) is str or (type(item) is int and item > _LARGE_NUMBER):
                    yield View(f"{shown}: {item}", number, (*path, key))
                else:
                    yield View(str(key), number, (*path, key))
                    later.append((item, (*path, key), str(shown)))
            stack += reversed(later)
        elif is_array(value):
            if is_pair(value):
                yield View(f"{value[0]}: {value[1]}", number, (*path, 1))
            stack += reversed([(item, (*path, index), name) for index, item in enumerate(value)])
        elif type(value) is str:
            yield View(f"{name}: {value}" if name else value, number, path)
        elif type(value) is int and value > _LARGE_NUMBER:
            yield View(f"{name}: {value}", number, path)


def value_names(value: Mapping[str, Any]) -> dict[str, str]:
    """What names each value of an object: its key, or for a `value` the `name` beside it."""
    named = next((value[key] for key in _NAMES if type(value.get(key)) is str), "")
    return {key: named if named and key in _VALUES else str(key) for key in value}


def is_pair(value: Sequence[Any]) -> bool:
    """Whether it is a list of two texts, the first of which may name the second."""
    return len(value) == _PAIR and type(value[0]) is str and type(value[1]) is str


_NAMES: Final = ("name", "Name", "key", "Key")
_VALUES: Final = ("value", "Value", "values", "Values")
_PAIR: Final = 2


def _buffer(data: list[Any], number: int, path: Path) -> Iterator[View]:
    """The bytes that JavaScript's Buffer writes as a list of numbers."""
    if all(type(each) is int and 0 <= each < 256 for each in data):
        for form, text, binary in texts_of(bytes(data)):
            yield View(text, number, path, ("Buffer", *form), binary)


def strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every string in JSON with its place."""
    if type(value) is str:
        yield path, value
    elif is_object(value):
        for key, item in value.items():
            yield from strings(item, (*path, key))
    elif is_array(value):
        for index, item in enumerate(value):
            yield from strings(item, (*path, index))


def in_pieces(values: Iterable[Any]) -> Iterator[tuple[Path, str]]:
    """Texts that several JSON values in a row have together: what stands at one place in all of them, joined.

    What differs in a number that is called an index is not one place. A blob that is JSON counts as that JSON.
    """
    joined: dict[tuple[Path, object], list[str]] = {}
    for value in values:
        for place, text in _leaves(value, (), ()):
            joined.setdefault(place, []).append(text)
    for (path, _), texts in joined.items():
        if len(texts) > 1:
            yield path, "".join(texts)


def _leaves(value: Any, path: Path, indices: tuple[object, ...]) -> Iterator[tuple[tuple[Path, object], str]]:
    if is_object(value):
        own = tuple(item for key, item in value.items() if type(item) is int and str(key).lower().endswith("index"))
        for key, item in value.items():
            yield from _leaves(item, (*path, key), (*indices, *own))
    elif is_array(value):
        for item in value:
            yield from _leaves(item, path, indices)
    elif type(value) is str:
        inner = _json_in_base64(value)
        if inner is None:
            yield (path, indices), value
        else:
            yield from _leaves(inner, path, indices)


def _json_in_base64(text: str) -> Any:
    if text[:1] not in ("e", "W"):  # how { and [ begin
        return None
    try:
        value = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) or is_array(value) else None


def _in_json(text: str) -> tuple[list[Any], bool]:
    """The JSON that a text is, after a name perhaps, or that its lines are; and whether it comes in pieces."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return [], False
    whole = _parsed(text[start:]) if start < _LONGEST_NAME else None
    if whole is not None:
        return [whole], is_array(whole)
    if "\n" not in text:
        return [], False
    return [value for line in LINE_OF_JSON.findall(text[start:]) if (value := _parsed(line)) is not None], True


_LONGEST_NAME: Final = 200
LINE_OF_JSON: Final = re.compile(r"^[ \t]*(?:(?:data:|[\d.]+ ms)[ \t]*)?([{\[].*)", re.MULTILINE)
"""Of server-sent events and of transcripts as well."""


def _parsed(text: str) -> Any:
    text = text.strip()
    if text[:1] + text[-1:] not in ("{}", "[]"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_LARGE_NUMBER: Final = 10**9


def _decoded(group: Joined, runs: set[object]) -> Iterator[View]:
    """What is encoded in these texts; `runs` are the runs of base64 and hex that were decoded before."""
    for view in group.views:
        if not view.binary:
            yield from _as_whole(view)
            yield from _structured(view)
    for found in RUN.finditer(group.text):
        view = group.view_at(found.start())
        name = _name_before(group.text, found.start())
        if (key := (found[0], name, view.line, view.path)) in runs:
            continue
        runs.add(key)
        for form, data in bytes_of(found[0]):
            for inner, text, binary in texts_of(data):
                yield View(name + text if not inner else text, view.line, view.path, (*view.form, form, *inner), binary)


def _as_whole(view: View) -> Iterator[View]:
    """The text without each encoding that a whole text may have, and without all of them.

    Each of them again where it was undone before, for that order; and not in every order, which are too many.
    """
    last = view.form[-1] if view.form else ""
    made = view.text
    for form, marks, decode in WHOLE:
        if any(mark in view.text for mark in marks) and (last == form or last not in WHOLE_FORMS):
            text = decode(view.text)
            if text != view.text:
                yield View(text, view.line, view.path, (*view.form, form))
        made = decode(made) if any(mark in made for mark in marks) else made
    if made != view.text:
        yield View(made, view.line, view.path, (*view.form, ALL))


def _structured(view: View) -> Iterator[View]:
    """The texts of the JSON in a text, and those that come in pieces there."""
    values, in_turn = _in_json(view.text)
    for value in values:
        for inner in views_of(value, view.line):
            yield View(inner.text, view.line, view.path, (*view.form, "JSON", *inner.form), inner.binary)
    if in_turn:
        for _, text in in_pieces(values):
            yield View(text, view.line, view.path, (*view.form, "JSON", "joined"))


_NAME_BEFORE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,60}[\"']?\s{0,3}[:=]\s{0,3}[\"']?$")


_BEFORE_VALUE: Final = frozenset(" \t\n:=\"'")


def _name_before(text: str, at: int) -> str:
    """What names a value: base64 of Kubernetes has no other word of what it is."""
    if text[at - 1 : at] not in _BEFORE_VALUE:
        return ""
    found = _NAME_BEFORE.search(text, max(at - _LONGEST_NAME, 0), at)
    return found[0] if found else ""
