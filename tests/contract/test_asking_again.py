"""Consumers that ask again: the second answer comes back whole, and nothing of the first; agents end, and go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import pytest

from converse_harness.cases import CASES
from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall, ToolFailed
from tests.planted.by_contract import accusations

Event = dict[str, Any]
AGAIN = [name for name in CASES if name.startswith("again_")]


class Broken(Exception):
    """The stream broke off."""


def read(events: Iterator[Event], said: list[str], called: list[ToolCall]) -> str:
    """Read one answer; `said` and `called` get its texts and tool calls as they come."""
    tools: dict[int, list[str]] = {}
    open_at: set[int] = set()
    reason = None
    for event in events:
        ((kind, member),) = event.items()
        index, delta = member.get("contentBlockIndex"), member.get("delta", {})
        ended = kind.startswith("contentBlock") and index in open_at
        if ended or (kind.startswith("contentBlock") and index is None) or ("toolUse" in delta and index not in tools):
            raise Broken(kind)
        if kind == "contentBlockStart" and "toolUse" in member["start"]:
            use = member["start"]["toolUse"]
            tools[index] = ["" if use.get("type") == "server_tool_use" else use["name"], ""]
        if "toolUse" in delta:
            tools[index][1] += delta["toolUse"]["input"]
        if "text" in delta:
            said.append(delta["text"])
        if kind == "contentBlockStop":
            open_at.add(index)
            if tools.get(index, [""])[0]:
                called.append(ToolCall(tools[index][0], json.loads(tools[index][1] or "{}")))
        reason = member.get("stopReason", reason)
    if reason is None:
        raise Broken("no messageStop")
    return str(reason)


class AsksAgain(ConsumerContract):
    """Asks up to three times; by default it forgets what a broken answer said."""

    kinds: ClassVar[Sequence[str] | None] = ["text", "toolUse"]
    examples: ClassVar[int] = 60
    keeps_text: ClassVar[bool] = False
    keeps_tools: ClassVar[bool] = False

    def consume(self, target: Target) -> Outcome:
        kept: list[str] = []
        ran: list[ToolCall] = []
        last: Exception = Broken()
        for _ in range(3):
            said, called = [*kept], [*ran]
            try:
                reason = read(target.client.converse_stream(**target.request)["stream"], said, called)
            except Exception as error:  # noqa: BLE001 - each failure is a reason to ask again
                last = Broken(str(error))
                kept, ran = said if self.keeps_text else [], called if self.keeps_tools else []
            else:
                return Outcome("".join(said), called, reason)
        raise last


class KeepsText(AsksAgain):
    keeps_text = True


class KeepsTools(AsksAgain):
    keeps_tools = True


def found(contract: ConsumerContract, *names: str) -> dict[str, str]:
    return {name: tried.seen.verdict.words for name, tried in accusations(contract, *names)}


def test_who_asks_again_and_forgets_the_first_answer_is_accused_of_nothing() -> None:
    assert found(AsksAgain(), *AGAIN, "any_second_try", "index_repeated", "any_failure") == {}


def test_text_of_a_broken_answer_is_not_kept() -> None:
    accused = found(KeepsText(), *AGAIN, "any_second_try")
    of_text = (
        "half_text",
        "unfinished",
        "half_frame",
        "lost_connection",
        "busy",
        "model_failed",
        "half_input",
        "after_tool",
    )
    assert accused == dict.fromkeys((*(f"again_{name}" for name in of_text), "any_second_try"), "mishandled: corrupted")


def test_a_tool_of_a_broken_answer_does_not_run_twice() -> None:
    accused = found(KeepsTools(), *AGAIN, "any_second_try")
    assert accused == dict.fromkeys(("again_after_tool", "any_second_try"), "mishandled: corrupted")
    ((_, tried),) = accusations(KeepsTools(), "again_after_tool")
    assert tried.seen.verdict.why == "the tool call get_weather {'city': 'Zürich'} came once, and is made again"


def test_who_takes_the_first_half_for_the_answer_succeeds_in_silence() -> None:
    class Half(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            said: list[str] = []
            try:
                read(target.client.converse_stream(**target.request)["stream"], said, [])
            except Broken:
                return Outcome("".join(said), (), "end_turn")
            return Outcome("".join(said), (), "end_turn")

    assert found(Half(), "again_half_text", "again_unfinished") == dict.fromkeys(
        ("again_half_text", "again_unfinished"), "mishandled: silent success"
    )


def test_who_gives_up_although_the_second_answer_was_whole_refuses_it() -> None:
    class GivesUp(ConsumerContract):
        def consume(self, target: Target) -> Outcome:
            for _ in range(2):
                list(target.client.converse_stream(**target.request)["stream"])
            raise Broken

    assert found(GivesUp(), "again_half_text") == {"again_half_text": "refused"}


# Agents: they run tools in a loop, and remember the conversation.


class Agent:
    """A right agent over Converse, but for what a subclass changes."""

    most_turns: float = 8

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def ask(self, target: Target) -> Outcome:
        before = [*self.messages]
        self.messages += target.request["messages"]
        ran: list[ToolCall] = []
        try:
            return self.turns(target, ran)
        except Exception as error:  # noqa: BLE001 - the contract judges it
            self.failed(before)
            return Outcome("", ran, error=error)

    def failed(self, before: list[dict[str, Any]]) -> None:
        self.messages = before

    def turns(self, target: Target, ran: list[ToolCall]) -> Outcome:
        turn = 0
        while turn < self.most_turns:
            turn += 1
            answer = target.client.converse(**{**target.request, "messages": self.messages})
            message = answer["output"]["message"]
            self.messages.append(message)
            uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
            if not uses:
                text = "".join(block.get("text", "") for block in message["content"])
                return Outcome(text, ran, answer["stopReason"])
            ran += [ToolCall(use["name"], use["input"]) for use in uses if use["name"] == "get_weather"]
            self.messages.append({"role": "user", "content": self.results([self.result(target, use) for use in uses])})
        raise Broken("too many turns")

    def results(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return results

    def result(self, target: Target, use: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {
            "toolUseId": use["toolUseId"],
            "content": [{"text": "no such tool"}],
            "status": "error",
        }
        if use["name"] == "get_weather":
            try:
                result = {"toolUseId": use["toolUseId"], "content": [{"text": target.tool(**use["input"])}]}
            except ToolFailed as error:
                result["content"] = [{"text": str(error)}]
        return {"toolResult": result}


class Swaps(Agent):
    """Sends the result of each tool for another one."""

    def results(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        ids = [each["toolResult"]["toolUseId"] for each in reversed(results)]
        return [
            {"toolResult": {**each["toolResult"], "toolUseId": id_}} for each, id_ in zip(results, ids, strict=True)
        ]


class HidesErrors(Agent):
    """Calls each result a success."""

    def results(self, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"toolResult": {**each["toolResult"], "status": "success"}} for each in results]


class Raises(Agent):
    """Lets an error of a tool through."""

    def result(self, target: Target, use: dict[str, Any]) -> dict[str, Any]:
        return {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": target.tool(**use["input"])}]}}


class Unbounded(Agent):
    """Goes on as long as the model asks for tools."""

    most_turns = float("inf")


class KeepsTheFailedQuestion(Agent):
    """After an error, the question stays in its history, and is there again when it is asked again."""

    def failed(self, before: list[dict[str, Any]]) -> None:
        self.messages = before + [message for message in self.messages if message["role"] == "user"][:1] * 2


class KeepsTheToolUse(Agent):
    """After an error, its history ends with a tool use that has no result."""

    def failed(self, before: list[dict[str, Any]]) -> None:
        self.messages = [*self.messages[:1], {"role": "assistant", "content": [TOOL_USE]}]


TOOL_USE = {"toolUse": {"toolUseId": "tooluse_1", "name": "get_weather", "input": {}}}


class GivesUpForGood(Agent):
    """After an error it answers nothing any more."""

    gave_up = False

    def failed(self, before: list[dict[str, Any]]) -> None:
        self.gave_up = True

    def turns(self, target: Target, ran: list[ToolCall]) -> Outcome:
        if self.gave_up:
            raise Broken("closed")
        return super().turns(target, ran)


def contract_of(agent: Callable[[], Agent]) -> ConsumerContract:
    class OfAgent(ConsumerContract):
        operation = "Converse"

        def consume(self, target: Target) -> Outcome:
            self.agent = agent()
            return self.agent.ask(target)

        def consume_next(self, target: Target) -> Outcome:
            return self.agent.ask(target)

    return OfAgent()


def test_an_agent_that_ends_and_remembers_is_accused_of_nothing() -> None:
    names = ("text_basic", "tool_parallel", "tool_for_ever", "overflow_pre", "access_denied", "throttled", *AGAIN)
    names = tuple(name for name in names if not CASES[name].stream_only)
    assert found(contract_of(Agent), *names, "tool_unknown") == {}


def test_the_result_of_each_tool_goes_back_for_its_use() -> None:
    names = ("tool_parallel", "tool_raises", "tool_one_delta", "tool_unknown")
    assert found(contract_of(Agent), *names) == {}
    assert found(contract_of(Swaps), *names) == {"tool_parallel": "mishandled: corrupted"}
    assert found(contract_of(HidesErrors), *names) == {"tool_raises": "mishandled: silent success"}
    assert found(contract_of(Raises), "tool_parallel", "tool_raises") == {}


def test_an_agent_without_a_bound_never_ends() -> None:
    assert found(contract_of(Unbounded), "tool_for_ever", "tool_parallel") == {
        "tool_for_ever": "mishandled: endless retry"
    }


@pytest.mark.parametrize(
    ("agent", "words", "why"),
    [
        (
            KeepsTheFailedQuestion,
            "mishandled: wrong history",
            "next question: its request has the question before it 2 times",
        ),
        (KeepsTheToolUse, "mishandled: bad request", "next question: rule tool_uses_have_results: *"),
        (GivesUpForGood, "mishandled: wrong history", "next question: Broken: 'closed'"),
    ],
)
def test_the_question_after_an_error_is_judged(agent: type[Agent], words: str, why: str) -> None:
    ((_, tried),) = accusations(contract_of(agent), "overflow_pre", "text_basic")
    assert tried.seen.case == "overflow_pre"
    assert tried.seen.verdict.words == words
    assert fnmatchcase(tried.seen.verdict.why, why), tried.seen.verdict.why
