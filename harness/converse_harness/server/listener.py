"""The loopback server: one thread with one event loop, and one fake per path prefix."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final, Self, Unpack

from converse_harness.endpoint.call import Call
from converse_harness.endpoint.responders import Responder
from converse_harness.endpoint.script import Replies
from converse_harness.errors import TransportError
from converse_harness.intercept import registry
from converse_harness.intercept.exchange import RefusingFake, TransportExchange
from converse_harness.intercept.fake import Settings
from converse_harness.server.live import STREAM, LivePage
from converse_harness.server.mounts import Mounts, PlainExchange, ServerFake
from converse_harness.server.protocol import LIMITS, Limits
from converse_harness.server.thread import ServerThread
from converse_harness.stream.http import Request

if TYPE_CHECKING:  # not imported at runtime, because most servers never record
    from converse_harness.recordings.choices import Mode
    from converse_harness.recordings.matching import Match, MatchFunction
    from converse_harness.recordings.redaction import Redaction
    from converse_harness.server.proxy import Options, RecordingFake

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
        self._live = LivePage(lambda: self.fakes, self._hosts)
        self._mounts = Mounts(self._control, self._live.page)
        self._thread = ServerThread(host, port, limits, self._mounts, self.stop)

    # Tests call the following methods, and read the following properties.

    def script(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        """Open a fake with its own URL. `settings` are those of a Fake, for example `unused`, `rules` or `seed`.

        Raises ReplyError for a value that is not a reply, TransportError if the server is not running.
        """
        fake = self._fake_at(_new_prefix(), *replies, **settings)
        self.recent.append(fake)
        return fake

    def answer_all(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> ServerFake:
        """Open a fake at the server's own URL. The fake answers every request that no other fake's URL matches."""
        return self._fake_at("", *replies, **settings)

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
        **settings: Unpack[Settings],
    ) -> ServerFake:
        """Open a fake with its own URL that forwards its calls to the real Bedrock, and records them.

        Each call is signed again with the credentials that boto3 finds in this environment, or is sent with the token
        in AWS_BEARER_TOKEN_BEDROCK. `upstream` is a URL to use instead of Bedrock's URL in the `region` (default: the
        environment's region). `mode`, `match`, `pace` and `ignore` have the same meaning as in the function `record`;
        `redaction` says what is replaced in the file. The file is rewritten after each call and when the fake closes.
        The recording is kept even if the test fails.

        Raises TransportError without credentials or a region. Raises ReplyError if the recording to replay does not
        exist. Closing the fake raises ReplyError if the file cannot be written; the message names the file that was
        written instead.
        """
        where: Options = {"upstream": upstream, "region": region, "redaction": redaction}
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
        return self._live.url(self.url)

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
            closing.callback(self._live.stop)
            closing.callback(self._thread.stop)
            for fake in self.fakes:
                closing.callback(fake.close)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        count = len(self.fakes)
        fakes = f", {count} open fake{'s' * (count != 1)}" if self._thread.url else ""
        return f"<ConverseServer {self._thread.url or 'stopped'}{fakes}>"

    # Mounts and ServerFake call the following private methods.

    def _control(self, request: Request) -> TransportExchange:
        """Answer a request to the control API, or one with which a browser reads the events of the live page."""
        if request.method == "GET" and request.target.partition("?")[0] == STREAM:
            return self._live.events(request)
        from converse_harness.server.control import ControlApi

        # The fakes that this thread opens belong to tests in other processes: no thread of this process calls them.
        registry.exempt(threading.current_thread())
        return PlainExchange(ControlApi(self, self._hosts).answer(request))

    @contextmanager
    def _mounted(self, fake: ServerFake, prefix: str) -> Generator[None, None, None]:
        """Context manager: in its block, the server answers with the fake. At its end, running answers are cut.

        So no client waits for an answer of a closed fake, and no event comes after the fake was closed.
        """
        if self.on_ended is not None:
            fake.endpoint.on_ended = partial(self.on_ended, fake)
        try:
            with registry.opened(RefusingFake(_NOT_AIMED, fake), boto=False, url=fake.url):
                self._mounts.fakes[prefix] = fake
                yield
        finally:
            if self._mounts.fakes.get(prefix) is fake:  # not if a newer fake has replaced this one
                del self._mounts.fakes[prefix]
            if any(each.answers_for(fake) for each in [*self._thread.connections]):
                self._thread.cut(fake)
            self._live.closed(fake)


def _new_prefix() -> str:
    """Return a new random path prefix for a fake, which nobody can guess."""
    return f"/fake-{token_urlsafe(12)}"
