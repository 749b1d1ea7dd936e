"""`converse-harness serve`: the fake for other processes and languages."""

from __future__ import annotations

import argparse
import queue
import signal
import sys
import threading
import warnings
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn, TextIO

from converse_harness.bedrock.rules import LEVELS, RuleLevel
from converse_harness.cases import Case
from converse_harness.cli.loading import HOW, CannotServe, How, Watcher, load, load_case
from converse_harness.cli.terminal import BOLD, RED, Printer, add_address, address_of, counted, serving
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.conversation import HISTORY_LEVELS, HistoryLevel
from converse_harness.endpoint.script import Script
from converse_harness.errors import ReplyError, TransportError, one_of
from converse_harness.server.control import ROOT, id_of
from converse_harness.server.control.reading import host_name
from converse_harness.server.listener import ConverseServer
from converse_harness.server.mounts import ServerFake

KEEP_CALLS: Final = 10_000
"""Of a server that runs for days: a call has some 10 to 100 KB."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `serve`."""
    parser.description = (
        "Serve the fake over HTTP/1.1 and HTTP/2 until Ctrl-C, and print a line for every call. The control API at "
        "/__converse opens more fakes, each with a script and a URL of its own."
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="a Python file that defines `script`, a list of replies, or a recording (.jsonl); without it there is "
        "only the control API",
    )
    parser.add_argument(
        "--case", metavar="NAME", type=_case, help="answer every call with this case of the catalogue (see `cases`)"
    )
    parser.add_argument(
        "--match",
        metavar="RULE",
        type=_match,
        help="which exchange of a recording answers a call: the next in `order`, one of `exact`ly that request, or one "
        "of its `shape` (default)",
    )
    parser.add_argument(
        "--pace",
        metavar="FACTOR",
        type=_pace,
        help="what the pauses of a recording are multiplied by, or `recorded` for 1 (default: 0, no pauses)",
    )
    parser.add_argument(
        "--rules",
        metavar="LEVEL",
        type=partial(_one_of, "rules", LEVELS),
        default="default",
        help="how strictly requests are held to what Bedrock refuses: off, warn, default or strict",
    )
    parser.add_argument(
        "--history",
        metavar="LEVEL",
        type=partial(_one_of, "history", HISTORY_LEVELS),
        default="note",
        help="what becomes of requests that change what the model said before: note, fail or off",
    )
    parser.add_argument(
        "--keep-calls",
        metavar="NUMBER",
        type=_count,
        default=KEEP_CALLS,
        help="how many calls each fake keeps to be looked at, the last ones (default: %(default)s)",
    )
    add_address(parser)
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        type=_host,
        action="append",
        default=[],
        help="a name by which clients may ask the control API, beside those of the loopback and --host (can be given "
        "again); Bedrock's own paths answer under any name",
    )
    parser.add_argument("--reload", action="store_true", help="start the script anew whenever FILE changes")


def run(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Serve until interrupted; return the exit code."""
    if given.reload and given.file is None:
        parser.error("serve --reload needs the FILE that it watches")
    if given.case is not None and given.file is not None:
        parser.error("serve: FILE or --case, not both; a FILE may import converse_harness.cases.CASES")
    played = {name: value for name in ("match", "pace") if (value := getattr(given, name)) is not None}
    if played and (given.file is None or given.file.suffix != ".jsonl"):
        parser.error("serve: --match and --pace are for a recording (.jsonl)")
    from converse_harness.cli.loading import How

    return _serve(
        given.file,
        how=How(**played),
        case=given.case,
        rules=given.rules,
        history=given.history,
        keep_calls=given.keep_calls,
        reload=given.reload,
        allow_hosts=given.allow_host,
        out=sys.stdout,
        err=sys.stderr,
        **address_of(given),
    )


def _case(name: str) -> Case:
    from converse_harness.cases import CASES, UnknownCase

    try:
        return CASES[name]
    except UnknownCase as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of calls; it is a whole number from 1")
    return int(text)


def _host(text: str) -> str:
    if host_name(f"[{text}]" if ":" in text else text) != text.lower():
        raise argparse.ArgumentTypeError(f"{text!r} is no host; it is a name such as `fake.internal`, without a port")
    return text


def _one_of(setting: str, known: Mapping[Any, str], text: str) -> str:
    try:
        return str(one_of(setting, text, known))
    except ReplyError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _match(rule: str) -> str:
    from converse_harness.recordings.matching import MATCHES

    if rule not in MATCHES:
        raise argparse.ArgumentTypeError(f"{rule!r} is no rule; one of {', '.join(MATCHES)}")
    return rule


def _pace(text: str) -> float:
    try:
        factor = 1.0 if text == "recorded" else float(text)
    except ValueError:
        factor = -1.0
    if not 0 <= factor < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no pace; it is a number from 0 (no pauses), or `recorded` (1)")
    return factor


_LOOK_EVERY: Final = 0.2
"""Seconds between two looks at a file that is watched."""

TERMINATED: Final = 128 + signal.SIGTERM

Ended = queue.SimpleQueue[tuple[ServerFake, Call]]


class Terminated(BaseException):
    """The process received SIGTERM."""


def _serve(
    file: Path | None,
    *,
    how: How = HOW,
    case: Case | None = None,
    rules: RuleLevel = "default",
    history: HistoryLevel = "note",
    keep_calls: int = KEEP_CALLS,
    host: str,
    port: int,
    reload: bool,
    allow_hosts: Collection[str] = (),
    out: TextIO,
    err: TextIO,
) -> int:
    """Serve a file's script, a case, or only the control API until interrupted; return the exit code.

    `rules` and `history` apply to all of them, unless a client of the control API chooses another level. The exit code
    is 1 if the server cannot start, 143 if terminated.

    Raises KeyboardInterrupt.
    """
    ended: Ended = queue.SimpleQueue()
    printer = Printer(out)
    try:
        with terminated_by_signal():
            watcher = Watcher(file) if file is not None and reload else None
            script = load(file, how) if file is not None else load_case(case) if case is not None else None
            server = ConverseServer(host=host, port=port, allow_hosts=allow_hosts)
            server.on_ended = lambda fake, call: ended.put((fake, call))
            server.settings = {"rules": rules, "history": history, "keep_calls": keep_calls}
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
    except (CannotServe, TransportError) as error:
        Printer(err).say(f"converse-harness serve: {error}", RED)
        return 1
    except Terminated:
        return TERMINATED


def _what(script: Script | None, case: Case | None) -> str | None:
    if case is not None:
        return f"the case {case.name}"
    return None if script is None else counted(script)


def start(server: ConverseServer, err: TextIO, command: str = "serve") -> None:
    """Start a server, and print its warnings. Raises TransportError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        server.start()
    for each in caught:
        Printer(err).say(f"converse-harness {command}: warning: {each.message}", RED)


def _follow(ended: Ended, printer: Printer, fake: ServerFake | None, watcher: Watcher | None, how: How) -> NoReturn:
    """Print events as they happen; never returns."""
    while True:
        try:
            _tell(ended.get(timeout=None if watcher is None else _LOOK_EVERY), printer)
        except queue.Empty:
            if watcher is not None and fake is not None and watcher.changed():
                _reload(watcher.path, how, fake, printer)


def _tell(ended: tuple[ServerFake, Call], printer: Printer) -> None:
    fake, call = ended
    name = id_of(fake)
    printer.call("" if name == ROOT else name, call)


def _reload(path: Path, how: How, fake: ServerFake, printer: Printer) -> None:
    """Serve the changed file from its beginning; calls in progress continue."""
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
