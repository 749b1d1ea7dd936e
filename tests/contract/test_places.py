"""What an Outcome may show besides text and tool calls: it is judged if it is given, and refused if it cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from converse_harness import ConverseServer, Reply, reply
from converse_harness.cases import CASES
from converse_harness.contract import ConsumerContract, Outcome, SetUpFailed, Target, ToolCall, Verdict, verdict_of
from converse_harness.contract.judging import HANDLED
from converse_harness.contract.trying import attempt, opened
from converse_harness.intercept.in_process import InProcessFake
from tests.contract.projects import run, told

SIGNED = {"reasoningContent": {"reasoningText": {"text": "They ask.", "signature": "c2lnbmVk"}}}
REDACTED = {"reasoningContent": {"redactedContent": b"\xff\0"}}
SOURCE = {"title": "Weather", "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 4}}}
SOURCES = [SOURCE, {**SOURCE, "title": "Sun"}]
CITED: dict[str, Any] = {"citationsContent": {"content": [{"text": "It rains"}], "citations": SOURCES}}
USAGE: dict[str, Any] = {"inputTokens": 5, "outputTokens": 6, "totalTokens": 11}
USAGE |= {"cacheReadInputTokens": 0, "serverToolUsage": dict[str, int]()}
ROUTED = {"promptRouter": {"invokedModelId": "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0"}}

ANSWER = reply.message(SIGNED, REDACTED, CITED, usage=USAGE, trace=ROUTED, additional={"stop_sequence": "END"})

RIGHT = Outcome(
    "It rains",
    stop_reason="end_turn",
    reasoning="They ask.",
    signatures=["c2lnbmVk"],
    redacted=[b"\xff\0"],
    citations=CITED["citationsContent"]["citations"],
    images=[],
    tool_results=[],
    usage=USAGE,
    trace=ROUTED,
    additional={"stop_sequence": "END"},
    content=[SIGNED, REDACTED, CITED],
)


def judged(outcome: Outcome, answer: Reply = ANSWER, operation: str = "ConverseStream") -> Verdict:
    """The verdict on an outcome, after a client has taken the answer."""

    class Contract(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            if operation == "Converse":
                target.client.converse(**target.request)
            else:
                list(target.client.converse_stream(**target.request)["stream"])
            return outcome

    Contract.operation = operation
    return attempt(Contract(), "any_answer", [answer], opened("boto", [answer], ConverseServer)).seen.verdict


@pytest.mark.parametrize("operation", ["ConverseStream", "Converse"])
def test_what_was_sent_is_handled(operation: str) -> None:
    assert judged(RIGHT, operation=operation) == HANDLED


def test_usage_is_that_of_aws_or_of_botocore() -> None:
    modelled = {name: count for name, count in USAGE.items() if name != "serverToolUsage"}
    assert judged(replace(RIGHT, usage=modelled)) == HANDLED


WRONG: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "no signature": ({"signatures": []}, "mishandled: lost"),
    "another signature": ({"signatures": ["bm8="]}, "mishandled: corrupted"),
    "redacted as text": ({"redacted": [b"\xef\xbf\xbd\0"]}, "mishandled: corrupted"),
    "no redacted": ({"redacted": []}, "mishandled: lost"),
    "the last citation": ({"citations": [{**SOURCE, "title": "Sun"}]}, "mishandled: lost"),
    "a citation without title": ({"citations": [{"location": SOURCE["location"]}] * 2}, "mishandled: lost"),
    "an image": ({"images": [{"format": "png", "source": {"bytes": b""}}]}, "mishandled: corrupted"),
    "a result": ({"tool_results": [{"toolUseId": "a", "content": []}]}, "mishandled: corrupted"),
    "no usage": ({"usage": {}}, "mishandled: lost"),
    "another total": ({"usage": {**USAGE, "totalTokens": 12}}, "mishandled: corrupted"),
    "a count of 0 is lost": ({"usage": {k: v for k, v in USAGE.items() if v != 0}}, "mishandled: lost"),
    "no trace": ({"trace": {}}, "mishandled: lost"),
    "no additional fields": ({"additional": {}}, "mishandled: lost"),
    "a block is lost": ({"content": [SIGNED, CITED]}, "mishandled: lost"),
    "blocks in another order": ({"content": [CITED, SIGNED, REDACTED]}, "mishandled: corrupted"),
}


@pytest.mark.parametrize(("changes", "words"), WRONG.values(), ids=list(WRONG))
def test_what_was_not_sent_is_not(changes: Mapping[str, Any], words: str) -> None:
    verdict = judged(replace(RIGHT, **changes))
    assert verdict.words == words
    assert verdict.why.startswith(f"{next(iter(changes))} ")
    none: dict[str, Any] = dict.fromkeys(changes)
    assert judged(replace(RIGHT, **none)) == HANDLED


def test_without_calls_places_are_not_judged() -> None:
    assert verdict_of(CASES["text_basic"], Outcome("18 °C and sunny in Zürich.", usage={})) == HANDLED


@pytest.mark.parametrize("name", ["tool_no_input", "tool_empty_delta"])
def test_an_empty_text_is_no_input(name: str) -> None:
    case = CASES[name]
    assert verdict_of(case, Outcome("", [ToolCall("get_weather", {})], "tool_use")) == HANDLED
    verdict = verdict_of(case, Outcome("", [ToolCall("get_weather", "")], "tool_use"))
    assert verdict.words == "mishandled: corrupted"
    assert verdict.why == "tool call that was not sent so: get_weather ''; a tool without input gets {}"


def test_blocks_that_alternate_may_be_refused() -> None:
    for name in ("tool_interleaved", "blocks_interleaved"):
        assert verdict_of(CASES[name], Outcome(error="BrokenAnswer")) == HANDLED
    cities: Sequence[ToolCall] = [ToolCall("get_weather", {"city": city}) for city in ("Zürich", "Bern")]
    assert verdict_of(CASES["tool_interleaved"], Outcome("", cities, "tool_use")) == HANDLED


def test_what_the_api_may_add_is_to_be_read() -> None:
    for name in ("unknown_delta", "unknown_start", "unknown_reasoning"):
        assert verdict_of(CASES[name], Outcome(error="BrokenAnswer")).words == "refused"


class Named(ConsumerContract):
    """It names a kind that its Outcome does not show."""

    kinds: ClassVar[Sequence[str] | None] = ["text", "citationsContent"]

    def consume(self, target: Target) -> Outcome:
        list(target.client.converse_stream(**target.request)["stream"])
        return Outcome("It rains")


def test_a_kind_that_is_named_and_not_shown_is_refused() -> None:
    with pytest.raises(SetUpFailed) as raised:
        attempt(Named(), "any_answer", [reply.message(CITED)], opened("boto", (), ConverseServer))
    assert str(raised.value) == (
        "The contract's `kinds` names 'citationsContent', and the Outcome does not show it, so that it cannot be "
        "judged. Return it as `citations` or `content` of the Outcome, or leave 'citationsContent' out of `kinds`."
    )


def test_a_kind_that_is_not_named_is_not_refused() -> None:
    tried = attempt(
        Named(), "any_answer", [reply.message(SIGNED, {"text": "It rains"})], opened("boto", (), ConverseServer)
    )
    assert tried.seen.verdict == HANDLED


def test_several_answers_of_an_agent_are_judged_by_their_blocks() -> None:
    answer = reply.message(SIGNED, {"toolUse": {"name": "get_weather", "input": {}}})
    with InProcessFake(answer, reply.text("OK."), answers="off") as fake:
        target = Target(fake, "Converse")
        for _ in range(2):
            target.client.converse(**target.request)
        case = replace(CASES["text_basic"], make=lambda: answer)
        outcome = Outcome("OK.", [ToolCall("get_weather", {})], "end_turn", signatures=["c2lnbmVk"], usage={})
        assert verdict_of(case, outcome, fake.calls) == HANDLED
        lost = verdict_of(case, replace(outcome, signatures=["other"]), fake.calls)
        assert lost.words == "mishandled: corrupted"


KNOWN = """
from converse_harness.contract import ConsumerContract, Outcome


class TestConsumer(ConsumerContract):
    examples = 12
    known = {"any_answer": REASON, "any_failure": "never mended"}

    def consume(self, target):
        text = ""
        for event in target.client.converse_stream(**target.request)["stream"]:
            text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        return Outcome(text, error=None)
""".replace("REASON", '"it runs no tools"')


def test_answers_of_a_known_property_are_counted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_known=KNOWN)
    result = run(pytester, "-k", "any_answer or any_failure")
    assert result.ret == 0
    result.assert_outcomes(xfailed=1, xpassed=1)
    count, _, example = told(pytester)["any_answer"]["why"].partition(" of 12 answers, such as: ")
    assert 0 < int(count) < 12
    assert example


def test_a_seed_draws_the_same_and_another_one_others(pytester: pytest.Pytester) -> None:
    counts: list[str] = []
    for number in (0, 1, 0):
        pytester.makepyfile(test_known=KNOWN.replace("examples = 12", f"examples = 12\n    seed = {number}"))
        run(pytester, "-k", "any_answer")
        counts.append(told(pytester)["any_answer"]["why"])
    first, other, again = counts
    assert first == again != other
