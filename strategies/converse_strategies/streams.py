"""Complete, legal streams of ConverseStream, event by event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import model
from converse_harness.chunking import ByFamily, Cutter, cut_message, default_stop_reason
from converse_harness.families import FAMILIES
from converse_strategies import leaves, metadata
from converse_strategies.blocks import Texts, chosen_kinds, draw_content
from converse_strategies.chunking import DrawnCutter, Event

_ADDITIONAL: Final = "additionalModelResponseFields"
_EXTRA: Final[Mapping[str, Callable[[], st.SearchStrategy[Any]]]] = {
    "performanceConfig": metadata.performance_configs,
    "serviceTier": metadata.service_tiers,
    _ADDITIONAL: leaves.json_objects,
    "trace": metadata.traces,
}
_EXTRAS: Final = st.integers(0, (4 << len(_EXTRA)) - 1)
"""Which of them an answer has: a bit each of what is small enough, and none of them three times out of four."""


@st.composite
def stream_events(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    min_blocks: int = 0,
    max_blocks: int = 4,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
    family: str | None = None,
    traces: st.SearchStrategy[dict[str, Any]] | None = None,
) -> list[Event]:
    """Complete streams that ConverseStream could send, messageStart to metadata, as AWS event dicts.

    `kinds` are the members of ContentBlock to choose from, all that can be streamed if not given; `texts` what texts
    are drawn from; `stop_reasons` what the stop reason is drawn from, by default all that go with the blocks. The
    deltas are cut anywhere, or as a model family does it (`anthropic`, `amazon`, ...: `converse_harness.families`).
    `traces` are ConverseStreamTraces that every stream then has; by default a few have one. There are no exception
    frames, and usage adds up. Raises InvalidArgument, when drawn, for an unknown kind or family.

    >>> from hypothesis import find
    >>> [next(iter(event)) for event in find(stream_events(), lambda events: True)]
    ['messageStart', 'messageStop', 'metadata']
    """
    chosen = chosen_kinds(kinds, f"stream_events(kinds={kinds!r})")
    cutter = _cutter(draw, family)
    content = draw_content(
        draw, chosen, leaves.texts() if texts is None else texts, min_blocks=min_blocks, max_blocks=max_blocks
    )
    reasons = stop_reasons_after(default_stop_reason(content)) if stop_reasons is None else stop_reasons
    return draw_stream(draw, content, cutter, reasons, traces)


def draw_stream(
    draw: st.DrawFn,
    content: list[dict[str, Any]],
    cutter: Cutter,
    reasons: st.SearchStrategy[str],
    traces: st.SearchStrategy[dict[str, Any]] | None = None,
) -> list[Event]:
    """The stream of a content: its blocks, why it stops, and its metadata."""
    events = list(cut_message({"role": "assistant", "content": content}, cutter))
    options = draw_options(draw, traces)
    stop = {"stopReason": draw(reasons)}
    if _ADDITIONAL in options:
        stop[_ADDITIONAL] = options.pop(_ADDITIONAL)
    return [*events, {"messageStop": stop}, {"metadata": options}]


def draw_options(draw: st.DrawFn, traces: st.SearchStrategy[dict[str, Any]] | None = None) -> dict[str, Any]:
    """What a ConverseResponse says beside its message, under its names: usage and metrics always, the rest at times."""
    number = draw(_EXTRAS)
    options: dict[str, Any] = {"usage": draw(metadata.token_usages()), "metrics": draw(metadata.metrics())}
    for bit, (name, values) in enumerate(_EXTRA.items()):
        if number < 1 << len(_EXTRA) and number >> bit & 1 and model.has_member("ConverseResponse", name):
            options[name] = draw(values())
    if traces is not None:
        options["trace"] = draw(traces)
    return options


def _cutter(draw: st.DrawFn, family: str | None) -> Cutter:
    if family is None:
        return DrawnCutter(draw)
    if family not in FAMILIES:
        raise InvalidArgument(
            f"stream_events(family={family!r}) is no model family. One of: {', '.join(FAMILIES)}; None cuts anywhere."
        )
    return ByFamily(FAMILIES[family], {})


@cache
def stop_reasons_after(usual: str) -> st.SearchStrategy[str]:
    """Why a stream may stop, the usual first: `tool_use` only with a client's tool, and then never `end_turn`."""
    other = {"end_turn": "tool_use", "tool_use": "end_turn"}[usual]
    return st.sampled_from([usual, *(name for name in model.enum("StopReason") if name not in (usual, other))])
