"""How the rows of the tables of `case_outcomes` are written: what many of them have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tests.clients.case_runs import UNTIL_IT_GIVES_UP, Made, Row

ANSWER: Final = "18 °C and sunny in Zürich."
PART: Final = "18 °C and sunny"
BLOCKED: Final = "Sorry, the model cannot answer this question."
THOUGHT: Final = "They ask for the weather. I know it already."
WEATHER: Final = ("get_weather", '{"city": "Zürich"}')
IN_BERN: Final = ("get_weather", '{"city": "Bern"}')

ASKED: Final = 378
"""The tokens of the question, as the fake estimates them where a case does not say its usage."""

SAID: Final = (10, 5)
"""The usage of the cases that say it."""

USED: Final = (ASKED, 8)
"""That of ANSWER."""

WORDS: Final = "MS D0x2 CE0 ST MD"
"""The stream of ANSWER as Claude sends it."""


def alike(stream: Made, **whole: Any) -> Row:
    """A whole answer that differs from the stream in these members, if any, and is no stream."""
    return Row(stream, replace(stream, flow="", **whole))


def in_stream(text: str = ANSWER, **members: Any) -> Row:
    """What only a stream can be; it ends as ANSWER does unless it is said."""
    return Row(Made(text, **{"stop": "end_turn", "usage": USED, **members}), None)


def cut(text: str = PART, **members: Any) -> Row:
    """A stream that ends early, four words in if nothing else is said."""
    return in_stream(text, **{"stop": None, "usage": None, "flow": "MS D0x4", **members})


def said(text: str = ANSWER, flow: str = WORDS, **members: Any) -> Row:
    """An answer that is as it should be."""
    return alike(Made(text, **{"stop": "end_turn", "usage": USED, "flow": flow, **members}))


def asks(*tools: tuple[str, str], flow: str, whole: tuple[tuple[str, str], ...] | None = None, **members: Any) -> Row:
    """An answer that asks for tools; `whole` are those of a whole answer, if they look otherwise."""
    return alike(
        Made(tools=tools, flow=flow, **{"stop": "tool_use", "usage": (ASKED, 19), **members}), tools=whole or tools
    )


def refused(error: str, *, raised: str | None = None, again: int = 0) -> Row:
    """An error before the stream; its class has its name where it is in AWS's API model of the operation."""
    return alike(Made(error=error, raised=raised or error, again=again))


def repeated(error: str) -> Row:
    """One for which botocore asks again."""
    return refused(error, again=UNTIL_IT_GIVES_UP)


def unmodelled(error: str) -> Row:
    """One that has no class."""
    return refused(error, raised="ClientError")


def breaks(text: str, raised: str, **members: Any) -> Row:
    """A stream that ends with an error of botocore's own."""
    return in_stream(text, **{"stop": None, "usage": None, "error": raised, "raised": raised, **members})


def fails(text: str, error: str, whole: Made, **members: Any) -> Row:
    """An exception frame: in a stream one class for all of them, and botocore never asks again."""
    return Row(Made(text, error=error, raised="EventStreamError", **members), whole)
