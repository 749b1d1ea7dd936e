"""HTTP/2 without I/O, with the library h2.

Clients must start with HTTP/2 (prior knowledge), as the AWS SDK for JavaScript does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.events import Event as H2Event
from h2.exceptions import DenialOfServiceError, H2Error, ProtocolError
from h2.frame_buffer import FrameBuffer
from h2.settings import SettingCodes, Settings
from hpack import Decoder, HeaderTuple, HPACKError, OversizedHeaderListError
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, SettingsFrame, WindowUpdateFrame

from converse_harness.stream import http_protocol as protocol
from converse_harness.stream.http import HttpResponse, Request
from converse_harness.stream.http_protocol import LIMITS, SMALL, Arrived, Event, HttpRefused, Left, Limits

_WINDOW = 1 << 20
"""Number of bytes that a client may send on a stream before it must wait for a window update."""

_FRAMES_OF_A_REQUEST = 4
"""Number of empty frames (for instance PING) that a client may send for each request."""

_LENGTH = 3
"""Number of bytes at the start of a frame's header that contain the length of the payload."""


class _Connection(H2Connection):
    """h2's connection, for clients that send GOAWAY while they still wait for answers.

    The AWS SDK for JavaScript sends an error-free GOAWAY right after the head of a response. h2 treats this frame as
    the end of the connection, and refuses to send the rest of the response:
    https://github.com/python-hyper/h2/issues/1181.
    """

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[H2Event]]:
        if frame.error_code:
            return super()._receive_goaway_frame(frame)
        event = ConnectionTerminated()
        event.error_code = ErrorCodes.NO_ERROR
        event.last_stream_id = frame.last_stream_id
        return [], [event]


class _CompressionError(ProtocolError):
    """Raised for headers that cannot be decoded. h2 itself calls this a PROTOCOL_ERROR (RFC 9113 4.3)."""

    error_code = ErrorCodes.COMPRESSION_ERROR


class _Decoder(Decoder):
    """hpack's decoder, whose errors are sent to the client under their own code."""

    def decode(self, data: bytes, raw: bool = False) -> Iterable[HeaderTuple]:
        try:
            return super().decode(data, raw)
        except OversizedHeaderListError:
            raise
        except HPACKError as error:
            raise _CompressionError(str(error)) from error


class _Frames(FrameBuffer):
    """h2's buffer of received bytes. The first frame must be SETTINGS (RFC 9113 3.4), and there are two limits.

    The length of a frame is checked as soon as the length arrives; h2 itself first waits for the whole frame, up to 16
    MB. The number of empty frames (no headers, fewer than SMALL bytes of data) is limited, because an empty frame
    causes as much work as a full one.
    """

    def __init__(self, patience: int) -> None:
        super().__init__(server=True)
        self._most = self._patience = patience
        self._begun = False
        self._updates = 0
        """How many further window updates do not count as empty frames: the client answers received data with them."""

    def __next__(self) -> Frame:
        if len(self._data) >= _LENGTH:
            self._validate_frame_length(int.from_bytes(self._data[:_LENGTH], "big"))
        frame = super().__next__()
        if not self._begun:
            if not isinstance(frame, SettingsFrame):
                raise ProtocolError("the first frame is not SETTINGS")
            self._begun = True
        if self._updates and isinstance(frame, WindowUpdateFrame):
            self._updates -= 1
        elif not (isinstance(frame, HeadersFrame) or (isinstance(frame, DataFrame) and len(frame.data) >= SMALL)):
            self._patience -= 1
            if self._patience < 0:
                raise DenialOfServiceError(f"more than {self._most} frames that carry nothing")
        return frame

    def request_arrived(self) -> None:
        """Allow the client to send more empty frames, because a request has arrived."""
        self._patience = min(self._patience + _FRAMES_OF_A_REQUEST, self._most)

    def data_sent(self) -> None:
        """Allow the client two window updates in answer to a DATA frame."""
        self._updates += 2


_TARGET = re.compile(r"/[!-~\x80-\xff]*|\*")
"""What `:path` may be: a path with its query, or the * of OPTIONS; without blanks and control characters."""

_Request = tuple[list[tuple[str, str]], bytearray]
"""The headers of a request and the part of its body that has arrived."""


@dataclass(slots=True)
class _DueAnswer:
    """The state of the answer on a stream.

    `silent`: the body is omitted, because the method is HEAD. `unfinished`: the request was refused before all of it
    arrived. `headless`: the head is not sent yet.
    """

    silent: bool = False
    unfinished: bool = False
    headless: bool = True


class Http2:
    """One HTTP/2 connection with many requests at a time. Each request has its own stream."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.done = False
        self.unread = False
        self._limits = limits
        self._h2 = _Connection(H2Configuration(client_side=False, header_encoding=None))
        sizes = {SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW, SettingCodes.MAX_HEADER_LIST_SIZE: limits.head}
        settings = {SettingCodes.MAX_CONCURRENT_STREAMS: limits.streams, **sizes}
        self._h2.local_settings = Settings(client=False, initial_values=settings)
        self._frames = self._h2.incoming_buffer = _Frames(limits.empty)
        self._h2.decoder = _Decoder()
        self._h2.decoder.max_header_list_size = limits.head  # h2 sets this limit only if a setting changes later
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_WINDOW)
        self._coming: dict[int, _Request] = {}
        """By stream number: the request that is being received."""
        self._open: dict[int, _DueAnswer] = {}
        """By stream number: the state of the answer. The entry is removed when the answer is complete."""
        self._patience = limits.resets
        """The number of streams that the client may still reset before the head of their answer is sent."""
        self._leaving = False
        """Whether the connection ends once all requests that have begun are answered."""

    @property
    def mid_request(self) -> bool:
        """Whether a request has arrived only in part, and no answer is in progress."""
        return bool(self._coming) and not self._open

    @property
    def backlog(self) -> int:
        """Always 0: requests do not wait for each other."""
        return 0

    def receive(self, data: bytes) -> list[Event]:
        """Process bytes from the client, and return the events that they complete.

        The value b"" means that the client has closed its side of the connection.
        """
        if self.done or not data:
            self.done = True
            return []
        events: list[Event] = []
        try:
            for event in self._h2.receive_data(data):
                if not self.done:
                    self._handle(event, events)
        except (H2Error, ValueError, KeyError) as error:  # if h2 found the error, it has queued a GOAWAY
            self.unread = isinstance(error, DenialOfServiceError)
            self._give_up(events)
        return events

    def _handle(self, event: H2Event, events: list[Event]) -> None:
        """Handle one event of h2, and append the events for the Connection that result from it to `events`."""
        match event:
            case RequestReceived():
                self._frames.request_arrived()
                headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
                self._begin(event.stream_id, headers, events)
            case DataReceived():
                if event.flow_controlled_length:
                    self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.stream_id in self._coming:
                    body = self._coming[event.stream_id][1]
                    body += event.data
                    if len(body) > self._limits.body:
                        events.append(self._refuse(event.stream_id, 413))
            case StreamEnded():
                if event.stream_id in self._coming:
                    events += self._arrived(event.stream_id)
                elif event.stream_id in self._open:
                    self._open[event.stream_id].unfinished = False
            case StreamReset():
                self._gone(event.stream_id, events)
            case ConnectionTerminated():
                self._leaving = True
                self.done = not (self._open or self._coming)
                if event.error_code != ErrorCodes.NO_ERROR:
                    self._give_up(events)
            case _:
                pass

    def _begin(self, stream: int, headers: list[tuple[str, str]], events: list[Event]) -> None:
        self._coming[stream] = headers, bytearray()
        named = dict(headers)
        promised = named.get("content-length", "")
        if promised.isdecimal() and int(promised) > self._limits.body:
            events.append(self._refuse(stream, 413))
        elif named.get("expect", "").lower() == "100-continue":
            self._h2.send_headers(stream, [(":status", "100")])

    def _refuse(self, stream: int, status: int) -> HttpRefused:
        del self._coming[stream]
        self._open[stream] = _DueAnswer(unfinished=True)
        return HttpRefused(stream, protocol.refusal(status, "", self._limits))

    def _give_up(self, events: list[Event]) -> None:
        """End the connection, and replace `events` with one Left for each stream that has an unfinished answer."""
        self.done = True
        events[:] = [Left(stream) for stream in sorted(self._open)]

    def _arrived(self, stream: int) -> list[Event]:
        """Return the request that is complete; no event if it is malformed, which resets its stream (RFC 9113 8.1.1).

        h2 has checked the headers. It does not compare content-length with a body that has no DATA frame at all, and
        does not check the target, which the recording proxy writes into a request line.
        """
        received, body = self._coming.pop(stream)
        pseudo = {name: value for name, value in received if name.startswith(":")}
        method, target = pseudo[":method"], pseudo.get(":path", "/")
        promised = next((int(value) for name, value in received if name == "content-length"), len(body))
        if promised != len(body) or not _TARGET.fullmatch(target):
            self._h2.reset_stream(stream, ErrorCodes.PROTOCOL_ERROR)
            return []
        self._open[stream] = _DueAnswer(silent=method == "HEAD")
        headers = [("host", pseudo.get(":authority", ""))]
        headers += [(name, value) for name, value in received if not name.startswith(":") and name != "host"]
        return [Arrived(stream, Request(method, target, tuple(headers), bytes(body)))]

    def _gone(self, stream: int, events: list[Event]) -> None:
        """Forget a stream that the client reset. End the connection if the client has reset too many streams."""
        self._coming.pop(stream, None)
        answer = self._open.pop(stream, None)
        if answer is None or answer.headless:
            self._patience -= 1
        # If a request and its reset arrived in the same bytes, neither becomes an event. So a flood causes no answers.
        before = len(events)
        events[:] = [event for event in events if event.stream != stream]
        if len(events) == before:
            events.append(Left(stream))
        if self._patience < 0:
            self._h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            self._give_up(events)

    def head(self, stream: int, response: HttpResponse, date: str) -> None:
        """Write the head of an answer."""
        if not self._gone_meanwhile(stream):
            pseudo = [(":status", str(response.status)), ("date", date)]
            self._h2.send_headers(stream, pseudo + protocol.portable_headers(response))
            self._open[stream].headless = False

    def room(self, stream: int) -> int:
        """Return how many bytes the client's flow-control windows allow on this stream; -1 if the stream has ended."""
        return -1 if self._gone_meanwhile(stream) else self._h2.local_flow_control_window(stream)

    def body(self, stream: int, data: bytes) -> None:
        """Write a part of a body as one or more DATA frames."""
        if self._open[stream].silent:
            return
        largest = self._h2.max_outbound_frame_size
        for start in range(0, len(data), largest):
            self._h2.send_data(stream, data[start : start + largest])
            self._frames.data_sent()

    def end(self, stream: int) -> list[Event]:
        """End an answer; return no events, because in HTTP/2 no request waits for the end of another answer."""
        if not self._gone_meanwhile(stream):
            self._h2.end_stream(stream)
            if self._open[stream].unfinished:
                self._h2.reset_stream(stream, ErrorCodes.NO_ERROR)  # the client need not send the rest of the request
            self._patience = min(self._patience + 1, self._limits.resets)
        self._answered(stream)
        return []

    def reset(self, stream: int) -> bool:
        """Reset the stream and return True; the connection's other streams, which may be other tests', continue."""
        if not self._gone_meanwhile(stream):
            self._h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
        self._answered(stream)
        return True

    def time_out(self) -> list[Event]:
        """Refuse all incomplete requests with the error 408, because the client was silent for too long."""
        self._leaving = True
        return [self._refuse(stream, 408) for stream in list(self._coming)]

    def take(self) -> bytes:
        """Return the bytes to send, and remove them."""
        return self._h2.data_to_send()

    def _answered(self, stream: int) -> None:
        self._open.pop(stream, None)
        if self._leaving and not (self._open or self._coming):
            self.done = True

    def _gone_meanwhile(self, stream: int) -> bool:
        return self.done or stream not in self._open
