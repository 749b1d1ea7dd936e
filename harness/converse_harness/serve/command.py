"""The command itself: open the server, print what happens, stop when asked to."""

from __future__ import annotations

import queue
import signal
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn, TextIO

from converse_harness.calls import Call
from converse_harness.cases import Case
from converse_harness.doors.control.api import ROOT, id_of
from converse_harness.doors.fake import RulesLevel
from converse_harness.doors.server.fake import ServerFake
from converse_harness.doors.server.listener import ConverseServer
from converse_harness.errors import DoorError
from converse_harness.script import Script
from converse_harness.serve.lines import BOLD, RED, Printer, counted, serving
from converse_harness.serve.loading import HOW, CannotServe, How, Watcher, load, load_case
from converse_harness.serve.watched import WatchedServer

LOOK: Final = 0.2
"""Seconds between two looks at a file that is watched."""

TERMINATED: Final = 128 + signal.SIGTERM

Ended = queue.SimpleQueue[tuple[ServerFake, Call]]


class Terminated(BaseException):
    """Somebody asked the process to end (SIGTERM)."""


def serve(
    file: Path | None,
    *,
    how: How = HOW,
    case: Case | None = None,
    rules: RulesLevel = "default",
    host: str,
    port: int,
    reload: bool,
    out: TextIO,
    err: TextIO,
) -> int:
    """Serve the file's script, the case or the control API alone until interrupted.

    `rules` holds for all of them, unless a client of the control API says another level. The result is the exit code: 1
    if it cannot start, 143 if terminated.

    Raises KeyboardInterrupt.
    """
    ended: Ended = queue.SimpleQueue()
    printer = Printer(out)
    try:
        with terminated_by_signal():
            watcher = Watcher(file) if file is not None and reload else None
            script = load(file, how) if file is not None else load_case(case) if case is not None else None
            server = WatchedServer(lambda fake, call: ended.put((fake, call)), host=host, port=port)
            server.settings = {"rules": rules}
            try:
                start(server, err)
                fake = server.answer_all() if script is not None else None
                if fake is not None and script is not None:
                    fake.endpoint.script = script
                environ = fake.environ if fake is not None else {}
                for number, line in enumerate(serving(_what(script, case), server.url, environ)):
                    printer.say(line, "" if number else BOLD)
                _follow(ended, printer, fake, watcher, how)
            finally:
                server.stop()
                while not ended.empty():
                    _tell(ended.get(), printer)
    except (CannotServe, DoorError) as error:
        Printer(err).say(f"converse-harness serve: {error}", RED)
        return 1
    except Terminated:
        return TERMINATED


def _what(script: Script | None, case: Case | None) -> str | None:
    if case is not None:
        return f"the case {case.name}"
    return None if script is None else counted(script)


def start(server: ConverseServer, err: TextIO, command: str = "serve") -> None:
    """Start a server, and say what it warns of. Raises DoorError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        server.start()
    for each in caught:
        Printer(err).say(f"converse-harness {command}: warning: {each.message}", RED)


def _follow(ended: Ended, printer: Printer, fake: ServerFake | None, watcher: Watcher | None, how: How) -> NoReturn:
    """Print what happens, for ever."""
    while True:
        try:
            _tell(ended.get(timeout=None if watcher is None else LOOK), printer)
        except queue.Empty:
            if watcher is not None and fake is not None and watcher.changed():
                _reload(watcher.path, how, fake, printer)


def _tell(ended: tuple[ServerFake, Call], printer: Printer) -> None:
    fake, call = ended
    name = id_of(fake)
    printer.call("" if name == ROOT else name, call)


def _reload(path: Path, how: How, fake: ServerFake, printer: Printer) -> None:
    """Serve the changed file from its beginning; calls that are being answered go on."""
    try:
        script = load(path, how)
    except CannotServe as error:
        printer.now(f"{error}\n          The script from before is served on.", RED)
    else:
        fake.endpoint.script = script
        printer.now(f"{path} has changed: serving {counted(script)} from the beginning", BOLD)


@contextmanager
def terminated_by_signal() -> Generator[None, None, None]:
    """Raise Terminated in the main thread when SIGTERM comes, so that everything is closed as for Ctrl-C."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
