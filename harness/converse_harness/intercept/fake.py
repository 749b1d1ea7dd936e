"""The class Fake: the object that a test uses. It contains an Endpoint and a lock; a transport sends it the calls."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import TracebackType
from typing import ClassVar, Final, Literal, Self, TypedDict, get_args
from weakref import WeakSet

from converse_harness import bedrock
from converse_harness.bedrock.rules import RuleLevel
from converse_harness.endpoint import Endpoint, Handler
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.condition import Condition, Pattern
from converse_harness.endpoint.conversation import HistoryLevel
from converse_harness.endpoint.failure_texts import no_handler, shortened, transcript, unused_replies
from converse_harness.endpoint.rewrites import CacheSummary
from converse_harness.endpoint.script import Replies, Responder
from converse_harness.errors import (
    BlockedConnection,
    FakeNotOpenWarning,
    RefusedRequest,
    ReplyError,
    UnexpectedCall,
    UnusedReplies,
)
from converse_harness.faults.model import Transport
from converse_harness.intercept import observers
from converse_harness.intercept.children import refused
from converse_harness.intercept.scripted import Scripted, When
from converse_harness.notes import Note, hand_in
from converse_harness.recordings.write import AnyExchange, SessionWriter
from converse_harness.reply.improvised import improvised
from converse_harness.stream.http import Request

Strictness = Literal["fail", "allow"]
"""Whether unused replies, or unexpected calls, make the test fail ("fail") or not ("allow")."""


class Settings(TypedDict, total=False):
    """The optional keyword arguments of a Fake; see its docstring."""

    seed: int
    unused: Strictness
    unexpected: Strictness
    sleeps: bool
    rules: RuleLevel
    history: HistoryLevel
    keep_calls: int | None
    models: Mapping[str, str] | None
    cache_minimum: int | None


_open: WeakSet[Fake] = WeakSet()
_times_opened = 0

_NOT_OPEN: Final = (
    "{fake} is scripted and answers nobody: clients reach the service itself. Open it first, `with fake_converse() as "
    "fake:`, and script it in there; or give the replies to fake_converse(...).   More: converse-harness docs fixtures"
)

_STRICTNESS: Final[tuple[str, ...]] = get_args(Strictness)


def open_fakes() -> dict[Fake, int]:
    """Return all open fakes of this process, each with the number of its problems so far."""
    return {fake: len(fake.endpoint.problems) for fake in list(_open)}


def times_opened() -> int:
    """Return the number of times that any fake was opened in this process."""
    return _times_opened


class Fake:
    """A fake Bedrock: its script, its calls so far, and the problems that must fail the test.

    Use it in `with` or `async with`. Leaving the block raises UnexpectedCall, RefusedRequest or UnusedReplies, unless
    `unexpected` or `unused` is "allow". `rules` is the level at which Bedrock's rules for requests are enforced. For a
    request that changes an earlier answer of the model, `history` "note" adds a note, "fail" raises ChangedHistory, and
    "off" does nothing. `sleeps` makes clients really sleep between retries. `seed` changes every id and padding length.
    `calls` keeps the last `keep_calls` calls; None keeps all.
    `models` maps globs of model ids to the ids of models, for example `{"arn:*": "anthropic.claude-sonnet-5"}`.
    `cache_minimum` is the minimum of tokens for a cached prompt; None means each model's own minimum. Each transport
    has a subclass, which defines the clients that reach the fake.
    """

    where = ""
    """The text after the class name in the repr and in report headings, such as " (httpx)"."""

    transport: ClassVar[Transport | None] = None
    """The transport by which clients reach this fake; None in this base class, which opens no transport."""

    def __init__(
        self,
        *replies: Responder | Replies,
        seed: int = 0,
        unused: Strictness = "fail",
        unexpected: Strictness = "fail",
        sleeps: bool = False,
        rules: RuleLevel = "default",
        history: HistoryLevel = "note",
        keep_calls: int | None = None,
        models: Mapping[str, str] | None = None,
        cache_minimum: int | None = None,
    ) -> None:
        for name, value in (("unused", unused), ("unexpected", unexpected)):
            if value not in _STRICTNESS:
                raise ReplyError(f"{name}={value!r}; one of {', '.join(map(repr, _STRICTNESS))}.")
        self.endpoint = Endpoint(
            *replies,
            seed=seed,
            rules=rules,
            history=history,
            transport=self.transport,
            keep_calls=keep_calls,
            models=models,
            cache_minimum=cache_minimum,
        )
        self._writer: SessionWriter | None = None
        self._sleeps = sleeps
        self._strict_unused = unused == "fail"
        self._allowed = () if unexpected == "fail" else (UnexpectedCall, RefusedRequest)
        self._told: set[int] = set()
        self._noted = 0
        self._was_open = False
        self.lock = threading.RLock()
        self._stack = ExitStack()

    # Methods for tests: scripting

    def script(self, *replies: Responder | Replies) -> Scripted:
        """Append replies and recordings. Replies are used in order; a recording answers the requests in it.

        Raises ReplyError for a value that is not a reply, or a reply that this transport cannot express.
        """
        self.endpoint.check(*replies)
        self._warn_if_not_open()
        with self.lock:
            return Scripted(self.endpoint, self.lock, self.endpoint.script.add(replies))

    def when(
        self,
        predicate: Callable[[Call], object] | None = None,
        *,
        model: Pattern | None = None,
        operation: str | None = None,
        last_user_text: Pattern | None = None,
        system: Pattern | None = None,
        tool: Pattern | None = None,
        turn: int | None = None,
    ) -> When:
        """Return a When for replies to the calls that meet all conditions. The first `when` that matches applies.

        A string is a glob that must match the whole text; a compiled pattern may match anywhere in the text. `tool`
        is met if the name of any tool matches. `turn` counts the model's answers in the conversation from 1. Raises
        ReplyError without any condition.
        """
        condition = Condition(
            predicate=predicate,
            model=model,
            operation=operation,
            last_user_text=last_user_text,
            system=system,
            tool=tool,
            turn=turn,
        )
        self._warn_if_not_open()
        with self.lock:
            return When(self.endpoint, self.lock, self.endpoint.script.when(condition))

    def always(self, reply: Responder) -> None:
        """Answer all calls that no other reply answers, any number of times. The last `always` replaces others."""
        self.endpoint.check(reply)
        self._warn_if_not_open()
        with self.lock:
            queue = self.endpoint.script.fallback
            before = tuple(queue.slots)
            queue.add([reply], endless=True)
            queue.remove(before)

    def improvise(self, *, seed: int = 0, tools: Sequence[str] | Literal["all"] = "all", at_once: int = 1) -> None:
        """Answer every call that nothing else answers with `reply.improvised`: each offered tool once, then a text.

        The arguments are those of `reply.improvised`. Raises ReplyError for a wrong one.
        """
        self.always(improvised(seed=seed, tools=tools, at_once=at_once))

    def on_operation(self, name: str, handler: Handler) -> None:
        """Set the handler for an operation other than Converse and ConverseStream, for example `InvokeModel`.

        Operations of Bedrock's control plane, such as `GetInferenceProfile`, are possible too. `handler` takes the Call
        and returns the members of the operation's output, or a Reply that is an error. Raises ReplyError for an
        operation that answers with a stream of events, and for a name that is neither an operation of Bedrock Runtime
        nor of the control plane.
        """
        refused = no_handler(name)
        if refused is not None:
            raise ReplyError(refused)
        bedrock.check_operation(name)
        with self.lock:
            self.endpoint.handlers[name] = handler

    def _warn_if_not_open(self) -> None:
        if self.transport is not None and self._state != "open":
            warnings.warn(_NOT_OPEN.format(fake=self), FakeNotOpenWarning, stacklevel=3)

    # Methods for tests: inspection

    @property
    def calls(self) -> list[Call]:
        """All calls so far, but at most the last `keep_calls` calls. Each retry is a separate Call."""
        return list(self.endpoint.calls)

    @property
    def cache(self) -> CacheSummary:
        """The calls' use of the prompt cache: tokens read and written, and prefixes that were written again."""
        with self.lock:
            self.endpoint.cache.settle()
            return CacheSummary(self.calls, self._note)

    def later(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Advance the fake's own clock by this duration, so that cached prefixes expire.

        Raises ReplyError unless the duration is more than 0.
        """
        with self.lock:
            self.endpoint.cache.later(3600 * hours + 60 * minutes + seconds)

    def _note(self, note: Note) -> None:
        if note.kind not in [each.kind for each in self.endpoint.notes]:
            self.endpoint.notes.append(note)

    @property
    def notes(self) -> list[Note]:
        """The notes about calls so far, for example that Bedrock may refuse a request. `check` does not raise notes."""
        return list(self.endpoint.notes)

    @property
    def transcript(self) -> str:
        """List every call with its request, its answer and each event with its time; secrets are masked."""
        return shortened(transcript(self.calls))

    def check(self, error: BaseException | None = None) -> None:
        """Raise the problems that must fail the test.

        Problems are: unexpected calls, requests that Bedrock would refuse, changed answers (with `history="fail"`),
        blocked connections, exceptions of scripted functions, and unused replies. If the test already failed with
        `error`, unused replies are not reported.
        """
        __tracebackhide__ = True
        self.check_problems(error)
        if error is None:
            for unused in self._unused():
                raise unused

    def check_problems(self, error: BaseException | None = None, *, since: int = 0) -> None:
        """Raise the first problem that was not raised before, apart from unused replies.

        The first `since` problems are skipped, because another caller raises them.
        """
        __tracebackhide__ = True
        for said in refused():
            self.block(BlockedConnection(said))
        new = [each for each in self.endpoint.problems[since:] if id(each) not in self._told]
        problems = [each for each in new if not isinstance(each, self._allowed)]
        self._told.update(map(id, new))
        notes = self.endpoint.notes[self._noted :]
        self._noted += len(notes)
        hand_in(notes)
        if problems and error not in problems:
            raise problems[0] from error

    def failures(self) -> list[Exception]:
        """Return all problems that must fail the test; unused replies are last. A later `check` still raises them."""
        problems: list[Exception] = [each for each in self.endpoint.problems if not isinstance(each, self._allowed)]
        return problems + self._unused()

    def _unused(self) -> list[Exception]:
        """Return a list with the UnusedReplies error; it is empty if all replies were used or `unused` is "allow"."""
        replacement = observers.replacements[-1]
        strict = self._strict_unused and not (replacement and replacement.lenient)
        unused = self.endpoint.script.unused() if strict else []
        return [UnusedReplies(unused_replies(self.endpoint.script, self.calls, unused))] if unused else []

    # Methods for transports

    records = False
    """Whether a `writer` is set. If so, calls without a scripted reply are forwarded to the real service and recorded.
    """

    @property
    def writer(self) -> SessionWriter | None:
        """The writer that records forwarded calls; None if no calls are forwarded."""
        return self._writer

    @writer.setter
    def writer(self, writer: SessionWriter | None) -> None:
        self._writer, self.records = writer, writer is not None

    @property
    def sleeps(self) -> bool:
        """Whether clients really sleep between retries; always true while `records` is true."""
        return self._sleeps or self.records

    def exchange(self, request: Request, *, service: str = "bedrock-runtime", operation: str = "") -> AnyExchange:
        """Answer one request, or return a ForwardedExchange if the transport must forward it. Thread-safe."""
        with self.lock:
            self.endpoint.replacing = observers.replacements[-1]
            call = self.endpoint.receive(request, operation=operation or None)
            try:
                slot = self.endpoint.choose(call)
            except Exception as error:  # noqa: BLE001 - an error in a predicate must fail the test
                return self.endpoint.fail(call, error)
            forwards = slot is None and call.operation not in self.endpoint.handlers
            forwarded = self._writer.forward(call, request) if self._writer is not None and forwards else None
        for watcher in observers.watchers:
            watcher(self.endpoint, call)
        return self.endpoint.answer(call, slot) if forwarded is None else forwarded

    def take_turns_with(self, other: Fake) -> None:
        """Use the other fake's lock for both fakes, so that two fakes of two transports can replay one recording."""
        self.lock = other.lock

    @property
    def runs_functions(self) -> bool:
        """Whether answering a call may run a user's function, which may be slow."""
        return self.endpoint.runs_functions

    def waited(self, seconds: float, call: Call | None = None) -> None:
        """Record that a wait before a retry was skipped: its number of seconds, and the failed `call`.

        If `call` is None, the wait is added to the last failed call that has no wait yet.
        """
        if call is None:
            calls = reversed(self.calls)
            call = next((each for each in calls if each.response is None and not each.answered.waited), None)
        if call is not None:
            call.answered.waited += seconds

    def block(self, error: BlockedConnection) -> None:
        """Add a blocked connection to the problems that must fail the test."""
        self.endpoint.problems.append(error)

    # Opening and closing

    def _transport(self) -> AbstractContextManager[object]:
        """Return the context manager that the fake enters when it opens and exits when it closes."""
        return nullcontext()

    def open(self) -> Self:
        """Start answering calls. Raises TransportError if the transport cannot open."""
        self._stack.enter_context(self._transport())
        self._opened()
        return self

    def close(self) -> None:
        """Stop answering calls, without checking for problems. Closing a closed fake does nothing."""
        try:
            self._stack.close()
        finally:
            _open.discard(self)

    def _opened(self) -> None:
        global _times_opened
        self._was_open = True
        _times_opened += 1
        if not _open:
            refused()  # discard refusals from the time when no fake was open
        _open.add(self)

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()
        if error is None or isinstance(error, Exception):
            self.check(error)

    async def __aenter__(self) -> Self:
        return self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    @property
    def _state(self) -> str:
        return "open" if self in _open else "closed" if self._was_open else "not open"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{self.where}, {self._state}, {len(self.calls)} calls>"
