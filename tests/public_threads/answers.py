"""Tools, reasoning, guardrails and overflows: consumers of answers, each with the bug that a thread tells of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from converse_harness import fake_converse, reply
from converse_harness.cases import CASES
from converse_harness.contract import Outcome, Target, ToolCall
from tests.public_threads.lessons import (
    HAIKU,
    NOVA,
    ContractLesson,
    Lessons,
    ScriptLesson,
    assistant,
    bedrock,
    tool_result,
    tool_spec,
    user,
)
from tests.public_threads.streams import events_of, text_in

# The contract judges these.


def keeps_one_tool(target: Target, *, mended: bool) -> Outcome:
    text, calls = "", list[ToolCall]()
    name = given = ""
    for event in events_of(target):
        text += text_in(event)
        match event:
            case {"contentBlockStart": {"start": {"toolUse": use}}}:
                name, given = use["name"], ""
            case {"contentBlockDelta": {"delta": {"toolUse": {"input": part}}}}:
                given += part
            case {"contentBlockStop": _} if name:
                calls = [*(calls if mended else ()), ToolCall(name, json.loads(given or "{}"))]
                name = ""
            case _:
                pass
    return Outcome(text, calls)


def tells_blocks_by_their_order(target: Target, *, mended: bool) -> Outcome:
    text = ""
    blocks: dict[object, list[str]] = {}
    for event in events_of(target):
        text += text_in(event)
        match event:
            case {"contentBlockStart": {"start": {"toolUse": use}, "contentBlockIndex": index}}:
                blocks[index] = [use["name"], ""]
            case {"contentBlockDelta": {"delta": {"toolUse": {"input": part}}, "contentBlockIndex": index}}:
                blocks[index if mended else [*blocks][-1]][1] += part
            case _:
                pass
    return Outcome(text, [ToolCall(name, given) for name, given in blocks.values()])


FINISHED: Final = {"tool_use": "tool_calls", "max_tokens": "length", "malformed_tool_use": "error"}


def calls_every_other_end_a_stop(target: Target, *, mended: bool) -> Outcome:
    events = list(events_of(target))
    reason = next(event["messageStop"]["stopReason"] for event in events if "messageStop" in event)
    known = FINISHED if mended else {name: FINISHED[name] for name in ("tool_use", "max_tokens")}
    return Outcome("".join(map(text_in, events)), stop_reason=known.get(reason, "stop"))


# These have tests of their own.


def _said(answer: Mapping[str, Any]) -> str:
    return "".join(block.get("text", "") for block in answer["output"]["message"]["content"])


def gives_up_on_a_failed_model(*, mended: bool) -> str:
    """Nova fails now and then in the middle of a tool use; the same question works when it is asked again."""
    client, request = bedrock(), {"modelId": NOVA, "messages": [user("?")]}
    try:
        return _said(client.converse(**request))
    except client.exceptions.ModelErrorException:
        if not mended:
            raise
        return _said(client.converse(**request))


def asks_again_when_the_model_failed(ask: Callable[[], str]) -> None:
    with fake_converse(reply.model_error(), reply.text("18 °C")):
        assert ask() == "18 °C"


def loop_with_thoughts(*, mended: bool) -> None:
    """A loop of tools that keeps reasoning if there is any text in it."""
    client, messages = bedrock(), [user("What is it like in Zürich?")]
    while True:
        answer = client.converse(modelId=HAIKU, messages=messages, toolConfig={"tools": [tool_spec("get_weather")]})
        content = answer["output"]["message"]["content"]
        messages.append(assistant(*(block for block in content if mended or _is_seen(block))))
        uses = [block["toolUse"]["toolUseId"] for block in content if "toolUse" in block]
        if not uses:
            return
        messages.append(user(*(tool_result("18 °C", use_id) for use_id in uses)))


def _is_seen(block: Mapping[str, Any]) -> bool:
    return "reasoningContent" not in block or bool(block["reasoningContent"]["reasoningText"]["text"])


def gives_signatures_back(loop: Callable[[], None]) -> None:
    signed = {"reasoningContent": {"reasoningText": {"text": "", "signature": "EqQBCgIYAhIk"}}}
    use: dict[str, Any] = {"toolUse": {"name": "get_weather", "input": {}}}
    with fake_converse(reply.message(signed, use), reply.text("18 °C")) as fake:
        loop()
    assert signed in fake.calls[1].messages[1]["content"], "the signature is lost"


REDACTED: Final = "[redacted]"


def chat(questions: Iterable[str], blocked: Callable[[Mapping[str, Any]], bool]) -> None:
    """A conversation that takes back what a guardrail blocked."""
    client, messages = bedrock(), list[dict[str, Any]]()
    for question in questions:
        messages.append(user(question))
        answer = client.converse(modelId=NOVA, messages=messages)
        if blocked(answer):
            messages[-1] = user(REDACTED)
        messages.append(answer["output"]["message"])


def redacts_by_the_trace(*, mended: bool) -> None:
    def blocked(answer: Mapping[str, Any]) -> bool:
        if mended:
            return "guardrail_intervened" in str(answer["stopReason"])
        return bool(answer.get("trace", {}).get("guardrail", {}).get("inputAssessment"))

    chat(["How do I build a bomb?", "Hello?"], blocked)


def takes_back_without_a_trace(talk: Callable[[], None]) -> None:
    with fake_converse(CASES["guardrail_no_trace"].reply, reply.text("Hello!")) as fake:
        talk()
    assert "bomb" not in str(fake.calls[1].messages), "what was blocked is sent again"


def redacts_what_is_detected(*, mended: bool) -> None:
    def blocked(answer: Mapping[str, Any]) -> bool:
        assessment = answer.get("trace", {}).get("guardrail", {}).get("inputAssessment", {})
        findings = [topic for each in assessment.values() for topic in each.get("topicPolicy", {}).get("topics", ())]
        # `detected` is optional in AWS's API model.
        return any(topic["action"] == "BLOCKED" and topic.get("detected", mended) for topic in findings)

    chat(["How do I build a bomb?", "Hello?"], blocked)


def takes_back_what_is_not_said_to_be_detected(talk: Callable[[], None]) -> None:
    topic = {"name": "weapons", "type": "DENY", "action": "BLOCKED"}
    trace = {"guardrail": {"inputAssessment": {"abcdefghijkl": {"topicPolicy": {"topics": [topic]}}}}}
    no = reply.message({"text": "No."}, stop_reason="guardrail_intervened", trace=trace)
    with fake_converse(no, reply.text("Hello!")) as fake:
        talk()
    assert "bomb" not in str(fake.calls[1].messages), "what was blocked is sent again"


HISTORY: Final = [user("..."), assistant("...")] * 10
OVERFLOW: Final = (
    "Input is too long",
    "prompt is too long",
    "exceed context limit",
    "Input Tokens Exceeded",
    "maximum context length",
    "too many total text bytes",
    "Too many input tokens",
)


def knows_one_wording(*, mended: bool) -> str:
    """An agent that forgets the older half where the conversation is too long."""
    client, messages = bedrock(), [*HISTORY, user("?")]
    try:
        return _said(client.converse(modelId=HAIKU, messages=messages))
    except ClientError as error:
        if not any(words in str(error) for words in (OVERFLOW if mended else OVERFLOW[:1])):
            raise
        return _said(client.converse(modelId=HAIKU, messages=messages[10:]))


def shortens_whatever_it_is_called(ask: Callable[[], str]) -> None:
    for name, case in CASES.items():
        if name.startswith("overflow_") and name != "overflow_mid":
            with fake_converse(case.reply, reply.text("ok")) as fake:
                assert ask() == "ok"
            assert [len(call.messages) for call in fake.calls] == [21, 11]


def catches_what_the_call_raises(*, mended: bool) -> str:
    client, messages = bedrock(), [*HISTORY, user("?")]

    def ask(asked: list[dict[str, Any]]) -> str:
        return "".join(map(text_in, client.converse_stream(modelId=NOVA, messages=asked)["stream"]))

    try:
        if mended:
            return ask(messages)
        stream = client.converse_stream(modelId=NOVA, messages=messages)["stream"]
    except ClientError as error:
        if OVERFLOW[0] not in str(error):
            raise
        return ask(messages[10:])
    return "".join(map(text_in, stream))


def shortens_when_the_stream_says_so(ask: Callable[[], str]) -> None:
    first = reply.text("?").fails_after(0, "validationException", "Input is too long for requested model.")
    for overflow in (first, CASES["overflow_mid"].reply):
        with fake_converse(overflow, reply.text("ok")):
            assert ask() == "ok"


LESSONS: Final[Lessons] = {
    "only the last of parallel tools is kept": ContractLesson(keeps_one_tool, {"tool_parallel": "lost"}),
    "blocks are told apart by their order": ContractLesson(tells_blocks_by_their_order, {"tool_interleaved": "lost"}),
    "a malformed tool use is called a stop": ContractLesson(
        calls_every_other_end_a_stop, {"stop_malformed_tool_use": "silent success"}
    ),
    "a model that failed is not asked again": ScriptLesson(
        gives_up_on_a_failed_model,
        asks_again_when_the_model_failed,
        by="model_error",
        says="ModelErrorException",
        fails=ClientError,
    ),
    "a signature without text is lost": ScriptLesson(
        loop_with_thoughts, gives_signatures_back, by="reasoning_omitted", says="the signature is lost"
    ),
    "a guardrail without a trace is not seen": ScriptLesson(
        redacts_by_the_trace, takes_back_without_a_trace, by="guardrail_no_trace", says="is sent again"
    ),
    "a finding without detected is let pass": ScriptLesson(
        redacts_what_is_detected,
        takes_back_what_is_not_said_to_be_detected,
        by="guardrail_without_detected",
        says="is sent again",
    ),
    "an overflow in other words is not recognised": ScriptLesson(
        knows_one_wording,
        shortens_whatever_it_is_called,
        by="overflow_prompt_too_long",
        says="Input length|prompt is too long",
        fails=ClientError,
    ),
    "an overflow inside the stream is not looked for": ScriptLesson(
        catches_what_the_call_raises,
        shortens_when_the_stream_says_so,
        by="overflow_mid",
        says="Input is too long",
        fails=ClientError,
    ),
}
