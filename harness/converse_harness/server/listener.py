"""The loopback server: one thread with one event loop, and one fake per path prefix."""

from __future__ import annotations

import asyncio
import atexit
import errno
import os
import socket
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final, Self, Unpack
from weakref import WeakSet

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Replies, Responder
from converse_harness.errors import TransportError
from converse_harness.features import owned_by_feature
from converse_harness.intercept.clients import is_loopback
from converse_harness.intercept.exchange import RefusingFake, TransportExchange
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.server.connection import Connection
from converse_harness.server.front_page import ServerPages
from converse_harness.server.mounts import EndedAnswers, Mounts, PlainExchange, ServerFake
from converse_harness.settings import ONLY_SERVER, Settings, shows_settings
from converse_harness.stream.http import Request
from converse_harness.stream.http_protocol import LIMITS, Limits
from converse_harness.words import counted

if TYPE_CHECKING:  # not imported at runtime, because most servers never record
    from converse_harness.recordings.names import Mode
    from converse_harness.recordings.play.matching import Match, MatchFunction
    from converse_harness.recordings.redaction import Redaction
    from converse_harness.server.proxy import Options, RecordingFake


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

_NO_SERVER: Final = (
    "the loopback server needs sockets and a thread of its own, and this Python ({platform}) lacks one of them: "
    "{error}. Use the fixture `converse`, which answers botocore and boto3, or `converse_httpx`, which answers httpx: "
    "they answer in the thread of the test and need neither"
)

_NO_LOOP: Final = "the loopback server cannot make an event loop: {error}. Close files, or allow more (ulimit -n)"

_LATE: Final = "{count} function{s} of a script still run{es} after the server has stopped: {names}"

_FAREWELL: Final = 1.0
"""Timeout in seconds: how long `stop` waits for running script functions, and how long `cut` waits for resets."""


class ServerThread:
    """Listens on a port and answers requests with `mounts`, in its own thread, until it is stopped.

    `stop_all` is called if the start fails, or if the process exits before the server was stopped.
    """

    def __init__(self, host: str, port: int, limits: Limits, mounts: Mounts, stop_all: Callable[[], None]) -> None:
        self._host = host
        self._port = port
        self._limits = limits
        self._mounts = mounts
        self._stop_all = stop_all
        self.connections: set[Connection] = set()
        self._workers: set[threading.Thread] = set()
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str | None:
        """The server's URL; None if the server is not running."""
        if self._socket is None:
            return None
        host, port = self._socket.getsockname()[:2]
        return f"http://{_in_url(host)}:{port}"

    def bind(self) -> None:
        """Open the socket unless it is open. Raises TransportError if no socket or event loop can be opened."""
        if self._socket is None:
            self._socket, self._loop = self._listen()

    def start(self) -> None:
        """Start the thread unless it is running; `bind` must have been called.

        Raises TransportError if this Python cannot start a thread.
        """
        if self._thread is not None or self._socket is None or self._loop is None:
            return
        ready = threading.Event()
        thread = self._thread = threading.Thread(
            target=self._run, args=(self._socket, self._loop, ready), name="converse-harness server", daemon=True
        )
        OPEN_FAKES.exempt(thread)
        _RUNNING.add(self)
        atexit.register(self._stop_all)
        try:
            thread.start()
            ready.wait()
        except BaseException as error:
            if thread.ident is None:
                self._thread = None  # `stop` cannot wait for the end of a thread that never ran
            self._stop_all()
            if thread.ident is None and isinstance(error, RuntimeError):
                raise TransportError(_NO_SERVER.format(platform=sys.platform, error=error)) from error
            raise

    def stop(self) -> None:
        """Close every connection and end the thread; then wait up to a second for running script functions."""
        thread, self._thread = self._thread, None
        atexit.unregister(self._stop_all)
        _RUNNING.discard(self)
        if thread is not None and self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._loop is not None:
            self._loop.close()  # nothing is left to close if its thread has run
        self._wait_for_functions()

    def cut(self, owner: object) -> None:
        """Break off all running answers of the fake `owner` by resets, and wait up to a second until this is done."""

        def cut() -> None:
            for connection in [*self.connections]:
                connection.cut(owner)

        if threading.current_thread() is self._thread:
            cut()
        else:
            self._in_loop(cut)

    def settle(self) -> None:
        """Wait up to a second until the server has seen which clients have closed their connections."""
        if threading.current_thread() is not self._thread:
            self._in_loop(lambda: None)

    def _in_loop(self, act: Callable[[], None]) -> None:
        """Call `act` in the event loop, after what has happened on the sockets so far; wait up to a second for it."""
        loop, over = self._loop, threading.Event()

        def after(turns: int) -> None:
            # asyncio needs three turns from the select that shows the end of a connection to `connection_lost`.
            if turns and loop is not None:
                loop.call_soon(after, turns - 1)
            else:
                act()
                over.set()

        with suppress(RuntimeError):  # the loop has ended, and with it all connections
            if loop is not None:
                loop.call_soon_threadsafe(after, 4)
                over.wait(_FAREWELL)

    def _listen(self) -> tuple[socket.socket, asyncio.AbstractEventLoop]:
        try:
            listening = _bind(self._host, self._port)
        except AttributeError as error:  # a Python without sockets lacks names of the module, or the whole class
            raise TransportError(_NO_SERVER.format(platform=sys.platform, error=error)) from error
        except (OSError, OverflowError, UnicodeError) as error:
            raise TransportError(_IN_USE.format(host=self._host, port=self._port, error=error)) from error
        except RuntimeError as error:
            if type(error).__name__ == "SocketBlockedError":
                raise TransportError(_BLOCKED) from error
            raise
        try:
            if not is_loopback(f"http://{_in_url(self._host)}"):
                warnings.warn(_NOT_LOOPBACK.format(host=self._host or "all addresses"), stacklevel=4)
            # The loop begins with such a pair. Where it gets none, it would stay behind half made, and unclosed.
            for end in socket.socketpair():
                end.close()
            return listening, _EventLoop()
        except BaseException as error:
            listening.close()
            if isinstance(error, OSError):
                why = _NO_LOOP if error.errno in (errno.EMFILE, errno.ENFILE) else _NO_SERVER
                raise TransportError(why.format(platform=sys.platform, error=error)) from error
            raise

    def _run(self, bound: socket.socket, loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
        def connected() -> Connection:
            return Connection(loop, self._mounts, self._limits, self.connections, self._in_thread)

        try:
            asyncio.set_event_loop(loop)
            listening = loop.create_task(loop.create_server(connected, sock=bound, backlog=1024))
            listening.add_done_callback(lambda _: ready.set())
            loop.run_forever()
            loop.run_until_complete(listening)  # `stop` may come earlier, if a signal interrupts `start`
            loop.remove_reader(bound)
            # The loop needs one or two turns to add an accepted connection to `connections`, and to remove a cut
            # connection. If the server closed earlier, asyncio would lose track of the open sockets of these
            # connections.
            while self.connections or asyncio.all_tasks(loop):
                for connection in [*self.connections]:
                    connection.cut()
                loop.run_until_complete(asyncio.sleep(0))
            listening.result().close()
        finally:
            ready.set()
            asyncio.set_event_loop(None)
            loop.close()

    def let_go(self) -> None:
        """Close the inherited sockets in a forked child, by replacing them with /dev/null."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            for number in [self._socket.fileno() if self._socket else -1, *(c.fileno() for c in self.connections)]:
                if number >= 0:
                    # With os.close(), another file could get the number, and the socket object would later close it.
                    os.dup2(nowhere, number, inheritable=False)
        finally:
            os.close(nowhere)
        atexit.unregister(self._stop_all)

    def _in_thread(
        self, give: Callable[[], TransportExchange], answered: Callable[[TransportExchange], None], forwards: bool
    ) -> None:
        """Run `give` (a scripted function or a forwarded call) in a new thread; then call `answered` in the loop."""
        loop = self._loop
        assert loop is not None  # only the running loop calls this method

        def work() -> None:
            try:
                exchange = give()
                try:
                    loop.call_soon_threadsafe(answered, exchange)
                except RuntimeError:  # the server has stopped meanwhile
                    exchange.ended("cut")
            finally:
                self._workers.discard(threading.current_thread())

        worker = threading.Thread(target=work, name="converse-harness function", daemon=True)
        if forwards:
            OPEN_FAKES.exempt(worker)
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
            warnings.warn(_LATE.format(count=len(late), s=s, es=es, names=", ".join(late)), stacklevel=4)


if sys.platform == "win32":
    _real_time: Final = partial(time.monotonic)
else:
    _real_time: Final = partial(time.clock_gettime, time.CLOCK_MONOTONIC)
"""The monotonic clock, in a form that freezegun does not replace: freezegun replaces `time.monotonic` in all modules.
"""


class _EventLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers still fire when a test has frozen the time with freezegun."""

    def time(self) -> float:
        return _real_time()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _bind(host: str, port: int) -> socket.socket:
    """Bind a port and return the listening socket.

    The socket has the protocol IPPROTO_TCP; without it, asyncio would not set TCP_NODELAY, and each stream would take
    40 ms more.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if hasattr(socket, "SO_REUSEADDR"):
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except BaseException:
        listening.close()
        raise
    return listening


_RUNNING: WeakSet[ServerThread] = WeakSet()


def urls_of_servers() -> tuple[str, ...]:
    """Return the URLs of all servers that run in this process."""
    return tuple(url for server in list(_RUNNING) if (url := server.url) is not None)


def _after_fork_in_child() -> None:
    """Close the inherited sockets in a forked child: while a copy is open, clients do not see a connection end."""
    for server in _RUNNING:
        server.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


_NOT_AIMED: Final = (
    "a boto client called Bedrock itself while a fake of a ConverseServer is open, which answers at its own URL only. "
    "Give the client endpoint_url=fake.url, or its process fake.environ; or use the fixture `converse`, which answers "
    "boto clients wherever they are aimed"
)


class ConverseServer:
    """A loopback server, HTTP/1.1 and HTTP/2 on one port, with any number of fakes.

    Use it in `with`, or call `start` and `stop`. With `port` 0 it listens on a free port. A `host` outside the loopback
    causes a warning. The control API accepts in the header `Host` only the loopback's names, `host` and `allow_hosts`;
    the paths of Bedrock accept any `Host`.

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
        self._hosts = frozenset(each.lower() for each in (host, *allow_hosts))
        self.settings: Settings = {}
        """The default settings of new fakes."""
        self.recent: deque[ServerFake] = deque(maxlen=1)
        """The fake that `script` or `record` opened last. Only this one is kept; a Hypothesis test opens hundreds."""
        self.on_ended: Callable[[ServerFake, Call], None] | None = None
        """A function that the server's thread calls when an answer of a scripted fake ends.

        The function must not block.
        """
        pages: type[ServerPages] = owned_by_feature("server", "pages") or ServerPages
        self._pages = pages(lambda: self.fakes, self._hosts)
        self._mounts = Mounts(self._control, self._pages.page)
        self._thread = ServerThread(host, port, limits, self._mounts, self.stop)

    # Tests call the following methods, and read the following properties.

    @shows_settings(Settings, ONLY_SERVER)
    def script(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        """Open a fake with its own URL. `settings` are those of a Fake, for example `unused`, `rules` or `seed`.

        The fake keeps its last 2,000 calls, and makes a note when it lets go of the first one; `keep_calls=None` keeps
        all calls.

        Raises ReplyError for a value that is not a reply, TransportError if the server is not running.
        """
        fake = self._fake_at(_new_prefix(), *replies, **settings)
        self.recent.append(fake)
        return fake

    @shows_settings(Settings, ONLY_SERVER)
    def answer_all(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        """Open a fake at the server's own URL. The fake answers every request that no other fake's URL matches."""
        return self._fake_at("", *replies, **settings)

    @shows_settings(Settings, ONLY_SERVER)
    def record(
        self,
        path: str | Path,
        *,
        upstream: str | None = None,
        region: str | None = None,
        mode: Mode | str = "all",
        match: Match | MatchFunction = "shape",
        pace: float | str = 0.0,
        ignore: Collection[str] = (),
        redaction: Redaction | None = None,
        keep_files: bool = False,
        **settings: Unpack[Settings],
    ) -> ServerFake:
        """Open a fake with its own URL that forwards its calls to the real Bedrock, and records them.

        Each call is signed again with the credentials that boto3 finds in this environment, or is sent with the token
        in AWS_BEARER_TOKEN_BEDROCK. `upstream` is a URL to use instead of Bedrock's URL in the `region` (default: the
        environment's region). `mode`, `match`, `pace`, `ignore` and `keep_files` have the same meaning as in the
        function `record`; `redaction` says what is replaced in the file. The file is rewritten after each call and when
        the fake closes. The recording is kept even if the test fails.

        Raises TransportError without credentials or a region. Raises ReplyError if the recording to replay does not
        exist. Closing the fake raises ReplyError if the file cannot be written; the message names the file that was
        written instead.
        """
        where: Options = {"upstream": upstream, "region": region, "redaction": redaction, "keep_files": keep_files}
        options: Options = {**where, "mode": mode, "match": match, "pace": pace, "ignore": ignore}
        fake = self._recording_at(_new_prefix(), settings, path, options)
        self.recent.append(fake)
        return fake

    def record_all(self, path: str | Path, **options: Unpack[Options]) -> RecordingFake:
        """Open a fake at the server's own URL that forwards its calls to the real Bedrock, and records them.

        The fake gets every request that no other fake's URL matches. The options are those of `record`.
        """
        return self._recording_at("", {}, path, options)

    def _recording_at(self, prefix: str, settings: Settings, path: str | Path, options: Options) -> RecordingFake:
        from converse_harness.server.proxy import RecordingFake

        url, mount = self.url + prefix, partial(self._mounted, prefix=prefix)
        return RecordingFake(url, mount, {**self.settings, **settings}, path, options)

    def _fake_at(self, prefix: str, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        with_defaults: Settings = {**self.settings, **settings}
        return ServerFake(self.url + prefix, lambda fake: self._mounted(fake, prefix), *replies, **with_defaults)

    @property
    def fakes(self) -> list[ServerFake]:
        """The fakes that are open."""
        return list(self._mounts.fakes.values())

    @property
    def url(self) -> str:
        """The server's own URL. Raises TransportError if the server is not running."""
        url = self._thread.url
        if url is None:
            raise TransportError("the server is not running: use it in `with`, or call start().")
        return url

    @property
    def page_url(self) -> str:
        """The address of a page for browsers that shows the calls of all fakes while they happen.

        Treat the address as a secret, because it contains a token. Raises TransportError if the server is not running.
        """
        return self._pages.url(self.url)

    # The following methods start, stop and describe the server.

    def bind(self) -> None:
        """Open the socket, so that `url` is known, and fakes can be opened before `start`. Until then, requests wait.

        Raises TransportError if no socket can be opened.
        """
        self._thread.bind()

    def start(self) -> Self:
        """Start answering, after `bind` if that was not called.

        Raises TransportError if no socket can be opened, or no thread started.
        """
        self._thread.bind()
        self._thread.start()
        return self

    def stop(self) -> None:
        """Close every fake (without checking it) and every connection, and end the thread; a second call does nothing.

        Raises ReplyError, after closing everything, if a recording cannot be written.
        """
        with ExitStack() as closing:
            closing.callback(self._pages.stop)
            closing.callback(self._thread.stop)
            for fake in self.fakes:
                closing.callback(fake.close)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        count = len(self.fakes)
        fakes = f", {counted(count, 'open fake')}" if self._thread.url else ""
        return f"<ConverseServer {self._thread.url or 'stopped'}{fakes}>"

    # Mounts and ServerFake call the following private methods.

    def _control(self, request: Request) -> TransportExchange:
        """Answer a request to the control API, or one of a page in a browser."""
        if (answer := self._pages.answer(request)) is not None:
            return answer
        from converse_harness.server.control import ControlApi

        # The fakes that this thread opens belong to tests in other processes: no thread of this process calls them.
        OPEN_FAKES.exempt(threading.current_thread())
        return PlainExchange(ControlApi(self, self._hosts).answer(request))

    @contextmanager
    def _mounted(self, fake: ServerFake, prefix: str) -> Generator[None, None, None]:
        """Context manager: in its block, the server answers with the fake. At its end, running answers are cut.

        So no client waits for an answer of a closed fake, and no event comes after the fake was closed.
        """
        if self.on_ended is not None:
            fake.endpoint.add(partial(EndedAnswers, partial(self.on_ended, fake)))
        try:
            with OPEN_FAKES.opened(RefusingFake(_NOT_AIMED, fake.core), boto=False, url=fake.url):
                self._mounts.fakes[prefix] = fake
                yield
        finally:
            if self._mounts.fakes.get(prefix) is fake:  # not if a newer fake has replaced this one
                del self._mounts.fakes[prefix]
            connections = [*self._thread.connections]
            if any(each.answers_for(fake) for each in connections):
                self._thread.cut(fake)
            elif any(each.streamed_for(fake) for each in connections):
                self._thread.settle()
            self._pages.closed(fake)


def _new_prefix() -> str:
    """Return a new random path prefix for a fake, which nobody can guess."""
    return f"/fake-{token_urlsafe(12)}"
