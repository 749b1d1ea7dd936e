"""Cases of what AWS may send tomorrow: events and members that are not in its model today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from converse_harness import reply
from converse_harness.cases.case import Case, Made
from converse_harness.cases.messages import ANSWER, USAGE

_GROWS: Final = "what AWS's API allows itself: it grows without notice"
_IGNORE: Final = "Ignore what is not known, and read the rest."


def _future_text(*before: Mapping[str, Any], **metadata: Any) -> Made:
    """A text with other events before it."""
    events: Sequence[Mapping[str, Any]] = [
        {"messageStart": {"role": "assistant"}},
        *before,
        {"contentBlockDelta": {"contentBlockIndex": len(before) // 2, "delta": {"text": ANSWER}}},
        {"contentBlockStop": {"contentBlockIndex": len(before) // 2}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 300}, **metadata}},
    ]
    return reply.events(events, strict=False)


_STOP: Final = {"contentBlockStop": {"contentBlockIndex": 0}}
_BLOCKS: Final[Mapping[str, tuple[Mapping[str, Any], str]]] = {
    "unknown_delta": (
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"hologram": {"frames": 24}}}},
        "A block has a delta of a kind that is not in AWS's model; a text follows.",
    ),
    "unknown_start": (
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"hologram": {"name": "globe"}}}},
        "A block starts as a kind that is not in AWS's model; a text follows.",
    ),
    "unknown_reasoning": (
        {
            "contentBlockDelta": {
                "contentBlockIndex": 0,
                "delta": {"reasoningContent": {"sketch": "They ask for the weather."}},
            }
        },
        "Reasoning is of a kind that is not in AWS's model; a text follows.",
    ),
}


def future_cases() -> Iterator[Case]:
    """Members and unions; an event of an unknown type is `faults.unknown_event`."""
    for name, (event, sentence) in _BLOCKS.items():
        yield Case(name, sentence, _IGNORE, _GROWS, partial(_future_text, event, _STOP))
    yield Case(
        "unknown_member",
        "The metadata has a member that is not in AWS's model.",
        _IGNORE,
        _GROWS,
        lambda: _future_text(carbon={"grams": 0.3}),
    )
