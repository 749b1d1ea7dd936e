"""Support for a program that starts a server: a file tells it that the server is ready, and the server ends with it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from converse_harness.cli.terminal import CommandFailed


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
