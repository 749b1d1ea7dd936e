"""The shape of a request: what of it stays the same where only prose changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

TOO_DEEP: Final = "nested too deeply to be compared"


def canonical(value: object) -> str:
    """JSON that is the same text for equal values: the order of keys does not count, 1 and 1.0 are two numbers."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return TOO_DEEP


def object_of(value: object) -> Mapping[str, Any]:
    """A recording may be edited, and a client may send anything: what is no object has no members."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def objects_of(value: object) -> list[Mapping[str, Any]]:
    """A list as objects; what is no list has none."""
    return [object_of(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def kind_of(block: Mapping[str, Any]) -> str:
    """The member of a union that is there."""
    return " + ".join(sorted(block)) if block else "nothing"


class _Links:
    """Ids, each by its number in the order of appearance."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def number(self, id: object) -> int:
        return self._known.setdefault(canonical(id), len(self._known) + 1)


def messages_shape(conversation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Roles, kinds of blocks, names of the tools used; a toolUseId is its number in the order of appearance."""
    links = _Links()
    return [
        {"role": message.get("role"), "content": [_block(block, links) for block in objects_of(message.get("content"))]}
        for message in objects_of(conversation.get("messages"))
    ]


def _block(block: Mapping[str, Any], links: _Links) -> Any:
    kind = kind_of(block)
    if kind == "toolUse":
        use = object_of(block[kind])
        typed = {"type": use["type"]} if use.get("type", "tool_use") != "tool_use" else {}
        return {kind: {"toolUseId": links.number(use.get("toolUseId")), "name": use.get("name"), **typed}}
    if kind == "toolResult":
        result = object_of(block[kind])
        return {
            kind: {
                "toolUseId": links.number(result.get("toolUseId")),
                "status": result.get("status", "success"),
                "content": [kind_of(each) for each in objects_of(result.get("content"))],
            }
        }
    return kind


def system_shape(conversation: Mapping[str, Any]) -> list[str]:
    """The kinds of system blocks, in no order."""
    return sorted({kind_of(block) for block in objects_of(conversation.get("system"))})


def tools_shape(conversation: Mapping[str, Any]) -> list[str]:
    """The names of the tools offered, in no order."""
    tools = objects_of(object_of(conversation.get("toolConfig")).get("tools"))
    return sorted(_tool(tool) for tool in tools)


def _tool(tool: Mapping[str, Any]) -> str:
    kind = kind_of(tool)
    name = object_of(tool.get(kind)).get("name")
    return str(name) if kind == "toolSpec" else kind if name is None else f"{kind} {name}"


def tool_choice_shape(conversation: Mapping[str, Any]) -> Any:
    """The kind of toolChoice, and the tool that it names."""
    choice = object_of(object_of(conversation.get("toolConfig")).get("toolChoice"))
    return f"tool {object_of(choice['tool']).get('name')}" if "tool" in choice else kind_of(choice) if choice else None


COUNTED: Final = frozenset({"role", "type", "name", "source", "status"})
"""The members of any other body whose texts count."""

LINKS: Final = frozenset({"id", "toolUseId", "tool_use_id", "tool_call_id"})
"""The members of any other body that are ids."""

LEFT_OUT: Final = frozenset({"arguments", "description", "input", "input_schema", "inputSchema", "json", "parameters"})
"""The members of any other body of which only that they are there counts."""


def free_shape(body: Any) -> Any:
    """The shape of a body that is no conversation of AWS's: that of another operation, a model's own JSON."""
    return _free(body, "", _Links())


def _free(value: Any, name: str, links: _Links) -> Any:
    if name in LEFT_OUT:
        return "any"
    if name in LINKS:
        return links.number(value)
    if isinstance(value, dict):
        return {key: _free(each, key, links) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_free(each, name, links) for each in cast("list[object]", value)]
    if isinstance(value, str):
        return value if name in COUNTED else "text"
    return value if value is None or isinstance(value, bool) else "number"
