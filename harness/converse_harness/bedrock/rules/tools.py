"""Rules about the tools that a request offers, and about tool uses and tool results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from converse_harness.bedrock.rules.asked import (
    INVOKED,
    Finder,
    RuleRequest,
    RuleViolation,
    at,
    in_contents,
    in_places,
    in_request,
    in_results,
    in_tools,
    needs,
)
from converse_harness.json_values import member_of, objects_of

_CLIENT_TYPES: Final = (None, "tool_use")
"""The recorded values of `type` in tool uses and tool results for tools that the client runs. For its own tools, the
service sets other values: `server_tool_use` for a use, and for example `nova_grounding_result` for a result.
"""


tools_without_config: Final = in_places(
    "toolUse", "toolResult", breaks=lambda asked, n, m: "toolConfig" not in asked.body
)
"""Finds tool uses and tool results in a request without a toolConfig."""


def duplicates(kind: str) -> Finder:
    """Make a Finder that yields the messages in which two blocks of the given `kind` have the same toolUseId.

    `kind` is toolUse or toolResult.
    """

    @needs(kind)
    def find(asked: RuleRequest) -> Iterator[RuleViolation]:
        for n, ids in sorted(_ids(asked, kind).items()):
            twice = [each for each, count in Counter(ids).items() if count > 1]
            if twice:
                yield RuleViolation(at(n, None, "content"), {"n": n, "ids": ", ".join(twice)})

    return find


@needs("toolResult")
def more_results_than_uses(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find messages that have more tool results than there are tool uses in the last message of the other role before
    them.

    Results with the same id count once.
    """
    uses = _ids(asked, "toolUse")
    for n, results in sorted(_ids(asked, "toolResult").items()):
        if len({*results}) > len(uses.get(_turn_before(asked, n), ())):
            yield RuleViolation(at(n, None, "content"), {"n": n})


def _turn_before(asked: RuleRequest, n: int) -> int:
    """Return the index of the last message before message `n` with another role; -1 if no such message exists."""
    role = asked.messages[n].get("role")
    return next((k for k in range(n - 1, -1, -1) if asked.messages[k].get("role") != role), -1)


@needs("toolUse")
def missing_results(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find tool uses without a tool result in the next message. Tool uses in the last message are allowed."""
    results = _ids(asked, "toolResult")
    for n, uses in sorted(_ids(asked, "toolUse").items()):
        missing = [each for each in uses if each not in results.get(n + 1, ())]
        if missing and n + 1 < len(asked.messages):
            yield RuleViolation(at(n + 1, None, "content"), {"n": n + 1, "ids": ", ".join(missing)})


def _ids(asked: RuleRequest, kind: str) -> Mapping[int, Sequence[str]]:
    """Return the ids of all blocks of the given `kind`, by the index of their message.

    Blocks of tools that the service runs are skipped.
    """
    found: dict[int, list[str]] = {}
    for n, _, block in asked.blocks(kind):
        if block.get("type") in _CLIENT_TYPES:
            found.setdefault(n, []).append(str(block.get("toolUseId")))
    return found


results_that_are_no_objects: Final = in_results("json", breaks=lambda value: not isinstance(value, Mapping))
"""Finds tool results whose JSON is not an object."""

texts_beside_uses: Final = in_contents("toolUse", lambda kinds: "text" in kinds)
"""Finds messages that contain both a tool use and a text."""

blocks_beside_results: Final = in_contents("toolResult", lambda kinds: bool(kinds - {"toolResult", "cachePoint"}))
"""Finds messages that contain a tool result and a block of another kind; cache points are allowed."""


def choices(kind: str) -> Finder:
    """Make a Finder that yields the toolChoice of a request if it is of the given `kind`."""
    path = f"toolConfig.toolChoice.{kind}"
    return in_request(path, lambda asked: kind in asked.tool_config.get("toolChoice", {}), "toolConfig")


@needs("toolConfig")
def forced(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find a toolChoice that forces the use of a tool."""
    for kind in ("any", "tool"):
        if kind in asked.tool_config.get("toolChoice", {}):
            yield RuleViolation(f"toolConfig.toolChoice.{kind}")


def offered(operation: str) -> Finder:
    """Make a Finder that yields the toolConfig of each request that calls `operation`."""
    return in_request("toolConfig", lambda it: it.operation == operation and "toolConfig" in it.body, "toolConfig")


_WEB_SEARCH: Final = "web_search_20250305"
"""The only tool of Anthropic for which a refusal of CountTokens is recorded."""


@needs(INVOKED)
def web_searches_in_a_body(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find Anthropic's web search among the tools of an InvokeModel body whose tokens CountTokens counts."""
    for k, tool in enumerate(objects_of(member_of(asked.invoked, "tools"))):
        if tool.get("type") == _WEB_SEARCH:
            yield RuleViolation(f"invokeModel.body.tools[{k}].type", {"k": k, "tag": _WEB_SEARCH})


@needs("toolConfig")
def names_twice(asked: RuleRequest) -> Iterator[RuleViolation]:
    """Find tools with the name of an earlier tool."""
    seen: set[str] = set()
    for n, tool in enumerate(asked.tools):
        name = tool.get("toolSpec", {}).get("name")
        if name in seen:
            yield RuleViolation(f"toolConfig.tools[{n}].toolSpec.name")
        if name is not None:
            seen.add(name)


names_with_hyphens: Final = in_tools(lambda tool: "-" in tool.get("toolSpec", {}).get("name", ""), "toolSpec.name")
"""Finds tools whose name contains a hyphen."""
