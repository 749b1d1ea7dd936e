"""Whole responses of Converse, as boto3 gives them, without its ResponseMetadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.bedrock.guardrails import in_json
from converse_harness.stream.chunk import default_stop_reason
from converse_strategies import leaves, metadata
from converse_strategies.blocks import Texts
from converse_strategies.message import assistant_messages
from converse_strategies.requests import draw_names
from converse_strategies.streams import stop_reasons_after


@st.composite
def converse_responses(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    max_blocks: int = 3,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
    traces: st.SearchStrategy[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """AWS ConverseResponses: a message, why it stopped, usage that adds up, metrics, and at times the other members.

    `kinds`, `max_blocks` and `texts` are those of `assistant_messages()`; `stop_reasons` are by default all that go
    with the blocks; `traces` are ConverseTraces that every response then has. Raises InvalidArgument, when drawn, for
    an unknown kind.

    >>> from hypothesis import find
    >>> response = find(converse_responses(kinds=["toolUse"]), lambda response: True)
    >>> response["stopReason"], response["usage"]["totalTokens"], list(response["output"]["message"]["content"][0])
    ('tool_use', 0, ['toolUse'])
    """
    message = draw(assistant_messages(kinds=kinds, max_blocks=max_blocks, texts=texts))
    usual = default_stop_reason(message["content"])
    response: dict[str, Any] = {
        "output": {"message": message},
        "stopReason": draw(stop_reasons_after(usual) if stop_reasons is None else stop_reasons),
        "usage": draw(metadata.token_usages()),
        "metrics": draw(metadata.metrics()),
    }
    for name in draw_names(draw, tuple(name for name in _OPTIONAL if bedrock.has_member("ConverseResponse", name))):
        response[name] = draw(_OPTIONAL[name]())
    if "trace" in response:
        response["trace"] = dict(in_json(response["trace"]))
    if traces is not None:
        response["trace"] = draw(traces)
    return response


_OPTIONAL: Final[Mapping[str, Callable[[], st.SearchStrategy[Any]]]] = {
    "performanceConfig": metadata.performance_configs,
    "serviceTier": metadata.service_tiers,
    "additionalModelResponseFields": leaves.json_objects,
    "trace": metadata.traces,
}
