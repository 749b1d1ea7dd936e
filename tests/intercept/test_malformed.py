"""A body that the model of AWS does not allow: the client gets a 400, and the test fails whatever is scripted."""

from __future__ import annotations

from typing import Any, Final

import httpx
import pytest

from converse_harness import HttpxFake, RefusedRequest, Reply, UnexpectedCall, reply
from converse_harness.errors import json_text

URL: Final = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse"
NO_LIST: Final = b'{"messages":[{"role":"user","content":"hello"}]}'

WRONG: Final = {
    "a str for a list": (NO_LIST, "messages[0].content is a JSON str; it must be a list."),
    "half an object": (b"{", "The request body is not JSON: "),
}


@pytest.mark.parametrize(("body", "message"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("settings", [{}, {"rules": "off"}, {"rules": "warn"}, {"rules": "strict"}], ids=str)
def test_it_fails_the_test_at_every_level(settings: dict[str, Any], body: bytes, message: str) -> None:
    with HttpxFake(**settings, unexpected="allow") as fake:
        fake.always(reply.text("hi"))
        answer = httpx.post(URL, content=body)
    assert answer.status_code == 400
    assert answer.headers["x-amzn-ErrorType"].startswith("SerializationException:")
    assert fake.transcript.splitlines()[1].startswith(f"    answer   400  refused: {message}")
    with pytest.raises(RefusedRequest) as failure, HttpxFake(**settings) as fake:
        httpx.post(URL, content=body)
    text = str(failure.value)
    assert text.startswith(f"Bedrock would refuse call 1: {message}")
    assert 'converse(unexpected="allow")' in text
    assert '"unexpected": "allow"' in json_text(failure.value)


@pytest.mark.parametrize("scripted", [[], [reply.text("hi").optional()], [reply.text("hi")]], ids=len)
def test_it_comes_before_unused_replies(scripted: list[Reply]) -> None:
    with pytest.raises(RefusedRequest), HttpxFake(*scripted):
        httpx.post(URL, content=NO_LIST)


def test_it_may_be_allowed() -> None:
    with HttpxFake(unexpected="allow") as fake:
        fake.always(reply.text("hi"))
        assert httpx.post(URL, content=NO_LIST).status_code == 400


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/model/m/converse_stream", "The path of ConverseStream ends in /converse-stream, and this one in /converse_"),
        ("/model/m/conversestream", "The path of ConverseStream ends in /converse-stream, and this one in /conversest"),
        ("/model/m/nothing", None),
    ],
)
def test_a_wrong_path_names_the_near_one(path: str, near: str | None) -> None:
    with pytest.raises(UnexpectedCall) as failure, HttpxFake():
        httpx.post(f"https://bedrock-runtime.us-east-1.amazonaws.com{path}", json={})
    assert (near in str(failure.value)) if near else ("The path of" not in str(failure.value))
