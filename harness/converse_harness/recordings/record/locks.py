"""Locks against other processes and other threads. The system removes a lock if its process ends, however it ends."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt

    _BEYOND: Final = 2**30
    """The place of a lock in a file. Windows lets no other process read a locked place, so it is behind the text."""

    @contextmanager
    def locked_folder(folder: Path) -> Generator[None, None, None]:
        """Lock a file in the temporary folder, because Windows cannot lock folders. This file is never removed."""
        digest = hashlib.sha256(str(folder.resolve()).casefold().encode()).hexdigest()[:16]
        name = Path(tempfile.gettempdir(), f"converse-harness-{digest}.lock")
        with os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT | os.O_BINARY), "r+b") as file:
            is_locked = False
            while not is_locked:
                with suppress(OSError):  # msvcrt.locking raises OSError after ten seconds; the loop then tries again
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    is_locked = True
            try:
                yield
            finally:
                os.lseek(file.fileno(), 0, os.SEEK_SET)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

    def lock_file(handle: int) -> bool | None:
        """Lock an open file until it is closed. Return False if it is locked already, None if it cannot be locked."""
        at = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        except OSError:
            return None
        finally:
            os.lseek(handle, at, os.SEEK_SET)
        return True

else:
    import fcntl

    @contextmanager
    def locked_folder(folder: Path) -> Generator[None, None, None]:
        """Lock a folder against other processes and threads. The system removes the lock if the process ends.

        The lock is on the folder itself: no lock file is left behind, and no locked file is ever removed.
        """
        handle = os.open(folder, os.O_RDONLY)
        try:
            # A network file system may have no such locks. Files are still replaced atomically there, but if two
            # processes add to one file at the same time, one may overwrite the exchanges of the other.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            with suppress(OSError):  # an error does no harm: closing the folder also unlocks it
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def lock_file(handle: int) -> bool | None:
        """Lock an open file until it is closed. Return False if it is locked already, None if it cannot be locked."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a network file system without such locks
            return None
        return True
