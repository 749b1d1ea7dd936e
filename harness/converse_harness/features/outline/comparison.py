"""Explain a failed comparison of an outline: the first call that differs, and who changed: agent, prompt or script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from converse_harness.features.outline.amber import value_of_amber
from converse_harness.features.outline.entries import OF_ANSWER, Entry, block_line
from converse_harness.features.outline.outline import Outline
from converse_harness.features.outline.text import answer_line
from converse_harness.json_values import canonical, is_array, is_object, parsed_json
from converse_harness.recordings.differences import ABSENT, Difference, aligned, differences, lines_of
from converse_harness.words import counted

_PROMPT: Final = "the prompt changed"
_AGENT: Final = "the agent sent something else"
_SCRIPT: Final = "the script answered something else"

_WHO: Final[Mapping[str, str]] = {
    "begins": "the agents or their conversations changed",
    "continues": "the agent continued another call",
    "modelId": "the agent asked another model",
    "operation": "the agent asked by another operation",
    "system": _PROMPT,
    "tools": _PROMPT,
    "toolChoice": _PROMPT,
    "messages": _AGENT,
    "left_out": "the agent left out other messages",
    **dict.fromkeys(OF_ANSWER, _SCRIPT),
}
"""What it means that a member of an entry differs. Other members are settings of the agent's request.

The members of the request are first: if the agent asks something else, its script is often another one, too.
"""

_MOST: Final = 4
"""The maximum number of differences that are shown."""


def explained(op: str, left: object, right: object) -> list[str]:
    """Return the lines that explain why two values are not equal; no lines if neither is an outline."""
    if op != "==":
        return []
    if isinstance(left, Outline):
        now, before = left, _entries(right)
    elif isinstance(right, Outline):
        now, before = right, _entries(left)
    else:
        return []
    return [] if before is None else [*_lines(before, [*now])]


def _entries(value: object) -> list[Entry] | None:
    """Return the entries in a list, or in the snapshot of syrupy that was compared last; None for another value."""
    try:
        done: Any = getattr(value, "executions", None)
        text: Any = done[max(done)].recalled_data if done else None
        found: object = value if text is None else parsed_json(text) or value_of_amber(text)
    except (AttributeError, LookupError, TypeError, ValueError):  # another version of syrupy, another extension
        return None
    return [*found] if is_array(found) and all(map(is_object, found)) else None


def _lines(before: Sequence[Entry], now: Sequence[Entry]) -> Iterator[str]:
    """Yield the first difference, then what differs there, then the number of other calls that differ."""
    changed = [(*pair.items(before, now), pair.indexes) for pair in aligned(before, now, canonical, _kind)]
    changed = [each for each in changed if each[0] != each[1]]
    if not changed:
        yield "the outlines are equal, the compared values are not: the form of the snapshot is another one"
        return
    old, new, (was, at) = changed[0]
    if old is None:
        yield f"call {at + 1} is new: {asked_line(new)}"
    elif new is None:
        yield f"call {was + 1} is gone: {asked_line(old)}"
    else:
        yield from _changed(at + 1, old, new)
    if len(changed) > 1:
        yield f"  and {counted(len(changed) - 1, 'other call')} differ" + ("s" if len(changed) == 2 else "")
    if len(before) != len(now):
        yield f"  {counted(len(now), 'call')}, before {len(before)}"


def _kind(entry: Entry) -> str:
    """Return a text that is equal for calls with the same kinds of new messages: these are compared."""
    messages = [[message.get("role"), *map(_name, message.get("content", ()))] for message in entry.get("messages", ())]
    return canonical([entry.get("begins"), messages, [*map(_name, entry.get("content", ()))]])


def _name(block: Mapping[str, Any]) -> str:
    name = next(iter(block), "")
    inside: Any = block.get(name)
    return f"{name} {inside.get('name') or inside.get('tool') or ''}" if is_object(inside) else name


def _changed(number: int, old: Entry, new: Entry) -> Iterator[str]:
    names = [name for name in (*_WHO, *new, *old) if old.get(name, ABSENT) != new.get(name, ABSENT)]
    first = min(names, key=lambda name: [*_WHO].index(name) if name in _WHO else 4)
    found = [*differences(old.get(first, ABSENT), new.get(first, ABSENT), (first,), (first,))]
    who = _WHO.get(first, f"the agent sent another {first}")
    if first == "messages" and "begins" in new and all("text" in each.path for each in found):
        who = _PROMPT
    subject = _in_other_order(old, new, first) or _subject(old, new, found[0])
    yield f"call {number}: {who}: {subject}"
    for each in islice(found, _MOST):
        yield from (f"  {line}" for line in lines_of(each))
    others = [name for name in dict.fromkeys(names) if name != first]
    if others:
        yield f"  and {', '.join(others)}"


def _in_other_order(old: Entry, new: Entry, name: str) -> str:
    """Return the new order of the blocks of an answer, if it is all that differs; otherwise an empty text."""
    blocks, before = new.get(name), old.get(name)
    is_order = name == "content" and is_array(blocks) and is_array(before)
    if not is_order or sorted(map(canonical, blocks or ())) != sorted(map(canonical, before or ())):
        return ""
    return f"in another order: {', '.join(map(_name, blocks or ()))}"


def _subject(old: Entry, new: Entry, difference: Difference) -> str:
    """Return what differs in a few words: a block with the name of its tool, a tool, or the values themselves."""
    name, *steps = difference.was if difference.new is ABSENT else difference.path
    value: Any = (old if difference.new is ABSENT else new)[str(name)]
    subject = ""
    for step in steps:
        value = value[step]  # pyright: ignore[reportArgumentType]  # a path leads through lists and objects
        if step == "citations":
            subject = "citation"
        elif is_object(value) and {"toolUse", "toolResult"} & value.keys():
            subject = _name(value)
        elif name in ("messages", "content") and is_object(value) and len(value) == 1 and not subject:
            subject = str(next(iter(value)))
    if name == "tools" and steps:
        subject = f"tool {steps[0]}"
    if name == "left_out" and isinstance(value, str):
        return value
    whole = name != "tools" or len(steps) < 2  # not only a part of a tool's spec
    if whole and (difference.new is ABSENT or difference.old is ABSENT):
        return f"{subject or name} is {'gone' if difference.new is ABSENT else 'new'}"
    return subject or str(name)


def asked_line(entry: Entry) -> str:
    """Return a call in one line: what was new in its request, and the answer."""
    blocks = [block_line(block) for message in entry.get("messages", ()) for block in message.get("content", ())]
    asked = " + ".join(blocks) or " ".join(str(entry[name]) for name in ("operation", "modelId") if name in entry)
    return f"{asked or 'nothing new'} -> {answer_line(entry)}"
