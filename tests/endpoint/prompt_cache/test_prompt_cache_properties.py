"""The prompt cache held to a model of its own, whatever is asked: prefixes, times to live, what is never a rewrite."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import Endpoint, reply
from converse_harness.bedrock.models import standing
from converse_harness.bedrock.request_items import RequestItems
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.prompt_cache.rewrites import CacheSummary
from converse_harness.endpoint.prompt_cache.stage import PromptCaching
from converse_harness.endpoint.usage import request_weight
from converse_harness.stream.chunk import weigh
from converse_harness.stream.http import Request
from tests.profiles import examples

Json = dict[str, Any]

KEEPS_THOUGHTS: Final = "us.anthropic.claude-sonnet-4-6"
DROPS_THOUGHTS: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
LOOK_BACK: Final = 20
MINIMUM: Final = 1024
BEFORE_TOOLS: Final = 346
ROOM: Final = 15
"""New blocks of a request, of which it is certain that what was cached before them is found."""

TTLS: Final[Mapping[str, float]] = {"5m": 300.0, "1h": 3600.0}


@dataclass
class Session:
    """Calls to one fake, each of which goes on from the one before."""

    model: str
    minimum: int | None
    calls: list[Call] = field(default_factory=list[Call])

    def __post_init__(self) -> None:
        self.endpoint = Endpoint(rules="off", cache_minimum=self.minimum)
        self.endpoint.script.fallback.add([reply.text("ok")], endless=True)
        cache = self.endpoint.stage(PromptCaching).cache
        cache.parent = lambda call: next((each for each in reversed(self.calls) if each.number < call.number), None)

    def ask(self, body: Json) -> tuple[int, int, int]:
        """Tokens read, written and neither, as the usage of an answer says."""
        exchange = self._exchange("converse-stream", body)
        exchange.taken.extend(exchange.response.chunks)
        exchange.ended("complete")
        self.calls.append(exchange.call)
        assert exchange.call.response is not None
        usage = exchange.call.response.usage or {}
        use = exchange.call.cache
        read, written = (usage.get(f"cache{each}InputTokens", 0) for each in ("Read", "Write"))
        assert (use.read, use.written) == (read, written)
        assert usage["inputTokens"] + read + written + usage["outputTokens"] == usage["totalTokens"]
        return read, written, usage["inputTokens"]

    def count(self, body: Json) -> int:
        """The whole estimate of a request."""
        known = standing(self.model).model
        return max(1, round(request_weight(RequestItems.of(body), known) * (known.tokens_ratio if known else 1)))

    def _exchange(self, operation: str, body: Json) -> Any:
        path = f"/model/{quote(self.model, safe='')}/{operation}"
        return self.endpoint.exchange(Request("POST", path, (), json.dumps(body).encode()))


# What is drawn: blocks are few, so that prefixes meet again


def text(tokens: int) -> Json:
    return {"text": "x" * 4 * tokens}


IMAGE: Final[Json] = {"image": {"format": "png", "source": {"bytes": "AAAA"}}}
BLOCKS: Final[Sequence[Json]] = (
    text(1),
    text(300),
    text(1100),
    {"text": "other"},
    {"document": {"format": "txt", "name": "d", "source": {"bytes": "AAAA"}}},
    {"toolUse": {"toolUseId": "t", "name": "look", "input": {"n": 1}}},
    {"toolResult": {"toolUseId": "t", "content": [{"text": "found"}]}},
)
THOUGHT: Final[Json] = {"reasoningContent": {"reasoningText": {"text": "I think. " * 40, "signature": "c2ln"}}}
TOOLS: Final[Sequence[Json]] = tuple(
    {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}, "description": name * size}}
    for name, size in (("look", 1), ("listen", 400), ("book", 900))
)


def point(ttl: str | None) -> Json:
    return {"cachePoint": {"type": "default", **({"ttl": ttl} if ttl else {})}}


points = st.sampled_from([None, "5m", "1h"]).map(point)
pauses = st.sampled_from([0.0, 200.0, 299.0, 301.0, 3400.0, 3601.0])


def lists_of(blocks: Sequence[Json], most: int) -> st.SearchStrategy[list[Json]]:
    return st.lists(st.sampled_from(blocks) | points, max_size=most)


offered: st.SearchStrategy[Json] = st.just({}) | st.builds(
    lambda first, more: {"toolConfig": {"tools": [first, *more]}}, st.sampled_from(TOOLS), lists_of(TOOLS, 3)
)
"""The toolConfig of a request, or none."""


@st.composite
def requests(draw: st.DrawFn) -> Json:
    """Any request, whether the service would take it or not."""
    contents = draw(st.lists(lists_of([*BLOCKS, IMAGE], 6), min_size=1, max_size=3))
    contents[-1] += [text(1100), draw(points)] * draw(st.booleans())
    messages = [{"role": ("user", "assistant")[n % 2], "content": content} for n, content in enumerate(contents)]
    body: Json = {"messages": messages, "system": draw(lists_of(BLOCKS[:4], 4))}
    return body | draw(offered)


# The model: prefixes are tuples of what was sent


Prefix = tuple[str, ...]


@dataclass
class Cached:
    """How long a prefix lives, as it was written first, and until when."""

    lasts: float
    until: float


def prefixes_of(body: Json) -> tuple[list[Prefix], list[int], dict[int, str]]:
    """The prefixes of a request by their numbers of blocks, their tokens, and the ttl of each with a cachePoint."""
    parts: list[tuple[str, Sequence[Json]]] = [
        ("tools", body.get("toolConfig", {}).get("tools", ())),
        ("system", body["system"]),
        *((f"{n} {each['role']}", each["content"]) for n, each in enumerate(body["messages"])),
    ]
    images = any(IMAGE in each["content"] for each in body["messages"])
    tools = bool(parts[0][1])
    prefixes: list[Prefix] = [()]
    tokens = [0]
    ttls: dict[int, str] = {}
    weight: float = BEFORE_TOOLS * tools
    for place, blocks in parts:
        for block in blocks:
            if "cachePoint" in block:
                ttls[len(prefixes) - 1] = block["cachePoint"].get("ttl", "5m")
            else:
                settled = f"{images} {tools}" if place[0].isdigit() else ""
                prefixes.append((*prefixes[-1], f"{place} {settled} {json.dumps(block)}"))
                weight += weigh(block)
                tokens.append(max(1, round(weight)))
    return prefixes, tokens, ttls


steps = st.tuples(st.integers(0, 1), pauses, st.sampled_from([0, 0, 1, LOOK_BACK - 1, LOOK_BACK]), points)
"""Which request comes, after which pause, with how many blocks more and a cachePoint behind these."""


@given(
    bodies=st.lists(requests(), min_size=1, max_size=2),
    order=st.lists(steps, min_size=4, max_size=10),
    minimum=st.sampled_from([None, 0]),
)
@settings(max_examples=examples(4))
def test_what_is_read_was_written_before_and_lives(
    bodies: list[Json], order: list[tuple[int, float, int, Json]], minimum: int | None
) -> None:
    session, now = Session(KEEPS_THOUGHTS, minimum), 0.0
    cached: dict[Prefix, Cached] = {}
    for number, pause, more, last in order:
        body = bodies[number % len(bodies)]
        if more:
            said = {"role": "user", "content": [*[text(1)] * more, last]}
            body = {**body, "messages": [*body["messages"], said]}
        if pause:
            session.endpoint.stage(PromptCaching).cache.later(pause)
            now += pause
        prefixes, sizes, ttls = prefixes_of(body)
        whole = session.count(body)
        read, written, rest = session.ask(body)
        assert read + written + rest in (whole, whole + 1)
        least = MINIMUM if minimum is None else minimum
        long_enough = [end for end in ttls if end and sizes[end] >= least]
        alive = {prefix for prefix, each in cached.items() if each.until > now}
        reached = {end for last in long_enough for end in range(max(1, last - LOOK_BACK + 1), last + 1)}
        expected = max((end for end in reached if prefixes[end] in alive), default=0)
        assert read == sizes[expected]
        assert read + written == sizes[max(long_enough, default=0)]
        for end in {expected, *long_enough} - {0}:
            each = cached.get(prefixes[end])
            if each is None or each.until <= now:
                each = cached[prefixes[end]] = Cached(TTLS[ttls[end]], now)
            each.until = max(each.until, now + each.lasts)


@st.composite
def growing(draw: st.DrawFn) -> list[tuple[Json, float]]:
    """Requests of which each begins with all blocks of the one before, and ends with a cachePoint.

    All last points have one ttl: else one that lives longer may be out of reach when those after it have expired.
    """
    base: Json = {"system": draw(lists_of(BLOCKS[:4], 3)), **draw(offered)}
    seen = draw(st.sampled_from([[], [IMAGE]]))  # images where there were none are a change
    messages: list[Json] = [{"role": "user", "content": [{"text": "Begin."}, *seen]}]
    asked: list[tuple[Json, float]] = []
    end = draw(points)
    for _ in range(draw(st.integers(2, 5))):
        last = {**messages[-1], "content": [*messages[-1]["content"], end]}
        asked.append(({**base, "messages": [*messages[:-1], last]}, draw(pauses)))
        size = draw(st.integers(1, ROOM - 1))
        new = draw(st.lists(st.sampled_from([*BLOCKS, *seen]), min_size=size, max_size=size))
        thoughts = draw(st.sampled_from([[], [THOUGHT]]))[: ROOM - 1 - len(new)]
        half = draw(st.integers(0, len(new) - 1))
        messages = [
            *messages,
            {"role": "assistant", "content": [*thoughts, *new[:half]] or [{"text": "ok"}]},
            {"role": "user", "content": draw(st.sampled_from([new[half:], [BLOCKS[-1]]]))},
        ]
    return asked


@given(asked=growing(), minimum=st.sampled_from([None, 0]), model=st.sampled_from([KEEPS_THOUGHTS, DROPS_THOUGHTS]))
@settings(max_examples=examples(3))
def test_what_only_grows_is_never_written_again(
    asked: list[tuple[Json, float]], minimum: int | None, model: str
) -> None:
    session = Session(model, minimum)
    before = 0
    for body, pause in asked:
        if pause:
            session.endpoint.stage(PromptCaching).cache.later(pause)
        read, written, _ = session.ask(body)
        if not pause and model == KEEPS_THOUGHTS:
            assert read >= before
        before = read + written
        assert not CacheSummary(session.endpoint.calls).rewrites
