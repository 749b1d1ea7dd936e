"""Notes: remarks about calls. By default, no test fails because of a note.

Fakes store their notes in this module, and the pytest plugin shows them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about a call. `kind` is the subject of the remark, such as the name of a rule; `call` is the call's
    number.

    >>> Note("rule_name", "Bedrock may refuse this.", 1).text
    'Bedrock may refuse this.'
    """

    kind: str
    text: str
    call: int
    json: str = ""
    """The text for callers of the control API, if it differs from the text for Python."""


_inbox: Final[dict[str, Note]] = {}
"""The first note of each kind since the last `take()`, which the pytest plugin calls after each phase of a test."""


def hand_in(notes: Iterable[Note]) -> None:
    """Store notes for `take()`. Only the first note of each kind is kept."""
    for note in notes:
        _inbox.setdefault(note.kind, note)


def take() -> list[Note]:
    """Remove and return all stored notes."""
    notes = [*_inbox.values()]
    _inbox.clear()
    return notes


@contextmanager
def set_aside() -> Generator[None, None, None]:
    """Drop the notes that a `with` block stores, and restore the earlier ones: for a pytest run inside another run."""
    before = take()
    try:
        yield
    finally:
        take()
        hand_in(before)
