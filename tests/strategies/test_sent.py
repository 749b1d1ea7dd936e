"""Drawn answers are what AWS sends, by rules written by hand, and each rule can be broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from converse_harness import Response, assemble
from converse_strategies import chunked_messages, converse_responses, replies, stream_events
from converse_strategies.requests import responses
from tests.profiles import examples
from tests.strategies.sent import SENT, never_sent


def as_response(response: Response) -> dict[str, Any]:
    whole: dict[str, Any] = {"output": {"message": response.message}, "stopReason": response.stop_reason}
    return {**whole, "usage": response.usage or USAGE, **({"trace": response.trace} if response.trace else {})}


USAGE = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
STRATEGIES: Mapping[str, st.SearchStrategy[dict[str, Any]]] = {
    "stream_events": stream_events().map(assemble).map(as_response),
    "stream_events of Claude": stream_events(family="claude").map(assemble).map(as_response),
    "stream_events of Nova": stream_events(family="nova").map(assemble).map(as_response),
    "chunked_messages": chunked_messages().map(lambda case: as_response(assemble(case.events))),
    "replies": replies().map(lambda reply: as_response(assemble(reply.events()))),
    "converse_responses": converse_responses(),
    "responses": responses().map(as_response),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_drawn_answer_is_one_that_aws_sends(name: str) -> None:
    @settings(
        max_examples=examples(5), phases=[Phase.generate, Phase.shrink], suppress_health_check=[HealthCheck.too_slow]
    )
    @given(answer=STRATEGIES[name])
    def sent(answer: dict[str, Any]) -> None:
        assert never_sent(answer) == []

    sent()


TOOL: dict[str, Any] = {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}
SERVER: dict[str, Any] = {
    "toolUse": {"toolUseId": "t", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}
}
SIGNED = {"reasoningContent": {"reasoningText": {"text": "0", "signature": "MA=="}}}
WEB = {"citationsContent": {"citations": [{"location": {"web": {"url": "https://example.com/", "domain": "0"}}}]}}
PAGE = {"citationsContent": {"citations": [{"location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}}]}}
IMAGE = {"image": {"format": "png", "source": {"bytes": b"0"}}}


def answer(*content: Any, stop: str = "end_turn", usage: Any = USAGE, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": [*content]}
    return {"output": {"message": message}, "stopReason": stop, "usage": usage, **more}


def assessed(action: str) -> Any:
    found = {"topicPolicy": {"topics": [{"name": "0", "type": "DENY", "action": action}]}}
    return {"guardrail": {"outputAssessments": {"id": [found]}}}


BROKEN: Mapping[str, dict[str, Any]] = {
    "tokens_are_counted": answer(usage={"inputTokens": 1, "outputTokens": 0, "totalTokens": 1}),
    "tokens_add_up": answer(usage={**USAGE, "totalTokens": 3}),
    "cache_details_add_up": answer(
        usage={
            **USAGE,
            "cacheWriteInputTokens": 2,
            "totalTokens": 4,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 1}],
        }
    ),
    "counts_are_repeated": answer(usage={**USAGE, "cacheReadInputTokens": 0, "cacheReadInputTokenCount": 1}),
    "tool_use_stops_for_a_tool": answer({"text": "0"}, stop="tool_use"),
    "a_tool_does_not_end_the_turn": answer(TOOL),
    "tools_are_typed_alike": answer(
        TOOL, {"toolUse": {**TOOL["toolUse"], "toolUseId": "u", "type": "tool_use"}}, stop="max_tokens"
    ),
    "a_malformed_tool_use_has_a_tool": answer(stop="malformed_tool_use"),
    "signatures_and_server_tools": answer(SIGNED, SERVER),
    "signatures_and_images": answer(SIGNED, IMAGE),
    "citations_of_one_sort": answer(WEB, PAGE),
    "documents_and_server_tools": answer(SERVER, PAGE),
    "signatures_and_the_web": answer(SIGNED, WEB),
    "blocked_is_intervened": answer(trace=assessed("BLOCKED")),
    "anonymized_is_intervened": answer(trace=assessed("ANONYMIZED")),
    "server_tools_are_answered": answer({"toolResult": {"toolUseId": "t", "content": []}}),
    "ids_differ": answer(SERVER, SERVER),
    "an_image_has_bytes": answer({"image": {"format": "png", "source": {}}}),
}


@pytest.mark.parametrize("rule", SENT, ids=lambda rule: rule.name)
def test_a_rule_can_be_broken(rule: Any) -> None:
    assert never_sent(BROKEN[rule.name]) == [rule.name]
