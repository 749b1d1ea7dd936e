"""What a user's type checker must refuse of the transports: every line that ends in a comment `error`, and no other."""

import httpx

from converse_harness import (
    ConverseApp,
    ConverseServer,
    Endpoint,
    Fake,
    HttpxFake,
    fake_converse,
    faults,
    record,
    recording,
    reply,
)


def test_recordings() -> None:
    recording("x.jsonl", match="prose")  # error
    recording("x.jsonl", match=lambda call: True)  # error
    recording("x.jsonl", ignore=7)  # error
    recording("x.jsonl", ignore=["system", 7])  # error
    record("x.jsonl", match=True)  # error


def test_server(converse_server: ConverseServer, converse: Fake) -> None:
    converse_server.script("hi")  # error
    converse_server.script(reply.text("a"), unusd="fail")  # error
    converse_server.script(reply.text("a"), unused="never")  # error
    converse_server.script(reply.text("a"), rules="loose")  # error
    fake_converse(rules=True)  # error
    fake_converse(answers="note")  # error
    fake_converse(answers={"tool_is_offered": "rules"})  # error
    fake_converse(history="loud")  # error
    Fake(unusd="fail")  # error
    HttpxFake(attempts="1")  # error
    record("x.jsonl", sleeps="no")  # error
    Endpoint(rules="loose")  # error
    Endpoint(attempts=1)  # error
    ConverseApp(unused="allow")  # error
    ConverseApp(keep_calls="all")  # error
    converse.calls[0].refusal.rule  # error
    converse.url  # error
    converse_server.script().url = "http://127.0.0.1"  # error
    ConverseServer(port="0")  # error


def test_faults() -> None:
    reply.text("a").broken("reset")  # error
    reply.text("a").broken(faults.rset)  # error


def test_httpx(converse_httpx: HttpxFake) -> None:
    httpx.Client(transport=converse_httpx.httpx_async_transport)  # error
