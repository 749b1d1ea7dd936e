"""Code shared by `serve` and `record`: run the server until it is interrupted, and print a line for each call."""

from __future__ import annotations

import argparse
import queue
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from converse_harness.cli.terminal import BOLD, DIM, RED, Arguments, complain, counted, plain, say, say_now
from converse_harness.endpoint.call import Call
from converse_harness.json_values import member_of, parsed_json
from converse_harness.reply.body import shorten
from converse_harness.server.control import FAKES
from converse_harness.server.listener import ConverseServer
from converse_harness.shell import set_variables

_EXPORTED: Final = (
    ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
    ("AWS_BEDROCK_RUNTIME_ENDPOINT",),
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION"),
)
"""The environment variables in the three printed lines that set them, one row per line.

The first line is for the AWS SDKs, the second for litellm, the third for both.
"""

_TEXT: Final = 24
_SUMMARY: Final = 40
_REFUSAL: Final = 160
"""The maximum numbers of printed characters of the user's text, of the answer, and of the error that a client receives
if the fake has no reply."""

Ended = queue.SimpleQueue[Callable[[], None]]
"""A queue of functions that the main thread calls, for example to print a call that has ended.

Any thread may add functions.
"""

_LOOK_EVERY: Final = 0.2
"""Seconds between two returns of `call_next` while no call ends."""


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it is a number from 0 (a free one) to 65535")
    return int(text)


ADDRESS: Final[Arguments] = {
    "--port": {"type": _port, "default": 0, "help": "the port to listen on (default: a free one)"},
    "--host": {"default": "127.0.0.1", "help": "the address to listen on (default: %(default)s)"},
}


@contextmanager
def running(server: ConverseServer, command: str, ended: Ended) -> Generator[None]:
    """Bind a server for a `with` block, which starts it once its fakes are open: no request may find the server empty.

    At the end, stop the server, and call the functions that are left in the queue `ended`. Raises TransportError if the
    server cannot be bound.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            server.bind()
        for each in caught:
            complain(command, f"warning: {each.message}")
        yield
    finally:
        try:
            server.stop()
        finally:
            while not ended.empty():
                ended.get()()


def call_next(ended: Ended) -> None:
    """Call the next function of the queue, or return if none is added within _LOOK_EVERY seconds.

    Python loses a wake-up by a signal that arrives just before a wait begins: a wait without a limit would then ignore
    SIGTERM and Ctrl-C.
    """
    with suppress(queue.Empty):
        ended.get(timeout=_LOOK_EVERY)()


def announce(doing: str, server: ConverseServer, environ: Mapping[str, str], more: str = "") -> None:
    """Print the address of a server, the address of its page with the calls, and environment variables for clients.

    `doing` says in the first line what the server does. The line has no other URL than the server's, because people and
    programs take the first URL for its address. `more` is a line below it. `environ` is empty if the server has only
    the control API.
    """
    say(f"{doing} on {server.url}        HTTP/1.1 and HTTP/2", BOLD)
    if more:
        say(more)
    say(f"Its calls, in a browser: {server.page_url}\n")
    if not environ:
        say(f"  POST {server.url}{FAKES} opens a fake; {server.url}/__converse/openapi.json describes it")
    for names in _EXPORTED if environ else ():
        say(f"  {set_variables({name: environ[name] for name in names})}")
    say()


def print_call(call: Call, id: str = "") -> None:
    """Print one line about a call: its request and its outcome.

    `id` is the id of the fake that answered; "" for the fake whose URL contains no id.
    """
    style = RED if _is_unexpected(call) else DIM if call.operation == "CountTokens" else ""
    say_now(_call_line(id, call), style)


def _call_line(id: str, call: Call) -> str:
    """Return the line about a call.

    It contains the fake, the operation, the model, the user's text, the answer, the number of events, the duration and
    remarks.
    """
    fake = f"{id:<8} " if id else ""
    operation = call.operation or f"{call.request.method} {call.request.target}"
    asked = shorten(call.last_user_text, _TEXT)
    if _is_unexpected(call):
        answered = _cut(_refused(call), _REFUSAL)
    else:
        answered = f"{_cut(call.summary or str(call.status or ''), _SUMMARY):<{_SUMMARY}}"
    streams = call.operation == "ConverseStream" and call.status == 200
    counts = counted(len(call.events), "event") if streams else ""
    passed_on = call.answered.passed_on
    last_at = call.answered.taken.last_at if passed_on is None else passed_on().at
    taken = "" if last_at is None else f"{1000 * last_at:.0f} ms"
    line = f"{fake}{operation:<14}  {call.model_id:<26} {asked:<{_TEXT}}  -> {answered} {counts:>10} {taken:>8}"
    if call.attempt > 1:
        line += f"  attempt {call.attempt}"
    if call.refusal is not None and call.reply is not None and call.reply.recorded is None:
        line += f"  breaks {call.refusal.rule.name}"
    for note in call.answered.notes:
        if call.refusal is None or note.kind != call.refusal.rule.name:
            line += f"  note {note.kind}"
    if call.answered.differs is not None and (places := call.answered.differs()):
        line += f"  differs from the recording: {places}"
    if call.outcome != "complete":
        line += f"  {call.outcome}"
    return plain(line.rstrip())


def _is_unexpected(call: Call) -> bool:
    """Whether the client received an error, or no answer, because the fake had no reply for the call."""
    failed = call.status >= 400 or bool(call.answered.error)
    return call.reply is None and call.answered.passed_on is None and failed


def _refused(call: Call) -> str:
    """Return a text about the error that the client received because there was no reply."""
    sent = parsed_json(call.answered.taken.data[0]) if call.answered.taken else None
    message = member_of(sent, "message") or call.answered.error or None
    why = f"UNEXPECTED {call.status}" if call.refusal is None else f"REFUSED {call.status} {call.refusal.rule.name}"
    return why if message is None else f"{why}: {message}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
