"""Requests that Bedrock refuses: consumers that build them, each with the bug that a thread tells of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from converse_harness import fake_converse, reply
from tests.public_threads.lessons import (
    HAIKU,
    NOVA,
    Lessons,
    ScriptLesson,
    assistant,
    bedrock,
    tool_result,
    tool_spec,
    tool_use,
    user,
)

LLAMA: Final = "us.meta.llama4-maverick-17b-instruct-v1:0"
GPT: Final = "global.openai.gpt-6-astra"
TOOLS: Final = {"tools": [tool_spec("get_weather")]}
QUESTION: Final = "What is it like?"


def is_answered(code: Callable[[], None]) -> None:
    """The test of all of these: Bedrock answers."""
    with fake_converse() as fake:
        fake.always(reply.text("ok"))
        code()
    assert fake.calls, "it asked nothing"


# Documents.


def _ask_about(files: Sequence[tuple[str, bytes]]) -> None:
    documents = [{"document": {"format": "txt", "name": name, "source": {"bytes": content}}} for name, content in files]
    bedrock().converse(modelId=NOVA, messages=[user("What do they say?", *documents)])


def names_them_as_their_files(*, mended: bool) -> None:
    names = ["John's report.txt", "notes  2026.txt", "été.txt"]
    if mended:
        names = [re.sub(r"\W+", "-", name, flags=re.ASCII) for name in names]
    _ask_about([(name, b".") for name in names])


def gives_all_one_name(*, mended: bool) -> None:
    _ask_about([(f"document-{number}" if mended else "document", b".") for number in range(2)])


def sends_all_there_are(*, mended: bool) -> None:
    files = [f"part {number}".encode() for number in range(7)]
    if mended:  # what is too much is joined
        files = [*files[:4], b"\n".join(files[4:])]
    _ask_about([(f"part-{number}", content) for number, content in enumerate(files)])


# Tools and their results.


def leaves_out_a_tool_that_failed(*, mended: bool) -> None:
    uses = [tool_use("get_weather", f"tooluse_{number}", city=city) for number, city in enumerate(("Bern", "Atlantis"))]
    results = [tool_result("18 °C", "tooluse_0")]
    if mended:
        results.append(tool_result("no such city", "tooluse_1", status="error"))
    bedrock().converse(modelId=HAIKU, messages=[user(QUESTION), assistant(*uses), user(*results)], toolConfig=TOOLS)


def repeats_an_older_result(*, mended: bool) -> None:
    """It keeps the results of all turns in one list."""
    messages, results = [user(QUESTION)], list[dict[str, Any]]()
    for turn in range(2):
        results = [*(() if mended else results), tool_result("18 °C", f"tooluse_{turn}")]
        messages += [assistant(tool_use("get_weather", f"tooluse_{turn}")), user(*results)]
    bedrock().converse(modelId=HAIKU, messages=messages, toolConfig=TOOLS)


def says_something_beside_a_result(*, mended: bool) -> None:
    result = tool_result("18 °C")
    after = [user(result), assistant("18 °C."), user("In JSON?")] if mended else [user(result, "In JSON?")]
    messages = [user(QUESTION), assistant(tool_use("get_weather")), *after]
    bedrock().converse(modelId=LLAMA, messages=messages, toolConfig=TOOLS)


def forgets_what_is_old(*, mended: bool) -> None:
    messages = [user("Hello?"), assistant("Hello!"), user(QUESTION), assistant("Sunny."), user("And now?")]
    window = messages[-4:]
    if mended:
        while window[0]["role"] != "user":
            window = window[1:]
    bedrock().converse(modelId=NOVA, messages=window)


def fails_in_silence(*, mended: bool) -> None:
    result = tool_result("the tool failed" if mended else "", status="error")
    messages = [user(QUESTION), assistant(tool_use("get_weather")), user(result)]
    bedrock().converse(modelId=HAIKU, messages=messages, toolConfig=TOOLS)


def sums_up_without_tools(*, mended: bool) -> None:
    messages = [user(QUESTION), assistant(tool_use("get_weather")), user(tool_result("18 °C"))]
    options = {"toolConfig": TOOLS} if mended else {}
    bedrock().converse(modelId=HAIKU, messages=[*messages, assistant("Sunny."), user("Sum up.")], **options)


def offers_a_tool_that_takes_a_text(*, mended: bool) -> None:
    text = {"type": "string"}
    schema = {"type": "object", "properties": {"city": text}} if mended else text
    bedrock().converse(modelId=HAIKU, messages=[user(QUESTION)], toolConfig={"tools": [tool_spec("ask", **schema)]})


def shows_a_screen_in_a_result(*, mended: bool) -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}}
    result = tool_result("the screen:")
    after = [assistant("Let me see it."), user("Here it is.", image)] if mended else []
    if not mended:
        result["toolResult"]["content"].append(image)
    messages = [user(QUESTION), assistant(tool_use("get_weather")), user(result), *after]
    bedrock().converse(modelId=GPT, messages=messages, toolConfig=TOOLS)


# What models refuse.


def sends_a_temperature(model_id: str, *, mended: bool) -> None:
    fixed = re.search(r"opus-4-[78]", model_id) if mended else "opus-4-7" in model_id
    options = {} if fixed else {"inferenceConfig": {"temperature": 0.2}}
    bedrock().converse(modelId=model_id, messages=[user(QUESTION)], **options)


def begins_the_answer(*, mended: bool) -> None:
    messages = [user("Answer in JSON."), *([] if mended else [assistant("{")])]
    bedrock().converse(modelId="us.anthropic.claude-opus-4-6-v1", messages=messages)


def streams_with_tools(*, mended: bool) -> None:
    client, request = bedrock(), {"modelId": LLAMA, "messages": [user(QUESTION)], "toolConfig": TOOLS}
    if mended:
        client.converse(**request)
    else:
        list(client.converse_stream(**request)["stream"])


def _refused(code: Callable[..., None], rule: str) -> ScriptLesson:
    return ScriptLesson(code, is_answered, by=rule)


LESSONS: Final[Lessons] = {
    "a document has the name of its file": _refused(names_them_as_their_files, "document_names_are_plain"),
    "two documents have one name": _refused(gives_all_one_name, "document_names_are_different"),
    "there are too many documents": _refused(sends_all_there_are, "documents_are_few"),
    "a tool has no result": _refused(leaves_out_a_tool_that_failed, "tool_uses_have_results"),
    "there are more results than tools": _refused(repeats_an_older_result, "tool_results_have_uses"),
    "a text stands beside a result": _refused(
        says_something_beside_a_result, "llama_and_mistral_speak_or_have_results"
    ),
    "a window of the history begins with the model": _refused(forgets_what_is_old, "first_message_is_the_users"),
    "a failed tool says nothing": _refused(fails_in_silence, "failed_results_say_why"),
    "tools are not offered where the history has them": _refused(sums_up_without_tools, "tool_config_is_there"),
    "the schema of a tool is not of an object": _refused(
        offers_a_tool_that_takes_a_text, "tool_schema_is_of_an_object"
    ),
    "a result has an image": _refused(shows_a_screen_in_a_result, "some_results_have_no_images"),
    "a temperature is sent to a model that has none": _refused(
        partial(sends_a_temperature, "us.anthropic.claude-opus-4-8"), "claude_has_no_temperature"
    ),
    "an answer is begun for the model": _refused(begins_the_answer, "claude_is_not_prefilled"),
    "a model that streams no tools is asked for a stream": _refused(streams_with_tools, "some_stream_no_tools"),
}
