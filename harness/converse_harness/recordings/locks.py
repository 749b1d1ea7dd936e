"""A lock between processes that write one file: who holds it reads, adds and writes while nobody else does."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

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
