"""Notes: remarks about calls. By default, no test fails because of a note.

Notes are not Python's warnings: test suites turn warnings into errors, and a remark is no reason to fail. Fakes store
their notes in this module, and the pytest plugin shows them.
"""

from __future__ import annotations

from collections import Counter
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


_inbox: Final[dict[int, Note]] = {}
"""The notes since the last `take()`, which the pytest plugin calls after each phase of a test, by their `id()`."""


def hand_in(notes: Iterable[Note]) -> None:
    """Store notes for `take()`."""
    _inbox.update({id(note): note for note in notes})


def withdraw(notes: Iterable[Note]) -> None:
    """Remove stored notes that a test has read itself, so that they are shown to nobody else."""
    for note in notes:
        _inbox.pop(id(note), None)


def take() -> list[Note]:
    """Remove all stored notes, and return the first of each kind."""
    first: dict[str, Note] = {}
    for note in _inbox.values():
        first.setdefault(note.kind, note)
    _inbox.clear()
    return [*first.values()]


_unknown_models: Final[Counter[str]] = Counter()
"""The calls since the last `take_unknown_models()`, by those model ids that the table of models does not have."""


def count_unknown_model(model_id: str) -> None:
    """Count a call to a model that the table of models does not have."""
    _unknown_models[model_id] += 1


def take_unknown_models() -> dict[str, int]:
    """Return the counted calls to unknown models by model id, and start to count anew."""
    found = dict(_unknown_models)
    _unknown_models.clear()
    return found


@contextmanager
def set_aside() -> Generator[None, None, None]:
    """Drop the notes that a `with` block stores, and restore the earlier ones: for a pytest run inside another run."""
    before, unknown = take(), take_unknown_models()
    try:
        yield
    finally:
        take()
        take_unknown_models()
        hand_in(before)
        _unknown_models.update(unknown)
