"""How messages follow each other and what is in them: blocks, documents, tools and their results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from converse_harness.bedrock.findings import is_object
from converse_harness.bedrock.rules.rule import RuleRequest, RuleViolation

_MEDIA: Final = ("image", "document", "video", "audio")


def at(n: int, m: int | None = None, *more: str) -> str:
    """The path of a message, or of a content block."""
    block = f"messages[{n}]" if m is None else f"messages[{n}].content[{m}]"
    return ".".join((block, *more))


def shown(asked: RuleRequest, kind: str) -> Iterator[tuple[str, Any]]:
    """What is of a kind in messages and in the results of tools, with its path."""
    for n, m, value in asked.blocks(kind):
        yield at(n, m, kind), value
    for n, m, result in asked.blocks("toolResult"):
        for k, inner in enumerate(result.get("content", ())):
            if kind in inner:
                yield at(n, m, f"toolResult.content[{k}].{kind}"), inner[kind]


def has_no_message(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The list of messages is empty, or not there although the model id is no stored prompt's."""
    if not asked.messages and ("messages" in asked.body or ":prompt/" not in asked.model_id):
        yield RuleViolation("messages")


def starts_with_another(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The first message is not the user's."""
    turns = _turns(asked)
    if turns and turns[0][1].get("role") != "user":
        yield RuleViolation(at(turns[0][0], None, "role"))


def repeats_a_role(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Two messages in a row have one role."""
    turns = _turns(asked)
    for (_, before), (n, message) in pairwise(turns):
        if before.get("role") == message.get("role"):
            yield RuleViolation(at(n, None, "role"))


def _turns(asked: RuleRequest) -> list[tuple[int, Mapping[str, Any]]]:
    """The messages of user and assistant: those of the role system stand between any others."""
    return [(n, message) for n, message in enumerate(asked.messages) if message.get("role") != "system"]


def blank_texts(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A text is empty, or has nothing but whitespace."""
    for n, m, text in asked.blocks("text"):
        if not text.strip():
            yield RuleViolation(at(n, m, "text"), {"n": n, "m": m})


def empty_texts(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A text is empty, in a message or in the result of a tool."""
    for path, text in shown(asked, "text"):
        if not text:
            yield RuleViolation(path)


def messages_of_whitespace(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has texts, and all of them are whitespace."""
    texts: dict[int, list[str]] = {}
    for n, _, text in asked.blocks("text"):
        texts.setdefault(n, []).append(text)
    for n, each in texts.items():
        if not "".join(each).strip():
            yield RuleViolation(at(n, None, "content"))


def empty_contents(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has no content block."""
    for n, message in enumerate(asked.messages):
        if message.get("content") == []:
            yield RuleViolation(at(n, None, "content"), {"n": n})


def blank_guard_contents(asked: RuleRequest) -> Iterator[RuleViolation]:
    """What a guardrail is to look at is blank."""
    for n, m, guarded in asked.blocks("guardContent"):
        if "text" in guarded and not guarded["text"].get("text", "-").strip():
            yield RuleViolation(at(n, m, "guardContent.text.text"), {"n": n, "m": m})


def media_of_the_assistant(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The assistant has an image, a document, a video or a sound."""
    for kind in _MEDIA:
        for n, m, _ in asked.blocks(kind):
            if asked.messages[n].get("role") == "assistant":
                yield RuleViolation(at(n, m, kind), {"n": n, "m": m, "kind": kind})


def any_reasoning(asked: RuleRequest) -> Iterator[RuleViolation]:
    """There is reasoning in the conversation."""
    for n, m, _ in asked.blocks("reasoningContent"):
        yield RuleViolation(at(n, m, "reasoningContent"))


def ends_with_the_assistant(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The last message is the assistant's."""
    if asked.messages and asked.messages[-1].get("role") == "assistant":
        yield RuleViolation(at(len(asked.messages) - 1, None, "role"))


_MAX_DOCUMENTS: Final = 5

_CITED_SOURCES: Final = ("text", "content")
"""Sources that are only for documents with citations."""

_NAME: Final = re.compile(r"(?: ?[A-Za-z0-9_\-()\[\]])* ?")
"""What was tried at the service: an underscore is accepted, a tab or a wide space is not."""


def names_with_other_characters(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A name has a character that it may not have, or two spaces in a row."""
    for path, document in shown(asked, "document"):
        if not _NAME.fullmatch(document.get("name", "")):
            yield RuleViolation(f"{path}.name")


def names_twice(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Two documents of the request have one name."""
    seen: set[str] = set()
    for path, document in shown(asked, "document"):
        name = document.get("name", "")
        if name in seen:
            yield RuleViolation(f"{path}.name")
        seen.add(name)


def too_many(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The request has more than five documents."""
    for path, _ in list(shown(asked, "document"))[_MAX_DOCUMENTS:]:
        yield RuleViolation(path)


def without_text(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has a document and no text."""
    with_text = {n for n, _, _ in asked.blocks("text")}
    for n, m, _ in asked.blocks("document"):
        if n not in with_text:
            yield RuleViolation(at(n, m, "document"))


def sources_for_citations(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A document is a text or blocks, and is not to be cited."""
    for n, m, document in asked.blocks("document"):
        cited = document.get("citations", {}).get("enabled", False)
        if not cited and any(name in document.get("source", {}) for name in _CITED_SOURCES):
            yield RuleViolation(at(n, m, "document.source"), {"n": n, "m": m})


_SERVER_TOOL: Final = "server_tool_use"
"""The type of what the service itself does in the middle of an answer."""


def tools_without_config(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A tool was used in the conversation, and none is offered."""
    if "toolConfig" not in asked.body:
        for kind in ("toolUse", "toolResult"):
            for n, m, _ in asked.blocks(kind):
                yield RuleViolation(at(n, m, kind))


def duplicate_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has two results with one id."""
    for n, ids in sorted(_ids(asked, "toolResult").items()):
        twice = [each for each, count in Counter(ids).items() if count > 1]
        if twice:
            yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(twice)})


def duplicate_uses(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message uses two tools under one id."""
    for n, ids in sorted(_ids(asked, "toolUse").items()):
        twice = [each for each, count in Counter(ids).items() if count > 1]
        if twice:
            yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(twice)})


def more_results_than_uses(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has more results than the one before it used tools; ids that are there twice are another matter."""
    uses = _ids(asked, "toolUse")
    for n, results in sorted(_ids(asked, "toolResult").items()):
        if len({*results}) > len(uses.get(n - 1, ())):
            yield RuleViolation(at(n, None, "content"), {"n": n})


def missing_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A tool was used, and the next message does not have its result."""
    results = _ids(asked, "toolResult")
    for n, uses in sorted(_ids(asked, "toolUse").items()):
        missing = [each for each in uses if each not in results.get(n + 1, ())]
        if missing and n + 1 < len(asked.messages):
            yield RuleViolation(at(n + 1, None, "content"), {"n": n + 1, "ids": ", ".join(missing)})


def _ids(asked: RuleRequest, kind: str) -> Mapping[int, Sequence[str]]:
    """The ids of tools used, or of results, by message; those of tools that the service runs itself aside."""
    found: dict[int, list[str]] = {}
    for n, _, block in asked.blocks(kind):
        if block.get("type") != _SERVER_TOOL:
            found.setdefault(n, []).append(str(block.get("toolUseId")))
    return found


def errors_without_content(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A result says that its tool failed, and not how."""
    for n, m, result in asked.blocks("toolResult"):
        if result.get("status") == "error" and result.get("content") == []:
            yield RuleViolation(at(n, m, "toolResult.content"), {"n": n, "m": m})


def results_that_are_no_objects(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The JSON of a result is a list, a text, a number."""
    for n, m, result in asked.blocks("toolResult"):
        for k, content in enumerate(result.get("content", ())):
            if "json" in content and not isinstance(content["json"], Mapping):
                yield RuleViolation(at(n, m, f"toolResult.content[{k}].json"), {"n": n, "m": m, "k": k})


def inputs_that_are_no_objects(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The input of a tool is a list, a text, a number."""
    for n, m, use in asked.blocks("toolUse"):
        if "input" in use and not isinstance(use["input"], Mapping):
            yield RuleViolation(at(n, m, "toolUse.input"), {"n": n, "m": m})


def texts_beside_uses(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message uses a tool, and says something."""
    uses = {n for n, _, _ in asked.blocks("toolUse")}
    for n, _, _ in asked.blocks("text"):
        if n in uses:
            yield RuleViolation(at(n, None, "content"), {"n": n})


def blocks_beside_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A message has the result of a tool, and something else."""
    for n in sorted({n for n, _, _ in asked.blocks("toolResult")}):
        if {kind for block in asked.messages[n]["content"] for kind in block} - {"toolResult", "cachePoint"}:
            yield RuleViolation(at(n, None, "content"), {"n": n})


def schemas_of_other_types(asked: RuleRequest) -> Iterator[RuleViolation]:
    """The root of a tool's schema is no object."""
    for n, tool in enumerate(asked.tool_config.get("tools", ())):
        schema = tool.get("toolSpec", {}).get("inputSchema", {}).get("json")
        if is_object(schema) and schema.get("type") != "object":
            yield RuleViolation(f"toolConfig.tools[{n}].toolSpec.inputSchema.json.type", {"n": n})


def schemas_that_are_no_objects(asked: RuleRequest) -> Iterator[RuleViolation]:
    """A tool's schema is a text, a list, a number."""
    for n, tool in enumerate(asked.tool_config.get("tools", ())):
        schema = tool.get("toolSpec", {}).get("inputSchema", {})
        if "json" in schema and not isinstance(schema["json"], Mapping):
            yield RuleViolation(f"toolConfig.tools[{n}].toolSpec.inputSchema.json", {"n": n})


def choices(kind: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """The toolChoice is of a kind."""

    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        if kind in asked.tool_config.get("toolChoice", {}):
            yield RuleViolation(f"toolConfig.toolChoice.{kind}")

    return find


def offered(operation: str) -> Callable[[RuleRequest], Iterator[RuleViolation]]:
    """Tools are offered to an operation."""

    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        if asked.operation == operation and "toolConfig" in asked.body:
            yield RuleViolation("toolConfig")

    return find
