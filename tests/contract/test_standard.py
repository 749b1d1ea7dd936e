"""The standard: what a perfect, an empty and a silent consumer are called, for every case.

What a perfect consumer gives is put together here by botocore's own parser and a fold that raises on whatever breaks
the order of events; nothing of the kit is used for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from converse_harness import Call, ConverseServer, Fake, faults, reply
from converse_harness.cases import CASES
from converse_harness.contract import ConsumerContract, Flaw, Outcome, Target, ToolCall, Verdict, VerdictLevel
from converse_harness.contract.expectations import FATAL, HARMLESS, OBSCURE, expectation_of
from converse_harness.contract.judging import ACCIDENTS, FOLLOW_UP, HANDLED, judge
from converse_harness.contract.settings import OPERATIONS
from converse_harness.contract.trying import attempt, opened
from converse_harness.errors import ConverseHarnessError
from converse_harness.faults import FAULTS
from converse_harness.faults.model import Fault
from converse_harness.intercept.in_process import InProcessFake


class Broken(Exception):
    """What the strict fold raises."""


def strict(events: Any) -> Outcome:
    """An answer whose events follow each other as ConverseStream sends them; Broken for any other."""
    blocks: dict[int, dict[str, Any]] = {}
    closed: set[int] = set()
    role = reason = None
    for event in events:
        ((kind, member),) = event.items()
        if reason is not None and kind != "metadata" and kind in ORDERED:
            raise Broken(f"{kind} after messageStop")
        if kind == "messageStart":
            role = member["role"] if role is None else None
        elif kind == "messageStop":
            reason = member["stopReason"]
        elif kind.startswith("contentBlock"):
            index = member.get("contentBlockIndex")
            if role is None or index is None or index in closed:
                raise Broken(f"{kind} that belongs to no block")
            take(kind, member, blocks, index)
            if kind == "contentBlockStop":
                closed.add(index)
    if role is None or reason is None or set(blocks) - closed:
        raise Broken("not whole")
    return outcome_of(list(blocks.values()), reason)


ORDERED = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")


def take(kind: str, member: Mapping[str, Any], blocks: dict[int, dict[str, Any]], index: int) -> None:
    if kind == "contentBlockStart":
        if index in blocks or not member["start"]:
            raise Broken("a start that is none")
        blocks[index] = {"tool": member["start"].get("toolUse"), "started": True}
    block = blocks.setdefault(index, {})
    if kind == "contentBlockDelta":
        for name, value in member["delta"].items():
            if (name == "toolUse") != bool(block.get("tool")) and name in ("text", "toolUse"):
                raise Broken(f"{name} in another block")
            block.setdefault(name, []).append(value)


def outcome_of(blocks: list[dict[str, Any]], reason: str) -> Outcome:
    text = "".join("".join(block.get("text", ())) for block in blocks)
    calls: list[ToolCall] = []
    for block in blocks:
        tool = block.get("tool")
        if tool and tool.get("type") != "server_tool_use":
            given = "".join(part.get("input", "") for part in block.get("toolUse", ()))
            try:
                value = json.loads(given or "{}")
            except ValueError as error:
                raise Broken("no JSON") from error
            if not isinstance(value, dict):
                raise Broken("no object")
            calls.append(ToolCall(tool["name"], value))
    return Outcome(text, calls, reason)


def whole(answer: Mapping[str, Any]) -> Outcome:
    """An answer of Converse."""
    text = ""
    calls: list[ToolCall] = []
    if "output" not in answer:
        raise Broken("no answer")
    for block in answer["output"]["message"]["content"]:
        parts = block.get("citationsContent", {}).get("content", [])
        text += block.get("text", "") + "".join(part.get("text", "") for part in parts)
        use = block.get("toolUse")
        if use and use.get("type") != "server_tool_use":
            if not isinstance(use["input"], dict):
                raise Broken("no object")
            calls.append(ToolCall(use["name"], use["input"]))
    return Outcome(text, calls, answer["stopReason"])


def perfect(fake: Fake, operation: str) -> Outcome:
    """What botocore and the strict fold make of what the fake answers."""
    target = Target(fake, operation, 0.5)
    try:
        if operation == "ConverseStream":
            return strict(target.client.converse_stream(**target.request)["stream"])
        return whole(target.client.converse(**target.request))
    except ConverseHarnessError:
        raise
    except Exception as error:  # noqa: BLE001 - it is the outcome
        return Outcome(error=error)


@cache
def asked(name: str, operation: str) -> tuple[Outcome, Sequence[Call]]:
    """A perfect outcome of a case, and the calls that it took."""
    with InProcessFake(unused="allow", unexpected="allow", answers="off") as fake:
        fake.always(CASES[name].reply.times(1))
        return perfect(fake, operation), fake.calls[:1]


def put(name: str, operation: str, *outcomes: Outcome) -> tuple[Outcome, list[Verdict]]:
    """A perfect outcome of a case, and what that and others are called."""
    expected = expectation_of(CASES[name].replies)
    made, calls = asked(name, operation)
    return made, [judge(expected, each, calls, errors={}) for each in (made, *outcomes)]


EVERY = [
    (operation, name)
    for operation in OPERATIONS
    for name, case in CASES.items()
    if operation == "ConverseStream" or not case.stream_only
]

OF_CASES = [name for name in FAULTS if name in CASES]
CHOICE = {*OF_CASES} - HARMLESS - FATAL
"""Faults after which a consumer may raise, or read what is clear."""


@pytest.mark.parametrize(("operation", "name"), EVERY)
def test_every_case(operation: str, name: str) -> None:
    made, (verdict,) = put(name, operation)
    assert verdict == Verdict(VerdictLevel.HANDLED), (made, verdict)
    if made.error is not None or not made.text:
        return
    for shorter in (made.text[1:], made.text[:-1]):
        _, (_, lost) = put(name, operation, replace(made, text=shorter))
        assert lost.flaw in (Flaw.LOST, Flaw.CORRUPTED)
    _, (_, other) = put(name, operation, replace(made, text=made.text + "?"))
    assert other.flaw is Flaw.CORRUPTED
    for call in made.tool_calls:
        _, (_, changed, left) = put(
            name,
            operation,
            replace(made, tool_calls=[replace(call, input={**dict(call.input), "unit": "K"})]),  # type: ignore[arg-type]
            replace(made, tool_calls=[each for each in made.tool_calls if each is not call]),
        )
        assert (changed.flaw, left.flaw) == (Flaw.CORRUPTED, Flaw.LOST)


def test_what_a_perfect_consumer_gives() -> None:
    """That the reference does read answers, and fails where an answer is not whole."""
    given = {name: put(name, "ConverseStream")[0] for name in CASES}
    fails = {name for name, outcome in given.items() if outcome.error is not None}
    assert FATAL & {*CASES} <= fails
    assert not HARMLESS & fails
    assert given["text_basic"] == Outcome("18 °C and sunny in Zürich.", [], "end_turn")
    assert given["tool_interleaved"].tool_calls != []


NOBODY = Outcome(stop_reason="end_turn")
"""Of a consumer that gives nothing, and says that all is well."""


@pytest.mark.parametrize("name", list(CASES))
def test_nothing_is_not_enough(name: str) -> None:
    """A consumer that shows nothing of an answer handles only those that have nothing to show."""
    expected = expectation_of(CASES[name].replies)
    _, (_, verdict) = put(name, "ConverseStream", NOBODY)
    if expected.answers:
        shows = all("".join(answer.texts) for answer in expected.answers)
        runs = all(answer.tool_calls for answer in expected.answers) and not expected.obscure
        assert (verdict.level is VerdictLevel.HANDLED) == (not shows and not runs), verdict
    if not expected.answers:
        assert verdict.flaw is Flaw.SILENT


def test_who_asks_again_ends_as_the_answer_to_that() -> None:
    answer = reply.message({"text": "It is"}, stop_reason="max_tokens")
    expected = expectation_of([answer])
    with InProcessFake(answer, reply.text(FOLLOW_UP)) as fake:
        target = Target(fake, "Converse")
        for _ in range(2):
            target.client.converse(**target.request)
        for text in (FOLLOW_UP, f"It is {FOLLOW_UP}"):
            assert judge(expected, Outcome(text, (), "end_turn"), fake.calls, errors={}) == HANDLED
        assert judge(expected, Outcome("It is", (), "end_turn"), fake.calls, errors={}).flaw is Flaw.SILENT
        assert judge(expected, Outcome("It is", (), "max_tokens"), fake.calls, errors={}) == HANDLED


@pytest.mark.parametrize(("answer", "asks_again"), [("hi", False), ("", True)])
def test_only_who_got_no_text_may_ask_again(answer: str, asks_again: bool) -> None:
    replies = [reply.text(answer)]
    with InProcessFake(*replies, reply.text(FOLLOW_UP)) as fake:
        target = Target(fake, "Converse")
        for _ in range(2):
            target.client.converse(**target.request)
        verdict = judge(expectation_of(replies), Outcome(FOLLOW_UP, (), "end_turn"), fake.calls, errors={})
    assert (verdict == HANDLED) is asks_again, verdict


def test_an_answer_is_whole_if_only_its_metadata_comes_after_an_exception() -> None:
    answer = reply.text("hi")
    before = [expectation_of([answer.broken(faults.event_after_exception, after=number)]) for number in range(4)]
    assert [[each.texts for each in expected.answers] for expected in before] == [[], [], [], [("hi",)]]
    assert all(expected.failure for expected in before)


@pytest.mark.parametrize(
    ("reasoning", "flaw"), [("One and one.", None), (None, None), ("One", Flaw.LOST), ("Two.", Flaw.CORRUPTED)]
)
def test_a_part_of_the_reasoning_is_lost_and_another_one_is_corrupted(reasoning: str | None, flaw: Flaw | None) -> None:
    expected = expectation_of(
        [reply.message({"reasoningContent": {"reasoningText": {"text": "One and one."}}}, {"text": "Two."})]
    )
    given = Outcome("Two.", (), "end_turn", reasoning=reasoning)
    assert judge(expected, given, [], errors={}).flaw is flaw


@pytest.mark.parametrize("name", sorted(ACCIDENTS))
def test_accidents_are_no_answers(name: str) -> None:
    for case in ("text_basic", "throttle_pre", "cut_off"):
        _, (_, verdict) = put(case, "ConverseStream", Outcome(error=name))
        assert verdict.flaw is Flaw.WRONG_ERROR


BROKEN_OFF = ("Treat the answer as broken off", "Ask again, a few times; then fail", "Give up after")
AS_IF_NOTHING = ("Give the same answer", "Skip the event", "Accept the answer")
"""How the catalogue says what the standard must hold to."""


@pytest.mark.parametrize("name", [name for name in OF_CASES if CASES[name].required.startswith(BROKEN_OFF)])
def test_what_the_catalogue_calls_broken_off_is_never_whole(name: str) -> None:
    if name == "wrong_content_length":  # all of the answer comes before its connection is closed
        assert put(name, "ConverseStream", Outcome("18 °C and sunny in Zürich.", (), "end_turn"))[1][1] == HANDLED
        return
    expected = expectation_of(CASES[name].replies)
    said = Outcome("".join(expected.said.texts), (), expected.said.stop_reason)
    assert put(name, "ConverseStream", said)[1][1].flaw is Flaw.SILENT


@pytest.mark.parametrize("name", ["truncated_frame", "bad_crc", "reset", "closed", "stall"])
def test_what_breaks_off_after_the_message_stop_may_be_whole(name: str) -> None:
    sound = reply.text("OK.")
    events = [*sound.events()]
    stop = next(number for number, event in enumerate(events) if "messageStop" in event)
    after, before = (expectation_of([sound.broken(FAULTS[name], after=place)]) for place in (stop + 1, stop))
    assert (bool(after.answers), after.failure) == (True, True)
    assert (bool(before.answers), before.failure) == (False, True)


@pytest.mark.parametrize("name", [name for name in OF_CASES if CASES[name].required.startswith(AS_IF_NOTHING)])
def test_what_the_catalogue_calls_the_same_may_not_fail(name: str) -> None:
    assert put(name, "ConverseStream", Outcome(error="BrokenAnswer"))[1][1].level is VerdictLevel.REFUSED


def test_faults_are_harmless_fatal_or_a_choice() -> None:
    assert {*FAULTS} >= HARMLESS | FATAL | OBSCURE
    assert not HARMLESS & FATAL
    assert CHOICE >= OBSCURE
    for name in CHOICE:
        assert put(name, "ConverseStream", Outcome(error="BrokenAnswer"))[1][1].level is VerdictLevel.HANDLED
    for name in HARMLESS & {*CASES}:
        assert put(name, "ConverseStream", Outcome(error="BrokenAnswer"))[1][1].level is VerdictLevel.REFUSED


@pytest.mark.parametrize("fault", [faults.stall.lasting(0.01), faults.slow_first_byte.lasting(0.01)])
def test_a_pause_that_ends_does_no_harm(fault: Fault) -> None:
    late = expectation_of([reply.text("Sunny.").broken(fault)])
    assert judge(late, Outcome("Sunny.", stop_reason="end_turn"), [], errors={}).words == "handled"
    assert judge(late, Outcome(error=TimeoutError()), [], errors={}).words == "refused"
    for_ever = expectation_of([reply.text("Sunny.").broken(faults.stall)])
    assert (
        judge(for_ever, Outcome("Sunny.", stop_reason="end_turn"), [], errors={}).words == "mishandled: silent success"
    )


def test_a_pause_over_a_socket_is_no_timeout() -> None:
    """All of the answer arrives, so that a correct consumer gives it, whatever the seed draws."""

    class Patient(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            return strict(target.client.converse_stream(**target.request)["stream"])

    with ConverseServer() as server:
        for after in range(6):
            answer = reply.text("Sunny.").broken(faults.stall.lasting(0.01), after=after)
            tried = attempt(Patient(), "any_fault", [answer], opened("server", [answer], lambda: server))
            assert tried.seen.verdict == HANDLED, after
