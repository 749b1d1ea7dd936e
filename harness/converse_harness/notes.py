"""Note: what is worth saying of a call and refuses nothing. Fakes hand them in; pytest's plugin shows them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Note:
    """What is worth saying of the call with this number: `kind` is what it is about, a rule's name for instance."""

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
        """What came since it was last emptied."""
        notes = [*self._notes.values()]
        self._notes.clear()
        return notes


_inboxes: Final[list[NoteInbox]] = []


@contextmanager
def inbox() -> Generator[NoteInbox, None, None]:
    """Where all fakes of this process put their notes when they are checked; of several the last one opened."""
    opened = NoteInbox()
    _inboxes.append(opened)
    try:
        yield opened
    finally:
        _inboxes.remove(opened)


def hand_in(notes: Iterable[Note]) -> None:
    """Put notes where somebody reads them; nowhere, if nobody does."""
    if _inboxes:
        _inboxes[-1].put(notes)
