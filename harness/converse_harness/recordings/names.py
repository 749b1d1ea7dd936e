"""The record modes, and the paths of the recordings of tests.

This module must be fast to import: each start of pytest imports it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, Literal

FAILED_SUFFIX: Final = ".failed.jsonl"
"""The suffix of a failed test's recording. The file is in the same folder as the test's usual recording."""

UNFINISHED_SUFFIX: Final = ".unfinished.jsonl"
"""The suffix of a journal: what a recorder has recorded so far. The file is in the same folder as the recording."""

NOT_PLAYED: Final[Mapping[str, str]] = {
    FAILED_SUFFIX: "a test that did not pass recorded it",
    UNFINISHED_SUFFIX: "a recorder that was killed left it, or one is still writing it",
}
"""Maps the suffix of each kind of file that no test plays to what a person must know of it. The files are beside the
recordings that tests play.
"""

Mode = Literal["none", "once", "new_episodes", "all"]

MODES: Final[Mapping[Mode, str]] = {
    "none": "play recordings, never use the network",
    "once": "record if there is no file yet, otherwise play the file",
    "new_episodes": "play the calls that match, record the others, keep what was recorded before",
    "all": "record everything again",
}
"""Maps each record mode to its description. The modes are those of vcrpy; the first one is the default in pytest."""

Failed = Literal["aside", "write", "drop"]

FAILED: Final[Mapping[Failed, str]] = {
    "aside": f"write it beside the recording, as NAME{FAILED_SUFFIX}",
    "write": "write it as the recording, as if the test had passed",
    "drop": "discard it",
}
"""Maps each value of `Failed` to its description. The value decides where a failed test's recording is written, if at
all. The first value is the default.
"""


USED_FILES: Final[set[str]] = set()
"""The path of each recording file that this process used, as `identity` returns it."""


OPENED: Final[Counter[str]] = Counter()
"""How many times this process opened each recording to play it. The keys are paths as `identity` returns them."""


def identity(path: Path) -> str:
    """Return the real path of a file as a text. Different paths to one file give the same text."""
    return os.path.normcase(os.path.realpath(path))


SUFFIX: Final = ".jsonl"

LONGEST: Final = 200
"""The maximum length, in bytes, of a file's or folder's name. File systems allow 255, but a file that is being written
has a longer name.
"""

_ALLOWED: Final = "A-Z a-z 0-9 _ - . , + = @ ( ) [ ]"
"""The characters allowed in names, as error messages show them. All are ASCII and valid in every file system."""

_OTHERS: Final = r"[^A-Za-z0-9_.,+=@()\[\]-]"

_DEVICES: Final = r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)"
"""Matches the beginning of a file name that Windows would take for a device."""

_RULES: Final = (
    f'A name is a path below the folder of recordings: parts of {_ALLOWED} with "/" between them; no part is longer '
    f'than {LONGEST} bytes with its suffix, is a device of Windows, or begins or ends with "."; the last does not end '
    'with ".failed" or ".unfinished".'
)


def given_path(name: object) -> PurePosixPath:
    """Return the path of the recording that a user calls `name`, relative to the folder of recordings.

    Raises ReplyError for an invalid name.

    >>> str(given_path("trips/chur"))
    'trips/chur.jsonl'
    """
    parts: list[str] = name.removesuffix(SUFFIX).split("/") if isinstance(name, str) else []
    if not parts:
        problem = "the name of a recording is a string"
    elif why_not_played(Path(parts[-1] + SUFFIX)):
        problem = "so ends a file that no test plays"
    else:
        problem = next((found for found in map(_problem, parts) if found), "")
    shown = repr(name)
    if not problem:
        # Imported only now, because pytest imports this module at each start.
        from converse_harness.secrets.mask import mask

        if mask(str(name)) != name:
            shown, problem = repr(mask(str(name))), "*** stands for a secret, and a name is not masked"
    if problem:
        # Imported only when an error is raised, because pytest imports this module at each start.
        from converse_harness.errors import ReplyError

        raise ReplyError(f"converse_recording({shown}): {problem}. {_RULES}")
    return PurePosixPath(*parts[:-1], parts[-1] + SUFFIX)


def _problem(part: str) -> str:
    if not part:
        return 'it has an empty part (a "/" at its beginning or end, or two together)'
    if part in (".", ".."):
        return f'"{part}" would leave its place'
    found = re.search(_OTHERS, part)
    if found is not None:
        return f"{found[0]!r} is not allowed"
    if len(part) + len(SUFFIX) > LONGEST:
        return f"{part[:20]!r}... has {len(part) + len(SUFFIX)} bytes with its suffix"
    return f"{part!r} is not allowed" if part != _safe(part) else ""


def path_of_test(module: Iterable[str], classes: Iterable[str], name: str, *, has_twin: bool = False) -> PurePosixPath:
    """Return the path of a test's recording: its module's path without `.py`, then its class, function and parameters.

    Forbidden characters are replaced, and long names are cut. A changed name ends with a hash of the whole name, so
    that it is unique. With `has_twin` the file's name always ends with a hash. Set `has_twin` if another test's name
    differs only in upper and lower case, because some file systems treat these names as one.

    >>> str(path_of_test(["tests", "test_trips.py"], ["TestTrain"], "test_trip[Chur-True]"))
    'tests/test_trips/TestTrain.test_trip[Chur-True].jsonl'
    >>> str(path_of_test(["tests", "test_trips.py"], [], "test_trip[chur]", has_twin=True))
    'tests/test_trips/test_trip[chur]~436dcb25.jsonl'
    """
    folders = [*module]
    folders[-1] = folders[-1].removesuffix(".py")
    whole = ".".join([*classes, name])
    return PurePosixPath(*map(_safe, folders), _safe(whole, SUFFIX, unlike=has_twin) + SUFFIX)


def _safe(text: str, suffix: str = "", *, unlike: bool = False) -> str:
    """Return a file name, valid on every file system, for a text. `suffix` is not included, but counts for the length.

    The name ends with a hash if `text` had to be changed or cut, or if `unlike` is true.
    """
    name = re.sub(_OTHERS, "_", text)
    name = re.sub(r"^\.|\.$", "_", re.sub(_DEVICES, r"\1_", name, count=1) if re.match(_DEVICES, name) else name)
    if name == text and len(name) + len(suffix) <= LONGEST and not unlike:
        return name
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - len(suffix) - len(digest) - 1]}~{digest}"


def failed_path(path: Path) -> Path:
    """Return the path of a failed test's recording. `path` is the path of the test's usual recording."""
    return path.with_name(path.name.removesuffix(SUFFIX) + FAILED_SUFFIX)


def journal_path(path: Path, number: int = 1) -> Path:
    """Return the path of a journal of the recording `path`. `number` is above 1 if there are other journals of it.

    >>> journal_path(Path("trip.jsonl"), 2).name
    'trip~2.unfinished.jsonl'
    """
    more = f"~{number}" if number > 1 else ""
    return path.with_name(path.name.removesuffix(SUFFIX) + more + UNFINISHED_SUFFIX)


_NUMBER: Final = r"~[0-9]{1,5}$"
"""Matches the number of a journal at the end of its name. The hash at the end of a test's name is longer."""


def usual_path(path: Path) -> Path:
    """For the recording of a failed test, and for a journal, return the path of the recording that tests play.

    Any other path is returned unchanged.
    """
    ends = next((suffix for suffix in NOT_PLAYED if path.name.endswith(suffix)), None)
    if ends is None:
        return path
    name = path.name.removesuffix(ends)
    return path.with_name((re.sub(_NUMBER, "", name) if ends == UNFINISHED_SUFFIX else name) + SUFFIX)


def why_not_played(path: Path) -> str:
    """Return the reason why no test plays this file, a text of NOT_PLAYED; "" if it is the recording of a test."""
    return next((why for suffix, why in NOT_PLAYED.items() if path.name.endswith(suffix)), "")
