"""Writing a recording: a whole file takes the place of the old one, or nothing does."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex

from converse_harness.recordings.leaks import refuse
from converse_harness.recordings.lines import FORMAT, VERSION, Line, dump
from converse_harness.recordings.media import set_aside


def header(recorded: datetime | None = None) -> Line:
    """The first line of a recording that is made now."""
    when = recorded or datetime.now(UTC)
    return {
        "format": FORMAT,
        "version": VERSION,
        "recorded": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "by": f"converse-harness {version('converse-harness')}",
        "botocore": version("botocore"),
    }


def text_of(lines: Iterable[Line]) -> str:
    """The text of a file that holds these lines."""
    return "".join(f"{dump(line)}\n" for line in lines)


def write(path: Path, content: str | bytes) -> None:
    """Put a text in the place of a file, which stays whole until then. Raises OSError, and leaves nothing behind.

    It has the rights that any new file has: those of a temporary file would keep it from other users.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.with_name(f".{path.name}.{token_hex(4)}.part")
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def store(path: Path, lines: Sequence[Line]) -> str:
    """Write these lines, redacted before, to a file, and what is media to files beside it; returns the file's text.

    Raises SecretFound and OSError; then what was there is as it was, and nothing new is left behind.
    """
    refuse(lines, path)
    lines, files = set_aside(lines, path)
    text = text_of(lines)
    new: list[Path] = []
    try:
        for name, data in files.items():
            place = path.parent / name
            if not _holds(place, data):
                new += [place] if not place.exists() else []
                write(place, data)
        write(path, text)
    except BaseException:
        for place in new:
            with suppress(OSError):
                place.unlink()
            with suppress(OSError):
                place.parent.rmdir()
        raise
    return text


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _open(path: Path) -> int:
        """A file of its own: Windows locks no folders. It lies with the temporary files, as nobody may remove it."""
        digest = hashlib.sha256(str(path.parent.resolve()).casefold().encode()).hexdigest()[:16]
        return os.open(Path(tempfile.gettempdir(), f"converse-harness-{digest}.lock"), os.O_RDWR | os.O_CREAT)

    def _lock(handle: int) -> None:
        while True:
            with suppress(OSError):  # it gives up after ten seconds
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
                return

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _open(path: Path) -> int:
        """The folder itself: nothing is left behind, and nothing that is locked is ever removed."""
        return os.open(path.parent, os.O_RDONLY)

    def _lock(handle: int) -> None:
        # A network file system may have no such locks. A file is still written whole there; of two processes that add
        # to one at the same moment, one may then lose.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)

    def _unlock(handle: int) -> None:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def alone(path: Path) -> Generator[None, None, None]:
    """Wait until no other process or thread writes in the folder of `path`, which is made if need be; then be alone.

    The lock ends with its process, however that ends. Raises OSError where the folder cannot be made or opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _open(path)
    try:
        _lock(handle)
        try:
            yield
        finally:
            _unlock(handle)
    finally:
        os.close(handle)
