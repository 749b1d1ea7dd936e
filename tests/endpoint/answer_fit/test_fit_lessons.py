"""Threads of users whose client lost a part of the request: a first test passes, and a note names the lost part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from converse_harness import Reply, fake_converse, reply
from tests.public_threads.lessons import NOVA, ScriptLesson, bedrock, tool_spec, user
from tests.public_threads.test_lessons import check_bug

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
GUARDRAIL: Final = {"guardrailIdentifier": "abcdefghijkl", "guardrailVersion": "1"}


def _ask(**request: Any) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = bedrock().converse(**{"modelId": SONNET, "messages": [user("?")], **request})
    return answer


def _blocks(answer: Mapping[str, Any], kind: str) -> list[Any]:
    return [block[kind] for block in answer["output"]["message"]["content"] if kind in block]


def calls_tools(*, mended: bool) -> list[str]:
    offered = {"toolConfig": {"tools": [tool_spec("look")]}}
    return [use["name"] for use in _blocks(_ask(modelId=NOVA, **(offered if mended else {})), "toolUse")]


def fills_a_form(*, mended: bool) -> list[Any]:
    """The schema was changed; in the test's script the input stayed as it was."""
    member = "city" if mended else "town"
    tool = tool_spec("look", type="object", properties={member: {"type": "string"}}, required=[member])
    return [use["input"] for use in _blocks(_ask(toolConfig={"tools": [tool]}), "toolUse")]


def explains_what_was_blocked(*, mended: bool) -> str:
    answer = _ask(guardrailConfig={**GUARDRAIL, "trace": "enabled" if mended else "disabled"})
    return str(answer["stopReason"])


def is_guarded(*, mended: bool) -> str:
    return str(_ask(**({"guardrailConfig": GUARDRAIL} if mended else {}))["stopReason"])


def thinks_aloud(*, mended: bool) -> list[str]:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    answer = _ask(**({"additionalModelRequestFields": thinking} if mended else {}))
    return [each["reasoningText"]["text"] for each in _blocks(answer, "reasoningContent")]


def writes_a_long_page(*, mended: bool) -> int:
    answer = _ask(**({"inferenceConfig": {"maxTokens": 16_000}} if mended else {}))
    return len(_blocks(answer, "text")[0])


def is_noted(make: Callable[[], Reply], expected: object) -> Callable[[Callable[[], object]], None]:
    """Make a test as its author would write it first, which passes, and the same with a look at the notes."""

    def test(ask: Callable[[], object]) -> None:
        with fake_converse(make(), answers="off"):
            assert ask() == expected
        with fake_converse(make()) as fake:
            assert ask() == expected
        noted = [note.kind for note in fake.notes]
        assert noted == []

    return test


def forces_a_tool(*, mended: bool) -> list[str]:
    forced = {"toolChoice": {"tool": {"name": "look"}}} if mended else {}
    return [use["name"] for use in _blocks(_ask(toolConfig={"tools": [tool_spec("look")], **forced}), "toolUse")]


def is_forced(ask: Callable[[], object]) -> None:
    with fake_converse(reply.tool_use("look", {})) as fake:
        assert ask() == ["look"]
        assert fake.calls[0].tool_choice == {"tool": {"name": "look"}}, "no tool is forced"


PAGE: Final = "word " * 9000

LESSONS: Final[Mapping[str, ScriptLesson]] = {
    "the tools are lost on the way": ScriptLesson(
        calls_tools, is_noted(lambda: reply.tool_use("look", {}), ["look"]), "tools_are_offered", "tools_are_offered"
    ),
    "the forced tool is lost on the way": ScriptLesson(
        forces_a_tool, is_forced, "Call.tool_choice", "no tool is forced"
    ),
    "a script has the input of an older schema": ScriptLesson(
        fills_a_form,
        is_noted(lambda: reply.tool_use("look", {"city": "Chur"}), [{"city": "Chur"}]),
        "tool_input_fits_its_schema",
        "tool_input_fits_its_schema",
    ),
    "a trace is read that is disabled": ScriptLesson(
        explains_what_was_blocked,
        is_noted(reply.guardrail_blocked, "guardrail_intervened"),
        "trace_is_asked",
        "trace_is_asked",
    ),
    "the guardrail is lost on the way": ScriptLesson(
        is_guarded,
        is_noted(lambda: reply.guardrail_blocked(trace=False), "guardrail_intervened"),
        "guardrail_is_asked",
        "guardrail_is_asked",
    ),
    "the thinking is lost on the way": ScriptLesson(
        thinks_aloud,
        is_noted(lambda: reply.reasoning("Hm.", "Yes."), ["Hm."]),
        "thinking_is_asked",
        "thinking_is_asked",
    ),
    "a long answer has no maxTokens": ScriptLesson(
        writes_a_long_page, is_noted(lambda: reply.text(PAGE), len(PAGE)), "long_answer_has_max_tokens", "long_answer"
    ),
}
"""The lessons by their causes, as `tests/public_threads/threads_of_requests.py` names them."""


@pytest.mark.parametrize("cause", LESSONS)
def test_the_lost_part_is_noted(cause: str) -> None:
    check_bug(LESSONS[cause])


@pytest.mark.parametrize("cause", LESSONS)
def test_of_the_mended_client_nothing_is_noted(cause: str) -> None:
    LESSONS[cause].test(LESSONS[cause].consumer(mended=True))
