"""Leaving: whoever goes, and whenever, the others go on and nothing is left behind. The fixtures hold what is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from converse_harness import Call, ConverseServer, Reply, TransportError, UnusedReplies, faults, reply
from converse_harness.server.mounts import ServerFake
from tests.server.peers import PATIENCE, Raw, Raw2, eventually, question
from tests.untraced import untraced

TEXT = reply.text("one two three four five")
AT_ONCE = 3.0
"""Seconds, on a machine that is busy with other things: without them it is a millisecond."""
ENDLESS = TEXT.paced(first=0.01, each=60)


class Waiting:
    """A function of a script that runs until it may end."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.runs = threading.Event()

    def __call__(self, call: Call) -> Reply:
        self.runs.set()
        assert self.go.wait(PATIENCE)
        return TEXT


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    """A function that ends with the test at the latest."""
    function = Waiting()
    yield function
    function.go.set()


# The server


def stopped_in(server: ConverseServer) -> float:
    """How long it takes to stop."""
    started = time.monotonic()
    server.stop()
    return time.monotonic() - started


BUSY: dict[str, Callable[[ServerFake], list[Raw | Raw2]]] = {}


def busy(function: Callable[[ServerFake], list[Raw | Raw2]]) -> Callable[[ServerFake], list[Raw | Raw2]]:
    """One way in which a server may be busy."""
    BUSY[function.__name__.replace("_", " ")] = function
    return function


@busy
def nothing(fake: ServerFake) -> list[Raw | Raw2]:
    return []


@busy
def idle_connections(fake: ServerFake) -> list[Raw | Raw2]:
    peers: list[Raw | Raw2] = [Raw(fake.url), Raw2(fake.url)]
    return peers


@busy
def connections_that_came_this_moment(fake: ServerFake) -> list[Raw | Raw2]:
    return [Raw(fake.url) for _ in range(50)]


@busy
def half_requests(fake: ServerFake) -> list[Raw | Raw2]:
    one, two = Raw(fake.url).send(question(fake.url)[:-10]), Raw2(fake.url)
    two.ask(1, end=False)
    return [one, two, Raw(fake.url).send(b"PRI * HT")]


@busy
def paced_streams(fake: ServerFake) -> list[Raw | Raw2]:
    fake.always(ENDLESS)
    one, two = Raw(fake.url).send(question(fake.url)), Raw2(fake.url)
    one.until(b"messageStart")
    two.ask(1)
    two.until(lambda: two.frames[1])
    return [one, two]


@busy
def a_client_that_does_not_read(fake: ServerFake) -> list[Raw | Raw2]:
    piece = 50_000 * "x"
    fake.always(reply.text(200 * piece, pieces=[piece] * 200))
    peer = Raw(fake.url, buffer=4096).send(question(fake.url))
    eventually(lambda: fake.calls and len(fake.calls[0].events) > 20)
    return [peer]


@busy
def stalls(fake: ServerFake) -> list[Raw | Raw2]:
    fake.always(TEXT.broken(faults.stall))
    one, two = Raw(fake.url).send(question(fake.url)), Raw2(fake.url)
    one.until(b"messageStart")
    two.ask(1)
    two.until(lambda: two.frames[1])
    return [one, two]


@busy
def a_refused_client_that_still_sends(fake: ServerFake) -> list[Raw | Raw2]:
    peer = Raw(fake.url).send(b"\x00garbage\r\n\r\n")
    peer.answer()
    return [peer.send(b"more")]


@pytest.mark.parametrize("how", BUSY)
def test_the_server_stops_at_once(how: str) -> None:
    server = ConverseServer().start()
    fake = server.script(unused="allow")
    peers = BUSY[how](fake)
    assert stopped_in(server) < AT_ONCE
    for peer in peers:
        assert peer.is_closed()
        peer.socket.close()
    assert fake.calls == [] or {call.outcome for call in fake.calls} == {"cut"}
    with pytest.raises(TransportError, match="not running"):
        server.script()


def test_functions_get_a_moment_to_end(waiting: Waiting) -> None:
    server = ConverseServer().start()
    fake = server.script(waiting)
    with Raw(fake.url).send(question(fake.url)) as peer:
        assert waiting.runs.wait(PATIENCE)
        threading.Timer(0.1, waiting.go.set).start()
        assert stopped_in(server) < AT_ONCE
        assert peer.is_closed()
    eventually(lambda: fake.calls[0].outcome == "cut")


def test_functions_that_do_not_end_are_named_and_not_waited_for_one_by_one(waiting: Waiting) -> None:
    server = ConverseServer().start()
    fake = server.script()
    fake.always(waiting)
    peers = [Raw(fake.url).send(question(fake.url)) for _ in range(5)]
    eventually(lambda: len(fake.calls) == 5)
    with pytest.warns(UserWarning, match="5 functions of a script still run after the server has stopped"):
        assert stopped_in(server) < 4.5
    for peer in peers:
        assert peer.is_closed()
        peer.socket.close()
    waiting.go.set()
    eventually(lambda: {call.outcome for call in fake.calls} == {"cut"})


def test_stopping_and_starting_twice_is_nothing() -> None:
    server = ConverseServer()
    server.stop()
    assert server.start() is server.start()
    url = server.url
    with server.script(TEXT) as fake, Raw(fake.url) as peer:
        assert peer.ask(fake.url).status == 200
    assert server.url == url
    server.stop()
    server.stop()
    assert repr(server) == "<ConverseServer stopped>"
    with server, server.script(TEXT) as fake, Raw(fake.url) as peer:
        assert peer.ask(fake.url).status == 200


def test_a_hundred_servers_leave_nothing() -> None:
    for _ in range(100):
        with ConverseServer() as server, server.script(TEXT) as fake, Raw(fake.url) as peer:
            assert peer.ask(fake.url).status == 200


def test_an_interrupt_leaves_nothing() -> None:
    def interrupted() -> None:
        with ConverseServer() as server, server.script(ENDLESS, unused="allow") as fake, Raw(fake.url) as peer:
            peer.send(question(fake.url)).until(b"messageStart")
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()


PROGRAM = """
import socket, sys, threading, time
from converse_harness import ConverseServer
from converse_harness import reply
server = ConverseServer().start()
fake = server.script(reply.text("a b c").paced(first=0.01, each=60), unused="allow")
host, port = server.url.rpartition("/")[2].split(":")
with socket.create_connection((host, int(port))) as client:
    prefix = fake.url[len(server.url):]
    body = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'
    head = f"POST {prefix}/model/m/converse-stream HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
    client.sendall(head.encode() + body)
    client.settimeout(10)
    while b"messageStart" not in client.recv(65536):
        pass
    print("ready", flush=True)
    HOW
"""


@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ("pass", 0, ""),
        pytest.param("sys.exit(3)", 3, "", marks=pytest.mark.slow),
        pytest.param("raise ValueError('no')", 1, "ValueError: no", marks=pytest.mark.slow),
        pytest.param(
            "client.settimeout(None); client.recv(1)", -signal.SIGINT, "KeyboardInterrupt", marks=pytest.mark.slow
        ),
        pytest.param("threading.Event().wait()", -signal.SIGINT, "KeyboardInterrupt", marks=pytest.mark.slow),
    ],
)
def test_a_program_that_forgets_to_stop_it_ends_all_the_same(how: str, code: int, says: str) -> None:
    program = textwrap.dedent(PROGRAM).replace("HOW", how)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": untraced()}
    with subprocess.Popen([sys.executable, "-W", "error", "-c", program], text=True, **pipes) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        if code < 0:
            child.send_signal(-code)
        _, errors = child.communicate(timeout=20)
    assert child.returncode == code
    assert says in errors
    assert not says or errors.count("Traceback") == 1
    assert says or errors == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_takes_nothing_with_it(server: ConverseServer) -> None:
    with server.script(ENDLESS, TEXT, TEXT, unused="allow") as fake, Raw(fake.url) as peer:
        peer.send(question(fake.url)).until(b"messageStart")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(reading, 1)  # it lives for as long as the parent likes
            os._exit(0)
        try:
            with Raw(fake.url) as other:
                assert other.ask(fake.url).status == 200
            fake.close()
            assert peer.is_closed()  # although the child had a copy of this connection
            server.stop()
            with pytest.raises(ConnectionRefusedError):
                Raw(fake.url)  # and of the socket that listens
        finally:
            os.write(writing, b"x")
            assert os.waitpid(child, 0)[1] == 0
            os.close(reading)
            os.close(writing)


# A fake


def test_a_fake_that_closes_cuts_its_own_answers_only(server: ConverseServer) -> None:
    slow = TEXT.paced(each=0.02)
    with server.script(slow, slow) as staying, Raw(staying.url) as one, Raw2(staying.url) as two:
        leaving = server.script(ENDLESS, ENDLESS, unused="allow")
        with Raw(leaving.url) as other:
            one.send(question(staying.url))
            two.ask(1)
            two.ask(3, url=leaving.url)
            other.send(question(leaving.url)).until(b"messageStart")
            two.until(lambda: two.frames[3])
            leaving.close()
            with pytest.raises(ConnectionResetError):
                other.rest()
            two.until(lambda: 3 in two.resets)
            assert {call.outcome for call in leaving.calls} == {"cut"}
            taken = [len(call.events) for call in leaving.calls]
            assert len(one.answer().chunks) == two.answer(1).count(b":event-type")
            assert [len(call.events) for call in leaving.calls] == taken
    assert {call.outcome for call in staying.calls} == {"complete"}


def test_a_fake_that_closes_does_not_wait_for_its_functions(server: ConverseServer, waiting: Waiting) -> None:
    fake = server.script(waiting, waiting)
    with Raw(fake.url).send(question(fake.url)) as one, Raw2(fake.url) as two:
        two.ask(1)
        eventually(lambda: len(fake.calls) == 2)
        fake.close()
        with pytest.raises(ConnectionResetError):
            one.rest()
        two.until(lambda: 1 in two.resets)
        waiting.go.set()
        eventually(lambda: {call.outcome for call in fake.calls} == {"cut"})
        assert [call.events for call in fake.calls] == [(), ()]


def test_a_fake_that_is_closed_answers_nobody(server: ConverseServer) -> None:
    with server.script(TEXT) as fake, Raw(fake.url) as peer:
        assert peer.ask(fake.url).status == 200
        fake.close()
        fake.close()
        status, name, message = peer.ask(fake.url).error
        assert (status, name) == (404, "UnknownOperationException")
        assert f"no fake is open at {fake.url.removeprefix(server.url)}" in message
    assert len(fake.calls) == 1


def test_a_fake_closes_itself_from_a_function(server: ConverseServer) -> None:
    def close(call: Call) -> Reply:
        fake.close()
        return TEXT

    fake = server.script(close)
    with Raw(fake.url).send(question(fake.url)) as peer, pytest.raises(ConnectionResetError):
        peer.rest()
    eventually(lambda: fake.calls[0].outcome == "cut")


def test_a_test_that_fails_leaves_its_unused_replies_alone(server: ConverseServer) -> None:
    with pytest.raises(ZeroDivisionError), server.script(TEXT):
        _ = 1 / 0
    with pytest.raises(UnusedReplies), server.script(TEXT):
        pass


@pytest.mark.parametrize("raised", [pytest.fail.Exception, SystemExit], ids=lambda raised: raised.__name__)
def test_what_ends_a_test_in_a_function_ends_the_call_and_fails_the_test(
    server: ConverseServer, raised: type[BaseException]
) -> None:
    def fail(call: Call) -> Reply:
        raise raised("not so")

    fake = server.script(fail)
    with Raw(fake.url) as peer:
        assert "not so" in peer.ask(fake.url).json["message"]
    fake.close()
    with pytest.raises(AssertionError, match="not so"):
        fake.check()


# A client


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_client_that_leaves_a_stream(server: ConverseServer, reset: bool) -> None:
    with server.script(ENDLESS, TEXT) as fake:
        with Raw(fake.url) as peer:
            peer.send(question(fake.url)).until(b"messageStart")
            if reset:
                peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        eventually(lambda: fake.calls[0].outcome == "closed by client")
        assert len(fake.calls[0].events) == 1
        with Raw(fake.url) as other:
            assert other.ask(fake.url).status == 200


def test_a_client_that_leaves_while_a_function_runs(server: ConverseServer, waiting: Waiting) -> None:
    with server.script(waiting, waiting, TEXT, unused="allow") as fake, Raw2(fake.url) as two:
        with Raw(fake.url).send(question(fake.url)):
            eventually(lambda: len(fake.calls) == 1)
        two.ask(1)
        eventually(lambda: len(fake.calls) == 2)
        two.h2.reset_stream(1)
        two.flush()
        eventually(lambda: len(server._thread.connections) == 1)
        two.ask(3)
        eventually(lambda: len(fake.calls) == 3)  # so the reset was read
        waiting.go.set()
        two.answer(3)
        eventually(lambda: [call.outcome for call in fake.calls[:2]] == ["closed by client"] * 2)


def test_a_client_that_leaves_one_stream_of_many(server: ConverseServer) -> None:
    with server.script(ENDLESS, TEXT.paced(each=0.01)) as fake, Raw2(fake.url) as peer:
        peer.ask(1)
        peer.ask(3)
        peer.until(lambda: peer.frames[1])
        peer.h2.reset_stream(1)
        peer.flush()
        assert peer.answer(3).count(b":event-type") == len(fake.calls[1].events)
        assert [call.outcome for call in fake.calls] == ["closed by client", "complete"]


def test_a_client_that_leaves_before_its_request_is_whole(server: ConverseServer) -> None:
    with server.script(TEXT) as fake:
        Raw(fake.url).send(question(fake.url)[:-1]).socket.close()
        eventually(lambda: server._thread.connections == set())
        assert fake.calls == []
        with Raw(fake.url) as other:
            assert other.ask(fake.url).status == 200
