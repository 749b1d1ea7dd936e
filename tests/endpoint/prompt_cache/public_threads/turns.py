"""Conversations of which each turn should read what the turns before it cached: each with the bug of a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from converse_harness import fake_converse, reply
from tests.public_threads.lessons import ScriptLesson, assistant, bedrock, tool_spec, user

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
POINT: Final = {"cachePoint": {"type": "default"}}
PROMPT: Final = [{"text": "Be kind to whoever asks. " * 400}, POINT]
LONG: Final = "I have seen the mountains. " * 400


def reads_what_it_wrote(ask: Callable[[int], Any]) -> None:
    """Three turns: what a later one repeats is read from the cache and not written again."""
    with fake_converse() as fake:
        fake.always(reply.text("ok"))
        usages = [ask(turn)["usage"] for turn in range(3)]
        assert not fake.cache.rewrites, f"written again: {fake.cache.rewrites!r}"
    assert usages[0]["cacheWriteInputTokens"] > 1000
    for usage in usages[1:]:
        assert usage["cacheReadInputTokens"] >= usage["cacheWriteInputTokens"], "the prefix is written again"


def begins_with_the_time(turn: int, *, mended: bool) -> Any:
    """A remark that is new in each turn goes into the system prompt, or into the message where it belongs."""
    clocks = [f"It is {9 + number} o'clock." for number in range(turn + 1)]
    system = PROMPT if mended else [{"text": clocks[turn]}, *PROMPT]
    questions = [user(*([clock, "?"] if mended else ["?"])) for clock in clocks]
    return bedrock().converse(modelId=SONNET, system=system, messages=_answered(questions))


def _answered(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation with these questions, of which the model has answered all but the last."""
    return [message for question in questions for message in (question, assistant("ok"))][:-1]


TOOLS: Final = [tool_spec(f"tool_{number}", type="object", description="Look it up. " * 200) for number in range(3)]


def offers_tools_in_any_order(turn: int, *, mended: bool) -> Any:
    """The order is that of a set, or of whichever server answered first."""
    tools = TOOLS if mended else [*TOOLS[turn:], *TOOLS[:turn]]
    return bedrock().converse(
        modelId=SONNET, messages=_answered([user("?")] * (turn + 1)), toolConfig={"tools": [*tools, POINT]}
    )


def _conversation(turn: int) -> list[dict[str, Any]]:
    return [message for number in range(turn) for message in (user(f"{number}. {LONG}"), assistant("Oh."))]


def forgets_a_little_each_turn(turn: int, *, mended: bool) -> Any:
    history = _conversation(3 + turn)
    history[-1]["content"].append(POINT)
    return bedrock().converse(modelId=SONNET, messages=[*(history if mended else history[2 * turn :]), user("?")])


def leaves_the_point_at_the_start(turn: int, *, mended: bool) -> Any:
    """The point stays in the first message; or it moves on, to be found from the next one."""
    messages = _conversation(2 + turn)
    point_at = 2 * turn + 2 if mended else 0
    messages[point_at] = {**messages[point_at], "content": [*messages[point_at]["content"], POINT]}
    return bedrock().converse(modelId=SONNET, messages=[*messages, user("?")])


def reads_more_than_it_sends_anew(ask: Callable[[int], Any]) -> None:
    """The longer the conversation is, the more of it is read; what is neither read nor written stays small."""
    with fake_converse() as fake:
        fake.always(reply.text("ok"))
        for turn in range(3):
            ask(turn)
            usage = ask(turn)["usage"]
            assert usage["inputTokens"] < 2500, "most of the conversation is paid in full"


def marks_with_a_blank_line(turn: int, *, mended: bool) -> Any:
    """A point must not stand alone, so it is given a line, which is gone from that place in the next turn."""
    messages = _conversation(2 + turn)
    marked = [POINT] if mended else ["\n", POINT]
    last = messages.pop(-2)
    return bedrock().converse(modelId=SONNET, messages=[*messages[:-1], user(*last["content"], *marked)])


def repeats_an_instruction(turn: int, *, mended: bool) -> Any:
    """Each turn ends with the same instruction; a point behind it is behind something else in the next turn."""
    history, instruction = _conversation(2 + turn), user("Classify the conversation above.")
    (history[-1] if mended else instruction)["content"].append(POINT)
    return bedrock().converse(modelId=SONNET, messages=[*history, instruction])


LESSONS: Final[Mapping[str, ScriptLesson]] = {
    "something new stands before what is cached": ScriptLesson(
        begins_with_the_time, reads_what_it_wrote, by="converse.cache.rewrites", says="written again: <call 2"
    ),
    "tools are offered in another order": ScriptLesson(
        offers_tools_in_any_order,
        reads_what_it_wrote,
        by="converse.cache.rewrites",
        says="call 2 wrote .* tokens again",
    ),
    "older turns are cut or changed": ScriptLesson(
        forgets_a_little_each_turn, reads_what_it_wrote, by="reply.text", says="written again"
    ),
    "the cache point stays at the start": ScriptLesson(
        leaves_the_point_at_the_start, reads_more_than_it_sends_anew, by="reply.text", says="paid in full"
    ),
    "a block that is added for the cache is moved": ScriptLesson(
        marks_with_a_blank_line, reads_what_it_wrote, by="reply.text", says="written again"
    ),
    "the cache point stands behind an instruction that moves": ScriptLesson(
        repeats_an_instruction, reads_what_it_wrote, by="reply.text", says="written again"
    ),
}
