"""The journal of a recording: each exchange is on disk as soon as it has ended, and outlives a killed process.

The journal of `trip.jsonl` is `trip.unfinished.jsonl`. It is made when the recorder opens, and removed when the
recording is written. The recorder holds a lock on it, so a second recorder of one file is told at once. The system
removes the lock when the process ends, however it ends.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from converse_harness.errors import JournalWarning, ReplyError
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.media import inline
from converse_harness.recordings.format.shared_parts import Names
from converse_harness.recordings.names import UNFINISHED_SUFFIX, journal_path, usual_path
from converse_harness.recordings.record.captured import CapturedExchange, keep_lines
from converse_harness.recordings.record.locks import lock_file, locked_folder
from converse_harness.recordings.record.write import SessionWriter, lines_to_write, safe_lines, text_of
from converse_harness.recordings.redaction import EarlierLines
from converse_harness.words import counted

_HELD: Final = (
    "{path} is being recorded by {holder}; its calls so far are in {journal}. Only one recorder at a time may write a "
    "file, because the last one would replace what the others recorded. Wait until the other has ended, or give this "
    "one another path."
)

_LEFT: Final = (
    "{journal} is what a recorder left that was killed: {calls}, not in {path}. `converse-harness show` prints it. To "
    "play it, rename it to {name}; if you do not need it, remove it."
)

_NOT_WRITTEN: Final = (
    "{journal} cannot be written ({reason}). The recording goes on, but if this process is killed, its calls are lost."
)

_ADDS: Final = ", which adds"
_BY: Final = re.compile(rf", process (?P<process>[0-9]+)(?P<adds>{_ADDS})?")
"""Matches the end of `by` in the header of a journal: the process, and whether it adds to the file (`new_episodes`)."""

_CALL: Final = b'{"call"'
_sync: Final = getattr(os, "fdatasync", os.fsync)


class Journal:
    """A file beside a recording to which each exchange is added when it has ended. Any thread may call the methods.

    `path` is the journal's path; None if there is none, because it could not be written. `said` is what a person must
    be told when the recorder opens: journals that were left, or why there is no journal; it may be empty. `wrote` is
    the name of the file that the recorder wrote in the end, beside the journal.
    """

    def __init__(self, writer: SessionWriter) -> None:
        """Make the journal. Raises ReplyError if another process records the same file."""
        self.path: Path | None = None
        self.wrote = ""
        self.said: tuple[str, ...] = ()
        self._redaction, self._keep_files = writer.redaction, writer.keep_files
        self._process = os.getpid()
        self._handle: int | None = None
        self._size = self._number = 0
        self._is_written = True
        self._names = Names()
        self._earlier = EarlierLines()
        self._ended = deque[CapturedExchange]()
        self._lock = threading.Lock()
        self._made: list[Path] = []
        """The folders that were made for the journal, the innermost first."""
        recording = writer.path.absolute()  # the recorded code may change the current folder
        self._recording = recording
        self._beside = [journal for journal in list(_OPEN.values()) if journal.records(recording)]
        for journal in self._beside:
            journal.beside(self)
        try:
            self._made += [folder for folder in recording.parents if not folder.exists()]
            recording.parent.mkdir(parents=True, exist_ok=True)
            with locked_folder(recording.parent):
                self.said = tuple(_left_by_others(recording, writer.path, adds=writer.keeps))
                self._create(recording, writer)
        except OSError as error:
            self.close()
            self.said = (*self.said, _not_written(journal_path(writer.path), error))
        except ReplyError:
            self.close()
            raise

    def _create(self, recording: Path, writer: SessionWriter) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        for path in map(partial(journal_path, recording), count(1)):
            with suppress(FileExistsError):
                self._handle = handle = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
                self._hold(path, handle, writer)
                return

    def _hold(self, path: Path, handle: int, writer: SessionWriter) -> None:
        self.path = path
        _OPEN[id(self)] = self
        lock_file(handle)
        header = writer.header()
        adds = _ADDS if writer.keeps else ""
        self._header = header | {"by": f"{header['by']}, process {self._process}{adds}"}
        self._append([self._header])

    def records(self, recording: Path) -> bool:
        """Whether this is the journal of this recording, in this process."""
        return self._recording == recording and self._process == os.getpid()

    def beside(self, other: Journal) -> None:
        """Register a journal of the same recording, whose recorder opened while this one was open."""
        self._beside.append(other)

    def is_overtaken(self, path: Path) -> bool:
        """Whether another recorder of this process wrote `path` since this one opened, so that this one must not."""
        return any(journal.wrote == path.name for journal in self._beside)

    def add(self, captured: CapturedExchange) -> None:
        """Add an exchange that has ended. If that fails, the first failure is a JournalWarning, and nothing is raised.

        An exchange with a secret that cannot be masked is left out.
        """
        if os.getpid() != self._process or not captured.answered:
            return
        # Finalizers call this at any time, also in the thread that is writing below. So nobody waits for the lock: who
        # holds it writes what has ended meanwhile.
        self._ended.append(captured)
        while self._ended and self._lock.acquire(blocking=False):
            try:
                while self._ended:
                    self._write(self._ended[0])
                    self._ended.popleft()
            except Exception as error:  # noqa: BLE001 - whatever it is, the recording itself goes on
                self._is_written = False
                with suppress(Exception):  # a filter may make it an error, and this is inside a client's call
                    warnings.warn(_not_written(self.path, error), JournalWarning, stacklevel=2)
            finally:
                self._lock.release()

    def _write(self, captured: CapturedExchange) -> None:
        if self._handle is None or not self._is_written:
            return
        number, is_written = self._number + 1, False
        try:
            keep_lines(captured)
            # Parts that earlier exchanges have are not masked again: a conversation repeats all of it with each call.
            new = [self._header, *self._names.written(lines_to_write(captured, number, keep_files=self._keep_files))]
            safe = safe_lines(new, self._redaction, 1, self._earlier)
            if safe.lines != new:
                self._names.forget_last_answer()  # a rule of the user may make another message of it, or none
            if not safe.left_out:
                lines = [line | {"call": number} if "call" in line else line for line in safe.lines[1:]]
                self._append(inline(lines), number)
                is_written = True
        finally:
            if not is_written:
                self._names.forget()

    def _append(self, lines: Sequence[Line], number: int = 0) -> None:
        """Write lines behind the last exchange, all of them or none; `number` is the number of their call."""
        assert self._handle is not None
        data = text_of(lines).encode()
        try:
            # What an interrupted call wrote behind this place is overwritten.
            os.lseek(self._handle, self._size, os.SEEK_SET)
            left = memoryview(data)
            while left:
                left = left[os.write(self._handle, left) :]
            _sync(self._handle)
        except BaseException:
            os.ftruncate(self._handle, self._size)
            raise
        self._size, self._number = self._size + len(data), number

    def close(self, *, keep: bool = False) -> Path | None:
        """Remove the journal, or with `keep` only end it, and return its path if it has exchanges and is kept.

        In a forked child, and if the journal is closed, do nothing.
        """
        if os.getpid() != self._process:
            return None
        with self._lock:
            handle, self._handle = self._handle, None
        _OPEN.pop(id(self), None)
        kept = self.path if handle is not None and keep and self._number else None
        with suppress(OSError):  # a journal that cannot be removed does no harm: the next recorder names it
            if handle is not None and self.path is not None and kept is None:
                self._remove(self.path, handle)
        if handle is not None:
            with suppress(OSError):
                os.close(handle)
        with suppress(OSError):  # `rmdir` fails for a folder that is not empty
            for folder in self._made:
                folder.rmdir()
        self._made.clear()
        return kept

    def _remove(self, path: Path, handle: int) -> None:
        if os.name == "nt":  # Windows removes no open file
            os.ftruncate(handle, 0)
            os.close(handle)
        path.unlink()

    def let_go(self) -> None:
        """Close the file in a forked child, whose copy would keep the lock when the parent has ended."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


_OPEN: Final[dict[int, Journal]] = {}
"""The open journals of this process, by their ids. To copy the values is one step, whatever other threads do."""


def _after_fork_in_child() -> None:
    for journal in list(_OPEN.values()):
        journal.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _left_by_others(recording: Path, shown: Path, *, adds: bool) -> Iterator[str]:
    """Yield a sentence for each journal of the same recording that was left. Remove those without an exchange.

    Raises ReplyError if another process still writes one, unless both recorders add to the file. `shown` is the path of
    the recording as the user gave it.
    """
    ours = {journal.path for journal in list(_OPEN.values())}
    for name in sorted(os.listdir(recording.parent)):
        path = recording.with_name(name)
        if not name.endswith(UNFINISHED_SUFFIX) or usual_path(path).name != usual_path(journal_path(recording)).name:
            continue
        is_empty = False
        with suppress(FileNotFoundError), path.open("r+b") as file:
            is_free = lock_file(file.fileno())
            header, *rows = file.read().split(b"\n")
            calls = sum(row.startswith(_CALL) for row in rows)
            is_empty = bool(is_free) and not calls
            if is_free is False:
                holder = _BY.search(header.decode(errors="replace"))
                process = "another process" if holder is None else f"process {holder['process']}"
                # Two that add to one file are both written, and `is_overtaken` tells the recorders of this process
                # apart: an outer one often records nothing.
                if path not in ours and not (adds and holder is not None and holder["adds"]):
                    raise ReplyError(_HELD.format(path=shown, holder=process, journal=shown.with_name(name)))
            elif is_free and calls:
                many = counted(calls, "call")
                yield _LEFT.format(journal=shown.with_name(name), calls=many, path=shown, name=shown.name)
        if is_empty:
            # Only now, as Windows removes no open file. The lock on the folder keeps others away.
            path.unlink(missing_ok=True)


def _not_written(journal: Path | None, error: Exception) -> str:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return _NOT_WRITTEN.format(journal=journal, reason=reason)
