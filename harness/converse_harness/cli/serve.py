"""`converse-harness serve`: run the fake as a server for other processes and languages."""

from __future__ import annotations

import argparse
import os
import queue
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, Final, cast

from converse_harness.bedrock.rules import LEVELS
from converse_harness.cases import CASES, Case
from converse_harness.cli.serving import ADDRESS, Ended, announce, running, tell_call
from converse_harness.cli.terminal import BOLD, RED, Arguments, Printer, UsageFailed, counted
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.conversation import HISTORY_LEVELS
from converse_harness.endpoint.script import Replies, Script
from converse_harness.errors import DamagedData, ReplyError, one_of
from converse_harness.recordings.matching import MATCHES
from converse_harness.recordings.play import recording
from converse_harness.reply.reply import Reply
from converse_harness.server.control import ROOT, id_of
from converse_harness.server.control.reading import host_name
from converse_harness.server.listener import ConverseServer
from converse_harness.server.mounts import ServerFake

_KEEP_CALLS: Final = 10_000
"""The default number of calls that each fake keeps: a server may run for days, and a call takes 10 to 100 KB."""

_LOOK_EVERY: Final = 0.2
"""Seconds between two checks of a watched file."""


def _told(read: Callable[[str], Any], text: str) -> Any:
    """Convert the text of an argument with `read`. A ReplyError of `read` becomes an ArgumentTypeError."""
    try:
        return read(text)
    except ReplyError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of calls; it is a whole number from 1")
    return int(text)


def _host(text: str) -> str:
    if host_name(f"[{text}]" if ":" in text else text) != text.lower():
        raise argparse.ArgumentTypeError(f"{text!r} is no host; it is a name such as `fake.internal`, without a port")
    return text


def _match(rule: str) -> str:
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


DESCRIPTION: Final = (
    "Serve the fake over HTTP/1.1 and HTTP/2 until Ctrl-C, and print a line for every call. The control API at "
    "/__converse opens more fakes, each with a script and a URL of its own."
)
ARGUMENTS: Final[Arguments] = {
    "file": {
        "metavar": "FILE",
        "nargs": "?",
        "type": Path,
        "help": "a Python file that defines `script`, a list of replies, or a recording (.jsonl); without it there is "
        "only the control API",
    },
    "--case": {
        "metavar": "NAME",
        "type": partial(_told, CASES.__getitem__),
        "help": "answer every call with this case of the catalogue (see `cases`)",
    },
    "--match": {
        "metavar": "RULE",
        "type": _match,
        "help": "which exchange of a recording answers a call: the next in `order`, one of `exact`ly that request, or "
        "one of its `shape` (default)",
    },
    "--pace": {
        "metavar": "FACTOR",
        "type": _pace,
        "help": "what the pauses of a recording are multiplied by, or `recorded` for 1 (default: 0, no pauses)",
    },
    "--rules": {
        "metavar": "LEVEL",
        "type": partial(_told, lambda text: one_of("rules", text, LEVELS)),
        "default": "default",
        "help": "how strictly requests are held to what Bedrock refuses: off, warn, default or strict",
    },
    "--history": {
        "metavar": "LEVEL",
        "type": partial(_told, lambda text: one_of("history", text, HISTORY_LEVELS)),
        "default": "note",
        "help": "what becomes of requests that change what the model said before: note, fail or off",
    },
    "--keep-calls": {
        "metavar": "NUMBER",
        "type": _count,
        "default": _KEEP_CALLS,
        "help": "how many calls each fake keeps to be looked at, the last ones (default: %(default)s)",
    },
    **ADDRESS,
    "--allow-host": {
        "metavar": "NAME",
        "type": _host,
        "action": "append",
        "default": [],
        "help": "a name by which clients may ask the control API, beside those of the loopback and --host (can be "
        "given again); Bedrock's own paths answer under any name",
    },
    "--reload": {"action": "store_true", "help": "start the script anew whenever FILE changes"},
}


def run(given: argparse.Namespace) -> int:
    """Serve a file's script, a case, or only the control API until interrupted.

    The options `rules` and `history` apply to every fake, unless a client of the control API chooses other levels.
    Raises UsageFailed for contradictory arguments, CannotServe for an invalid file or case, TransportError if the
    server cannot start, and KeyboardInterrupt.
    """
    if given.reload and given.file is None:
        raise UsageFailed("serve --reload needs the FILE that it watches")
    if given.case is not None and given.file is not None:
        raise UsageFailed("serve: FILE or --case, not both; a FILE may import converse_harness.cases.CASES")
    played = {name: value for name in ("match", "pace") if (value := getattr(given, name)) is not None}
    if played and (given.file is None or given.file.suffix != ".jsonl"):
        raise UsageFailed("serve: --match and --pace are for a recording (.jsonl)")
    script = what = watcher = None
    if given.file is not None:
        watcher = Watcher(given.file) if given.reload else None
        script = load(given.file, **played)
        what = counted_in(script)
    elif given.case is not None:
        script, what = load_case(given.case), f"the case {given.case.name}"
    ended = Ended()
    server = ConverseServer(host=given.host, port=given.port, allow_hosts=given.allow_host)
    server.on_ended = lambda fake, call: ended.put(partial(_tell, fake, call))
    server.settings = {"rules": given.rules, "history": given.history, "keep_calls": given.keep_calls}
    with running(server, "serve", ended):
        fake = server.answer_all() if script is not None else None
        if fake is not None and script is not None:
            fake.endpoint.script = script
        announce(what, server.url, {} if fake is None else fake.environ)
        while True:
            try:
                ended.get(timeout=None if watcher is None else _LOOK_EVERY)()
            except queue.Empty:
                if watcher is not None and fake is not None and watcher.changed():
                    _reload(watcher.path, fake, **played)


def _tell(fake: ServerFake, call: Call) -> None:
    name = id_of(fake)
    tell_call(call, "" if name == ROOT else name)


def _reload(path: Path, fake: ServerFake, **played: Any) -> None:
    """Load the changed file and serve its script from the beginning; calls in progress continue."""
    printer = Printer(sys.stdout)
    try:
        script = load(path, **played)
    except CannotServe as error:
        printer.now(f"{error}\n          The script from before is served on.", RED)
    else:
        fake.endpoint.script = script
        printer.now(f"{path} has changed: serving {counted_in(script)} from the beginning", BOLD)


# The script that is served

_EXAMPLE: Final = 'from converse_harness import reply\n\n    script = [reply.text("hi")]'


class CannotServe(ReplyError):
    """The file or the case cannot be served; the message states the place and the reason."""


def load_case(case: Case) -> Script:
    """Return a script that answers every call with the case's replies: in order, then from the first one again.

    Raises CannotServe if a server cannot send one of the replies.
    """
    replies = [reply.times(1) for reply in case.replies for _ in range(reply.uses)]
    try:
        for reply in replies:
            reply.check_transport("server")
    except ReplyError as error:
        raise CannotServe(f"the case {case.name} cannot be served: {error}") from error
    in_turn = cycle(replies)

    def next_of_the_case(call: Call) -> Reply:
        return next(in_turn)

    script = Script()
    script.fallback.add(replies if len(replies) == 1 else [next_of_the_case], endless=True)
    return script


def load(path: Path, **played: Any) -> Script:
    """Return the script of a recording, or run a Python file and return its script. Raises CannotServe.

    `played` contains the options `match` and `pace` of a recording, with the values of the marker `converse_recording`.
    """
    loaded = Script()
    if path.suffix == ".jsonl":
        try:
            loaded.add([recording(path, **played).check()])
        except (DamagedData, ReplyError) as error:
            raise CannotServe(str(error)) from error
        return loaded
    try:
        source = path.read_bytes()
    except OSError as error:
        raise CannotServe(f"{path}: cannot be read: {error.strerror or error}.") from error
    script = _run(path, source).get("script")
    if isinstance(script, Script):
        return script
    if isinstance(script, Replies):
        script = [script]
    if not isinstance(script, list | tuple):
        came = "defines no `script`" if script is None else f"defines `script` as {type(script).__name__}"
        raise CannotServe(f"{path}: {came}; it must be a list of replies or a Script:\n\n    {_EXAMPLE}")
    for index, responder in enumerate(cast("list[object]", script)):
        try:
            loaded.add([responder])
        except ReplyError as error:
            raise CannotServe(f"{path}: script[{index}]: {error}") from error
    return loaded


def _run(path: Path, source: bytes) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__converse_serve__", "__file__": str(path)}
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python FILE` does, so that the file can import modules beside it
    try:
        exec(compile(source, str(path), "exec"), namespace)
    except (Exception, SystemExit) as error:
        # The message names the innermost line of the user's own file in the traceback.
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        message = str(error)
        if isinstance(error, SyntaxError):
            message = error.msg
            lines += [error.lineno] if error.filename == str(path) else []
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise CannotServe(f"{where}: {': '.join(filter(None, (type(error).__name__, message)))}") from error
    return namespace


def counted_in(script: Script) -> str:
    """Describe a script by its numbers of replies, recordings and exchanges."""
    exchanges = sum(len(queue.slots) for queue in script.recordings)
    replies = sum(1 for _ in script.slots()) - exchanges
    parts: list[str] = []
    if replies or not script.recordings:
        parts.append(f"1 script ({replies} repl{'y' if replies == 1 else 'ies'})")
    if script.recordings:
        parts.append(f"{counted(len(script.recordings), 'recording')} ({counted(exchanges, 'exchange')})")
    return " and ".join(parts)


@dataclass(slots=True)
class Watcher:
    """Detects changes of a file by its modification time, size and inode."""

    path: Path
    seen: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.changed()

    def changed(self) -> bool:
        """Whether the file exists and has changed since the previous call of this method."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False  # the file is missing for a moment while an editor replaces it
        now = (status.st_mtime_ns, status.st_size, status.st_ino)
        before, self.seen = self.seen, now
        return now != before
