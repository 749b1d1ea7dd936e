"""Writing a recording: a whole file takes the place of the old one, or nothing does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

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
    """Put a text in the place of a file, which stays whole until then. Raises OSError, and leaves nothing behind."""
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
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
