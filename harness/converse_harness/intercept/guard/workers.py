"""Block Bedrock in worker processes that started before a fake opened in their parent process.

The pytest plugin activates this blocking. The parent process uses a signal file, which exists while calls to Bedrock
are blocked. A pipe or shared memory would not reach a worker that was spawned before. The parent writes no file before
the first worker starts, and a worker imports no slow module before it looks up a Bedrock host. Every multiprocessing
child under the plugin loads this module, and the module's hooks live as long as the process. Therefore the module
imports and references little, and PYTEST_DONT_REWRITE prevents pytest from rewriting its assertions. The same applies
to the modules `imports` and `refusals`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache, wraps
from typing import TYPE_CHECKING

from converse_harness import refusals
from converse_harness.imports import ImportHook

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_PROCESSES: Final = "multiprocessing.process"
_EVENTS: Final = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.connect": 1}
"""Maps each audit event about a host to the index of the argument that contains the host or address."""

_signal_file: str | None = None
"""The path of this process's signal file, which exists while Bedrock is blocked; None before a worker starts."""
_blocked = False
_parents: list[str] = []
"""The paths of the signal files of the parent process and, after forks, of older ancestors. While one of these files
exists, Bedrock is blocked in this process too."""


@cache
def arm() -> None:
    """Make future workers check whether Bedrock is blocked in this process.

    A worker is a process that multiprocessing or a fork starts. It checks whether the signal file of this process
    exists.
    """
    _forget_loaders()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_share, after_in_child=_forked)
    if _PROCESSES in sys.modules:
        _patch(sys.modules[_PROCESSES])
    else:
        sys.meta_path.insert(0, _hook)


def _forget_loaders() -> None:
    """Replace the loader of this module and of those it imports: pytest's loader references the whole test run.

    The modules live as long as the process, because fork hooks cannot be unregistered. With pytest's loader, the
    objects of the test run would live as long, and to free them at the end of the process took longer than the start
    of the plugin.
    """
    from importlib.machinery import SourceFileLoader

    for name in (__name__, ImportHook.__module__, refusals.__name__):
        module = sys.modules[name]
        if module.__spec__ is not None and module.__file__ is not None:
            module.__loader__ = module.__spec__.loader = SourceFileLoader(name, module.__file__)


def set_blocked(blocked: bool) -> None:
    """Signal to all workers whether calls to Bedrock are blocked: `blocked` is true if they are."""
    global _blocked
    if blocked != _blocked:
        _blocked = blocked
        if _signal_file is not None:
            _write(_signal_file)


def _write(path: str) -> None:
    if _blocked:
        with suppress(FileExistsError):  # other errors are raised: without the file, workers would not be blocked
            open(path, "xb").close()
    else:
        with suppress(OSError):  # if the file cannot be deleted, the workers remain blocked
            os.unlink(path)


def _share() -> str:
    global _signal_file
    if _signal_file is None:
        import atexit
        import tempfile

        _signal_file = os.path.join(tempfile.gettempdir(), f"converse-harness-{os.getpid()}-{os.urandom(8).hex()}")
        atexit.register(_forget, _signal_file, os.getpid())
        _write(_signal_file)
        refusals.path()  # a fork inherits it
    return _signal_file


def _forget(path: str, process: int) -> None:
    if os.getpid() == process:
        with suppress(OSError):  # the file does not exist while nothing is blocked
            os.unlink(path)


def _forked() -> None:
    global _signal_file, _blocked
    path, _signal_file, _blocked = _signal_file, None, False
    if path is not None:
        _watch_parent(path)


def _watch_parent(path: str, reports: str = "") -> None:
    """Make this process (a worker) check from now on whether its parent's signal file `path` exists.

    A worker that was not forked reports its refused calls to the file `reports`; a fork inherits the file's path.
    """
    if reports:
        refusals.report_to(reports)
    if not _parents:
        sys.addaudithook(_watch)
    _parents.append(path)


class InChild:
    """Calls `act(*args)` when a process other than its creator unpickles it.

    `starting` makes an InChild an attribute of a multiprocessing process object, which a child process unpickles.
    """

    def __init__(self, act: Callable[..., object], *args: object) -> None:
        self._given = (os.getpid(), act, *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, self._given


def _unpickled(parent: int, act: Callable[..., object], *args: object) -> None:
    if os.getpid() != parent:
        act(*args)


def starting(original: Any, name: str, make: Callable[[], InChild | None]) -> Any:
    """Wrap multiprocessing's `BaseProcess.start`: while it runs, the process object has a further attribute.

    `name` is the attribute's name; `make()` returns its value. A child that is not forked unpickles the value.
    """

    @wraps(original)
    def start(self: Any) -> Any:
        setattr(self, name, make())
        try:
            return original(self)
        finally:
            delattr(self, name)

    return start


def _patch(module: Any) -> None:
    """Patch `BaseProcess.start` of multiprocessing, for workers that are not forked."""
    while _hook in sys.meta_path:
        sys.meta_path.remove(_hook)
    process = module.BaseProcess
    process.start = starting(process.start, "_converse_harness_parent", _parent)


def _parent() -> InChild:
    return InChild(_watch_parent, _share(), refusals.path())


_hook = ImportHook((_PROCESSES,), _patch)


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event not in _EVENTS:
        return
    name = str(args[_EVENTS[event]])  # an address is a tuple; its text contains the host
    if not name.isascii() or "bedrock" in name.lower():
        _install_guard()
        from converse_harness.intercept.guard import connections, hosts

        connections.check(hosts.host_of(args[_EVENTS[event]]))


@cache
def _install_guard() -> None:
    """Install a permanent guard in this worker. It refuses calls to Bedrock while any file in `_parents` exists.

    The function runs when the worker first looks up a Bedrock host or connects to one.
    """
    from converse_harness.intercept.exchange import GIVE_ENVIRON, RefusingInWorker
    from converse_harness.intercept.registry import OPEN_FAKES

    class _WhileParentsBlock(RefusingInWorker):
        @property
        def records(self) -> bool:
            return not any(map(os.path.exists, _parents))

    OPEN_FAKES.set_fallback(
        _WhileParentsBlock(
            f"a call to Bedrock{{host}} from process {os.getpid()}, a worker that was started before the "
            "converse-harness fake that is open in the process that it works for. Do this before the worker starts. "
            + GIVE_ENVIRON
        )
    )
