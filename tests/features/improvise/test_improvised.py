"""An improvised reply uses each offered tool once, obeys toolChoice and outputConfig, and ends every loop."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import boto3
import httpx
import jsonschema
import pytest
from botocore.exceptions import ClientError

from converse_harness import (
    Fake,
    HttpxFake,
    RefusedRequest,
    Reply,
    ReplyError,
    UnusedReplies,
    assemble,
    bedrock,
    fake_converse,
    reply,
)
from converse_harness.intercept.fake import Fake as PlainFake
from converse_harness.stream.http import Request

MODELS = (
    "us.amazon.nova-lite-v1:0",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.meta.llama4-maverick-17b-instruct-v1:0",
    "mistral.mistral-large-2407-v1:0",
    "openai.gpt-oss-120b-1:0",
)
NO_STREAMS = MODELS[2:4]
"""Models that are offered tools by Converse only."""

CLAUDE = MODELS[1]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DAY = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]}
NOTHING = {"type": "object", "properties": {}}
THREE: Mapping[str, Any] = {"get_weather": CITY, "book": DAY, "now": NOTHING}


def spec(name: str, schema: object) -> dict[str, Any]:
    return {"toolSpec": {"name": name, "inputSchema": {"json": schema}}}


def offered(tools: Mapping[str, Any], **choice: Any) -> dict[str, Any]:
    return {
        "tools": [spec(name, schema) for name, schema in tools.items()],
        **({"toolChoice": choice} if choice else {}),
    }


class Loop:
    """An agent with any tools, through boto3; `answers` has the names of the tools of each answer, or its text."""

    def __init__(self, model: str = MODELS[0], *, streams: bool = False, **asked: Any) -> None:
        self.client = boto3.client("bedrock-runtime", region_name="us-east-1")
        self.asked = {"modelId": model, **asked}
        self.streams = streams
        self.messages: list[dict[str, Any]] = []
        self.answers: list[Any] = []
        self.inputs: list[Any] = []

    def run(self, text: str = "hello", *, most: int = 30) -> list[Any]:
        self.messages.append({"role": "user", "content": [{"text": text}]})
        return self.go_on(most=most)

    def go_on(self, *, most: int = 30) -> list[Any]:
        self.answers = []
        for _ in range(most):
            content = self.ask()
            self.messages.append({"role": "assistant", "content": content})
            uses = [block["toolUse"] for block in content if "toolUse" in block]
            self.inputs += [use["input"] for use in uses]
            if not uses:
                self.answers.append(content[-1]["text"])
                break
            self.answers.append([use["name"] for use in uses])
            results = [{"toolUseId": use["toolUseId"], "content": [{"text": "done"}]} for use in uses]
            self.messages.append({"role": "user", "content": [{"toolResult": result} for result in results]})
        return self.answers

    def ask(self) -> list[dict[str, Any]]:
        if not self.streams:
            answer = self.client.converse(messages=self.messages, **self.asked)
            assert answer["stopReason"] == (
                "tool_use" if "toolUse" in answer["output"]["message"]["content"][-1] else "end_turn"
            )
            return answer["output"]["message"]["content"]  # type: ignore[no-any-return]
        events = list(self.client.converse_stream(messages=self.messages, **self.asked)["stream"])
        return assemble(events).message["content"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("model", "streams"),
    [(model, streams) for model in MODELS for streams in (False, True) if not (streams and model in NO_STREAMS)],
)
def test_each_tool_once_then_a_text(converse: Fake, model: str, streams: bool) -> None:
    converse.improvise()
    loop = Loop(model, streams=streams, toolConfig=offered(THREE))
    *uses, text = loop.run()
    assert uses == [["get_weather"], ["book"], ["now"]]
    assert text == "This answer is improvised after get_weather, book, now."
    assert loop.inputs == [{"city": "a"}, {"day": "2026-01-01"}, {}]
    for value, schema in zip(loop.inputs, THREE.values(), strict=True):
        jsonschema.validate(value, schema)
    ids = [block["toolUse"]["toolUseId"] for each in loop.messages for block in each["content"] if "toolUse" in block]
    assert len(set(ids)) == 3
    assert converse.notes == []


def test_the_next_text_of_the_user_begins_again(converse: Fake) -> None:
    converse.improvise(at_once=2)
    loop = Loop(toolConfig=offered(THREE))
    assert [len(loop.run(text)) for text in ("one", "two")] == [3, 3]
    assert loop.answers[:2] == [["get_weather", "book"], ["now"]]


def test_without_tools_there_is_a_text(converse: Fake) -> None:
    converse.improvise()
    assert Loop().run() == ["This answer is improvised."]


@pytest.mark.parametrize(
    ("given", "uses"),
    [
        ({"tools": ["now", "get_weather", "other"]}, [["get_weather"], ["now"]]),
        ({"tools": []}, []),
        ({"tools": ("book",)}, [["book"]]),
        ({"at_once": 5}, [["get_weather", "book", "now"]]),
    ],
    ids=str,
)
def test_which_tools_and_how_many_at_once(converse: Fake, given: Any, uses: object) -> None:
    converse.improvise(**given)
    assert Loop(toolConfig=offered(THREE)).run()[:-1] == uses


@pytest.mark.parametrize(
    ("given", "choice", "uses", "rest"),
    [
        ({}, {"auto": {}}, [["get_weather"], ["book"], ["now"]], 0),
        ({}, {"any": {}}, [["get_weather"], ["book"], ["now"], ["get_weather"], ["book"], ["now"]], 2),
        ({"tools": []}, {"any": {}}, [["get_weather"], ["book"], ["now"]], 5),
        ({}, {"tool": {"name": "book"}}, [["book"], ["book"]], 2),
        ({"tools": ["now"], "at_once": 9}, {"tool": {"name": "book"}}, [["book"]], 3),
    ],
    ids=str,
)
def test_a_tool_choice_is_obeyed_and_every_loop_ends(
    converse: Fake, given: Any, choice: Any, uses: Sequence[Any], rest: int
) -> None:
    converse.improvise(**given)
    *used, text = Loop(CLAUDE, toolConfig=offered(THREE, **choice)).run()
    assert used[: len(uses)] == uses
    assert len(used) == len(uses) + rest
    assert isinstance(text, str)
    assert ("It ends 8 answers in which a tool was forced" in text) is (choice == {"any": {}})


def test_a_tool_that_is_forced_again_gets_other_input(converse: Fake) -> None:
    converse.improvise()
    loop = Loop(CLAUDE, toolConfig=offered({"book": DAY}, tool={"name": "book"}))
    loop.run()
    assert len({each["day"] for each in loop.inputs}) == len(loop.inputs) == 4


def test_what_is_forced_first_is_not_used_again(converse: Fake) -> None:
    converse.improvise()
    loop = Loop(CLAUDE, toolConfig=offered(THREE, tool={"name": "book"}))
    assert loop.run(most=1) == [["book"]]
    loop.asked["toolConfig"] = offered(THREE)
    assert loop.go_on()[:-1] == [["get_weather"], ["now"]]


@pytest.mark.parametrize("apart", [False, True])
def test_a_text_beside_a_result_continues_the_turn(converse: Fake, apart: bool) -> None:
    converse.improvise()
    loop = Loop(toolConfig=offered(THREE))
    loop.run(most=1)
    reminder = {"text": "Remember to be brief."}
    if apart:
        loop.messages.append({"role": "user", "content": [reminder]})
    else:
        loop.messages[-1]["content"].append(reminder)
    assert loop.go_on()[:-1] == [["book"], ["now"]]


def test_claude_thinks_first_where_it_is_asked_to(converse: Fake) -> None:
    converse.improvise()
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    loop = Loop(CLAUDE, toolConfig=offered(THREE), additionalModelRequestFields=thinking)
    assert len(loop.run()) == 4
    assert all("reasoningContent" in each["content"][0] for each in loop.messages if each["role"] == "assistant")
    assert converse.notes == []


ANSWER: Mapping[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "integer", "examples": [1]}, "why": {"type": "string"}},
    "required": ["score", "why"],
    "additionalProperties": False,
}


def output(schema: object) -> dict[str, Any]:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": text, "name": "answer"}}}}


needs_output = pytest.mark.skipif(
    not bedrock.has_member("ConverseRequest", "outputConfig"), reason="the installed botocore has no outputConfig"
)


@needs_output
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_schema_of_the_answer_is_satisfied(converse: Fake, seed: int) -> None:
    converse.improvise(seed=seed)
    loop = Loop(CLAUDE, toolConfig=offered({"book": DAY}), outputConfig=output(ANSWER))
    use, text = loop.run()
    assert use == ["book"]
    jsonschema.validate(json.loads(text), ANSWER)
    if seed == 0:
        assert text == '{"score": 1, "why": "a"}'


# Where it stands: in scripts, conditions, on other transports; what is wrong is said.


def test_it_stands_wherever_a_reply_may() -> None:
    with fake_converse(reply.improvised(tools=[]).times(2), reply.text("end")) as fake:
        fake.when(last_user_text="*tool*").always(reply.improvised(seed=3))
        fake.when(turn=2, last_user_text="never").always(reply.improvised(tools=["book"]))
        assert Loop(toolConfig=offered(THREE)).run("tools!")[0] == ["get_weather"]
        texts = [Loop(toolConfig=offered(THREE)).run("hi", most=1)[0] for _ in range(3)]
        assert texts == ["This answer is improvised."] * 2 + ["end"]
        fake.script(reply.improvised())
        assert Loop(toolConfig=offered(THREE)).run("hi", most=1) == [["get_weather"]]


def test_it_is_used_as_often_as_it_says() -> None:
    twice = reply.improvised(seed=2, tools=["book"], at_once=3).times(2)
    said = r"improvised, seed=2, tools=\['book'\], at_once=3, 2 times"
    with pytest.raises(UnusedReplies, match=said), fake_converse(twice):
        Loop().run()


def test_what_it_is_called() -> None:
    made = reply.improvised()
    assert (repr(made), made.summary) == ("<Improvised reply>", "improvised")
    assert repr(made.times(3)) == "<Improvised reply, 3 times>"
    assert reply.improvised(tools="all", seed=0) == made
    assert reply.improvised(tools=["a"]) == reply.improvised(tools=("a",)) != made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tools": "book"}, r"""improvised\(tools='book'\): "all", or a list of names, for instance \['book'\]\."""),
        ({"at_once": 0}, r"improvised\(at_once=0\): it is a whole number from 1\."),
        ({"at_once": True}, "at_once=True"),
        ({"seed": "x"}, "seed='x'"),
    ],
)
def test_a_wrong_argument_is_refused_where_it_is_written(given: Any, said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        reply.improvised(**given)
    with pytest.raises(ReplyError, match=said):
        PlainFake().improvise(**given)
    with pytest.raises(ReplyError, match=r"times\(uses=0\)"):
        reply.improvised().times(0)


def test_a_schema_without_a_value_fails_the_test_by_name() -> None:
    bad = {"type": "object", "properties": {"zip": {"type": "string", "pattern": r"\p{N}"}}, "required": ["zip"]}
    with pytest.raises(ReplyError) as caught, fake_converse() as fake:  # noqa: PT012 - it is raised at the end
        fake.improvise()
        with pytest.raises(ClientError, match="no input is improvised for the tool 'post'"):
            Loop(toolConfig=offered({"post": bad})).run()
    assert str(caught.value).startswith(
        r"no input is improvised for the tool 'post': in its inputSchema, #/properties/zip/pattern: is '\\p{N}', and "
    )
    assert "Correct the schema; or leave the tool out with tools=[...], or script its use" in str(caught.value)


def test_a_forced_tool_that_is_not_offered_is_named() -> None:
    said = "toolChoice names the tool 'pay', and the request offers get_weather, book, now"
    with pytest.raises(ReplyError, match=said), fake_converse(rules="off") as fake:  # noqa: PT012 - it is raised at the end
        fake.improvise()
        with pytest.raises(ClientError):
            Loop(CLAUDE, toolConfig=offered(THREE, tool={"name": "pay"})).run()


@needs_output
@pytest.mark.parametrize(
    ("schema", "said"),
    [("{", "is not JSON: "), ({"type": "integer", "minimum": 2, "maximum": 1}, "#/minimum: no number is found")],
)
def test_an_output_without_a_value_is_named(schema: object, said: str) -> None:
    with pytest.raises(ReplyError, match=said), fake_converse(rules="off") as fake:  # noqa: PT012 - it is raised at the end
        fake.improvise()
        with pytest.raises(ClientError):
            Loop(CLAUDE, outputConfig=output(schema)).run()


def test_the_rules_hold_for_what_is_asked() -> None:
    with pytest.raises(RefusedRequest), fake_converse() as fake:  # noqa: PT012 - it is raised at the end
        fake.improvise()
        with pytest.raises(ClientError):
            Loop().run("  ")


def test_a_function_may_break_or_pace_what_is_improvised(converse: Fake) -> None:
    improvised = reply.improvised()

    def slow(call: Any) -> Reply:
        return improvised(call).paced(each=0.001)

    converse.always(slow)
    assert len(Loop(toolConfig=offered(THREE)).run()) == 4


def test_the_last_always_counts(converse: Fake) -> None:
    converse.always(reply.text("mine"))
    converse.improvise()
    converse.script(reply.text("first"))
    loop = Loop()
    assert [loop.run()[0], loop.run()[0]] == ["first", "This answer is improvised."]


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": [5]}, {"toolConfig": {"tools": [None, {}]}}])
def test_a_request_that_is_none_is_answered(body: Any) -> None:
    fake = PlainFake(rules="off")
    fake.improvise()
    answered = fake.core.exchange(Request("POST", "/model/m/converse", (), json.dumps(body).encode()))
    assert answered.response.status in (200, 400)
    assert [each for each in fake.endpoint.problems if not isinstance(each, ReplyError | RefusedRequest)] == []


# The other ways to a fake.


def test_it_answers_httpx() -> None:
    with HttpxFake() as fake, httpx.Client(transport=fake.httpx_transport) as client:
        fake.improvise(seed=1)
        body = {"messages": [{"role": "user", "content": [{"text": "hi"}]}], "toolConfig": offered({"now": NOTHING})}
        answer = client.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse", json=body).json()
        assert answer["output"]["message"]["content"][0]["toolUse"]["name"] == "now"


@pytest.mark.needs_os
def test_it_answers_over_a_socket(converse_server: Any) -> None:
    with converse_server.script(reply.improvised(at_once=2).times(2)) as fake:
        fake.improvise()
        loop = Loop(streams=True, toolConfig=offered(THREE))
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
        loop.client = boto3.client("bedrock-runtime", endpoint_url=fake.url, region_name="us-east-1", **keys)
        assert loop.run()[:-1] == [["get_weather", "book"], ["now"]]
