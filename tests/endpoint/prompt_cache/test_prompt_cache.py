"""The prompt cache of one fake: what a call reads was written by another one with the same blocks before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, cast
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply, fake_converse, reply
from converse_harness.bedrock.models import MODELS, Model
from converse_harness.endpoint.call import Answered, Call
from converse_harness.endpoint.prompt_cache.cache import PromptCache
from converse_harness.intercept.clients import create_client
from converse_harness.stream.chunk import estimate_tokens
from converse_harness.stream.http import Request
from tests.endpoint.test_endpoint import usage_with

SONNET = "us.anthropic.claude-sonnet-4-6"
NOVA = "us.amazon.nova-lite-v1:0"
POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}
LONG = {"text": "Be brief. " * 500}
Json = dict[str, Any]
Used = tuple[int, int, int]


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def text(tokens: int) -> Json:
    """A text block of as many tokens."""
    return {"text": "x" * 4 * (tokens - 1)}


class Session:
    """Calls to one fake that answers everything."""

    def __init__(self, *replies: Reply) -> None:
        self.endpoint = Endpoint(*replies, rules="off")
        self.endpoint.script.fallback.add([reply.text("ok")], endless=True)

    def __call__(
        self,
        messages: Sequence[Json] = (),
        system: Sequence[Json] = (),
        tools: Sequence[Json] = (),
        *,
        model: str = SONNET,
        operation: str = "converse-stream",
    ) -> Used:
        """What the usage of the answer says: tokens read, written, and neither."""
        body: Json = {"messages": list(messages) or [user({"text": "Hello?"})], "system": list(system)}
        if tools:
            body["toolConfig"] = {"tools": list(tools)}
        path = f"/model/{quote(model, safe='')}/{operation}"
        exchange = self.endpoint.exchange(Request("POST", path, (), json.dumps(body).encode()))
        exchange.taken.extend(exchange.response.chunks)
        response = exchange.call.response
        usage = response.usage if response is not None and response.usage is not None else {}
        self.details: list[Json] | None = usage.get("cacheDetails")
        return (
            usage.get("cacheReadInputTokens", 0),
            usage.get("cacheWriteInputTokens", 0),
            usage.get("inputTokens", 0),
        )


@pytest.mark.parametrize(
    ("operation", "model_id", "keys"),
    [
        ("converse-stream", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", ["Read", "Write"]),
        ("converse-stream", NOVA, ["Read", "Write"]),
        ("converse", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", ["Read", "Write"]),
        ("converse", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", ["Read", "Write", "Details"]),
        ("converse", "us.anthropic.claude-sonnet-5", ["Read", "Write", "Details"]),
        ("converse", NOVA, ["Read", "Write"]),
    ],
)
def test_the_usage_of_a_request_with_a_point_comes_as_it_is_recorded_to_come(
    operation: str, model_id: str, keys: list[str]
) -> None:
    usage = usage_with(operation, model_id, keys, {"text": "You are terse. " * 400}, POINT)
    assert usage["cacheWriteInputTokens"] > 100
    if "Details" in keys:
        assert usage["cacheDetails"] == [{"inputTokens": usage["cacheWriteInputTokens"], "ttl": "5m"}]


def test_the_details_of_a_write_say_how_long_it_is_kept() -> None:
    ask = Session()
    hour = {"cachePoint": {"type": "default", "ttl": "1h"}}
    tools = [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}, "description": "x" * 9000}}]
    first = ask([user(LONG, POINT)], [LONG, hour], [*tools, hour], operation="converse")
    assert ask.details is not None
    long, short = ask.details
    assert (long["ttl"], short["ttl"]) == ("1h", "5m")
    assert long["inputTokens"] + short["inputTokens"] == first[1]
    assert long["inputTokens"] > short["inputTokens"] > 1000
    read = ask([user(LONG, POINT), user(text(300), POINT)], [LONG, hour], [*tools, hour], operation="converse")
    assert read[0] == first[1]
    short = {"inputTokens": read[1], "ttl": "5m"}
    assert ask.details == [short]
    ask([user(LONG, POINT), user(text(300), POINT)], [LONG, hour], [*tools, hour], operation="converse")
    assert not ask.details


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
@pytest.mark.parametrize("model", [SONNET, NOVA])
def test_a_prefix_that_stays_is_written_once_and_then_read(model: str, operation: str) -> None:
    ask = Session()
    calls = [ask([user({"text": f"Question {n}"})], [LONG, POINT], model=model, operation=operation) for n in range(3)]
    written = calls[0][1]
    assert written == estimate_tokens([LONG])
    assert [call[:2] for call in calls] == [(0, written), (written, 0), (written, 0)]


@pytest.mark.parametrize("where", ["tools", "system", "messages"])
def test_a_prefix_that_begins_with_the_time_of_day_is_never_read(where: str) -> None:
    ask = Session()
    for second in range(6):
        clock = {"text": f"Now: 05:00:0{second}. {LONG['text']}"}
        tool = {"toolSpec": {"name": f"at_{second}", "inputSchema": {"json": {"type": "object"}}}}
        asked: dict[str, tuple[list[Json], list[Json], list[Json]]] = {
            "tools": ([], [LONG, POINT], [tool]),
            "system": ([user(LONG, POINT)], [clock, POINT], []),
            "messages": ([user(clock, LONG, POINT)], [], []),
        }
        read, written, _ = ask(*asked[where])
        assert read == 0 < written


def test_another_model_and_another_fake_read_nothing() -> None:
    ask = Session()
    assert ask([], [LONG, POINT])[0] == 0
    assert ask([], [LONG, POINT], model="eu.anthropic.claude-sonnet-4-6")[0] == 0
    assert Session()([], [LONG, POINT])[0] == 0
    assert ask([], [LONG, POINT])[0] > 0


def test_the_order_of_keys_is_no_difference() -> None:
    ask = Session()
    spec = {"name": "look", "inputSchema": {"json": {"type": "object", "properties": {}}}}
    ask([], [LONG, POINT], [{"toolSpec": spec}])
    assert ask([], [LONG, POINT], [{"toolSpec": dict(reversed(spec.items()))}])[0] > 0


@pytest.mark.parametrize("answer", [reply.throttled(), reply.read_timeout(), reply.unknown_operation()])
def test_what_was_not_answered_is_not_cached(answer: Reply) -> None:
    ask = Session(answer)
    ask([], [LONG, POINT])
    assert ask([], [LONG, POINT])[0] == 0
    assert ask([], [LONG, POINT])[0] > 0


def test_claude_looks_back_from_a_point_that_moved_on() -> None:
    ask = Session()
    history = [user(LONG, {"text": "first"})]
    _, written, _ = ask([user(*history[0]["content"], POINT)])
    history += [{"role": "assistant", "content": [{"text": "ok"}]}, user({"text": "second"}, POINT)]
    assert ask(history)[0] == written
    assert Session()(history)[0] == 0


@pytest.mark.parametrize(("model", "blocks", "reads"), [(SONNET, 19, True), (SONNET, 20, False), (NOVA, 1, False)])
def test_how_far_back_is_looked(model: str, blocks: int, reads: bool) -> None:
    ask = Session()
    ask([], [LONG, POINT], model=model)
    more = [{"text": f"part {n}"} for n in range(blocks)]
    assert (ask([user(*more, POINT)], [LONG], model=model)[0] > 0) is reads


@pytest.mark.parametrize("known", [model for model in MODELS if model.caching is not None], ids=lambda model: model.ids)
def test_what_is_shorter_than_the_minimum_is_neither_read_nor_written(known: Model) -> None:
    assert known.caching is not None
    model = known.example
    enough = next(n for n in count(1) if round(n * known.tokens_ratio) >= known.caching.minimum)
    least = round(enough * known.tokens_ratio)
    ask = Session()
    for _ in range(2):
        assert ask([user({"text": "hi"})], [text(enough - 1), POINT], model=model)[:2] == (0, 0)
    assert ask([], [text(enough), POINT], model=model)[:2] == (0, least)
    assert ask([], [text(enough), POINT], model=model)[:2] == (least, 0)


@pytest.mark.parametrize("model", ["m", "meta.llama3-8b-instruct-v1:0", "us.anthropic.claude-2"])
def test_of_a_model_that_is_not_known_to_cache_nothing_is_said(model: str) -> None:
    ask = Session()
    for _ in range(2):
        assert ask([], [LONG, POINT], model=model)[:2] == (0, 0)


blocks = st.sampled_from([text(300), text(400), text(900), {"text": "other " * 200}, POINT])


@given(st.lists(st.tuples(st.lists(blocks, max_size=3), st.lists(blocks, min_size=1, max_size=26)), max_size=6))
def test_whatever_is_read_was_written_before_and_nothing_is_lost(sessions: list[tuple[list[Json], list[Json]]]) -> None:
    ask = Session()
    written: list[list[tuple[str, Json]]] = []
    for system, content in sessions:
        plain = [[("system", block) for block in system], [("user", block) for block in content]]
        every = [item for part in plain for item in part]
        points = [n for n, (_, block) in enumerate(every) if block is POINT]
        prefixes = [[item for item in every[:n] if item[1] is not POINT] for n in points]
        long_enough = [each for each in prefixes if estimate_tokens([block for _, block in each]) >= 1024]
        reachable = [each[: len(each) - back] for each in long_enough for back in range(min(20, len(each)))]
        expected = max((len(each) for each in reachable if each in written), default=0)
        read, wrote, rest = ask([user(*content)], system)
        of_prefix = [block for _, block in [item for item in every if item[1] is not POINT][:expected]]
        assert read == (estimate_tokens(of_prefix) if expected else 0)
        assert read + wrote == max((estimate_tokens([b for _, b in each]) for each in long_enough), default=0)
        whole = estimate_tokens([block for _, block in every if block is not POINT])
        assert read + wrote + rest in (whole, whole + 1)
        written += long_enough


class _EndsMeanwhile:
    """A call whose answer another thread takes to its end between two looks at it."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.looks = iter([Answered()])
        self.answered: Any = self

    def __getattr__(self, name: str) -> Any:
        if name in ("taken", "outcome"):
            return getattr(next(self.looks, self.call.answered), name)
        return getattr(self.call, name)


def test_an_answer_that_ends_while_it_is_looked_at_is_not_lost() -> None:
    with fake_converse(reply.text("ok"), cache_minimum=0) as fake:
        system = [{"text": "You are a planner."}, {"cachePoint": {"type": "default"}}]
        messages = [{"role": "user", "content": [{"text": "Plan."}]}]
        create_client().converse(modelId=SONNET, messages=messages, system=system)
    (call,) = fake.calls
    cache = PromptCache(lambda _: None, minimum=0)
    written = cache.use(call)
    assert written is not None
    cache.answered(replace(written, call=cast("Call", _EndsMeanwhile(call))), 0.0, 0.0)
    cache.settle()
    read = cache.use(call)
    assert read is not None
    assert read.read == written.written > 0
