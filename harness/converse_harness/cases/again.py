"""Cases of an answer that breaks off, and of the whole answer that follows if the consumer asks again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

from converse_harness import faults, reply
from converse_harness.cases.case import MEASURED, MODEL, NETWORK, RECORDED, Case, Made
from converse_harness.cases.messages import ANSWER
from converse_harness.cases.tools import TOOL
from converse_harness.faults.model import Fault
from converse_harness.reply.reply import Reply

_LATER: Final = "20 °C and cloudy in Zürich."
_MUST: Final = "Ask again and return exactly the second answer: no text of the first one, each tool once; or fail."


class _BrokenFirst(NamedTuple):
    """The first answer of a case: a clause that describes it, its source, and the function that makes it.

    `asks_for_tool` is true if the answer asks for a tool; the second answer then asks for the same tool.
    """

    clause: str
    source: str
    make: Callable[[], Reply]
    asks_for_tool: bool = False


def _text(fault: Fault) -> Reply:
    return reply.text(ANSWER).broken(fault)


def _tool() -> Reply:
    return reply.message({"text": "Let me look."}, {"toolUse": {"name": TOOL, "input": {"city": "Zürich"}}})


_FIRST: Final[Mapping[str, _BrokenFirst]] = {
    "again_unfinished": _BrokenFirst("lacks its messageStop", MEASURED, partial(_text, faults.no_message_stop)),
    "again_half_text": _BrokenFirst("ends in the middle of the text", MEASURED, partial(_text, faults.cut_off)),
    "again_half_frame": _BrokenFirst("ends in the middle of a frame", MEASURED, partial(_text, faults.truncated_frame)),
    "again_lost_connection": _BrokenFirst("ends with a reset connection", NETWORK, partial(_text, faults.reset)),
    "again_busy": _BrokenFirst(
        "fails with throttlingException in the middle",
        MODEL,
        lambda: reply.text(ANSWER).fails_after(3, "throttlingException"),
    ),
    "again_model_failed": _BrokenFirst(
        "fails with modelStreamErrorException in the middle",
        RECORDED,
        lambda: reply.text(ANSWER).fails_after(3, "modelStreamErrorException"),
    ),
    "again_half_input": _BrokenFirst(
        "ends in the middle of a tool's input", MEASURED, lambda: _tool().broken(faults.cut_in_tool_input), True
    ),
    "again_after_tool": _BrokenFirst(
        "ends after a whole tool use", MEASURED, lambda: _tool().broken(faults.no_message_stop), True
    ),
}
"""Maps the name of a case to its first answer."""


def again_cases() -> Iterator[Case]:
    """Yield one case for each answer of `_FIRST`: this answer, then a whole one."""
    for name, first in _FIRST.items():
        yield Case(
            name,
            f"The first answer {first.clause}; the next call gets a whole answer.",
            _MUST,
            first.source,
            partial(_made, first),
        )


def _made(first: _BrokenFirst) -> Made:
    return first.make(), _tool() if first.asks_for_tool else reply.text(_LATER)
