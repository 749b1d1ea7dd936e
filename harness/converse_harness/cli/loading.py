"""Load the script for a server: from a Python file, from a recording, or from a case of the catalogue."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Final, cast

from converse_harness.cases import Case
from converse_harness.cli.terminal import counted
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.script import Replies, Script
from converse_harness.errors import ReplyError
from converse_harness.recordings.play import recording
from converse_harness.reply.reply import Reply
from converse_harness.shell import quoted

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
            reply.check_sendable("server")
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
        parts.append(f"1 script ({replies} repl{'y' if replies == 1 else 'ies'})")
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
