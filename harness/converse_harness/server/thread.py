"""The server's thread: a listening socket, one event loop, and worker threads for scripted functions."""

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
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final
from weakref import WeakSet

from converse_harness.errors import TransportError
from converse_harness.intercept import registry
from converse_harness.intercept.clients import is_loopback
from converse_harness.intercept.exchange import TransportExchange
from converse_harness.server.connection import Connection
from converse_harness.server.mounts import Mounts
from converse_harness.server.protocol import Limits

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
        registry.exempt(thread)
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
        loop = self._loop
        if loop is None:
            return
        over = threading.Event()

        def cut() -> None:
            for connection in [*self.connections]:
                connection.cut(owner)
            over.set()

        if threading.current_thread() is self._thread:
            cut()
            return
        with suppress(RuntimeError):  # the loop has ended, and with it all connections
            loop.call_soon_threadsafe(cut)
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


def _after_fork_in_child() -> None:
    """Close the inherited sockets in a forked child: while a copy is open, clients do not see a connection end."""
    for server in _RUNNING:
        server.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
