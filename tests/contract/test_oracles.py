"""What counts as right: by type, by what was scripted, by what can be known of the bytes that came."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final

import pytest

from converse_harness import Reply, chunk, faults, reply
from converse_harness.cases import CASES
from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall
from converse_harness.contract.expectations import Expectation, expectation_of
from converse_harness.contract.judging import judge
from converse_harness.contract.trying import attempt, opened
from converse_harness.faults import FAULTS
from converse_harness.faults.order import OrderFault
from tests.planted.by_contract import accusations
from tests.planted.designs.fallback import Fallback
from tests.planted.designs.parallel_tools import ParallelTools
from tests.planted.designs.text_alone import TextAlone
from tests.planted.designs.whole_answers import WholeAnswers

TOOL: Final = "get_weather"
SHARED: Final = 10


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy in which each value that is neither an object nor an array is changed."""
    if isinstance(value, dict):
        return {name: changed(each, change) for name, each in value.items()}
    return [changed(each, change) for each in value] if isinstance(value, list) else change(value)


CHANGES: Final[dict[str, Callable[[Any], Any]]] = {
    "booleans are numbers": lambda value: int(value) if isinstance(value, bool) else value,
    "numbers are booleans": lambda value: bool(value) if value in (0, 1) else value,
    "integers are floats": lambda value: float(value) if type(value) is int and abs(value) < 2**53 else value,
    "numbers are texts": lambda value: str(value) if type(value) in (int, float) else value,
    "null is a text": lambda value: "" if value is None else value,
}


def verdict_of_input(sent: dict[str, Any], made: dict[str, Any]) -> str:
    answer = reply.tool_use(TOOL, sent)
    outcome = Outcome("", [ToolCall(TOOL, made)], "tool_use")
    return judge(expectation_of([answer]), outcome, (), errors={}).words


@pytest.mark.parametrize("change", CHANGES)
def test_the_type_of_each_argument_is_judged(change: str) -> None:
    sent = {"a": True, "b": [0, {"c": None, "d": 7}], "e": "x"}
    assert verdict_of_input(sent, sent) == "handled"
    assert verdict_of_input(sent, changed(sent, CHANGES[change])) == "mishandled: corrupted"


def test_a_language_with_one_type_of_numbers_is_accused_of_nothing() -> None:
    assert verdict_of_input({"a": 1.0, "b": [-2.0, 0.5]}, {"a": 1, "b": [-2, 0.5]}) == "handled"


@pytest.mark.parametrize("change", ["booleans are numbers", "integers are floats"])
def test_a_consumer_that_changes_types_is_found_in_content_too(change: str) -> None:
    class Changes(ConsumerContract):
        operation = "Converse"

        def consume(self, target: Target) -> Outcome:
            answer = target.client.converse(**target.request)
            content = answer["output"]["message"]["content"]
            text = "".join(block.get("text", "") for block in content)
            calls = [ToolCall(block["toolUse"]["name"], block["toolUse"]["input"]) for block in content]
            kept = [
                {"toolUse": {**block["toolUse"], "input": changed(block["toolUse"]["input"], CHANGES[change])}}
                for block in content
            ]
            return Outcome(text, calls, answer["stopReason"], content=kept)

    answer = reply.tool_use(TOOL, {"days": 7, "on": True})
    assert _verdict(Changes(), answer) == "mishandled: corrupted"


def _verdict(contract: ConsumerContract, *answers: Reply) -> str:
    def no_server() -> Any:
        raise NotImplementedError

    return attempt(contract, "text_basic", answers, opened(contract.transport, answers, no_server)).seen.verdict.words


# A consumer that closes the stream after messageStop is judged by the answer that was scripted.


def leaving(*, reads_all: bool = False, **given: Any) -> ConsumerContract:
    class Leaves(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            text, reason = "", None
            stream = target.client.converse_stream(**target.request)["stream"]
            for event in stream:
                text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
                reason = event.get("messageStop", {}).get("stopReason", reason)
                if reason and not reads_all:
                    stream.close()
                    break
            return Outcome(text, (), reason, **given)

    return Leaves()


@pytest.mark.parametrize("reads_all", [False, True])
@pytest.mark.parametrize(
    ("case", "given_by", "lost"),
    [
        ("reasoning_then_text", {"signatures": []}, "signatures"),
        ("citation_document", {"citations": []}, "citations"),
        ("text_basic", {"usage": {}}, "usage"),
        ("text_basic", {"content": []}, "content"),
    ],
)
def test_who_leaves_at_message_stop_is_judged_by_the_script(
    case: str, given_by: dict[str, Any], lost: str, *, reads_all: bool
) -> None:
    ((_, tried),) = accusations(leaving(reads_all=reads_all, **given_by), case)
    assert tried.seen.verdict.words == "mishandled: lost"
    assert tried.seen.verdict.about == lost


# Texts of several turns are joined first, and compared without white space at the ends.


@pytest.mark.parametrize("between", ["", "\n", "\n\n", " "])
@pytest.mark.parametrize("first", ["aa", "aa ", "aa\n", "aa\r\n", "aa\n\n", "aa\t", " aa", "\naa\r\n"])
def test_texts_of_turns_may_be_joined_as_they_came(first: str, between: str) -> None:
    class Turns(ConsumerContract):
        operation = "Converse"

        def consume(self, target: Target) -> Outcome:
            messages = [*target.request["messages"]]
            texts: list[str] = []
            while True:
                answer = target.client.converse(**{**target.request, "messages": messages})["output"]["message"]
                messages.append(answer)
                texts.append("".join(block.get("text", "") for block in answer["content"]))
                uses = [block["toolUse"] for block in answer["content"] if "toolUse" in block]
                if not uses:
                    return Outcome(between.join(texts), [ToolCall(TOOL, {})])
                results = [{"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": "18"}]}} for use in uses]
                messages.append({"role": "user", "content": results})

    answer = reply.message({"text": first}, {"toolUse": {"name": TOOL, "input": {}}})
    assert _verdict(Turns(), answer) == "handled"


def test_one_name_of_an_error_is_enough() -> None:
    class Busy(Exception):
        """The service is busy."""

    class Asks(ConsumerContract):
        errors = {Busy: "ThrottlingException"}  # noqa: RUF012

        def consume(self, target: Target) -> Outcome:
            try:
                list(target.client.converse_stream(**target.request)["stream"])
            except Exception as error:
                raise Busy from error
            return Outcome(CASES["text_basic"].reply.summary)

    found = dict(accusations(Asks(), "throttled", "access_denied"))
    assert [*found] == ["access_denied"]
    assert found["access_denied"].seen.verdict.words == "mishandled: wrong error"


# Breaches with equal bytes have equal sets of right outcomes.


def breaches(message: dict[str, Any]) -> Iterator[tuple[str, Reply]]:
    """Every breach of the order of events of a message, with the name of the fault."""
    answer = reply.events(chunk(message))
    events = [*answer.events()]
    for name, fault in FAULTS.items():
        if isinstance(fault, OrderFault):
            for place in fault.applicable_at(events):
                yield name, answer.broken(fault, after=place)


def outcomes_of(expected: Expectation) -> str:
    """The set of right outcomes, as a text that is equal for equal sets."""
    answers = sorted({repr((each.readings, each.tool_calls, each.reasoning)) for each in expected.answers})
    return repr((answers, expected.failure, sorted(expected.names), expected.obscure))


BLOCKS: Final[tuple[dict[str, Any], ...]] = (
    {"text": "a"},
    {"text": "x"},
    {"toolUse": {"toolUseId": "tooluse_1", "name": TOOL, "input": {}}},
    {"toolUse": {"toolUseId": "tooluse_1", "name": TOOL, "input": {"x": 1}}},
    {"reasoningContent": {"reasoningText": {"text": "x"}}},
    {"reasoningContent": {"reasoningText": {"text": "a", "signature": "c2ln"}}},
)
"""Blocks that share texts with each other and with what faults insert, so that different breaches have equal bytes."""


def test_breaches_with_equal_bytes_have_equal_right_outcomes() -> None:
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for count in (1, 2):
        for content in product(BLOCKS, repeat=count):
            for name, broken in breaches({"role": "assistant", "content": [*content]}):
                text = json.dumps([*broken.events()], sort_keys=True)
                found[text].add((name, outcomes_of(expectation_of([broken]))))
    shared = {text: some for text, some in found.items() if len({name for name, _ in some}) > 1}
    assert len(shared) > SHARED
    assert {text: some for text, some in found.items() if len({right for _, right in some}) > 1} == {}


# A consumer reads a stream by the indexes, or leaves out what comes after the stop of a block. Both are right, whatever
# the fault is by name, because a consumer knows the bytes alone.


def by_index(events: list[dict[str, Any]], *, after_stop: bool) -> Outcome:
    blocks: dict[object, dict[str, Any]] = {}
    ended: set[object] = set()
    reason = None
    for event in events:
        for kind, member in event.items():
            index = member.get("contentBlockIndex")
            reason = member.get("stopReason", reason)
            if not kind.startswith("contentBlock") or (index in ended and not after_stop):
                continue
            block = blocks.setdefault(index, {"text": "", "input": ""})
            delta = member.get("delta", {})
            block["text"] += delta.get("text", "")
            block["input"] += delta.get("toolUse", {}).get("input", "")
            block["tool"] = member.get("start", {}).get("toolUse", block.get("tool"))
            if kind == "contentBlockStop":
                ended.add(index)
    uses = [(block["tool"], block["input"]) for block in blocks.values() if block.get("tool")]
    calls = [ToolCall(use["name"], json.loads(given or "{}")) for use, given in uses if _is_json(given or "{}")]
    return Outcome("".join(block["text"] for block in blocks.values()), calls, reason)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@pytest.mark.parametrize("after_stop", [False, True])
def test_a_reader_by_index_is_right_for_each_breach_that_may_be_read(*, after_stop: bool) -> None:
    tried = 0
    for content in product(BLOCKS, repeat=2):
        for name, broken in breaches({"role": "assistant", "content": [*content]}):
            if FAULTS[name].reaction.startswith("either"):
                tried += 1
                outcome = by_index([*broken.events()], after_stop=after_stop)
                verdict = judge(expectation_of([broken]), outcome, (), errors={})
                assert verdict.words == "handled", (name, [*broken.events()], verdict.why)
    assert tried > 1000


# Right consumers of other designs: each was accused once.


def judged(answer: Reply, outcome: Outcome) -> str:
    return judge(expectation_of([answer]), outcome, (), errors={}).words


@pytest.mark.parametrize("between", ["", "\n", "\n\n", " "])
@pytest.mark.parametrize("blank", ["", " ", "\r\n", "\n\n", "\t "])
def test_blank_blocks_may_be_left_out_before_texts_are_joined(blank: str, between: str) -> None:
    answer = reply.message({"text": "a"}, {"text": blank}, {"text": "b"})
    assert judged(answer, Outcome(f"a{between}b", (), "end_turn")) == "handled"
    assert judged(answer, Outcome(between.join(filter(None, ["a", blank, "b"])), (), "end_turn")) == "handled"
    assert judged(answer, Outcome("a", (), "end_turn")) == "mishandled: lost"


def test_another_tool_with_the_same_input_has_another_result() -> None:
    answer = reply.message(*({"toolUse": {"name": name, "input": {}}} for name in (TOOL, "get_time")))
    assert _verdict(WholeAnswers(), answer) == "handled"


@pytest.mark.parametrize("tool", [TOOL, "get_time"])
def test_the_answer_after_a_whole_one_that_broke_behind_its_end_belongs_to_its_tools(tool: str) -> None:
    first = reply.message({"text": "I look."}, {"toolUse": {"name": tool, "input": {}}})
    broken = first.broken(faults.cut_in_prelude, after=len([*first.events()]) - 1)
    assert _verdict(ParallelTools(), broken, reply.text("It rains.")) == "handled"


@pytest.mark.parametrize("case", ["cut_off", "throttle_mid", "no_message_stop", "again_unfinished", "text_basic"])
def test_a_consumer_may_fall_back_to_the_other_operation(case: str) -> None:
    assert [*accusations(Fallback(), case)] == []


def test_a_fall_back_that_keeps_what_it_read_is_found() -> None:
    class Keeps(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            text = ""
            try:
                for event in target.client.converse_stream(**target.request)["stream"]:
                    text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
            except Exception:  # noqa: BLE001 - whatever breaks the stream
                answer = target.client.converse(**target.request)
                text += answer["output"]["message"]["content"][0]["text"]
            return Outcome(text, (), "end_turn")

    ((_, tried),) = accusations(Keeps(), "throttle_mid")
    assert tried.seen.verdict.words == "mishandled: silent success"


def test_a_consumer_without_tools_gets_none_of_the_service_either() -> None:
    tools = {"server_tool_nova", "tool_one_delta"}
    assert tools <= {*Fallback.cases()}
    assert tools & {*TextAlone.cases()} == set()
