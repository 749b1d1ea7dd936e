"""Find every text in a recording, including texts that are encoded, compressed or split into pieces."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, Final, NamedTuple

from converse_harness.json_values import Steps, is_array, is_object, parsed_json
from converse_harness.recordings.encodings import ALL, LARGE, LONG_RUN, RUN, WHOLE, WHOLE_FORMS, bytes_of, texts_of

_DEPTH: Final = 6
"""The maximum number of nested encodings that are decoded."""


class View(NamedTuple):
    """A text in a recording: the number of its line, its path in the line's JSON, and the encodings that were decoded.

    If `binary` is true, the text is binary data such as an image. Escapes or JSON in such data are accidental, and are
    not decoded.
    """

    text: str
    line: int
    path: Steps
    form: tuple[str, ...] = ()
    binary: bool = False


class Joined:
    """The joined texts of several views: one search in a long text is faster than many searches in short texts.

    `text` is the joined text. `searched` is `text` without runs of base64 that are too long to be secrets. `view_at`
    accepts positions in both.
    """

    BETWEEN: Final = "\n\x00\n"

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self.text = self.searched = self.BETWEEN.join(view.text for view in views)
        if len(views) == 1 and len(self.text) >= LARGE and not views[0].binary:
            self.searched = LONG_RUN.sub("", self.text)
        self._starts = list(accumulate((len(view.text) + len(self.BETWEEN) for view in views), initial=0))

    def view_at(self, position: int) -> View:
        """Return the view that contains a position of the joined text."""
        return self.views[bisect_right(self._starts, position) - 1]


def levels(views: Iterable[View]) -> Iterator[Joined]:
    """Yield the views in groups, then the views decoded from them in groups, and so on for each level of encoding."""
    # A large text is searched only once: each request of a session may repeat the same image.
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


def views_of(line: Any, number: int) -> Iterator[View]:
    """Yield the texts of one line, not decoded: keys, strings, and integers above 10**9.

    A value with a name is yielded as `name: value`. The name is the key of the value, the key of the list around it, or
    the first item of a pair whose second item is the value.
    """
    stack: list[tuple[Any, Steps, str]] = [(line, (), "")]
    while stack:
        value, path, name = stack.pop()
        if is_object(value):
            later: list[tuple[Any, Steps, str]] = []
            data = value.get("data") if value.get("type") == "Buffer" else None
            if is_array(data) and all(type(byte) is int and 0 <= byte < 256 for byte in data):
                for form, text, binary in texts_of(bytes(data)):  # JavaScript writes a Buffer as a list of numbers
                    yield View(text, number, (*path, "data"), ("Buffer", *form), binary)
            names = value_names(value)
            for key, item in value.items():
                if isinstance(item, str) or (type(item) is int and item > _LARGE_NUMBER):
                    yield View(f"{names[key]}: {item}", number, (*path, key))
                else:
                    yield View(str(key), number, (*path, key))
                    later.append((item, (*path, key), names[key]))
            stack += reversed(later)
        elif is_array(value):
            if is_pair(value):
                yield View(f"{value[0]}: {value[1]}", number, (*path, 1))
            stack += reversed([(item, (*path, index), name) for index, item in enumerate(value)])
        elif isinstance(value, str):
            yield View(f"{name}: {value}" if name else value, number, path)
        elif type(value) is int and value > _LARGE_NUMBER:
            yield View(f"{name}: {value}", number, path)


def value_names(value: Mapping[str, Any]) -> dict[str, str]:
    """Map each key of an object to the name of its value: the key itself or, at the key `value`, the text at `name`."""
    named = next((value[key] for key in _NAMES if type(value.get(key)) is str), "")
    return {key: named if named and key in _VALUES else str(key) for key in value}


def is_pair(value: Sequence[Any]) -> bool:
    """Whether a list is a pair of texts, the first of which may be the name of the second."""
    return [type(each) for each in value[:3]] == [str, str]


_NAMES: Final = ("name", "Name", "key", "Key")
_VALUES: Final = ("value", "Value", "values", "Values")


def in_pieces(values: Iterable[Any]) -> Iterator[tuple[Steps, str]]:
    """Yield the texts whose pieces are in successive JSON values: the path of each text, and its joined pieces.

    Strings at the same path are joined; list indexes in the path are ignored. Strings are joined only if the numbers
    beside them, at keys that end in `index`, are equal. Base64 of JSON is decoded first.
    """
    joined: dict[tuple[Steps, object], list[str]] = {}
    for value in values:
        for place, text in _leaves(value, (), ()):
            joined.setdefault(place, []).append(text)
    for (path, _), texts in joined.items():
        if len(texts) > 1:
            yield path, "".join(texts)


def _leaves(value: Any, path: Steps, indices: tuple[object, ...]) -> Iterator[tuple[tuple[Steps, object], str]]:
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
    """Return the JSON object or array that a text encodes in base64; None if the text encodes none."""
    if text.startswith(("e", "W")):  # the base64 of a text that begins with { or [ begins with these characters
        with suppress(ValueError):
            return parsed_json(base64.b64decode(text, validate=True))
    return None


def _in_json(text: str) -> tuple[list[Any], bool]:
    """Return the JSON values in a text or on its lines; and true if these values may contain the pieces of one text.

    A name may precede the JSON.
    """
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
"""Matches a line with JSON, also in server-sent events (`data: {`) and in transcripts (`12 ms {`)."""


def _parsed(text: str) -> Any:
    text = text.strip()
    return parsed_json(text) if text[:1] + text[-1:] in ("{}", "[]") else None


_LARGE_NUMBER: Final = 10**9


def _decoded(group: Joined, runs: set[object]) -> Iterator[View]:
    """Yield the texts decoded from a group.

    `runs` contains the runs of base64 and hex that were decoded before; the runs of this group are added.
    """
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
    """Yield a view of the text decoded with each single encoding of WHOLE, and one with all of them applied in turn.

    A text that was already decoded with one of these encodings is decoded only with the same encoding again, or with
    all: to try every order of the encodings would take too long.
    """
    last = view.form[-1] if view.form else ""
    made = view.text
    for form, mark, decode in WHOLE:
        if mark in view.text and (last == form or last not in WHOLE_FORMS):
            text = decode(view.text)
            if text != view.text:
                yield View(text, view.line, view.path, (*view.form, form))
        made = decode(made) if mark in made else made
    if made != view.text:
        yield View(made, view.line, view.path, (*view.form, ALL))


def _structured(view: View) -> Iterator[View]:
    """Yield the texts of the JSON values in a view, and the texts that are split over several of these values."""
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
    """Return the name before a value, such as `password: `; "" if the value has no name.

    For example, only the name shows that a base64 value in a Kubernetes file is a secret.
    """
    if text[at - 1 : at] not in _BEFORE_VALUE:
        return ""
    found = _NAME_BEFORE.search(text, max(at - _LONGEST_NAME, 0), at)
    return found[0] if found else ""
