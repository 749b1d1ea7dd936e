"""The control API: what it opens, tells and closes, and what it answers to every mistake."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.errors import Advice, ReplyError
from converse_harness.server.control import ROUTES, ControlApi
from converse_harness.server.control.reading import DEEPEST
from converse_harness.server.control.vocabulary import MODIFIERS, REPLIES
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.http import Request
from tests.profiles import examples
from tests.server.control.conftest import OUR_HEADERS, Client, exchange

FAKES = "/__converse/fakes"


def test_a_test_in_another_language_scripts_asks_and_closes(client: Client) -> None:
    opened = client.post(
        {"script": [{"tool_use": {"name": "get_weather", "input": {"city": "Zürich"}}}, {"text": "18 °C and sunny."}]}
    )
    assert opened.status == 201
    assert opened.value["id"] == "fake-1"
    assert opened.value["environ"]["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] == opened.value["url"]
    (fake,) = client.fakes.opened
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    offered = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": schema}}}]}
    assert exchange(fake, operation="converse-stream", toolConfig=offered)[0] == 200
    assert b"sunny" in exchange(fake)[1]
    calls = client.ask("GET", f"{FAKES}/fake-1/calls").value["calls"]
    assert [call["operation"] for call in calls] == ["ConverseStream", "Converse"]
    closed = client.ask("DELETE", f"{FAKES}/fake-1").value
    assert closed == {"ok": True, "unused": [], "problems": [], "notes": []}
    assert client.fakes.opened == []


def test_a_call_has_the_tools_and_the_results_of_its_last_message(client: Client) -> None:
    fake = client.opened({"always": {"text": "a"}, "rules": "off"})
    used = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]}
    result = {"toolUseId": "t1", "content": [{"text": "found"}]}
    asked = [{"role": "user", "content": [{"text": "look"}]}, used]
    tool = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}
    exchange(fake, messages=[*asked, {"role": "user", "content": [{"toolResult": result}, {"text": "b"}]}])
    exchange(fake, messages=asked, toolConfig={"tools": [tool]})
    ask = client.ask("GET", f"{FAKES}/fake-1/calls").value["calls"]
    assert [(call["toolNames"], call["toolResults"]) for call in ask] == [([], [result]), (["look"], [])]


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:4", ""),
        ("127.9.9.9", ""),
        ("localhost:8080", ""),
        ("LOCALHOST", "http://localhost"),
        ("[::1]:4", "http://[::1]:4"),
        ("fake.internal:4", "http://Fake.internal:4"),
    ],
)
def test_its_own_names_may_ask(client: Client, host: str, origin: str) -> None:
    client.api = ControlApi(client.fakes, frozenset({"fake.internal"}))
    headers = (("Host", host), *((("Origin", origin),) if origin else ()))
    assert client.ask("GET", FAKES, headers=headers).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:4", "10.0.0.1", "127.0.0.1.nip.io", "", "[", "::1"]
)
def test_no_other_host_may_ask(client: Client, host: str) -> None:
    answer = client.ask("POST", FAKES, {}, headers=(("Host", host), OUR_HEADERS[1]))
    assert (answer.status, answer.headers["x-amzn-ErrorType"][:22]) == (403, "AccessDeniedException:")
    said = f"Host is {host!r}, and the control API answers to 127.0.0.1, [::1], localhost only, so that no web page "
    assert answer.message.startswith(said)
    assert f"--allow-host {'evil.example` ' if host == 'evil.example' else ''}" in answer.message
    assert client.fakes.opened == []


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_bound_to_all_addresses_each_of_them_is_its_own(client: Client, everywhere: str) -> None:
    client.api = ControlApi(client.fakes, frozenset({everywhere}))
    hosts = ["172.17.0.2:4", "[fd00::1]:4", "localhost", "evil.example"]
    assert [client.ask("GET", FAKES, headers=(("Host", host),)).status for host in hosts] == [200, 200, 200, 403]


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:5",
        "https://127.0.0.1:4",
        "http://localhost:4",
    ],
)
def test_no_other_origin_may_ask(client: Client, origin: str) -> None:
    for method, path, body in (("POST", FAKES, {}), ("GET", FAKES, None), ("GET", "/__converse/openapi.json", None)):
        answer = client.ask(method, path, body, headers=(*OUR_HEADERS, ("Origin", origin)))
        assert answer.status == 403
        assert answer.message.startswith(
            f"Origin is {origin!r}, and of the pages in a browser only those of http://127.0"
        )
    assert client.fakes.opened == []


@pytest.mark.parametrize(
    "given", ["text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "application/jsonx", None]
)
def test_a_body_must_say_that_it_is_json(client: Client, given: str | None) -> None:
    typed = () if given is None else (("content-type", given),)
    answer = client.ask("POST", FAKES, {"always": {"text": "a"}}, headers=(OUR_HEADERS[0], *typed))
    assert (answer.status, answer.headers["x-amzn-ErrorType"][:30]) == (415, "UnsupportedMediaTypeException:")
    assert answer.message == (
        f"the body's content-type is {given!r}; it must be 'application/json'. Send the header "
        "`content-type: application/json` with it."
    )
    assert client.fakes.opened == []
    assert client.ask("POST", FAKES, headers=(OUR_HEADERS[0], *typed)).status == 201
    json = (OUR_HEADERS[0], ("Content-Type", "Application/JSON; charset=utf-8"))
    assert client.ask("POST", FAKES, {}, headers=json).status == 201


def test_an_empty_body_opens_a_fake_that_is_scripted_later(client: Client) -> None:
    fake = client.opened(b"")
    state = client.ask("POST", f"{FAKES}/fake-1/script", {"script": [{"text": "a"}], "always": {"text": "b"}}).value
    assert state["script"] == [
        {"reply": 'text "a"', "state": "not used"},
        {"reply": 'always: text "b"', "state": "not used"},
    ]
    client.ask("POST", f"{FAKES}/fake-1/script", {"script": [{"text": "a2"}], "always": {"text": "c"}})
    assert [exchange(fake)[1].count(text) for text in (b'"a"', b'"a2"', b'"c"', b'"c"')] == [1, 1, 1, 1]


def test_answers_by_what_is_asked(client: Client) -> None:
    fake = client.opened(
        {
            "when": [
                {
                    "last_user_text": {"regex": "weather|rain"},
                    "turn": 1,
                    "script": [{"text": "wet"}],
                    "always": {"text": "dry"},
                },
                {"model": "*haiku*", "always": {"text": "never"}},
                {"system": "*critic*", "tool": "get_*", "operation": "Converse", "always": {"json": {"score": 7}}},
            ],
            "script": [{"text": "ordered"}],
            "always": {"text": "else"},
        }
    )
    tools = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}
    asked: list[tuple[dict[str, Any], bytes]] = [
        ({"text": "Any rain?"}, b"wet"),
        ({"text": "And the weather?"}, b"dry"),
        ({"system": [{"text": "You are a critic."}], "toolConfig": tools}, b"score"),
        ({"system": [{"text": "You are a critic."}]}, b"ordered"),
        ({}, b"else"),
    ]
    assert [expected in exchange(fake, **body)[1] for body, expected in asked] == [True] * 5


def test_a_call_tells_everything(client: Client) -> None:
    fake = client.opened({"script": [{"text": "hi"}]})
    image = {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}}
    messages = [{"role": "user", "content": [{"text": "What is it?"}, image]}]
    tools = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
    exchange(fake, operation="converse-stream", messages=messages, system=[{"text": "Be brief."}], toolConfig=tools)
    (call,) = client.ask("GET", f"{FAKES}/fake-1/calls").value["calls"]
    events = call.pop("events")
    assert call == {
        "number": 1,
        "operation": "ConverseStream",
        "service": "bedrock-runtime",
        "modelId": "us.amazon.nova-lite-v1:0",
        "attempt": 1,
        "turn": 1,
        "method": "POST",
        "target": "/model/us.amazon.nova-lite-v1%3A0/converse-stream",
        "messages": messages,
        "system": [{"text": "Be brief."}],
        "toolNames": ["look"],
        "toolResults": [],
        "lastUserText": "What is it?",
        "body": {"messages": messages, "system": [{"text": "Be brief."}], "toolConfig": tools},
        "malformed": None,
        "headers": {"authorization": "***", "content-type": "application/json"},
        "status": 200,
        "reply": 'text "hi"',
        "outcome": "complete",
    }
    sent = fake.calls[0].events
    assert [(event["at"], event["event"]) for event in events] == [(at, event) for event, at in sent]
    assert events[0] == {"at": 0, "event": {"messageStart": {"role": "assistant"}}}


def asked(client: Client, count: int, **settings: object) -> ServerFake:
    """A fake with that many calls that nobody answered."""
    fake = client.opened({"unexpected": "allow", **settings})
    for _ in range(count):
        fake.endpoint.receive(Request("POST", "/model/m/converse", (), b'{"messages": []}'))
    return fake


@given(
    count=st.integers(0, 12), kept=st.none() | st.integers(1, 12), limit=st.integers(1, 13), after=st.integers(0, 13)
)
@settings(max_examples=examples(0.5))
def test_pages_together_are_all_that_are_kept(count: int, kept: int | None, limit: int, after: int) -> None:
    with Client() as client:
        asked(client, count, keep_calls=kept)
        dropped = max(0, count - kept) if kept else 0
        numbers: list[int] = []
        following: int | None = after
        while following is not None:
            page = client.ask("GET", f"{FAKES}/fake-1/calls?after={following}&limit={limit}").value
            assert (page["received"], page["dropped"], len(page["calls"]) <= limit) == (count, dropped, True)
            numbers += [call["number"] for call in page["calls"]]
            following = page["next"]
        assert numbers == [number for number in range(dropped + 1, count + 1) if number > after]
        state = client.ask("GET", f"{FAKES}/fake-1").value
        assert (state["calls"], state["dropped"]) == (count, dropped)


def test_a_page_is_bounded_where_nothing_is_said(client: Client) -> None:
    asked(client, 600)
    page = client.ask("GET", f"{FAKES}/fake-1/calls").value
    assert (len(page["calls"]), page["next"], page["received"]) == (500, 500, 600)


def test_an_optional_reply_is_not_missed(client: Client) -> None:
    client.opened({"script": [{"text": "Still there?", "optional": True}, {"json": {}, "optional": {}}]})
    assert client.ask("DELETE", f"{FAKES}/fake-1").value == {"ok": True, "unused": [], "problems": [], "notes": []}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "limit=0",
            "limit in the query is '0'; it must be a whole number from 1 to 1000. Ask for the calls ",
        ),
        ("limit=1001", "limit in the query is '1001'; "),
        ("limit=", "limit in the query is ''; "),
        ("after=-1", "after in the query is '-1'; it must be a whole number from 0 to "),
        ("after=²", "after in the query is '²'; "),
        (f"after={'9' * 5000}", "after in the query is '9999"),
        ("before=1", 'the query has the unknown member "before"; it takes after, limit, operation.'),
        (
            "operation=CuontTokens",
            'operation in the query is "CuontTokens": no operation of Bedrock has this name ',
        ),
    ],
)
def test_a_page_that_cannot_be_is_refused(client: Client, query: str, said: str) -> None:
    client.opened()
    answer = client.ask("GET", f"{FAKES}/fake-1/calls?{query}")
    assert (answer.status, answer.message.startswith(said)) == (400, True), answer.message


def test_no_call_can_be_kept_by_no_fake(client: Client) -> None:
    answer = client.post({"keep_calls": 0})
    assert answer.message == "keep_calls is 0; it is a whole number from 1, or null to keep all calls."
    assert client.fakes.opened == []


def test_blobs_are_base64_both_ways(client: Client) -> None:
    redacted = {"reasoningContent": {"redactedContent": "//79"}}
    fake = client.opened({"script": [{"message": [redacted, {"text": "Yes"}]}]})
    status, body = exchange(fake, operation="converse-stream")
    assert (status, b'"redactedContent":"//79"' in body) == (200, True)
    (call,) = client.ask("GET", f"{FAKES}/fake-1/calls").value["calls"]
    assert call["events"][1]["event"]["contentBlockDelta"]["delta"] == redacted


@pytest.mark.parametrize(
    "body",
    [
        b"\xff",
        b"[" * 500,
        b'{"messages": 5}',
        b'{"messages": [{"content": [{"text": 5}]}], "toolConfig": {"tools": [{"toolSpec": {}}]}}',
        b'{"messages": [{"role": "user", "content": [{"text": {"a": NaN}}]}]}',
        b'{"messages": [], "x": ' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"messages": [], "x": "\\ud800", "y": NaN}',
        b'{"input": {"converse": 5}}',
        b'{"input": {"converse": {"messages": 5, "system": "x"}}}',
    ],
)
@pytest.mark.parametrize("path", ["model/m/converse", "model/m/count-tokens", "model/m/invoke", "nothing?x=%FF"])
def test_what_a_strange_client_sent_is_told_all_the_same(client: Client, body: bytes, path: str) -> None:
    fake = client.opened({"when": [{"turn": 7, "always": {"text": "a"}}], "always": {"text": "a"}})
    fake.core.exchange(Request("POST", f"/{path}", (), body))
    (call,) = client.ask("GET", f"{FAKES}/fake-1/calls?operation=all").value["calls"]
    assert call["target"] == f"/{path}"
    assert client.ask("DELETE", f"{FAKES}/fake-1").status == 200


@pytest.mark.skipif("CountTokens" not in bedrock.operations(), reason="this botocore has no CountTokens")
def test_a_conversation_that_is_counted_is_told(client: Client) -> None:
    fake = client.opened()
    counted = {"converse": {"messages": [{"role": "user", "content": [{"text": "How many?"}]}]}}
    exchange(fake, operation="count-tokens", model_id="anthropic.claude-haiku-4-5-20251001-v1%3A0", input=counted)
    assert client.ask("GET", f"{FAKES}/fake-1/calls").value["calls"] == []
    (call,) = client.ask("GET", f"{FAKES}/fake-1/calls?operation=CountTokens").value["calls"]
    assert (call["operation"], call["messages"]) == ("CountTokens", counted["converse"]["messages"])
    assert (call["lastUserText"], call["toolNames"], call["reply"], call["status"]) == ("How many?", [], None, 200)


def test_what_is_nested_too_deeply_is_left_out(client: Client) -> None:
    fake = client.opened({"always": {"text": "a"}})
    deep: Any = []
    for _ in range(DEEPEST):
        deep = [deep]
    tools = {"tools": [{"toolSpec": {"name": "t", "inputSchema": {"json": deep}}}]}
    exchange(fake, toolConfig=tools)
    (call,) = client.ask("GET", f"{FAKES}/fake-1/calls").value["calls"]
    assert (call["body"], call["messages"], call["toolNames"], call["lastUserText"]) == ({}, [], ["t"], "hello")


def test_closing_says_everything_that_must_fail_the_test(client: Client) -> None:
    fake = client.opened(
        {"when": [{"model": "x", "script": [{"text": "unused"}]}], "script": [{"throttled": True, "times": 2}]}
    )
    for _ in range(3):
        exchange(fake)
    exchange(fake, operation="invoke")
    before = client.ask("GET", f"{FAKES}/fake-1").value
    closed = client.ask("DELETE", f"{FAKES}/fake-1").value
    assert closed["ok"] is False
    assert closed["unused"] == ['text "unused"']
    firsts = [problem.partition("\n")[0] for problem in closed["problems"]]
    assert firsts[0] == "call 3 has no reply left."
    assert firsts[1].startswith("InvokeModel of bedrock-runtime is not scripted")
    assert firsts[2] == "1 scripted reply was not used."
    assert (before["unused"], before["problems"]) == (closed["unused"], closed["problems"])


def test_what_is_allowed_is_no_problem_but_is_told(client: Client) -> None:
    fake = client.opened({"script": [{"text": "a"}] * 2, "unused": "allow", "unexpected": "allow"})
    exchange(fake, operation="invoke")
    assert client.ask("DELETE", f"{FAKES}/fake-1").value == {
        "ok": True,
        "unused": ['text "a"'] * 2,
        "problems": [],
        "notes": [],
    }


def test_an_error_of_a_function_is_told_with_its_type_and_without_secrets(client: Client) -> None:
    fake = client.opened()

    def answers(call: object) -> Any:
        raise LookupError("arn:aws:bedrock:us-east-1:210987654321:x")

    fake.script(answers)
    exchange(fake)
    closed = client.ask("DELETE", f"{FAKES}/fake-1").value
    assert closed["problems"] == ["LookupError: arn:aws:bedrock:us-east-1:***:x"]


def test_fakes_are_listed_and_have_scripts_of_their_own(client: Client) -> None:
    one, two = client.opened({"always": {"text": "one"}}), client.opened({"always": {"text": "two"}, "seed": 1})
    assert [fake["id"] for fake in client.ask("GET", FAKES).value["fakes"]] == ["fake-1", "fake-2"]
    assert b"one" in exchange(one)[1]
    assert b"two" in exchange(two)[1]
    client.ask("DELETE", f"{FAKES}/fake-1")
    assert [fake["calls"] for fake in client.ask("GET", FAKES).value["fakes"]] == [1]


def test_the_seed_changes_what_is_generated(client: Client) -> None:
    fakes = [client.opened({"seed": seed, "always": {"tool_use": "now"}}) for seed in (0, 0, 1)]
    first, same, other = [exchange(fake)[1] for fake in fakes]
    assert first == same != other


# What the client got wrong. A table of what is sent and what is said.

IMAGE = {"image": {"format": "png", "source": {"bytes": "!"}}}
THROTTLED = {"events": 1, "exception": "throttlingException"}
WORDS = ", ".join(REPLIES)
BROKEN_BODIES: list[tuple[bytes, str]] = [
    (b"{", r"the body is not JSON: Expecting property name.*Send a JSON object, for instance \{"),
    (b"\xff", r"the body is not JSON: 'utf-8' codec"),
    (b'{"seed": NaN}', r"the body is not JSON: NaN is no JSON number"),
    (b'{"seed": 1e999}', r"the body is not JSON: 1e999 is too large a number"),
    (b'{"seed": ' + b"9" * 5000 + b"}", r"the body is not JSON: 9{40} is too large a number"),
    (b"[" * 100_000, r"the body is not JSON: it is nested too deeply"),
    (b'{"a":' * DEEPEST + b"[]" + b"}" * DEEPEST, rf"the body is nested more than {DEEPEST} levels deep"),
    (b"[1]", r"the body is a list; it must be an object, for instance"),
    (b"null", r"the body is null; it must be an object"),
    (b'"' + b"x" * 200 + b'"', r'the body is "x+\.\.\."; it must be an object'),
]

WRONG_BODIES: list[tuple[object, str]] = [
    ({"scripts": []}, 'the body has the unknown member "scripts"; did you mean "script"?'),
    ({"sleeps": True}, 'the body has the unknown member "sleeps"; '),
    ({"script": {}}, 'script is an object without members; it must be a list, for instance [{"text": "hi"}].'),
    ({"seed": "1"}, 'seed is "1"; it must be a whole number.'),
    ({"seed": True}, "seed is true; it must be a whole number."),
    ({"unused": "maybe"}, 'unused is "maybe"; it must be "fail" or "allow".'),
    ({"always": [{"text": "a"}]}, 'always is a list; it must be an object, for instance {"text": "hi"}.'),
    ({"when": {"turn": 1}}, "when is an object; it must be a list, "),
    ({"when": [5]}, "when[0] is 5; it must be an object, "),
    ({"when": [{"script": []}]}, "when[0] has no condition and so holds for every call. Give it one of model, "),
    ({"when": [{"turn": 1}]}, "when[0] says no answer; it needs script or always, "),
    ({"when": [{"turn": 1, "script": []}]}, "when[0] says no answer; its script is empty. It needs a reply, f"),
    ({"when": [{"turn": 1, "script": [{"text": 1}]}]}, "when[0].script[0].text is 1; it must be a string."),
    ({"when": [{"turn": "1", "script": []}]}, 'when[0].turn is "1"; it must be a whole number.'),
    ({"when": [{"predicate": "x", "script": []}]}, 'when[0] has the unknown member "predicate"; '),
    ({"when": [{"model": 5, "script": []}]}, 'when[0].model is 5; it must be a string or an object {"regex": "..."}.'),
    ({"when": [{"model": {"regex": "("}, "script": []}]}, 'when[0].model.regex is "(", which is no regular ex'),
    ({"when": [{"model": {"regex": 5}, "script": []}]}, "when[0].model.regex is 5; it must be a string."),
    ({"when": [{"model": {"regex": "a" * 501}, "script": []}]}, "when[0].model.regex has 501 characters; a "),
    ({"when": [{"tool": "a" * 501, "script": []}]}, "when[0].tool has 501 characters; a pattern may have 500. "),
    ({"when": [{"model": {"regex": "(?:a{200}){200}"}, "script": []}]}, 'when[0].model.regex is "(?:a{200}){200}", '),
    ({"when": [{"model": {"regex": f"{'(' * 99}a+{')+' * 99}"}, "script": []}]}, "when[0].model.regex is "),
    ({"when": [{"model": {"regex": "(?:a){e}"}, "script": []}]}, 'when[0].model.regex is "(?:a){e}", and it has a {'),
    ({"always": {"text": "a", "times": 2}}, 'always has "times": any number of calls gets this answer. Leave out "t'),
    ({"always": {"text": "a", "optional": True}}, 'always has "optional": this answer may stay unused anyway. '),
    ({"when": [{"turn": 1, "always": {"text": "a", "times": 2}}]}, 'when[0].always has "times": any number of calls'),
    ({"when": [{"operation": "Convrse", "script": []}]}, 'when[0].operation is "Convrse": no service of Bedrock has'),
    (
        {"when": [{"operation": "InvokeModelWithBidirectionalStream", "script": []}]},
        'when[0].operation is "InvokeModelWithBidirectionalStream": InvokeModelWithBidirectionalStream sends a',
    ),
]  # fmt: skip

WRONG_REPLIES: list[tuple[object, str]] = [
    ("hi", ' is "hi"; it must be an object, for instance {"text": "hi"}.'),
    ({}, f" is an object without members that says no reply; a reply has exactly one of {WORDS}, "),
    ({"times": 2}, f" is an object that says no reply; a reply has exactly one of {WORDS}, "),
    ({"txt": "hi"}, ' has the unknown member "txt"; did you mean "text"?'),
    ({"text": "a", "json": 1}, f" has text and json; a reply has exactly one of {WORDS}, "),
    ({"text": "a", "zzz": {}}, ' has the unknown member "zzz"; it takes text, pieces, stop_reason, usage, '),
    ({"text": 5}, ".text is 5; it must be a string."),
    ({"text": None}, ".text is null; it must be a string."),
    ({"text": "\ud800"}, r".text is '\ud800', which holds a lone surrogate; "),
    ({"text": "ab", "pieces": ["a"]}, '.pieces is ["a"]; joined they must be the block\'s text, "ab".'),
    ({"text": "ab", "pieces": ["a", 1]}, ".pieces[1] is 1; it must be a string."),
    ({"text": "a", "stop_reason": "x"}, ".stop_reason is 'x'; a StopReason is one of 'end_turn', "),
    ({"json": "\ud800"}, ".json is "),
    ({"tool_use": {}}, ".tool_use lacks 'name'; it takes name, input, text, id, pieces, "),
    ({"tool_use": {"name": 5}}, ".tool_use.name is 5; it must be a string."),
    ({"tool_use": "get weather"}, ".tool_use.name is 'get weather'; a ToolName matches "),
    ({"tool_use": {"name": "a", "id": "?"}}, ".tool_use.id is '?'; "),
    ({"tool_use": {"name": "a", "input": []}}, ".tool_use.input is a list without items; it must be an object."),
    ({"tool_use": {"name": "a", "pieces": ["{"]}}, '.tool_use.pieces is ["{"]; '),
    ({"message": {"text": "a"}}, ".message is an object; it must be a list."),
    ({"message": ["a"]}, '.message[0] is "a"; it must be an object.'),
    ({"message": [{"text": 5}]}, ".message[0].text is 5; it must be a string (AWS model String)."),
    ({"message": [{"text": "a"}], "usage": {"inputTokens": "3"}}, '.usage.inputTokens is "3"; it must be a wh'),
    ({"message": [{"txt": "a"}]}, ".message[0] has the unknown member 'txt'; did you mean 'text'? "),
    ({"message": [{"cachePoint": {"type": "default"}}]}, ".message[0] is 'cachePoint', which cannot be streamed: "),
    ({"message": [IMAGE]}, '.message[0].image.source.bytes is "!"; it must be a string in base64 (AWS model'),
    ({"message": [{"text": "a"}], "usage": {"inputTokens": -1}}, ".usage.inputTokens is -1; "),
    ({"message": [{"text": "a"}], "usage": 5}, ".usage is 5; it must be an object."),
    ({"message": [{"text": "a"}], "pieces": {"x": []}}, '.pieces has the member "x"; its members are numbers of '),
    ({"message": [{"text": "ab"}], "pieces": {"0": ["a"]}}, '.pieces[0] is ["a"]; joined they must be'),
    ({"events": [{"messageStart": {}}]}, ".events[0].messageStart lacks 'role'; "),
    ({"events": []}, ".events: The stream ends before any messageStart "),
    ({"events": [{"a": 1, "b": 2}], "strict": False}, ".events[0]: 'a' and 'b' in one event; "),
    ({"events": [{"a": 1}], "strict": False}, ".events[0].a is 1; an event is a mapping of its members."),
    ({"events": [], "strict": 0}, ".strict is 0; it must be true or false."),
    ({"response": {"text": "a"}}, ".response got a dict with 'text'; it must be a response of boto3: "),
    ({"reasoning": "a", "then": {"txt": "b"}}, '.then has the unknown member "txt"; did you mean "text"?'),
    ({"reasoning": "a", "then": 5}, ".then is 5; it must be a string or an object."),
    ({"reasoning": "a", "then": {"throttled": True}}, ".then is ThrottlingException (429) "),
    ({"tool_uses": []}, '.tool_uses has no tool. Give each as ["name", {...}], or its name alone.'),
    ({"tool_uses": ["a", {"b": 1}]}, ".tool_uses[1] is an object; each tool is its name, or a list of name an"),
    ({"tool_uses": ["a", []]}, ".tool_uses[1] is a list without items; each tool is its name, or a list of name and i"),
    ({"tool_uses": [[["a", {}]]]}, ".tool_uses[0] is a list; each tool is its name, or a list of name and input: "),
    ({"text": "a", "error_frame_after": 50}, ".error_frame_after.events is 50: this reply has 5 events "),
    ({"tool_uses": "a"}, '.tool_uses is "a"; it must be a list.'),
    ({"tool_uses": ["a b"]}, ".tool_uses[0] is 'a b'; "),
    ({"tool_uses": [["a", 5]]}, ".tool_uses[0][1] is 5: it must be an object, "),
    ({"cited": []}, ".cited has nothing to say. "),
    ({"cited": "a"}, '.cited is "a"; it must be a list.'),
    ({"cited": ["a", 5]}, ".cited[1] is 5; it must be a string or an object."),
    ({"cited": ["a", {"title": 5}]}, ".cited[1].title is 5; it must be a string"),
    ({"guardrail_blocked": {"policy": "x"}}, '.guardrail_blocked.policy is "x": this is no policy of guardrails. '),
    ({"guardrail_masked": True}, ".guardrail_masked lacks 'text'; it takes text, original, policy, "),
    ({"guardrail_masked": "Nothing."}, '.guardrail_masked.text is "Nothing.": the text has no mask. '),
    ({"case": "overflw_pre"}, ".case: no case is called 'overflw_pre'. Near it: overflow_pre, "),
    ({"case": "connection_refused"}, ".case: connection_refused: the server transport cannot express "),
    ({"case": True}, ".case is true; it must be a string."),
    ({"error": "NoSuchException"}, '.error.name is "NoSuchException": it is not an error of Bedrock. One of: '),
    ({"error": {"name": "ThrottlingException", "x": 1}}, ".error: ThrottlingException has the unknown member 'x'; "),
    ({"error": {"name": "X", "status": "418"}}, '.error.status is "418"; it must be a whole number.'),
    ({"throttled": None}, ".throttled is null; it must be true, or an object with any of message, wording."),
    ({"throttled": False}, ".throttled is false; it must be true, or an object with any of message, wording."),
    ({"error": 429}, ".error.name is 429; it must be a string."),
    ({"text": "a", "broken": "stall", "after": 3}, ' has the unknown member "after"; it belongs to broken: {"'),
    ({"tool_use": "a", "input": {"b": 1}}, ' has the unknown member "input"; it belongs to tool_use: {"tool_u'),
    ({"connection_refused": True}, " has connection_refused; a server that answers cannot refuse a connection. Give "),
    ({"connect_timeout": True}, " has connect_timeout; a server that answers cannot be late to accept a connection. "),
    ({"throttled": {"massage": "x"}}, '.throttled has the unknown member "massage"; did you mean "message"?'),
    ({"context_overflow": "x"}, '.context_overflow.wording is "x": one of input_too_long, prompt_too_long, '),
    ({"invalid_model_id": "x"}, '.invalid_model_id is "x"; it must be true.'),
    ({"validation_error": True}, ".validation_error lacks 'message'; it takes message."),
    ({"model_error": {"original_status_code": 5}}, ".model_error.original_status_code is 5; "),
    ({"read_timeout": {"after": 1}}, '.read_timeout has the unknown member "after"; it takes no members.'),
    ({"text": "a", "times": "2"}, '.times is "2"; it must be a whole number.'),
    ({"text": "a", "times": 0}, ".times is 0: a reply is used a whole number of times, at least once."),
    ({"text": "a", "times": 1.5}, ".times is 1.5; it must be a whole number."),
    ({"text": "a", "paced": 0.2}, ".paced is 0.2; it must be an object with any of first, each."),
    ({"text": "a", "paced": {"first": -1}}, ".paced.first is -1: a pause is a number of seconds, 0 or more."),
    ({"text": "a", "broken": "rest"}, '.broken.fault is "rest"; it must be the name of a fault (no_message_start, '),
    ({"text": "a", "broken": "connection_refused"}, '.broken.fault is "connection_refused"; it must be the name of a '),
    ({"text": "a", "broken": {"fault": {"name": "reset", "lasting": 1}}}, ".broken.fault: reset has no duration. "),
    ({"text": "a", "broken": {"fault": {"name": "stall", "lasting": 0}}}, ".broken.fault.lasting is 0: a number "),
    ({"text": "a", "broken": {"fault": {"name": "stall"}}}, ".broken.fault lacks 'lasting'; it takes name, lasting."),
    ({"text": "a", "broken": {"fault": {"name": {}, "lasting": 1}}}, ".broken.fault.name is an object without members"),
    ({"text": "a", "broken": {"fault": {"nam": 1}}}, '.broken.fault has the unknown member "nam"; did you mean '),
    ({"text": "a", "broken": {"fault": "reset", "after": 50}}, ".broken.after is 50: this reply has 5 events; "),
    ({"text": "a", "fails_after": 3}, ".fails_after lacks 'exception'; it takes events, exception, message, strict."),
    ({"text": "a", "fails_after": {**THROTTLED, "events": 9}}, ".fails_after.events is 9: this "),
    ({"text": "a", "fails_after": {**THROTTLED, "exception": "throttled"}}, '.fails_after.exception is "throttled": '),
    ({"text": "a", "fails_after": {**THROTTLED, "self": 1}}, '.fails_after has the unknown member "self"; '),
    ({"throttled": True, "fails_after": THROTTLED}, ".fails_after: ThrottlingException (429) "),
]  # fmt: skip


@pytest.mark.parametrize(("body", "said"), BROKEN_BODIES)
def test_a_body_that_is_no_json_object(client: Client, body: bytes, said: str) -> None:
    assert re.match(said, refused(client, body))


@pytest.mark.parametrize(("body", "said"), WRONG_BODIES)
def test_a_wrong_body(client: Client, body: object, said: str) -> None:
    assert refused(client, body).startswith(said)


@pytest.mark.parametrize(("value", "said"), WRONG_REPLIES)
def test_a_wrong_reply(client: Client, value: object, said: str) -> None:
    message = refused(client, {"script": [{"text": "fine"}, {"text": "fine"}, value]})
    assert message.startswith(f"script[2]{said}")


def refused(client: Client, body: object) -> str:
    """What is said to a body, for a new fake and an open one; nothing has changed."""
    answer = client.post(body)
    assert answer.status == 400
    assert answer.headers["x-amzn-ErrorType"].startswith("ValidationException:")
    assert client.fakes.opened == []
    client.opened({"script": [{"text": "there"}]})
    again = client.ask("POST", f"{FAKES}/fake-1/script", body)
    assert again.status == 400
    assert len(client.ask("GET", f"{FAKES}/fake-1").value["script"]) == 1
    return answer.message


def test_an_error_of_scripting_is_a_refusal_and_closes_the_new_fake(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(fake: ServerFake, *given: object) -> None:
        raise ReplyError("this cannot be. ", Advice("Python", "JSON"))

    monkeypatch.setattr(ServerFake, "always", fails)
    answer = client.post({"always": {"text": "a"}})
    assert (answer.status, answer.message, client.fakes.opened) == (400, "this cannot be. JSON", [])


def test_an_endpoint_that_ends_in_a_slash_is_named(client: Client) -> None:
    fake = client.opened({"always": {"text": "a"}})
    fake.core.exchange(Request("POST", "//model/m/converse", (), b'{"messages": []}'))
    (problem,) = client.ask("DELETE", f"{FAKES}/fake-1").value["problems"]
    assert 'The path begins with two slashes: the endpoint that the client was given ends in "/". ' in problem
    assert "this one in" not in problem


def test_every_mistake_of_several_is_named_by_its_path(client: Client) -> None:
    wrong = client.post({"script": [{"message": [{"text": "a", "toolUse": {"name": "n"}}]}]})
    first, *more = wrong.message.splitlines()
    assert first == "script[0].message: 3 things are not as in AWS's API model:"
    assert [line.startswith("  script[0].message[0]") for line in more] == [True] * 3


def test_what_a_blob_is_in_json(client: Client) -> None:
    assert "; it must be a string in base64 (" in client.post({"always": {"message": [IMAGE]}}).message


def test_the_deepest_body_that_is_read(client: Client) -> None:
    depth = DEEPEST - 3
    assert client.post(b'{"script": [{"json": ' + b"[" * depth + b"]" * depth + b"}]}").status == 201


def test_settings_belong_to_the_opening(client: Client) -> None:
    client.opened()
    for name, value in {"seed": 1, "unused": "allow", "unexpected": "allow"}.items():
        wrong = client.ask("POST", f"{FAKES}/fake-1/script", {name: value})
        assert wrong.message == f'the body has the unknown member "{name}"; it takes script, when, always.'


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
@pytest.mark.parametrize("rest", ["", "/calls", "/script"])
def test_a_fake_that_is_not_open(client: Client, method: str, rest: str) -> None:
    client.opened()
    client.ask("DELETE", f"{FAKES}/fake-1")
    answer = client.ask(method, f"{FAKES}/fake-1{rest}")
    if any((route.method, route.path) == (method, f"{FAKES}/{{id}}{rest}") for route in ROUTES):
        assert answer.status == 404
        assert answer.headers["x-amzn-ErrorType"].startswith("ResourceNotFoundException:")
        assert answer.message.startswith("no fake 'fake-1' is open; open: none. It was closed, or never opened: POST ")
    else:
        assert answer.status == 405


@pytest.mark.parametrize("path", [*dict.fromkeys(route.path for route in ROUTES)])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "", "get"])
def test_a_method_that_a_path_has_not(client: Client, path: str, method: str) -> None:
    allowed = [route.method for route in ROUTES if route.path == path]
    answer = client.ask(method, path)
    if method not in allowed:
        assert answer.status == 405
        assert answer.headers["Allow"] == ", ".join(allowed)
        assert answer.message == f"{method} is no method of {path}; it has {', '.join(allowed)}."


@pytest.mark.parametrize(
    "target", ["", "/", "*", "/__converse", "/__converse/", f"{FAKES}/", f"{FAKES}/1/2/3", "/__converse/openapi.yaml"]
)
def test_a_path_that_is_none(client: Client, target: str) -> None:
    answer = client.ask("GET", target)
    if target == f"{FAKES}/":
        assert answer.message.startswith("no fake '' is open")
    else:
        assert answer.status == 404
        assert answer.message.startswith(f"{target} is no path of the control API. It has POST /__converse/fakes, ")


def test_a_query_does_not_count_and_ids_are_decoded(client: Client) -> None:
    client.opened()
    assert client.ask("GET", f"{FAKES}/fake%2D1?pretty=%FF").status == 200


def test_no_two_members_of_a_reply_have_one_name() -> None:
    names = [*REPLIES, *MODIFIERS, *(name for word in REPLIES.values() for name in word.beside)]
    assert {name for name in names if names.count(name) > 1} == {"pieces", "stop_reason", "strict", "usage"}
