"""The faults that `--converse-chaos` adds to replies: those of the wire, and each case that changes one reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from converse_harness import faults
from converse_harness.bedrock.families import NEUTRAL, Family, family_of
from converse_harness.bedrock.fit import TRACE_IS_ASKED, misfits_of
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.cases import CASES
from converse_harness.errors import ConverseHarnessError
from converse_harness.faults.model import Transport
from converse_harness.features.chaos.from_cases import OWN, Damage, Tools, breach, damage_of
from converse_harness.plugin.frames import SOCKETS
from converse_harness.reply.answer import answer_of
from converse_harness.reply.body import ErrorBody, EventsBody, MessageBody
from converse_harness.reply.reply import Reply

PATIENCE: Final = 5.0
"""A stalled answer over a socket ends after this number of seconds. A client that waits until then counts as hung."""

USUAL: Final = (
    *("throttled_until_given_up", "context_overflow", "no_message_stop", "stop_max_tokens"),
    *("guardrail_output_blocked", "tool_unknown", "tool_input_not_json", "cut_off", "throttled", "cut_in_tool_input"),
    *("tool_input_unfit", "throttle_first_frame", "reset", "model_stream_error", "stall", "overflow_mid"),
    *("stop_content_filtered", "empty_200", "internal_server_error", "bad_crc", "closed"),
    *("guardrail_masked", "no_metadata"),
)
"""The names of the faults that are tried if the option names none; those that reveal most problems come first.

They are what any model may answer. An empty text, for example, is known of one family of models only.
"""

_SAID: Final[Mapping[str, str]] = {
    "no_message_stop": "the answer broke off before its end",
    "throttled": "429 ThrottlingException came in place of the answer",
    "cut_off": "the answer broke off in the middle, as if it were at its end",
    "cut_in_tool_input": "the answer broke off in a tool's input, as if it were at its end",
    "throttle_first_frame": "the first frame of the stream was a throttlingException",
    "reset": "the connection was reset in the middle of the answer",
    "model_stream_error": "a modelStreamErrorException came in the middle of the stream",
    "stall": "nothing more came from the middle of the answer on",
    "empty_200": "a 200 without a body came",
    "internal_server_error": "500 InternalServerException came",
    "bad_crc": "a frame in the middle of the stream did not match its checksum",
    "closed": "the connection was closed in the middle of a frame",
    "no_metadata": "the usage was missing",
    "context_overflow": "400 ValidationException came: the conversation is too long, whenever it is sent",
    "overflow_mid": "the conversation was too long: a validationException came in the middle of the stream",
    "stop_max_tokens": "the answer ended at its limit of tokens (stop reason max_tokens)",
    "stop_content_filtered": "the answer was filtered (stop reason content_filtered)",
    "guardrail_output_blocked": "a guardrail blocked the answer, and its message came instead",
    "guardrail_masked": "a guardrail masked a part of the answer",
    "tool_unknown": "the model asked for a tool that it was not offered",
    "tool_input_not_json": "the input of a tool was no JSON",
    "text_empty_block": "an empty text came before the answer",
}
"""The sentences about faults where the catalogue's own, about its own answer, does not fit a reply of a test."""

_SENT_BY: Final[Mapping[str, Callable[[Family], bool]]] = {
    "reasoning_unsigned": lambda family: not family.signs,
    **dict.fromkeys(
        ("reasoning_then_text", "reasoning_omitted", "reasoning_redacted_utf8", "reasoning_redacted_binary"),
        lambda family: family.signs,
    ),
    "server_tool_nova": lambda family: family.name == "nova",
}
"""The families of models that answer so. The models of other families even refuse such a message in a request."""


def is_sent_by(name: str, model_id: str) -> bool:
    """Whether a model may answer with the fault `name`; true for models of unknown makers."""
    family = family_of(model_id)
    return name not in _SENT_BY or family is NEUTRAL or _SENT_BY[name](family)


def fits(changed: Reply, own: Reply, asked: RuleRequest) -> bool:
    """Whether a reply with a fault fits its request as well as the test's own reply does."""
    allowed = {*changed.plan.misfits, *_misfits(own, asked)}
    return all(name in allowed for name in _misfits(changed, asked))


def _misfits(answer: Reply, asked: RuleRequest) -> Iterator[str]:
    read = answer_of(answer.plan.body)
    found = misfits_of(asked, read) if read is not None else ()
    return (misfit.fit.name for misfit in found if misfit.fit.name != TRACE_IS_ASKED)  # such a trace is not sent


@cache
def damages() -> Mapping[str, Damage]:
    """Return all faults by the names that the option `--converse-chaos` accepts."""
    of_wire = {
        name: breach(name, fault.sentence.rstrip(".").replace(";", ","), fault) for name, fault in faults.FAULTS.items()
    }
    of_cases = {name: damage_of(case) for name, case in CASES.items() if name not in of_wire}
    found = {**of_wire, **{name: each for name, each in of_cases.items() if each is not None}}
    found |= {each.name: each for each in OWN}
    found |= {"context_overflow": found["overflow_pre"]}
    return {name: replace(each, name=name, sentence=_SAID.get(name, each.sentence)) for name, each in found.items()}


def is_sound(answer: Reply) -> bool:
    """Whether a reply is a complete answer without a fault or an error, and was not recorded from a broken answer."""
    plan = answer.plan
    whole = isinstance(plan.body, MessageBody | EventsBody) and plan.failure is None and not plan.placements
    return whole and (plan.recorded is None or not plan.recorded.partial)


def damaged(answer: Reply, name: str, operation: str, transport: Transport | None, tools: Tools = ()) -> Reply | None:
    """Return the reply with the fault `name`; None if this reply, operation or transport cannot have this fault."""
    damage = damages()[name]
    if operation not in damage.operations or not is_sound(answer):
        return None
    try:
        stalls = name == "stall" and transport in SOCKETS
        changed = answer.broken(faults.stall.lasting(PATIENCE)) if stalls else damage.make(answer, tools)
        changed.plan.check_sendable(transport)
    except (ConverseHarnessError, LookupError):
        return None
    return changed


def meets_at_once(changed: Reply) -> bool:
    """Whether a fault affects even a client that reads only the beginning of the answer."""
    plan = changed.plan
    return (
        isinstance(plan.body, ErrorBody)
        or (plan.failure is not None and plan.failure.after == 0)
        or any(each.fault.name == "empty_200" for each in plan.placements)
    )


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
