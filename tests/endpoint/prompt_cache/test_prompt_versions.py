"""What is a prompt that was changed, and what another prompt: teams of agents, clocks, tools that come and go."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import pytest

from converse_harness import Endpoint, Reply, faults, reply
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.prompt_cache.rewrites import CacheSummary, Rewrites
from converse_harness.endpoint.prompt_cache.stage import PromptCaching
from converse_harness.stream.http import Request

Json = dict[str, Any]

SONNET: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
POINT: Final[Json] = {"cachePoint": {"type": "default"}}
TRAVEL: Final = "你是旅行顾问。" * 3000
HOUSE: Final = "Be brief, be kind, cite your sources, and answer in the language of the question. " * 8


def tool(name: str, description: str = "Does what its name says.") -> Json:
    return {"toolSpec": {"name": name, "description": description, "inputSchema": {"json": {"type": "object"}}}}


class Agents:
    """Calls to one fake by agents, each of which goes on with its conversation or with that of all."""

    def __init__(self, *replies: Reply) -> None:
        self.endpoint = Endpoint(*replies, rules="off", cache_minimum=0)
        self.endpoint.script.fallback.add([reply.text("ok")], endless=True)
        cache = self.endpoint.stage(PromptCaching).cache
        cache.parent = lambda call: self.parents.get(call.number)
        self.parents: dict[int, Call] = {}

    def ask(
        self,
        prompt: str,
        *tools: str | Json,
        after: Call | None = None,
        content: Sequence[Json] = (),
        edit: tuple[str, str] = ("", ""),
        **members: Any,
    ) -> Call:
        """A call that goes on from another one, perhaps with something replaced in that, or begins a conversation."""
        history: list[Json] = [] if after is None else json.loads(json.dumps(after.body["messages"]).replace(*edit))
        history += [{"role": "assistant", "content": [{"text": "ok"}]}] * bool(history)
        message = {"role": "user", "content": [{"text": f"Question {len(history)}"}, *content, POINT]}
        body: Json = {"messages": [*history, message], "system": [{"text": prompt}, POINT]}
        if tools:
            specs = [each if isinstance(each, dict) else tool(each) for each in tools]
            body["toolConfig"] = {"tools": [*specs, POINT], **members}
        if after is not None:
            self.parents[len(self.endpoint.calls) + 1] = after
        path = f"/model/{quote(SONNET, safe='')}/converse-stream"
        exchange = self.endpoint.exchange(Request("POST", path, (), json.dumps(body).encode()))
        exchange.taken.extend(exchange.response.chunks)
        exchange.ended("complete")
        return exchange.call

    @property
    def rewrites(self) -> Rewrites:
        return CacheSummary(self.endpoint.calls).rewrites


TEAMS: Final[Mapping[str, Sequence[tuple[str, ...]]]] = {
    "prompts of their own": [("You find facts.",), ("You write reports.",), ("You look for mistakes.",)],
    "the role first": [(f"You are the {role}. {HOUSE}",) for role in ("researcher", "writer", "reviewer")],
    "the role last": [(f"{HOUSE} You are the {role}.",) for role in ("researcher", "writer", "reviewer")],
    "customers": [(f"You help the customers of {name}. {HOUSE}",) for name in ("Acme", "Globex", "Initech")],
    "tools of their own": [(HOUSE, "search", "fetch"), (HOUSE, "write", "read"), (HOUSE, "search", "write")],
    "some of the tools": [(HOUSE, "search", "fetch", "write"), (HOUSE, "search"), (HOUSE, "search", "fetch")],
    "names with numbers": [(f"You are {name}. {HOUSE}",) for name in ("gpt-4", "claude-3", "nova-2")],
    "prompts without spaces": [(f"你是第{name}号公司的{role}。" * 20,) for name, role in ((1, "律师"), (2, "会计"))],
    "pages of their own": [(f"Read https://{name}.example/v1 first. {HOUSE}",) for name in ("one", "other")],
    "numbers": [(f"You are worker {number} of 3. {HOUSE}",) for number in (1, 2, 3)],
}


@pytest.mark.parametrize("team", TEAMS.values(), ids=list(TEAMS))
def test_a_team_writes_nothing_again_one_after_the_other(team: Sequence[tuple[str, ...]]) -> None:
    agents = Agents()
    for member in team:
        first = agents.ask(*member)
        agents.ask(*member, after=first)
    assert not agents.rewrites


@pytest.mark.parametrize("team", TEAMS.values(), ids=list(TEAMS))
def test_a_team_writes_nothing_again_in_turns(team: Sequence[tuple[str, ...]]) -> None:
    agents = Agents()
    calls: list[Call | None] = [None] * len(team)
    for _ in range(2):
        calls = [agents.ask(*member, after=call) for member, call in zip(team, calls, strict=True)]
    assert not agents.rewrites


SHARING: Final = {name: team for name, team in TEAMS.items() if "tools" not in name}
"""Of tools that change within a conversation it is said, whoever changed them."""


@pytest.mark.parametrize("team", SHARING.values(), ids=list(SHARING))
def test_agents_that_take_turns_in_one_conversation_write_nothing_again(team: Sequence[tuple[str, ...]]) -> None:
    agents, call = Agents(), None
    for member in [*team, *team]:
        call = agents.ask(*member, after=call)
    assert not agents.rewrites
    assert all(each.cache.read for each in agents.endpoint.calls[len(team) :])


CHANGES: Final[Mapping[str, tuple[tuple[str | Json, ...], tuple[str | Json, ...]]]] = {
    "a time": (("Now: 05:00:01. " + HOUSE,), ("Now: 05:00:09. " + HOUSE,)),
    "a time that crosses noon": (("It is 11:59 AM. " + HOUSE,), ("It is 12:00 PM. " + HOUSE,)),
    "a date in words": ((HOUSE + "Today is Sunday, May 31.",), (HOUSE + "Today is Monday, June 1.",)),
    "a time alone": (("2026-11-23T05:00:01Z",), ("2026-11-23T05:00:09Z",)),
    "an id": (("Session 0c63395a-b86b.",), ("Session 18fb8f37-6d17.",)),
    "an id of letters": (("Session V1StGXR8Z5jdHi6. " + HOUSE,), ("Session x9KbQ2mT4wLpR7. " + HOUSE,)),
    "a time without spaces": (
        (f"现在是2026年11月23日05:00:01。{TRAVEL}",),
        (f"现在是2026年11月23日05:00:09。{TRAVEL}",),
    ),
    "a count": (("Now 1",), ("Now 2",)),
    "a time in a tool": ((HOUSE, "look", tool("at", "At 05:00:01")), (HOUSE, "look", tool("at", "At 05:00:09"))),
    "tools in another order": ((HOUSE, "look", "listen"), (HOUSE, "listen", "look")),
    "a list in another order": (("Skills: sums, trips. " + HOUSE,), ("Skills: trips, sums. " + HOUSE,)),
    "a schema in another order": (
        (HOUSE, {"toolSpec": {"name": "t", "inputSchema": {"json": {"required": ["one", "other"]}}}}),
        (HOUSE, {"toolSpec": {"name": "t", "inputSchema": {"json": {"required": ["other", "one"]}}}}),
    ),
    "a tool more": ((HOUSE, "look"), (HOUSE, "look", "listen")),
    "a tool less": ((HOUSE, "look", "listen"), (HOUSE, "look")),
}


@pytest.mark.parametrize(("was", "now"), CHANGES.values(), ids=list(CHANGES))
def test_within_a_conversation_a_changed_prompt_is_found(was: Sequence[Any], now: Sequence[Any]) -> None:
    agents = Agents()
    first = agents.ask(*was)
    agents.ask(*now, after=first)
    (rewrite,) = agents.rewrites
    assert (rewrite.call.number, rewrite.earlier) == (2, first)


@pytest.mark.parametrize(("was", "now"), CHANGES.values(), ids=list(CHANGES))
def test_of_another_conversation_nothing_is_guessed(was: Sequence[Any], now: Sequence[Any]) -> None:
    agents = Agents()
    agents.ask(*was)
    agents.ask(*now)
    assert not agents.rewrites


@pytest.mark.parametrize(
    "changed",
    [
        ("You remember: she likes trains. " + HOUSE,),
        ("A page about trains. " * 60 + HOUSE,),
        (HOUSE, "look", "listen"),
        (HOUSE, "search"),
        ("顾客喜欢火车。" * 3000 + HOUSE,),
    ],
    ids=["a remark", "more than there was", "tools", "another tool", "a remark without spaces"],
)
def test_within_a_conversation_more_is_a_change(changed: Sequence[str]) -> None:
    agents = Agents()
    first = agents.ask(HOUSE, "look")
    agents.ask(*(changed if len(changed) > 1 else (*changed, "look")), after=first)
    (rewrite,) = agents.rewrites
    assert rewrite.earlier is first


def test_agents_with_one_prompt_and_tools_of_their_own() -> None:
    agents = Agents()
    agents.ask(TRAVEL, "search", "read")
    agents.ask(TRAVEL, "read", "book")
    assert not agents.rewrites


def test_another_agent_in_a_conversation_is_passed_over() -> None:
    agents = Agents()
    first = agents.ask("You plan. " + HOUSE)
    second = agents.ask("Quite another prompt, about nothing that the first one has in it.", after=first)
    agents.ask("You plan. " + HOUSE, after=second)
    assert not agents.rewrites
    assert agents.endpoint.calls[2].cache.from_call == 1


@pytest.mark.parametrize(
    "failed", [reply.throttled(), reply.read_timeout(), reply.text("ok").fails_after(0, "throttlingException")]
)
def test_what_failed_neither_read_nor_wrote(failed: Reply) -> None:
    agents = Agents(failed, reply.text("ok"), failed, reply.text("ok"))
    calls = [agents.ask(HOUSE) for _ in range(4)]
    written = calls[1].cache.written
    assert [call.cache[:2] for call in calls] == [(0, 0), (0, written), (0, 0), (written, 0)]
    summary = CacheSummary(calls)
    assert (summary.read, summary.written, summary.hit_rate) == (written, written, 0.5)


def test_a_stream_that_breaks_later_is_counted() -> None:
    agents = Agents(reply.text("ok then").broken(faults.no_message_stop))
    assert agents.ask(HOUSE).cache.written > 0


def test_the_tool_choice_that_is_the_default_is_no_other() -> None:
    agents = Agents()
    first = agents.ask(HOUSE, "look", toolChoice={"auto": {}})
    second = agents.ask(HOUSE, "look", after=first)
    assert second.cache.read == first.cache.written
    agents.ask(HOUSE, "look", after=second, toolChoice={"any": {}})
    (rewrite,) = agents.rewrites
    assert (rewrite.path, rewrite.was, rewrite.now) == ("toolConfig.toolChoice", '{"auto": {}}', '{"any": {}}')


def image(data: str) -> Json:
    return {"image": {"format": "png", "source": {"bytes": data}}}


def test_the_first_image_is_named_by_its_place() -> None:
    agents = Agents()
    first = agents.ask(HOUSE)
    agents.ask(HOUSE, after=first, content=[image("AAAA")])
    (rewrite,) = agents.rewrites
    assert "the prefix parts at messages[2].content[1]\n  was  no image in the request\n  now  images" in str(rewrite)


def test_of_a_long_word_the_difference_is_shown() -> None:
    agents = Agents()
    first = agents.ask(HOUSE, content=[image("A" * 400 + "BBBB")])
    agents.ask(HOUSE, after=first, edit=("BBBB", "CCCC"))
    (rewrite,) = agents.rewrites
    assert (rewrite.path, rewrite.character) == ("messages[0].content[1].image.source.bytes", 400)
    assert (rewrite.was, rewrite.now) == (f"...{'A' * 24}BBBB", f"...{'A' * 24}CCCC")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
            "is known of the model behind arn",
        ),
        ("meta.llama3-3-70b-instruct-v1:0", "no call to a model that is known to cache has a cachePoint"),
    ],
)
def test_why_nothing_could_be_cached(model: str, said: str) -> None:
    endpoint = Endpoint(reply.text("ok"), rules="off")
    body = json.dumps({"messages": [{"role": "user", "content": [{"text": HOUSE}, POINT]}]}).encode()
    endpoint.exchange(Request("POST", f"/model/{quote(model, safe='')}/converse", (), body))
    notes: list[Any] = []
    assert not CacheSummary(endpoint.calls, notes.append).rewrites
    (note,) = notes
    assert said in note.text
