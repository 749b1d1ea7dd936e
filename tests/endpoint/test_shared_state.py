"""Threads share one fake: the prompt cache and the conversations lose nothing, and everything can be read meanwhile."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from converse_harness import Call, Fake, reply
from converse_harness.stream.http import Chunk, Request
from tests.threads import together

Json = dict[str, Any]

SONNET = "us.anthropic.claude-sonnet-4-6"
POINT: Json = {"cachePoint": {"type": "default"}}
THREADS = 8


def ask(fake: Fake, prompt: str, *before: Json, reads: bool = True) -> Call:
    """One call with a cached system prompt. Without `reads`, the client never takes the answer."""
    messages = [*before, {"role": "user", "content": [{"text": "And now?"}]}]
    body = {"system": [{"text": prompt}, POINT], "messages": messages}
    exchange = fake.core.exchange(Request("POST", f"/model/{SONNET}/converse", (), json.dumps(body).encode()))
    if reads:
        exchange.taken.extend(exchange.response.chunks)
        exchange.ended("complete")
    return exchange.call


def talk(fake: Fake, name: str, turns: int) -> None:
    """An agent that repeats the answers so far in each request."""
    messages: list[Json] = []
    for _ in range(turns):
        response = ask(fake, f"You are {name}.", *messages).response
        assert response is not None
        messages += [{"role": "user", "content": [{"text": "And now?"}]}, response.message]


@pytest.mark.needs_os
@pytest.mark.parametrize("prompts", [THREADS, 6 * THREADS])
def test_no_prefix_is_lost(prompts: int) -> None:
    fake = Fake(cache_minimum=0)
    fake.always(reply.text("ok"))
    # Each call looks at all answers that still run; this takes a while, in which other threads add theirs.
    waiting = [ask(fake, "You are slow.", reads=False) for _ in range(300)]
    agents = [f"You are agent {number}." for number in range(prompts)]

    def ask_for(some: list[str]) -> None:
        for each in some:
            ask(fake, each)

    together([partial(ask_for, agents[at::THREADS]) for at in range(THREADS)])

    assert [each for each in agents if not ask(fake, each).cache.read] == []
    assert {call.outcome for call in waiting} == {"still running"}


@pytest.mark.needs_os
def test_every_thread_can_look_at_the_conversations() -> None:
    fake = Fake(cache_minimum=0, history="off")  # the parent of a call is looked for when it is asked for
    fake.always(lambda call: reply.text(f"{call.system} {call.turn}"))
    for number in range(24):
        talk(fake, f"agent {number}", turns=6)

    together([lambda: [call.cache for call in reversed(fake.calls)]] * THREADS)

    latest: dict[str, Call] = {}
    for call in fake.calls:
        prompt = call.body["system"][0]["text"]
        assert call.parent is latest.get(prompt)
        latest[prompt] = call


def test_a_prefix_that_is_still_read_outlives_a_late_answer() -> None:
    fake = Fake(cache_minimum=0, keep_calls=4)  # the cache forgets older calls at each fourth call
    fake.always(reply.text("ok"))
    ask(fake, "shared")
    late = ask(fake, "shared", reads=False)
    for prompt in ("shared", "other", "shared", "another"):
        ask(fake, prompt)
    late.answered.taken.extend([Chunk(b"{}")])  # its answer begins after that of call 5, which read the prefix too
    ask(fake, "a third")
    ask(fake, "a fourth")
    assert ask(fake, "shared").cache.read
