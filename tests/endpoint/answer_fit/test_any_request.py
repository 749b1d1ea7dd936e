"""Whatever a request has, comparing an answer with it raises nothing: the fake without rules answers it."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from converse_harness.bedrock.fit import misfits_of, used_of
from converse_harness.bedrock.rules import RuleRequest
from converse_harness.reply.answer import answer_of
from converse_strategies import replies
from tests.strategies.conftest import as_drawn

ANY: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(("", "a", "enabled", "look")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("a", "name")), inner, max_size=3),
    max_leaves=6,
)
PATHS: Final = (
    ("toolConfig",),
    ("toolConfig", "tools"),
    ("toolConfig", "tools", 0),
    ("toolConfig", "tools", 0, "toolSpec"),
    ("toolConfig", "tools", 0, "toolSpec", "name"),
    ("toolConfig", "tools", 0, "toolSpec", "inputSchema"),
    ("toolConfig", "tools", 0, "toolSpec", "inputSchema", "json"),
    ("toolConfig", "tools", 0, "toolSpec", "inputSchema", "json", "properties"),
    ("toolConfig", "tools", 0, "toolSpec", "inputSchema", "json", "required"),
    ("toolConfig", "tools", 1, "systemTool"),
    ("toolConfig", "toolChoice"),
    ("toolConfig", "toolChoice", "tool"),
    ("inferenceConfig",),
    ("inferenceConfig", "maxTokens"),
    ("inferenceConfig", "stopSequences"),
    ("guardrailConfig",),
    ("guardrailConfig", "trace"),
    ("guardrailConfig", "guardrailIdentifier"),
    ("additionalModelRequestFields",),
    ("additionalModelRequestFields", "thinking"),
    ("additionalModelRequestFields", "tools"),
    ("additionalModelRequestFields", "output_config"),
    ("additionalModelRequestFields", "tool_choice"),
    ("additionalModelResponseFieldPaths",),
    ("outputConfig",),
    ("outputConfig", "textFormat"),
    ("outputConfig", "textFormat", "structure", "jsonSchema", "schema"),
    ("serviceTier",),
    ("performanceConfig",),
    ("system",),
    ("messages", 0, "content", 0, "document"),
    ("messages", 0, "content", 0, "document", "source"),
    ("messages", 0, "content", 0, "document", "citations"),
    ("messages", 0, "content", 1, "guardContent"),
    ("messages", 0, "content", 2, "cachePoint"),
    ("messages", 1, "content", 0, "toolUse"),
    ("messages", 1, "content", 1, "text"),
)
"""The places of a request that the rows read."""

MODELS: Final = ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-2-lite-v1:0", "m")


def whole() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    return {
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "document": {
                            "name": "a",
                            "format": "txt",
                            "source": {"text": "a"},
                            "citations": {"enabled": True},
                        }
                    },
                    {"guardContent": {"text": {"text": "a", "qualifiers": ["query"]}}},
                    {"cachePoint": {"type": "default"}},
                ],
            },
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "look"}}, {"text": "a"}]},
        ],
        "system": [{"cachePoint": {"type": "default"}}],
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "look", "inputSchema": {"json": schema}}},
                {"systemTool": {"name": "nova_grounding"}},
            ],
            "toolChoice": {"tool": {"name": "look"}},
        },
        "inferenceConfig": {"maxTokens": 4, "stopSequences": ["a"]},
        "guardrailConfig": {"guardrailIdentifier": "a", "guardrailVersion": "1", "trace": "enabled"},
        "additionalModelRequestFields": {
            "thinking": {"type": "enabled"},
            "tools": [{"name": "computer"}],
            "output_config": {"format": {"schema": schema}},
            "tool_choice": {"disable_parallel_tool_use": True},
        },
        "additionalModelResponseFieldPaths": ["/a"],
        "outputConfig": {"textFormat": {"structure": {"jsonSchema": {"schema": "{}"}}}},
        "serviceTier": {"type": "flex"},
        "performanceConfig": {"latency": "optimized"},
    }


@as_drawn(10)
@given(
    places=st.lists(st.tuples(st.sampled_from(PATHS), ANY), max_size=3),
    answer=replies(),
    model=st.sampled_from(MODELS),
    operation=st.sampled_from(("Converse", "ConverseStream")),
)
def test_no_request_is_an_error(places: list[Any], answer: Any, model: str, operation: str) -> None:
    body = whole()
    for path, value in places:
        place: Any = body
        try:
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
        except (LookupError, TypeError):  # an earlier change has taken the place away
            continue
    asked, read = RuleRequest(operation, model, body), answer_of(answer.plan.body)
    if read is not None:
        assert all(misfit.text for misfit in misfits_of(asked, read))
        assert all(isinstance(path, str) for path in used_of(asked, read))
