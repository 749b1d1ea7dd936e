"""Deltas that are pieces of one text: which they are, and how a text that was changed is cut into them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from converse_harness.json_values import is_object, member_of, object_of
from converse_harness.secrets import common_length

_TEXTS: Final = (
    ("text", ("text",)),
    ("reasoning", ("reasoningContent", "text")),
    ("tool input", ("toolUse", "input")),
)
"""The deltas that are pieces of a text: the name of the text, and the path to the piece in `delta`."""


class DeltaPiece(NamedTuple):
    """A piece of the text of a block: the block's index, the kind of the text, and the piece."""

    block: str
    kind: str
    text: str

    def continues(self, other: DeltaPiece | None) -> bool:
        """Whether the piece belongs to the same text as another piece."""
        return other is not None and self[:2] == other[:2]


def piece_of(event: Any) -> DeltaPiece | None:
    """Return the piece of text in an event; None for every other event."""
    if not is_object(event) or len(event) != 1:
        return None
    members = member_of(event, "contentBlockDelta")
    delta = member_of(members, "delta")
    if not is_object(delta) or len(delta) != 1:
        return None
    for kind, path in _TEXTS:
        text = member_of(delta, *path)
        if isinstance(text, str) and (len(path) == 1 or len(object_of(delta[path[0]])) == 1):
            return DeltaPiece(str(member_of(members, "contentBlockIndex")), kind, text)
    return None


def _with_text(event: Any, kind: str, text: str) -> Any:
    path = dict(_TEXTS)[kind]
    delta: Any = text
    for name in reversed(path):
        delta = {name: delta}
    return {"contentBlockDelta": {**event["contentBlockDelta"], "delta": delta}}


def changed_events(events: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    """Apply `change` to each event as a whole, but to the pieces of a text as one text, which it may have to see.

    The pieces around the change stay as they are.

    >>> texts = ("a s", "ec", "ret")
    >>> deltas = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": each}}} for each in texts]
    >>> changed = changed_events(deltas, lambda text: text.replace("secret", "***"))
    >>> [each["contentBlockDelta"]["delta"]["text"] for each in changed]
    ['a ***', '', '']
    """
    made = list(events)
    texts: dict[tuple[str, str], list[int]] = {}
    for at, event in enumerate(events):
        piece = piece_of(event)
        if piece is None:
            made[at] = change(event)
        else:
            texts.setdefault(piece[:2], []).append(at)
    for (_, kind), places in texts.items():
        pieces = [each.text for at in places if (each := piece_of(events[at])) is not None]
        whole = "".join(pieces)
        new = str(change(whole))
        if new != whole:
            for at, text in zip(places, _cut_again(pieces, whole, new), strict=True):
                made[at] = _with_text(events[at], kind, text)
    return made


def _cut_again(pieces: Sequence[str], whole: str, new: str) -> list[str]:
    """Cut a changed text into pieces. Those beside the change are kept; the first that it touches has the new text."""
    start = common_length(whole, new)
    end = min(common_length(whole[::-1], new[::-1]), len(whole) - start, len(new) - start)
    before, after = start, len(whole) - end
    made: list[str] = []
    done, changed = 0, False
    for piece in pieces:
        left, right = done, done + len(piece)
        done = right
        kept = piece[: max(before - left, 0)] if left < before else ""
        tail = piece[max(after - left, 0) :] if right > after else ""
        if right <= before or (left >= after and changed):
            made.append(piece)
        elif not changed:
            made.append(kept + new[start : len(new) - end] + tail)
            changed = True
        else:
            made.append(tail)
    return made
