"""HTTP/1.1 without a socket: bytes in, events out; answers in, bytes out. h11 as client judges what is sent."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence

import h11
import pytest

from converse_harness.stream.http import (
    ERROR_HEADERS,
    JSON_HEADERS,
    STREAM_HEADERS,
    Chunk,
    HttpResponse,
    Request,
    error_response,
    json_response,
    stream_response,
)
from converse_harness.stream.http1 import Http1
from converse_harness.stream.http_protocol import Arrived, Event, HttpRefused, Limits

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
TARGET = "/fake-1/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/converse"
PIECES = (b"first frame", b"second", b"\x00third\r\n")
STREAM = stream_response([Chunk(piece) for piece in PIECES], "id")
JSON = json_response(b'{"a": 1}', "id")


def whole(method: str = "POST", body: bytes = b'{"x": 1}', headers: str = "", target: str = TARGET) -> bytes:
    """A request with the length of its body."""
    return f"{method} {target} HTTP/1.1\r\nHost: h\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


CHUNKED = (
    b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'3;name="value"\r\n{"x\r\n5\r\n": 1}\r\n0\r\nTrailer: ignored\r\n\r\n'
)


def feed(http: Http1, *parts: bytes) -> list[Event]:
    """Everything that parts of the input, one after the other, lead to."""
    return [event for part in parts for event in http.receive(part)]


def cut(data: bytes, size: int) -> list[bytes]:
    """Pieces of at most that size."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def only(events: Sequence[Event]) -> Request:
    """The request of the one event that there is."""
    [event] = events
    assert isinstance(event, Arrived), event
    return event.request


def answer(http: Http1, response: HttpResponse, stream: int = 1) -> list[Event]:
    """Give a whole answer; what arrived meanwhile."""
    http.head(stream, response, DATE)
    for chunk in response.chunks:
        assert http.room(stream) > len(chunk.data)
        http.body(stream, chunk.data)
    return http.end(stream)


def read(sent: bytes, method: str = "POST") -> tuple[h11.Response, list[bytes], bytes]:
    """The answer as h11 reads it: head, the body by chunks, and what is left."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/x", headers=[("Host", "h"), ("Content-Length", "0")]))
    client.send(h11.EndOfMessage())
    client.receive_data(sent)
    head: h11.Response | None = None
    chunks: list[bytes] = []
    started = True
    while True:
        event = client.next_event()
        match event:
            case h11.InformationalResponse():
                continue
            case h11.Response():
                head = event
            case h11.Data():
                if event.chunk_start or started:
                    chunks.append(b"")
                chunks[-1] += bytes(event.data)
                started = event.chunk_end
            case h11.EndOfMessage():
                break
            case _:
                assert event is h11.NEED_DATA
                client.receive_data(b"")
    assert head is not None
    return head, chunks, client.trailing_data[0]


def refused(http: Http1, events: Sequence[Event]) -> tuple[int, str, str]:
    """Status, name and message of a refusal, which is also the last that is said."""
    [event] = events
    assert isinstance(event, HttpRefused), event
    assert answer(http, event.response, event.stream) == []
    assert http.done
    head, chunks, _ = read(http.take())
    headers = dict(head.headers)
    assert headers[b"connection"] == b"close"
    return (
        head.status_code,
        headers[b"x-amzn-errortype"].decode().partition(":")[0],
        json.loads(b"".join(chunks))["message"],
    )


# Requests


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("sent", [whole(), CHUNKED], ids=["length", "chunked"])
def test_a_request_is_one_event_however_it_is_cut(sent: bytes, size: int) -> None:
    http = Http1()
    *before, last = cut(sent, size)
    assert feed(http, *before) == []
    assert http.mid_request or not before
    request = only(http.receive(last))
    assert (request.method, request.body) == ("POST", b'{"x": 1}')
    assert not http.mid_request
    assert http.take() == b""


def test_what_arrives_is_what_was_sent() -> None:
    sent = whole(headers="X-Amz-Date: now\r\namz-sdk-request: attempt=1\r\nX-Amz-Date: again\r\n")
    request = only(Http1().receive(sent))
    assert request == Request(
        "POST",
        TARGET,
        (
            ("Host", "h"),
            ("X-Amz-Date", "now"),
            ("amz-sdk-request", "attempt=1"),
            ("X-Amz-Date", "again"),
            ("Content-Length", "8"),
        ),
        b'{"x": 1}',
    )


@pytest.mark.parametrize(
    ("target", "arrives"),
    [
        ("http://127.0.0.1:8000/model/a%2Fb%3A0/converse?x=%20", "/model/a%2Fb%3A0/converse?x=%20"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "/"),
        ("/model/http://x/converse", "/model/http://x/converse"),
        ("*", "*"),
    ],
)
def test_a_whole_url_as_target_is_as_good_as_its_path(target: str, arrives: str) -> None:
    assert only(Http1().receive(whole(target=target))).target == arrives


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        ("http://evil.example/__converse/fakes", "evil.example", "/__converse/fakes"),
        ("HTTP://h@evil.example:8000?x=1", "h@evil.example:8000", "/?x=1"),
        ("http:///x", "h", "/x"),
        ("/http://evil.example/", "h", "/http://evil.example/"),
        ("*", "h", "*"),
    ],
)
def test_the_host_of_a_whole_url_counts_more_than_the_header(target: str, host: str, path: str) -> None:
    request = only(Http1().receive(whole(target=target)))
    assert ([value for name, value in request.headers if name == "Host"], request.target) == ([host], path)


def test_the_host_of_a_whole_url_is_there_without_the_header() -> None:
    sent = whole(target="http://evil.example/x").replace(b"HTTP/1.1\r\nHost: h", b"HTTP/1.0\r\nX: y")
    assert only(Http1().receive(sent)).headers[0] == ("Host", "evil.example")


def test_a_client_that_waits_for_permission_gets_it() -> None:
    http = Http1()
    head, body = whole(headers="Expect: 100-continue\r\n").split(b"{")
    assert http.receive(head) == []
    assert http.take() == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert only(http.receive(b"{" + body)).body == b'{"x": 1}'
    assert answer(http, JSON) == []
    assert http.take().startswith(b"HTTP/1.1 200 OK\r\n")


# Answers


@pytest.mark.parametrize(
    ("response", "names"),
    [
        (STREAM, STREAM_HEADERS),
        (JSON, JSON_HEADERS),
        (error_response("ThrottlingException", 429, b"{}", "id"), ERROR_HEADERS),
    ],
    ids=["stream", "json", "error"],
)
def test_headers_are_in_recorded_order_and_case_after_the_date(response: HttpResponse, names: tuple[str, ...]) -> None:
    http = Http1()
    http.receive(whole())
    answer(http, response)
    lines = http.take().partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert [line.partition(":")[0] for line in lines[1:]] == ["Date", *names]
    assert lines[1] == f"Date: {DATE}"
    assert "Connection: keep-alive" in lines


def test_each_part_of_a_stream_is_one_chunk() -> None:
    http = Http1()
    http.receive(whole())
    assert answer(http, STREAM) == []
    head, chunks, rest = read(http.take())
    assert (head.status_code, tuple(chunks), rest) == (200, PIECES, b"")
    assert not http.done


def test_an_empty_part_does_not_end_the_stream() -> None:
    http = Http1()
    http.receive(whole())
    answer(http, stream_response([Chunk(b"a"), Chunk(b""), Chunk(b"b")], "id"))
    assert read(http.take())[1] == [b"a", b"b"]


@pytest.mark.parametrize("response", [STREAM, JSON], ids=["stream", "json"])
def test_the_answer_to_head_has_no_body(response: HttpResponse) -> None:
    http = Http1()
    http.receive(whole("HEAD", b"") + whole())
    [event] = answer(http, response)
    sent = http.take()
    assert sent.endswith(b"\r\n\r\n")
    assert read(sent, "HEAD")[1:] == ([], b"")
    assert isinstance(event, Arrived)
    answer(http, JSON, 2)
    assert read(http.take())[1] == [b'{"a": 1}']


@pytest.mark.parametrize(
    "sent",
    [
        whole().replace(b"HTTP/1.1", b"HTTP/1.0"),
        whole().replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: h", b"Connection: keep-alive"),
        whole(headers="Connection: close\r\n"),
        whole(headers="connection: TE, Close\r\n"),
    ],
    ids=["1.0", "1.0 keep-alive", "close", "list"],
)
def test_a_client_that_does_not_keep_the_connection_has_its_end_for_the_end_of_the_body(sent: bytes) -> None:
    http = Http1()
    only(http.receive(sent))
    assert answer(http, STREAM) == []
    assert http.done
    said = http.take()
    head, body = said.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Transfer-Encoding" not in head
    assert b"Connection: close" in head
    assert body == b"".join(PIECES)
    assert http.receive(whole()) == []


def test_a_status_without_a_name_is_sent_as_it_is() -> None:
    http = Http1()
    http.receive(whole())
    answer(http, error_response("OverloadedException", 529, b"{}", "id"))
    sent = http.take()
    assert sent.startswith(b"HTTP/1.1 529 \r\n")
    assert read(sent)[0].status_code == 529


# One after the other


def test_requests_one_after_the_other_have_numbers_of_their_own() -> None:
    http = Http1()
    for number in (1, 2, 3):
        [event] = http.receive(whole(body=b"%d" % number))
        assert isinstance(event, Arrived)
        assert (event.stream, event.request.body) == (number, b"%d" % number)
        assert answer(http, JSON, number) == []
        assert read(http.take())[2] == b""


def test_requests_that_come_before_their_turn_wait() -> None:
    http = Http1()
    bodies = [b"1", b"22", b"333"]
    events = http.receive(b"".join(whole(body=body) for body in bodies))
    seen: list[bytes] = []
    while events:
        seen.append(only(events).body)
        waiting = http.backlog
        assert waiting == sum(len(whole(body=body)) for body in bodies[len(seen) :])
        assert not http.mid_request
        events = answer(http, STREAM, len(seen))
    assert seen == bodies
    sent = http.take()
    for _ in bodies:
        _, chunks, sent = read(sent)
        assert tuple(chunks) == PIECES
    assert sent == b""


def test_what_comes_after_the_last_request_is_not_read() -> None:
    http = Http1()
    only(http.receive(whole(headers="Connection: close\r\n") + whole()))
    assert answer(http, JSON) == []
    assert http.done


def test_a_wish_for_another_protocol_is_ignored() -> None:
    http = Http1()
    only(http.receive(whole(headers="Connection: Upgrade\r\nUpgrade: h2c\r\n") + whole()))
    [event] = answer(http, JSON)
    assert isinstance(event, Arrived)


def test_a_client_that_takes_us_for_a_proxy_is_answered_and_let_go() -> None:
    http = Http1()
    only(http.receive(whole("CONNECT", b"", target="bedrock-runtime.us-east-1.amazonaws.com:443")))
    assert answer(http, error_response("UnknownOperationException", 404, b"{}", "id")) == []
    assert http.take().startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert http.done


# Refusals


@pytest.mark.parametrize(
    ("sent", "status", "name", "says"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "BadRequestException", "illegal request line"),
        (b"GET /x\r\n\r\n", 400, "BadRequestException", "illegal request line"),
        (b"GET /x HTTP/1.1\r\nHost: h\r\nbad line\r\n\r\n", 400, "BadRequestException", "illegal header line"),
        (b"GET /x HTTP/1.1\r\n\r\n", 400, "BadRequestException", "Host"),
        (whole().replace(b": 8", b": eight"), 400, "BadRequestException", "Content-Length"),
        (whole(headers="Content-Length: 7\r\n"), 400, "BadRequestException", "Content-Length"),
        (CHUNKED.replace(b"chunked", b"gzip"), 400, "BadRequestException", "Transfer-Encoding"),
        (CHUNKED.replace(b"5\r\n", b"five\r\n"), 400, "BadRequestException", "illegal chunk header"),
        (b"GET /" + 300 * b"x", 431, "RequestHeaderSectionTooLargeException", "200 bytes"),
        (
            b"GET / HTTP/1.1\r\nHost: h\r\nLong: " + 300 * b"x" + b"\r\n\r\n",
            431,
            "RequestHeaderSectionTooLargeException",
            "200 bytes",
        ),
        (
            b"GET /" + 150 * b"x" + b" HTTP/1.1\r\nHost: h\r\nLong: " + 100 * b"x" + b"\r\n\r\n",
            431,
            "RequestHeaderSectionTooLargeException",
            "200 bytes",
        ),
        (CHUNKED[:-2] + b"Trailer: " + 300 * b"x", 431, "RequestHeaderSectionTooLargeException", "200 bytes"),
        (whole(target="/", body=51 * b"x"), 413, "RequestEntityTooLargeException", "50 bytes"),
        (whole(target="/", body=51 * b"x")[:-51], 413, "RequestEntityTooLargeException", "50 bytes"),
        (
            CHUNKED.partition(b"3;")[0] + 6 * b"9\r\n123456789\r\n",
            413,
            "RequestEntityTooLargeException",
            "50 bytes",
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_what_cannot_be_taken_is_refused_in_the_shape_of_aws(
    sent: bytes, status: int, name: str, says: str, size: int
) -> None:
    http = Http1(Limits(head=200, body=50))
    events: list[Event] = []
    for part in cut(sent, size):
        events += http.receive(part)
        if events:
            break
    found = refused(http, events)
    assert found[:2] == (status, name)
    assert says.lower() in found[2].lower()
    assert http.receive(sent) == []


def test_nobody_is_told_to_go_on_with_a_body_that_is_too_long() -> None:
    http = Http1(Limits(body=50))
    events = http.receive(whole(headers="Expect: 100-continue\r\n", body=51 * b"x")[:-51])
    assert refused(http, events)[0] == 413


def test_a_refusal_after_head_has_its_body() -> None:
    http = Http1()
    http.receive(whole("HEAD", b""))
    answer(http, JSON)
    http.take()
    assert refused(http, http.receive(b"\x00"))[0] == 400


def test_silence_in_the_middle_of_a_request_is_refused() -> None:
    http = Http1(Limits(silence=1.5))
    http.receive(whole()[:-1])
    assert http.mid_request
    status, name, message = refused(http, http.time_out())
    assert (status, name) == (408, "RequestTimeoutException")
    assert "1.5 s" in message


def test_the_end_of_the_input_ends_the_connection() -> None:
    http = Http1()
    assert http.receive(b"") == []
    assert http.done
    assert http.receive(whole()) == []


def test_a_reset_in_the_middle_of_an_answer_ends_the_connection() -> None:
    http = Http1()
    feed(http, whole())
    http.head(1, STREAM, DATE)
    assert (http.reset(1), http.done, http.room(1), feed(http, whole())) == (False, True, -1, [])


def test_the_end_of_the_input_in_the_middle_of_an_answer_ends_the_connection() -> None:
    http = Http1()
    http.receive(whole())
    http.receive(b"")
    assert http.receive(b"more") == []
    assert http.done
    assert http.room(1) < 0


# Floods


@pytest.mark.parametrize("size", [1, 2, 32])
def test_a_body_of_tiny_chunks_is_refused_and_not_read_to_its_end(size: int) -> None:
    http = Http1(Limits(empty=20))
    http.receive(CHUNKED.partition(b"3;")[0])
    chunk = b"%x\r\n%b\r\n" % (size, b"a" * size)
    assert http.receive(20 * chunk) == []
    [refused] = http.receive(1_000 * chunk)
    assert isinstance(refused, HttpRefused)
    assert refused.response.status == 400
    assert b"in more than 20 chunks of less than 64 bytes; send larger" in b"".join(
        chunk.data for chunk in refused.response.chunks
    )
    http.head(refused.stream, refused.response, DATE)
    http.end(refused.stream)
    assert (http.done, http.unread) == (True, True)


def test_each_request_may_have_small_chunks_and_any_number_of_larger_ones() -> None:
    http = Http1(Limits(empty=20))
    head = CHUNKED.partition(b"3;")[0]
    for _ in range(5):
        http.receive(head)
        large = 500 * (b"40\r\n" + b"a" * 64 + b"\r\n")
        arrived = only(http.receive(20 * b"1\r\na\r\n" + large + b"0\r\n\r\n"))
        assert len(arrived.body) == 20 + 500 * 64
        http.head(http._stream, JSON, DATE)
        http.end(http._stream)


def test_an_empty_line_before_a_request_is_no_request() -> None:
    [refused] = Http1().receive(b"\r\n" * 100_000)
    assert isinstance(refused, HttpRefused)


# Memory


def test_a_body_of_tiny_chunks_takes_no_more_memory_than_it_is_long() -> None:
    http = Http1(Limits(empty=100_000))
    http.receive(CHUNKED.partition(b"3;")[0])
    part = 1_000 * b"2\r\nab\r\n"
    http.receive(part)
    tracemalloc.start()
    try:
        for _ in range(20):
            http.receive(part)
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now < 200_000  # 40 kB of body
    assert len(only(http.receive(b"0\r\n\r\n")).body) == 2 * 1_000 * 21
