"""The stack of open fakes. The process has one stack, which every transport, patch and guard uses.

Only this module determines three things:

* the newest open fake: `current()`;
* the fake that must answer a boto call now: `fake_for_call()`. The fake is chosen when the call begins. For a call to
  the URL of a server, it is the fake of that server, or a recording fake if one was opened after the server's fake.
  For all other calls, it is the newest fake that answers boto clients. If no open fake answers boto clients, it is the
  newest fake of another transport; this fake refuses the call unless the call goes to this machine. A call is also
  refused if its fake was closed after the call began. While no fake is open, a call is refused if its thread started
  or made calls under a fake that is closed now;
* when botocore must be patched: while a fake is open, while a call that began under a fake runs, while a thread that
  outlived its fake is alive, and while `stand_below` or `keep_patches` requires the patches.

`stand_below` sets the object that refuses calls while no fake is open: the guard of a whole session or, in a worker
process of a pool, a guard that refuses calls while a certain file exists. With this file, the parent process signals
that calls to Bedrock are blocked.

If a KeyboardInterrupt occurs while `opened` opens or closes a fake, then either a fake is open and botocore is fully
patched, or botocore is not patched.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from converse_harness.intercept.clients import is_loopback
from converse_harness.intercept.exchange import CLOSED_MEANWHILE, FORKED, OUTLIVED, OpenFake, RefusingFake, refuse
from converse_harness.intercept.patch_points import PATCHES

if TYPE_CHECKING:
    from converse_harness.endpoint.call import Call


_Value = TypeVar("_Value")


class _Entry:
    """A fake on the stack of open fakes.

    `boto`: the fake answers the boto clients of this process. `url` is the URL at which a server serves the fake, or
    "". `responder` answers the calls: the fake, or in a forked child an object that refuses them. `before` are the
    threads that existed when the fake opened; `callers` are the threads that made calls under the fake.
    """

    __slots__ = ("before", "boto", "callers", "closed", "fake", "opener", "responder", "url")

    def __init__(self, fake: OpenFake, *, boto: bool, url: str) -> None:
        self.fake = fake
        self.boto = boto
        self.url = url
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

_lock = threading.RLock()
_entries: tuple[_Entry, ...] = ()
_running: WeakSet[ActiveCall] = WeakSet()
"""The running calls. The references are weak, so that a call whose end was interrupted is not kept for ever."""
_below: RefusingFake | None = None
_keepers: list[object] = []
"""The owners that called `keep_patches`. While there is an owner, botocore remains patched even if no fake is open."""
_outlived: WeakKeyDictionary[threading.Thread, ref[OpenFake]] = WeakKeyDictionary()
"""Maps each thread that outlived its fake to the fake to which its refused calls are reported. The references are weak:
a thread may live as long as the process, and the tracebacks of a fake's problems refer to threads and clients."""
_ours: WeakSet[threading.Thread] = WeakSet()


def current() -> OpenFake | None:
    """The newest open fake, or None."""
    entries = _entries
    return entries[-1].responder if entries else None


def open_fake(fake: OpenFake, *, boto: bool = True, url: str = "") -> None:
    """Put a fake on top of the stack. Raises TransportError if a library that must be patched is incompatible.

    With `boto=False`, the fake does not answer boto clients; botocore is patched only if other code imports it.
    `url` is the URL at which a server serves the fake. After an exception, the caller must call `close_fake`.
    """
    global _entries
    PATCHES.ready(eager=boto)
    with _lock:
        _entries = (*_entries, _Entry(fake, boto=boto, url=url))
        PATCHES.put_in()
        tell_workers()


def stand_below(refusing: RefusingFake | None) -> RefusingFake | None:
    """Set the object that refuses calls while no fake is open; None removes it. Return the previous object.

    While its property `records` is true, the object refuses no call.
    """
    global _below
    if refusing is not None:
        PATCHES.ready(eager=False)
    before, _below = _below, refusing
    locked(unpatch_if_idle if refusing is None else PATCHES.put_in)
    tell_workers()
    return before


def tell_workers() -> None:
    """Signal to this process's workers whether calls to Bedrock are blocked."""
    pools = sys.modules.get("converse_harness.intercept.guard.workers")  # only the pytest plugin loads this module
    if pools is not None:
        newest = next((entry.responder for entry in _entries[::-1]), _below)
        pools.tell(newest is not None and not newest.records)


def close_fake(fake: OpenFake) -> None:
    """Remove a fake from the stack, at any position. Closing a closed fake does nothing."""
    global _entries
    with _lock:
        for entry in _entries:
            if entry.fake is fake:
                _remember_threads(entry)
                entry.closed = True
        _entries = tuple(entry for entry in _entries if entry.fake is not fake)
        tell_workers()
        unpatch_if_idle()


@contextmanager
def opened(fake: OpenFake, *, boto: bool = True, url: str = "") -> Generator[None, None, None]:
    """Open a fake for a `with` block, and close it in any case.

    This function is a generator, because the interpreter also closes abandoned generators: if a KeyboardInterrupt
    occurs between the end of the block and the closing, the fake is closed nevertheless.
    """
    try:
        try:
            open_fake(fake, boto=boto, url=url)
            yield
        finally:
            close_fake(fake)
    finally:
        # The first close may have been interrupted. Closing a closed fake does nothing.
        close_fake(fake)


@contextmanager
def one_call(operation: str, endpoint: str, refuse_unsigned: Callable[[Exception, str], None]) -> Generator[None]:
    """Register a boto call to Bedrock: in the `with` block, the client runs all attempts of the call.

    `endpoint` is the client's endpoint URL, which the user or botocore has set. If no fake must answer the call and the
    block raises an exception, `refuse_unsigned(exception, endpoint)` is called. Raises BlockedConnection in a thread
    that outlived its fake.
    """
    entry = _entry_for(endpoint)
    if entry is None:
        _refuse_outlived(endpoint)
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
        _running.add(held)
        CURRENT_CALL.set(held)
        yield
    finally:
        CURRENT_CALL.set(before)
        _running.discard(held)
        if not _entries:
            unpatch_if_idle()


def _entry_for(endpoint: str) -> _Entry | None:
    newest_first = _entries[::-1]
    answers = None
    for entry in newest_first:
        if entry.url and f"{endpoint}/".startswith(f"{entry.url}/"):
            return entry  # the client's endpoint is the URL of this fake, or this URL with a longer path
        if entry.boto and answers is None:
            answers = entry
            if entry.responder.records:
                break
    return answers or next(iter(newest_first), None)


def fake_for_call(endpoint: str) -> OpenFake | None:
    """Return the fake that must answer a boto client's request now; None if the request may go to the network.

    If the fake does not answer boto clients, a request to this machine may go to the network. Raises BlockedConnection
    if the fake of the call was closed after the call began, and in a thread that outlived its fake.
    """
    held = CURRENT_CALL.get()
    entry = _entry_for(endpoint) if held is None else held.entry
    if entry is not None:
        if held is not None and entry.closed and not entry.responder.records:
            # Only a forwarded call may finish after its fake has closed. The rest of its answer is not recorded.
            raise refuse(entry.responder, CLOSED_MEANWHILE)
        return None if not entry.boto and is_loopback(endpoint) else entry.responder
    _refuse_outlived(endpoint)
    return None


def blocking_fake() -> OpenFake | None:
    """Return the fake that blocks this context's connections to Bedrock now; None if no fake blocks them.

    A recording fake blocks nothing, because it forwards calls with real keys to the real service.
    """
    if _FORWARDING.get():
        return None
    held = CURRENT_CALL.get()
    fake = current() if held is None else held.entry.responder
    if fake is None:
        return _outlived_by(threading.current_thread()) if _outlived else None
    return None if fake.records else fake


def closing() -> OpenFake | None:
    """Return the object that blocks connections to Bedrock now; None if connections are allowed.

    The object is a fake or, while no fake is open, the object that `stand_below` has set.
    """
    fake = blocking_fake()
    if fake is not None or _below is None or _entries or _FORWARDING.get() or CURRENT_CALL.get() is not None:
        return fake
    return None if _below.records else _below


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


def _refuse_outlived(endpoint: str) -> None:
    """Raise BlockedConnection in a thread that outlived its fake, unless the endpoint is on this machine."""
    thread = threading.current_thread()
    if _outlived and not is_loopback(endpoint) and (fake := _outlived_by(thread)) is not None:
        raise refuse(fake, OUTLIVED.format(name=thread.name))


def _outlived_by(thread: threading.Thread) -> OpenFake | None:
    """Return the fake that refuses the thread's calls; None if the thread outlived no fake."""
    fake = _outlived.get(thread)
    # Nobody can check a fake that is gone. The calls are refused all the same.
    return None if fake is None else fake() or RefusingFake(OUTLIVED.format(name=thread.name))


def inherit(thread: threading.Thread) -> None:
    """Mark a new thread as one that outlived its fake, if the current thread outlived its fake.

    The new thread has not started yet. Its calls to Bedrock will be refused.
    """
    if not _entries and (fake := _outlived.get(threading.current_thread())) is not None:
        _outlived[thread] = fake


def forget_threads() -> None:
    """Forget which threads outlived their fakes. From now on, only the guard of the session can refuse their calls."""
    _outlived.clear()


def keep_patches(owner: object) -> None:
    """Keep botocore patched until `drop_patches(owner)`, so that the next fake need not patch it again.

    While no fake is open, every replacement does exactly what the replaced function does. A session of pytest keeps the
    patches, because to add and remove them was half of a test's cost. Elsewhere they are removed with the last fake, so
    that other tools see botocore unchanged.
    """
    _keepers.append(owner)


def drop_patches(owner: object) -> None:
    """Undo `keep_patches(owner)`. Do nothing if `keep_patches` was not called for this owner."""
    _keepers[:] = [each for each in _keepers if each is not owner]
    unpatch_if_idle()


def unpatch_if_idle() -> None:
    """Remove the patches if nothing needs them any more."""
    with _lock:
        if not (_entries or _running or _below or _keepers or any(_runs(each()) for each in _outlived.keyrefs())):
            PATCHES.take_out()


def _runs(thread: threading.Thread | None) -> bool:
    try:
        return thread is not None and thread.is_alive()
    except RuntimeError:  # Python 3.13 raises it for a thread that `threading` did not start
        return False


def exempt(thread: threading.Thread) -> None:
    """Mark a thread of the harness itself: it may outlive fakes, because it never calls Bedrock."""
    _ours.add(thread)


def _remember_threads(entry: _Entry) -> None:
    if entry.opener in _ours:
        return  # the control API opened the fake for a test in another process, which has no threads here
    for each in _outlived.keyrefs():
        dead = each()
        if dead is not None and dead.ident is not None and not _runs(dead):  # a thread without identity will start
            _outlived.pop(dead, None)
    responder = entry.responder
    told = (responder.behind if isinstance(responder, RefusingFake) else None) or responder
    free = (entry.opener, threading.current_thread(), *_ours)
    for thread in threading.enumerate():
        if thread not in free and (thread in entry.callers or thread not in entry.before):
            _outlived[thread] = ref(told)


def locked(step: Callable[[], None]) -> None:
    """Run `step` while no other thread opens or closes a fake. The lock is re-entrant, as finalizers may use it."""
    with _lock:
        step()


def _after_fork_in_child() -> None:
    """Prepare a forked child: make a new lock, forget running calls, and make the parent's fakes refuse calls."""
    global _lock
    _lock = threading.RLock()
    _running.clear()
    refusing = RefusingFake(FORKED.format(child=os.getpid(), parent=os.getppid()))
    for entry in _entries:
        entry.responder, entry.boto = refusing, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
