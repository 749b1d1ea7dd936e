"""Names of files that Windows does not take, or takes for one; `wrong` says why."""

import re
import subprocess
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.house.measure import ROOT

FORBIDDEN: Final = re.compile(r'[<>:"|?*\\\x00-\x1f]')
"""Characters that no file's name has on Windows."""
DEVICE: Final = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\..*)?", re.IGNORECASE | re.DOTALL)
"""A name that means a device, whatever its suffix."""

PREFIX: Final = rf"C:\Users\firstname.lastname\AppData\Local\Temp\pip-install-{8 * 'a'}\converse-harness_{32 * 'a'}"
"""Where a clone of the project stands at the deepest: pip builds a dependency from git there."""
LONGEST: Final = 240
"""Characters of a whole path; Windows takes 259, and a tool that writes a file anew may put some more at its end."""


def wrong(part: str) -> str:
    """Why Windows does not take a file's or folder's name; "" if it does."""
    if found := FORBIDDEN.search(part):
        return f"{found[0]!r} is forbidden"
    if part[-1:] in (".", " "):
        return f"it ends in {part[-1]!r}"
    return "it means a device" if DEVICE.fullmatch(part) else ""


_LISTED: Final = ("git", "ls-files", "--cached", "--others", "--exclude-standard")


def files(root: Path = ROOT) -> list[str]:
    """The files that git has or would add; in an unpacked sdist, where there is no git, the files that are there."""
    if (root / ".git").exists():
        listed = subprocess.run([*_LISTED, "-z"], cwd=root, check=True, capture_output=True).stdout
        return [name for name in listed.decode().split("\0") if name]
    there = (file.relative_to(root) for file in root.rglob("*") if file.is_file())
    return [file.as_posix() for file in there if not {"__pycache__", "node_modules", "build"} & {*file.parts}]


def forbidden_names(names: Iterable[str]) -> list[str]:
    """Paths with a part that Windows does not take."""
    return [f"{name}: {why}" for name in names if (why := next(filter(None, map(wrong, name.split("/"))), ""))]


def long_paths(names: Iterable[str]) -> list[str]:
    """Paths that are too long in the deepest place of a clone."""
    return [name for name in names if len(PREFIX) + 1 + len(name) > LONGEST]


def clashes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Files and folders that are one where capitals, or the two ways to write an accent, do not count."""
    spelled = defaultdict[str, set[str]](set)
    for name in names:
        parts = name.split("/")
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            spelled[unicodedata.normalize("NFC", path).casefold()].add(path)
    return [tuple(sorted(each)) for each in spelled.values() if len(each) > 1]
