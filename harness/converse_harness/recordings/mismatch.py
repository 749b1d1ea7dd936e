"""Why no exchange of a recording answers a call."""

from __future__ import annotations

from collections.abc import Sequence

from converse_harness.calls import Call
from converse_harness.script import Missed


def missed(path: object, used: Sequence[Sequence[int]], call: Call) -> Missed | None:
    """Why no exchange answers it."""
    del used
    return Missed(f"call {call.number} matches no exchange of {path}.", "")
