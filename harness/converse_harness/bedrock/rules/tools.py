"""Tools in a request: their schemas, and that uses and results belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from converse_harness.bedrock.rules.conversation import at
from converse_harness.bedrock.rules.rule import Asked, Breach
from converse_harness.bedrock.values import is_object

SERVER_TOOL: Final = "server_tool_use"
"""The type of what the service itself does in the middle of an answer."""


def tools_without_config(asked: Asked) -> Iterator[Breach]:
    """A tool was used in the conversation, and none is offered."""
    if "toolConfig" not in asked.body:
        for kind in ("toolUse", "toolResult"):
            for n, m, _ in asked.blocks(kind):
                yield Breach(at(n, m, kind))


def duplicate_results(asked: Asked) -> Iterator[Breach]:
    """A message has two results with one id."""
    for n, ids in sorted(_ids(asked, "toolResult").items()):
        twice = [each for each, count in Counter(ids).items() if count > 1]
        if twice:
            yield Breach(at(n, None, "content"), {"n": n, "ids": ", ".join(twice)})


def duplicate_uses(asked: Asked) -> Iterator[Breach]:
    """A message uses two tools under one id."""
    for n, ids in sorted(_ids(asked, "toolUse").items()):
        twice = [each for each, count in Counter(ids).items() if count > 1]
        if twice:
            yield Breach(at(n, None, "content"), {"n": n, "ids": ", ".join(twice)})


def more_results_than_uses(asked: Asked) -> Iterator[Breach]:
    """A message has more results than the one before it used tools; ids that are there twice are another matter."""
    uses = _ids(asked, "toolUse")
    for n, results in sorted(_ids(asked, "toolResult").items()):
        if len({*results}) > len(uses.get(n - 1, ())):
            yield Breach(at(n, None, "content"), {"n": n})


def missing_results(asked: Asked) -> Iterator[Breach]:
    """A tool was used, and the next message does not have its result."""
    results = _ids(asked, "toolResult")
    for n, uses in sorted(_ids(asked, "toolUse").items()):
        missing = [each for each in uses if each not in results.get(n + 1, ())]
        if missing and n + 1 < len(asked.messages):
            yield Breach(at(n + 1, None, "content"), {"n": n + 1, "ids": ", ".join(missing)})


def _ids(asked: Asked, kind: str) -> Mapping[int, Sequence[str]]:
    """The ids of tools used, or of results, by message; those of tools that the service runs itself aside."""
    found: dict[int, list[str]] = {}
    for n, _, block in asked.blocks(kind):
        if block.get("type") != SERVER_TOOL:
            found.setdefault(n, []).append(str(block.get("toolUseId")))
    return found


def errors_without_content(asked: Asked) -> Iterator[Breach]:
    """A result says that its tool failed, and not how."""
    for n, m, result in asked.blocks("toolResult"):
        if result.get("status") == "error" and result.get("content") == []:
            yield Breach(at(n, m, "toolResult.content"), {"n": n, "m": m})


def results_that_are_no_objects(asked: Asked) -> Iterator[Breach]:
    """The JSON of a result is a list, a text, a number."""
    for n, m, result in asked.blocks("toolResult"):
        for k, content in enumerate(result.get("content", ())):
            if "json" in content and not isinstance(content["json"], Mapping):
                yield Breach(at(n, m, f"toolResult.content[{k}].json"), {"n": n, "m": m, "k": k})


def inputs_that_are_no_objects(asked: Asked) -> Iterator[Breach]:
    """The input of a tool is a list, a text, a number."""
    for n, m, use in asked.blocks("toolUse"):
        if "input" in use and not isinstance(use["input"], Mapping):
            yield Breach(at(n, m, "toolUse.input"), {"n": n, "m": m})


def texts_beside_uses(asked: Asked) -> Iterator[Breach]:
    """A message uses a tool, and says something."""
    uses = {n for n, _, _ in asked.blocks("toolUse")}
    for n, _, _ in asked.blocks("text"):
        if n in uses:
            yield Breach(at(n, None, "content"), {"n": n})


def blocks_beside_results(asked: Asked) -> Iterator[Breach]:
    """A message has the result of a tool, and something else."""
    for n in sorted({n for n, _, _ in asked.blocks("toolResult")}):
        if {kind for block in asked.messages[n]["content"] for kind in block} - {"toolResult", "cachePoint"}:
            yield Breach(at(n, None, "content"), {"n": n})


def schemas_of_other_types(asked: Asked) -> Iterator[Breach]:
    """The root of a tool's schema is no object."""
    for n, tool in enumerate(asked.tool_config.get("tools", ())):
        schema = tool.get("toolSpec", {}).get("inputSchema", {}).get("json")
        if is_object(schema) and schema.get("type") != "object":
            yield Breach(f"toolConfig.tools[{n}].toolSpec.inputSchema.json.type", {"n": n})


def schemas_that_are_no_objects(asked: Asked) -> Iterator[Breach]:
    """A tool's schema is a text, a list, a number."""
    for n, tool in enumerate(asked.tool_config.get("tools", ())):
        schema = tool.get("toolSpec", {}).get("inputSchema", {})
        if "json" in schema and not isinstance(schema["json"], Mapping):
            yield Breach(f"toolConfig.tools[{n}].toolSpec.inputSchema.json", {"n": n})


def choices(kind: str) -> Callable[[Asked], Iterator[Breach]]:
    """The toolChoice is of a kind."""

    def find(asked: Asked) -> Iterator[Breach]:
        if kind in asked.tool_config.get("toolChoice", {}):
            yield Breach(f"toolConfig.toolChoice.{kind}")

    return find


def offered(operation: str) -> Callable[[Asked], Iterator[Breach]]:
    """Tools are offered to an operation."""

    def find(asked: Asked) -> Iterator[Breach]:
        if asked.operation == operation and "toolConfig" in asked.body:
            yield Breach("toolConfig")

    return find
