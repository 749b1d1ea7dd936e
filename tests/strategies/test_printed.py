"""What a failing property prints can be pasted: plain values, no calls of our own functions."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import converse_strategies
from converse_harness import bedrock
from tests.profiles import examples

SCHEMA = {"type": "object", "required": ["a"]}
SPEC = {"name": "n", "inputSchema": {"json": SCHEMA}}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "chunkings": ({"role": "assistant", "content": [{"text": "hello"}]},),
    "invalid_tool_uses": (SPEC,),
    "operation_outputs": ("ApplyGuardrail",),
    "schema_values": (SCHEMA,),
    "tool_inputs": (SPEC,),
}
NOT_PLAIN = {
    "BrokenValue",
    "ChunkedMessage",
    "ConversationMachine",
    "FaultyReply",
    "HostileStream",
    "Refused",
    "broken_values",
    "chunked_messages",
    "conversation_machine",
    "errors",
    "protocol_faults",
    "faulty_replies",
    "hostile_stream_events",
    "refused_requests",
    "replies",
    "stream_errors",
}
NOT_HERE = set[str]() if bedrock.has_shape("AudioBlock") else {"audios"}
PLAIN = sorted(set(dir(converse_strategies)) - NOT_PLAIN - NOT_HERE)


def printed(strategy: st.SearchStrategy[Any], least: int) -> str:
    """The call of a test that fails for values of that size, as hypothesis prints it; nothing if none failed."""

    @given(value=strategy)
    @settings(
        database=None,
        derandomize=True,
        max_examples=examples(2.5),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def fails(value: Any) -> None:
        assert len(repr(value)) < least

    try:
        fails()
    except AssertionError as error:
        (note,) = (note for note in error.__notes__ if "fails(" in note)
        return note[note.index("fails(") :]
    return ""


@pytest.mark.parametrize("name", PLAIN)
def test_a_counterexample_is_plain(name: str) -> None:
    """A small value and, of strategies that have them, two larger ones."""
    strategy = getattr(converse_strategies, name)(*ARGUMENTS.get(name, ()))
    texts = [printed(strategy, least) for least in (0, 60, 200)]
    assert texts[0]
    for text in filter(None, texts):
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        ast.literal_eval(call.keywords[0].value)
