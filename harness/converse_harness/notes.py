"""Notes: remarks about calls, which fail no test by default. Fakes store them here; the pytest plugin shows them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about a call. `kind` is its subject, such as the name of a rule; `call` is the number of the call."""

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
    """Remove and return all stored notes."""
    notes = [*_inbox.values()]
    _inbox.clear()
    return notes


@contextmanager
def set_aside() -> Generator[None, None, None]:
    """Context manager for a pytest run inside another: it drops the notes of its block, and restores earlier notes."""
    before = take()
    try:
        yield
    finally:
        take()
        hand_in(before)
