"""No text of the control API contains Python: what a caller reads is what the caller can type, in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from converse_harness import reply
from converse_harness.cli.server_output import load
from converse_harness.endpoint import failure_texts
from converse_harness.errors import ConverseHarnessError, json_text
from converse_harness.server.control import openapi, patterns
from converse_harness.server.control.arguments import parameters
from converse_harness.server.control.reading import ControlRefused
from converse_harness.server.control.vocabulary import MODIFIERS, REPLIES, Word, read_reply
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.http import Request
from tests.server.control.conftest import Client, exchange
from tests.server.control.test_control import BROKEN_BODIES, WRONG_BODIES, WRONG_REPLIES

PYTHON = re.compile(
    r"converse\.\w|pytest|\breply\.\w|@|fake_converse|\bfaults\.|\blambda\b|strict=|\bNone\b|\bTrue\b|\bFalse\b"
    r"|on_operation|\bfake\.[a-z]|\w\(\.\.\.\)|import |\w+\(\w+=|\w\(\)"
)

HELLO = [{"role": "user", "content": [{"text": "hello"}]}]
BLANK = [{"role": "user", "content": [{"text": " "}]}]
USED = [
    *HELLO,
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "found"}]}}]},
]
LOOK = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
HOPELESS = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "not": {}}}}}]}


def ask(client: Client, fake: Any, *targets: str, body: object = None) -> None:
    for target in targets:
        fake.core.exchange(Request("POST", target, (), json.dumps(body or {"messages": HELLO}).encode()))


def after_a_block(client: Client, fake: Any) -> None:
    with fake.script(reply.text("a")):
        exchange(fake)
    exchange(fake, "again")


def calls_anything_else(client: Client, fake: Any) -> None:
    ask(client, fake, "/model/m/invoke", "/model/m/invoke-with-response-stream", "/model/m/nothing", "/async-invoke")
    ask(client, fake, "/knowledgebases/ABCDEFGHIJ/retrieve", "/guardrail/g/version/1/apply")


def retries(client: Client, fake: Any) -> None:
    for attempt in (1, 2):
        headers = (("amz-sdk-request", f"attempt={attempt}; max=3"),)
        fake.core.exchange(Request("POST", "/model/m/converse", headers, json.dumps({"messages": HELLO}).encode()))


PROBLEMS: dict[str, tuple[dict[str, Any], Callable[[Client, Any], object]]] = {
    "nothing scripted": ({}, lambda client, fake: exchange(fake)),
    "a block that ended": ({}, after_a_block),
    "one turn too many": ({"script": [{"text": "a"}]}, lambda client, fake: [exchange(fake), exchange(fake, "again")]),
    "one round too many": (
        {"script": [{"text": "a"}]},
        lambda client, fake: [exchange(fake), exchange(fake, messages=USED, toolConfig=HOPELESS)],
    ),
    "one attempt too many": ({"script": [{"throttled": True}]}, retries),
    "no condition met": (
        {"when": [{"model": "*haiku*", "always": {"text": "a"}}]},
        lambda client, fake: exchange(fake),
    ),
    "refused": ({"always": {"text": "a"}}, lambda client, fake: exchange(fake, messages=BLANK)),
    "malformed": (
        {"always": {"text": "a"}},
        lambda client, fake: ask(client, fake, "/model/m/converse", body={"messages": "hello"}),
    ),
    "unused": ({"script": [{"text": "a"}, {"throttled": True, "times": 2}]}, lambda client, fake: None),
    "other operations": ({}, calls_anything_else),
    "only a stream": (
        {"always": {"text": "a", "broken": "no_message_stop"}},
        lambda client, fake: exchange(fake),
    ),
    "only these events": (
        {"always": {"events": [{"messageStart": {"role": "assistant"}}], "strict": False}},
        lambda client, fake: exchange(fake),
    ),
    "a pattern without end": (
        {"when": [{"last_user_text": {"regex": "(?:a|a)*$"}, "always": {"text": "a"}}]},
        lambda client, fake: exchange(fake, "a" * 40 + "!"),
    ),
}
"""What a test opens, and what its agent does wrong."""


@pytest.fixture(autouse=True)
def _searches_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_SECONDS", 0.05)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_has_no_python_in_it(client: Client, name: str) -> None:
    check_problem(client, *PROBLEMS[name])


def check_problem(client: Client, body: dict[str, Any], provoke: Callable[[Client, Any], object]) -> None:
    """Open a fake, do what is a problem, and look through all that is told of it."""
    fake = client.opened(body)
    provoke(client, fake)
    path = f"/__converse/fakes/{fake.url.rpartition('/')[2]}"
    state, calls, closed = (
        client.ask(*each).value for each in (("GET", path), ("GET", f"{path}/calls"), ("DELETE", path))
    )
    assert closed["problems"]
    assert state["problems"] == closed["problems"]
    for text in (
        *closed["problems"],
        json.dumps([state["script"], state["unused"], [each["reply"] for each in calls["calls"]]]),
    ):
        assert not PYTHON.search(text), text


def test_every_advice_is_provoked_here(client: Client) -> None:
    """A kind of problem that is new needs a row above."""
    told: list[str] = []
    for body, provoke in PROBLEMS.values():
        fake = client.opened(body)
        provoke(client, fake)
        told += [json_text(problem) for problem in fake.failures() if isinstance(problem, ConverseHarnessError)]
    for name, advice in failure_texts._ADVICE.items():
        said = advice.json.replace("{rule}", "text_is_not_blank")
        assert any(said in text for text in told), name
        assert not PYTHON.search(advice.json), name


def test_a_recording_that_is_served_is_recorded_again_by_a_command(client: Client) -> None:
    fake = client.opened()
    fake.endpoint.script = load(next(Path(__file__).parents[3].joinpath("recordings").rglob("*.jsonl")))
    exchange(fake, "something else")
    problem, *_ = client.ask("GET", f"/__converse/fakes/{fake.url.rpartition('/')[2]}").value["problems"]
    assert "record it again:\nconverse-harness record " in problem
    assert not PYTHON.search(problem), problem


def test_the_same_problem_has_the_words_of_python_for_python(client: Client) -> None:
    fake = client.opened({"script": [{"text": "a"}]})
    (unused,) = fake.failures()
    assert '@pytest.mark.converse(unused="allow")' in str(unused)
    closed = client.ask("DELETE", f"/__converse/fakes/{fake.url.rpartition('/')[2]}").value
    assert closed["problems"][0].endswith(
        'with "unused": "allow".   More: converse-harness docs control-api what-fails-a-test'
    )


def test_notes_are_told_once_and_have_no_python_in_them(client: Client) -> None:
    fake = client.opened({"always": {"text": "a"}, "rules": "warn"})
    exchange(fake, messages=BLANK)
    exchange(fake, messages=BLANK)
    (refused,) = check_notes(client, fake)
    assert refused.startswith("Bedrock would refuse call 1: ")


def check_notes(client: Client, fake: ServerFake) -> list[str]:
    """Close a fake, and return its notes; fail unless there are only notes, and none of them contains Python."""
    path = f"/__converse/fakes/{fake.url.rpartition('/')[2]}"
    state, closed = client.ask("GET", path).value, client.ask("DELETE", path).value
    assert (closed["ok"], closed["problems"]) == (True, [])
    assert closed["notes"] == state["notes"]
    assert not any(PYTHON.search(note) for note in closed["notes"])
    return list(closed["notes"])


def wrong() -> Iterator[object]:
    yield from (body for body, _ in BROKEN_BODIES)
    yield from (body for body, _ in WRONG_BODIES)
    yield from ({"script": [value]} for value, _ in WRONG_REPLIES)
    yield {"keep_calls": 0}
    yield {"always": {"error": "AccesDenied"}}
    yield {"script": [{"text": "a", "times": 0}]}
    yield {"always": {"context_overflow": "prompt_to_long"}}
    yield {"when": [{"operation": "Convers", "always": {"text": "a"}}]}
    yield {"always": {"throttled": 2}}
    yield {"always": {"throttled": {"times": 2}}}
    yield {"script": [{"tool_uses": [["now", {"a": 1}, 5]]}]}
    yield {"when": [{"operation": "CountTokens", "always": {"text": "a"}}]}
    yield {"when": [{"operation": "ApplyGuardrail", "always": {"text": "a"}}]}
    yield {"when": [{"operation": "InvokeModel", "always": {"text": "a"}}]}
    yield {"always": {"throttled": {"wording": "x"}}}
    yield {"always": {"context_overflow": {"wording": "x"}}}
    yield {"always": {"text": "a b c", "fails_after": {"events": 1, "exception": "futureException"}}}
    yield {"always": {"guardrail_masked": {"text": "{NAME}", "policy": "topic"}}}
    yield {
        "always": {
            "guardrail_passed": {
                "text": "a",
                "policy": {"topicPolicy": {"topics": [{"name": "a", "type": "DENY", "action": "BLOCKED"}]}},
            }
        }
    }


@pytest.mark.parametrize("body", [*wrong()], ids=lambda body: str(body)[:60])
def test_a_refusal_has_no_python_in_it(client: Client, body: object) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    message = client.ask("POST", "/__converse/fakes", raw).message
    sent = raw.decode(errors="replace")
    found = [each for each in PYTHON.findall(message) if each not in sent]
    assert not found, message


def test_the_description_has_no_python_in_it() -> None:
    assert not PYTHON.search(openapi().decode())


ODD: list[object] = [None, -1, 50, "x", "a b", "\ud800", [], ["a b"], [5], [[5]], {}, {"x": 1}, [{"text": 5}]]
"""Values that are wrong for most arguments."""

NEEDED: dict[str, Any] = {
    **{name: {"text": "{NAME}"} for name in ("guardrail_masked", "guardrail_passed")},
    "error": {"name": "ThrottlingException"},
    "error_frame_after": {"events": 1},
    "fails_after": {"events": 1, "exception": "throttlingException"},
    "broken": {"fault": "reset"},
    "tool_use": {"name": "a"},
    "tool_uses": {"uses": ["a"]},
    "cited": ["a"],
    "output": {},
    "events": [{"throttlingException": {"message": "a"}}],
    "message": [{"text": "a"}],
    "response": [{"throttlingException": {"message": "a"}}],
}
"""Arguments with which a member is right; "a" is right for the others."""

OF_SEVERAL = (
    "things are not as in AWS's API model:",
    ".tool_uses has no tool.",
    ".guardrail_blocked: streamed + text is",
    ".retry_after: a whole number of seconds, or of milliseconds",
    "has no member of ConverseResponse",  # of a botocore that is older than the argument
)
"""Parts of refusals that are about a whole member."""


def with_an_odd_argument(name: str, word: Word) -> Iterator[tuple[dict[str, Any], str]]:
    """Replies in which one argument of a member has an odd value, each with the path of this argument."""
    base = {} if name in REPLIES else {"throttled": True} if name == "retry_after" else {"text": "a"}
    for argument in parameters(word.function):
        for value in ODD:
            if word.form == "arguments":
                yield base | {name: {**NEEDED.get(name, {}), argument: value}}, f"{name}.{argument}"
            else:
                place = argument if argument in word.beside else name
                yield base | {name: NEEDED.get(name, "a"), place: value}, place


@pytest.mark.parametrize("name", [*REPLIES, *MODIFIERS])
def test_a_refusal_has_the_path_of_what_is_wrong(name: str) -> None:
    for given, place in with_an_odd_argument(name, REPLIES.get(name) or MODIFIERS[name]):
        try:
            read_reply(given, "script[0]")
        except ControlRefused as error:
            for line in str(error).splitlines():
                whole = any(part in line for part in OF_SEVERAL)
                assert whole or re.match(rf"\s*script\[0\]\.{re.escape(place)}[ .:\[]", line), line
