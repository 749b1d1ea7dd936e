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


_inboxes: Final[list[dict[str, Note]]] = []


@contextmanager
def inbox() -> Generator[dict[str, Note], None, None]:
    """Collect the notes of all fakes in this process, the first of each kind; where several do, the last one opened."""
    opened: dict[str, Note] = {}
    _inboxes.append(opened)
    try:
        yield opened
    finally:
        _inboxes[:] = [each for each in _inboxes if each is not opened]  # two may be equal


def hand_in(notes: Iterable[Note]) -> None:
    """Put notes into the inbox; drop them if there is none."""
    for note in notes if _inboxes else ():
        _inboxes[-1].setdefault(note.kind, note)
