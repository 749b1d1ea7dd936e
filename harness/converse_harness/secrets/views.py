"""Find every text in a recording, even if the text is encoded, compressed or split into pieces."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, Final, NamedTuple

from converse_harness.json_values import Steps, columns, is_array, is_object, is_text, parsed_json
from converse_harness.secrets.encodings import ALL, LARGE, LONG_RUN, RUN, WHOLE, WHOLE_FORMS, bytes_of, texts_of
from converse_harness.secrets.readable import SIGNS

_DEPTH: Final = 6
"""Encodings within encodings are decoded up to this number of levels."""


class View(NamedTuple):
    """A text in a recording: its line number, its path in the line's JSON, and `form`, the encodings that were decoded.

    If `binary` is true, the text is binary data such as an image. Escapes and JSON are not decoded in such data,
    because the data may look like them by chance.
    """

    text: str
    line: int
    path: Steps
    form: tuple[str, ...] = ()
    binary: bool = False


class Joined:
    """The joined texts of several views: one search in a long text is faster than many searches in short texts.

    `text` is the joined text. `searched` is `text` without base64 that is too long to be a secret. `view_at` accepts a
    position in either of them.
    """

    BETWEEN: Final = "\n\x00\n"

    def __init__(self, views: Sequence[View]) -> None:
        self.views = views
        self.text = self.searched = self.BETWEEN.join(view.text for view in views)
        self.is_binary = all(view.binary for view in views)
        if len(views) == 1 and len(self.text) >= LARGE and not self.is_binary:
            self.searched = LONG_RUN.sub("", self.text)
        self._starts = list(accumulate((len(view.text) + len(self.BETWEEN) for view in views), initial=0))

    def view_at(self, position: int) -> View:
        """Return the view that contains this position of `text` or `searched`."""
        return self.views[bisect_right(self._starts, position) - 1]


def levels(views: Iterable[View]) -> Iterator[Joined]:
    """Yield the views, joined in groups.

    Then decode their texts, and yield the decoded texts in groups, too; and so on for each level of encoding.
    """
    # `seen` prevents a second search in the same large text, because each request of a session may repeat the same
    # image.
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
    """Yield the keys, the strings and the integers above 10**9 in the JSON value `line`, without decoding them.

    A value that has a name is yielded as `name: value`. The name is the value's key, or the key of the list that
    contains the value. In a list of two texts, the first text is the name of the second. A list of bytes is decoded.
    Last, the texts of each list are yielded as the lines of one text, and without the line breaks.
    """
    stack: list[tuple[Any, Steps, str]] = [(line, (), "")]
    together: list[View] = []
    while stack:
        value, path, name = stack.pop()
        if is_object(value):
            later: list[tuple[Any, Steps, str]] = []
            names = value_names(value)
            for key, item in value.items():
                if is_text(item) or (type(item) is int and item > LARGE_NUMBER):
                    yield View(f"{names[key]}: {item}", number, (*path, key))
                else:
                    yield View(str(key), number, (*path, key))
                    later.append((item, (*path, key), names[key]))
            stack += reversed(later)
        elif is_array(value):
            if len(value) >= _FEWEST_BYTES and all(type(byte) is int and 0 <= byte < 256 for byte in value):
                # JavaScript writes the bytes of a Buffer as a list of numbers, and Python those of `list(b"...")`.
                for form, text, binary in texts_of(bytes(value)):
                    yield View(text, number, path, ("bytes", *form), binary)
            if is_pair(value):
                yield View(f"{value[0]}: {value[1]}", number, (*path, 1))
            # A token may be cut at the end of a block, and a key has a line in each.
            lists = (between.join(text for _, _, text in texts) for texts in columns(value) for between in ("\n", ""))
            together += [View(text, number, (*path, TOGETHER)) for text in lists]
            stack += reversed([(item, (*path, index), name) for index, item in enumerate(value)])
        elif is_text(value):
            yield View(f"{name}: {value}" if name else value, number, path)
        elif type(value) is int and value > LARGE_NUMBER:
            yield View(f"{name}: {value}", number, path)
    yield from together


_FEWEST_BYTES: Final = 16

TOGETHER: Final = " (its items together)"
"""The last step in the path of a text that was joined from the items of a list."""


def value_names(value: Mapping[str, Any]) -> dict[str, str]:
    """Map each key of an object to the name of the key's value, which is usually the key itself.

    If the object has a text at a key such as `name`, this text is the name of the value at a key such as `value`. The
    object of a browser's cookie has a domain or a path, too. The keys of a JSON Web Key have one letter.
    """
    named = next((value[key] for key in _NAMES if type(value.get(key)) is str), "")
    if named and ("domain" in value or "path" in value):
        named = f"cookie {named}"
    before = "jwk " if "kty" in value else ""
    return {key: named if named and key in _VALUES else f"{before}{key}" for key in value}


def is_pair(value: Sequence[Any]) -> bool:
    """Whether a list is a pair of texts. If it is, the first text may be the name of the second."""
    return [type(each) for each in value[:3]] == [str, str]


_NAMES: Final = ("name", "Name", "key", "Key")
_VALUES: Final = ("value", "Value", "values", "Values")


def in_pieces(values: Iterable[Any]) -> Iterator[tuple[Steps, str]]:
    """Yield the texts that are split over successive JSON values: the path of each text, and its joined pieces.

    Strings at the same path are pieces of one text; list indexes in the path are ignored. If an object has numbers at
    keys that end in `index`, only strings with equal numbers are joined. Strings that are JSON in base64 are decoded
    first.
    """
    joined: dict[object, list[PlacedText]] = {}
    for value in values:
        for each in placed_texts(value):
            joined.setdefault((each.path, each.indices), []).append(each)
    for texts in joined.values():
        if len(texts) > 1:
            yield texts[0].path, "".join(each.text for each in texts)


class PlacedText(NamedTuple):
    """A text in one of successive JSON values, which may be a piece of a longer text.

    Texts with equal `path` and `indices` are pieces of one text: `path` are the keys that lead to the text, `indices`
    the numbers that tell such texts apart. `steps` lead to the text itself; None if it is in JSON in another text.
    """

    path: Steps
    indices: tuple[object, ...]
    steps: Steps | None
    text: str


def placed_texts(
    value: Any, path: Steps = (), indices: tuple[object, ...] = (), steps: Steps | None = ()
) -> Iterator[PlacedText]:
    """Yield the texts in a JSON value with their places, those in JSON in a text or in base64 too."""
    if is_object(value):
        own = tuple(item for key, item in value.items() if type(item) is int and str(key).lower().endswith("index"))
        for key, item in value.items():
            further = None if steps is None else (*steps, key)
            yield from placed_texts(item, (*path, key), (*indices, *own), further)
    elif is_array(value):
        for index, item in enumerate(value):
            yield from placed_texts(item, path, indices, None if steps is None else (*steps, index))
    elif type(value) is str:
        inner = json_in_text(value)
        if inner is None:
            yield PlacedText(path, indices, steps, value)
        else:
            yield from placed_texts(inner, path, indices, None)


def json_in_text(text: str) -> Any:
    """Return the JSON object or array that a text is, or encodes in base64; None if there is none."""
    if text.startswith(("e", "W")):  # in base64, a first { becomes e, and a first [ becomes W
        with suppress(ValueError):
            return parsed_json(base64.b64decode(text, validate=True))
    return _parsed(text) if text.startswith(("{", "[")) else None


def _in_json(text: str) -> tuple[list[Any], bool]:
    """Return the JSON in a text: a single value, or the values on its lines. A name may stand before the first value.

    The second result is true if the values, or the items of a single list, may contain the pieces of one text.
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
"""Matches a line with JSON. Before the JSON, the line may have `data:`, as in server-sent events, or a time such as `12
ms`, as in transcripts.
"""


def _parsed(text: str) -> Any:
    text = text.strip()
    return parsed_json(text) if text[:1] + text[-1:] in ("{}", "[]") else None


LARGE_NUMBER: Final = 10**9
"""Larger numbers are searched as texts are, because an account id may be a number."""


def _decoded(group: Joined, runs: set[object]) -> Iterator[View]:
    """Decode the texts of a group, and yield a View of each result.

    Runs of base64 or hex characters are skipped if `runs` contains them, because they were decoded before. All other
    runs in the group are added to `runs`.
    """
    for view in group.views:
        if not view.binary and _MARKS.search(view.text):
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


_MARKS: Final = re.compile(rf"[{''.join(re.escape(mark) for _, mark, _ in WHOLE)}{{\[]|{SIGNS}")
"""Matches in every text that `_as_whole` or `_structured` decodes. Nearly all texts have no match."""


def _as_whole(view: View) -> Iterator[View]:
    """Decode the text of a view with each encoding in WHOLE alone, and with all of them in turn.

    Yield a View of each changed text. If the text of `view` was decoded with an encoding in WHOLE, only this encoding
    and all of them in turn are tried. To try every order of the encodings would take too long.
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
    """Yield the texts in the JSON values of a view, and the texts that are split over several of these values."""
    values, in_turn = _in_json(view.text)
    for value in values:
        for inner in views_of(value, view.line):
            yield View(inner.text, view.line, view.path, (*view.form, "JSON", *inner.form), inner.binary)
    if in_turn:
        for _, text in in_pieces(values):
            yield View(text, view.line, view.path, (*view.form, "JSON", "joined"))


_NAME_BEFORE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,60}[\"']?\s{0,3}[:=]\s{0,3}[\"']?$")


_IS: Final = re.compile("[:=]")
_LONGEST_SIGN: Final = 8
"""The sign between a name and its value is found in this number of characters. A search for the whole name is slow."""

_BEFORE_VALUE: Final = frozenset(" \t\n:=\"'")


def _name_before(text: str, at: int) -> str:
    """Return the name before the value at the index `at` of a text, such as `password: `; "" if it has no name.

    Sometimes only the name shows that a value is a secret, for example base64 in a Kubernetes file.
    """
    if text[at - 1 : at] not in _BEFORE_VALUE or _IS.search(text, max(at - _LONGEST_SIGN, 0), at) is None:
        return ""
    found = _NAME_BEFORE.search(text, max(at - _LONGEST_NAME, 0), at)
    return found[0] if found else ""
