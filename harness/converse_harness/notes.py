"""Note: a remark about a call that fails nothing. Fakes hand notes in; the pytest plugin shows them."""

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
"""The first note of each kind since somebody took them; pytest's plugin does after each test."""


def hand_in(notes: Iterable[Note]) -> None:
    """Keep the first of each kind."""
    for note in notes:
        _inbox.setdefault(note.kind, note)


def take() -> list[Note]:
    """Remove and return all notes that were handed in."""
    notes = [*_inbox.values()]
    _inbox.clear()
    return notes


@contextmanager
def set_aside() -> Generator[None, None, None]:
    """For a run within a run: what was handed in before is back after the `with` block, and what came in it is gone."""
    before = take()
    try:
        yield
    finally:
        take()
        hand_in(before)
