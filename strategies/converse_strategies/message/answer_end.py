"""The end of an answer: the stop reason, the token usage, and the members that only some answers have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from hypothesis.errors import InvalidArgument

from converse_harness import bedrock
from converse_harness.stream.chunk import default_stop_reason
from converse_strategies import basics
from converse_strategies.basics import sampled
from converse_strategies.message import metadata
from converse_strategies.message.blocks import Block
from converse_strategies.message.guardrails import has_intervened

if TYPE_CHECKING:
    from hypothesis import strategies as st

ADDITIONAL: Final = "additionalModelResponseFields"
_EXTRA: Final[Mapping[str, Callable[[], st.SearchStrategy[Any]]]] = {
    "performanceConfig": metadata.performance_configs,
    "serviceTier": metadata.service_tiers,
    ADDITIONAL: basics.json_objects,
    "trace": metadata.traces,
}
"""Strategies for members of ConverseResponse that only some answers have."""

_EXTRA_BELOW: Final = 32
_SENT_BELOW: Final = 64
"""The first byte of the argument `tail` of `read_options` selects members of `_EXTRA` if it is below `_EXTRA_BELOW`.
From there to `_SENT_BELOW` it selects one of the `additionalModelResponseFields` in `_SENT`.
"""

_SENT: Final[Sequence[dict[str, Any]]] = ({}, {"stop_sequence": None}, {"delta": {"stop_sequence": None}})
"""`additionalModelResponseFields`: empty, or as recorded of Claude in answers of Converse and of ConverseStream."""

TAIL_SIZE: Final = 1 + metadata.USAGE_SIZE + 2
"""The number of bytes in the argument `tail` of `read_options`."""


def read_options(
    draw: st.DrawFn, tail: bytes, traces: st.SearchStrategy[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Draw the members of a ConverseResponse besides the message: always usage and metrics, sometimes other members.

    Each of the four lowest bits of the first byte of `tail` selects one member of `_EXTRA`; in seven of eight draws
    this byte is 32 or more and selects none of them. The next bytes are the usage; the last two are the latency in
    milliseconds. `traces` is a strategy for the trace; if it is given, the result always has a trace.
    """
    chosen = tail[0] if tail[0] < _EXTRA_BELOW else 0
    options: dict[str, Any] = {
        "usage": metadata.read_usage(tail[1:-2]),
        "metrics": {"latencyMs": int.from_bytes(tail[-2:], "big")},
    }
    if _EXTRA_BELOW <= tail[0] < _SENT_BELOW:
        options[ADDITIONAL] = deepcopy(_SENT[tail[0] % len(_SENT)])
    for bit, (name, values) in enumerate(_EXTRA.items()):
        if chosen >> bit & 1 and bedrock.has_member("ConverseResponse", name):
            options[name] = draw(values())
    if traces is not None:
        options["trace"] = draw(traces)
    return options


def draw_stop_reason(
    draw: st.DrawFn,
    function: str,
    content: Sequence[Block],
    options: dict[str, Any],
    stop_reasons: st.SearchStrategy[str] | None,
    traces: st.SearchStrategy[dict[str, Any]] | None,
) -> str:
    """Draw a stop reason that is possible after the blocks in `content` and with the trace in `options`.

    If `stop_reasons` is given, the reason is drawn from it and never changed. If that reason contradicts the trace, the
    trace is removed from `options`, unless the user gave `traces`. Raises InvalidArgument for a reason that AWS's API
    model does not have; the message begins with `function`.
    """
    intervened = has_intervened(options.get("trace", {}).get("guardrail", {}))
    if stop_reasons is None:
        if intervened:
            return "guardrail_intervened"
        return draw(sampled(stop_reasons_after(default_stop_reason(content))))
    reason = draw(stop_reasons)
    known = bedrock.enum("StopReason")
    if reason not in known:
        raise InvalidArgument(
            f"{function}(stop_reasons=...): {reason!r} is no stop reason of AWS's API model. Give a strategy for some "
            f"of: {', '.join(known)}."
        )
    if intervened and traces is None and reason != "guardrail_intervened":
        del options["trace"]
    return reason


_TURN: Final = ("end_turn", "tool_use")
_OFTEN: Final[Mapping[str, Mapping[str, int]]] = {
    "end_turn": {"max_tokens": 28, "guardrail_intervened": 35, "malformed_tool_use": 0, "": 14},
    "tool_use": {"max_tokens": 32, "": 16},
}
"""Usual stop reason -> another one -> how many of 300 answers stop for it. The empty name stands for all others.
Recorded: `max_tokens` in 15 % of the streams, `guardrail_intervened` in 12 %.
"""

_ANSWERS: Final = 300


@cache
def stop_reasons_after(usual: str) -> tuple[str, ...]:
    """Stop reasons, each as often as it is drawn: `usual`, then all of AWS's API model except `end_turn`, `tool_use`
    and, unless `usual` is `tool_use`, `malformed_tool_use`.

    The first are the same for both usual ones: so a reason stays when hypothesis leaves out the answer's tool use.
    """
    often = _OFTEN[usual]
    others = {name: often.get(name, often[""]) for name in bedrock.enum("StopReason") if name not in _TURN}
    first = [usual, *(name if number else usual for name, number in others.items())]
    more = [name for name, number in others.items() for _ in range(number - 1)]
    return (*first, *more, *[usual] * (_ANSWERS - len(first) - len(more)))
