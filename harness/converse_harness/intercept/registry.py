"""The open fakes of this process, as one object that every transport, patch and guard uses: `OPEN_FAKES`.

Only the class OpenFakes determines which fake answers, which one blocks a connection, and when botocore is patched. The
table in its docstring shows the answers.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Container, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from converse_harness import refusals
from converse_harness.intercept.clients import is_loopback
from converse_harness.intercept.exchange import (
    CLOSED_MEANWHILE,
    FORKED,
    OUTLIVED,
    OpenFake,
    RefusingFake,
    RefusingInWorker,
    RefusingLate,
    refuse,
)
from converse_harness.intercept.patch_points import PATCHES

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call


_Value = TypeVar("_Value")


class HttpAnswers(NamedTuple):
    """How an open fake answers the clients of HTTP libraries in this process.

    `fake` gets the requests to Bedrock of `libraries`, which are names of top-level packages. `upstream` is the URL
    that replaces Bedrock, or "". If `by_respx` is true, respx passes the requests of httpx to the fake, unless it
    records.
    """

    fake: OpenFake
    libraries: frozenset[str]
    upstream: str = ""
    by_respx: bool = False


class _Entry:
    """A fake on the stack of open fakes.

    `boto`: the fake answers the boto clients of this process. `url` is the URL at which a server serves the fake, or
    "". `http` is None if the fake answers no client of an HTTP library. `responder` answers the calls of boto clients:
    the fake, or in a forked child an object that refuses them. `before` are the threads that existed when the fake
    opened; `callers` are the threads that made calls under the fake.
    """

    __slots__ = ("before", "boto", "callers", "closed", "fake", "http", "http_responder", "opener", "responder", "url")

    def __init__(self, fake: OpenFake, *, boto: bool, url: str, http: HttpAnswers | None) -> None:
        self.fake = fake
        self.boto = boto
        self.url = url
        self.http = http
        self.http_responder = None if http is None else http.fake
        self.responder: OpenFake = fake
        self.closed = False
        self.before = WeakSet(threading.enumerate())
        self.callers: WeakSet[threading.Thread] = WeakSet()
        self.opener = threading.current_thread()


class ActiveCall:
    """One running call with all its attempts: the operation, and the entry of the fake chosen when the call began."""

    __slots__ = ("__weakref__", "call", "entry", "operation")

    def __init__(self, entry: _Entry, operation: str) -> None:
        self.entry = entry
        self.operation = operation
        self.call: Call | None = None
        """The Call of the newest attempt; None before the first attempt."""


CURRENT_CALL: ContextVar[ActiveCall | None] = ContextVar("converse_harness_held", default=None)
"""The boto call that runs in this context under a fake; None if there is no such call."""

_FORWARDING: ContextVar[bool] = ContextVar("converse_harness_passing_on", default=False)
"""Whether calls to Bedrock are allowed in this context, for example because a server forwards a recorded call. In other
contexts they remain blocked."""


@contextmanager
def assigned(variable: ContextVar[_Value], value: _Value) -> Generator[None]:
    """Set a context variable for a `with` block, and restore the previous value at its end."""
    before = variable.get()
    try:
        variable.set(value)
        yield
    finally:
        variable.set(before)


def forwarding() -> AbstractContextManager[None]:
    """Allow calls to the real service, with real keys, in a `with` block. Other contexts are not affected."""
    return assigned(_FORWARDING, True)


def _runs(thread: threading.Thread | None) -> bool:
    try:
        return thread is not None and thread.is_alive()
    except RuntimeError:  # Python 3.13 raises it for a thread that `threading` did not start
        return False


class _Outlived(NamedTuple):
    """What a thread outlived: the fake to which its refused calls are reported, and the test that closed the fake."""

    fake: ref[OpenFake]
    test: str


class OpenFakes:
    """The open fakes of a process, its running calls, and the threads that began under a fake that is closed now.

    Other modules ask four questions. The first row of this table whose situation is true gives the answers. Each
    answer is a fake, or an object that refuses in its place.

    | situation                        | newest | fake_that_blocks | blocker       | answerer    |
    | -------------------------------- | ------ | ---------------- | ------------- | ----------- |
    | a call runs, its fake is open    | newest | of the call      | of the call   | of the call |
    | a call runs, its fake is closed  | newest | of the call      | of the call   | raises      |
    | no call runs, a fake is open     | newest | newest           | newest        | chosen      |
    | no fake, the thread outlived one | None   | of the thread    | of the thread | raises      |
    | no fake, a fallback is set       | None   | None             | fallback      | None        |
    | none of these                    | None   | None             | None          | None        |

    * `newest` is for code that belongs to no single call, such as the retry waits of a framework.
    * `fake_that_blocks` is for code that makes clients and signs requests: if there is an answer, they need neither
      real keys nor a region.
    * `blocker` is for code that opens a connection or starts a process: if there is an answer, it refuses.
    * `answerer` is for the code that sends the request of a boto client. None lets the request pass.

    The requests of HTTP libraries belong to no call with retries. `http_answers` returns the newest fake that answers
    the library. If there is none, `blocker` decides.

    Exceptions:

    * Inside `forwarding`, and in place of an object that records, `fake_that_blocks` and `blocker` return None.
    * A call whose fake records may end after the fake was closed; `answerer` then returns this fake.
    * `answerer` returns None for a request to this machine, instead of a fake that does not answer boto clients, and
      instead of an error because of the thread.

    The fake of a call is chosen when the call begins, and also answers its retries. If the client's endpoint is the URL
    of a server, it is the fake of that server, or a recording fake that was opened later. Otherwise it is the newest
    fake that answers boto clients; without one, the newest of all.

    In a forked child, the parent's fakes stay open, but an object that refuses stands in place of each of them, and
    none answers boto clients. A spawned child opens such an object itself. The fallback is the guard of a whole
    session. In a worker of a pool, it is a guard that refuses while the parent process signals that Bedrock is blocked.

    botocore is patched while a fake is open, while a call that began under a fake runs, while a thread that outlived
    its fake is alive, and while `set_fallback` or `keep_patches` requires it. If a KeyboardInterrupt occurs while
    `opened` opens or closes a fake, then either the fake is open and botocore is fully patched, or botocore is not
    patched.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: tuple[_Entry, ...] = ()
        self._fallback: RefusingFake | None = None
        self._running: WeakSet[ActiveCall] = WeakSet()
        """The running calls. The references are weak, so that a call whose end was interrupted is not kept for ever."""
        self._keepers: list[object] = []
        """The owners that called `keep_patches`. While there is an owner, botocore remains patched even if no fake is
        open."""
        self._outlived: WeakKeyDictionary[threading.Thread, _Outlived] = WeakKeyDictionary()
        """Maps each thread that outlived its fake to what it outlived.

        The references are weak: a thread may live as long as the process, and the tracebacks of a fake's problems refer
        to threads and clients.
        """
        self._exempt: WeakSet[threading.Thread] = WeakSet()

    # The four answers

    def newest(self) -> OpenFake | None:
        """Return the fake that was opened last; None while no fake is open."""
        entries = self._entries
        return entries[-1].responder if entries else None

    def fake_that_blocks(self) -> OpenFake | None:
        """Return the fake that blocks this context's connections to Bedrock now; None if no fake blocks them.

        A recording fake blocks nothing, because it forwards calls with real keys to the real service.
        """
        if _FORWARDING.get():
            return None
        held = CURRENT_CALL.get()
        fake = self.newest() if held is None else held.entry.responder
        if fake is None:
            return self._outlived_by(threading.current_thread()) if self._outlived else None
        return None if fake.records else fake

    def blocker(self) -> OpenFake | None:
        """Return the object that blocks connections to Bedrock now; None if connections are allowed.

        The object is a fake or, while no fake is open, the object that `set_fallback` has set.
        """
        fake, fallback = self.fake_that_blocks(), self._fallback
        if fake is not None or fallback is None or self._entries or _FORWARDING.get() or CURRENT_CALL.get() is not None:
            return fake
        return None if fallback.records else fallback

    def answerer(self, endpoint: str) -> OpenFake | None:
        """Return the fake that must answer a boto client's request now; None if the request may go to the network.

        `endpoint` is the client's endpoint URL. Raises BlockedConnection if the fake of the call was closed after the
        call began, and in a thread that outlived its fake.
        """
        held = CURRENT_CALL.get()
        entry = self._entry_for(endpoint) if held is None else held.entry
        if entry is not None:
            if held is not None and entry.closed and not entry.responder.records:
                # Only a forwarded call may finish after its fake has closed. The rest of its answer is not recorded.
                raise refuse(entry.responder, CLOSED_MEANWHILE)
            if not entry.boto and is_loopback(endpoint):
                return None
            responder = entry.responder
            return responder.asked_for(endpoint) if isinstance(responder, RefusingInWorker) else responder
        self._refuse_outlived(endpoint)
        return None

    def _entry_for(self, endpoint: str) -> _Entry | None:
        entries, answers = self._entries, None
        for entry in reversed(entries):
            if entry.url and f"{endpoint}/".startswith(f"{entry.url}/"):
                return entry  # the client's endpoint is the URL of this fake, or this URL with a longer path
            if entry.boto and answers is None:
                answers = entry
                if entry.responder.records:
                    break
        return answers or (entries[-1] if entries else None)

    def http_answers(self, library: str) -> HttpAnswers | None:
        """Return the newest fake that answers or captures the requests of an HTTP library; None if there is none.

        In a forked child, its `fake` is an object that refuses. Inside `forwarding`, there is none.
        """
        if _FORWARDING.get():
            return None
        for entry in reversed(self._entries):
            if entry.http is not None and library in entry.http.libraries and entry.http_responder is not None:
                return entry.http._replace(fake=entry.http_responder)
        return None

    def http_responder(self, fake: OpenFake) -> OpenFake | None:
        """Return what answers requests of HTTP libraries to an open fake: this fake, in a forked child a refusing one.

        Return None if the fake is not open.
        """
        each = (entry.http_responder for entry in self._entries if entry.http is not None and entry.http.fake is fake)
        return next(each, None)

    # Opening, closing, calling

    def open(self, fake: OpenFake, *, boto: bool = True, url: str = "", http: HttpAnswers | None = None) -> None:
        """Make a fake the newest. Raises TransportError if a library that must be patched is incompatible.

        With `boto=False`, the fake does not answer boto clients; botocore is patched only if other code imports it.
        `url` is the URL at which a server serves the fake. `http` is about the clients of HTTP libraries. After an
        exception, the caller must call `close`.
        """
        PATCHES.ready(eager=boto)
        with self._lock:
            self._entries = (*self._entries, _Entry(fake, boto=boto, url=url, http=http))
            PATCHES.put_in()
            self.signal_workers()

    def close(self, fake: OpenFake) -> None:
        """Remove a fake, whether it is the newest or not. Closing a closed fake does nothing."""
        with self._lock:
            for entry in self._entries:
                if entry.fake is fake:
                    self._remember_threads(entry)
                    entry.closed = True
            self._entries = tuple(entry for entry in self._entries if entry.fake is not fake)
            sys.audit("converse_harness.close")  # `guard.children` takes back what it has lent to a shell
            self.signal_workers()
            self.unpatch_if_idle()

    @contextmanager
    def opened(
        self, fake: OpenFake, *, boto: bool = True, url: str = "", http: HttpAnswers | None = None
    ) -> Generator[None, None, None]:
        """Open a fake for a `with` block, and close it in any case.

        This method is a generator, because the interpreter also closes abandoned generators: if a KeyboardInterrupt
        occurs between the end of the block and the closing, the fake is closed nevertheless.
        """
        try:
            try:
                self.open(fake, boto=boto, url=url, http=http)
                yield
            finally:
                self.close(fake)
        finally:
            # The first close may have been interrupted. Closing a closed fake does nothing.
            self.close(fake)

    @contextmanager
    def one_call(
        self, operation: str, endpoint: str, refuse_unsigned: Callable[[Exception, str], None]
    ) -> Generator[None]:
        """Register a boto call to Bedrock: in the `with` block, the client runs all attempts of the call.

        `endpoint` is the client's endpoint URL, which the user or botocore has set. If no fake must answer the call and
        the block raises an exception, `refuse_unsigned(exception, endpoint)` is called. Raises BlockedConnection in a
        thread that outlived its fake.
        """
        entry = self._entry_for(endpoint)
        if entry is None:
            self._refuse_outlived(endpoint)
            try:
                yield
            except Exception as error:
                refuse_unsigned(error, endpoint)
                raise
            return
        held = ActiveCall(entry, operation)
        before = CURRENT_CALL.get()
        try:
            entry.callers.add(threading.current_thread())
            self._running.add(held)
            CURRENT_CALL.set(held)
            yield
        finally:
            CURRENT_CALL.set(before)
            self._running.discard(held)
            if not self._entries:
                self.unpatch_if_idle()

    def set_fallback(self, refusing: RefusingFake | None) -> RefusingFake | None:
        """Set the object that refuses calls while no fake is open; None removes it. Return the previous object.

        While its property `records` is true, the object refuses no call.
        """
        if refusing is not None:
            PATCHES.ready(eager=False)
        before, self._fallback = self._fallback, refusing
        self.locked(self.unpatch_if_idle if refusing is None else PATCHES.put_in)
        self.signal_workers()
        return before

    def signal_workers(self) -> None:
        """Signal to this process's workers whether calls to Bedrock are blocked."""
        workers = sys.modules.get(
            "converse_harness.intercept.guard.workers"
        )  # only the pytest plugin loads this module
        if workers is not None:
            newest = self.newest() or self._fallback
            workers.set_blocked(newest is not None and not newest.records)

    # Threads

    def exempt(self, thread: threading.Thread) -> None:
        """Mark a thread of the harness itself: it may outlive fakes, because it never calls Bedrock."""
        self._exempt.add(thread)

    def inherit(self, thread: threading.Thread) -> None:
        """Mark a new thread as one that outlived its fake, if the current thread outlived its fake.

        The new thread has not started yet. Its calls to Bedrock will be refused.
        """
        if not self._entries and (outlived := self._outlived.get(threading.current_thread())) is not None:
            self._outlived[thread] = outlived

    def forget_threads(self) -> None:
        """Forget which threads outlived their fakes. From now on, only the fallback can refuse their calls."""
        self._outlived.clear()

    @contextmanager
    def without_threads(self) -> Generator[None, None, None]:
        """In a `with` block, refuse no call of the threads that outlived their fakes before."""
        before, self._outlived = self._outlived, WeakKeyDictionary()
        try:
            yield
        finally:
            before.update(self._outlived)
            self._outlived = before

    def outlive(self, guard: OpenFake, before: Container[threading.Thread]) -> None:
        """From now on, let `guard` refuse the calls of all threads but the current one and those in `before`."""
        for thread in threading.enumerate():
            if not (thread is threading.current_thread() or thread in before or thread in self._exempt):
                self._outlived.setdefault(thread, _Outlived(ref(guard), ""))

    def _remember_threads(self, entry: _Entry) -> None:
        if entry.opener in self._exempt:
            return  # the control API opened the fake for a test in another process, which has no threads here
        for each in self._outlived.keyrefs():
            dead = each()
            if dead is not None and dead.ident is not None and not _runs(dead):  # a thread without identity will start
                self._outlived.pop(dead, None)
        responder = entry.responder
        told = (responder.behind if isinstance(responder, RefusingFake) else None) or responder
        free = (entry.opener, threading.current_thread(), *self._exempt)
        for thread in threading.enumerate():
            if thread not in free and (thread in entry.callers or thread not in entry.before):
                self._outlived[thread] = _Outlived(ref(told), refusals.running())

    def _outlived_by(self, thread: threading.Thread) -> OpenFake | None:
        """Return the fake that refuses the thread's calls; None if the thread outlived no fake."""
        outlived = self._outlived.get(thread)
        if outlived is None:
            return None
        # Nobody can check a fake that is gone. The calls are refused all the same.
        return outlived.fake() or RefusingLate(OUTLIVED.format(name=thread.name), outlived.test)

    def _refuse_outlived(self, endpoint: str) -> None:
        """Raise BlockedConnection in a thread that outlived its fake, unless the endpoint is on this machine."""
        thread = threading.current_thread()
        if self._outlived and not is_loopback(endpoint) and (fake := self._outlived_by(thread)) is not None:
            raise refuse(fake, OUTLIVED.format(name=thread.name))

    # Patches and the lock

    def patch(self, *, eager: bool) -> None:
        """Patch the libraries before a fake opens; `keep_patches` keeps this. Raises TransportError as `open` does.

        If `eager` is false, botocore is patched only if other code imports it.
        """
        PATCHES.ready(eager=eager)
        self.locked(PATCHES.put_in)

    def keep_patches(self, owner: object) -> None:
        """Keep botocore patched until `drop_patches(owner)`, so that the next fake need not patch it again.

        While no fake is open, every replacement does exactly what the replaced function does. A session of pytest keeps
        the patches, because to add and remove them was half of a test's cost. Elsewhere they are removed with the last
        fake, so that other tools see botocore unchanged.
        """
        self._keepers.append(owner)

    def drop_patches(self, owner: object) -> None:
        """Undo `keep_patches(owner)`. Do nothing if `keep_patches` was not called for this owner."""
        self._keepers[:] = [each for each in self._keepers if each is not owner]
        self.unpatch_if_idle()

    def unpatch_if_idle(self) -> None:
        """Remove the patches if nothing needs them any more."""
        with self._lock:
            needed = self._entries or self._running or self._fallback or self._keepers
            if not (needed or any(_runs(each()) for each in self._outlived.keyrefs())):
                PATCHES.take_out()

    def locked(self, step: Callable[[], None]) -> None:
        """Run `step` while no other thread opens or closes a fake.

        The lock is re-entrant, as finalizers may use it.
        """
        with self._lock:
            step()

    def after_fork_in_child(self) -> None:
        """Prepare a forked child: make a new lock, forget running calls, and make the parent's fakes refuse calls."""
        self._lock = threading.RLock()
        self._running.clear()
        refusing = RefusingInWorker(FORKED.format(child=os.getpid(), parent=os.getppid()))
        for entry in self._entries:
            entry.responder, entry.boto = refusing, False
            entry.http_responder = None if entry.http is None else refusing


OPEN_FAKES: Final = OpenFakes()
"""The open fakes of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=OPEN_FAKES.after_fork_in_child)
