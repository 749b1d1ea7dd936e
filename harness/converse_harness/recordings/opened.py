"""Which recordings this process opened, to be played or made: those that nobody opens can be told from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

OPENED: Final[set[str]] = set()
"""The files, as `identity` has them."""


def identity(path: Path) -> str:
    """A text that is the same for two paths of one file."""
    return os.path.normcase(os.path.realpath(path))
