"""Where the server listens, and what it says where it cannot."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from converse_harness import ConverseServer, TransportError, reply
from tests.nested import OURS, SOCKET
from tests.server.peers import Raw, Raw2, question
from tests.threads import taking_turns


def has_ipv6() -> bool:
    """Whether this machine has the loopback of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as trial:
            trial.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
def test_ipv6() -> None:
    with ConverseServer(host="::1") as server, server.script(reply.text("a"), reply.text("b")) as fake:
        assert server.url.startswith("http://[::1]:")
        with Raw(fake.url) as peer:
            assert peer.ask(fake.url).status == 200
        with Raw2(fake.url) as other:
            other.ask(1, "converse")
            assert b'"b"' in other.answer(1)


def test_a_fake_that_other_threads_see_is_whole() -> None:
    def looks() -> None:
        while not over.is_set():
            assert all(fake.url == fake.environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] for fake in server.fakes)

    def opens() -> None:
        for _ in range(200):
            server.script().close()

    over = threading.Event()
    with ConverseServer() as server, ThreadPoolExecutor(3) as threads, taking_turns():
        for _ in range(300):
            server.script()  # stays open: what walks over all of them takes a while
        looking = threads.submit(looks)
        try:
            for opening in [threads.submit(opens), threads.submit(opens)]:
                opening.result()
        finally:
            over.set()
        looking.result()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_loopback_is_nothing_to_warn_of(host: str) -> None:
    with ConverseServer(host=host) as server:
        assert server.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("host", ["0.0.0.0", ""])
def test_a_host_off_the_loopback_warns(host: str) -> None:
    with pytest.warns(UserWarning, match="which other machines can reach"):
        ConverseServer(host=host).start().stop()


def test_a_warning_that_is_an_error_leaves_nothing_open() -> None:
    server = ConverseServer(host="0.0.0.0")
    with pytest.raises(UserWarning, match="which other machines can reach"):
        server.start()
    with pytest.raises(TransportError, match="not running"):
        assert server.url


def test_a_port_in_use(server: ConverseServer) -> None:
    port = int(server.url.rpartition(":")[2])
    second = ConverseServer(port=port)
    with pytest.raises(TransportError, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*in use.*Choose another port"):
        second.start()
    second.stop()


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 99_999), ("not a host", 0), (70 * "x", 0)])
def test_where_nobody_can_listen(host: str, port: int) -> None:
    with pytest.raises(TransportError, match="cannot listen on"):
        ConverseServer(host=host, port=port).start()


def test_a_port_can_be_used_again_at_once() -> None:
    with ConverseServer() as first, first.script(reply.text("a")) as fake, Raw(fake.url) as peer:
        peer.ask(fake.url)
        port = int(first.url.rpartition(":")[2])
        first.stop()
        with ConverseServer(port=port) as second:
            assert second.url == f"http://127.0.0.1:{port}"


def test_requests_before_the_start_wait_for_the_fakes() -> None:
    server = ConverseServer()
    server.bind()
    try:
        with Raw(server.url) as peer, server.answer_all(reply.text("hi")):
            peer.send(question(server.url))
            server.start()
            assert peer.answer().status == 200
    finally:
        server.stop()


def test_a_server_that_was_only_bound_leaves_nothing() -> None:
    server = ConverseServer()
    server.bind()
    url = server.url
    server.stop()
    with pytest.raises(ConnectionRefusedError), Raw(url):
        pass


def test_a_start_that_is_interrupted_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wait, starting, stopping = threading.Event.wait, threading.current_thread(), asyncio.Event()
    waits = 0

    class Slow(asyncio.SelectorEventLoop):
        """An event loop that does not listen before it is asked to stop."""

        async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
            await stopping.wait()
            return await super().create_server(*args, **options)

        def stop(self) -> None:
            stopping.set()
            super().stop()

    def interrupted(event: threading.Event, timeout: float | None = None) -> bool:
        nonlocal waits
        waits += threading.current_thread() is starting
        if waits == 2:  # the first is that of Thread.start
            raise KeyboardInterrupt
        return wait(event, timeout)

    before = threading.active_count()
    with monkeypatch.context() as patched:
        patched.setattr("converse_harness.server.listener._EventLoop", Slow)
        patched.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ConverseServer().start()
    assert threading.active_count() == before


def test_an_event_loop_that_cannot_be_made_is_an_error_and_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> asyncio.AbstractEventLoop:
        raise OSError(24, "Too many open files")

    server = ConverseServer()
    with monkeypatch.context() as patched:
        patched.setattr("converse_harness.server.listener._EventLoop", fail)
        failed: list[BaseException] = []

        def start() -> None:
            try:
                server.start()
            except TransportError as error:
                failed.append(error)

        thread = threading.Thread(target=start, daemon=True)
        thread.start()
        thread.join(5)
        assert not thread.is_alive()
    assert "Too many open files" in str(failed[0])
    with server:
        assert server.url


def no_thread(_: object) -> None:
    raise RuntimeError("can't start new thread")


def no_pair() -> asyncio.AbstractEventLoop:
    raise OSError(22, "Invalid argument")


@pytest.mark.parametrize(
    ("lacks", "instead", "said"),
    [
        ("socket.AF_INET", None, "has no attribute 'AF_INET'"),
        ("socket.socket", None, "has no attribute 'socket'"),
        ("converse_harness.server.listener._EventLoop", no_pair, "Invalid argument"),
        ("threading.Thread.start", no_thread, "can't start new thread"),
    ],
)
def test_a_python_without_sockets_or_threads_is_told_what_works(
    lacks: str, instead: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = threading.active_count()
    server = ConverseServer()
    with monkeypatch.context() as patched:
        if instead is None:
            patched.delattr(lacks)
        else:
            patched.setattr(lacks, instead)
        with pytest.raises(TransportError) as caught:
            server.start()
    assert said in str(caught.value)
    assert "Use the fixture `converse`, which answers botocore and boto3, or `converse_httpx`" in str(caught.value)
    assert threading.active_count() == before
    with server:
        assert server.url


def test_a_python_without_reuse_of_addresses_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("socket.SO_REUSEADDR")
    with ConverseServer() as server, server.script(reply.text("hi")) as fake, Raw(fake.url) as peer:
        assert peer.ask(fake.url).status == 200


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with our plugin and pytest-socket's alone."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join([*OURS, *SOCKET]))
    return pytester


def test_pytest_socket_is_told_what_to_do(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from converse_harness import TransportError

        def test_it(request):
            with pytest.raises(TransportError) as caught:
                request.getfixturevalue("converse_server")
            print("said:", caught.value)

        def test_the_boto_transport_needs_none(converse):
            pass
        """
    )
    result = project.runpytest_subprocess("-s", "--disable-socket", "--allow-unix-socket", timeout=60)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*said:*pytest-socket has disabled them. Allow this one with --allow-hosts=127.0.0.1*"]
    )


@pytest.mark.slow
def test_pytest_socket_that_allows_the_loopback_is_no_hindrance(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import urllib.request
        from converse_harness import reply

        def test_it(converse_server):
            with converse_server.script(reply.text("hi")) as fake:
                body = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'
                urllib.request.urlopen(f"{fake.url}/model/m/converse", body).close()
        """
    )
    result = project.runpytest_subprocess("--allow-hosts=127.0.0.1", timeout=60)
    result.assert_outcomes(passed=1)
