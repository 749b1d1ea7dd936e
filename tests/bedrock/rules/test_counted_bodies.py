"""CountTokens for a body of InvokeModel: what it weighs."""

from __future__ import annotations

import base64
import json

import pytest

from converse_harness import bedrock, fake_converse
from converse_harness.intercept.clients import create_client
from tests.bedrock.rules.asking import Json, user

pytestmark = pytest.mark.skipif(not bedrock.has_shape("CountTokensRequest"), reason="this botocore has no CountTokens")

SONNET = "anthropic.claude-sonnet-4-20250514-v1:0"


def counted(**given: Json) -> int:
    with fake_converse():
        return int(create_client().count_tokens(modelId=SONNET, input=given)["inputTokens"])


PROMPT = "How many tokens is this sentence?"
RECORDED: Json = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 4096,
    "messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}],
    "system": "You are helpful.",
}


def weighed(body: object) -> int:
    return counted(invokeModel={"body": body if isinstance(body, bytes) else json.dumps(body).encode()})


def test_a_body_weighs_about_what_was_recorded() -> None:
    """Bedrock counted 18 for such a body (pydantic-ai, test_anthropic_bedrock_count_tokens_real_api)."""
    assert abs(weighed(RECORDED) - 18) <= 5


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"system": [{"type": "text", "text": "You are helpful."}]},
        {"messages": [{"role": "user", "content": "a" * 4_000}, {"role": "assistant", "content": "b" * 400}]},
        {"tools": [{"name": "look", "description": "c" * 400, "input_schema": {"type": "object"}}]},
    ],
    ids=["as recorded", "system blocks", "plain texts", "a tool"],
)
def test_a_body_weighs_what_its_conversation_does(more: Json) -> None:
    body: Json = {**RECORDED, **more}
    system = body["system"] if isinstance(body["system"], str) else body["system"][0]["text"]
    asked: Json = {
        "system": [{"text": system}],
        "messages": [],
        **({"toolConfig": {"tools": []}} if "tools" in body else {}),
    }
    for message in body["messages"]:
        content = message["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        asked["messages"].append({"role": message["role"], "content": [{"text": text}]})
    for tool in body.get("tools", ()):
        spec = {"name": tool["name"], "description": tool["description"], "inputSchema": {"json": tool["input_schema"]}}
        asked["toolConfig"]["tools"].append({"toolSpec": spec})
    assert abs(weighed(body) - counted(converse=asked)) <= 4


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (b"x" * 40_000, 10_000),
        (b"", 1),
        (b"{}", 1),
        (b"\xff\xfe", 1),
        (b"[" * 100_000, 25_000),
        ({"prompt": "a" * 394}, 100),
        ({"messages": 5, "system": 6, "tools": 7}, 1),
        ({"messages": [5, {"content": [5, {"type": "text"}]}]}, 1),
    ],
    ids=["text", "nothing", "no member", "no UTF-8", "too deep", "a prompt", "numbers", "numbers inside"],
)
def test_any_body_is_weighed(body: object, tokens: int) -> None:
    assert weighed(body) == tokens


def test_an_image_weighs_as_much_as_in_converse() -> None:
    data = base64.b64encode(b"\x89PNG" * 10_000).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    found = weighed({"messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]})
    image = {"format": "png", "source": {"bytes": b"\x89PNG" * 10_000}}
    expected = counted(converse={"messages": [user({"image": image})]})
    assert abs(found - expected) <= 10
