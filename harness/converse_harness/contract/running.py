"""Run an adapter within a time limit. An adapter takes a Target and returns an Outcome."""

from __future__ import annotations

import _thread
import asyncio
import ctypes
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

from converse_harness.contract.outcome import Outcome
from converse_harness.errors import BlockedConnection, ReplyError, StreamOrderError
from converse_harness.json_values import canonical

if TYPE_CHECKING:
    from converse_harness.intercept.fake import Fake


QUESTION: Final = "What is it like in Zürich?"
"""The text of the consumer's request."""

NEXT_QUESTION: Final = "And what is it like in Bern?"
"""The text of the second question of a consumer that remembers."""

MODEL_ID: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
"""The model of the consumer's request."""

TOOL: Final = "get_weather"
TOOL_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
"""TOOL is the only tool in the consumer's request, and TOOL_SCHEMA the JSON Schema of the tool's input."""

FAILING_INPUT: Final = {"city": "Atlantis"}
"""The input for which `Target.tool` raises an error."""

TOOL_DESCRIPTION: Final = "The weather in a city."

BEDROCK_URL: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"
"""A URL of Bedrock. A fake for httpx answers requests to this URL, and to the URLs of all other regions."""

PATIENT: Final = 30.0
"""The timeout of the consumer's client in seconds, for cases in which the whole answer arrives."""

SHORT_TIME: Final = 0.5
"""The timeout of the consumer's client in seconds, for cases in which a part of the answer never arrives."""


@dataclass(frozen=True, slots=True)
class Target:
    """The fake that the consumer must call, and the request that the consumer must send.

    `operation` is Converse or ConverseStream. `patience` is the read timeout for the consumer in seconds; it is short
    in cases in which a part of the answer never arrives. `offers_tool` is false if the contract's `kinds` have no tool
    use. `question` is the text of the question; `consume_next` gets another one. `ran` are the inputs that `tool` got.
    With the transport "boto", the fake also answers boto clients that the consumer creates itself.

    >>> from converse_harness import fake_converse, reply
    >>> with fake_converse(reply.text("hi")) as fake:
    ...     target = Target(fake, "Converse")
    ...     target.client.converse(**target.request)["output"]["message"]["content"]
    [{'text': 'hi'}]
    """

    fake: Fake
    operation: str
    patience: float = PATIENT
    offers_tool: bool = True
    question: str = QUESTION
    ran: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], repr=False)

    @property
    def client(self) -> Any:
        """A boto client for the fake, with `patience` as its read and connect timeout."""
        from botocore.config import Config

        from converse_harness.intercept.clients import create_client

        timeouts = Config(read_timeout=self.patience, connect_timeout=self.patience)
        return create_client(config=timeouts, endpoint_url=getattr(self.fake, "url", None))

    def tool(self, **given: Any) -> str:
        """Run the tool of the request: return a text that differs for each input, and add the input to `ran`.

        Use it in an adapter of an agent that runs tools. Then the contract judges which result the agent sends for
        which tool use. Raises ToolFailed for the city Atlantis: the agent must tell the model, or fail.
        """
        self.ran.append(given)
        if given == FAILING_INPUT:
            raise ToolFailed("There is no weather station in Atlantis.")
        return tool_answer(given)

    @property
    def url(self) -> str:
        """The URL of the fake's server. Raises ReplyError unless the transport is "server"."""
        return str(self._of_the_server("url"))

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that make SDKs send their requests to `url`.

        Raises ReplyError unless the transport is "server".
        """
        return dict(self._of_the_server("environ"))

    def _of_the_server(self, name: str) -> Any:
        transport = self.fake.transport or ""
        if transport == "httpx":
            raise ReplyError(
                f'target.{name}: with the transport "httpx", your client is answered in process, under Bedrock\'s own '
                f'URLs. Aim it at {BEDROCK_URL}; target.{name} is for `transport = "server"`.'
            )
        if transport != "server":
            raise ReplyError(
                f'target.{name}: a fake behind the transport "{transport}" has none. Say `transport = "server"` in '
                "the contract; the consumer is then asked over a socket."
            )
        return getattr(self.fake, name)

    @property
    def request(self) -> dict[str, Any]:
        """The request, a question and one tool, as keyword arguments of boto3's `converse` and `converse_stream`.

        There is no tool if `offers_tool` is false.
        """
        asked = {"modelId": MODEL_ID, "messages": [{"role": "user", "content": [{"text": self.question}]}]}
        if not self.offers_tool:
            return asked
        spec = {"name": TOOL, "description": TOOL_DESCRIPTION, "inputSchema": {"json": dict(TOOL_SCHEMA)}}
        return {**asked, "toolConfig": {"tools": [{"toolSpec": spec}]}}


def tool_answer(given: Mapping[str, Any]) -> str:
    """Return the text that `Target.tool` returns for an input."""
    return f"station {crc32(canonical(given).encode()) % 10**6:06}: 18 degrees"


class ToolFailed(Exception):
    """Raised by `Target.tool` for the city Atlantis.

    >>> from converse_harness import fake_converse
    >>> with fake_converse() as fake:
    ...     Target(fake, "Converse").tool(city="Atlantis")
    ToolFailed: There is no weather station in Atlantis.
    """


ToolFailed.__module__ = "converse_harness.contract"  # its public import path

Adapter = Callable[[Target], Outcome | Awaitable[Outcome]]
"""A function that sends the target's request with the consumer. It returns an Outcome, or an awaitable of one."""

_GRACE: Final = 1.0
"""The number of seconds in which a consumer may end by itself after its fake was closed."""

_INTERRUPTED_FOR: Final = 1.0
"""The number of seconds in which a consumer that goes on is then interrupted again and again."""

_LOOK_EVERY: Final = 0.05
"""Seconds between two checks of a running consumer."""


class SetUpFailed(Exception):
    """Raised if a test shows nothing about the consumer, for instance because the adapter failed before any request."""


SetUpFailed.__module__ = "converse_harness.contract"  # its public import path


class _Stopped(BaseException):
    """Raised in the thread of a consumer to stop it, because it exceeds the limit of seconds or of requests."""


def _raise_in(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Stopped))


@contextmanager
def _unraised() -> Generator[None]:
    """During a `with` block, hide Python's reports of each `_Stopped` that is raised in a finalizer.

    Such an exception interrupts nothing, and `_interrupt` soon raises another one.
    """
    usual = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is not _Stopped:
            usual(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        if sys.unraisablehook is hook:
            sys.unraisablehook = usual


_FAKE: Final[ContextVar[object]] = ContextVar("converse_harness_contract", default=None)
"""Inside a run of an adapter, the fake of this run; otherwise None."""


def refuse_other_runs(fake: Fake) -> None:
    """Raise BlockedConnection in a run of another fake.

    A consumer that cannot be stopped goes on in its thread. Its calls reach the newest fake, so the consumer would take
    the replies of the next case.
    """
    if _FAKE.get() not in (None, fake):
        raise BlockedConnection(
            "A consumer that the contract has stopped goes on with calls to Bedrock. They are refused, for the "
            "replies are those of another case. Let the consumer end: it catches every exception perhaps."
        )


@dataclass(slots=True)
class _Run:
    """One run of an adapter: `outcome` is what it returned, `error` the exception it raised.

    The run has a thread of its own, so that the test ends even if the consumer hangs.
    """

    adapter: Adapter
    target: Target
    outcome: object = None
    error: BaseException | None = None
    cancel: Callable[[], object] = lambda: None
    """Cancels the adapter's coroutine, if there is one; `_Stopped` alone does not interrupt an event loop that waits.
    """
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop of the adapter's coroutine, if there is one."""
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        context = copy_context()
        context.run(_FAKE.set, self.target.fake)
        self.thread = threading.Thread(target=lambda: context.run(self._go), name="converse-contract", daemon=True)

    def _go(self) -> None:
        try:
            made = self.adapter(self.target)
            self.outcome = asyncio.run(self._awaited(made)) if isinstance(made, Awaitable) else made
        except BaseException as error:  # noqa: BLE001 - `run` handles it in the waiting thread
            self.error = error

    async def _awaited(self, made: Awaitable[Outcome]) -> Outcome:
        loop, task = asyncio.get_running_loop(), cast("asyncio.Task[Outcome]", asyncio.current_task())
        self.loop, self.cancel = loop, lambda: loop.call_soon_threadsafe(task.cancel)
        return await made

    def ends(self, time_limit: float, most_calls: int) -> bool:
        """Wait for the end of the run. Return whether the run ended within the limits of seconds and of requests."""
        deadline = time.monotonic() + time_limit
        while (left := deadline - time.monotonic()) > 0 and self.target.fake.endpoint.received <= most_calls:
            self.thread.join(min(left, _LOOK_EVERY))
            if not self.thread.is_alive():
                return True
        return not self.thread.is_alive()

    def stop(self) -> None:
        """Stop the run: close the fake, cancel the coroutine of the adapter, then raise `_Stopped` in its thread."""
        self.target.fake.core.tells_late_calls = False  # the verdict says already that the consumer goes on
        self.target.fake.close()
        self._cancel()
        self.thread.join(_GRACE)
        if self.thread.is_alive():
            tried = _thread.allocate_lock()
            tried.acquire()
            with _unraised():
                _thread.start_new_thread(self._interrupt, (tried,))
                tried.acquire(timeout=3 * _INTERRUPTED_FOR)
        if self.loop is not None:
            # A task that was interrupted stays pending. When it is collected, maybe during another test, asyncio would
            # log an error about it; it offers no public way to tell that this is known.
            for task in asyncio.all_tasks(self.loop):
                cast("Any", task)._log_destroy_pending = False

    def _interrupt(self, tried: _thread.LockType) -> None:
        # CPython 3.11 may switch away from a traced thread only when that thread calls a Python function. If coverage
        # or a debugger traced this thread, the consumer's thread would be interrupted late. Therefore `stop` starts
        # this thread with `_thread`, which installs no tracer, and waits for it in a C function, `tried.acquire`.
        deadline = time.monotonic() + _INTERRUPTED_FOR
        try:
            while self.thread.is_alive() and time.monotonic() < deadline:
                _raise_in(cast("int", self.thread.ident))
                self._cancel()  # `_Stopped` does not interrupt an event loop that waits for events
                self.thread.join(_LOOK_EVERY)
            with suppress(_Stopped):
                # If the consumer's thread has ended before it raised the last `_Stopped`, that interruption is pending
                # in Python. An interruption of this thread makes Python drop it.
                _raise_in(_thread.get_ident())
                time.sleep(0)
        finally:
            tried.release()

    def _cancel(self) -> None:
        with suppress(RuntimeError):  # raised if the event loop is already closed
            self.cancel()


def run(adapter: Adapter, target: Target, *, time_limit: float, most_calls: int) -> Outcome | None:
    """Run the adapter; return its Outcome, an Outcome with the exception that it raised, or None if it was stopped.

    The run is stopped after `time_limit` seconds or after more than `most_calls` requests. First the fake is closed,
    which ends the wait for an answer. Then the coroutine is cancelled, and then the thread is interrupted. A consumer
    that waits in C code is interrupted when it returns to Python. A consumer that catches the interruption and
    continues cannot be stopped; `refuse_other_runs` keeps it from the answers of the next fake.

    Raises SetUpFailed if the adapter fails before the first request, sends no request, or returns no Outcome. Also
    raises SetUpFailed if the first request calls another operation, if Bedrock would refuse it, or if Python cannot
    start a thread. Raises ReplyError for an invalid Outcome, and the exceptions of `pytest.skip` and
    `pytest.fail`.
    """
    going = _Run(adapter, target)
    try:
        going.thread.start()
    except RuntimeError as no_thread:
        raise SetUpFailed(
            "The contract runs the adapter in a thread of its own, to stop a consumer that does not end, and this "
            f"Python ({sys.platform}) starts none: {no_thread}. Run the contract on a Python with threads; tests with "
            "the fixtures `converse` and `converse_httpx` need none."
        ) from no_thread
    ends = going.ends(time_limit, most_calls)
    if not ends:
        going.stop()
    _check_question(target)
    if not ends:
        return None
    outcome, error = going.outcome, going.error
    if error is not None:
        ours = isinstance(error, ReplyError) and not isinstance(error, StreamOrderError)
        if not isinstance(error, Exception) or ours:
            raise error  # Ctrl-C, sys.exit, pytest.skip, pytest.fail, or an invalid Outcome
        outcome = Outcome(error=error)
    if not isinstance(outcome, Outcome):
        raise SetUpFailed(
            f"The adapter returned {outcome!r}. Return an Outcome(text=..., tool_calls=..., stop_reason=..., "
            "error=...)."
        )
    if target.fake.calls.all:
        return outcome
    if outcome.error is None:
        raise SetUpFailed(
            f"The adapter returned {outcome!r}, and the consumer asked nothing, so that it cannot have read an answer. "
            "Let the adapter send the question with the consumer: target.client or target.url is the way, "
            "target.request the question."
        )
    failed = outcome.error
    what = failed if isinstance(failed, str) else f"{type(failed).__name__}: {failed}"
    raise SetUpFailed(
        f"The adapter failed before the consumer asked anything, with {what}. That is no verdict on the consumer; mend "
        "the adapter, or what it needs."
    ) from (None if isinstance(failed, str) else failed)


def _check_question(target: Target) -> None:
    """Raise SetUpFailed if the consumer called the wrong operation, or if Bedrock would refuse its first request."""
    asked = target.fake.calls
    # A consumer may fall back to the other operation, for instance to Converse after a stream that broke.
    for call in asked[:1]:
        if call.operation != target.operation:
            raise SetUpFailed(
                f'The consumer called {call.operation}, and the contract has `operation = "{target.operation}"`. Let '
                f'the adapter ask so, or say `operation = "{call.operation}"`.'
            )
    refusal, why = (asked[0].refusal, asked[0].malformed) if asked else (None, None)
    if refusal is not None:
        why = f"by the rule {refusal.rule.name}: {refusal.message}"
    if why is not None:
        raise SetUpFailed(
            f"Bedrock refuses the consumer's question, {why} That is no verdict on what it makes of answers; let the "
            "adapter ask what Bedrock answers."
        )
