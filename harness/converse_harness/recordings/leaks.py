"""Find the secrets in the lines of a recording: its texts, and texts that were sent in pieces."""

from __future__ import annotations

import base64
from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

from converse_harness.json_values import Steps, leaves, object_of
from converse_harness.recordings.format.lines import USUAL, Line, event_of, usual_delta
from converse_harness.secrets.leaks import AND_AFTER, Leak, leaks_in, secrets_in
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.views import Joined, View, in_pieces, levels, placed_texts, views_of
from converse_harness.stream.grammar import CARRIED, TEXTS

_NO_EVENT: Final = frozenset({"part", "status", "failed", "end", "bytes", "format"})
"""Keys of lines without an event. The line of an event contains none of them."""


def scan(lines: Sequence[Line], own: Collection[str] | None = None) -> list[Leak]:
    """Return the secrets in the lines of a recording. Secrets of one kind at one path of one line are returned once.

    Besides known kinds of secrets, the texts in `own` are searched for: the secrets of this process, by default
    `own_secrets()`.

    >>> scan([{"call": 1, "request": {"text": "my key is AKIAQ7EXAMPLEKEYABCD"}}])
    [Leak(line=1, path='request.text', kind='an AWS access key id', form=())]
    """
    return searched(lines, own_secrets() if own is None else frozenset(own)).leaks


class SearchedLines(NamedTuple):
    """The texts of a recording, decoded by `levels`, and the secrets in them. Of equal texts, `texts` has the first."""

    texts: list[Joined]
    leaks: list[Leak]


def searched(lines: Sequence[Line], own: Collection[str], without: Container[str] = ()) -> SearchedLines:
    """Search the lines of a recording. The texts in `own`, the secrets of this process, are searched for, too.

    The members of events repeat from line to line, so each text is decoded and searched once. Only the texts that
    contain a secret are then searched in all their places. The texts in `without` are known to have none.
    """
    first = [view for view in _first_views(lines) if view.form or view.text not in without]
    texts = list(levels(first))
    places = {(view.line, view.path) for group in texts for view, _ in secrets_in(group, own)}
    if not places:
        return SearchedLines(texts, [])
    found = {view.text for view in first if (view.line, view.path) in places}
    # How a group is searched depends on whether all of it is binary. So a text that is not is searched again with it.
    mixed = (next(view for view in group.views if not view.binary) for group in texts if not group.is_binary)
    places = {(view.line, view.path) for view in mixed}
    again = (view for view in _all_views(lines) if view.text in found or (view.line, view.path) in places)
    calls = [number for number, line in enumerate(lines, 1) if "call" in line]
    return SearchedLines(texts, leaks_in(levels(again), own, partial(bisect_right, calls)))


def _first_views(lines: Sequence[Line]) -> Iterator[View]:
    """Yield the views that `_all_views` yields, but of the views of lines with equal texts only the first."""
    seen: set[str] = set()
    usual: set[str] = set()
    for number, line in enumerate(lines, 1):
        delta = usual_delta(line)
        if delta is not None and delta[1] in usual:
            # All other texts of this line are names, which an earlier line of this form has, too.
            _, member, piece = delta
            views: Iterable[View] = (View(f"{_PATHS[member][-1]}: {piece}", number, _PATHS[member]),)
        else:
            views = views_of(line, number)
            if delta is not None:
                usual.add(delta[1])
        for view in views:
            if view.text not in seen or view.form:
                seen.add(view.text)
                yield view
    yield from _joined_views(lines)


_PATHS: Final[Mapping[str, Steps]] = {
    member: ("contentBlockDelta", "delta", member, *([CARRIED[member]] if member in CARRIED else []))
    for member in TEXTS.values()
}
"""Maps the member of a delta to the path of its text in the line."""


def _all_views(lines: Sequence[Line]) -> Iterator[View]:
    """Yield the texts of all lines, without decoding them. Then join and yield the texts split over several lines."""
    for number, line in enumerate(lines, 1):
        yield from views_of(line, number)
    yield from _joined_views(lines)


def _joined_views(lines: Sequence[Line]) -> Iterator[View]:
    for (number, path, text), *others in streamed(lines):
        pieces = [text, *(each for _, _, each in others)]
        if others and path == ("bytes",):
            raw = b"".join(map(base64.b64decode, pieces))
            yield View(raw.decode("latin-1"), number, (*path, AND_AFTER), ("base64",))
        elif others:
            yield View("".join(pieces), number, (*path, AND_AFTER))
    for number, events in _other_events(lines):
        for path, text in in_pieces(events):
            yield View(text, number, (*path, AND_AFTER))


def _other_events(lines: Sequence[Line]) -> Iterator[tuple[int, list[Any]]]:
    """For each stream, yield a list of its events except contentBlockDeltas, after the line number of the first."""
    for events in _numbered_events(lines):
        yield events[0][0], [event for _, event in events]


def _numbered_events(lines: Sequence[Line]) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """For each stream, yield its events except contentBlockDeltas, each after the number of its line."""
    for group in _by_call(lines):
        pairs = [
            (number, event_of(line))
            for number, line in group
            if line.keys() != USUAL and line.keys().isdisjoint(_NO_EVENT)
        ]
        events = [(number, dict([event])) for number, event in pairs if event and event[0] != "contentBlockDelta"]
        if events:
            yield events


def streamed_in_others(lines: Sequence[Line]) -> Iterator[list[tuple[int, Steps, str]]]:
    """Yield the texts of events except contentBlockDeltas, in the form of `streamed`.

    The pieces of a text are at one path in successive events, such as the chunks of InvokeModelWithResponseStream. Most
    texts are in one piece. Texts that are JSON are left out.
    """
    for events in _numbered_events(lines):
        texts: dict[object, list[tuple[int, Steps, str]]] = {}
        for number, event in events:
            for each in placed_texts(event):
                if each.steps is not None:
                    texts.setdefault((each.path, each.indices), []).append((number, each.steps, each.text))
        yield from texts.values()


def _by_call(lines: Sequence[Line]) -> Iterator[Sequence[tuple[int, Line]]]:
    """Yield the lines below each call's own line, up to the next call; each line stands after its number, from 1.

    The lines above the first call are yielded first.
    """
    numbered = list(enumerate(lines, 1))
    calls = [index for index, line in enumerate(lines) if "call" in line]
    for before, end in pairwise([-1, *calls, len(lines)]):
        yield numbered[before + 1 : end]


def streamed(lines: Sequence[Line]) -> Iterator[list[tuple[int, Steps, str]]]:
    """Yield the texts that arrived in pieces, each as the list of its pieces: (line number, path, piece).

    The pieces of a text are in the deltas of one content block, or in an answer's lines with bytes that are not a whole
    frame.
    """
    for group in _by_call(lines):
        texts: dict[object, list[tuple[int, Steps, str]]] = {}
        for number, line in group:
            delta = usual_delta(line)
            if delta is not None:
                index, member, text = delta
                path = _PATHS[member]
                texts.setdefault((index, path), []).append((number, path, text))
            elif "bytes" in line:
                texts.setdefault("bytes", []).append((number, ("bytes",), line["bytes"]))
            elif "contentBlockDelta" in line:
                members = object_of(line["contentBlockDelta"])
                for path, text in leaves(members.get("delta"), ("contentBlockDelta", "delta")):
                    if type(text) is str:
                        texts.setdefault((members.get("contentBlockIndex"), path), []).append((number, path, text))
        yield from texts.values()
