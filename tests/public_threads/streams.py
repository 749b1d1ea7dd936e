"""Streams that end, fail or hang, in ten consumers of ConverseStream: each with the bug that a thread tells of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError, ReadTimeoutError
from urllib3.exceptions import ProtocolError

from converse_harness import fake_converse, faults, reply
from converse_harness.cases import CASES
from converse_harness.contract import Outcome, Target, ToolCall
from tests.public_threads.lessons import NOVA, ContractLesson, Lessons, ScriptLesson, bedrock, user


class BrokenOff(Exception):
    """What came is not a whole answer."""


def text_in(event: Mapping[str, Any]) -> str:
    """The text of an event, if it has one."""
    text: str = event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
    return text


def events_of(target: Target) -> Any:
    """The events of an answer to the contract's question."""
    return target.client.converse_stream(**target.request)["stream"]


# The contract judges these.


def ends_with_the_connection(target: Target, *, mended: bool) -> Outcome:
    text, reason = "", None
    for event in events_of(target):
        text += text_in(event)
        reason = event.get("messageStop", {}).get("stopReason", reason)
    if mended and reason is None:
        raise BrokenOff("no messageStop")
    return Outcome(text, stop_reason=reason or "end_turn")


def ends_with_the_metadata(target: Target, *, mended: bool) -> Outcome:
    text, reason, last = "", None, ""
    for event in events_of(target):
        ((last, _),) = event.items()
        text += text_in(event)
        reason = event.get("messageStop", {}).get("stopReason", reason)
    if not (reason or (last == "metadata" and not mended)):
        raise BrokenOff("no messageStop")
    return Outcome(text, stop_reason=reason)


def flushes_an_open_tool(target: Target, *, mended: bool) -> Outcome:
    calls: list[ToolCall] = []
    text = name = given = ""
    stopped = False
    for event in events_of(target):
        text += text_in(event)
        match event:
            case {"contentBlockStart": {"start": {"toolUse": use}}}:
                name, given = use["name"], ""
            case {"contentBlockDelta": {"delta": {"toolUse": {"input": part}}}}:
                given += part
            case {"contentBlockStop": _} if name:
                calls.append(ToolCall(name, json.loads(given or "{}")))
                name = ""
            case {"messageStop": _}:
                stopped = True
            case _:
                pass
    if mended and not stopped:
        raise BrokenOff("no messageStop")
    if name:  # "let us keep what we have"
        calls.append(ToolCall(name, {}))
    return Outcome(text, calls)


def nothing_is_an_answer(target: Target, *, mended: bool) -> Outcome:
    events = list(events_of(target))
    if not events and not mended:
        return Outcome("", stop_reason="end_turn")
    reasons = [event["messageStop"]["stopReason"] for event in events if "messageStop" in event]
    if not reasons:
        raise BrokenOff("no messageStop")
    return Outcome("".join(map(text_in, events)), stop_reason=reasons[-1])


def exceptions_end_the_loop(target: Target, *, mended: bool) -> Outcome:
    text, reason = "", "end_turn"
    try:
        for event in events_of(target):
            text += text_in(event)
            reason = event.get("messageStop", {}).get("stopReason", reason)
    except ClientError:  # an EventStreamError is one
        if mended:
            raise
    return Outcome(text, stop_reason=reason)


REASONS: Final = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def knows_four_stop_reasons(target: Target, *, mended: bool) -> Outcome:
    events = list(events_of(target))
    reason = next(event["messageStop"]["stopReason"] for event in events if "messageStop" in event)
    ended = REASONS.get(reason, reason) if mended else REASONS[reason]
    return Outcome("".join(map(text_in, events)), stop_reason=ended)


def waits_for_ever(target: Target, *, mended: bool) -> Outcome:
    patience = target.patience if mended else None
    client = bedrock(target.url, read_timeout=patience, retries={"total_max_attempts": 1})
    return Outcome("".join(map(text_in, client.converse_stream(**target.request)["stream"])), stop_reason="end_turn")


# These ask again, or should.


def _ask(client: Any) -> str:
    return "".join(map(text_in, client.converse_stream(modelId=NOVA, messages=[user("?")])["stream"]))


def repeats_what_failed_before_the_stream(*, mended: bool) -> str:
    """It leaves throttling to botocore, which repeats nothing once a stream has begun."""
    try:
        return _ask(bedrock())
    except ClientError as error:
        if not mended or "throttlingException" not in str(error):
            raise
        return _ask(bedrock())


def asks_again_when_throttled_in_the_stream(ask: Callable[[], str]) -> None:
    for case in ("throttle_first_frame", "throttle_mid"):
        with fake_converse(CASES[case].reply, reply.text("18 °C")):
            assert ask() == "18 °C"


def repeats_errors_of_aws_alone(*, mended: bool) -> str:
    try:
        return _ask(bedrock())
    except (ClientError, ProtocolError) as error:
        if isinstance(error, ProtocolError) and not mended:
            raise
        return _ask(bedrock())


def asks_again_when_the_connection_breaks(ask: Callable[[], str]) -> None:
    with fake_converse(reply.text("18 °C and sunny").broken(faults.closed), reply.text("18 °C")):
        assert ask() == "18 °C"


def watches_the_stream(*, mended: bool) -> str:
    """Its watchdog is the read timeout; ConverseStream sends no pings while a model thinks."""
    return _ask(bedrock(read_timeout=5 if mended else 0.02, retries={"total_max_attempts": 1}))


def waits_while_the_model_thinks(ask: Callable[[], str]) -> None:
    for thinks in (
        reply.text("18 °C").broken(faults.stall.lasting(0.1), after=1),
        reply.text("18 °C").paced(first=0.1),
    ):
        with fake_converse(thinks):
            assert ask() == "18 °C"


def asks_once_on_an_old_connection(*, mended: bool) -> str:
    return _ask(bedrock(retries={"total_max_attempts": 3 if mended else 1, "mode": "standard"}))


def asks_again_when_nothing_comes(ask: Callable[[], str]) -> None:
    with fake_converse(reply.read_timeout(), reply.text("18 °C"), unused="allow"):
        assert ask() == "18 °C"


LESSONS: Final[Lessons] = {
    "the end of the connection is taken for the end of the answer": ContractLesson(
        ends_with_the_connection, dict.fromkeys(("no_message_stop", "cut_off", "truncated_frame"), "silent success")
    ),
    "metadata is taken for the end of the answer": ContractLesson(
        ends_with_the_metadata, {"no_message_stop": "silent success"}
    ),
    "a tool runs with half of its input": ContractLesson(flushes_an_open_tool, {"cut_in_tool_input": "corrupted"}),
    "a stream of nothing is taken for an answer": ContractLesson(nothing_is_an_answer, {"empty_200": "silent success"}),
    "exceptions in the stream are dropped": ContractLesson(
        exceptions_end_the_loop,
        dict.fromkeys(
            ("throttle_mid", "model_stream_error", "internal_server_exception_mid", "error_frame"), "silent success"
        ),
    ),
    "a stop reason is not known": ContractLesson(
        knows_four_stop_reasons,
        dict.fromkeys(("stop_unknown", "stop_malformed_tool_use", "stop_model_context_window_exceeded"), "wrong error"),
    ),
    "a stalled body hangs": ContractLesson(
        waits_for_ever, {"stall": "hangs"}, {"transport": "server", "time_limit": 2}, slow=True
    ),
    "throttling in the stream is not repeated": ScriptLesson(
        repeats_what_failed_before_the_stream,
        asks_again_when_throttled_in_the_stream,
        by="throttle_first_frame",
        says="Too many",
        fails=ClientError,
    ),
    "a broken connection is not repeated": ScriptLesson(
        repeats_errors_of_aws_alone,
        asks_again_when_the_connection_breaks,
        by="closed",
        says="ended prematurely",
        fails=ProtocolError,
    ),
    "a watchdog ends a model that thinks": ScriptLesson(
        watches_the_stream, waits_while_the_model_thinks, by="stall", says="timed out", fails=Exception
    ),
    "a dead connection of the pool is not replaced": ScriptLesson(
        asks_once_on_an_old_connection,
        asks_again_when_nothing_comes,
        by="read_timeout",
        says="Read timeout",
        fails=ReadTimeoutError,
    ),
}
