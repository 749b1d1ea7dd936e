"""Leaving: whatever happens, other libraries are as they were once nothing needs the patches, and never before."""

from __future__ import annotations

import gc
import importlib
import os
import platform
import signal
import socket
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from typing import Any
from weakref import WeakSet

import botocore.endpoint
import pytest
from botocore.config import Config

from converse_harness import BlockedConnection, Fake, TransportError, fake_converse, refusals, reply
from converse_harness.intercept.patch_points import POINTS
from converse_harness.intercept.patches import Point
from converse_harness.intercept.registry import CURRENT_CALL, OPEN_FAKES
from tests.intercept.interrupts import each_step, interrupt_everywhere

Client = Callable[..., Any]
Network = list[tuple[str, Any]]
EAGER = [point for point in POINTS if point.eager]


def attributes() -> dict[str, Any]:
    """Every attribute of the table that exists here, as it is now."""
    found: dict[str, Any] = {}
    for point in POINTS:
        holder: Any = sys.modules.get(point.module)
        *path, name = point.attribute.split(".")
        for step in path:
            holder = getattr(holder, step, None)
        if holder is not None:
            # Not vars(): at the end of every test pytest-socket makes `connect`, inherited, an attribute of the class.
            found[str(point)] = getattr(holder, name, None)
    return {**found, "sys.meta_path": list(sys.meta_path)}


@pytest.fixture(autouse=True)
def originals(unkept: None) -> Iterator[dict[str, Any]]:
    """What everything was before the test, and must be after it."""
    for point in POINTS:
        if point.eager or point.module.partition(".")[0] in sys.stdlib_module_names:
            importlib.import_module(point.module)
    OPEN_FAKES.forget_threads()  # a thread of another test may end only now, or live as long as the process
    OPEN_FAKES.unpatch_if_idle()
    before = attributes()
    with refusals.of_a_run():  # that a thread is refused too late fails no test here
        yield before
    OPEN_FAKES.unpatch_if_idle()
    assert attributes() == before
    assert OPEN_FAKES.newest() is None


def test_everything_is_replaced_and_given_back(originals: dict[str, Any]) -> None:
    relied_on = {str(point) for point in POINTS if point.replace is None and point.module in sys.modules}
    with fake_converse():
        during = attributes()
        assert {name for name in originals if during[name] is originals[name]} == relied_on
    assert attributes() == originals
    assert "connect_ex" not in vars(socket.socket)


def test_fakes_close_in_any_order(make_client: Client, question: dict[str, Any], originals: dict[str, Any]) -> None:
    first, second, third = (fake_converse(reply.text(name)) for name in ("first", "second", "third"))
    for fake in (first, second, third):
        fake.open()
    client = make_client()
    second.close()
    first.close()
    assert client.converse(**question)["output"]["message"]["content"] == [{"text": "third"}]
    second.close()
    assert attributes() != originals
    third.close()
    assert attributes() == originals


def test_somebody_elses_wrapper_is_left_in_place_and_ours_is_transparent_below(
    make_client: Client, question: dict[str, Any], originals: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint: Any = botocore.endpoint.Endpoint
    asked: list[str] = []
    with fake_converse(reply.text("hi")):
        ours = endpoint._send

        def theirs(self: Any, request: Any) -> Any:
            asked.append(request.url)
            return ours(self, request) if len(asked) < 9 else bound_late  # a cell of its closure that is still empty

        monkeypatch.setattr(endpoint, "_send", theirs)
        with fake_converse():  # the patches are looked at again, with the wrapper over them
            assert vars(endpoint)["_send"] is theirs
        make_client().converse(**question)
    assert vars(endpoint)["_send"] is theirs
    monkeypatch.setattr(
        "botocore.httpsession.URLLib3Session.send", lambda self, request: pytest.fail("reached the network")
    )
    with pytest.raises(pytest.fail.Exception, match="network"):
        make_client(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b").converse(**question)
    with fake_converse(reply.text("again")):
        assert vars(endpoint)["_send"] is theirs
        make_client().converse(**question)
    assert len(asked) == 3
    monkeypatch.undo()
    assert vars(endpoint)["_send"] is ours
    with fake_converse(reply.text("hi")):
        make_client().converse(**question)
    assert attributes() == originals
    bound_late = None


# A library that is not as expected


@pytest.mark.parametrize("point", EAGER, ids=str)
@pytest.mark.parametrize("change", ["missing", "another signature"])
def test_a_changed_botocore_is_named_and_nothing_is_patched(
    point: Point, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder: Any = importlib.import_module(point.module)
    *path, name = point.attribute.split(".")
    for step in path:
        holder = getattr(holder, step)
    if change == "missing":
        monkeypatch.delattr(holder, name)
    else:
        monkeypatch.setattr(holder, name, made_by(point.module))
    changed = attributes()
    with pytest.raises(TransportError, match=rf"botocore \d+\.\d+.*{name}.*expected.*found.*Install") as caught:
        fake_converse().open()
    assert f"{point.module}.{point.attribute}" in str(caught.value)
    assert attributes() == changed
    assert OPEN_FAKES.newest() is None
    monkeypatch.undo()
    with fake_converse():
        pass


def made_by(module: str) -> Callable[..., None]:
    """A function as a module has it that knows other parameters."""

    def function(self: object, changed: object) -> None: ...

    function.__module__ = module
    return function


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("h11._readers", rf"^cannot open a fake: h11 {version('h11')} has replaced a part of "),
        ("agent.patches", "^cannot open a fake: the module agent.patches has replaced a part of "),
    ],
    ids=["package", "module"],
)
@pytest.mark.parametrize(
    ("holder", "name", "library"),
    [
        ("botocore.endpoint", "Endpoint", r"botocore [\d.]+"),
        ("ssl", "SSLSocket", rf"Python {platform.python_version()}"),
    ],
    ids=["package", "Python"],
)
@pytest.mark.parametrize("gone", [False, True], ids=["another signature", "a class without it"])
def test_who_replaced_a_part_of_a_library_is_named_not_the_library(
    holder: str, name: str, library: str, module: str, said: str, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = importlib.import_module(holder)
    theirs = type("Theirs", (), {"__module__": module, **({} if gone else dict.fromkeys(METHODS, made_by(module)))})
    monkeypatch.setattr(changed, name, theirs)
    end = " Let it do that after the fake is open"
    by = f"{said}{library} by something.* {holder}.{name}.*: expected .*, found .* Nothing was patched.{end}"
    with pytest.raises(TransportError, match=by) as caught:
        fake_converse().open()
    assert ("another release of h11" in str(caught.value)) == (module != "agent.patches")
    monkeypatch.undo()
    with fake_converse():
        pass


METHODS = ("_send", "_send_request", "_do_get_response", "_needs_retry", "send", "write")


def test_code_that_no_longer_calls_send_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def _do_get_response(self: Any, request: Any, operation_model: Any, context: Any) -> Any:
        return self._deliver(request)

    monkeypatch.setattr(botocore.endpoint.Endpoint, "_do_get_response", _do_get_response)
    with pytest.raises(TransportError, match=r"_do_get_response: expected code that mentions _send, found.*_deliver"):
        fake_converse().open()
    monkeypatch.undo()


# Calls and threads that outlive their fake


def test_a_call_that_is_retried_after_its_fake_closed_is_refused(
    make_client: Client, question: dict[str, Any], network: Network, originals: dict[str, Any]
) -> None:
    fake = fake_converse(reply.throttled().times(9), unused="allow")
    caught: list[BaseException] = []
    waiting, go_on = threading.Event(), threading.Event()

    def hold_the_retry(**_: Any) -> None:
        waiting.set()
        assert go_on.wait(5)

    def ask() -> None:
        client = make_client(config=Config(retries={"mode": "standard"}))
        client.meta.events.register("needs-retry.bedrock-runtime.Converse", hold_the_retry)
        try:
            client.converse(**question)
        except BaseException as error:  # noqa: BLE001 - the test asks for it
            caught.append(error)

    fake.open()
    thread = threading.Thread(target=ask)
    thread.start()
    assert waiting.wait(5)
    fake.close()
    during = attributes()
    go_on.set()
    thread.join()
    assert during != originals
    assert isinstance(caught[0], BlockedConnection)
    assert "began while" in str(caught[0])
    assert "await its task" in str(caught[0])
    assert len(fake.calls) == 1
    assert network == []
    with pytest.raises(BlockedConnection):
        fake.check()


def test_a_fake_that_closes_in_the_middle_of_a_call_of_its_own_thread_refuses_the_rest_of_it(
    make_client: Client, question: dict[str, Any], network: Network, originals: dict[str, Any]
) -> None:
    fake = fake_converse(reply.throttled().times(9), unused="allow")
    fake.open()
    client = make_client(config=Config(retries={"mode": "standard"}))
    client.meta.events.register("needs-retry.bedrock-runtime.Converse", lambda **_: fake.close())
    with pytest.raises(BlockedConnection, match="began while"):
        client.converse(**question)
    assert attributes() == originals
    assert network == []


class Outliving:
    """A thread that makes a call whenever it is told to."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act
        self._go, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._stop = False
        self.results: list[Any] = []
        self.thread = threading.Thread(target=self._run, name="outliving", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while self._go.acquire() and not self._stop:
            try:
                self.results.append(self._act())
            except BaseException as error:  # noqa: BLE001 - a result as well
                self.results.append(error)
            self._done.release()

    def ask(self) -> Any:
        self._go.release()
        assert self._done.acquire(timeout=5)
        return self.results[-1]

    def stop(self) -> None:
        self._stop = True
        self._go.release()
        self.thread.join(5)


@pytest.mark.parametrize("born", ["under the fake", "before it"])
def test_a_thread_that_outlives_its_fake_is_refused_until_a_newer_one_is_open(
    make_client: Client, question: dict[str, Any], network: Network, originals: dict[str, Any], born: str
) -> None:
    client = make_client(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")

    def start() -> Outliving:
        return Outliving(lambda: client.converse(**question))

    early = start() if born == "before it" else None
    with fake_converse(reply.text("hi").times(2 if early else 1)) as fake:
        worker = early or start()
        if early:
            worker.ask()
        client.converse(**question)
    refused = worker.ask()
    assert isinstance(refused, BlockedConnection)
    assert "'outliving'" in str(refused)
    assert "Join the thread" in str(refused)
    with pytest.raises(BlockedConnection):
        fake.check()
    with fake_converse(reply.text("newer")):
        assert worker.ask()["output"]["message"]["content"] == [{"text": "newer"}]
    assert isinstance(worker.ask(), BlockedConnection)
    assert attributes() != originals
    worker.stop()
    OPEN_FAKES.unpatch_if_idle()
    assert attributes() == originals
    assert network == []


def test_the_calls_of_a_thread_that_outlives_its_fake_are_counted_and_not_kept(
    make_client: Client, question: dict[str, Any], network: Network
) -> None:
    clients = WeakSet[Any]()

    def ask() -> None:
        client = make_client(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        clients.add(client)
        with suppress(BlockedConnection):
            client.converse(**question)

    with fake_converse() as fake:
        worker = Outliving(ask)
    for _ in range(5):
        worker.ask()
    gc.collect()
    with pytest.raises(BlockedConnection, match="'outliving'") as caught:
        fake.check()
    worker.ask()
    with pytest.raises(BlockedConnection) as again:
        fake.check()
    known = weakref.ref(fake)
    told = len(fake.endpoint.problems), caught.value.__notes__, hasattr(again.value, "__notes__")
    del fake, caught, again
    gc.collect()
    assert known() is None  # although the thread is alive
    worker.ask()
    worker.stop()
    assert told == (2, ["After the fake had closed, 5 calls were refused in this way; this is the first."], False)
    assert list(clients) == []
    assert network == []


def test_a_thread_that_has_ended_is_forgotten_when_the_next_fake_closes(
    make_client: Client, question: dict[str, Any], network: Network
) -> None:
    client = make_client(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    with fake_converse():
        worker = Outliving(lambda: client.converse(**question))
    assert isinstance(worker.ask(), BlockedConnection)
    known = OPEN_FAKES._outlived  # a thread that has ended makes no call by which to see it
    assert len(known) == 1
    worker.stop()  # the object of the thread lives as long as the test has it
    with fake_converse():
        pass
    assert len(known) == 0
    assert network == []


def test_threads_that_never_called_and_the_closing_thread_are_free(
    make_client: Client, question: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    def answer(self: Any, request: Any) -> Any:
        sent.append(threading.current_thread().name)
        raise ConnectionError(request.url)

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", answer)
    client = make_client(
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}),
    )
    bystander = Outliving(lambda: client.converse(**question))
    with fake_converse(reply.text("hi")):
        client.converse(**question)
    assert isinstance(bystander.ask(), ConnectionError)
    with pytest.raises(ConnectionError):
        client.converse(**question)
    bystander.stop()
    assert len(sent) == 2


def test_a_thread_started_by_one_that_outlived_its_fake_is_refused_too(
    make_client: Client, question: dict[str, Any], network: Network
) -> None:
    client = make_client(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    results: list[Any] = []

    def ask() -> None:
        try:
            results.append(client.converse(**question))
        except BlockedConnection as error:
            results.append(error)

    def start_another() -> None:
        child = threading.Thread(target=ask)
        child.start()
        child.join()

    with fake_converse():
        worker = Outliving(start_another)
    worker.ask()
    worker.stop()
    assert [type(result) for result in results] == [BlockedConnection]
    assert network == []


# Interrupts


def lock_is_free() -> bool:
    """Whether another thread could open a fake now."""
    free: list[bool] = []

    def look() -> None:
        free.append(OPEN_FAKES._lock.acquire(timeout=1))
        with suppress(RuntimeError):  # it was not acquired
            OPEN_FAKES._lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return free == [True]


def test_a_lock_that_another_thread_held_is_free_in_a_forked_child() -> None:
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with OPEN_FAKES._lock:
            held.set()
            go_on.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(5)
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        with fake_converse():
            os._exit(7)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 7


def open_and_close(fake: Fake) -> None:
    with OPEN_FAKES.opened(fake.core):
        pass


@each_step
def test_an_interrupt_at_any_line_of_opening_and_closing_leaves_everything_as_it_was(
    originals: dict[str, Any], each_step: bool
) -> None:
    def check(where: str) -> None:
        assert attributes() == originals, where
        assert OPEN_FAKES.newest() is None, where

    assert interrupt_everywhere(open_and_close, check, each_step=each_step) > 10
    assert lock_is_free()
    with fake_converse():
        assert attributes() != originals
    assert attributes() == originals


@each_step
def test_an_interrupt_leaves_a_fake_open_or_closed_and_never_half(originals: dict[str, Any], each_step: bool) -> None:
    """An interrupt before the first step of closing leaves it open, as if never asked."""
    with fake_converse():
        patched = attributes()

    def open_then_close(fake: Fake) -> None:
        opened = OPEN_FAKES.opened(fake.core)
        try:
            opened.__enter__()
        except KeyboardInterrupt:
            assert OPEN_FAKES.newest() is None
            assert attributes() == originals
            raise
        try:
            opened.__exit__(None, None, None)
        except KeyboardInterrupt:
            is_open = OPEN_FAKES.newest() is fake.core
            assert {name for name in originals if is_same(attributes(), originals, name)} == (
                {name for name in originals if is_same(patched, originals, name)} if is_open else originals.keys()
            )
            assert lock_is_free()
            OPEN_FAKES.close(fake.core)
            raise

    def check(where: str) -> None:
        assert OPEN_FAKES.newest() is None, where
        assert attributes() == originals, where

    assert interrupt_everywhere(open_then_close, check, each_step=each_step) > 10


def is_same(one: dict[str, Any], other: dict[str, Any], name: str) -> bool:
    return bool(one[name] == other[name])


@each_step
def test_an_interrupt_in_an_inner_fake_leaves_the_outer_one_working(
    make_client: Client, question: dict[str, Any], each_step: bool
) -> None:
    with fake_converse() as outer:
        outer.always(reply.text("outer"))
        client = make_client()

        def check(where: str) -> None:
            assert OPEN_FAKES.newest() is outer.core, where
            assert client.converse(**question)["output"]["message"]["content"] == [{"text": "outer"}], where

        interrupt_everywhere(open_and_close, check, each_step=each_step)
    assert lock_is_free()


# Where the interrupt hits a finalizer, Python 3.13 can only report it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::converse_harness.FakeNotOpenWarning")  # the registry alone is opened
@pytest.mark.slow
@each_step
def test_an_interrupted_call_is_not_held_for_ever(
    make_client: Client, question: dict[str, Any], originals: dict[str, Any], each_step: bool
) -> None:
    clients = [make_client(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")]

    def call(fake: Fake) -> None:
        fake.always(reply.text("hi"))
        with OPEN_FAKES.opened(fake.core):
            clients[0].converse(**question)

    def check(where: str) -> None:
        OPEN_FAKES.unpatch_if_idle()
        assert attributes() == originals, where
        assert CURRENT_CALL.get() is None, where

    assert interrupt_everywhere(call, check, each_step=each_step, besides=open_and_close) > 10
    assert lock_is_free()


def test_whoever_is_alone_stays_so_when_a_finalizer_closes_another_fake() -> None:
    left: list[bool] = []

    def others_may_enter() -> None:
        entered = OPEN_FAKES._lock.acquire(blocking=False)
        left.append(entered)
        if entered:
            OPEN_FAKES._lock.release()

    def step() -> None:
        OPEN_FAKES.close(fake_converse().core)  # as a finalizer does
        in_thread(others_may_enter)

    def in_thread(function: Callable[[], None]) -> None:
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()

    OPEN_FAKES.locked(step)
    in_thread(others_may_enter)
    assert left == [False, True]
