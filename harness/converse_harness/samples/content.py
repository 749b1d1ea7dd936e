"""Messages and their blocks: a traveller asks what to pack for Zürich, and the model looks at the forecast."""

from __future__ import annotations

from typing import Any, Final

from converse_harness.samples import tools

TRAVELLER: Final = "Judith Foster"
QUESTION: Final = "What should I pack for two days in Zürich?"
LOOK: Final = "Let me look at the forecast for Zürich."
ANSWER: Final = "Pack a rain jacket: it rains on Saturday, at 12 °C. Sunday will be sunny, at 17 °C."
SYSTEM: Final = "You help travellers. Look at the forecast before you tell them what to pack."


def user_role() -> str:
    """Who asks."""
    return "user"


def text_block() -> dict[str, Any]:
    """A text."""
    return {"text": LOOK}


def message() -> dict[str, Any]:
    """The model looks at the forecast: a text and a tool use. It can be streamed."""
    return {"role": "assistant", "content": [text_block(), {"toolUse": tools.tool_use()}]}


def question() -> dict[str, Any]:
    """What the traveller asks."""
    return {"role": user_role(), "content": [{"text": QUESTION}]}


def tool_message() -> dict[str, Any]:
    """What the tool answers."""
    return {"role": user_role(), "content": [{"toolResult": tools.result()}]}


def answer() -> dict[str, Any]:
    """What the model answers in the end."""
    return {"role": "assistant", "content": [{"text": ANSWER}]}


def messages() -> list[dict[str, Any]]:
    """The whole conversation: the question, the tool use, its result, the answer."""
    return [question(), message(), tool_message(), answer()]


def system_block() -> dict[str, Any]:
    """The system prompt."""
    return {"text": SYSTEM}


def cache_point() -> dict[str, Any]:
    """Up to here the request may be cached."""
    return {"type": "default"}


def guard_text() -> dict[str, Any]:
    """The question, for a guardrail to look at."""
    return {"text": QUESTION, "qualifiers": ["query"]}


def guard_content() -> dict[str, Any]:
    """The same under its tag."""
    return {"text": guard_text()}


def reasoning_text() -> dict[str, Any]:
    """What the model thinks before it looks, signed."""
    return {"text": "They did not say which days. I take the weekend.", "signature": "RXhhbXBsZVNpZ25hdHVyZQ=="}


def reasoning() -> dict[str, Any]:
    """The same under its tag."""
    return {"reasoningText": reasoning_text()}


def start_tool_use() -> dict[str, Any]:
    """The tool use begins."""
    return {"toolUseId": tools.ID, "name": tools.NAME}


def start() -> dict[str, Any]:
    """The same under its tag."""
    return {"toolUse": start_tool_use()}


def delta() -> dict[str, Any]:
    """A piece of a text."""
    return {"text": LOOK[:15]}


def indexed_delta() -> dict[str, Any]:
    """A piece of the block of this index."""
    return {"contentBlockIndex": 0, "delta": delta()}


def stop() -> dict[str, Any]:
    """The block of this index is complete."""
    return {"contentBlockIndex": 0}
