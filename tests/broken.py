"""For each fault, a reply that has it, and how botocore reacts to it, in the words of the table of faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from converse_harness import Fake, Reply, ReplyError, bedrock, faults, reply
from converse_harness.bedrock.families import family_of
from converse_harness.faults.model import ENDS, HANDS_OUT, SKIPS, Fault, FaultLevel
from converse_harness.intercept.boto.sync import holds_bodies_to_their_length

CITATION: Final = {
    "title": "Alps",
    "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 1}},
    "sourceContent": [{"text": "d"}],
}
CONTENT: Final[tuple[dict[str, Any], ...]] = (
    {"reasoningContent": {"reasoningText": {"text": "so", "signature": "c2ln"}}},
    {"reasoningContent": {"redactedContent": b"x"}},
    {"text": "a b"},
    {"text": "c"},
    *(
        [{"citationsContent": {"citations": [CITATION], "content": [{"text": "d"}]}}]
        if bedrock.has_shape("Citation")
        else []
    ),
    {"toolUse": {"toolUseId": "t1", "name": "n", "input": {"a": 1, "b": "cd"}}},
    {"toolUse": {"toolUseId": "t2", "name": "n", "input": {}}},
)
WHOLE: Final = reply.message(*CONTENT)
"""Has a position for every fault except those of an exception."""
FAILED: Final = reply.events(
    [{"messageStart": {"role": "assistant"}}, {"throttlingException": {"message": "Too many requests."}}]
)

SHORT: Final = {"stall": faults.stall, "slow_first_byte": faults.slow_first_byte.lasting(0.01)}


def faulty(fault: Fault) -> Reply:
    """Return a reply with the fault. A fault that takes time takes a hundredth of a second, or never ends."""
    fault = SHORT.get(fault.name, fault)
    try:
        return WHOLE.broken(fault)
    except ReplyError:
        return FAILED.broken(fault)


def observed(client: Any, question: dict[str, Any], fault: Fault, fake: Fake) -> str:
    """Return how botocore reacts to a stream with this fault, in the words of the table's column."""
    handed_out: list[dict[str, Any]] = []
    try:
        with closing(client.converse_stream(**question)["stream"]) as stream:
            handed_out.extend(stream)
    except Exception as error:  # noqa: BLE001 - the function returns the name of any error
        library = "urllib3's " if type(error).__module__.startswith("urllib3") else ""
        return f"raises {library}{type(error).__name__}"
    (call,) = fake.calls
    sent = [event for event, _ in call.events]
    kinds = [next(iter(event)) for event in handed_out]
    assert call.reply is not None
    due = sent if fault.level == "events" else [*call.reply.events(family_of(call.model_id))]
    if kinds == [next(iter(event)) for event in due]:
        return HANDS_OUT
    return SKIPS if kinds and kinds[-1] == next(iter(due[-1])) else ENDS


def expected(fault: Fault) -> str:
    """Return the reaction that the table states for the installed botocore."""
    now, _, older = fault.botocore.partition("; 1.40 ")
    return older if older and holds_bodies_to_their_length() else now


def named(level: FaultLevel | None = None) -> Iterator[Any]:
    """Return the faults of a level, or all faults, for `parametrize`."""
    return (fault for fault in faults.FAULTS.values() if level in (None, fault.level))
