"""What a user's type checker must accept of the contract kit."""

from collections.abc import Mapping

from converse_harness import cases, same
from converse_harness.contract import (
    ConsumerContract,
    Flaw,
    NotHandled,
    Outcome,
    Seen,
    Target,
    ToolCall,
    Verdict,
    VerdictLevel,
    consumer_contract,
)


class TestMine(ConsumerContract):
    transport = "server"
    operation = "Converse"
    known = {"cut_off": "later"}  # noqa: RUF012 - as users write it
    errors = {KeyError: ["ThrottlingException"], "ApiError": "ContextOverflow"}  # noqa: RUF012 - as above
    kinds = ("text",)
    stop_reasons = ("end_turn",)
    without = ["no_index"]  # noqa: RUF012 - as above
    time_limit = 5
    most_calls = 3
    examples = 50

    def consume(self, target: Target) -> Outcome:
        where: str = target.url
        variables: dict[str, str] = target.environ
        return Outcome(f"{where} {variables} {target.patience}", [ToolCall("a", {"b": 1}), ToolCall("a", "{")], "stop")

    async def consume_next(self, target: Target) -> Outcome:
        remembers: bool = self.remembers
        return Outcome(f"{remembers} {target.question} {target.offers_tool}")

    def seen(self, seen: Seen) -> None:
        verdict: Verdict = seen.verdict
        level: VerdictLevel = verdict.level
        flaw: Flaw | None = verdict.flaw
        told: Mapping[str, object] = seen.told
        print(level.word, level.meaning, flaw, verdict.words, verdict.why, told, seen.case, seen.requests)


class TestAsync(ConsumerContract):
    async def consume(self, target: Target) -> Outcome:
        return Outcome(error="ThrottlingException", reasoning="")


def ask(target: Target) -> Outcome:
    return Outcome(error=ValueError(str(target.operation)))


async def ask_later(target: Target) -> Outcome:
    return Outcome(tool_calls=(ToolCall("a", {}),))


TestOne = consumer_contract(ask)
TestTwo: type[ConsumerContract] = consumer_contract(ask_later, known={"cut_off": "later"}, transport="httpx")
EVIDENCE: str = cases.cut_off.evidence.value
SAME: bool = same({"days": True}, cases.cut_off)
ERROR: type[AssertionError] = NotHandled
