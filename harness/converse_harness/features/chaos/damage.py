"""The faults that `--converse-chaos` adds to replies: each has a name, a sentence, and a function that adds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from converse_harness import faults, reply
from converse_harness.endpoint.call import SCRIPTED
from converse_harness.errors import ReplyError
from converse_harness.faults.model import Transport
from converse_harness.plugin.frames import SOCKETS
from converse_harness.reply.body import EventsBody, MessageBody
from converse_harness.reply.reply import Reply

PATIENCE: Final = 5.0
"""A stalled answer over a socket ends after this number of seconds. A client that waits until then counts as hung."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A fault of a reply: its name, a sentence that describes it, and a function that returns the reply with the fault.

    `operations` are the operations whose answers can have the fault. `ignorable` is true if a client may continue as if
    there were no fault.
    """

    name: str
    sentence: str
    make: Callable[[Reply], Reply]
    operations: tuple[str, ...] = SCRIPTED
    ignorable: bool = False


_STREAM: Final = ("ConverseStream",)


def _breach(name: str, sentence: str) -> Damage:
    fault = faults.FAULTS[name]
    operations = _STREAM if fault.on_body is None else SCRIPTED
    return Damage(name, sentence, lambda answer: answer.broken(fault), operations, name in MAY_BE_IGNORED)


MAY_BE_IGNORED: Final = frozenset(name for name, fault in faults.FAULTS.items() if fault.reaction != "fail")
"""The names of faults after which a client may use what it has read."""

_USUAL: Final = (
    _breach("no_message_stop", "the answer broke off before its end"),
    Damage("throttled", "429 ThrottlingException came in place of the answer", lambda _: reply.throttled()),
    _breach("cut_off", "the answer broke off in the middle, as if it were at its end"),
    _breach("cut_in_tool_input", "the answer broke off in a tool's input, as if it were at its end"),
    Damage(
        "throttle_first_frame",
        "the first frame of the stream was a throttlingException",
        lambda answer: answer.fails_after(0, "throttlingException"),
        _STREAM,
    ),
    _breach("reset", "the connection was reset in the middle of the answer"),
    Damage(
        "model_stream_error",
        "a modelStreamErrorException came in the middle of the stream",
        lambda answer: answer.fails_after(sum(1 for _ in answer.events()) // 2, "modelStreamErrorException"),
        _STREAM,
    ),
    _breach("stall", "nothing more came from the middle of the answer on"),
    _breach("empty_200", "a 200 without a body came"),
    Damage("internal_server_error", "500 InternalServerException came", lambda _: reply.internal_server_error()),
    _breach("bad_crc", "a frame in the middle of the stream did not match its checksum"),
    _breach("closed", "the connection was closed in the middle of a frame"),
    _breach("no_metadata", "the usage was missing"),
)

USUAL: Final[Mapping[str, Damage]] = {each.name: each for each in _USUAL}
"""The faults that are tried if the option names none; those that reveal most problems come first."""

DAMAGES: Final[Mapping[str, Damage]] = {
    **USUAL,
    **{
        name: _breach(name, fault.sentence.rstrip(".").replace(";", ","))
        for name, fault in faults.FAULTS.items()
        if name not in USUAL
    },
}
"""Maps the names that the option `--converse-chaos` accepts to their faults."""


def is_sound(answer: Reply) -> bool:
    """Whether a reply is a complete answer without a fault or an error, and was not recorded from a broken answer."""
    plan = answer.plan
    whole = isinstance(plan.body, MessageBody | EventsBody) and plan.failure is None and not plan.placements
    return whole and (plan.recorded is None or not plan.recorded.partial)


def damaged(answer: Reply, name: str, operation: str, transport: Transport | None) -> Reply | None:
    """Return the reply with the fault `name`; None if this reply, operation or transport cannot have this fault."""
    damage = DAMAGES[name]
    if operation not in damage.operations or not is_sound(answer):
        return None
    try:
        stalls = name == "stall" and transport in SOCKETS
        changed = answer.broken(faults.stall.lasting(PATIENCE)) if stalls else damage.make(answer)
        changed.plan.check_sendable(transport)
    except ReplyError:
        return None
    return changed


def kind_of(answer: Reply) -> str:
    """Return the kind of a reply's first block that is not text, for example "toolUse".

    Return "text" if there is no such block, and "error" if the reply has no blocks.
    """
    match answer.plan.body:
        case MessageBody(content):
            blocks = [*content]
        case EventsBody(events):
            blocks = [each["contentBlockStart"]["start"] for each in events if "contentBlockStart" in each]
        case _:
            return "error"
    kinds = [next(iter(block), "text") for block in blocks]
    return next((kind for kind in kinds if kind != "text"), "text")
