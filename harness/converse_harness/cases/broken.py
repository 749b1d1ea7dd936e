"""Cases of breaches of the protocol: one for each fault, in an answer to which it can be applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from converse_harness import reply
from converse_harness.cases.case import MEASURED, Case, Made
from converse_harness.cases.messages import ANSWER, SIGNATURE, THOUGHT
from converse_harness.cases.tools import TOOL
from converse_harness.damage import Fault, Level
from converse_harness.faults import FAULTS
from converse_harness.replies import Reply

_INCOMPLETE: Final = "Take the answer as broken off: never as whole, and never run a tool of it."
_REPORT: Final = "Take the stream as broken, or read what is clear; never run a tool of it that is not, never hang."
_SAME: Final = "Give the same answer as if nothing were wrong."
_UNREACHABLE: Final = "Ask again, a few times; then fail, and say that Bedrock cannot be reached."

_MUST_BY_LEVEL: Final[Mapping[Level, str]] = {
    Level.EVENTS: _REPORT,
    Level.FRAMES: _INCOMPLETE,
    Level.HTTP: _INCOMPLETE,
    Level.CONNECTION: _INCOMPLETE,
}

_MUST: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("no_message_stop", "cut_off", "cut_in_tool_input", "event_after_exception"),
        _INCOMPLETE,
    ),
    **dict.fromkeys(("one_byte_chunks", "one_chunk", "slow_first_byte"), _SAME),
    **dict.fromkeys(("connection_refused", "connect_timeout", "read_timeout"), _UNREACHABLE),
    "unknown_event": "Skip the event, and read the rest.",
    "no_metadata": "Accept the answer, and say that its usage is unknown instead of 0.",
    "garbage_after_end": "Keep the answer that was whole before it, or fail; never hang.",
    "wrong_content_length": "Keep the answer, of which nothing is missing, or fail; never hang.",
    "stall": "Give up after a time of its own: never wait for ever, and never take the part for whole.",
    "blocks_interleaved": "Tell the blocks apart by their contentBlockIndex, or take the stream as broken.",
}
"""What a correct consumer does with a fault, where it is not what its level says."""

_SENTENCES: Final[Mapping[str, str]] = {
    "stall": "In the middle of the stream nothing more is sent, and the connection stays open.",
    "slow_first_byte": "Nothing is sent for a tenth of a second, not even the head.",
}
"""What happens, where the fault's own sentence says how to use it."""

SHORT_WAIT: Final = 0.1
"""Seconds that a fault lasts whose end a client waits for."""


def _answers() -> Iterator[Reply]:
    """What is broken: the first answer in which the fault has a place."""
    yield reply.text(ANSWER)
    yield reply.tool_use(TOOL, {"city": "Zürich"}, pieces=['{"city": ', '"Zürich"}'])
    yield reply.message({"text": "Let me look."}, {"toolUse": {"name": TOOL, "input": {"city": "Zürich"}}})
    yield reply.message(
        {"reasoningContent": {"reasoningText": {"text": THOUGHT, "signature": SIGNATURE}}}, {"text": ANSWER}
    )
    yield reply.message({"reasoningContent": {"redactedContent": b"EroBCkYIBBgCKkA="}}, {"text": ANSWER})


def _broken(fault: Fault) -> Made:
    if fault.seconds is not None and fault.seconds < float("inf"):
        fault = fault.lasting(SHORT_WAIT)
    fits = (answer for answer in _answers() if fault.order is None or fault.order.sites([*answer.events()]))
    return next(fits).broken(fault)


def fault_cases() -> Iterator[Case]:
    """One for each fault, under its name."""
    for name, fault in FAULTS.items():
        yield Case(
            name,
            _SENTENCES.get(name, fault.sentence),
            _MUST.get(name, _MUST_BY_LEVEL[fault.level]),
            MEASURED,
            partial(_broken, fault),
        )
