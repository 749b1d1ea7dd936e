"""`replies(for_request=...)` draws only answers that fit the request, and all kinds of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import pytest
from hypothesis import given, settings

from converse_harness import Reply, fake_converse
from converse_harness.bedrock import has_member
from converse_harness.intercept.clients import create_client
from converse_strategies import converse_requests, replies
from tests.profiles import examples
from tests.strategies.conftest import as_drawn, found

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SCHEMA: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Final = [{"toolSpec": {"name": name, "inputSchema": {"json": SCHEMA}}} for name in ("look", "pay")]
DOCUMENT: Final = {
    "format": "txt",
    "name": "policy",
    "source": {"text": "Twenty days."},
    "citations": {"enabled": True},
}
FORMAT: Final = {"type": "json_schema", "structure": {"jsonSchema": {"name": "a", "schema": json.dumps(SCHEMA)}}}


USED: Final = "tooluse_aaaaaaaaaaaaaaaaaaaaaa"
"""The smallest id that is drawn."""


def asking(*blocks: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"modelId": SONNET, "messages": [{"role": "user", "content": [*blocks, {"text": "?"}]}], **more}


REQUESTS: Final = {
    "nothing": asking(),
    "tools": asking(toolConfig={"tools": TOOLS}),
    "a forced tool": asking(toolConfig={"tools": TOOLS, "toolChoice": {"tool": {"name": "pay"}}}),
    "thinking": asking(additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    "a document": asking({"document": DOCUMENT}),
    **(
        {"a format": asking(outputConfig={"textFormat": FORMAT})}
        if has_member("ConverseRequest", "outputConfig")
        else {}
    ),
    "a model that does not sign": {**asking(), "modelId": "us.deepseek.r1-v1:0"},
    "an earlier use": {
        **asking(toolConfig={"tools": TOOLS}),
        "messages": [
            *asking()["messages"],
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": USED, "name": "look", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": USED, "content": [{"text": "?"}]}}]},
        ],
    },
    "a small limit": asking(inferenceConfig={"maxTokens": 1}),
    "a guardrail": asking(
        guardrailConfig={"guardrailIdentifier": "abcdefghijkl", "guardrailVersion": "1", "trace": "enabled"}
    ),
}
KINDS: Final = {
    "nothing": {"text"},
    "tools": {"text", "toolUse"},
    "a forced tool": {"toolUse"},
    "thinking": {"text", "reasoningContent"},
    "a document": {"text", "citationsContent"},
    "a format": {"text"},
    "a model that does not sign": {"text", "reasoningContent"},
    "an earlier use": {"text", "toolUse"},
    "a small limit": {"text"},
    "a guardrail": {"text"},
}
"""The kinds of blocks that answers to these requests have."""


def kinds_of(answer: Reply) -> set[str]:
    """The kinds of an answer's blocks, read from its events."""
    starts = [event["contentBlockStart"]["start"] for event in answer.events() if "contentBlockStart" in event]
    deltas = [event["contentBlockDelta"]["delta"] for event in answer.events() if "contentBlockDelta" in event]
    cited = {"citationsContent" for each in deltas if "citation" in each}
    plain = {kind for each in deltas for kind in each if kind in ("text", "reasoningContent")}
    return {kind for each in starts for kind in each} | cited | plain


def notes_of(request: Mapping[str, Any], answer: Reply) -> list[str]:
    with fake_converse(answer, rules="off", answers="default") as fake:
        for _ in create_client().converse_stream(**request)["stream"]:
            pass
    return [note.kind for note in fake.notes]


@pytest.mark.parametrize("name", REQUESTS)
def test_what_is_drawn_for_a_request_fits_it(name: str) -> None:
    @given(answer=replies(for_request=REQUESTS[name]))
    @settings(max_examples=examples(0.3))
    def fits(answer: Reply) -> None:
        assert notes_of(REQUESTS[name], answer) == []
        assert kinds_of(answer) <= KINDS[name]

    fits()


def has_kind(kind: str, answer: Reply) -> bool:
    return kind in kinds_of(answer)


@pytest.mark.parametrize("name", REQUESTS)
def test_each_kind_that_fits_is_drawn(name: str) -> None:
    for kind in KINDS[name]:
        assert found(replies(for_request=REQUESTS[name]), partial(has_kind, kind)) is not None


@as_drawn(3)
@given(
    data=converse_requests(stream=True).flatmap(
        lambda request: replies(for_request=request).map(lambda a: (request, a))
    )
)
def test_what_is_drawn_fits_any_request(data: tuple[dict[str, Any], Reply]) -> None:
    assert notes_of(*data) == []


def test_without_a_request_nothing_is_noted() -> None:
    answer = found(replies(), lambda answer: "toolUse" in kinds_of(answer))
    assert notes_of(REQUESTS["nothing"], answer) == []
