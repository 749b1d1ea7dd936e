"""What a client makes of earlier answers: every change is said by its name and the calls, and nothing else is."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

import httpx
import pytest
from botocore.exceptions import EventStreamError
from hypothesis import example, given
from hypothesis import strategies as st

import converse_harness
from converse_harness import (
    Call,
    ChangedHistory,
    ConverseServer,
    Endpoint,
    Fake,
    HttpxFake,
    Reply,
    ReplyError,
    bedrock,
    faults,
    record,
    recording,
    reply,
)
from converse_harness.endpoint.history.compare import HISTORY_CHANGES
from converse_harness.intercept.clients import create_client
from converse_harness.literals import StopReason
from converse_harness.notes import set_aside
from converse_harness.settings import HISTORY_LEVELS, HistoryLevel, Settings
from converse_harness.stream.assemble import assemble
from converse_harness.stream.http import Request
from converse_strategies import replies

fake_converse = partial(converse_harness.fake_converse, answers="off")
"""A fake whose answers need not fit: these tests are about what comes back of them."""

Json = dict[str, Any]
Change = Callable[[list[Json]], object]
"""Changes the messages that are about to be sent."""

CLAUDE: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA: Final = "us.amazon.nova-lite-v1:0"
THINKING: Final = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
TOOLS: Final = {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in "ab"]}

THOUGHT: Final = {"reasoningContent": {"reasoningText": {"text": "Both, at once.", "signature": "EqoBCkYIBBgC"}}}
SAID: Final = {"text": "I look up the time and the weather."}
TIME: Final = {"toolUse": {"name": "get_time", "input": {"zone": "CET", "exact": True}}}
WEATHER: Final = {"toolUse": {"name": "get_weather", "input": {"city": "Zürich", "days": 2}}}
FULL: Final = (THOUGHT, SAID, TIME, WEATHER)
SUNNY: Final = "It is 18 degrees and sunny in Zürich."


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


@pytest.fixture(autouse=True)
def _kept_out_of_the_summary() -> Iterator[None]:
    """What is noted here is planted."""
    with set_aside():
        yield


def kinds(fake: Fake) -> list[str]:
    return [note.kind for note in fake.notes]


class Chat:
    """A client that keeps the whole conversation, and sends it back as it came but for `change`."""

    def __init__(self, operation: str = "Converse", model: str = CLAUDE, client: Any = None, **more: Any) -> None:
        self.client = client or create_client()
        self.operation = operation
        self.more = {"modelId": model, "toolConfig": TOOLS, **more}
        self.messages: list[Json] = []

    def send(self, *content: Json, change: Change | None = None) -> Json:
        """Say something; the message that was answered."""
        self.messages.append(user(*content))
        sent = deepcopy(self.messages)
        if change is not None:
            change(sent)
            self.messages = deepcopy(sent)
        if self.operation == "Converse":
            message: Json = self.client.converse(messages=sent, **self.more)["output"]["message"]
        else:
            message = assemble(self.client.converse_stream(messages=sent, **self.more)["stream"]).message
        self.messages.append(message)
        return message

    def give(self, change: Change | None = None) -> Json:
        """Say what the tools gave that were used last."""
        uses = [block["toolUse"]["toolUseId"] for block in self.messages[-1]["content"] if "toolUse" in block]
        return self.send(*map(result, uses), change=change)


def result(use_id: str) -> Json:
    return {"toolResult": {"toolUseId": use_id, "content": [{"text": "done"}]}}


@pytest.fixture(params=["Converse", "ConverseStream"])
def operation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# What is said


def drop_use(messages: list[Json]) -> object:
    return messages[1]["content"].pop(2), messages[2]["content"].pop(0)


def edit(path: Sequence[str | int], value: object) -> Change:
    """Put something in the place of what was answered."""

    def change(messages: list[Json]) -> None:
        place: Any = messages[1]["content"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def drop(index: int) -> Change:
    return lambda messages: messages[1]["content"].pop(index)


def add_use(messages: list[Json]) -> None:
    invented = {"toolUse": {"toolUseId": "invented", "name": "get_news", "input": {}}}
    messages[1]["content"].append(invented)
    messages[2]["content"].append(result("invented"))


def rename_without_results(messages: list[Json]) -> None:
    messages[1]["content"][2]["toolUse"]["toolUseId"] = "another"


PLANTED: Final[dict[str, tuple[Change, dict[str, str]]]] = {
    "tool use dropped": (drop_use, {"history_leaves_out_tool_use": "leaves out toolUse get_time"}),
    "tool use dropped, not its result": (drop(2), {"history_leaves_out_tool_use": "leaves out toolUse get_time"}),
    "input changed": (
        edit([2, "toolUse", "input", "zone"], "UTC"),
        {"history_changes_tool_input": "changes the input of toolUse get_time"},
    ),
    "input emptied": (
        edit([3, "toolUse", "input"], {}),
        {"history_changes_tool_input": "changes the input of toolUse get_weather"},
    ),
    "name changed": (
        edit([2, "toolUse", "name"], "time"),
        {"history_changes_tool_name": "changes the name of toolUse get_time"},
    ),
    "text changed": (
        edit([1, "text"], "I look up the time and the news."),
        {"history_changes_text": "changes text"},
    ),
    "text replaced": (edit([1, "text"], "Well!"), {"history_changes_text": "changes text"}),
    "text cut": (edit([1, "text"], SAID["text"][:20]), {"history_changes_text": "changes text"}),
    "text goes on": (edit([1, "text"], SAID["text"] + " (edited)"), {"history_changes_text": "changes text"}),
    "reasoning changed": (
        edit([0, "reasoningContent", "reasoningText", "text"], "Both."),
        {"history_changes_reasoning": "changes reasoning"},
    ),
    "signature changed": (
        edit([0, "reasoningContent", "reasoningText", "signature"], "EqoBCkYIBBgD"),
        {"history_changes_signature": "changes the signature of reasoning"},
    ),
    "signature dropped": (
        edit([0, "reasoningContent"], {"reasoningText": {"text": "Both, at once."}}),
        {"history_changes_signature": "changes the signature of reasoning"},
    ),
    "reasoning dropped": (drop(0), {"history_leaves_out_reasoning": "leaves out reasoning"}),
    "tool use added": (add_use, {"history_adds_tool_use": "adds toolUse get_news to"}),
    "tool result added": (
        lambda messages: messages[2]["content"].append(result("invented")),
        {"history_adds_tool_result": "adds a toolResult for invented, which"},
    ),
    "id changed, not that of its result": (
        rename_without_results,
        {
            "history_leaves_out_tool_use": "leaves out toolUse get_time",
            "history_adds_tool_use": "adds toolUse get_time to",
        },
    ),
    "two at once": (
        lambda messages: [drop_use(messages), edit([1, "text"], "I look up the time.")(messages)],
        {"history_leaves_out_tool_use": "leaves out toolUse get_time", "history_changes_text": "changes text"},
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_change_is_said_with_the_calls_once(planted: str, operation: str) -> None:
    """Also where Bedrock refuses the request, and while the conversation goes on as it was changed."""
    change, said = PLANTED[planted]
    answers = (reply.message(*FULL), reply.text(SUNNY), reply.text("You are welcome."))
    with fake_converse(*answers, rules="off") as fake:
        chat = Chat(operation, additionalModelRequestFields=THINKING)
        chat.send({"text": "What is it like?"})
        assert fake.notes == []
        chat.give(change)
        chat.send({"text": "Thanks"})
        assert sorted(kinds(fake)) == sorted(said)
        for note in fake.notes:
            assert note.text.startswith(f"call 2 {said[note.kind]} ")
            assert " the answer to call 1" in note.text.partition("\n")[0]
            assert "\nwas       " in note.text
            assert "\nis now    " in note.text
            assert note.call == 2
    with fake_converse(*answers, history="off", rules="off") as fake:
        chat = Chat(operation, additionalModelRequestFields=THINKING)
        chat.send({"text": "What is it like?"})
        chat.give(change)
        assert fake.notes == []
        chat.send({"text": "Thanks"})


def test_a_text_alone_that_was_changed(operation: str) -> None:
    """No id leads to its call: the messages before it do."""
    with fake_converse(reply.text(SUNNY).times(2), reply.text("You are welcome.")) as fake:
        other = Chat(operation)
        other.send({"text": "What is it like in Bern?"})
        chat = Chat(operation)
        chat.send({"text": "What is it like?"})
        chat.send({"text": "Thanks"}, change=edit([0, "text"], SUNNY.replace("18", "19")))
    assert fake.notes[0].text.startswith("call 3 changes text in the answer to call 2\n")
    assert f"\nwas       {SUNNY}\n" in fake.notes[0].text
    assert "\nis now    It is 19 degrees and sunny in Zürich.\n" in fake.notes[0].text
    assert fake.calls[2].parent is fake.calls[1]


def test_of_two_texts_the_one_that_is_like_it_was_changed(operation: str) -> None:
    with fake_converse(reply.message(SAID, {"text": SUNNY}, TIME), reply.text("ok")) as fake:
        chat = Chat(operation)
        chat.send({"text": "What is it like?"})
        chat.give(lambda messages: [edit([1, "text"], SUNNY.replace("18", "19"))(messages), drop(0)(messages)])
    assert kinds(fake) == ["history_changes_text"]
    assert f"\nwas       {SUNNY}\n" in fake.notes[0].text


def test_what_is_said_begins_near_the_difference() -> None:
    """And neither side shows a secret, wherever it is cut."""
    secret = "AKIAIOSFODNN7EXAMPLQ"
    long = f"{'word ' * 3000}here it is: {secret} and more"
    with fake_converse(reply.text(long), reply.text("ok")) as fake:
        chat = Chat()
        chat.send({"text": "hi"})
        chat.send({"text": "go on"}, change=edit([0, "text"], long.replace("and", "or")))
    (note,) = fake.notes
    assert "and more\n" in note.text
    assert "or more\n" in note.text
    assert secret not in note.text
    assert secret[6:] not in note.text
    assert max(map(len, note.text.splitlines())) < 160


def test_a_change_fails_the_test_where_that_is_wanted(operation: str) -> None:
    """The client gets its answer."""
    fake = fake_converse(reply.message(*FULL), reply.text(SUNNY), history="fail", unexpected="allow").open()
    chat = Chat(operation)
    chat.send({"text": "What is it like?"})
    assert chat.give(drop_use)["content"] == [{"text": SUNNY}]
    fake.close()
    with pytest.raises(
        ChangedHistory, match=r"^call 2 leaves out toolUse get_time of the answer to call 1\n"
    ) as raised:
        fake.check()
    assert fake.notes == []
    assert 'history="off"' in str(raised.value)


def test_every_kind_is_planted() -> None:
    assert {kind for _, said in PLANTED.values() for kind in said} == set(HISTORY_CHANGES)


def test_a_level_that_is_none() -> None:
    with pytest.raises(ReplyError, match=r"^fake_converse\(history='loud'\): one of \"note\" \(") as raised:
        fake_converse(history="loud")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert all(f'"{level}" ({meaning})' in str(raised.value) for level, meaning in HISTORY_LEVELS.items())


# What is not said

CITED: Final = {
    "citationsContent": {
        "content": [{"text": "Two bags are free."}],
        "citations": [{"title": "Rules", "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}}],
    }
}


def rename(messages: list[Json]) -> None:
    """All ids become others, everywhere."""
    text = json.dumps(messages)
    for message in messages[1:2]:
        for number, block in enumerate(message["content"]):
            if "toolUse" in block:
                text = text.replace(block["toolUse"]["toolUseId"], f"call_{number}")
    messages[:] = json.loads(text)


def merge_texts(separator: str) -> Change:
    """All texts of the answer become one, citations as well."""

    def change(messages: list[Json]) -> None:
        texts = [
            part["text"]
            for block in messages[1]["content"]
            for part in [block, *block.get("citationsContent", {}).get("content", [])]
            if "text" in part
        ]
        others = [block for block in messages[1]["content"] if not {"text", "citationsContent"} & block.keys()]
        messages[1]["content"] = [{"text": separator.join(texts)}, *others]

    return change


def in_two_messages(messages: list[Json]) -> None:
    content = messages[1]["content"]
    messages[1:2] = [{"role": "assistant", "content": content[:-1]}, {"role": "assistant", "content": content[-1:]}]


def each_use_by_itself(messages: list[Json]) -> None:
    """Two tool uses at once become one after the other, each with its result."""
    *before, first, second = messages[1]["content"]
    one, two = messages[2]["content"]
    messages[1:3] = [
        {"role": "assistant", "content": [*before, first]},
        user(one),
        {"role": "assistant", "content": [second]},
        user(two),
    ]


def with_the_tests_own(messages: list[Json]) -> None:
    """Messages that the test wrote stand before those of the fake, in one of them even the same words."""
    use = {"toolUse": {"toolUseId": "mine", "name": "get_time", "input": {}}}
    messages[:0] = [user({"text": "Before"}), {"role": "assistant", "content": [SAID, use]}, user(result("mine"))]


NOT_SAID: Final[dict[str, tuple[Reply, Change]]] = {
    "unchanged": (reply.message(*FULL), lambda messages: None),
    "blank blocks left out": (
        reply.message(*FULL[:2], {"text": " \n"}, TIME, strict=False),
        lambda messages: messages[1]["content"].pop(2),
    ),
    "white space at the ends": (
        reply.message({"text": f"  {SAID['text']}\n"}, TIME),
        edit([0, "text"], SAID["text"]),
    ),
    "texts merged": (reply.message(SAID, {"text": SUNNY}, TIME), merge_texts("")),
    "texts merged with a space": (reply.message(SAID, {"text": SUNNY}, TIME), merge_texts(" ")),
    "texts merged by lines": (reply.message({"text": "Well."}, {"text": SUNNY}), merge_texts("\n")),
    "citations flattened": (reply.message(SAID, CITED, {"text": SUNNY}, TIME), merge_texts("")),
    "citations left out": (reply.message(SAID, CITED, TIME), drop(1)),
    "ids rewritten": (reply.message(*FULL), rename),
    "ids of tool uses alone rewritten": (reply.message(TIME, WEATHER), rename),
    "in two messages": (reply.message(*FULL), in_two_messages),
    "one tool use after the other": (reply.message(SAID, TIME, WEATHER), each_use_by_itself),
    "merged with a message before it": (
        reply.message(SAID, TIME),
        lambda messages: messages[1]["content"].insert(0, {"text": "I am your assistant, and I begin."}),
    ),
    "a line of its own after it": (
        reply.message(SAID, TIME),
        edit([0, "text"], f"{SAID['text']}\nObservation: done"),
    ),
    "text dropped": (reply.message(*FULL), drop(1)),
    "typographic marks in ASCII": (
        reply.message({"text": "\u201cNo\u201d \u2014 it\u2019s 18\u201319 degrees\u2026"}, TIME),
        edit([0, "text"], '"No" -- it\'s 18-19 degrees...'),
    ),
    "equal JSON": (reply.message(TIME, WEATHER), edit([1, "toolUse", "input"], {"days": 2, "city": "Zürich"})),
    "trimmed from the front": (reply.message(*FULL), lambda messages: messages.__delitem__(slice(0, 2))),
    "summarised": (
        reply.message(*FULL),
        lambda messages: messages.__setitem__(slice(0, 3), [user({"text": "We spoke of the weather."})]),
    ),
    "the whole answer left out": (reply.message(*FULL), lambda messages: messages.__delitem__(slice(1, 3))),
    "reasoning dropped without thinking": (reply.message(*FULL), drop(0)),
    "another text that is not like it": (reply.text(SUNNY), edit([0, "text"], "No.")),
    "another long text that is not like it": (reply.text(SUNNY), edit([0, "text"], "?" * 40)),
    "with messages of the test's": (reply.message(*FULL), with_the_tests_own),
    "cut by max_tokens": (
        reply.message(SAID, TIME, stop_reason="max_tokens"),
        lambda messages: messages[1]["content"].pop(),
    ),
    "redacted by a guardrail": (
        reply.message({"text": SUNNY}, stop_reason="guardrail_intervened"),
        edit([0, "text"], SUNNY.replace("Zürich", "{CITY}")),
    ),
}


NOT_SAID_BY_NEWER: Final[dict[str, tuple[Callable[[], Reply], Change]]] = {
    "what the service ran by itself": (
        lambda: reply.message(SAID, {"toolUse": {**TIME["toolUse"], "type": "server_tool_use"}}, WEATHER),
        drop(1),
    ),
    "malformed": (
        lambda: reply.message(SAID, TIME, stop_reason="malformed_tool_use"),
        lambda messages: messages[1]["content"].pop(),
    ),
    "the window exceeded": (
        lambda: reply.message(SAID, TIME, stop_reason="model_context_window_exceeded"),
        edit([0, "text"], "I look up the time"),
    ),
}
"""What the oldest botocore does not have yet."""


@pytest.mark.parametrize("name", [*NOT_SAID, *NOT_SAID_BY_NEWER])
def test_what_is_not_said(name: str, operation: str) -> None:
    if name in NOT_SAID:
        answer, change = NOT_SAID[name]
    elif bedrock.botocore_version().startswith("1.40."):
        pytest.skip(f"botocore {bedrock.botocore_version()} does not have it")
    else:
        make, change = NOT_SAID_BY_NEWER[name]
        answer = make()
    with fake_converse(answer, reply.text("You are welcome.").times(2), rules="off") as fake:
        chat = Chat(operation, NOVA)
        chat.send({"text": "What is it like?"})
        chat.give(change) if "toolUse" in chat.messages[-1]["content"][-1] else chat.send({"text": "?"}, change=change)
        chat.send({"text": "Thanks"})
    assert fake.notes == []


def test_reasoning_of_a_loop_that_is_over_may_go(operation: str) -> None:
    with fake_converse(reply.message(*FULL), reply.text(SUNNY), reply.text("ok")) as fake:
        chat = Chat(operation, additionalModelRequestFields=THINKING)
        chat.send({"text": "What is it like?"})
        chat.give()
        chat.send({"text": "Thanks"}, change=drop(0))
    assert fake.notes == []


def test_reasoning_of_a_turn_before_the_last_may_go(operation: str) -> None:
    """The model takes a loop in which the last turn has what was thought."""
    with fake_converse(reply.message(*FULL).times(2), reply.text("ok")) as fake:
        chat = Chat(operation, additionalModelRequestFields=THINKING)
        chat.send({"text": "What is it like?"})
        chat.give()
        chat.give(drop(0))
    assert fake.notes == []


def test_what_the_model_went_on_from_may_stand_before_it(operation: str) -> None:
    """The test began the answer itself, and makes one text of both."""
    with fake_converse(reply.message({"text": '"city": "Bern"}'}, TIME), reply.text("ok"), rules="off") as fake:
        chat = Chat(operation)
        chat.messages = [user({"text": "As JSON?"}), {"role": "assistant", "content": [{"text": "{"}]}]
        sent = chat.client.converse(messages=chat.messages, **chat.more)["output"]["message"]
        sent["content"][0]["text"] = "{" + sent["content"][0]["text"]
        chat.messages = [chat.messages[0], sent]
        chat.give()
    assert (parents(fake), fake.notes) == ([None, 1], [])


def test_what_was_broken_on_purpose_is_nobodys() -> None:
    broken = reply.message(SAID, TIME).broken(faults.one_byte_chunks)
    with fake_converse(broken, reply.text("ok")) as fake:
        chat = Chat("ConverseStream")
        chat.send({"text": "hi"})
        chat.give(lambda messages: messages[1]["content"].pop(0))
    assert fake.notes == []


def test_what_came_of_a_stream_that_broke_is_nobodys() -> None:
    """The client keeps the beginning of one answer, and puts it before the next one."""
    broken = reply.message(SAID, TIME).fails_after(6, "modelStreamErrorException")
    with fake_converse(broken, reply.message({"text": SUNNY}, TIME), reply.text("ok")) as fake:
        chat = Chat("ConverseStream")
        came = ""
        with suppress(EventStreamError):  # the reply breaks off
            for event in chat.client.converse_stream(messages=[user({"text": "hi"})], **chat.more)["stream"]:
                came += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        assert came
        chat.send({"text": "hi"})
        chat.give(lambda messages: messages[1]["content"][0].update(text=came + SUNNY))
    assert fake.notes == []


BEGUN: Final = reply.message(
    {"text": "0"}, {"reasoningContent": {"reasoningText": {"text": "0"}}}, stop_reason="max_tokens"
)
ENDED: Final = reply.message({"text": "0"}, {"reasoningContent": {"redactedContent": b"0"}})
"""An answer of which a part is missing, and a whole one with the same text."""


def named(name: str, stop_reason: StopReason = "tool_use") -> Reply:
    """A tool use whose id other answers have too."""
    use = {"toolUseId": "tooluse_aaaaaaaaaaaaaaaaaaaaaa", "name": name, "input": {}}
    return reply.message({"toolUse": use}, stop_reason=stop_reason)


@given(answers=st.lists(replies(), min_size=1, max_size=3), model=st.sampled_from([CLAUDE, NOVA]))
@example(answers=[named("a"), named("b")], model=CLAUDE)
@example(answers=[named("a"), named("b", "max_tokens")], model=CLAUDE)
@example(answers=[named("a"), named("a", "max_tokens"), named("b")], model=CLAUDE)
@example(answers=[reply.text("1"), BEGUN, ENDED], model=CLAUDE)
@example(answers=[reply.tool_use("a", {"n": None, "big": 2**60, "x": [1.5, {}, ""]})], model=CLAUDE)
def test_whatever_comes_back_as_it_was_is_nothing_to_say(answers: list[Reply], model: str) -> None:
    """Over the very bytes; a tool loop where there is a tool, blobs and all."""
    with fake_converse(*answers, reply.text("ok"), rules="off", history="fail") as fake:
        chat = Chat("ConverseStream", model, additionalModelRequestFields=THINKING)
        chat.more.pop("toolConfig")
        chat.send({"text": "hi"})
        for _ in answers:
            messages = [{"role": each["role"], "content": sendable(each)} for each in chat.messages]
            chat.messages = [each for each in messages if each["content"]]
            chat.give() if any("toolUse" in block for block in chat.messages[-1]["content"]) else chat.send(
                {"text": "and?"}
            )
    assert fake.notes == []
    assert all(parent is None or parent <= number for number, parent in enumerate(parents(fake)))


def sendable(message: Json) -> list[Json]:
    """The blocks of a message that boto lets through again: of an answer not what the service ran, and no pictures."""
    answered = message["role"] == "assistant"
    return [block for block in message["content"] if not (answered and {"toolResult", "image"} & block.keys())]


# Whose answer it is


def parents(fake: Fake) -> list[int | None]:
    return [call.parent.number if call.parent is not None else None for call in fake.calls]


@pytest.mark.parametrize("history", HISTORY_LEVELS)
def test_agents_and_forks_are_a_tree(operation: str, history: HistoryLevel) -> None:
    """One reply answers them all, so that their tool uses have one id, and one text is all of theirs."""
    with fake_converse(history=history) as fake:
        fake.when(turn=1).always(lambda call: reply.tool_use("a", {"asked": call.last_user_text}))
        fake.always(reply.text("ok"))
        one, other = Chat(operation), Chat(operation)
        one.send({"text": "one"})
        other.send({"text": "other"})
        one.give()
        other.give()
        fork = Chat(operation)
        fork.messages = deepcopy(one.messages)
        for chat in (one, other, fork, other):
            chat.send({"text": "and now?"})
    assert parents(fake) == [None, None, 1, 2, 3, 4, 3, 6]
    assert fake.notes == []


def test_of_equal_answers_the_one_in_this_conversation_counts(operation: str) -> None:
    """Two conversations end in the same question and answer, and only their beginnings differ."""
    with fake_converse() as fake:
        fake.always(lambda call: reply.text("ok" if call.turn > 1 else f"To {call.last_user_text}, {SUNNY}"))
        chats = [Chat(operation), Chat(operation), Chat(operation)]
        for text in ("one", "other", "third"):
            chats[len(fake.calls)].send({"text": text})
        for chat in chats:
            chat.send({"text": "and now?"})
        for chat in chats:
            chat.send({"text": "thanks"})
        assert parents(fake) == [None, None, None, 1, 2, 3, 4, 5, 6]
        # Whatever became of the beginning, one answer leads to the next.
        for chat in chats:
            chat.send({"text": "bye"}, change=edit([0, "text"], f"To someone, {SUNNY}"))
        assert parents(fake)[9:] == [7, 8, 9]
        assert {note.kind for note in fake.notes} == {"history_changes_text"}
    # Where the test wrote the beginning, all messages count.
    with fake_converse() as fake:
        fake.always(reply.text("ok"))
        chats = [Chat(operation), Chat(operation), Chat(operation)]
        for chat, text in zip(chats, ("one", "other", "third"), strict=True):
            chat.messages = [user({"text": text}), {"role": "assistant", "content": [{"text": "Hm."}]}]
            chat.send({"text": "and now?"})
        for chat in chats:
            chat.send({"text": "thanks"})
    assert parents(fake) == [None, None, None, 1, 2, 3]


def test_an_answer_is_found_by_its_text_without_white_space_and_by_its_tool_uses(operation: str) -> None:
    """Whatever stands before it; and where all ids are others, by what stands before it."""
    with fake_converse(reply.message({"text": "Well."}, {"text": SUNNY}), reply.text("ok")) as fake:
        chat = Chat(operation)
        chat.send({"text": "hi"})
        chat.messages[:1] = [user({"text": "We spoke."})]
        chat.send({"text": "and now?"}, change=merge_texts(" "))
    assert parents(fake) == [None, 1]
    with fake_converse(reply.message(TIME), reply.text("ok"), rules="off") as fake:
        chat = Chat(operation)
        chat.send({"text": "hi"})
        # Without a text and with another tool use, it is the test's own.
        own = {"toolUse": {"toolUseId": "mine", "name": "get_news", "input": {}}}
        chat.messages = [user({"text": "hi"}), {"role": "assistant", "content": [own]}]
        chat.give()
    assert (parents(fake), fake.notes) == ([None, None], [])
    with fake_converse(reply.message(TIME, WEATHER), reply.text("ok"), rules="off") as fake:
        chat = Chat(operation)
        chat.send({"text": "hi"})
        chat.give(rename)
    assert parents(fake) == [None, 1]


def test_a_change_is_not_said_again_where_a_cache_point_comes_to_it() -> None:
    with fake_converse(reply.message(*FULL), reply.text("ok").times(2), rules="off") as fake:
        chat = Chat()
        chat.send({"text": "hi"})
        chat.give(drop_use)
        chat.messages[1]["content"].append({"cachePoint": {"type": "default"}})
        chat.send({"text": "Thanks"})
    assert kinds(fake) == ["history_leaves_out_tool_use"]


def test_cache_points_that_move_make_no_other_messages() -> None:
    point = {"cachePoint": {"type": "default"}}
    with fake_converse(reply.tool_use("a", {"n": 1}, id="t1"), reply.text("ok"), rules="off") as fake:
        chat = Chat()
        chat.send({"text": "hi"}, point)
        chat.messages[0]["content"].remove(point)
        chat.give(edit([0, "toolUse", "input", "n"], 2))
    assert kinds(fake) == ["history_changes_tool_input"]


def test_ids_of_two_conversations_that_the_test_wrote() -> None:
    """One id in both, and another input: they are not each other's."""
    with fake_converse(reply.tool_use("a", {"n": 1}, id="t1"), reply.text("ok")) as fake:
        Chat().send({"text": "one"})
        chat = Chat()
        use = {"toolUse": {"toolUseId": "t1", "name": "a", "input": {"n": 2}}}
        chat.messages = [user({"text": "other"}), {"role": "assistant", "content": [use]}]
        chat.send(result("t1"))
    assert fake.notes == []


def test_retries_have_one_parent() -> None:
    with fake_converse(reply.message(*FULL), reply.throttled().times(2), reply.text("ok")) as fake:
        chat = Chat()
        chat.send({"text": "hi"})
        chat.give(drop_use)
    assert parents(fake) == [None, 1, 1, 1]
    assert [(note.kind, note.call) for note in fake.notes] == [("history_leaves_out_tool_use", 2)]


def test_an_answer_that_still_comes_is_no_parent() -> None:
    with fake_converse(reply.text(SUNNY), reply.text("ok").times(2)) as fake:
        chat = Chat("ConverseStream")
        stream = iter(chat.client.converse_stream(messages=[user({"text": "hi"})], **chat.more)["stream"])
        for _ in range(5):
            next(stream)
        answer = {"role": "assistant", "content": [{"text": SUNNY}]}
        chat.messages = [user({"text": "hi"}), answer]
        chat.send({"text": "?"})
        list(stream)
        chat.messages = [user({"text": "hi"}), answer]
        chat.send({"text": "??"})
    assert parents(fake) == [None, None, 1]


@pytest.mark.parametrize("path", ["converse", "converse-stream"])
def test_an_answer_of_which_the_client_has_all_is_complete(path: str) -> None:
    """Though the transport has not said so yet: a server does that a moment later."""
    endpoint = Endpoint(reply.text(SUNNY), reply.text("ok").times(2))
    asked = [user({"text": "hi"})]
    sent = [*asked, {"role": "assistant", "content": [{"text": SUNNY}]}, user({"text": "?"})]
    first, *others = (
        endpoint.exchange(Request("POST", f"/model/m/{path}", (), json.dumps({"messages": messages}).encode()))
        for messages in (asked, sent)
    )
    assert [each.call.parent for each in others] == [None]
    first.taken.extend(first.response.chunks)
    again = endpoint.exchange(Request("POST", f"/model/m/{path}", (), json.dumps({"messages": sent}).encode()))
    assert (again.call.parent, first.call.outcome) == (first.call, "still running")


def test_what_was_let_go_is_forgotten(operation: str) -> None:
    """With `keep_calls` nothing of it is held: not by a call that went on from it either."""
    held: WeakSet[Call] = WeakSet()

    def answer(call: Call) -> Reply:
        held.add(call)
        return reply.message(SAID, TIME) if call.turn < 5 else reply.text("ok")

    with fake_converse(keep_calls=2) as fake:
        fake.always(answer)
        chat = Chat(operation)
        chat.send({"text": "hi"})
        for _ in range(4):
            chat.give()
        assert parents(fake) == [None, 4]
        gc.collect()
        assert {each.number for each in held} == {4, 5}
        chat.messages[1]["content"].pop(0)
        chat.send({"text": "Thanks"})
    assert fake.notes == []


@pytest.mark.needs_os
def test_calls_that_are_passed_on_take_part_and_so_do_recorded_ones(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    said = [("history_leaves_out_tool_use", 2)]
    settings: Settings = {"history": "off", "answers": "off"}
    with ConverseServer() as server, server.script(reply.message(*FULL), reply.text("ok"), **settings) as upstream:
        with record(file) as recorder:
            loop = Chat(client=create_client(endpoint_url=upstream.url))
            loop.send({"text": "hi"})
            loop.give(drop_use)
        assert [(note.kind, note.call) for note in recorder.notes] == said
        assert parents(recorder) == [None, 1]
    with fake_converse(recording(file)) as fake:
        loop = Chat()
        loop.send({"text": "hi"})
        loop.give(drop_use)
    assert [(note.kind, note.call) for note in fake.notes] == said
    assert f"    note     {said[0][0]}: call 2 leaves out" in fake.transcript


def test_a_request_without_messages() -> None:
    """A stored prompt has its own."""
    with fake_converse(reply.text(SUNNY), reply.text("ok"), rules="off") as fake:
        client = create_client()
        arn = "arn:aws:bedrock:us-east-1:111122223333:prompt/PROMPT1234:1"
        message = client.converse(modelId=arn)["output"]["message"]
        message["content"][0]["text"] += " Really."
        client.converse(modelId=arn, messages=[message, user({"text": "hi"})])
    assert kinds(fake) == ["history_changes_text"]


def test_other_transports_say_it_too() -> None:
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{NOVA}/converse"
    with HttpxFake(reply.message(SAID, TIME), reply.text("ok"), answers="off") as fake:
        asked = [user({"text": "hi"})]
        message = httpx.post(url, json={"messages": asked}).json()["output"]["message"]
        use_id = message["content"][1]["toolUse"]["toolUseId"]
        message["content"][0]["text"] += " Really."
        httpx.post(url, json={"messages": [*asked, message, user(result(use_id))], "toolConfig": TOOLS})
    assert kinds(fake) == ["history_changes_text"]
