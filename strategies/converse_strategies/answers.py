"""Whole Reply values, ready to script."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st

from converse_harness import reply
from converse_harness.reply.reply import Reply
from converse_harness.stream.chunk import default_stop_reason
from converse_strategies import leaves
from converse_strategies.blocks import Texts, contents, streamable
from converse_strategies.choices import chosen
from converse_strategies.streams import draw_options, stop_reasons_after, stream_events


@st.composite
def replies(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    max_blocks: int = 3,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
) -> Reply:
    """Answers of an assistant as Reply values, ready for `script`, `fake_converse` and `converse_server.script`.

    Half of them are messages, cut as the model family of the request does it; half are exact events, cut anywhere. The
    arguments are those of `stream_events`. Errors, pauses and breaches are added to one by its own methods:
    `replies().map(lambda reply: reply.fails_after(1, "throttlingException"))`.

    >>> from hypothesis import find
    >>> find(replies(kinds=["text"]), lambda reply: "text" in reply.summary)
    <Reply text "">
    """
    if draw(st.booleans()):
        events = stream_events(kinds=kinds, max_blocks=max_blocks, texts=texts, stop_reasons=stop_reasons)
        return reply.events(draw(events))
    wanted = chosen("replies", "kinds", kinds, streamable())
    content = draw(contents(wanted, leaves.texts() if texts is None else texts, 1, max_blocks))
    usual = default_stop_reason(content)
    reason = draw(stop_reasons_after(usual) if stop_reasons is None else stop_reasons)
    options = draw_options(draw)
    return reply.message(
        *content,
        stop_reason=reason,
        usage=options["usage"],
        metrics=options["metrics"],
        trace=options.get("trace"),
        additional=options.get("additionalModelResponseFields"),
        performance_config=options.get("performanceConfig"),
        service_tier=options.get("serviceTier"),
    )
