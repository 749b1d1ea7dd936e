"""Tools, images, cache points and output that Bedrock refuses: consumers that send them, with the bug of a thread."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from tests.public_threads.refused import QUESTION, TOOLS, is_answered

PNG: Final = b"\x89PNG\r\n\x1a\n"
HOUR: Final = {"cachePoint": {"type": "default", "ttl": "1h"}}
MINUTES: Final = {"cachePoint": {"type": "default"}}


def nothing_is_noted(code: Callable[[], None]) -> None:
    """The test of what Bedrock may refuse."""
    with fake_converse() as fake:
        fake.always(reply.text("ok"))
        code()
    assert not fake.notes, fake.notes


def tells_what_the_user_would_do(*, mended: bool) -> None:
    """It writes the example of a tool's use into a message of the user."""
    used = tool_use("get_weather")
    asked = [user(QUESTION), assistant(used)] if mended else [user(QUESTION, used)]
    bedrock().converse(modelId=HAIKU, messages=[*asked, user(tool_result("18 °C"))], toolConfig=TOOLS)


def gives_back_nothing(*, mended: bool) -> None:
    result: dict[str, Any] = {"toolResult": {"toolUseId": "tooluse_1", "content": []}}
    if mended:
        result["toolResult"]["content"].append({"text": "no result"})
    messages = [user(QUESTION), assistant(tool_use("get_weather")), user(result)]
    bedrock().converse(modelId="nvidia.nemotron-nano-12b-v2", messages=messages, toolConfig=TOOLS)


def caches_longer_and_longer(*, mended: bool) -> None:
    system = [{"text": "Be brief."}, HOUR if mended else MINUTES]
    bedrock().converse(modelId=HAIKU, system=system, messages=[user(QUESTION, HOUR)])


def _show(data: bytes, form: str) -> None:
    bedrock().converse(modelId=HAIKU, messages=[user(QUESTION, {"image": {"format": form, "source": {"bytes": data}}})])


def sends_a_page_as_it_was_scanned(*, mended: bool) -> None:
    """It knows the limit of 5 MiB, and not that base64 counts."""
    limit = 5 * 2**20 * 3 // 4 if mended else 5 * 2**20
    _show((PNG + bytes(4_500_000))[:limit], "png")


def goes_by_the_name_of_the_file(*, mended: bool) -> None:
    _show(PNG, "png" if mended else "jpeg")


def asks_for_json(*, mended: bool) -> None:
    """Mended it says in words what it wants."""
    schema = json.dumps({"type": "object", "additionalProperties": False})
    structure = {"jsonSchema": {"name": "answer", "schema": schema}}
    options = {} if mended else {"outputConfig": {"textFormat": {"type": "json_schema", "structure": structure}}}
    bedrock().converse(modelId="us.anthropic.claude-opus-4-7", messages=[user(QUESTION)], **options)


def asks_by_the_newest_name(*, mended: bool) -> None:
    bedrock().converse(modelId="openai.gpt-5.6-sol" if mended else "openai.gpt-5.5", messages=[user(QUESTION)])


def names_a_tool_as_its_server(*, mended: bool) -> None:
    name = "weather_get" if mended else "weather-get"
    bedrock().converse(modelId=NOVA, messages=[user(QUESTION)], toolConfig={"tools": [tool_spec(name)]})


_refused = partial(ScriptLesson, test=is_answered)

LESSONS: Final[Lessons] = {
    "the user uses a tool": _refused(tells_what_the_user_would_do, by="users_do_not_use_tools"),
    "a result has no content": _refused(gives_back_nothing, by="some_results_are_not_empty"),
    "a longer cache point comes after a shorter one": _refused(
        caches_longer_and_longer, by="claude_caches_ever_shorter"
    ),
    "an image is too large as base64": _refused(sends_a_page_as_it_was_scanned, by="claude_images_are_small"),
    "an image is of another format": _refused(goes_by_the_name_of_the_file, by="claude_images_are_of_their_format"),
    "a model without it is given a schema of the answer": ScriptLesson(
        asks_for_json,
        nothing_is_noted,
        "newer_claudes_answer_without_a_schema",
        "newer_claudes_answer_without_a_schema",
    ),
    "a model without Converse is asked": _refused(asks_by_the_newest_name, by="model_converses"),
    "Nova is offered a tool with a hyphen": ScriptLesson(
        names_a_tool_as_its_server, nothing_is_noted, "nova_tools_have_no_hyphens", "nova_tools_have_no_hyphens"
    ),
}
