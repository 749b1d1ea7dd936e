"""Texts that an answer sends in pieces, one piece per delta event: find the pieces, and change a whole text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from converse_harness.json_values import is_object, member_of, object_of
from converse_harness.secrets import common_length

_TEXTS: Final = (
    ("text", ("text",)),
    ("reasoning", ("reasoningContent", "text")),
    ("tool input", ("toolUse", "input")),
)
"""The kinds of text that deltas send in pieces: the name of the kind, and the path to the piece in `delta`."""


class DeltaPiece(NamedTuple):
    """A piece of a text: the index of the text's block, the kind of the text, and the characters of the piece."""

    block: str
    kind: str
    text: str


def piece_of(event: Any) -> DeltaPiece | None:
    """Return the piece of text that an event contains; None if it contains no piece, or has further members."""
    members = member_of(event, "contentBlockDelta")
    delta = member_of(members, "delta")
    if not is_object(delta) or len(delta) != 1 or len(event) != 1:
        return None
    for kind, path in _TEXTS:
        text = member_of(delta, *path)
        if isinstance(text, str) and (len(path) == 1 or len(object_of(delta[path[0]])) == 1):
            return DeltaPiece(str(member_of(members, "contentBlockIndex")), kind, text)
    return None


def changed_events(events: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    """Return the events in which each text was changed by `change`.

    `change` is called with the whole text that several events send in pieces, and with every event that has no piece.
    The changed text is cut into as many pieces as before. Pieces that the change does not touch stay as they are.

    >>> texts = ("a s", "ec", "ret")
    >>> deltas = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": each}}} for each in texts]
    >>> changed = changed_events(deltas, lambda text: text.replace("secret", "***"))
    >>> [each["contentBlockDelta"]["delta"]["text"] for each in changed]
    ['a ***', '', '']
    """
    made = list(events)
    texts: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for at, event in enumerate(events):
        piece = piece_of(event)
        if piece is None:
            made[at] = change(event)
        else:
            texts.setdefault(piece[:2], []).append((at, piece.text))
    for (_, kind), placed in texts.items():
        pieces = [text for _, text in placed]
        whole = "".join(pieces)
        new = str(change(whole))
        if new != whole:
            for (at, _), text in zip(placed, _cut_again(pieces, whole, new), strict=True):
                delta: Any = text
                for name in reversed(dict(_TEXTS)[kind]):
                    delta = {name: delta}
                made[at] = {"contentBlockDelta": {**events[at]["contentBlockDelta"], "delta": delta}}
    return made


def _cut_again(pieces: Sequence[str], whole: str, new: str) -> Iterator[str]:
    """Cut a changed text into as many pieces as before. The first piece that the change touches gets all new text."""
    start = common_length(whole, new)
    end = min(common_length(whole[::-1], new[::-1]), len(whole) - start, len(new) - start)
    changed, stop, at = new[start : len(new) - end], len(whole) - end, 0
    for piece in pieces:
        kept, tail = piece[: max(start - at, 0)], piece[max(stop - at, 0) :]
        at += len(piece)
        if at > start or at == len(whole):  # the second condition is for text that is added at the end
            kept, changed = kept + changed, ""
        yield kept + tail
