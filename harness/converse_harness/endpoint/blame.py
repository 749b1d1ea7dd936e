"""Add a note to an error: which function of the user (a reply or a predicate) raised it, and the function's line."""

from __future__ import annotations

from converse_harness.endpoint.call import Call
from converse_harness.errors import ReplyError
from converse_harness.user_lines import UserLine, raising_line


def blame(error: Exception, what: str, line: UserLine | None, doing: str) -> None:
    """Add a note to an error. `what` is the function that raised it, `line` is its place, `doing` is its task.

    >>> error = KeyError("foo")
    >>> blame(error, "the function given to always()", UserLine("test_x.py", 12), "it answered call 1")
    >>> error.__notes__
    ['raised by the function given to always() at test_x.py:12, while it answered call 1']
    """
    raised_at = raising_line(error)
    returned = isinstance(error, ReplyError) and raised_at is None
    place = f" at {raised_at}" if raised_at is not None and raised_at != line else ""
    given = "" if line is None else f" at {line}"
    note = f"{'returned' if returned else 'raised'}{place} by {what}{given}, while {doing}"
    if note not in getattr(error, "__notes__", ()):  # a function may raise the same object again
        error.add_note(note)


def in_short(error: Exception, call: Call) -> str:
    """Return the type and the text of an error, with the notes about this call that `blame` added."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.endswith(f" call {call.number}")]
    return ", ".join([f"{type(error).__name__}: {error}", *notes])
