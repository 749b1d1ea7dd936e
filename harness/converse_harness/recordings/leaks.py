"""Find the secrets in the lines of a recording: its texts, and texts that were sent in pieces."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from converse_harness.json_values import Steps, leaves, object_of
from converse_harness.recordings.format.lines import Line, event_of
from converse_harness.secrets.leaks import AND_AFTER, Leak, leaks_in
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.views import View, in_pieces, levels, views_of

_NO_EVENT: Final = frozenset({"part", "status", "failed", "end", "bytes", "format"})
"""Keys of lines without an event. The line of an event contains none of them."""


def scan(lines: Sequence[Line], own: Collection[str] | None = None) -> list[Leak]:
    """Return the secrets in the lines of a recording. Secrets of one kind at one path of one line are returned once.

    Besides known kinds of secrets, the texts in `own` are searched for: the secrets of this process, by default
    `own_secrets()`.

    >>> scan([{"call": 1, "request": {"text": "my key is AKIAIOSFODNN7EXAMPLE"}}])
    [Leak(line=1, path='request.text', kind='an AWS access key id', form=())]
    """
    return leaks_in(levels(all_views(lines)), own_secrets() if own is None else frozenset(own))


def all_views(lines: Sequence[Line]) -> Iterator[View]:
    """Yield the texts of all lines, without decoding them. Then join and yield the texts split over several lines."""
    for number, line in enumerate(lines, 1):
        yield from views_of(line, number)
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
    for group in _by_call(lines):
        pairs = [(number, event_of(line)) for number, line in group if not line.keys() & _NO_EVENT]
        events = [(number, dict([event])) for number, event in pairs if event and event[0] != "contentBlockDelta"]
        if events:
            yield events[0][0], [event for _, event in events]


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
            if "bytes" in line:
                texts.setdefault("bytes", []).append((number, ("bytes",), line["bytes"]))
            elif "contentBlockDelta" in line:
                members = object_of(line["contentBlockDelta"])
                for path, text in leaves(members.get("delta"), ("contentBlockDelta", "delta")):
                    if type(text) is str:
                        texts.setdefault((members.get("contentBlockIndex"), path), []).append((number, path, text))
        yield from texts.values()
