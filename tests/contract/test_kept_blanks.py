"""Blank texts in what a consumer keeps: contract, rules and history say the same of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from converse_harness import reply
from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall
from converse_harness.contract.expectations import expectation_of
from converse_harness.contract.judging import HANDLED, judge
from converse_harness.intercept.in_process import InProcessFake
from tests.planted.by_contract import accusations

Blocks = list[dict[str, Any]]

CLAUDE: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
NOVA: Final = "us.amazon.nova-lite-v1:0"


class BrokenAnswer(Exception):
    """There is no answer in it, or half a character."""


def contract_of(kept: Callable[[Blocks], Blocks]) -> ConsumerContract:
    """The contract of a consumer that keeps these blocks of a message, to send them back."""

    class Keeps(ConsumerContract):
        operation = "Converse"
        examples = 40

        def consume(self, target: Target) -> Outcome:
            try:
                answer = target.client.converse(**target.request)
            except UnicodeDecodeError as error:
                raise BrokenAnswer from error
            if "output" not in answer:
                raise BrokenAnswer
            content = answer["output"]["message"]["content"]
            parts = [part for block in content for part in block.get("citationsContent", {}).get("content", [block])]
            uses = [block["toolUse"] for block in content if "toolUse" in block]
            return Outcome(
                "".join(part.get("text", "") for part in parts),
                [ToolCall(use["name"], use["input"]) for use in uses if use.get("type") != "server_tool_use"],
                answer["stopReason"],
                content=kept(content),
            )

    return Keeps()


def without_empty(content: Blocks) -> Blocks:
    return [block for block in content if block.get("text") != ""]


def without_blank(content: Blocks) -> Blocks:
    return [block for block in content if block.get("text", "-").strip()]


def test_who_leaves_blank_texts_out_is_accused_of_nothing() -> None:
    tried = ("text_empty_block", "text_empty_delta", "content_empty", "any_answer", "any_extreme", "any_fault")
    accused = [(name, each.seen.verdict.why) for name, each in accusations(contract_of(without_blank), *tried)]
    assert accused == []


def test_who_keeps_an_empty_text_sends_a_bad_request() -> None:
    found = dict(accusations(contract_of(list), "text_empty_block", "text_basic", "any_answer"))
    assert {name: each.seen.verdict.words for name, each in found.items()} == dict.fromkeys(
        ("text_empty_block", "any_answer"), "mishandled: bad request"
    )
    assert found["text_empty_block"].seen.verdict.why == (
        "content, sent back, breaks the rule claude_is_given_texts: The model returned the following errors: messages: "
        "text content blocks must be non-empty; leave the blank texts out of it"
    )


def test_beside_another_text_claude_takes_white_space() -> None:
    assert dict(accusations(contract_of(without_empty), "text_empty_block", "any_extreme")) == {}


def kept_of(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """All ways of leaving out some of the texts that are blank."""
    for keeps in product((True, False), repeat=len(texts)):
        if all(kept or not text.strip() for text, kept in zip(texts, keeps, strict=True)):
            yield [text for text, kept in zip(texts, keeps, strict=True) if kept]


SENT: Final = [texts for count in (1, 2) for texts in product(("", " ", "Sunny."), repeat=count)]


@pytest.mark.parametrize("model", [CLAUDE, NOVA])
def test_what_is_handled_is_what_the_rules_and_the_history_take(model: str) -> None:
    refused: set[str] = set()
    question = {"role": "user", "content": [{"text": "What is it like?"}]}
    for texts in SENT:
        for kept in kept_of(texts):
            answer, content = reply.message(*({"text": text} for text in texts)), [{"text": text} for text in kept]
            # Where the history is not as it was, the end of the block raises.
            with InProcessFake(answer, reply.text("OK."), history="fail", unused="allow", unexpected="allow") as fake:
                client = Target(fake, "Converse").client
                client.converse(modelId=model, messages=[question])
                outcome = Outcome("".join(texts), (), "end_turn", content=content)
                verdict = judge(expectation_of([answer]), outcome, fake.calls, errors={})
                with suppress(ClientError):
                    back = [{"role": "assistant", "content": content}] if content else []
                    client.converse(modelId=model, messages=[question, *back, question])
            refusal = fake.calls[1].refusal
            assert (verdict == HANDLED) == (refusal is None), (texts, kept)
            if refusal is not None:
                assert verdict.words == "mishandled: bad request"
                assert f"rule {refusal.rule.name}: " in verdict.why
                refused.add(refusal.rule.name)
    names = {CLAUDE: {"claude_is_given_texts", "claude_is_not_given_whitespace"}, NOVA: {"text_is_not_blank"}}
    assert refused == names[model]


def test_blank_reasoning_may_be_left_out_but_no_signature() -> None:
    thoughts = [{"text": " "}, {"text": "", "signature": "c2lnbmVk"}]
    blank, signed = ({"reasoningContent": {"reasoningText": thought}} for thought in thoughts)
    said = {"text": "Sunny."}
    answer = reply.message(blank, signed, said)
    with InProcessFake(answer, answers="off") as fake:
        target = Target(fake, "Converse")
        target.client.converse(**target.request)
        expected, whole = expectation_of([answer]), Outcome("Sunny.", (), "end_turn")
        kept: list[Blocks] = [[signed, said], [blank, said]]
        verdicts = [judge(expected, replace(whole, content=each), fake.calls, errors={}).words for each in kept]
    assert verdicts == ["handled", "mishandled: lost"]
