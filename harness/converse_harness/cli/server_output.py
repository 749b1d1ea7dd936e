"""Code shared by `serve` and `record`: run the server until it is interrupted, and print a line for each call."""

from __future__ import annotations

import argparse
import json
import os
import queue
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Final, cast

from converse_harness.cases import Case
from converse_harness.cli.terminal import (
    BOLD,
    DIM,
    RED,
    Arguments,
    CommandFailed,
    complain,
    plain,
    say,
    say_now,
)
from converse_harness.endpoint.call import Call, ForwardedAnswer
from converse_harness.endpoint.script import Replies, Script
from converse_harness.errors import ReplyError
from converse_harness.json_values import member_of, parsed_json
from converse_harness.recordings.play.play import OtherRequest, recording
from converse_harness.reply.body import shorten
from converse_harness.reply.reply import Reply
from converse_harness.server.control import FAKES
from converse_harness.server.listener import ConverseServer
from converse_harness.shell import quoted, set_variables
from converse_harness.words import counted, cut

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
    say(f"Its calls, in a browser: {server.page_url}\n" if server.page_url != server.url else "")
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
    operation = call.operation or f"{call.head.method} {call.head.target}"
    asked = shorten(call.last_user_text, _TEXT)
    if _is_unexpected(call):
        answered = cut(_refused(call), _REFUSAL)
    else:
        answered = f"{cut(call.summary or str(call.status or ''), _SUMMARY):<{_SUMMARY}}"
    streams = call.operation == "ConverseStream" and call.status == 200
    counts = counted(len(call.events), "event") if streams else ""
    forwarded = call.of(ForwardedAnswer)
    last_at = call.answered.taken.last_at if forwarded is None else forwarded.so_far().at
    taken = "" if last_at is None else f"{1000 * last_at:.0f} ms"
    line = f"{fake}{operation:<14}  {call.model_id:<26} {asked:<{_TEXT}}  -> {answered} {counts:>10} {taken:>8}"
    if call.attempt > 1:
        line += f"  attempt {call.attempt}"
    if call.refusal is not None and call.reply is not None and call.reply.plan.recorded is None:
        line += f"  breaks {call.refusal.rule.name}"
    for note in call.notes:
        if call.refusal is None or note.kind != call.refusal.rule.name:
            line += f"  note {note.kind}"
    other = call.of(OtherRequest)
    if other is not None and (places := other.places()):
        line += f"  differs from the recording: {places}"
    if call.outcome != "complete":
        line += f"  {call.outcome}"
    return plain(line.rstrip())


def _is_unexpected(call: Call) -> bool:
    """Whether the client received an error, or no answer, because the fake had no reply for the call."""
    failed = call.status >= 400 or bool(call.answered.error)
    return call.reply is None and call.of(ForwardedAnswer) is None and failed


def _refused(call: Call) -> str:
    """Return a text about the error that the client received because there was no reply."""
    sent = parsed_json(call.answered.taken.data[0]) if call.answered.taken else None
    message = member_of(sent, "message") or call.answered.error or None
    why = f"UNEXPECTED {call.status}" if call.refusal is None else f"REFUSED {call.status} {call.refusal.rule.name}"
    return why if message is None else f"{why}: {message}"


@contextmanager
def ready_file(path: Path | None, url: str) -> Generator[None]:
    """Write a JSON file with `url` and `pid` at the beginning of a `with` block, and remove it at the end.

    No reader ever sees an incomplete file. If `path` is None, nothing is written. Raises CommandFailed if the file
    cannot be written.
    """
    if path is None:
        yield
        return
    text = json.dumps({"url": url, "pid": os.getpid()}) + "\n"
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            beside.write_text(text, encoding="utf-8", newline="\n")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CommandFailed(f"--ready-file {path} cannot be written: {error.strerror or error}") from error
    try:
        yield
    finally:
        with suppress(OSError):  # another process has removed the file already
            if path.read_text(encoding="utf-8") == text:  # otherwise, another server has written the file
                path.unlink()


def forget(path: Path | None) -> None:
    """Remove the file that an earlier server left because it was killed, so that no program uses the URL in it."""
    if path is not None:
        with suppress(OSError):  # the file does not exist, or cannot be written either
            path.unlink()


def when_stdin_closes(react: Callable[[], None]) -> None:
    """Start a thread that calls `react` when the standard input closes.

    This happens at the latest when the program that writes to this input has ended.
    """

    def read() -> None:
        with suppress(OSError):  # an error of the input counts as its end
            while os.read(0, 4096):  # sys.stdin.read() would hold a lock when the interpreter exits
                pass
        react()

    threading.Thread(target=read, name="converse-harness stdin", daemon=True).start()


_EXAMPLE: Final = 'from converse_harness import reply\n\n    script = [reply.text("hi")]'


class CannotServe(ReplyError):
    """Raised if a Python file or a case cannot be served. The message names the file or the case, and the reason."""


def load_case(case: Case) -> Script:
    """Return a script that gives the case's replies in order, and begins again with the first reply after the last.

    Raises CannotServe if a server cannot send one of the replies.
    """
    replies = [reply.times(1) for reply in case.replies for _ in range(reply.uses)]
    with _naming(f"the case {case.name} cannot be served"):
        for reply in replies:
            reply.plan.check_sendable("server")
    in_turn = cycle(replies)

    def next_of_the_case(call: Call) -> Reply:
        return next(in_turn)

    script = Script()
    script.fallback.add(replies if len(replies) == 1 else [next_of_the_case], endless=True)
    return script


@contextmanager
def _naming(place: str) -> Generator[None]:
    """Convert a ReplyError in a `with` block to CannotServe.

    The new message is `place`, a colon and the old message.
    """
    try:
        yield
    except ReplyError as error:
        raise CannotServe(f"{place}: {error}") from error


def load(path: Path, **played: Any) -> Script:
    """Return the script of a recording, or run a Python file and return its script.

    The Python file defines `script`, `always` (a reply or function for all calls that no other reply answers), or both.
    `played` contains the options `match`, `pace` and `ignore` for a recording, with the values that the marker
    `converse_recording` takes. Raises CannotServe for a Python file, and DamagedData or ReplyError for a recording.
    """
    loaded = Script()
    if path.suffix == ".jsonl":
        session = recording(path, **played).check()
        loaded.add([replace(session, again=f"converse-harness record {quoted(str(path))}")])
        return loaded
    namespace = _run(path)
    always = namespace.get("always")
    script = namespace.get("script", None if always is None else [])
    if isinstance(script, Script):
        return script
    if isinstance(script, Replies):
        script = [script]
    if not isinstance(script, list | tuple):
        came = "defines no `script`" if script is None else f"defines `script` as {type(script).__name__}"
        raise CannotServe(f"{path}: {came}; it must be a list of replies or a Script:\n\n    {_EXAMPLE}")
    for index, responder in enumerate(cast("list[object]", script)):
        with _naming(f"{path}: script[{index}]"):
            loaded.add([responder])
    if always is not None:
        with _naming(f"{path}: always"):
            loaded.fallback.add([always], endless=True)
    return loaded


def _run(path: Path) -> dict[str, Any]:
    """Execute a Python file and return its globals. Raises CannotServe if this fails."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise CannotServe(f"{path}: cannot be read: {error.strerror or error}.") from error
    namespace: dict[str, Any] = {"__name__": "__converse_serve__", "__file__": str(path)}
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # the file can import modules in its own folder, as with `python FILE`
    try:
        exec(compile(source, str(path), "exec"), namespace)
    except (Exception, SystemExit) as error:
        # The message names the last line in the traceback that belongs to the user's own file.
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        message = str(error)
        if isinstance(error, SyntaxError):
            message = error.msg
            lines += [error.lineno] if error.filename == str(path) else []
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise CannotServe(f"{where}: {': '.join(filter(None, (type(error).__name__, message)))}") from error
    return namespace


def counted_in(script: Script) -> str:
    """Return a text that counts the contents of a script.

    For example, the text is `1 script (2 replies) and 1 recording (3 exchanges)`.
    """
    exchanges = sum(len(queue.slots) for queue in script.recordings)
    replies = len([*script.slots()]) - exchanges
    parts: list[str] = []
    if replies or not script.recordings:
        parts.append(f"1 script ({counted(replies, 'reply', 'replies')})")
    if script.recordings:
        parts.append(f"{counted(len(script.recordings), 'recording')} ({counted(exchanges, 'exchange')})")
    return " and ".join(parts)


@dataclass(slots=True)
class Watcher:
    """Detects changes of a file. `seen` has the file's modification time, size and inode at the last check."""

    path: Path
    seen: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.changed()

    def changed(self) -> bool:
        """Whether the file exists and has changed since the previous call of this method."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False  # while an editor replaces the file, it is missing for a moment
        now = (status.st_mtime_ns, status.st_size, status.st_ino)
        before, self.seen = self.seen, now
        return now != before
