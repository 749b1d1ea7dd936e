"""A tool loop of three turns and a question after it: whatever a client makes of the answers, it sends them back."""

from __future__ import annotations

from typing import Any, Final

from converse_harness import Fake, reply

MODEL: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
QUESTION: Final = "What is it like in Zürich and in Bern?"
THANKS: Final = "Thanks, and tomorrow?"
TOOL: Final = "get_weather"
WEATHER: Final = "18 °C and sunny."

_TEXT: Final = {"text": "I look up both cities, one moment."}
_BOTH: Final = tuple({"toolUse": {"name": TOOL, "input": {"city": city}}} for city in ("Zürich", "Bern"))
_THOUGHT: Final = {"reasoningContent": {"reasoningText": {"text": "Two cities.", "signature": "EqoBCkYIBBgCIkDh"}}}

ANSWERS: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "text and tool uses": (_TEXT, *_BOTH),
    "tool uses alone": _BOTH,
    "reasoning": (_THOUGHT, _TEXT, *_BOTH),
}
"""What the first answer can be."""


def answer(fake: Fake, first: str) -> None:
    """Script the loop, the answer and what is said to the question after it."""
    fake.script(
        reply.message(*ANSWERS[first]),
        reply.message({"text": "Zürich once more:\n\n"}, _BOTH[0]),
        reply.message({"text": " It is **sunny** in both cities, 18 °C. \n"}),
        reply.text("The same."),
    )


def check(fake: Fake) -> None:
    """Every request goes on from the answer before, and nothing is said of any."""
    assert [note.text for note in fake.notes if note.kind.startswith("history_")] == []
    parents = [call.parent.number if call.parent is not None else None for call in fake.calls]
    assert parents == [None, 1, 2, 3]
