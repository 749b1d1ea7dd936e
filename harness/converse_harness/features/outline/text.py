"""The text of an outline, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from converse_harness.features.outline.entries import OF_ANSWER, block_line, digest_of, one_line
from converse_harness.json_values import canonical, is_array, objects_of

_OWN: Final = frozenset({*OF_ANSWER, "begins", "continues", "operation", "modelId", "left_out", "messages"})
"""The members of an entry that have a place of their own in the text."""

_AS_JSON: Final = ("output", "events", "trace", "additionalModelResponseFields")
"""The members of an answer that are told as JSON."""


def text_of(outline: Sequence[Mapping[str, Any]]) -> str:
    """Return an outline as text, with the lines of `entry_lines` for each entry."""
    made: list[str] = []
    for number, entry in enumerate(outline, 1):
        first, *others = entry_lines(entry)
        made += [f"{number}. {first}".rstrip(), *(f"   {line}" for line in others)]
    return "\n".join(made)


def entry_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one entry: what is new about the request, then the answer after `->`."""
    head = [f"new {entry['begins']}"] if "begins" in entry else []
    head += [f"continues call {entry['continues']} of this conversation"] if "continues" in entry else []
    asked = " ".join(str(entry[name]) for name in ("operation", "modelId") if entry.get(name))
    yield ", ".join([*head, *([asked] if asked else [])])
    for name, value in entry.items():
        if name == "system" and value:
            yield from (f"system: {block_line(block)}" for block in objects_of(value))
        elif name == "tools" and value:
            yield f"tools: {', '.join(_tool(tool, spec) for tool, spec in value.items())}"
        elif name not in _OWN:
            yield f"{name}: {'is gone' if value is None else canonical(value)}"
    yield from (f"left out {line}" for line in entry.get("left_out", ()))
    yield from map(one_line, objects_of(entry.get("messages")))
    for answer in (*objects_of(entry.get("retried")), entry):
        yield f"-> {answer_line(answer)}"


def _tool(name: str, spec: object) -> str:
    """Return a tool with a digest of its spec."""
    return f"{name} is gone" if spec is None else f"{name} ({digest_of(canonical(spec))})"


def answer_line(entry: Mapping[str, Any]) -> str:
    """Return the answer of an entry in one line."""
    parts: list[str] = []
    if is_array(entry.get("content")):
        parts.append(" + ".join(map(block_line, objects_of(entry["content"]))) or "no content block")
    parts += [str(entry["stopReason"])] if "stopReason" in entry else []
    if "error" in entry:
        said = f": {entry['error']['message']}" if entry["error"].get("message") else ""
        parts.append(f"{entry['error'].get('name')}{said}")
    parts += [f"{name} {canonical(entry[name])}" for name in _AS_JSON if name in entry]
    parts += [str(entry["answer"])] if "answer" in entry else []
    return ", ".join([*parts, *map(str, entry.get("broken", ()))])
