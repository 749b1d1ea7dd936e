"""How answers get to clients over the socket: at once, in their order, when they are due, as fast as they are read."""

from __future__ import annotations

import socket
import threading
import tracemalloc
from typing import Any

import pytest
from hyperframe.frame import GoAwayFrame

from converse_harness import Call, ConverseServer, Reply, reply
from converse_harness.stream.http import JSON_HEADERS, STREAM_HEADERS
from tests.server.peers import BODY, PATIENCE, Answer, Raw, Raw2, eventually, question

TEXT = reply.text("one two three four five")


def connections(server: ConverseServer) -> list[Any]:
    """The connections that the server has, which nobody else needs to know."""
    return [*server._thread.connections]


# HTTP/1.1


def test_requests_in_one_packet_are_answered_in_order(server: ConverseServer) -> None:
    paced = TEXT.paced(first=0.02, each=0.005)
    count = 300
    with server.script(paced, *(reply.text(f"answer {number}") for number in range(count))) as fake:
        with Raw(fake.url) as peer:
            peer.send(question(fake.url) + count * question(fake.url, "converse"))
            assert len(peer.answer().chunks) == len(fake.calls[0].events)
            for number in range(count):
                answer = peer.answer()
                assert answer.json["output"]["message"]["content"] == [{"text": f"answer {number}"}]
        assert [call.number for call in fake.calls] == [*range(1, count + 2)]
        assert {call.outcome for call in fake.calls} == {"complete"}


def test_a_connection_is_kept_and_its_answers_have_the_recorded_headers(server: ConverseServer) -> None:
    with server.script(TEXT, TEXT, TEXT, TEXT) as fake, Raw(fake.url) as peer:
        for operation, names in (("converse", JSON_HEADERS), ("converse-stream", STREAM_HEADERS)) * 2:
            peer.send(question(fake.url, operation))
            head = peer.until(b"\r\n\r\n").decode().split("\r\n")
            assert [line.partition(":")[0] for line in head[1:-2]] == ["Date", *names]
            peer.held = "\r\n".join(head).encode() + peer.held
            peer.answer()
        assert len(connections(server)) == 1


def test_each_event_is_a_chunk_and_all_that_are_due_after_the_first_are_one_write(
    server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.script(reply.text(50 * "word ", pieces=50 * ["word "])) as fake, Raw(fake.url) as peer:
        eventually(lambda: connections(server))
        [connection] = connections(server)
        writes: list[bytes] = []
        transport = connection._transport
        write = transport.write

        def counted(data: bytes) -> None:
            writes.append(data)
            write(data)

        monkeypatch.setattr(transport, "write", counted)
        answer = peer.send(question(fake.url)).answer()
        assert len(answer.chunks) == len(fake.calls[0].events) > 50
        assert len(writes) == 2
        assert b"messageStart" in writes[0]
        assert b"contentBlockDelta" not in writes[0]


def test_no_answer_waits_for_an_acknowledgement(server: ConverseServer) -> None:
    """Nagle's algorithm would hold back each small write for 40 ms."""
    with server.script(TEXT) as fake, Raw(fake.url) as peer:
        peer.ask(fake.url)
        [connection] = connections(server)
        connected = connection._transport.get_extra_info("socket")
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("version", [b"HTTP/1.0\r\n", b"HTTP/1.1\r\nConnection: close\r\n"], ids=["1.0", "close"])
def test_a_client_that_does_not_keep_the_connection_reads_to_its_end(server: ConverseServer, version: bytes) -> None:
    with server.script(TEXT.paced(each=0.001)) as fake, Raw(fake.url) as peer:
        peer.send(question(fake.url).replace(b"HTTP/1.1\r\n", version))
        head, body = peer.rest().split(b"\r\n\r\n", 1)
        assert b"Connection: close" in head
        assert b"chunked" not in head
        assert body.count(b":event-type") == len(fake.calls[0].events)


def test_head_is_answered_without_a_body(server: ConverseServer) -> None:
    with server.script() as fake, Raw(fake.url) as peer:
        for _ in range(2):
            answer = peer.send(f"HEAD {fake.url[fake.url.rindex('/') :]}x HTTP/1.1\r\nHost: h\r\n\r\n".encode()).answer(
                "HEAD"
            )
            assert (answer.status, answer.body) == (404, b"")
            assert int(answer.headers["content-length"]) > 0


def test_a_client_that_waits_for_permission_and_one_that_does_not(server: ConverseServer) -> None:
    with server.script(TEXT, TEXT) as fake, Raw(fake.url) as peer:
        sent = question(fake.url, "converse", headers="Expect: 100-continue\r\n")
        peer.send(sent[: -len(BODY)])
        assert peer.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert peer.send(BODY).answer().status == 200
        assert peer.send(sent).answer().status == 200


def test_a_body_in_chunks(server: ConverseServer) -> None:
    with server.script(TEXT) as fake, Raw(fake.url) as peer:
        head = question(fake.url, "converse", b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        parts = [b"%x\r\n%b\r\n" % (len(BODY[start : start + 7]), BODY[start : start + 7]) for start in range(0, 64, 7)]
        assert peer.send(head, *parts, b"0\r\n\r\n").answer().status == 200
    assert fake.calls[0].raw == BODY


# Large and slow


def large(size: int) -> bytes:
    """A request as large as that, which is JSON."""
    return b'{"messages": [{"role": "user", "content": [{"text": "' + size * b"x" + b'"}]}]}'


SIZE = 25 * 1024 * 1024


def test_a_request_of_25_mb_over_http_1(server: ConverseServer) -> None:
    with server.script(TEXT, TEXT) as fake, Raw(fake.url) as peer, Raw(fake.url) as other:
        assert peer.send(question(fake.url, "converse", large(SIZE))).answer().status == 200
        assert other.ask(fake.url).status == 200
    assert len(fake.calls[0].last_user_text) == SIZE


def test_a_request_of_25_mb_over_http_2(server: ConverseServer) -> None:
    with server.script(TEXT) as fake, Raw2(fake.url) as peer:
        body = memoryview(large(SIZE))
        peer.ask(1, "converse", b"", end=False)
        while body:
            peer.until(lambda: peer.h2.local_flow_control_window(1) > 0)
            size = min(len(body), peer.h2.local_flow_control_window(1), peer.h2.max_outbound_frame_size)
            peer.h2.send_data(1, bytes(body[:size]), end_stream=size == len(body))
            peer.flush()
            body = body[size:]
        assert b"five" in peer.answer(1)
    assert len(fake.calls[0].last_user_text) == SIZE


def test_a_client_that_does_not_read_costs_no_memory_and_nobody_else_time(server: ConverseServer) -> None:
    piece = 50_000 * "x"
    text = 500 * piece
    slow_reply = reply.text(text, pieces=[piece] * 500)
    with server.script(slow_reply, TEXT) as fake, Raw(fake.url, buffer=4096) as slow, Raw(fake.url) as other:
        tracemalloc.start()
        try:
            slow.send(question(fake.url))
            eventually(lambda: any(not connection.writable for connection in connections(server)))
            assert other.ask(fake.url).status == 200
            now, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert now < 10_000_000  # what the kernel takes on top, nobody counts
        assert not fake.calls[0].response
        assert len(fake.calls[0].events) < 200
        assert sum(map(len, slow.answer().chunks)) > len(text)
    assert fake.calls[0].outcome == "complete"


def test_a_client_of_http_2_whose_window_is_one_byte(server: ConverseServer) -> None:
    with (
        server.script(reply.text("hi"), TEXT) as fake,
        Raw2(fake.url, generous=False, INITIAL_WINDOW_SIZE=1) as peer,
        Raw(fake.url) as other,
    ):
        peer.ask(1)
        sizes: list[int] = []
        while 1 not in peer.ended:
            peer.read()
            before, sizes = len(sizes), [len(frame) for frame in peer.frames[1]]
            # What came may be the head alone: another byte of room would then make two.
            if len(sizes) > before and 1 not in peer.ended:
                peer.h2.increment_flow_control_window(1, 1)
                peer.flush()
        assert {*sizes} == {1}
        assert b"".join(peer.frames[1]).count(b":event-type") == len(fake.calls[0].events)
        assert other.ask(fake.url).status == 200


# When it is due


def test_the_head_of_a_stream_does_not_wait_for_its_first_event(server: ConverseServer) -> None:
    with server.script(TEXT.paced(first=60), unused="allow") as fake, Raw(fake.url) as peer:
        assert peer.send(question(fake.url)).until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
        assert fake.calls[0].events == ()


def test_no_event_is_sent_before_it_is_due(server: ConverseServer) -> None:
    with server.script(TEXT.paced(first=0.05, each=0.01)) as fake, Raw(fake.url) as peer:
        assert len(peer.send(question(fake.url)).answer().chunks) == len(fake.calls[0].events)
    for index, (_, at) in enumerate(fake.calls[0].events):
        assert at >= 0.05 + 0.01 * index


def test_pauses_add_up_before_a_whole_body(server: ConverseServer) -> None:
    with server.script(TEXT.paced(first=0.02, each=0.01)) as fake, Raw(fake.url) as peer:
        answer: Answer = peer.ask(fake.url)
        assert answer.json["metrics"]["latencyMs"] >= 100
        assert fake.calls[0].outcome == "complete"


def test_a_goaway_after_the_head_of_an_answer_does_not_end_it(server: ConverseServer) -> None:
    """As the AWS SDK for JavaScript does; only a stream that pauses then can show it."""
    with server.script(TEXT.paced(first=0.1, each=0.01)) as fake, Raw2(fake.url) as peer:
        peer.ask(1)
        peer.until(lambda: 1 in peer.status)
        peer.send(GoAwayFrame(0, error_code=0).serialize())
        assert peer.answer(1).count(b":event-type") == len(fake.calls[0].events)
        peer.until(lambda: peer.closed)
        assert not peer.was_reset


def test_many_streams_on_one_connection(server: ConverseServer) -> None:
    count = 200
    with server.script() as fake, Raw2(fake.url) as peer:
        fake.always(TEXT.paced(each=0.005))
        for number in range(count):
            peer.ask(2 * number + 1, flush=False)
        peer.flush()
        bodies = {peer.answer(2 * number + 1).count(b":event-type") for number in range(count)}
        assert bodies == {len(fake.calls[0].events)}
        assert len(connections(server)) == 1


def test_functions_block_nobody(server: ConverseServer) -> None:
    go = threading.Event()

    def wait(call: Call) -> Reply:
        assert go.wait(PATIENCE)
        return reply.text("at last")

    with server.script(wait, TEXT) as fake, Raw2(fake.url) as peer, Raw(fake.url) as other:
        peer.ask(1, "converse")
        eventually(lambda: fake.calls)
        assert other.ask(fake.url).status == 200
        peer.h2.ping(b"12345678")
        go.set()
        assert b"at last" in peer.answer(1)
