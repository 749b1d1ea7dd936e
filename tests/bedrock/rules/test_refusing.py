"""A request that Bedrock would refuse: what the client gets, what the test hears, and how strictly."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from converse_harness import (
    ConverseServer,
    Endpoint,
    Fake,
    Note,
    RefusedRequest,
    ReplyError,
    bedrock,
    fake_converse,
    record,
    recording,
    reply,
)
from converse_harness.intercept.clients import create_client
from converse_harness.settings import RuleLevel, RuleLevels
from converse_harness.stream.http import Request
from tests.bedrock.rules.asking import LLAMA, NOVA, TEXT, assistant, config, user
from tests.bedrock.rules.broken_gateway import START

ASSISTANT_FIRST: dict[str, Any] = {"modelId": NOVA, "messages": [assistant(TEXT), user(TEXT)]}
ONCE: dict[str, Any] = {"modelId": NOVA, "messages": [user(TEXT)]}

REPORT = f"""\
Bedrock would refuse call 1: {START}

arrived   Converse us.amazon.nova-lite-v1:0, 2 messages, last: text "hi"
rule      first_message_is_the_users: a conversation starts with a message of the user
broken at messages[0].role
source    langgenius/dify#12340 (2025-01-03, Claude 3.5 Sonnet), strands-agents/harness-sdk#2085 (2026-04-07, Nova 2 \
Lite), pydantic/pydantic-ai#6255 (2026-07-03, Nova, Llama, Mistral, Cohere, AI21, Writer), \
deepgram/deepgram-python-sdk#760 (2026-08-11, Nova Micro)

Mend the request. Where the test is about this refusal: with converse.refuses("first_message_is_the_users"): ...
Where the model does accept it: @pytest.mark.converse(rules={{"first_message_is_the_users": "off"}}), or rules= \
of a fake.
More: converse-harness docs rules expected-refusals"""


def refused(fake: Fake, method: str = "converse", **request: Any) -> dict[str, Any]:
    """What botocore makes of a refusal."""
    with pytest.raises(ClientError) as caught:
        getattr(create_client(), method)(**(request or ASSISTANT_FIRST))
    response: dict[str, Any] = dict(caught.value.response)
    assert type(caught.value).__name__ == response["Error"]["Code"] == "ValidationException"
    assert fake.calls[-1].refusal is not None
    return response


@pytest.mark.parametrize("method", ["converse", "converse_stream"])
def test_the_client_gets_bedrocks_own_error_and_the_test_hears_of_it(method: str) -> None:
    with pytest.raises(RefusedRequest) as caught, fake_converse(reply.text("hi")) as fake:
        response = refused(fake, method)
    assert response["Error"]["Message"] == START
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert str(caught.value) == REPORT.replace("Converse us", f"{fake.calls[0].operation} us")


def test_what_is_refused_uses_up_no_reply() -> None:
    with fake_converse(reply.text("hi"), unexpected="allow") as fake:
        refused(fake)
        assert create_client().converse(**ONCE)["output"]["message"]["content"] == [{"text": "hi"}]
        assert [call.refusal is None for call in fake.calls] == [False, True]


def test_a_refusal_may_be_expected() -> None:
    with fake_converse(unexpected="allow") as fake:
        assert refused(fake)["Error"]["Message"] == START
    assert fake.failures() == []


def test_what_is_refused_comes_before_what_is_not_scripted() -> None:
    with pytest.raises(RefusedRequest), fake_converse() as fake:
        refused(fake)
    assert [type(each) for each in fake.failures()] == [RefusedRequest]


def test_warn() -> None:
    with fake_converse(reply.text("hi"), rules="warn") as fake, warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert create_client().converse(**ASSISTANT_FIRST)["output"]["message"]["content"] == [{"text": "hi"}]
        fake.check()
    assert fake.notes == [Note("first_message_is_the_users", REPORT.partition("\n\nMend")[0], 1)]
    assert f"    note     first_message_is_the_users: Bedrock would refuse call 1: {START}" in fake.transcript


@pytest.mark.parametrize("level", ["warn", "default", "strict"])
def test_what_bedrock_may_refuse_is_noted(level: RuleLevel) -> None:
    in_a_row = {**ONCE, "modelId": "us.anthropic.claude-3-7-sonnet-20250219-v1:0", "messages": ONCE["messages"] * 2}
    with fake_converse(reply.text("hi"), rules=level) as fake:
        create_client().converse(**in_a_row)
    assert [(note.kind, note.call) for note in fake.notes] == [("roles_alternate", 1)]
    assert fake.notes[0].text.startswith("Bedrock may refuse call 1: A conversation must alternate between user and ")
    assert fake.calls[0].refusal is None


def test_off() -> None:
    with fake_converse(reply.text("hi"), rules="off") as fake:
        create_client().converse(**ASSISTANT_FIRST)
    assert fake.calls[0].refusal is None


def test_strict() -> None:
    with fake_converse(reply.text("hi"), unexpected="allow", unused="allow", rules="strict") as fake:
        response = refused(fake, modelId="my-model", messages=ONCE["messages"])
    assert response["Error"]["Message"] == "The provided model identifier is invalid."


def test_a_level_that_is_none() -> None:
    with pytest.raises(ReplyError) as caught:
        fake_converse(rules="loose")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == (
        'fake_converse(rules=\'loose\'): one of "off" (answer every request), "warn" (answer as scripted, with a note '
        'for each request that Bedrock would refuse), "default" (refuse requests that Bedrock refuses for the '
        'requested model), "strict" (refuse'
        ' also model ids that Bedrock does not accept); or it maps names of rules to these, as {"some_cite_nothing": '
        '"off"}, with "*" for all other rules.'
    )


SWITCHED: Final[Mapping[str, tuple[RuleLevels, list[str | None], list[str]]]] = {
    "the only one is off": ({"first_message_is_the_users": "off"}, [None], []),
    "another is off": ({"some_cite_nothing": "off"}, ["first_message_is_the_users"], []),
    "it is noted": ({"first_message_is_the_users": "warn"}, [None], ["first_message_is_the_users"]),
    "all others are off": ({"*": "off", "some_cite_nothing": "default"}, [None], []),
    "only it is held": ({"*": "off", "first_message_is_the_users": "default"}, ["first_message_is_the_users"], []),
    "all but it are noted": ({"*": "warn", "first_message_is_the_users": "off"}, [None], []),
    "one of strict": ({"model_exists": "strict", "first_message_is_the_users": "off"}, ["model_exists"], []),
}


@pytest.mark.parametrize(("rules", "refused_for", "noted"), SWITCHED.values(), ids=SWITCHED)
def test_one_rule_is_switched(rules: RuleLevels, refused_for: list[str | None], noted: list[str]) -> None:
    """A failure names this switch; other rules stay as they are."""
    asked = ASSISTANT_FIRST | ({"modelId": "my-model"} if "model_exists" in rules else {})
    with (
        fake_converse(reply.text("hi"), unexpected="allow", unused="allow", rules=rules) as fake,
        suppress(ClientError),
    ):
        create_client().converse(**asked)
    sent = [None if call.reply is not None else call.refusal and call.refusal.rule.name for call in fake.calls]
    assert sent == refused_for
    assert [note.kind for note in fake.notes] == noted


def test_a_rule_that_is_only_noted_hides_no_other() -> None:
    asked = {**ASSISTANT_FIRST, "messages": [assistant(TEXT), user({"text": " "})]}
    rules: RuleLevels = {"text_is_not_blank": "default", "*": "warn"}
    with fake_converse(reply.text("hi"), unexpected="allow", unused="allow", rules=rules) as fake:
        response = refused(fake, **asked)
    assert "is blank" in response["Error"]["Message"]
    assert [note.kind for note in fake.notes] == ["first_message_is_the_users"]


@pytest.mark.parametrize(
    ("rules", "noted"),
    [
        ("default", True),
        ("off", False),
        ({"*": "off", "text_is_not_blank": "default"}, False),
        ({"roles_alternate": "off"}, False),
        ({"text_is_not_blank": "off"}, True),
    ],
)
def test_what_is_only_noted_can_be_switched_off(rules: RuleLevels, noted: bool) -> None:
    twice = {"modelId": "us.anthropic.claude-3-haiku-20240307-v1:0", "messages": [user(TEXT), user(TEXT)]}
    with fake_converse(reply.text("hi"), rules=rules) as fake:
        create_client().converse(**twice)
    assert [note.kind for note in fake.notes] == ["roles_alternate"] * noted


def test_the_switch_of_a_failure_works_as_it_is_written() -> None:
    with fake_converse(unexpected="allow") as fake:
        refused(fake, **ASSISTANT_FIRST)
    (said,) = re.findall(r"rules=({.*?})", str(fake.endpoint.problems[0]))
    with fake_converse(reply.text("hi"), rules=json.loads(said)):
        create_client().converse(**ASSISTANT_FIRST)


def test_a_rule_that_does_not_exist_is_named_at_once() -> None:
    with pytest.raises(ReplyError, match=r"some_cite_nothin: no rule has this name. Did you mean 'some_cite_nothing'"):
        fake_converse(rules={"some_cite_nothin": "off"})


@pytest.mark.needs_os
def test_a_recording_knows_better(tmp_path: Path) -> None:
    file = tmp_path / "assistant-first.jsonl"
    with ConverseServer() as server, server.script(reply.text("accepted"), rules="off") as service, record(file):
        create_client(endpoint_url=service.url).converse(**ASSISTANT_FIRST)
    for level in ("default", "warn"):
        with fake_converse(recording(file), rules=level) as fake:
            assert create_client().converse(**ASSISTANT_FIRST)["output"]["message"]["content"] == [{"text": "accepted"}]
        assert fake.calls[0].refusal is not None
        assert fake.notes == []
    with pytest.raises(RefusedRequest), fake_converse(recording(file, match="exact"), unused="allow") as fake:
        refused(fake, modelId="other", messages=ASSISTANT_FIRST["messages"])


def test_a_malformed_request_is_no_refusal() -> None:
    endpoint = Endpoint()
    exchange = endpoint.exchange(Request("POST", "/model/m/converse", (), b'{"messages": 5}'))
    assert exchange.response.status == 400
    assert exchange.call.refusal is None


def test_what_was_said_of_one_request_is_not_said_of_another() -> None:
    def said(
        model_id: str = LLAMA, operation: str = "converse", rules: RuleLevel = "default", **more: Any
    ) -> str | None:
        body = json.dumps({"messages": [user({"text": "a"})], **more}).encode()
        request = Request("POST", f"/model/{model_id}/{operation}", (), body)
        refusal = Endpoint(rules=rules).exchange(request).call.refusal
        return None if refusal is None else refusal.rule.name

    tools = config()
    for _ in range(2):
        assert said(operation="converse-stream", **tools) == "some_stream_no_tools"
        assert said(**tools) is None
        assert said(NOVA, "converse-stream", **tools) is None
        assert said(operation="converse-stream") is None
        assert said(operation="converse-stream", rules="off", **tools) is None
        assert said("my-model", rules="strict") == "model_exists"
        assert said("my-model") is None


def test_the_transcript_names_the_rule() -> None:
    with fake_converse(unexpected="allow") as fake:
        refused(fake)
    assert "    answer   400  refused: first_message_is_the_users  (complete)" in fake.transcript.splitlines()


@pytest.mark.skipif(not bedrock.has_shape("SystemTool"), reason="the installed botocore is older than system tools")
@pytest.mark.parametrize("tool", ["nova_code_interpreter", "nova_grounding"])
def test_what_the_service_ran_itself_may_come_back(tool: str) -> None:
    """Its result stands beside its use, in the message of the model, and has a type of its own."""
    use = {"toolUseId": "tooluse_1", "name": tool, "input": {}, "type": "server_tool_use"}
    result = {"toolUseId": "tooluse_1", "content": [{"text": "4"}], "status": "success", "type": f"{tool}_result"}
    answer = assistant({"toolUse": use}, {"toolResult": result}, TEXT)
    with fake_converse(reply.text("ok")) as fake:
        create_client().converse(
            modelId="us.amazon.nova-2-lite-v1:0",
            messages=[user(TEXT), answer, user(TEXT)],
            toolConfig={"tools": [{"systemTool": {"name": tool}}]},
        )
    assert fake.calls[0].refusal is None
