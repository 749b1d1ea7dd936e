"""Writing a recording: a whole file takes the place of the old one, or nothing does."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex

from converse_harness.recordings.lines import FORMAT, VERSION, Line, dump


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
