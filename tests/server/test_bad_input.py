"""Whatever a peer sends over the socket: an AWS-shaped answer or a closed connection, and nobody else minds."""

from __future__ import annotations

import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from h2.errors import ErrorCodes
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from converse_harness import Call, ConverseServer, Reply, UnexpectedCall, reply
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.http_protocol import PREFACE, Limits
from tests.server.peers import BODY, MODEL, PATIENCE, Raw, Raw2, eventually, question

SMALL = Limits(head=2_000, body=50_000, ahead=10_000, streams=20, resets=20, silence=0.4, idle=0.8)


@pytest.fixture
def small() -> Iterator[ConverseServer]:
    """A server with little patience."""
    with ConverseServer(limits=SMALL) as running:
        yield running


@pytest.fixture
def calm() -> Iterator[ServerFake]:
    """A fake on a server with more patience, for what takes its time."""
    with ConverseServer(limits=replace(SMALL, silence=30.0)) as running, running.script() as opened:
        opened.always(reply.text("fine"))
        yield opened


@pytest.fixture
def fake(small: ConverseServer) -> Iterator[ServerFake]:
    """A fake on it; whatever is done to the server, the fake is asked nothing by it and answers the others."""
    with small.script() as opened:
        opened.always(reply.text("fine"))
        yield opened
        with Raw(opened.url) as other:
            assert other.ask(opened.url).status == 200
        assert [call.last_user_text for call in opened.calls.all] == ["hello"] * len(opened.calls.all)


def frames(*given: Frame) -> bytes:
    """Frames as they are sent."""
    return b"".join(frame.serialize() for frame in given)


# HTTP/1.1


def test_garbage_is_answered_and_the_connection_closed(fake: ServerFake) -> None:
    with Raw(fake.url) as peer:
        status, name, message = peer.send(b"\x16\x03\x01 this is TLS, or worse\r\n\r\n").answer().error
        assert (status, name) == (400, "BadRequestException")
        assert "illegal request line" in message
        assert peer.is_closed()


def test_a_request_whose_end_is_not_certain_is_the_last_of_its_connection(fake: ServerFake) -> None:
    """The body of one reader is the next request of another; all kinds: tests/stream/test_untrusted_heads.py."""
    doubtful = question("/x", body=b"0\r\n\r\n", headers="Transfer-Encoding: chunked\r\n")
    with Raw(fake.url) as peer:
        status, name, message = peer.send(doubtful + question(fake.url)).answer().error
        assert (status, name) == (400, "BadRequestException")
        assert "both Content-Length and Transfer-Encoding" in message
        assert peer.is_closed()


@pytest.mark.parametrize(
    "half",
    [
        b"P",
        PREFACE[:-1],
        question("/x")[:20],
        question("/x")[:-10],
        question("/x", headers="Expect: 100-continue\r\n")[: -len(BODY)],
    ],
    ids=["letter", "preface", "head", "body", "no body"],
)
def test_half_a_request_is_waited_for_and_then_refused(fake: ServerFake, half: bytes) -> None:
    with Raw(fake.url) as peer:
        status, name, message = peer.send(half).answer().error
        assert (status, name) == (408, "RequestTimeoutException")
        assert "0.4 s" in message
        assert peer.is_closed()


def test_half_a_request_and_the_end_of_it(fake: ServerFake) -> None:
    with Raw(fake.url) as peer:
        peer.send(question("/x")[:-10])
        peer.socket.shutdown(socket.SHUT_WR)
        assert peer.is_closed()


@pytest.mark.parametrize("said", [b"", question("/__converse/nothing")], ids=["nothing", "one request"])
def test_a_connection_on_which_nothing_happens_is_closed(fake: ServerFake, said: bytes) -> None:
    with Raw(fake.url) as peer:
        peer.send(said)
        if said:
            assert peer.answer().status == 404
        assert peer.is_closed()


def test_a_slow_client_of_a_request_is_waited_for(fake: ServerFake) -> None:
    sent = question(fake.url)
    started = time.monotonic()
    with Raw(fake.url) as peer:
        for part in (sent[start : start + 8] for start in range(0, len(sent), 8)):
            peer.send(part)
            threading.Event().wait(SMALL.silence / 16)
        assert time.monotonic() - started > SMALL.silence
        assert peer.answer().status == 200


@pytest.mark.parametrize("what", [b"x", b"X: y\r\n"], ids=["line", "lines"])
def test_a_head_without_end_is_refused(fake: ServerFake, what: bytes) -> None:
    with Raw(fake.url) as peer:
        peer.send(b"GET / HTTP/1.1\r\nHost: h\r\n" + what)
        peer.pour(what * 10_000)
    with Raw(fake.url) as peer:
        peer.send(b"GET / HTTP/1.1\r\nHost: h\r\n", what * SMALL.head)
        assert peer.answer().error[:2] == (431, "RequestHeaderSectionTooLargeException")


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_a_client_that_sends_too_much_reads_why(fake: ServerFake, chunked: bool) -> None:
    """It reads only after it has sent everything: the answer must not be lost in a reset."""
    body = bytes(4_000_000)
    sent = question("/x", body=body)
    if chunked:
        sent = question("/x", body=b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        sent += b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with Raw(fake.url) as peer:
        assert peer.send(sent).answer().error == (
            413,
            "RequestEntityTooLargeException",
            "The request body is longer than 50000 bytes.",
        )
        assert peer.is_closed()


def test_a_body_without_end_is_not_read_for_ever(fake: ServerFake) -> None:
    with Raw(fake.url) as peer:
        peer.send(question("/x", body=b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        peer.pour(10 * (b"400\r\n" + bytes(1024) + b"\r\n"))


def test_boto3_reads_why_its_request_is_too_long(small: ConverseServer) -> None:
    with small.script() as fake:
        client: Any = boto3.client(
            "bedrock-runtime",
            endpoint_url=fake.url,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
        text = 200_000 * "x"
        with pytest.raises(ClientError, match="The request body is longer than 50000 bytes") as caught:
            client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": text}]}])
        assert caught.value.response["Error"]["Code"] == "RequestEntityTooLargeException"
        assert fake.calls.all == []


@pytest.mark.parametrize("path", ["/", "*", "/nothing", "/model/m/converse", "//", "/%00/x", "/__converse"])
def test_an_unknown_path_is_answered(fake: ServerFake, path: str) -> None:
    with Raw(fake.url) as peer:
        answer = peer.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).answer("GET")
        assert answer.status == 404
        assert answer.json["message"]
        assert peer.ask(fake.url).status == 200


WRONG = {
    "not JSON": b"{",
    "not UTF-8": b'{"messages": "\xff\xfe\xfd"}',
    "no object": b"[]",
    "half a surrogate": b'{"messages": [{"role": "user", "content": [{"text": "\\ud800"}]}]}',
    "very deep": b'{"messages": ' + 200_000 * b"[",
    "very deep and sound": b'{"a": ' + 20_000 * b"[" + 20_000 * b"]" + b"}",
    "a long number": b'{"a": ' + 10_000 * b"1" + b"}",
    "not a number": b'{"messages": [{"role": "user", "content": [{"text": NaN}]}]}',
    "null": b'{"messages": null, "system": null, "toolConfig": null}',
    "text that is none": b'{"messages": [{"role": "user", "content": [{"text": {"text": 1}}]}]}',
    "blob that is none": b'{"messages": [{"role": 1, "content": [{"image": {"source": {"bytes": "?"}}}]}]}',
    "tools that are none": b'{"messages": [], "toolConfig": {"tools": [{"toolSpec": 1}, {"cachePoint": []}]}}',
    "tools without names": b'{"messages": [], "toolConfig": {"tools": [{"toolSpec": {}}]}}',
    "messages without content": b'{"messages": [{"role": "user"}, {"content": [{}, {"toolUse": {}}]}]}',
    "system that is none": b'{"system": [{"text": 7}], "inferenceConfig": 5, "guardrailConfig": "x"}',
    "content that is none": b'{"messages": [{"role": "user", "content": [{"toolResult": 1}, {"toolUse": []}]}]}',
}


OPERATIONS = ["converse", "converse-stream", "count-tokens", "invoke"]


@pytest.mark.parametrize(
    ("name", "operation", "conditions"),
    [
        # In turn each kind and each operation has conditions and none.
        pytest.param(*case, marks=() if sum(numbers) % 2 == 0 else pytest.mark.slow)
        for numbers, case in zip(
            product(range(len(WRONG)), range(len(OPERATIONS)), range(2)),
            product(WRONG, OPERATIONS, [False, True]),
            strict=True,
        )
    ],
)
def test_wrong_json_is_answered(server: ConverseServer, name: str, operation: str, conditions: bool) -> None:
    with server.script(unexpected="allow", unused="allow") as fake:
        if conditions:
            fake.when(last_user_text="*", system="*", tool="*", turn=1).always(reply.text("x"))
        fake.always(reply.text("fine"))
        with Raw(fake.url) as peer:
            body = WRONG[name]
            if operation == "count-tokens":
                body = b'{"input": {"converse": ' + body + b"}}"
            answer = peer.send(question(fake.url, operation, body)).answer()
            assert answer.status in (200, 400, 404)
            if answer.status != 200:
                assert answer.error[2]
            assert peer.ask(fake.url).status == 200
        assert fake.transcript
        assert [(call.last_user_text, call.turn) for call in fake.calls.all][1:] == [("hello", 1)]
        repr(fake.calls.all)
        assert {note.kind for note in fake.notes} <= {"model_counts_tokens"}  # no Nova does


def test_a_path_that_is_no_utf_8_is_a_call_like_any_other(server: ConverseServer) -> None:
    with server.script(reply.text("fine")) as fake, Raw(fake.url) as peer:
        assert peer.send(question(fake.url).replace(MODEL.encode(), b"%ff%zz%")).answer().status == 200
    assert fake.calls.all[0].model_id == "�%zz%"


@pytest.mark.parametrize("target", ["{path}/model/a%2Fb%3Ac/converse", "http://other:1{path}/model/a%2Fb%3Ac/converse"])
def test_an_arn_in_a_path_is_not_taken_apart(server: ConverseServer, target: str) -> None:
    with server.script(reply.text("fine")) as fake, Raw(fake.url) as peer:
        path = "/" + fake.url.split("/", 3)[3]
        line = f"POST {target.format(path=path)} HTTP/1.1".encode()
        assert peer.send(line + question("/x").partition(b" HTTP/1.1")[2]).answer().status == 200
    assert fake.calls.all[0].model_id == "a/b:c"


# HTTP/2


def test_half_a_request_of_http_2_is_waited_for_and_then_refused(fake: ServerFake) -> None:
    with Raw2(fake.url) as peer:
        peer.ask(1, end=False)
        assert json.loads(peer.answer(1))["message"].endswith("nothing came for 0.4 s.")
        assert peer.status[1] == 408
        assert peer.is_closed()


def test_a_client_of_http_2_that_sends_too_much_reads_why_and_goes_on(fake: ServerFake) -> None:
    with Raw2(fake.url) as peer:
        peer.ask(1, body=b"", end=False)
        peer.until(lambda: peer.h2.remote_settings.initial_window_size > 65_535)
        for _ in range(4):
            peer.h2.send_data(1, bytes(16_000))
        peer.ask(3)
        assert json.loads(peer.answer(1))["message"] == "The request body is longer than 50000 bytes."
        assert peer.status[1] == 413
        assert b"fine" in peer.answer(3)


HEADLESS = (HeadersFrame(3, data=b"\x83"), ContinuationFrame(3))
HEAD = b"\x83\x86\x84\x01\x01h"
FLOODS: dict[str, Callable[[int], bytes]] = {
    "PING": lambda number: frames(PingFrame(0, opaque_data=b"%08d" % number)),
    "SETTINGS": lambda number: frames(SettingsFrame(0, settings={SettingsFrame.INITIAL_WINDOW_SIZE: number})),
    "empty DATA": lambda number: frames(DataFrame(1)),
    "padded DATA": lambda number: frames(DataFrame(1, flags=["PADDED"], pad_length=255)),
    "PRIORITY": lambda number: frames(PriorityFrame(2 * number + 3)),
    "WINDOW_UPDATE": lambda number: frames(WindowUpdateFrame(0, window_increment=1)),
    "GOAWAY": lambda number: frames(GoAwayFrame(0)),
    "unknown": lambda number: b"\x00\x00\x01\xbb\x00\x00\x00\x00\x01x",
    "RST_STREAM": lambda number: (
        frames(HeadersFrame(2 * number + 3, data=HEAD, flags=["END_HEADERS", "END_STREAM"]))
        + b"\x00\x00\x04\x03\x00"
        + (2 * number + 3).to_bytes(4, "big")
        + bytes(4)
    ),
    "CONTINUATION": lambda number: frames(*[ContinuationFrame(3, data=b"x")] if number else HEADLESS),
    "heads": lambda number: frames(HeadersFrame(2 * number + 3, data=HEAD, flags=["END_HEADERS"])),
}


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        *((name, True) for name in FLOODS),
        ("PING", False),
        *(pytest.param(name, False, marks=pytest.mark.slow) for name in FLOODS if name != "PING"),
    ],
)
def test_a_flood_drowns_nobody(calm: ServerFake, name: str, reads: bool) -> None:
    """Not the client beside it, nor the memory; where it is answered, nor the flood itself that does not read."""
    flood = [b"".join(FLOODS[name](number) for number in range(start, start + 500)) for start in range(0, 15_000, 500)]
    stop = time.monotonic() + 0.1
    with Raw2(calm.url) as peer, Raw(calm.url) as other:
        peer.ask(1, end=False)
        peer.until(lambda: peer.h2.remote_settings.initial_window_size > 65_535)
        peer.socket.settimeout(0.001)
        tracemalloc.start()
        try:
            for part in flood:
                if time.monotonic() > stop:
                    break
                try:
                    peer.send(part)
                    if reads:
                        drain(peer.socket)
                except (TimeoutError, ConnectionError):
                    break  # the server does not read, for it has as much to say as it holds; or it has had enough
                assert other.ask(calm.url).status == 200
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 6_000_000
        assert other.ask(calm.url).status == 200


@pytest.mark.parametrize("name", ["PING", "SETTINGS", "chunks"])
def test_a_flood_is_ended_before_it_stalls_anybody(server: ConverseServer, name: str) -> None:
    """200,000 at once: as much as takes seconds to read."""
    chunks = name == "chunks"
    part = 20_000 * (b"1\r\na\r\n" if chunks else FLOODS[name](1))
    with server.script() as fake, Raw(fake.url) as other, (Raw if chunks else Raw2)(fake.url) as peer:
        fake.always(reply.text("fine"))
        other.ask(fake.url)
        if chunks:
            peer.send(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")

        def pour() -> None:
            with suppress(OSError):  # the server answers, and closes
                for _ in range(10):
                    peer.send(part)

        flooding = threading.Thread(target=pour)
        flooding.start()
        while flooding.is_alive():
            assert other.ask(fake.url).status == 200
        flooding.join()
        assert other.ask(fake.url).status == 200
        if isinstance(peer, Raw):
            assert peer.answer().status == 400
        else:
            assert peer.until(lambda: peer.goaway is not None).goaway == ErrorCodes.ENHANCE_YOUR_CALM


def test_a_client_that_asks_and_does_not_read_is_not_heard_any_more() -> None:
    part = 500 * frames(PingFrame(0, opaque_data=b"12345678"))
    with (
        ConverseServer(limits=Limits(empty=10**9)) as server,
        server.script(reply.text("fine")) as fake,
        Raw2(fake.url, buffer=4096) as peer,
    ):
        eventually(lambda: server._thread.connections)
        [connection] = server._thread.connections
        accepted: Any = connection._transport.get_extra_info("socket")
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        peer.socket.settimeout(0.3)
        sent = 0
        with suppress(TimeoutError):  # it reads no more, as it should
            while sent < 2_000_000:
                sent += peer.socket.send(part)
        assert sent < 2_000_000, "the server reads for ever"
        peer.socket.settimeout(PATIENCE)
        answered = 0
        while answered < sent - len(part):
            answered += len(peer.socket.recv(65_536))
        with Raw(fake.url) as other:
            assert other.ask(fake.url).status == 200


@pytest.mark.parametrize("count", [2, 200])
def test_requests_that_come_before_their_turn_are_read_when_it_comes(count: int, small: ConverseServer) -> None:
    """As many as the limit allows; the rest waits with the client, and none is lost. What comes later is read too."""
    go = threading.Event()

    def wait(call: Call) -> Reply:
        assert go.wait(PATIENCE)
        return reply.text("first")

    body = BODY.replace(b"hello", b"hello" * 1_000)  # two are above the limit; of 200 an event loop reads a quarter
    with small.script(wait) as fake, Raw(fake.url) as peer:
        fake.always(reply.text("later"))
        sent = question(fake.url, "converse", body)
        sending = threading.Thread(target=peer.send, args=(sent, count * sent))
        sending.start()
        eventually(lambda: fake.calls.all)
        [connection] = small._thread.connections
        eventually(lambda: connection.http.backlog > SMALL.ahead)
        eventually(lambda: not connection._transport.is_reading())
        go.set()
        answers = [peer.answer() for _ in range(count + 1)]
        sending.join(PATIENCE)
        peer.send(sent)
        answers.append(peer.answer())
        texts = [each.json["output"]["message"]["content"][0]["text"] for each in answers]
        assert texts == ["first", *["later"] * (count + 1)]


def drain(peer: socket.socket) -> None:
    """Read what is there."""
    try:
        while peer.recv(1 << 20):
            pass
    except TimeoutError:
        return


def test_a_flood_of_resets_reaches_no_script(fake: ServerFake) -> None:
    with Raw2(fake.url) as peer:
        for stream in range(1, 201, 2):
            peer.ask(stream, url=fake.url, flush=False)
            peer.h2.reset_stream(stream)
        peer.flush()
        assert peer.is_closed()
    assert fake.calls.all == []


def test_a_window_of_nothing_holds_up_nobody_else(server: ConverseServer) -> None:
    with (
        server.script(reply.text("fine"), reply.text("later"), unused="allow") as fake,
        Raw2(fake.url, INITIAL_WINDOW_SIZE=0) as peer,
        Raw(fake.url) as other,
    ):
        peer.ask(1)
        peer.until(lambda: 1 in peer.status)
        assert other.ask(fake.url).status == 200
        assert peer.frames[1] == []
        assert fake.calls.all[0].events == ()
        peer.h2.increment_flow_control_window(1_000_000, 1)
        peer.flush()
        assert b"fine" in peer.answer(1)
        assert len(fake.calls.all[0].events) == len(peer.frames[1])


def test_what_is_unexpected_fails_the_test_and_not_the_server(server: ConverseServer) -> None:
    fake = server.script()
    with Raw(fake.url) as peer:
        assert peer.ask(fake.url).error[:2] == (400, "ValidationException")
        assert b"UnknownOperationException" in peer.send(question(fake.url, "nonsense")).answer().body
    fake.close()
    with pytest.raises(UnexpectedCall):
        fake.check()
    eventually(lambda: fake.calls.all[1].outcome == "complete")
