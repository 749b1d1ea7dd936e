"""Note: a remark about a call that fails nothing. Fakes hand notes in; the pytest plugin shows them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about the call with this number; `kind` is its subject, such as a rule's name."""

    kind: str
    text: str
    call: int


@dataclass(eq=False, slots=True)
class NoteInbox:
    """The notes of a test, the first of each kind."""

    _notes: dict[str, Note] = field(default_factory=dict[str, Note])

    def put(self, notes: Iterable[Note]) -> None:
        """Keep the first of each kind."""
        for note in notes:
            self._notes.setdefault(note.kind, note)

    def take(self) -> list[Note]:
        """Remove and return all notes."""
        notes = [*self._notes.values()]
        self._notes.clear()
        return notes


_inboxes: Final[list[NoteInbox]] = []


@contextmanager
def inbox() -> Generator[NoteInbox, None, None]:
    """The inbox for the notes of all fakes in this process; if several are open, the last one opened."""
    opened = NoteInbox()
    _inboxes.append(opened)
    try:
        yield opened
    finally:
        _inboxes.remove(opened)


def hand_in(notes: Iterable[Note]) -> None:
    """Put notes into the inbox; drop them if there is none."""
    if _inboxes:
        _inboxes[-1].put(notes)
