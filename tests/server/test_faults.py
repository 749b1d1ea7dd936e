"""Faults over the socket are what they say: a real RST, a real FIN in the middle of a frame, a real silence."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import h11
import pytest
from h2.errors import ErrorCodes

from converse_harness import ConverseServer, faults, reply
from converse_harness.faults.model import Fault
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.frames import Decoder, Frame
from tests.server.peers import Raw, Raw2, eventually, question

TEXT = reply.text("one two three four five", pieces=["one", " two", " three", " four", " five"])
WHOLE = 9
"""How many events it has."""
AFTER = 4


def decoded(stream: bytes) -> list[Frame]:
    """The frames of a whole stream."""
    decoder = Decoder()
    found = decoder.feed(stream)
    decoder.close()
    return found


def frames(stream: bytes) -> tuple[int, bytes]:
    """How many whole frames there are, and what is left of another."""
    count = 0
    while len(stream) >= 4 and len(stream) >= (size := int.from_bytes(stream[:4], "big")):
        stream, count = stream[size:], count + 1
    return count, stream


def unchunked(body: bytes) -> tuple[list[bytes], bytes]:
    """The whole chunks of a body, and what comes after them."""
    chunks: list[bytes] = []
    while b"\r\n" in body:
        size, rest = body.split(b"\r\n", 1)
        length = int(size, 16)
        if len(rest) < length + 2:
            break
        chunks.append(rest[:length])
        body = rest[length + 2 :]
    return chunks, body


def received(peer: Raw) -> tuple[bytes, BaseException | None]:
    """Everything until the end, and the error that was its end."""
    parts: list[bytes] = [peer.held]
    try:
        while data := peer.socket.recv(65_536):
            parts.append(data)
    except (ConnectionResetError, TimeoutError) as error:
        return b"".join(parts), error
    return b"".join(parts), None


@pytest.fixture
def opened(server: ConverseServer) -> Iterator[ServerFake]:
    """A fake that is closed without a check."""
    fake = server.script(unused="allow")
    yield fake
    fake.close()


def test_a_reset_is_one_after_everything_that_was_sent(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.reset, after=AFTER))
    with Raw(opened.url) as peer:
        peer.send(question(opened.url)).until(b"\r\n\r\n")
        body, error = received(peer)
    assert isinstance(error, ConnectionResetError)
    chunks, rest = unchunked(body)
    assert [frames(chunk) for chunk in chunks] == [(1, b"")] * AFTER
    assert rest == b""
    assert opened.calls[0].outcome == "cut"
    assert len(opened.calls[0].events) == AFTER


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is on its way")
def test_a_reset_waits_until_a_slow_client_has_everything_that_was_sent(opened: ServerFake) -> None:
    piece = 10_000 * "x"
    opened.script(reply.text(300 * piece, pieces=[piece] * 300).broken(faults.reset, after=301))
    with Raw(opened.url, buffer=4096) as peer:
        peer.send(question(opened.url)).until(b"\r\n\r\n")
        eventually(lambda: opened.calls[0].outcome == "cut" or len(opened.calls[0].events) > 100)
        body, error = received(peer)
    assert isinstance(error, ConnectionResetError)
    assert len(unchunked(body)[0]) == 301


def test_a_closed_connection_has_a_regular_end_in_the_middle_of_a_frame(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.closed, after=AFTER))
    with Raw(opened.url) as peer:
        peer.send(question(opened.url)).until(b"\r\n\r\n")
        body, error = received(peer)
    assert error is None
    chunks, rest = unchunked(body)
    assert [frames(chunk)[0] for chunk in chunks] == [1] * AFTER + [0]
    assert frames(chunks[-1])[1] == chunks[-1]
    assert rest == b""
    assert opened.calls[0].outcome == "cut"


def test_a_stall_says_nothing_more_and_keeps_the_connection(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.stall, after=AFTER))
    with Raw(opened.url) as peer, Raw(opened.url) as other:
        peer.send(question(opened.url)).until(b"\r\n\r\n")
        peer.socket.settimeout(0.2)
        body, error = received(peer)
        assert isinstance(error, TimeoutError)
        assert len(unchunked(body)[0]) == AFTER
        assert opened.calls[0].outcome == "cut"
        opened.script(TEXT)
        assert other.ask(opened.url).status == 200
        peer.send(question(opened.url))  # it waits for its turn, which never comes
        assert isinstance(received(peer)[1], TimeoutError)
        opened.close()
        assert isinstance(received(peer)[1], ConnectionResetError)
    assert len(opened.calls) == 2


BODIES = {
    "answer": (TEXT, "converse"),
    "error": (reply.throttled(), "converse"),
    "error of a stream": (reply.throttled(), "converse-stream"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("fault", [faults.reset, faults.closed, faults.stall], ids=lambda fault: fault.name)
def test_a_body_is_cut_as_a_stream_is(opened: ServerFake, name: str, fault: Fault) -> None:
    answer, operation = BODIES[name]
    broken = answer.broken(fault, after=0 if "error" in name else AFTER)
    opened.script(answer, broken)
    with Raw(opened.url) as peer:
        whole = peer.send(question(opened.url, operation)).answer()
        head = peer.send(question(opened.url, operation)).until(b"\r\n\r\n")
        if fault is faults.stall:
            # Only a stall may end by this timeout. A reset waits until the client's kernel has acknowledged the body,
            # and Linux delays an acknowledgement by 40 to 200 ms.
            peer.socket.settimeout(0.2)
        body, error = received(peer)
    assert f"Content-Length: {len(whole.body)}\r\n".encode() in head
    assert f"HTTP/1.1 {whole.status} ".encode() in head
    assert whole.body.startswith(body)
    assert len(body) < len(whole.body)
    ends = {faults.reset: ConnectionResetError, faults.closed: None, faults.stall: TimeoutError}
    assert (None if error is None else type(error)) is ends[fault]


def test_a_break_after_everything_lacks_only_the_end(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.reset, after=WHOLE))
    with Raw(opened.url) as peer:
        peer.send(question(opened.url)).until(b"\r\n\r\n")
        body, error = received(peer)
    assert isinstance(error, ConnectionResetError)
    assert len(unchunked(body)[0]) == WHOLE
    assert opened.calls[0].response is not None


def test_a_read_timeout_is_silence_whatever_else_is_asked(opened: ServerFake) -> None:
    opened.script(reply.read_timeout())
    with Raw(opened.url) as peer:
        peer.send(question(opened.url), question(opened.url))
        peer.socket.settimeout(0.1)
        body, error = received(peer)
        assert (body, type(error)) == (b"", TimeoutError)
        assert opened.calls[0].outcome == "cut"
        opened.close()
        assert isinstance(received(peer)[1], ConnectionResetError)
    assert len(opened.calls) == 1


def test_a_slow_first_byte_comes_with_everything_else(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.slow_first_byte.lasting(0.2)))
    with Raw(opened.url) as peer:
        peer.send(question(opened.url))
        peer.socket.settimeout(0.05)
        assert (received(peer)[0], opened.calls[0].outcome) == (b"", "still running")
        peer.socket.settimeout(10)
        assert len(decoded(peer.answer().body)) == WHOLE


@pytest.mark.parametrize("fault", [faults.slow_first_byte.lasting(60), faults.stall.lasting(60)], ids=repr)
def test_a_client_that_leaves_meanwhile_is_seen(opened: ServerFake, fault: Fault) -> None:
    opened.script(TEXT.broken(fault))
    with Raw(opened.url) as peer:
        peer.send(question(opened.url))
        eventually(lambda: len(opened.calls) == 1)
    eventually(lambda: opened.calls[0].outcome == "closed by client")


def test_a_stall_of_some_time_goes_on(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.stall.lasting(0.05), after=AFTER))
    with Raw(opened.url) as peer:
        assert len(decoded(peer.send(question(opened.url)).answer().body)) == WHOLE
    times = [event.at for event in opened.calls[0].events]
    assert times[AFTER] - times[AFTER - 1] > 0.04  # what is noted before the stall may be noted late


def test_a_frame_that_is_cut_ends_with_a_regular_end_of_the_answer(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.truncated_frame, after=AFTER), TEXT)
    with Raw(opened.url) as peer:
        count, rest = frames(peer.send(question(opened.url)).answer().body)
        assert (count, bool(rest)) == (AFTER, True)
        assert len(decoded(peer.send(question(opened.url)).answer().body)) == WHOLE
    assert [call.outcome for call in opened.calls] == ["complete"] * 2


@pytest.mark.parametrize("fault", [faults.one_byte_chunks, faults.one_chunk], ids=lambda fault: fault.name)
def test_chunks_are_cut_as_the_fault_says(opened: ServerFake, fault: Fault) -> None:
    opened.script(TEXT.broken(fault))
    with Raw(opened.url) as peer:
        peer.send(question(opened.url)).until(b"\r\n\r\n")
        chunks, _ = unchunked(peer.until(b"\r\n0\r\n\r\n"))
    size = 1 if fault is faults.one_byte_chunks else sum(map(len, chunks))
    assert {len(chunk) for chunk in chunks if chunk} == {size}
    assert len(decoded(b"".join(chunks))) == len(opened.calls[0].events) == WHOLE


@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
def test_a_wrong_length_is_followed_by_the_end_of_the_connection(opened: ServerFake, operation: str) -> None:
    opened.script(TEXT.broken(faults.wrong_content_length))
    with Raw(opened.url) as peer:
        head = peer.send(question(opened.url, operation)).until(b"\r\n\r\n")
        body, error = received(peer)
    assert error is None
    assert b"Transfer-Encoding" not in head
    assert f"\r\nContent-Length: {len(body) + 1}\r\n".encode() in head
    assert opened.calls[0].outcome == "cut"


# HTTP/2


def test_a_reset_over_http_2_is_one_of_the_stream(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.reset, after=AFTER), TEXT)
    with Raw2(opened.url) as peer:
        peer.ask(1)
        peer.ask(3)
        peer.until(lambda: 1 in peer.resets)
        assert len(decoded(peer.answer(3))) == WHOLE
        assert peer.resets == {1: ErrorCodes.INTERNAL_ERROR}
        assert [frames(each) for each in peer.frames[1]] == [(1, b"")] * AFTER
        opened.script(TEXT)
        peer.ask(5)
        assert len(decoded(peer.answer(5))) == WHOLE
    assert opened.calls[0].outcome == "cut"


def test_a_closed_connection_over_http_2_has_a_regular_end(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.closed, after=AFTER))
    with Raw2(opened.url) as peer:
        peer.ask(1)
        peer.until(lambda: peer.closed)
        assert frames(b"".join(peer.frames[1]))[0] == AFTER
        assert frames(b"".join(peer.frames[1]))[1]
        assert (peer.ended, peer.resets, peer.was_reset) == (set(), {}, False)


def test_a_stall_over_http_2_is_one_of_the_stream(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.stall, after=AFTER), TEXT)
    with Raw2(opened.url) as peer:
        peer.ask(1)
        peer.until(lambda: len(peer.frames[1]) == AFTER)
        peer.ask(3)
        peer.answer(3)
        peer.h2.ping(b"12345678")
        peer.flush()
        assert len(peer.frames[1]) == AFTER
        opened.close()
        peer.until(lambda: 1 in peer.resets)
        assert peer.ended == {3}


def test_a_read_timeout_over_http_2_is_silence_whatever_else_is_asked(opened: ServerFake) -> None:
    opened.script(reply.read_timeout(), TEXT)
    with Raw2(opened.url) as peer:
        peer.ask(1)
        peer.h2.ping(b"12345678")
        peer.ask(3)
        peer.answer(3)
        assert 1 not in peer.status
        opened.close()
        peer.until(lambda: 1 in peer.resets)
        assert 1 not in peer.status


def test_a_frame_that_is_cut_over_http_2_ends_its_stream(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.truncated_frame, after=AFTER))
    with Raw2(opened.url) as peer:
        peer.ask(1)
        assert frames(peer.answer(1))[0] == AFTER
        assert peer.ended == {1}


def test_a_wrong_length_over_http_2_ends_the_connection(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.wrong_content_length))
    with Raw2(opened.url) as peer:
        peer.ask(1)
        peer.until(lambda: peer.closed)
        assert len(decoded(b"".join(peer.frames[1]))) == WHOLE
        assert (peer.ended, peer.resets, peer.was_reset) == (set(), {}, False)


def test_h11_sees_that_a_stream_ended_too_early(opened: ServerFake) -> None:
    opened.script(TEXT.broken(faults.closed, after=AFTER))
    with Raw(opened.url) as peer, pytest.raises(h11.RemoteProtocolError, match="incomplete chunked read"):
        peer.send(question(opened.url)).answer()
