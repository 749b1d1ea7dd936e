"""What hypothesis is told about drawn values: events for its statistics, and numbers that its search makes larger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from hypothesis import currently_in_test_context, event, target
from hypothesis.errors import InvalidArgument

_CHARACTERS: Final = ((0, "empty"), (50, "up to 50"), (1000, "51 to 1,000"))
_MEMBERS: Final = ((0, "none"), (2, "1 or 2"), (15, "3 to 15"))


def tell(*labels: str) -> None:
    """Count the labels in the statistics of the test: `pytest --hypothesis-show-statistics` prints them."""
    if currently_in_test_context():
        for label in labels:
            event(label)


def tell_answer(content: Sequence[Mapping[str, Any]], stop_reason: str | None = None) -> None:
    """Tell the kinds of an answer's blocks, the size of its longest text and largest tool input, and how it ends."""
    labels = dict.fromkeys(f"block: {next(iter(block))}" for block in content) or {"block: none": None}
    texts = [len(block["text"]) for block in content if "text" in block]
    inputs = [len(block["toolUse"]["input"]) for block in content if "toolUse" in block]
    if texts:
        labels[f"characters of a text: {_class_of(max(texts), _CHARACTERS)}"] = None
    if inputs:
        labels[f"arguments of a tool: {_class_of(max(inputs), _MEMBERS)}"] = None
    if stop_reason is not None:
        labels[f"stop reason: {stop_reason}"] = None
    tell(*labels)


def _class_of(number: int, classes: Iterable[tuple[int, str]]) -> str:
    last = 0
    for last, words in classes:
        if number <= last:
            return words
    return f"more than {last:,}"


def _characters(events: Iterable[Mapping[str, Any]]) -> int:
    deltas = (each["contentBlockDelta"]["delta"] for each in events if "contentBlockDelta" in each)
    return sum(len(delta.get("text", "")) + len(delta.get("toolUse", {}).get("input", "")) for delta in deltas)


AIMS: Final[Mapping[str, Callable[[Sequence[Mapping[str, Any]]], int]]] = {
    "events": len,
    "blocks": lambda events: sum("contentBlockStop" in each for each in events),
    "characters": _characters,
}
"""Value of the argument `target` -> function that counts what shall become larger in a stream."""


def aim(name: str | None, events: Iterable[Mapping[str, Any]]) -> None:
    """Let hypothesis search for streams with more of `name`, a key of `AIMS`. Of several only the first counts."""
    if name is None or not currently_in_test_context():
        return
    try:
        target(AIMS[name]([*events]), label=f"{name} of a stream")
    except InvalidArgument:  # hypothesis takes one number for each label
        return
