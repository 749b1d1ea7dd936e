"""Whatever bytes in whatever cuts: both protocols raise nothing, keep their limits, and read what is sound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
from h2.config import H2Configuration
from h2.connection import H2Connection
from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from hypothesis import event, given, settings

from converse_harness.server.http.h2 import Http2
from converse_harness.stream.http import Chunk, HttpResponse, Request, error_response, json_response, stream_response
from converse_harness.stream.http1 import Http1
from converse_harness.stream.http_protocol import PREFACE, Arrived, Event, HttpRefused, Left, Limits
from tests.profiles import examples

LIMITS = Limits(head=500, body=1_000, ahead=2_000, streams=5, resets=5)

often = settings(max_examples=examples(2.5))

RESPONSES: Sequence[HttpResponse] = (
    stream_response([Chunk(b"one"), Chunk(b""), Chunk(bytes(30))], "id"),
    json_response(b'{"a": 1}', "id"),
    error_response("ThrottlingException", 429, b"{}", "id"),
)


class Server:
    """What a connection does with a protocol, and that it keeps its promises."""

    def __init__(self, http: Http1 | Http2, response: HttpResponse, patience: int) -> None:
        self.http = http
        self.response = response
        self.patience = patience
        """How many inputs an answer takes; the client of a real one does not wait for it either."""
        self.waiting: list[tuple[int, HttpResponse]] = []
        self.seen: list[Event] = []
        self.sent = 0

    def receive(self, data: bytes) -> None:
        """Take one input and answer what has waited long enough."""
        over = self.http.done
        events = self.http.receive(data)
        assert not (over and events), "nothing comes after the end"
        self._see(events)
        while len(self.waiting) > self.patience:
            self._answer(*self.waiting.pop(0))
        self.sent += len(self.http.take())
        assert self.http.backlog <= LIMITS.ahead + len(data)

    def end(self) -> None:
        """The input is over: silence, then the end."""
        while self.waiting:
            self._answer(*self.waiting.pop(0))
        if self.http.mid_request:
            self._see(self.http.time_out())
        while self.waiting:
            self._answer(*self.waiting.pop(0))
        self._see(self.http.receive(b""))
        self.sent += len(self.http.take())
        assert self.http.done or self.waiting

    def _see(self, events: list[Event]) -> None:
        for each in events:
            self.seen.append(each)
            match each:
                case Arrived(stream, request):
                    assert len(request.body) <= LIMITS.body
                    self.waiting.append((stream, self.response))
                case HttpRefused(stream, response):
                    self.waiting.append((stream, response))
                case Left(stream):
                    self.waiting = [item for item in self.waiting if item[0] != stream]

    def _answer(self, stream: int, response: HttpResponse) -> None:
        self.http.head(stream, response, "now")
        for chunk in response.chunks:
            left = chunk.data
            while left and (room := self.http.room(stream)) > 0:
                self.http.body(stream, left[:room])
                left = left[room:]
        self._see(self.http.end(stream))

    @property
    def requests(self) -> list[Request]:
        """The requests that arrived."""
        return [each.request for each in self.seen if isinstance(each, Arrived)]


def cut(data: st.DataObject, whole: bytes, at_most: int = 12) -> list[bytes]:
    """Pieces of an input, where hypothesis likes them."""
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=at_most).map(sorted), label="cuts")
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]


def feed(data: st.DataObject, make: Callable[[Limits], Http1 | Http2], parts: Sequence[bytes]) -> Server:
    """A server that was given everything."""
    server = Server(make(LIMITS), data.draw(st.sampled_from(RESPONSES)), data.draw(st.integers(0, 3), label="patience"))
    for part in parts:
        if part:
            server.receive(part)
    server.end()
    kinds = {type(each).__name__ for each in server.seen}
    event(" and ".join(sorted(kinds)) or "nothing")
    return server


# HTTP/1.1

TOKENS = st.sampled_from(
    [
        *(b"GET", b"POST", b"HEAD", b"CONNECT", b"OPTIONS", b" ", b"/", b"*", b"/x?y=z", b"http://h/x", b"HTTP/1.1"),
        *(b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9.9", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b":", b"Host: h", b"Host:"),
        *(b"Content-Length: 3", b"Content-Length: 3, 3", b"Content-Length: -1", b"Content-Length: 99999999999999"),
        *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Connection: close", b"Connection: keep-alive"),
        *(b"Expect: 100-continue", b"Upgrade: h2c", b"X: " + bytes(range(33, 256)), b" folded", b"abc", b"0\r\n\r\n"),
        *(b"3\r\nabc\r\n", b"3;x=y\r\nabc\r\n", b"fffffffff\r\n", b"X: y\r\n" * 40, PREFACE, PREFACE[:10]),
    ]
)
SOUP = st.lists(TOKENS | st.binary(max_size=20), max_size=40).map(b"".join)


@st.composite
def sound_requests(draw: st.DrawFn) -> tuple[bytes, Request]:
    """A request of HTTP/1.1 as it may be sent, and as it must arrive."""
    method = draw(st.sampled_from(["GET", "POST", "PUT", "HEAD", "DELETE", "X-OWN"]))
    target = "/" + draw(st.text(st.sampled_from("ax0/%3A?&=.~-_:@"), max_size=30))
    names = st.text(st.sampled_from("abcXYZ-_09"), min_size=1, max_size=8).map("X{}".format)
    values = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_characters="\x7f\x85\xa0"), max_size=12)
    headers = [("Host", "h"), *draw(st.lists(st.tuples(names, values), max_size=4))]
    body = draw(st.binary(max_size=60))
    if draw(st.booleans()):
        headers.append(("Transfer-Encoding", "chunked"))
        places = sorted(draw(st.lists(st.integers(0, len(body)), max_size=3)))
        parts = [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
        written = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part) + b"0\r\n\r\n"
    else:
        headers.append(("Content-Length", str(len(body))))
        written = body
    if draw(st.booleans()):
        headers.append(("Expect", "100-continue"))
    head = "".join(f"{name}:{draw(st.sampled_from(['', ' ', '  ']))}{value}\r\n" for name, value in headers)
    sent = f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + written
    return sent, Request(method, target, tuple(headers), body)


@often
@given(st.data())
def test_http_1_reads_anything(data: st.DataObject) -> None:
    feed(data, Http1, cut(data, data.draw(SOUP, label="input")))


@often
@given(st.data(), st.lists(sound_requests(), min_size=1, max_size=4))
def test_http_1_reads_what_is_sound_however_it_is_cut(
    data: st.DataObject, requests: list[tuple[bytes, Request]]
) -> None:
    server = feed(data, Http1, cut(data, b"".join(sent for sent, _ in requests)))
    assert server.requests == [request for _, request in requests]
    assert server.sent > 0


@often
@given(st.data(), st.lists(sound_requests(), min_size=1, max_size=3))
def test_http_1_survives_damage(data: st.DataObject, requests: list[tuple[bytes, Request]]) -> None:
    whole = bytearray(b"".join(sent for sent, _ in requests))
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(whole) - 1))
        end = place + data.draw(st.integers(0, 3))
        whole[place:end] = data.draw(st.binary(max_size=4) | TOKENS)
        whole = whole or bytearray(b"x")
    feed(data, Http1, cut(data, bytes(whole)))


# HTTP/2


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[bytes], list[tuple[str, bytes]]]:
    """What a client of the library h2 sends for some calls, by steps, and what must arrive of each."""
    client = H2Connection(H2Configuration())
    client.initiate_connection()
    steps = [client.data_to_send() or b""]
    expected: list[tuple[str, bytes]] = []
    open_ones: dict[int, bytes] = {}
    for number in range(draw(st.integers(1, 4))):
        stream, path = 2 * number + 1, "/" + draw(st.text(st.sampled_from("ax/%3A"), max_size=20))
        pseudo = [(":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", path)]
        client.send_headers(stream, [*pseudo, ("x-name", draw(st.text(st.sampled_from("abc "), max_size=9)).strip())])
        open_ones[stream] = draw(st.binary(max_size=80))
        expected.append((path, open_ones[stream]))
    order = draw(st.permutations([stream for stream in open_ones for _ in range(3)]))
    for stream in order:
        part = draw(st.integers(0, len(open_ones[stream])))
        client.send_data(stream, open_ones[stream][:part], pad_length=draw(st.none() | st.integers(0, 20)))
        open_ones[stream] = open_ones[stream][part:]
        if draw(st.booleans()):
            client.ping(b"12345678")
        steps.append(client.data_to_send() or b"")
    for stream, rest in open_ones.items():
        client.send_data(stream, rest, end_stream=True)
    steps.append(client.data_to_send() or b"")
    return steps, expected


HEADS = [
    [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"h"), (b":path", b"/x")],
    [(b":method", b"HEAD"), (b":scheme", b"http"), (b":authority", b"h"), (b":path", b"/x")],
    [(b":method", b"CONNECT"), (b":authority", b"h")],
    [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"h"), (b":path", b"/x"), (b"content-length", b"3")],
    [
        *[(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"h"), (b":path", b"/x")],
        *[(b"content-length", b"999999"), (b"expect", b"100-continue")],
    ],
    [(b"trailer", b"x")],
    [(b":status", b"200")],
    [(b"Upper", b"x"), (b"", b""), (b":path", b"")],
    [(b"x", 600 * b"y")],
]
BLOCKS = st.sampled_from([Encoder().encode(head) for head in HEADS]) | st.binary(max_size=20)
STREAMS = st.sampled_from([0, 1, 1, 1, 3, 3, 5, 7, 2, 2**31 - 1])
CODES = st.sampled_from([0, 1, 8, 2**32 - 1])


def flags(*names: str) -> st.SearchStrategy[list[str]]:
    """Some of the flags."""
    return st.lists(st.sampled_from(names), unique=True)


KINDS: Sequence[tuple[type[Frame], dict[str, st.SearchStrategy[Any]]]] = (
    (HeadersFrame, {"data": BLOCKS, "flags": flags("END_STREAM", "END_HEADERS", "PRIORITY", "PADDED")}),
    (HeadersFrame, {"data": BLOCKS, "flags": st.just(["END_STREAM", "END_HEADERS"])}),
    (HeadersFrame, {"data": BLOCKS, "flags": st.just(["END_HEADERS"])}),
    (ContinuationFrame, {"data": BLOCKS, "flags": flags("END_HEADERS")}),
    (DataFrame, {"data": st.binary(max_size=9) | st.just(bytes(600)), "flags": flags("END_STREAM", "PADDED")}),
    (RstStreamFrame, {"error_code": CODES}),
    (PriorityFrame, {"depends_on": STREAMS, "stream_weight": st.integers(0, 255), "exclusive": st.booleans()}),
    (WindowUpdateFrame, {"window_increment": st.sampled_from([1, 100, 2**31 - 1])}),
    (PingFrame, {"opaque_data": st.binary(max_size=8), "flags": flags("ACK")}),
    (GoAwayFrame, {"last_stream_id": STREAMS, "error_code": CODES}),
    (
        SettingsFrame,
        {
            "settings": st.dictionaries(
                st.integers(0, 9), st.sampled_from([0, 1, 100, 16_384, 65_535, 2**31 - 1, 2**32 - 1]), max_size=3
            ),
            "flags": flags("ACK"),
        },
    ),
)


ON_STREAMS = (HeadersFrame, ContinuationFrame, DataFrame, RstStreamFrame, PriorityFrame, WindowUpdateFrame)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A frame of any kind, sound or nearly, as it is sent."""
    kind, fields = draw(st.sampled_from(KINDS))
    chosen = {name: draw(value) for name, value in fields.items()}
    names = chosen.pop("flags", [])
    frame = kind(1 if kind in ON_STREAMS else 0, **chosen)
    for name in names:
        frame.flags.add(name)
    sent: bytes = frame.serialize()
    return sent[:5] + draw(STREAMS).to_bytes(4, "big") + sent[9:]


@st.composite
def conversations(draw: st.DrawFn) -> bytes:
    """Frames of which nearly all are sound where they stand."""
    encoder = Encoder()
    sent = [SettingsFrame(0).serialize()]
    open_ones: list[int] = []
    newest = -1
    for _ in range(draw(st.integers(1, 25))):
        what = draw(st.sampled_from(["head", "head", "data", "data", "reset", "window", "control", "wild", "goaway"]))
        if what == "head" or (what in ("data", "reset", "window") and not open_ones):
            newest += 2
            end = draw(st.booleans())
            head = HeadersFrame(newest, data=encoder.encode(draw(st.sampled_from(HEADS[:5]))), flags=["END_HEADERS"])
            if end:
                head.flags.add("END_STREAM")
            else:
                open_ones.append(newest)
            sent.append(head.serialize())
        elif what == "data":
            stream = draw(st.sampled_from(open_ones))
            body = draw(st.sampled_from([b"", b"abc", bytes(600), bytes(1100)]))
            last = draw(st.booleans())
            if last:
                open_ones.remove(stream)
            sent.append(DataFrame(stream, data=body, flags=["END_STREAM"] if last else []).serialize())
        elif what == "reset":
            stream = draw(st.sampled_from(open_ones))
            open_ones.remove(stream)
            sent.append(RstStreamFrame(stream, error_code=draw(CODES)).serialize())
        elif what == "window":
            increment = draw(st.integers(1, 2**16))
            sent.append(
                WindowUpdateFrame(draw(st.sampled_from([0, *open_ones])), window_increment=increment).serialize()
            )
        elif what == "control":
            size = draw(st.sampled_from([0, 1, 10, 65_535, 2**20]))
            setting = SettingsFrame(0, settings={SettingsFrame.INITIAL_WINDOW_SIZE: size})
            sent.append(draw(st.sampled_from([setting, PingFrame(0, opaque_data=b"12345678")])).serialize())
        elif what == "goaway":
            sent.append(GoAwayFrame(0).serialize() if draw(st.integers(0, 9)) == 0 else b"")
        elif draw(st.integers(0, 3)) == 0:
            sent.append(draw(frames()))
    return b"".join(sent)


def make_http_2(limits: Limits) -> Http1 | Http2:
    return Http2(limits)


@often
@given(st.data())
def test_http_2_reads_anything(data: st.DataObject) -> None:
    start = data.draw(st.sampled_from([b"", PREFACE, PREFACE + SettingsFrame(0).serialize()]), label="start")
    feed(data, make_http_2, cut(data, start + data.draw(st.binary(max_size=200), label="input")))


@often
@given(st.data(), calls())
def test_http_2_reads_what_is_sound_however_it_is_cut(
    data: st.DataObject, given_calls: tuple[list[bytes], list[tuple[str, bytes]]]
) -> None:
    steps, expected = given_calls
    server = feed(data, make_http_2, cut(data, b"".join(steps)))
    assert [(request.target, request.body) for request in server.requests] == expected
    assert {request.method for request in server.requests} == {"POST"}


@often
@given(st.data(), conversations() | st.lists(frames(), max_size=9).map(b"".join))
def test_http_2_survives_any_frames(data: st.DataObject, sent: bytes) -> None:
    feed(data, make_http_2, cut(data, PREFACE + sent))


@often
@given(st.data(), calls())
def test_http_2_survives_frames_in_between_and_damage(
    data: st.DataObject, given_calls: tuple[list[bytes], list[tuple[str, bytes]]]
) -> None:
    steps = list(given_calls[0])
    for _ in range(data.draw(st.integers(1, 4))):
        steps.insert(data.draw(st.integers(1, len(steps))), data.draw(frames()))
    whole = bytearray(b"".join(steps))
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(len(PREFACE), len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    feed(data, make_http_2, cut(data, bytes(whole)))
