"""Rules about the order of messages and the texts in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from converse_harness.bedrock.rules.request import FIELDS, LONG_TEXT, RuleRequest, RuleViolation, alone, at, needs
from converse_harness.words import is_blank


def has_no_message(asked: RuleRequest) -> bool:
    """Whether `messages` is empty, or is missing although the model id is not that of a stored prompt."""
    return not asked.messages and ("messages" in asked.body or not _is_of_a_prompt(asked))


@needs("inferenceConfig", "system", "toolConfig", FIELDS)
def settings_beside_a_prompt(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find members that a request must not have if its model id is that of a stored prompt."""
    for name in ("inferenceConfig", "system", "toolConfig", FIELDS):
        if name in asked.body and _is_of_a_prompt(asked):
            yield RuleViolation(name, {"name": name})


def _is_of_a_prompt(asked: RuleRequest) -> bool:
    """Whether the model id is the ARN of a prompt of Prompt management."""
    return ":prompt/" in asked.model_id


def starts_with_another(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the first message if it is not from the user; messages with the role system are ignored."""
    first = next(_turns(asked), None)
    if first is not None and first[1].get("role") != "user":
        yield RuleViolation(at(first[0], None, "role"))


def repeats_a_role(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages with the same role as the message before; messages with the role system are ignored."""
    for (_, before), (n, message) in pairwise(_turns(asked)):
        if before.get("role") == message.get("role"):
            yield RuleViolation(at(n, None, "role"))


def _turns(asked: RuleRequest) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Return the messages of user and assistant with their indexes; messages with the role system are skipped."""
    return ((n, message) for n, message in enumerate(asked.messages) if message.get("role") != "system")


@alone("messages", "text")
def messages_of_whitespace(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages whose texts are all empty or whitespace."""
    texts: dict[int, list[str]] = {}
    for n, _, text in asked.blocks("text"):
        texts.setdefault(n, []).append(text)
    for n, each in texts.items():
        if is_blank("".join(each)):
            yield RuleViolation(at(n, None, "content"))


_MOST_TEXT: Final = 9_000_000


@needs(LONG_TEXT)
def too_much_text(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages whose texts together have more bytes than Claude reads."""
    size = sum(len(text.encode()) for _, _, text in asked.blocks("text"))
    if size > _MOST_TEXT:
        yield RuleViolation("messages", {"size": size, "most": _MOST_TEXT})


@alone("messages")
def empty_contents(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages without a content block."""
    for n, message in enumerate(asked.messages):
        if message.get("content") == []:
            yield RuleViolation(at(n, None, "content"), {"n": n})


@needs("role assistant")
def ends_with_the_assistant(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the last message if it is from the assistant."""
    if asked.messages and asked.messages[-1].get("role") == "assistant":
        yield RuleViolation(at(len(asked.messages) - 1, None, "role"))


@alone("messages", "role system")
def messages_of_the_system(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages with the role system."""
    for n, message in enumerate(asked.messages):
        if message.get("role") == "system":
            yield RuleViolation(at(n, None, "role"), {"k": n + 1})


@needs("role assistant")
def prefills_that_end_in_whitespace(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find the last message if it is from the assistant and its text ends in whitespace."""
    if asked.messages and asked.messages[-1].get("role") == "assistant":
        content = asked.messages[-1].get("content", ())
        text = content[-1].get("text", "") if content else ""
        if text != text.rstrip():
            yield RuleViolation(at(len(asked.messages) - 1, len(content) - 1, "text"))
