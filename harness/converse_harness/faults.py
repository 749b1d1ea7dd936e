"""Deliberate breaches of the protocol, by name: `reply.text("a").broken(faults.reset)`."""

from __future__ import annotations

from typing import Final

from converse_harness.replies import Fault
from converse_harness.wire.http import Break

__all__ = ["reset", "stall", "truncated_frame"]

reset: Final = Fault("reset", "The peer resets the connection (RST) between two frames.", Break.RESET)
stall: Final = Fault("stall", "Nothing more is sent, and the connection stays open.", Break.STALLED)
truncated_frame: Final = Fault(
    "truncated_frame", "The connection is closed (FIN) in the middle of a frame.", Break.CLOSED, in_frame=True
)
