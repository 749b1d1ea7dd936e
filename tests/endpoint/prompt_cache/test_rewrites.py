"""What is said of the prompt cache: when it is read and when not, and where a prefix parts that was written again."""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from gc import collect
from typing import Any, Final
from urllib.parse import quote
from weakref import ref

import pytest

from converse_harness import Endpoint, Reply, faults, reply
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.prompt_cache.cache import use_of
from converse_harness.endpoint.prompt_cache.rewrites import CacheSummary, Rewrites
from converse_harness.endpoint.prompt_cache.stage import PromptCaching
from converse_harness.endpoint.stage import Exchange
from converse_harness.errors import ReplyError
from converse_harness.settings import HistoryLevel
from converse_harness.stream.chunk import estimate_tokens
from converse_harness.stream.http import Request

Json = dict[str, Any]

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
KEEPS_THOUGHTS: Final = "us.anthropic.claude-sonnet-4-6"
NOVA: Final = "us.amazon.nova-lite-v1:0"
POINT: Final[Json] = {"cachePoint": {"type": "default"}}
HOUR: Final[Json] = {"cachePoint": {"type": "default", "ttl": "1h"}}
LONG: Final = "Plan a trip by train. " * 400
SYSTEM: Final[Sequence[Json]] = ({"text": LONG}, POINT)
IMAGE: Final[Json] = {"image": {"format": "png", "source": {"bytes": "AAAA"}}}


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def says(text: str) -> Json:
    return {"role": "assistant", "content": [{"text": text}]}


def tool(name: str, description: str = "x") -> Json:
    return {"toolSpec": {"name": name, "description": description, "inputSchema": {"json": {"type": "object"}}}}


class Session:
    """Calls to one fake, which answers "ok"."""

    def __init__(self, *replies: Reply, minimum: int | None = None, history: HistoryLevel = "note") -> None:
        self.endpoint = Endpoint(*replies, rules="off", cache_minimum=minimum, history=history)
        self.endpoint.script.fallback.add([reply.text("ok")], endless=True)

    def begin(self, model: str = SONNET, **members: Any) -> Exchange:
        """An exchange of which nothing is taken yet."""
        body = {"messages": [user({"text": "Hello?"})], **members}
        path = f"/model/{quote(model, safe='')}/converse-stream"
        return self.endpoint.exchange(Request("POST", path, (), json.dumps(body).encode()))

    def ask(self, model: str = SONNET, **members: Any) -> Call:
        """A call whose answer is taken whole."""
        exchange = self.begin(model, **members)
        exchange.taken.extend(exchange.response.chunks)
        exchange.ended("complete")
        return exchange.call

    def goes_on(self) -> None:
        """From now on each call goes on with the conversation of the call before it."""
        calls = self.endpoint.calls
        cache = self.endpoint.stage(PromptCaching).cache
        cache.parent = lambda call: calls[call.number - 2] if call.number > 1 else None

    @property
    def summary(self) -> CacheSummary:
        return CacheSummary(self.endpoint.calls)

    @property
    def rewrites(self) -> Rewrites:
        return self.summary.rewrites


def used(call: Call) -> tuple[bool, bool]:
    """Whether a call read, and whether it wrote."""
    return call.cache.read > 0, call.cache.written > 0


@pytest.mark.parametrize(("point", "seconds"), [(POINT, 300), (HOUR, 3600)])
def test_a_prefix_expires_and_each_read_begins_its_time_anew(point: Json, seconds: int) -> None:
    session, system = Session(), [{"text": LONG}, point]
    session.ask(system=system)
    for _ in range(3):
        session.endpoint.stage(PromptCaching).cache.later(seconds - 1)
        assert used(session.ask(system=system)) == (True, False)
    session.endpoint.stage(PromptCaching).cache.later(seconds)
    again = session.ask(system=system)
    assert used(again) == (False, True)
    assert not session.rewrites
    assert again.cache.from_call is None
    assert session.ask(system=system).cache.from_call == again.number


def test_two_times_to_live_expire_each_for_itself() -> None:
    session = Session()
    asked: Json = {"system": [{"text": LONG}, HOUR], "messages": [user({"text": LONG}, POINT)]}
    first = session.ask(**asked).cache
    session.endpoint.stage(PromptCaching).cache.later(301)
    second = session.ask(**asked).cache
    assert 0 < second.read < first.written
    assert second.read + second.written == first.written
    session.endpoint.stage(PromptCaching).cache.later(3601)
    assert session.ask(**asked).cache.read == 0


def test_pauses_of_answers_let_time_go_by() -> None:
    session = Session(reply.text("ok").paced(first=301), reply.text("ok").paced(first=0, each=101))
    for now, expected in [(0, (False, True)), (301, (True, False)), (301 + 4 * 101, (False, True))]:
        assert used(session.ask(system=SYSTEM)) == expected
        use = use_of(session.endpoint.calls[-1])
        assert use is not None
        assert use.at == now


def test_what_is_read_further_back_lives_on_too() -> None:
    session, first = Session(), [user({"text": LONG}, POINT)]
    session.ask(messages=first)
    session.endpoint.stage(PromptCaching).cache.later(200)
    assert used(session.ask(messages=[user({"text": LONG}), says("ok"), user({"text": "more"}, POINT)])) == (True, True)
    session.endpoint.stage(PromptCaching).cache.later(200)
    assert used(session.ask(messages=first)) == (True, False)


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
def test_time_goes_only_forward(seconds: float) -> None:
    with pytest.raises(ReplyError, match=r"later\(\) lets"):
        Session().endpoint.stage(PromptCaching).cache.later(seconds)


def test_parallel_calls_do_not_read_what_the_other_writes() -> None:
    session = Session()
    one, other = session.begin(system=SYSTEM), session.begin(system=SYSTEM)
    for each in (one, other):
        each.taken.extend(each.response.chunks)
        each.ended("complete")
    assert [used(each.call) for each in (one, other)] == [(False, True), (False, True)]
    assert used(session.ask(system=SYSTEM)) == (True, False)
    assert not session.rewrites


def test_what_was_not_there_yet_or_had_expired_was_not_written_again() -> None:
    session = Session()
    session.goes_on()
    calls = [session.begin(system=[{"text": f"Now: {hour}. {LONG}"}, POINT]) for hour in (1, 2)]
    for each in calls:
        each.taken.extend(each.response.chunks)
        each.ended("complete")
    session.endpoint.stage(PromptCaching).cache.later(301)
    session.ask(system=[{"text": f"Now: 3. {LONG}"}, POINT])
    assert not session.rewrites
    session.ask(system=[{"text": f"Now: 4. {LONG}"}, POINT])
    assert [rewrite.earlier.number for rewrite in session.rewrites] == [3]


def test_what_is_being_answered_is_read_from_its_first_event_on() -> None:
    session = Session()
    writing = session.begin(system=SYSTEM)
    assert used(session.ask(system=[*SYSTEM, {"text": "more"}])) == (False, True)
    session = Session()
    writing = session.begin(system=SYSTEM)
    writing.taken.add(next(iter(writing.response.chunks)), 0.0)
    assert used(session.ask(system=SYSTEM)) == (True, False)


@pytest.mark.parametrize(
    "answer",
    [
        reply.throttled(),
        reply.read_timeout(),
        reply.text("ok").fails_after(0, "throttlingException"),
    ],
    ids=["throttled", "timed out", "an exception as the first event"],
)
def test_an_error_before_the_stream_writes_and_renews_nothing(answer: Reply) -> None:
    session = Session(answer)
    session.ask(system=SYSTEM)
    assert used(session.ask(system=SYSTEM)) == (False, True)
    session = Session(reply.text("ok"), answer)
    session.ask(system=SYSTEM)
    session.endpoint.stage(PromptCaching).cache.later(200)
    session.ask(system=SYSTEM)
    session.endpoint.stage(PromptCaching).cache.later(200)
    assert used(session.ask(system=SYSTEM)) == (False, True)


@pytest.mark.parametrize(
    "answer",
    [reply.text("ok then").fails_after(3, "throttlingException"), reply.text("ok").broken(faults.no_message_stop)],
)
def test_a_stream_that_breaks_wrote_and_nobody_can_be_certain(answer: Reply) -> None:
    session = Session(answer)
    broken = session.ask(system=SYSTEM)
    reading = session.ask(system=SYSTEM)
    assert used(reading) == (True, False)
    assert [each.cache.certain for each in (broken, reading)] == [False, False]
    session.ask(system=[{"text": "Now: 1. " + LONG}, POINT])
    assert not session.rewrites


@pytest.mark.parametrize(
    ("first", "second", "reads"),
    [
        ({"toolConfig": {"toolChoice": {"auto": {}}}}, {"toolConfig": {"toolChoice": {"any": {}}}}, True),
        ({}, {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}, True),
        ({"messages": [user({"text": LONG}, POINT)]}, {"messages": [user({"text": LONG}, POINT, IMAGE)]}, True),
        (
            {"messages": [user({"text": LONG}, POINT)]},
            {"messages": [user({"text": LONG}, POINT, {"toolResult": {"toolUseId": "t", "content": [IMAGE]}})]},
            True,
        ),
        ({}, {"inferenceConfig": {"temperature": 0.5}}, None),
        ({}, {"additionalModelRequestFields": {"top_k": 5}}, None),
        ({}, {"additionalModelRequestFields": 5}, None),
    ],
    ids=["toolChoice", "thinking", "an image", "an image of a tool", "temperature", "another field", "a number"],
)
def test_settings_that_make_claude_forget_the_messages_alone(first: Json, second: Json, reads: bool | None) -> None:
    session, tools = Session(), [tool("look"), POINT]
    common: Json = {"system": SYSTEM, "messages": [user({"text": LONG}, POINT)]}

    def asked(members: Json) -> Json:
        return {**common, **members, "toolConfig": {"tools": tools, **members.get("toolConfig", {})}}

    whole = session.ask(**asked(first)).cache.written
    again = session.ask(**asked(second)).cache
    assert (0 < again.read < whole) is bool(reads)
    assert (again.read == whole) is (reads is None)


def test_another_tool_choice_makes_nova_forget_everything() -> None:
    session = Session()
    for choice, expected in [("any", (False, True)), ("auto", (False, True)), ("any", (True, False))]:
        config = {"tools": [tool("look")], "toolChoice": {choice: {}}}
        assert used(session.ask(NOVA, system=SYSTEM, toolConfig=config)) == expected


def test_nova_caches_without_points_and_its_usage_does_not_say_so() -> None:
    session = Session()
    history = [user({"text": LONG})]
    for expected in [(False, True), (True, True)]:
        call = session.ask(NOVA, messages=history)
        assert used(call) == expected
        assert not call.cache.certain
        assert call.response is not None
        assert call.response.usage is not None
        assert "cacheReadInputTokens" not in call.response.usage
        assert call.response.usage["inputTokens"] >= call.cache.read + call.cache.written
        history += [says("ok"), user({"text": "More."})]
    assert 0 < session.summary.hit_rate < 1
    assert not session.rewrites


def test_without_anything_to_cache_there_is_no_rate() -> None:
    session = Session()
    session.ask(messages=[user({"text": LONG})])
    session.ask("m", system=SYSTEM)
    assert math.isnan(session.summary.hit_rate)
    assert session.summary.by_model == {}


def test_what_is_counted_by_model() -> None:
    session = Session()
    for model in (SONNET, SONNET, NOVA):
        session.ask(model, system=SYSTEM)
    whole, of = session.summary, session.summary.by_model
    assert set(of) == {SONNET, NOVA}
    assert (of[SONNET].read, of[NOVA].read) == (whole.read, 0)
    assert of[SONNET].written + of[NOVA].written == whole.written
    assert of[SONNET].hit_rate == 0.5
    assert not of[SONNET].rewrites


def conversation(**members: Any) -> Iterator[Json]:
    """Requests of a conversation that goes on, with a cache point at its end."""
    history: list[Json] = []
    for text in ("Where to?", "And then?"):
        history += [user({"text": text})]
        yield {"messages": [*history[:-1], user({"text": text}, POINT)], **members}
        history += [says("ok")]


PARTINGS: Final[Mapping[str, tuple[Json, Json, str]]] = {
    "a clock in the system prompt": (
        {"system": [{"text": f"Now: 05:00:01. {LONG}"}, POINT]},
        {"system": [{"text": f"Now: 05:00:09. {LONG}"}, POINT]},
        "the prefix parts at system[0].text, character 5\n  was  Now: 05:00:01. Plan",
    ),
    "tools in another order": (
        {"toolConfig": {"tools": [tool("look", LONG), tool("listen", LONG), POINT]}},
        {"toolConfig": {"tools": [tool("listen", LONG), tool("look", LONG), POINT]}},
        "the prefix parts at toolConfig.tools[0].toolSpec.name, character 0\n  was  look\n  now  listen",
    ),
    "a tool less": (
        {"toolConfig": {"tools": [tool("look", LONG), tool("listen", LONG), POINT]}, "system": SYSTEM},
        {"toolConfig": {"tools": [tool("look", LONG), POINT]}, "system": SYSTEM},
        "the prefix parts at system[0]\n",
    ),
    "a schema that changed": (
        {
            "toolConfig": {
                "tools": [{"toolSpec": {**tool("t", LONG)["toolSpec"], "inputSchema": {"json": {"a": [1]}}}}, POINT]
            }
        },
        {
            "toolConfig": {
                "tools": [{"toolSpec": {**tool("t", LONG)["toolSpec"], "inputSchema": {"json": {"a": [2]}}}}, POINT]
            }
        },
        "the prefix parts at toolConfig.tools[0].toolSpec.inputSchema.json.a[0]\n  was  1\n  now  2",
    ),
}


@pytest.mark.parametrize(("first", "second", "said"), PARTINGS.values(), ids=list(PARTINGS))
def test_where_a_prefix_parts(first: Json, second: Json, said: str) -> None:
    session = Session()
    session.goes_on()
    session.ask(**first)
    session.ask(**second)
    (rewrite,) = session.rewrites
    assert f"call 2 wrote {rewrite.tokens:,} tokens again that call 1 had cached: {said}" in str(rewrite)
    assert (rewrite.call.number, rewrite.earlier.number) == (2, 1)
    assert 1000 < rewrite.tokens <= rewrite.call.cache.written
    assert rewrite.call.cache.parted_at is not None
    assert rewrite.call.cache.parted_at.path == rewrite.path
    assert repr(session.rewrites).startswith("<call 2 wrote ")


def test_a_conversation_that_only_grows_writes_nothing_again() -> None:
    session = Session()
    calls = [session.ask(**asked) for asked in conversation(system=SYSTEM)]
    assert [used(call) for call in calls] == [(False, True), (True, True)]
    assert calls[1].cache.read == calls[0].cache.written
    assert calls[1].cache.from_call == 1
    assert not session.rewrites


@pytest.mark.parametrize(
    "other",
    [
        {"system": [{"text": "You write poems about the sea, and never rhyme. " * 200}, POINT]},
        {"system": [{"text": LONG}, POINT], "messages": [user({"text": "Another question. " * 400}, POINT)]},
        {"model": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "system": [{"text": "Now: 2. " + LONG}, POINT]},
    ],
    ids=["another agent", "another conversation", "another model"],
)
def test_what_is_another_prompt_is_no_rewrite(other: Json) -> None:
    session = Session()
    session.ask(system=[{"text": LONG}, POINT], messages=[user({"text": "A question. " * 400}, POINT)])
    assert session.ask(**other).cache.written > 0
    assert not session.rewrites


@pytest.mark.parametrize(("minimum", "certain"), [(None, False), (0, True), (5000, True)])
def test_about_as_long_as_the_minimum_nothing_is_certain(minimum: int | None, certain: bool) -> None:
    session = Session(minimum=minimum)
    session.goes_on()
    for second in range(2):
        call = session.ask(system=[{"text": f"Now: {second}. " + "x" * 4200}, POINT])
        assert call.cache.certain is certain
    assert len(session.rewrites) == (minimum == 0)


def test_what_is_read_may_be_about_as_long_as_the_minimum() -> None:
    session = Session()
    for text in ("one", "two"):
        call = session.ask(system=[{"text": "x" * 4200}, POINT], messages=[user({"text": f"{text} {LONG}"}, POINT)])
        assert call.cache.certain is (text == "one")


def test_what_was_about_as_long_as_the_minimum_may_not_have_been_cached() -> None:
    session, about = Session(), "Plan a trip by train. " * 200
    first = session.ask(system=[{"text": f"Monday. {about}"}, POINT])
    assert not first.cache.certain
    more = user({"text": LONG}, POINT)
    assert session.ask(system=[{"text": f"Tuesday. {about}"}, POINT], messages=[more]).cache.certain
    assert not session.rewrites


def test_another_model_in_a_conversation_has_a_cache_of_its_own() -> None:
    session = Session()
    messages = [user({"text": "Where to?"}, POINT)]
    cache = session.endpoint.stage(PromptCaching).cache
    cache.parent = lambda call: session.endpoint.calls[0] if call.number > 1 else None
    session.ask(system=[{"text": f"Monday. {LONG}"}, POINT], messages=messages)
    messages += [says("ok"), user({"text": "When?"}, POINT)]
    session.ask(NOVA, system=[{"text": f"Tuesday. {LONG}"}, POINT], messages=messages)
    assert not session.rewrites
    session.ask(system=[{"text": f"Tuesday. {LONG}"}, POINT], messages=messages)
    assert [each.earlier.number for each in session.rewrites] == [1]


def test_of_another_conversation_nothing_is_compared() -> None:
    session = Session()
    for hour in (1, 2):
        call = session.ask(system=[{"text": f"Now: {hour}. {LONG}"}, POINT])
        assert call.cache.parted_at is None
    assert not session.rewrites


def test_tools_are_more_than_their_text() -> None:
    session = Session()
    tools = {"tools": [tool("look")]}
    assert [
        session.ask(model, system=SYSTEM, toolConfig=tools).cache.written
        - session.ask(model, system=SYSTEM).cache.written
        for model in (SONNET, NOVA)
    ] == [346 + estimate_tokens([tool("look")])] * 2


@pytest.mark.parametrize("minimum", [-1, True])
def test_a_minimum_is_a_number_of_tokens(minimum: int) -> None:
    with pytest.raises(ReplyError, match="cache_minimum="):
        Session(minimum=minimum)


def test_given_usage_wins_and_the_cache_goes_on() -> None:
    session = Session(reply.message({"text": "ok"}, usage={"inputTokens": 7, "outputTokens": 1}))
    first, second = (session.ask(system=SYSTEM) for _ in range(2))
    assert first.response is not None
    assert first.response.usage is not None
    assert first.response.usage["inputTokens"] == 7
    assert used(second) == (True, False)


def test_calls_that_are_let_go_leave_what_others_still_read() -> None:
    endpoint = Endpoint(rules="off", keep_calls=4)
    session = Session()
    session.endpoint = endpoint
    endpoint.script.fallback.add([reply.text("ok")], endless=True)
    history = [user({"text": LONG})]
    asked = [ref(session.ask(messages=[user({"text": LONG}, POINT)]))]
    for number in range(9):
        assert used(session.ask(system=SYSTEM)) == (number > 0, number == 0)
        history += [says("ok"), user({"text": str(number)})]
        asked.append(ref(session.ask(messages=[*history[:-1], user(*history[-1]["content"], POINT)])))
    assert len(endpoint.stage(PromptCaching).cache.uses) <= 8
    collect()
    assert [each() for each in asked[:-5]] == [None] * 5


@pytest.mark.parametrize(("model", "keeps"), [(SONNET, False), ("us.anthropic.claude-opus-4-6-v1", True)])
def test_thoughts_of_earlier_turns(model: str, keeps: bool) -> None:
    session = Session(minimum=0)
    thought = {"reasoningContent": {"reasoningText": {"text": "Let me look.", "signature": "c2ln"}}}
    used_tool = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "sunny"}]}}
    history = [
        user({"text": "How is it?"}, POINT),
        {"role": "assistant", "content": [thought, used_tool]},
        user(result, POINT),
        says("ok"),
        user({"text": "And tomorrow?"}, POINT),
    ]
    calls = session.endpoint.calls
    cache = session.endpoint.stage(PromptCaching).cache
    cache.parent = lambda call: calls[call.number - 2] if call.number > 1 else None
    first, second, third = (session.ask(model, messages=history[:end]) for end in (1, 3, 5))
    assert second.cache.read == first.cache.written
    assert (third.cache.read == first.cache.written) is not keeps
    assert (third.cache.read == second.cache.read + second.cache.written) is keeps
    assert not session.rewrites


def test_more_blocks_than_the_model_looks_back_over_are_written_again() -> None:
    session = Session()
    session.ask(messages=[user({"text": LONG}, POINT)])
    parts = [{"text": f"part {number}"} for number in range(25)]
    cache = session.endpoint.stage(PromptCaching).cache
    cache.parent = lambda call: session.endpoint.calls[0] if call.number == 2 else None
    call = session.ask(messages=[user({"text": LONG}), says("ok"), user(*parts, POINT)])
    assert used(call) == (False, True)
    (rewrite,) = session.rewrites
    assert (rewrite.path, rewrite.blocks, rewrite.look_back) == ("", 26, 20)
    assert str(rewrite).endswith("26 blocks lie between their cache points, and the model looks back over about 20")


def agent_of(calls: int, *, system: str = "You plan.", first: str = "Go.") -> Session:
    """A conversation of so many calls. `{}` in the system prompt or the first message becomes the call's number."""
    session = Session(minimum=0, history="off")
    session.goes_on()
    history: list[Json] = []
    for number in range(calls):
        last = user(*([{"text": first.format(number)}] * (not number)), {"text": "Go on."}, POINT)
        start = [user({"text": first.format(number)}, {"text": "Go on."})] if number else []
        session.ask(
            KEEPS_THOUGHTS, system=({"text": system.format(number)}, POINT), messages=[*start, *history[1:], last]
        )
        history += [user({"text": "Go on."}), says("ok")]
    return session


def steps(work: Callable[[], object]) -> int:
    """How many functions run, those written in C too."""
    count = 0

    def seen(frame: object, event: str, value: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "changes",
    [{}, {"system": " It is {} o'clock."}, {"first": "It is {} o'clock."}],
    ids=["nothing changes", "the system prompt changes", "the first message changes"],
)
def test_the_work_for_rewrites_grows_with_the_calls_and_no_faster(changes: dict[str, str]) -> None:
    def rewrites(session: Session) -> object:
        return session.rewrites

    def certain(session: Session) -> object:
        return [call.cache.certain for call in session.endpoint.calls]

    short, long = agent_of(12, **changes), agent_of(48, **changes)
    assert len(long.rewrites) == (47 if changes else 0)
    for asks in (rewrites, certain):
        few, many = (steps(partial(asks, session)) for session in (short, long))
        assert many < 8 * few, (few, many)  # four times as many calls


def test_a_conversation_may_be_longer_than_python_allows_calls_of_functions() -> None:
    session = agent_of(80)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 60)
    try:
        assert not session.rewrites
        assert session.endpoint.calls[-1].cache.certain
    finally:
        sys.setrecursionlimit(before)


def test_a_call_is_certain_only_when_the_calls_that_it_reads_have_ended() -> None:
    session = Session(minimum=0)
    session.goes_on()
    exchange = session.begin(KEEPS_THOUGHTS, system=SYSTEM)
    exchange.taken.extend(exchange.response.chunks)
    later = session.ask(KEEPS_THOUGHTS, system=SYSTEM)
    last = session.ask(KEEPS_THOUGHTS, system=SYSTEM)
    assert [each.cache.certain for each in (exchange.call, later, last)] == [False] * 3
    exchange.ended("complete")
    assert [each.cache.certain for each in (last, later, exchange.call)] == [True] * 3
