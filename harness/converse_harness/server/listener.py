"""The loopback server: one thread with one event loop, and a fake for each path prefix."""

from __future__ import annotations

import asyncio
import atexit
import os
import socket
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, Unpack
from weakref import WeakSet

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Replies, Responder
from converse_harness.errors import TransportError
from converse_harness.intercept import registry
from converse_harness.intercept.clients import is_loopback
from converse_harness.intercept.exchange import RefusingFake, TransportExchange
from converse_harness.intercept.fake import Fake, Settings
from converse_harness.server.connection import Connection, failed
from converse_harness.server.mounts import Mounts, ServerFake
from converse_harness.server.protocol import LIMITS, Limits
from converse_harness.stream.http import HttpResponse, Request

if TYPE_CHECKING:  # most never record
    from converse_harness.recordings.choices import Mode
    from converse_harness.recordings.matching import Match
    from converse_harness.recordings.redaction import Redaction
    from converse_harness.server.proxy import Options, RecordingFake

_NOT_AIMED: Final = (
    "a boto client called Bedrock itself while a fake of a ConverseServer is open, which answers at its own URL only. "
    "Give the client endpoint_url=fake.url, or its process fake.environ; or use the fixture `converse`, which answers "
    "boto clients wherever they are aimed"
)
_BLOCKED: Final = (
    "the loopback server cannot open a socket: pytest-socket has disabled them. Allow this one with --allow-hosts="
    "127.0.0.1 in place of --disable-socket, or with @pytest.mark.enable_socket; or use the fixtures `converse` and "
    "`converse_httpx`, which need no socket"
)
_IN_USE: Final = "the loopback server cannot listen on {host}:{port}: {error}. Choose another port, or 0 for a free one"
_NOT_LOOPBACK: Final = (
    "the server listens on {host}, which other machines can reach: whoever does can read what is asked and script "
    "answers. Keep to 127.0.0.1 unless a container has to reach it"
)
_NO_LOOP: Final = "the loopback server cannot make an event loop: {error}. Close files, or allow more (ulimit -n)"
_LATE: Final = "{count} function{s} of a script still run{es} after the server has stopped: {names}"
_FAREWELL: Final = 1.0
"""Seconds that functions of a script get to end when the server stops."""


class ConverseServer:
    """A loopback server, HTTP/1.1 and HTTP/2 on one port, that holds any number of fakes; `with`, or start and stop.

    `port` 0 is a free one. Raises TransportError where no socket can be opened. A `host` off the loopback warns. The
    control API answers under the loopback's names and `host`, and under those of `allow_hosts`; Bedrock's own paths
    answer under any.

    >>> import urllib.error, urllib.request
    >>> from converse_harness import ConverseServer
    >>> from converse_harness import reply
    >>> body = b'{"messages": [{"role": "user", "content": [{"text": "hello"}]}]}'
    >>> with ConverseServer() as server, server.script(reply.text("hi")) as fake:
    ...     with urllib.request.urlopen(f"{fake.url}/model/m/converse", body) as answer:
    ...         status = answer.status
    >>> status, fake.calls[0].last_user_text
    (200, 'hello')
    """

    def __init__(
        self, *, host: str = "127.0.0.1", port: int = 0, limits: Limits = LIMITS, allow_hosts: Collection[str] = ()
    ) -> None:
        self._host = host
        self._hosts = frozenset(each.lower() for each in (host, *allow_hosts))
        self._port = port
        self._limits = limits
        self.settings: Settings = {}
        """What a fake is opened with where the call says nothing else."""
        self.recent: deque[ServerFake] = deque(maxlen=1)
        """The fake that was opened last: a property opens hundreds."""
        self.on_ended: Callable[[ServerFake, Call], None] | None = None
        """Is called when an answer of a scripted fake has ended, in the server's own thread: it must not wait."""
        self._mounts = Mounts(self._control)
        self._connections: set[Connection] = set()
        self._workers: set[threading.Thread] = set()
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    # What a test says

    def script(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        """Open a fake with a URL of its own; `settings` are those of a Fake: unused, unexpected, rules, history, seed.

        Raises ReplyError for what is no reply, TransportError if the server is not running.
        """
        fake = self._fake_at(self._mounts.prefix(), *replies, **settings)
        self.recent.append(fake)
        return fake

    def answer_all(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        """The same with the server's own URL: a fake that answers whatever is no other's."""
        return self._fake_at("", *replies, **settings)

    def record(
        self,
        path: str | Path,
        *,
        upstream: str | None = None,
        region: str | None = None,
        mode: Mode | str = "all",
        match: Match = "shape",
        pace: float | str = 0.0,
        redaction: Redaction | None = None,
        **settings: Unpack[Settings],
    ) -> ServerFake:
        """Open a fake with a URL of its own that passes on what it is asked to Bedrock, live, and records it.

        What it passes on is signed anew with the credentials of this environment, as boto3 finds them, or sent with
        AWS_BEARER_TOKEN_BEDROCK; `upstream` is a URL in place of Bedrock's in the `region` (default: the
        environment's). `mode`, `match` and `pace` are as for the function `record`, and `redaction` says what is
        replaced in the file. That is written anew after each call that ended, and when the fake closes; however the
        test ends, what was recorded is kept. Raises TransportError without credentials or a region, and ReplyError
        where the file is not there to be played, or cannot be written, with the place where it is instead.
        """
        where: Options = {"upstream": upstream, "region": region, "redaction": redaction}
        options: Options = {**where, "mode": mode, "match": match, "pace": pace}
        fake = self._recording_at(self._mounts.prefix(), settings, path, **options)
        self.recent.append(fake)
        return fake

    def record_all(self, path: str | Path, **options: Unpack[Options]) -> RecordingFake:
        """The same with the server's own URL: whatever is no other fake's is forwarded and recorded."""
        return self._recording_at("", {}, path, **options)

    def _recording_at(
        self, prefix: str, settings: Settings, path: str | Path, **options: Unpack[Options]
    ) -> RecordingFake:
        from converse_harness.server.proxy import open_recording

        with_defaults: Settings = {**self.settings, **settings}
        url = self.url + prefix
        return open_recording(url, lambda fake: self._mounted(fake, prefix), with_defaults, path, **options)

    def _fake_at(self, prefix: str, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        with_defaults: Settings = {**self.settings, **settings}
        return ServerFake(self.url + prefix, lambda fake: self._mounted(fake, prefix), *replies, **with_defaults)

    @property
    def fakes(self) -> list[ServerFake]:
        """The fakes that are open."""
        return list(self._mounts.fakes.values())

    @property
    def url(self) -> str:
        """Where the server listens. Raises TransportError if it does not."""
        if self._socket is None:
            raise TransportError("the server is not running: use it in `with`, or call start().")
        host, port = self._socket.getsockname()[:2]
        return f"http://{_in_url(host)}:{port}"

    # Running

    def start(self) -> Self:
        """Listen from now on. Raises TransportError if it cannot."""
        if self._thread is None:
            self._socket, self._loop = self._listen()
            ready = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._socket, self._loop, ready), name="converse-harness server", daemon=True
            )
            registry.exempt(self._thread)
            _RUNNING.add(self)
            atexit.register(self.stop)
            try:
                self._thread.start()
                ready.wait()
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """Close every fake, without a check, every connection and the thread; stopping twice does nothing.

        Raises ReplyError for a recording that cannot be written, when all is closed.
        """
        with ExitStack() as closing:
            closing.callback(self._stop)
            for fake in self.fakes:
                closing.callback(fake.close)

    def _stop(self) -> None:
        thread, self._thread = self._thread, None
        atexit.unregister(self.stop)
        _RUNNING.discard(self)
        if thread is not None and self._loop is not None:
            with suppress(RuntimeError):  # it ended by itself
                self._loop.call_soon_threadsafe(self._shut)
            thread.join()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._wait_for_functions()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<ConverseServer {'stopped' if self._socket is None else self.url}>"

    # The fakes' side

    def _control(self, request: Request) -> HttpResponse:
        from converse_harness.server.control import ControlApi

        registry.exempt(threading.current_thread())  # it opens and closes for tests that run somewhere else
        return ControlApi(self, self._hosts).answer(request)

    @contextmanager
    def _mounted(self, fake: ServerFake, prefix: str) -> Generator[None, None, None]:
        if self.on_ended is not None:
            fake.endpoint.on_ended = partial(self.on_ended, fake)
        try:
            with registry.opened(RefusingFake(_NOT_AIMED, fake), boto=False, url=fake.url):
                self._mounts.mount(fake, prefix)
                yield
        finally:
            self._mounts.unmount(fake, prefix)
            self._cut(fake)

    def _cut(self, fake: Fake) -> None:
        """End what a closed fake still says, so that no client waits for it and no event comes after its end."""
        loop = self._loop
        runs = any(call.outcome == "still running" for call in fake.calls)
        if loop is None or not (runs or any(each.answers_for(fake) for each in [*self._connections])):
            return
        over = threading.Event()

        def cut() -> None:
            for connection in [*self._connections]:
                connection.cut(fake)
            over.set()

        if threading.current_thread() is self._thread:
            cut()
            return
        with suppress(RuntimeError):  # the loop has ended, and everything with it
            loop.call_soon_threadsafe(cut)
            over.wait(_FAREWELL)

    # The thread's side

    def _listen(self) -> tuple[socket.socket, asyncio.AbstractEventLoop]:
        try:
            listening = _bind(self._host, self._port)
        except (OSError, OverflowError, UnicodeError) as error:
            raise TransportError(_IN_USE.format(host=self._host, port=self._port, error=error)) from error
        except RuntimeError as error:
            if type(error).__name__ == "SocketBlockedError":
                raise TransportError(_BLOCKED) from error
            raise
        try:
            if not is_loopback(f"http://{_in_url(self._host)}"):
                warnings.warn(_NOT_LOOPBACK.format(host=self._host or "all addresses"), stacklevel=3)
            return listening, _EventLoop()
        except BaseException as error:
            listening.close()
            if isinstance(error, OSError):
                raise TransportError(_NO_LOOP.format(error=error)) from error
            raise

    def _run(self, bound: socket.socket, loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
        def connected() -> Connection:
            return Connection(loop, self._mounts, self._limits, self._connections, self._in_thread)

        try:
            asyncio.set_event_loop(loop)
            listening = loop.run_until_complete(loop.create_server(connected, sock=bound, backlog=1024))
            loop.call_soon(ready.set)
            loop.run_forever()
            loop.remove_reader(bound)
            # Those that were accepted this moment appear after a turn or two, as the end does of those that are cut.
            # Were the server closed before them, asyncio would forget them with their sockets open.
            while self._connections or asyncio.all_tasks(loop):
                for connection in [*self._connections]:
                    connection.cut()
                loop.run_until_complete(asyncio.sleep(0))
            listening.close()
        finally:
            ready.set()
            asyncio.set_event_loop(None)
            loop.close()

    def let_go(self) -> None:
        """Drop the copies of the sockets that a forked child has."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            for number in [self._socket.fileno() if self._socket else -1, *(c.fileno() for c in self._connections)]:
                if number >= 0:
                    os.dup2(nowhere, number, inheritable=False)  # what is closed there could close another file later
        finally:
            os.close(nowhere)
        atexit.unregister(self.stop)

    def _shut(self) -> None:
        assert self._loop is not None  # it runs this
        self._loop.stop()

    def _in_thread(
        self, give: Callable[[], TransportExchange], answered: Callable[[TransportExchange], None], forwards: bool
    ) -> None:
        """Run functions of a script, or ask somebody else, where that blocks nobody."""
        loop = self._loop
        assert loop is not None  # it runs this

        def work() -> None:
            try:
                try:
                    exchange = give()
                except Exception as error:  # noqa: BLE001 - a mistake of ours; the server lives on
                    exchange = failed(loop, error)
                try:
                    loop.call_soon_threadsafe(answered, exchange)
                except RuntimeError:  # the server has stopped meanwhile
                    exchange.ended("cut")
            finally:
                self._workers.discard(threading.current_thread())

        worker = threading.Thread(target=work, name="converse-harness function", daemon=True)
        if forwards:
            registry.exempt(worker)
        else:
            self._workers.add(worker)
        worker.start()

    def _wait_for_functions(self) -> None:
        end = time.monotonic() + _FAREWELL
        working = {*self._workers} - {threading.current_thread()}
        for worker in working:
            worker.join(max(0.0, end - time.monotonic()))
        late = [worker.name for worker in working if worker.is_alive()]
        if late:
            s, es = ("", "s") if len(late) == 1 else ("s", "")
            warnings.warn(_LATE.format(count=len(late), s=s, es=es, names=", ".join(late)), stacklevel=3)


_real_time: Final = (
    partial(time.clock_gettime, time.CLOCK_MONOTONIC) if hasattr(time, "clock_gettime") else partial(time.monotonic)
)
"""freezegun replaces `time.monotonic` wherever a module holds it, also while it is frozen; it leaves this alone."""


class _EventLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers ring while the test has stopped the time."""

    def time(self) -> float:
        return _real_time()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket made with IPPROTO_TCP: without it asyncio would not set TCP_NODELAY (40 ms a stream)."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except BaseException:
        listening.close()
        raise
    return listening


_RUNNING: WeakSet[ConverseServer] = WeakSet()


def _after_fork_in_child() -> None:
    """A forked child has copies of the sockets, and clients would see no end while it holds them open."""
    for server in _RUNNING:
        server.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
