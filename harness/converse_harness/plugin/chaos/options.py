"""The value of `--converse-chaos`: a budget of seconds, paths of tests, and names of faults, in any order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import pytest

from converse_harness.plugin.chaos.damage import DAMAGES, USUAL

_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)s")

_BUDGET: Final = 60.0
"""The default time for all reruns, in seconds. With xdist, each worker has this time."""


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    """The options of a chaos run. `paths` are files and folders of tests; without `paths`, all tests are rerun."""

    seconds: float = _BUDGET
    paths: tuple[Path, ...] = ()
    faults: tuple[str, ...] = tuple(USUAL)

    def covers(self, path: Path) -> bool:
        """Whether the tests in the file `path` are rerun."""
        return not self.paths or any(path == each or each in path.parents for each in self.paths)


def read_options(value: str, start: Path) -> ChaosOptions:
    """Parse the value of `--converse-chaos`; paths in it are relative to `start`.

    Raises UsageError for a part that is neither a number of seconds, nor an existing path, nor the name of a fault.

    >>> read_options("5s,reset", Path()).seconds
    5.0
    """
    seconds, paths, names = _BUDGET, list[Path](), list[str]()
    for part in (part.strip() for part in value.split(",")):
        timed = _SECONDS.fullmatch(part)
        if timed is not None and float(timed[1]) > 0:
            seconds = float(timed[1])
        elif part in DAMAGES:
            names.append(part)
        elif part and (start / part).exists():
            paths.append((start / part).resolve())
        else:
            near = get_close_matches(part, DAMAGES, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise pytest.UsageError(
                f"--converse-chaos={value}: {part!r} is no number of seconds (60s), no file or folder of tests that is "
                f"there, and no fault. {hint}The usual faults: {', '.join(USUAL)}. Name one, or several with commas "
                "between them. More: converse-harness docs chaos"
            )
    return ChaosOptions(seconds, tuple(paths), tuple(dict.fromkeys(names)) or tuple(USUAL))
