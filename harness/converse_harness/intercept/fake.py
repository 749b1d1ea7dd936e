"""The class Fake: the object that a test scripts and inspects. A transport passes the clients' calls to the Fake."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, Unpack, cast
from weakref import WeakSet

from converse_harness import refusals
from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call, Calls
from converse_harness.endpoint.failure_texts import shortened, transcript
from converse_harness.endpoint.script import Replies, Responder, scripted_in_short
from converse_harness.endpoint.stage import Stage
from converse_harness.errors import BlockedConnection, RefusedRequest, TransportError, UnexpectedCall
from converse_harness.features import with_methods_of_features
from converse_harness.intercept import observers
from converse_harness.intercept.clients import KEYS
from converse_harness.intercept.scripting import Scripting
from converse_harness.notes import Note, hand_in, withdraw
from converse_harness.secrets.mask import header_secrets
from converse_harness.secrets.process import remember, see_environ
from converse_harness.settings import DEFAULTS, OF_ENDPOINT, Settings, check_settings, shows_settings
from converse_harness.stream.http import Request
from converse_harness.words import counted

if TYPE_CHECKING:
    from converse_harness.recordings.record.write import AnyExchange, SessionWriter

_ALREADY_OPEN: Final = (
    "this fake is already open. Use it without another `with` or open(): the end of that block would close it, and the "
    "calls after the block would reach Bedrock. The fixtures of converse-harness are open from the start."
)

_REFUSED_LATER: Final = "After the fake had closed, {calls} calls were refused in this way; this is the first."

_open: WeakSet[Fake] = WeakSet()
_times_opened = 0
_await_calls = False


def await_calls(awaited: bool) -> bool:
    """Choose whether fakes that open from now on await a call, as those that a test opens do. Return what was chosen.

    If no call comes, `check` makes a note.
    """
    global _await_calls
    before, _await_calls = _await_calls, awaited
    return before


def open_fakes() -> dict[Fake, int]:
    """Return all open fakes of this process, each with the number of its problems so far."""
    # The plugin asks for each fixture, and to go through an empty set of weak references takes a while.
    return {fake: len(fake.endpoint.problems) for fake in list(_open)} if _open else {}


def times_opened() -> int:
    """Return the number of times that any fake was opened in this process."""
    return _times_opened


class _NoCalls(Calls):  # noqa: PLW1641 - as Calls, it equals a list, and no list has a hash
    """The calls of a fake that has got none so far.

    A test that counts them knows that there are none. A test that only looks at each of them checks nothing.
    """

    __slots__ = ("_endpoint",)

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._endpoint = endpoint

    @property
    def all(self) -> Calls:
        return self

    def of(self, operation: str, *, service: str | None = None) -> Calls:
        self._endpoint.awaits_call = False
        return super().of(operation, service=service)

    def __len__(self) -> int:
        self._endpoint.awaits_call = False
        return 0

    def __iter__(self) -> Iterator[Call]:
        self._endpoint.looks_at_calls = True
        return iter(())

    def __eq__(self, other: object) -> bool:
        self._endpoint.awaits_call = False
        return super().__eq__(other)


class FakeCore:
    """What transports and the pytest plugin use of a fake. Any thread may call the methods.

    `endpoint` answers the requests, one after the other under the `lock`. `allowed` are the classes of problems that do
    not fail the test. `attempts` is the maximum number of attempts of a botocore client for one call; None keeps the
    client's own setting. `where` is the text after the class name in the repr and in report headings, such as
    " (httpx)".
    """

    records = False
    """Whether a `writer` is set. If so, calls without a scripted reply are forwarded to the real service and recorded.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        allowed: tuple[type[Exception], ...],
        *,
        sleeps: bool,
        attempts: int | None,
        where: str,
    ) -> None:
        self.endpoint = endpoint
        self.where = where
        self.allowed = allowed
        self.attempts = attempts
        endpoint.lock = threading.RLock()
        self.state: Literal["not open", "open", "closed"] = "not open"
        self.before: Callable[[], None] | None = None
        """A function that is called before each request is answered. It may raise BlockedConnection."""
        self.noted = 0
        """The number of the endpoint's notes that `check_problems` has handed in, or that the test has read."""
        self._sleeps = sleeps
        self._writer: SessionWriter | None = None
        self._forwarding: Stage | None = None
        self._raised: set[int] = set()
        self._refused_later = 0
        self._first_later = BlockedConnection()
        self._late: refusals.Late | None = None
        self.tells_late_calls = True
        """Whether a call that comes after the fake has closed fails a test; it is refused in any case."""
        self.closed_in = ""
        """The test in which the fake closed."""

    @property
    def lock(self) -> AbstractContextManager[object]:
        """The lock of the endpoint."""
        return self.endpoint.lock

    @property
    def writer(self) -> SessionWriter | None:
        """The writer that records forwarded calls; None if no calls are forwarded."""
        return self._writer

    @writer.setter
    def writer(self, writer: SessionWriter | None) -> None:
        if self._forwarding is not None:
            self.endpoint.remove(self._forwarding)
        self._writer, self.records, self._forwarding = writer, writer is not None, None
        if writer is not None:
            from converse_harness.recordings.record.write import Forwarding

            self._forwarding = self.endpoint.add(partial(Forwarding, writer))

    @property
    def sleeps(self) -> bool:
        """Whether clients really sleep between retries; always true while `records` is true."""
        return self._sleeps or self.records

    def exchange(self, request: Request, *, service: str = "", operation: str = "") -> AnyExchange:
        """Answer one request, or return a ForwardedExchange if the transport must forward it. Thread-safe."""
        see_environ()
        if self.before is not None:
            self.before()
        self.attach()
        if self.records:
            remember(*header_secrets(request.headers))
        # Of the stages, only Forwarding returns an Exchange.
        return cast(
            "AnyExchange", self.endpoint.exchange(request, operation=operation or None, service=service or None)
        )

    def attach(self) -> None:
        """Have those stages that the pytest run attaches now to the fakes of this process."""
        if self.endpoint.attached is not observers.attached():
            with self.lock:
                self.endpoint.attach(observers.attached())

    def take_turns_with(self, other: FakeCore) -> None:
        """Use the other fake's lock for both fakes, so that two fakes of two transports can replay one recording."""
        self.endpoint.lock = other.endpoint.lock

    @property
    def runs_functions(self) -> bool:
        """Whether answering a call may run a user's function, which may be slow."""
        return self.endpoint.runs_functions

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Record that a wait before a retry was skipped: its number of seconds, and the failed `call`.

        If `call` is None, the wait is added to the last failed call that has no wait yet.
        """
        if call is None:
            calls = reversed(self.endpoint.calls)
            call = next((each for each in calls if each.response is None and not each.answered.waited), None)
        if call is not None:
            call.answered.waited += seconds

    def block(self, error: BlockedConnection) -> None:
        """Add a blocked connection to the problems that must fail the test; after the fake has closed, only count it.

        `check_problems` raises the first of those that were counted, with their number.
        """
        if self.state != "closed":
            self.endpoint.problems.append(error)
            return
        # The thread may go on for ever, so only its first call is kept, and not the error itself: its traceback will
        # hold the thread and its client.
        self._refused_later += self.tells_late_calls
        if self.tells_late_calls and self._refused_later == 1:
            self._first_later = copy(error)
            self._late = refusals.is_late(str(error), self.closed_in)  # in case that nobody checks this fake any more
            self.endpoint.problems.append(self._first_later)

    def check_problems(self, error: BaseException | None = None, *, since: int = 0) -> None:
        """Raise the first problem that was not raised before. Unused replies are not checked.

        The first `since` problems are skipped, because other code raises them. `error` is the exception with which the
        test failed; if it is one of the problems, nothing is raised.
        """
        __tracebackhide__ = True
        self.endpoint.problems += map(BlockedConnection, refusals.of_others())
        if self._refused_later > 1:
            self._first_later.add_note(_REFUSED_LATER.format(calls=self._refused_later))
        self._refused_later = 0
        refusals.is_told(self._late)
        new = [each for each in self.endpoint.problems[since:] if id(each) not in self._raised]
        problems = [each for each in new if not isinstance(each, self.allowed)]
        self._raised.update(map(id, new))
        self._hand_in()
        told = error in problems or (isinstance(error, BlockedConnection) and str(error) in map(str, problems))
        if error is not None and not isinstance(error, Exception):  # a function of the script ended with it
            told = told or any(each.__cause__ is error for each in problems)
        if problems and not told:
            raise problems[0] from problems[0].__cause__ or error

    def note_left(self, notes: Iterable[Note]) -> None:
        """Make notes about what the test has left behind, each once, and hand them in."""
        known = {(note.kind, note.call) for note in self.endpoint.notes}
        calls = {call.number: call for call in self.endpoint.calls}
        for note in notes:
            if (note.kind, note.call) in known:
                continue
            if note.call in calls:
                self.endpoint.note(calls[note.call], note)
            else:
                self.endpoint.notes.append(note)
        self._hand_in()

    def _hand_in(self) -> None:
        notes = self.endpoint.notes[self.noted :]
        self.noted += len(notes)
        hand_in(notes)


@with_methods_of_features
@shows_settings(Settings)
class Fake(Scripting):
    """A fake Bedrock: its script, its calls so far, and the problems that must fail the test.

    Use it in `with` or `async with`. Leaving the block raises UnusedReplies unless `unused` is "allow", and raises
    UnexpectedCall or RefusedRequest unless `unexpected` is "allow". With `history` "fail", it raises ChangedHistory if
    a request changed an earlier answer of the model. Raises ReplyError for a wrong setting. `converse_harness.settings`
    describes each setting.

    Each transport has its own subclass of Fake. The fixtures `converse`, `converse_httpx` and `converse_server`, and
    the function `fake_converse`, create objects of these subclasses.

    >>> import boto3
    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse() as fake:
    ...     _ = fake.when(last_user_text="*weather*").script(reply.text("18 °C"))
    ...     fake.always(reply.text("hi"))
    ...     client = boto3.client("bedrock-runtime")
    ...     answer = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "The weather?"}]}])
    >>> answer["output"]["message"]["content"], len(fake.calls)
    ([{'text': '18 °C'}], 1)
    """

    _where = ""
    """The text after the class name in the repr and in report headings, such as " (httpx)"."""

    _made_by: ClassVar[str] = "Fake"
    """The name of the public function that creates objects of this class; error messages contain it."""

    def __init__(self, *replies: Responder | Replies, **settings: Unpack[Settings]) -> None:
        check_settings(settings, self._made_by)
        chosen: dict[str, Any] = {**DEFAULTS, **settings}
        endpoint = Endpoint(transport=self.transport, **{name: chosen[name] for name in OF_ENDPOINT})
        endpoint.check(*replies)
        endpoint.script.add(replies, by=self._made_by and f"{self._made_by}()")
        self.endpoint = endpoint
        allowed = () if chosen["unexpected"] == "fail" else (UnexpectedCall, RefusedRequest)
        self.core: Final = FakeCore(
            endpoint, allowed, sleeps=chosen["sleeps"], attempts=chosen["attempts"], where=self._where
        )
        """What transports and the pytest plugin use of the fake."""
        self._strict_unused = chosen["unused"] == "fail"
        self._stack = ExitStack()

    # With the following properties and methods, a test inspects the fake.

    @property
    def calls(self) -> Calls:
        """The calls so far that asked a model for an answer (Converse, ConverseStream). Each retry is a separate Call.

        `calls.all` contains the calls of every operation, `calls.of("CountTokens")` those of one operation. If
        `keep_calls` is set, only this number of the newest calls is kept, whatever their operation.
        """
        calls = self._calls
        return calls if self.endpoint.received else _NoCalls(self.endpoint)

    @property
    def _calls(self) -> Calls:
        return Calls(list(self.endpoint.calls))

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables with dummy keys and a region, for clients that need them before the first call.

        Set them yourself, with `mock.patch.dict(os.environ, fake.environ)`. They contain no endpoint URL, because
        clients in this process need none.
        """
        return dict(KEYS)

    @property
    def notes(self) -> list[Note]:
        """The notes about calls so far, for example that Bedrock may refuse a request. `check` does not raise notes.

        A note that a test reads here is expected: the pytest plugin does not show it.
        """
        notes = list(self.endpoint.notes)
        self.core.noted = len(notes)
        withdraw(notes)
        return notes

    @property
    def transcript(self) -> str:
        """A text with every call: the request, the answer, and each event with its time. Secrets are masked."""
        return shortened(transcript(self._calls.all))

    def check(self, error: BaseException | None = None) -> None:
        """Raise the problems that must fail the test.

        Problems are: unexpected calls, requests that Bedrock would refuse, requests that change an earlier answer (with
        `history="fail"`), blocked connections, exceptions of scripted functions, unused replies, and streams that were
        not read as far as their break. If the test already failed with the exception `error`, the last two are not
        reported. If there is no problem, the method makes notes about what else the test has left behind.
        """
        __tracebackhide__ = True
        self.core.check_problems(error)
        if error is None:
            left = self._left()
            for each in left:
                if isinstance(each, Exception):
                    raise each
            if left:
                self.core.note_left([each for each in left if isinstance(each, Note)])

    def failures(self) -> list[Exception]:
        """Return all problems that must fail the test; unused replies are last. A later `check` still raises them."""
        problems: list[Exception] = [each for each in self.endpoint.problems if not isinstance(each, self.core.allowed)]
        return problems + [each for each in self._left() if isinstance(each, Exception)]

    def _left(self) -> list[Exception | Note]:
        """Return an error or a note for each thing that the test has left behind, unless `unused` is "allow"."""
        self.core.attach()
        return self.endpoint.leftovers(unused=self._strict_unused)

    # The following methods open and close the fake.

    def _transport(self) -> AbstractContextManager[object]:
        """Return the context manager that the fake enters when it opens and exits when it closes."""
        return nullcontext()

    def open(self) -> Self:
        """Start answering calls. Raises TransportError if the transport cannot open, or if the fake is open already."""
        if self in _open:
            raise TransportError(_ALREADY_OPEN)
        self._stack.enter_context(self._transport())
        self._opened()
        return self

    def close(self) -> None:
        """Stop answering calls, without checking for problems. Closing a closed fake does nothing."""
        try:
            self._stack.close()
        finally:
            _open.discard(self)
            if self.core.state == "open":
                self.core.state, self.core.closed_in = "closed", refusals.running()

    def _opened(self) -> None:
        global _times_opened
        self.core.state = "open"
        _times_opened += 1
        self.endpoint.awaits_call = _await_calls
        if not _open:
            for message in refusals.of_others():  # from the time when no fake was open
                refusals.is_late(message, "")
        _open.add(self)

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        __tracebackhide__ = True
        self.close()
        if error is None or isinstance(error, Exception):
            self.check(error)

    async def __aenter__(self) -> Self:
        return self.open()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)

    @property
    def _state(self) -> str:
        return self.core.state

    def __repr__(self) -> str:
        calls = self._calls
        beside = len(calls.all) - len(calls)
        parts = [self._state, f"{counted(len(calls), 'call')}{f' (and {beside} in .all)' * bool(beside)}"]
        parts += scripted_in_short(self.endpoint.script)
        if self.endpoint.problems:
            parts.append(counted(len(self.endpoint.problems), "problem"))
        return f"<{type(self).__name__}{self.core.where}, {', '.join(parts)}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]
