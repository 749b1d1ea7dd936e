"""HTTP/2 without a socket: bytes in, events out; answers in, bytes out. h2 as client is the judge of what is sent."""

from __future__ import annotations

import json
import tracemalloc
from collections import defaultdict
from collections.abc import Sequence

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.settings import SettingCodes, Settings
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from converse_harness.server.http.h2 import Http2
from converse_harness.stream.http import (
    ERROR_HEADERS,
    JSON_HEADERS,
    STREAM_HEADERS,
    Chunk,
    HttpResponse,
    error_response,
    json_response,
    stream_response,
)
from converse_harness.stream.http_protocol import PREFACE, SMALL, Arrived, Event, HttpRefused, Left, Limits

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
PATH = "/fake-1/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/converse?x=%20"
PIECES = (b"first frame", b"second", b"\x00third\r\n")
STREAM = stream_response([Chunk(piece) for piece in PIECES], "id")
JSON = json_response(b'{"a": 1}', "id")


class Peer:
    """A client of the library h2 on the other end of an Http2, and everything that it was told."""

    def __init__(self, limits: Limits | None = None, **settings: int) -> None:
        self.http = Http2() if limits is None else Http2(limits)
        self.h2 = H2Connection(H2Configuration(header_encoding="utf-8"))
        initial = {SettingCodes[name]: value for name, value in settings.items()}
        self.h2.local_settings = Settings(client=True, initial_values=initial)
        self.h2.initiate_connection()
        self.heads: dict[int, list[tuple[str, str]]] = {}
        self.frames: dict[int, list[bytes]] = defaultdict(list)
        self.ended: set[int] = set()
        self.resets: dict[int, int] = {}
        self.goaway: int | None = None
        self.told_to_go_on: set[int] = set()
        self.generous = True
        """Whether the windows are opened again for what came."""

    def ask(self, stream: int, body: bytes = b"", *, method: str = "POST", end: bool = True, **headers: str) -> None:
        """Send a request."""
        pseudo = [(":method", method), (":scheme", "http"), (":authority", "h:1"), (":path", PATH)]
        fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.h2.send_headers(stream, [*pseudo, *fields], end_stream=end and not body)
        if body:
            self.h2.send_data(stream, body, end_stream=end)

    def exchange(self) -> list[Event]:
        """Bring what each side has to say to the other, until both are silent."""
        events: list[Event] = []
        while data := self.h2.data_to_send():
            events += self.http.receive(data)
            self.read(self.http.take())
        self.read(self.http.take())
        return events

    def read(self, data: bytes) -> None:
        """Take note of what the server sent."""
        for event in self.h2.receive_data(data):
            match event:
                case InformationalResponseReceived():
                    self.told_to_go_on.add(event.stream_id)
                case ResponseReceived():
                    self.heads[event.stream_id] = [(str(name), str(value)) for name, value in event.headers]
                case DataReceived():
                    self.frames[event.stream_id] += [event.data] if event.data else []
                    if self.generous and event.flow_controlled_length:
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case StreamEnded():
                    self.ended.add(event.stream_id)
                case StreamReset():
                    self.resets[event.stream_id] = event.error_code
                case ConnectionTerminated():
                    self.goaway = event.error_code
                case _:
                    pass

    def answer(self, stream: int, response: HttpResponse) -> list[Event]:
        """Give a whole answer, as far as the windows allow; what arrives meanwhile."""
        events: list[Event] = []
        self.http.head(stream, response, DATE)
        for chunk in response.chunks:
            left = chunk.data
            while left and (room := self.http.room(stream)) > 0:
                part, left = left[:room], left[room:]
                self.http.body(stream, part)
                events += self.exchange()
        self.http.end(stream)
        return events + self.exchange()

    def raw(self, *frames: Frame | bytes) -> list[Event]:
        """Send frames as they are."""
        data = b"".join(frame if isinstance(frame, bytes) else frame.serialize() for frame in frames)
        return self.http.receive(data)


def only(events: Sequence[Event]) -> Arrived:
    """The one event that there is, a request."""
    [event] = events
    assert isinstance(event, Arrived), event
    return event


# Requests


@pytest.mark.parametrize("size", [1, 2, 9, 1000])
def test_a_request_is_one_event_however_it_is_cut(size: int) -> None:
    peer = Peer()
    peer.ask(1, b'{"x": 1}', content_type="application/json", x_amz_date="now")
    sent = peer.h2.data_to_send()
    assert sent is not None
    *before, last = [sent[start : start + size] for start in range(0, len(sent), size)]
    for part in before:
        assert peer.http.receive(part) == []
    arrived = only(peer.http.receive(last))
    assert arrived.stream == 1
    assert arrived.request.method == "POST"
    assert arrived.request.target == PATH
    assert arrived.request.headers == (("host", "h:1"), ("content-type", "application/json"), ("x-amz-date", "now"))
    assert arrived.request.body == b'{"x": 1}'
    assert not peer.http.mid_request


def test_requests_do_not_wait_for_each_other() -> None:
    peer = Peer()
    for stream in (1, 3, 5):
        peer.ask(stream, b"%d" % stream)
    arrived = [event for event in peer.exchange() if isinstance(event, Arrived)]
    assert [(event.stream, event.request.body) for event in arrived] == [(1, b"1"), (3, b"3"), (5, b"5")]
    peer.answer(3, STREAM)
    peer.answer(1, JSON)
    assert peer.ended == {1, 3}
    assert tuple(peer.frames[3]) == PIECES
    assert peer.http.backlog == 0


def test_trailers_are_no_part_of_a_request() -> None:
    peer = Peer()
    peer.ask(1, b"x", end=False)
    peer.h2.send_headers(1, [("trailer", "ignored")], end_stream=True)
    arrived = only(peer.exchange())
    assert (arrived.request.body, arrived.request.headers) == (b"x", (("host", "h:1"),))


def test_a_body_of_25_mb_arrives() -> None:
    peer = Peer()
    peer.ask(1, end=False)
    events = peer.exchange()
    left = 25 * 1024 * 1024
    while left:
        size = min(left, peer.h2.local_flow_control_window(1), peer.h2.max_outbound_frame_size)
        left -= size
        peer.h2.send_data(1, bytes(size), end_stream=not left)
        events += peer.exchange()
    assert len(only(events).request.body) == 25 * 1024 * 1024


def test_a_client_that_waits_for_permission_gets_it() -> None:
    peer = Peer()
    peer.ask(1, end=False, expect="100-continue")
    assert peer.exchange() == []
    assert peer.told_to_go_on == {1}
    peer.h2.send_data(1, b"x", end_stream=True)
    assert only(peer.exchange()).request.body == b"x"
    peer.answer(1, JSON)
    assert peer.frames[1] == [b'{"a": 1}']


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
def test_headers_are_in_recorded_order_without_those_of_http_1(response: HttpResponse, names: tuple[str, ...]) -> None:
    peer = Peer()
    peer.ask(1)
    peer.exchange()
    peer.answer(1, response)
    kept = [name.lower() for name in names if name not in ("Connection", "Transfer-Encoding")]
    assert [name for name, _ in peer.heads[1]] == [":status", "date", *kept]
    assert peer.heads[1][:2] == [(":status", str(response.status)), ("date", DATE)]


def test_each_part_of_a_stream_is_one_frame() -> None:
    peer = Peer()
    peer.ask(1)
    peer.exchange()
    peer.answer(1, STREAM)
    assert tuple(peer.frames[1]) == PIECES
    assert peer.ended == {1}


def test_a_part_that_is_longer_than_a_frame_may_be_is_several() -> None:
    peer = Peer()
    peer.ask(1)
    peer.exchange()
    peer.answer(1, stream_response([Chunk(40_000 * b"x")], "id"))
    assert [len(frame) for frame in peer.frames[1]] == [16_384, 16_384, 40_000 - 2 * 16_384]


def test_the_answer_to_head_has_no_body() -> None:
    peer = Peer()
    peer.ask(1, method="HEAD")
    peer.exchange()
    peer.answer(1, JSON)
    assert ("content-length", "8") in peer.heads[1]
    assert peer.frames[1] == []
    assert peer.ended == {1}


def test_the_window_of_the_client_is_the_room_there_is() -> None:
    peer = Peer(INITIAL_WINDOW_SIZE=1)
    peer.generous = False
    peer.ask(1)
    peer.exchange()
    peer.http.head(1, STREAM, DATE)
    for byte in b"five!":
        assert peer.http.room(1) == 1
        peer.http.body(1, bytes([byte]))
        assert peer.http.room(1) == 0
        peer.exchange()
        peer.h2.increment_flow_control_window(1, 1)
        peer.exchange()
    assert b"".join(peer.frames[1]) == b"five!"


def test_a_window_may_become_less_than_nothing() -> None:
    peer = Peer(INITIAL_WINDOW_SIZE=10)
    peer.generous = False
    peer.ask(1)
    peer.exchange()
    peer.http.head(1, STREAM, DATE)
    peer.http.body(1, b"12345678")
    peer.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    assert peer.exchange() == []
    assert peer.http.room(1) <= 0
    assert not peer.http.done


# Leaving


def test_a_stream_that_the_client_resets_is_gone_and_the_others_are_not() -> None:
    peer = Peer()
    for stream in (1, 3):
        peer.ask(stream)
    peer.exchange()
    peer.http.head(1, STREAM, DATE)
    peer.exchange()
    peer.h2.reset_stream(1, ErrorCodes.CANCEL)
    assert peer.exchange() == [Left(1)]
    assert peer.http.room(1) < 0
    peer.http.head(1, STREAM, DATE)
    assert peer.http.end(1) == []
    peer.answer(3, STREAM)
    assert tuple(peer.frames[3]) == PIECES
    assert not peer.http.done


def test_a_stream_of_ours_can_be_reset_alone() -> None:
    peer = Peer()
    for stream in (1, 3):
        peer.ask(stream)
    peer.exchange()
    peer.http.head(1, STREAM, DATE)
    assert peer.http.reset(1) is True
    peer.exchange()
    assert peer.resets == {1: ErrorCodes.INTERNAL_ERROR}
    assert peer.http.reset(1) is True
    peer.answer(3, JSON)
    assert peer.ended == {3}


def test_a_goaway_without_an_error_lets_what_is_open_end() -> None:
    """As the AWS SDK for JavaScript says goodbye right after the head of an answer."""
    peer = Peer()
    peer.ask(1)
    peer.exchange()
    peer.http.head(1, STREAM, DATE)
    peer.exchange()
    assert peer.raw(GoAwayFrame(0, error_code=0)) == []
    assert not peer.http.done
    for piece in PIECES:
        assert peer.http.room(1) > len(piece)
        peer.http.body(1, piece)
        peer.exchange()
    peer.http.end(1)
    peer.exchange()
    assert tuple(peer.frames[1]) == PIECES
    assert peer.ended == {1}
    assert peer.http.done


def test_a_goaway_without_an_error_lets_a_request_arrive() -> None:
    peer = Peer()
    peer.ask(1, b"half", end=False)
    peer.exchange()
    assert peer.raw(GoAwayFrame(0, error_code=0)) == []
    assert not peer.http.done
    peer.h2.send_data(1, b" and half", end_stream=True)
    assert only(peer.exchange()).request.body == b"half and half"
    peer.answer(1, JSON)
    assert peer.frames[1] == [b'{"a": 1}']
    assert peer.http.done


def test_a_goaway_while_nothing_is_open_ends_the_connection() -> None:
    peer = Peer()
    peer.exchange()
    request = HeadersFrame(1, data=b"\x83\x86\x84\x01\x01h", flags=["END_HEADERS", "END_STREAM"])
    assert peer.raw(GoAwayFrame(0, error_code=0), request) == []
    assert peer.http.done


def test_a_goaway_with_an_error_ends_everything() -> None:
    peer = Peer()
    for stream in (1, 3):
        peer.ask(stream)
    peer.exchange()
    assert peer.raw(GoAwayFrame(0, error_code=ErrorCodes.INTERNAL_ERROR)) == [Left(1), Left(3)]
    assert peer.http.done
    assert peer.http.room(1) < 0


def test_the_end_of_the_input_ends_the_connection() -> None:
    peer = Peer()
    peer.ask(1)
    peer.exchange()
    assert peer.http.receive(b"") == []
    assert peer.http.done
    assert peer.http.receive(b"more") == []


# Refusals


def refused(peer: Peer, events: Sequence[Event]) -> tuple[str, str]:
    """Status and message of a refusal."""
    [event] = events
    assert isinstance(event, HttpRefused), event
    peer.answer(event.stream, event.response)
    return dict(peer.heads[event.stream])[":status"], json.loads(b"".join(peer.frames[event.stream]))["message"]


def test_a_body_that_promises_to_be_too_long_is_refused_at_once() -> None:
    peer = Peer(Limits(body=50))
    peer.ask(1, end=False, content_length="51", expect="100-continue")
    assert refused(peer, peer.exchange()) == ("413", "The request body is longer than 50 bytes.")
    assert peer.told_to_go_on == set()
    assert peer.ended == {1}
    assert not peer.http.done


def test_a_body_that_is_too_long_is_refused_and_the_rest_of_it_is_dropped() -> None:
    peer = Peer(Limits(body=50))
    peer.ask(1, 51 * b"x", end=False)
    peer.ask(3, b"fine")
    *events, other = peer.exchange()
    assert refused(peer, events)[0] == "413"
    assert isinstance(other, Arrived)
    assert peer.resets == {1: ErrorCodes.NO_ERROR}
    late = DataFrame(1, data=100 * b"x")
    assert peer.raw(late, late) == []
    assert not peer.http.mid_request
    peer.answer(3, JSON)
    assert peer.ended == {1, 3}


def test_silence_in_the_middle_of_a_request_is_refused() -> None:
    peer = Peer(Limits(silence=1.5))
    peer.ask(1, b"half", end=False)
    peer.exchange()
    assert peer.http.mid_request
    status, message = refused(peer, peer.http.time_out())
    assert status == "408"
    assert "1.5 s" in message
    assert peer.http.done


def test_silence_while_an_answer_is_due_is_nothing() -> None:
    peer = Peer()
    peer.ask(1)
    peer.ask(3, b"half", end=False)
    peer.exchange()
    assert not peer.http.mid_request


def test_a_head_that_is_too_long_ends_the_connection() -> None:
    peer = Peer(Limits(head=500))
    peer.ask(1)
    peer.exchange()
    peer.ask(3, x=500 * "y")
    assert peer.exchange() == [Left(1)]
    assert peer.goaway == ErrorCodes.ENHANCE_YOUR_CALM
    assert peer.http.done


def test_more_streams_than_are_allowed_end_the_connection() -> None:
    peer = Peer(Limits(streams=3))
    peer.exchange()
    peer.h2.remote_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 100
    peer.h2.remote_settings.acknowledge()
    for stream in (1, 3, 5):
        peer.ask(stream)
    assert len(peer.exchange()) == 3
    peer.ask(7)
    assert peer.exchange() == [Left(1), Left(3), Left(5)]
    assert peer.goaway == ErrorCodes.PROTOCOL_ERROR
    assert peer.http.done


BROKEN: dict[str, tuple[bytes | Frame, ...]] = {
    "garbage": (bytes(range(256)), bytes(range(256))),
    "a preface once more": (PREFACE,),
    "data on no stream": (b"\x00\x00\x01\x00\x00\x00\x00\x00\x00x",),
    "data on a stream that never was": (DataFrame(7, data=b"x"),),
    "window of nothing": (b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00",),
    "window beyond all": (WindowUpdateFrame(0, window_increment=2**31 - 1),),
    "a server's stream": (HeadersFrame(2, data=b"\x82", flags=["END_HEADERS", "END_STREAM"]),),
    "not hpack": (HeadersFrame(3, data=b"\xff\xff\xff\xff\xff\xff", flags=["END_HEADERS", "END_STREAM"]),),
    "no path": (HeadersFrame(3, data=b"\x83\x86", flags=["END_HEADERS", "END_STREAM"]),),
    "continuation of nothing": (ContinuationFrame(1, data=b"x"),),
    "something in the middle of a head": (HeadersFrame(3, data=b"\x83"), PingFrame(0, opaque_data=b"12345678")),
    "a frame that is too long": (DataFrame(1, data=bytes(16_385)),),
    "a frame that will be too long": (DataFrame(1, data=bytes(16_385)).serialize()[:9],),
    "settings that cannot be": (SettingsFrame(0, settings={SettingsFrame.INITIAL_WINDOW_SIZE: 2**31}),),
    "ping of seven bytes": (b"\x00\x00\x07\x06\x00\x00\x00\x00\x001234567",),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_the_protocol_ends_the_connection(name: str) -> None:
    peer = Peer()
    peer.ask(1)
    peer.exchange()
    assert peer.raw(*BROKEN[name]) == [Left(1)]
    assert peer.http.done
    said = peer.http.take()
    peer.read(said)
    assert peer.goaway not in (None, ErrorCodes.NO_ERROR)
    peer.http.head(1, JSON, DATE)
    peer.http.end(1)
    assert peer.http.take() == b""
    assert peer.http.receive(said) == []


def test_a_request_with_a_length_that_is_not_its_own_breaks_the_protocol() -> None:
    peer = Peer()
    peer.ask(1, b"four", content_length="5", end=False)
    assert peer.raw(peer.h2.data_to_send() or b"", DataFrame(1, flags=["END_STREAM"])) == []
    assert peer.http.done


# Floods


def test_requests_that_are_taken_back_at_once_arrive_nowhere_and_end_the_connection() -> None:
    peer = Peer(Limits(resets=20))
    peer.ask(1)
    peer.exchange()
    for stream in range(3, 43, 2):
        peer.ask(stream)
        peer.h2.reset_stream(stream)
    assert peer.exchange() == []
    assert not peer.http.done
    for stream in range(43, 143, 2):
        peer.ask(stream)
        peer.h2.reset_stream(stream)
    assert peer.exchange() == [Left(1)]
    assert peer.goaway == ErrorCodes.ENHANCE_YOUR_CALM
    assert peer.http.done


def test_a_client_that_gives_up_now_and_then_is_answered_for_ever() -> None:
    peer = Peer(Limits(resets=5))
    for stream in range(1, 401, 4):
        peer.ask(stream)
        peer.exchange()
        peer.h2.reset_stream(stream)
        assert peer.exchange() == [Left(stream)]
        peer.ask(stream + 2)
        peer.exchange()
        peer.answer(stream + 2, STREAM)
    assert len(peer.ended) == 100
    assert not peer.http.done


HEAD = HeadersFrame(3, data=b"\x83\x86\x84\x01\x01h", flags=["END_HEADERS"])
FLOODS: dict[str, list[Frame]] = {
    "PING": [PingFrame(0, opaque_data=b"12345678")],
    "PING ACK": [PingFrame(0, opaque_data=b"12345678", flags=["ACK"])],
    "SETTINGS": [SettingsFrame(0, settings={SettingsFrame.MAX_FRAME_SIZE: 20_000})],
    "SETTINGS ACK": [SettingsFrame(0, flags=["ACK"])],
    "empty DATA": [DataFrame(3)],
    "padded DATA": [DataFrame(3, flags=["PADDED"], pad_length=200)],
    "WINDOW_UPDATE": [WindowUpdateFrame(0, window_increment=1)],
    "RST_STREAM": [RstStreamFrame(1)],
    "GOAWAY": [GoAwayFrame(0, error_code=0)],
}


@pytest.mark.parametrize("name", FLOODS)
def test_frames_that_carry_nothing_are_counted(name: str) -> None:
    peer = Peer(Limits(empty=50, resets=50))
    peer.ask(1)
    peer.exchange()
    peer.raw(HEAD)
    for _ in range(40):
        peer.raw(*FLOODS[name])
        peer.http.take()
    assert not peer.http.done
    peer.raw(*(FLOODS[name] * 20))
    last = peer.http.take()[-17:]
    assert (last[3:4], int.from_bytes(last[13:])) == (b"\x07", ErrorCodes.ENHANCE_YOUR_CALM)
    assert (peer.http.done, peer.http.unread) == (True, True)


def test_small_pieces_of_a_body_are_counted() -> None:
    peer = Peer(Limits(empty=50))
    peer.ask(1, end=False)
    for _ in range(60):
        peer.h2.send_data(1, bytes(SMALL - 1))
    peer.exchange()
    assert (peer.http.done, peer.goaway) == (True, ErrorCodes.ENHANCE_YOUR_CALM)


def test_a_client_that_asks_and_reads_is_never_taken_for_a_flood() -> None:
    """It acknowledges each of many small frames twice, and sends a PING and a setting with each call."""
    peer = Peer(Limits(empty=10))
    many = stream_response([Chunk(b"a frame of some bytes")] * 400, "id")
    for stream in range(1, 21, 2):
        peer.h2.ping(b"12345678")
        peer.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: stream})
        peer.ask(stream, b"{}")
        peer.exchange()
        peer.answer(stream, many)
        assert stream in peer.ended
    assert not peer.http.done


@pytest.mark.parametrize("name", FLOODS)
def test_memory_stays_flat_in_a_flood_of(name: str) -> None:
    peer = Peer(Limits(empty=100_000))
    peer.ask(1)
    peer.exchange()
    peer.raw(HEAD)
    flood = b"".join(frame.serialize() for frame in FLOODS[name] * 200)
    peer.http.receive(flood)
    peer.http.take()
    tracemalloc.start()
    try:
        for _ in range(10):
            peer.http.receive(flood)
            assert len(peer.http.take()) <= 2 * len(flood)
        now, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now < 20_000
    assert not peer.http.done


def test_a_head_without_end_ends_the_connection() -> None:
    peer = Peer()
    peer.raw(PREFACE, SettingsFrame(0), HeadersFrame(1, data=b"\x83"))
    for _ in range(100):
        if peer.http.done:
            break
        peer.raw(ContinuationFrame(1, data=bytes(1000)))
    assert peer.http.done
