"""A Note is a remark about a call; by default, it fails no test. Fakes hand notes in; the pytest plugin shows them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about the call with this number; `kind` is its subject, such as a rule's name."""

    kind: str
    text: str
    call: int


_inbox: Final[dict[str, Note]] = {}
"""The first note of each kind since the last `take()`, which the pytest plugin calls after each phase of a test."""


def hand_in(notes: Iterable[Note]) -> None:
    """Store notes for `take()`; of each kind, only the first note is kept."""
    for note in notes:
        _inbox.setdefault(note.kind, note)


def take() -> list[Note]:
    """Remove and return all notes that were handed in."""
    notes = [*_inbox.values()]
    _inbox.clear()
    return notes


@contextmanager
def set_aside() -> Generator[None, None, None]:
    """Isolate a pytest run within another: drop notes of the `with` block afterwards, and restore earlier notes."""
    before = take()
    try:
        yield
    finally:
        take()
        hand_in(before)
