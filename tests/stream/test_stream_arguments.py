"""Wrong arguments of `chunk`, `assemble` and of `pieces`: each is named, with what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from converse_harness import ReplyError, assemble, chunk, reply
from converse_harness.bedrock.families import FAMILIES

MESSAGE = {"role": "assistant", "content": [{"text": "ab"}]}
START = {"messageStart": {"role": "assistant"}}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: chunk({**MESSAGE, "content": [{"reasoningContent": {"text": "x"}}]}), "unknown member 'text'"),
        (lambda: chunk({**MESSAGE, "role": "system"}), "message.role is 'system'"),
        (lambda: chunk(MESSAGE, stop_reason="done"), "stop_reason is 'done'"),
        (lambda: chunk(MESSAGE, usage={"inputTokens": "1"}), "usage.inputTokens is '1'"),
        (lambda: chunk(MESSAGE, usage={"tokens": 1}), "usage has the unknown member 'tokens'"),
        (lambda: chunk(MESSAGE, metrics={"latencyMs": "1"}), "metrics.latencyMs is '1'"),
        (lambda: assemble([{"messageStart": None}]), "events[0].messageStart is None"),
        (
            lambda: assemble([START, {"contentBlockDelta": {"contentBlockIndex": "0", "delta": {"text": "a"}}}]),
            "contentBlockIndex '0', which is no int but a str; the next block is 0",
        ),
        (lambda: assemble(cast("Any", {"stream": []})), 'assemble(response["stream"])'),
        (lambda: assemble(cast("Any", reply.text("x"))), "assemble(answer.events())"),
        (lambda: reply.text("ab", pieces=["a"]), "pieces is ['a']; joined"),
        (lambda: reply.reasoning("ab", "c", pieces=["a"]), "pieces is ['a']; joined"),
        (lambda: reply.tool_use("f", {"a": 1}, text="c", pieces=["{}"]), "pieces is ['{}']; joined"),
        (lambda: reply.text("ab").events(cast("Any", "claud")), "events(family='claud'): it must be one of "),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ReplyError) as caught:
        call()
    assert said in str(caught.value)
    assert "_Draft" not in str(caught.value)


def test_events_takes_the_name_of_a_family() -> None:
    answer = reply.text("18 degrees and sunny in the city")
    assert list(answer.events("claude")) == list(answer.events(FAMILIES["claude"]))
