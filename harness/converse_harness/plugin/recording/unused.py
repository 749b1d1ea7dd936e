"""Find the recordings that no test uses."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from converse_harness.plugin.recording.facts import RunFacts
from converse_harness.plugin.settings import folder
from converse_harness.recordings import names
from converse_harness.words import counted

if TYPE_CHECKING:
    import pytest

_NARROWING: Final = (
    "collectonly",
    "deselect",
    "ignore",
    "ignore_glob",
    "keyword",
    "lf",
    "markexpr",
    "setuponly",
    "setupplan",
    "stepwise",
)
"""The attributes of pytest's options that keep some tests from running.

With such an option, it is unknown which recordings no test uses.
"""

_OPTIONS: Final = {"collectonly": "--collect-only", "keyword": "-k", "markexpr": "-m"}
"""Maps attributes in `_NARROWING` to the names of their options on the command line, if these differ."""


@dataclass(frozen=True, slots=True)
class Unused:
    """The recordings that no test of a run uses, and the reason if this is not known.

    `facts` are the facts of the whole run, and `ran` is the number of tests that ran. `waits` is true while a worker of
    xdist has not sent its facts.
    """

    config: pytest.Config
    facts: RunFacts
    ran: int
    waits: bool

    def recordings(self, *, failed: bool = False) -> list[Path]:
        """Return the recordings that no collected test and no other code used.

        `failed` adds the files that no test plays: recordings of failed tests, and journals.
        """
        files = folder(self.config).rglob(f"*{names.SUFFIX}")
        files = (path for path in files if failed or not names.why_not_played(path))
        return sorted(path for path in files if names.identity(path) not in self.facts.used and _is_recording(path))

    def why_unknown(self) -> str:
        """Return the reason why not all tests of the project were collected and ran; "" if all of them ran."""
        collected = self.facts.collected
        all_ran = not self.waits and self.ran == collected
        return self.why_not_collected() or ("" if all_ran else f"{self.ran} of {counted(collected, 'test')} ran")

    def why_not_collected(self) -> str:
        """Return the reason why not all tests of the project were collected; "" if all were collected."""
        config = self.config
        narrowed = [name for name in _NARROWING if getattr(config.option, name, None)]
        if narrowed:
            return f"an option left out tests: {_OPTIONS.get(narrowed[0], '--' + narrowed[0].replace('_', '-'))}"
        if not self.facts.whole:
            return "tests were deselected, or a module was skipped or could not be imported"
        start, root = config.invocation_params.dir, config.rootpath
        asked = [os.path.realpath(start / argument) for argument in config.args if "::" not in argument]
        patterns = config.getini("testpaths")
        tests = [name for pattern in patterns for name in glob.glob(pattern, root_dir=root, recursive=True)]
        folders = [Path(os.path.realpath(root / name)) for name in tests or [""]]
        if len(asked) == len(config.args) and all(any(map(each.is_relative_to, asked)) for each in folders):
            return ""
        return "only some of the tests were asked for"


def _is_recording(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b'"converse-recording"' in file.read(200)
    except OSError:
        return False
