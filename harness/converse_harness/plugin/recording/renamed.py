"""Find the unused recording of a test that was renamed, or whose module was renamed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from converse_harness.endpoint.call import Call
from converse_harness.errors import DamagedData
from converse_harness.plugin.recording.owners import relative
from converse_harness.plugin.recording.unused import Unused
from converse_harness.plugin.settings import folder
from converse_harness.recordings.format.media import folder_of
from converse_harness.recordings.format.read import open_file
from converse_harness.recordings.names import SUFFIX
from converse_harness.recordings.play.matching import Match, asked_by, asked_in, key
from converse_harness.shell import make_folder, quoted

if TYPE_CHECKING:
    import pytest

_READ: Final = 200
"""The maximum number of unused recordings that are read."""

_RULES: Final[tuple[Match, ...]] = ("exact", "shape")

_ADVICE: Final = """
{old} is used by no test{partly}, and {what}. If it is the recording of this
test, which had another name:

    {command}
"""

_WHAT: Final = {
    "exact": "a request in it is equal",
    "shape": "a request in it differs from this one in its texts only",
}


class OldRecording(NamedTuple):
    """An unused recording, the command that renames it, and the advice about it for the message of a failed test."""

    path: Path
    command: str
    advice: str


def old_recording(config: pytest.Config, unused: Unused, new: Path, call: Call) -> OldRecording | None:
    """Return the unused recording that best fits the missing file `new`; None if none has a request like `call`.

    `call` is the first call of the test.
    """
    wanted = {rule: key(rule, asked_by(call).by_digest) for rule in _RULES}
    found = list[tuple[int, float, Path]]()
    without_test = [*_without_test(config, unused)]
    for path in without_test[:_READ]:
        with suppress(DamagedData, OSError):
            requests = [asked_in(exchange).by_digest for exchange in open_file(path).exchanges]
            likeness = SequenceMatcher(None, str(path), str(new)).ratio()
            for number, rule in enumerate(_RULES):
                if any(key(rule, each) == wanted[rule] for each in requests):
                    found.append((number, -likeness, path))
    if not found:
        return None
    number, _, path = min(found)
    start = config.invocation_params.dir
    # Rename the whole folder if all its recordings are unused and the new folder does not exist.
    whole = (
        path.parent != folder(config)
        and path.name == new.name
        and not new.parent.exists()
        and new.parent.parent.is_dir()
        and set(path.parent.rglob(f"*{SUFFIX}")) <= set(without_test)
    )
    command = _moved(start, path.parent, new.parent) if whole else _command(start, path, new)
    shown, partly = relative(path, start).as_posix(), " of this run" if unused.why_not_collected() else ""
    advice = _ADVICE.format(old=shown, partly=partly, what=_WHAT[_RULES[number]], command=command)
    return OldRecording(path, command, advice)


def _without_test(config: pytest.Config, unused: Unused) -> Iterator[Path]:
    """Yield the recordings that no collected test uses, unless they may belong to a test that was not collected."""
    root = folder(config)
    for path in unused.recordings():
        within = path.parent.relative_to(root).as_posix()  # "." for a recording directly in the folder `root`
        module = config.rootpath / f"{within}.py"
        test = re.split(r"[\[~]", path.name.removesuffix(SUFFIX))[0].rpartition(".")[2]
        if not unused.why_not_collected():
            yield path
        elif module.is_file():
            text = module.read_text(encoding="utf-8", errors="replace")
            if not re.search(rf"\bdef {re.escape(test)}\b", text):
                yield path
        elif test.startswith("test"):
            yield path


def _moved(start: Path, old: Path, new: Path) -> str:
    return f"git mv {quoted(relative(old, start).as_posix())} {quoted(relative(new, start).as_posix())}"


def _command(start: Path, old: Path, new: Path) -> str:
    """Return the command that renames a recording, to be typed in the folder `start`."""
    command = _moved(start, old, new)
    if old.parent != new.parent:
        target = relative(new.parent, start).as_posix()
        command = command if new.parent.is_dir() else f"{make_folder(target)} && {command}"
        media = old.parent / folder_of(old)
        if media.is_dir():  # the recording names its folder of media files, which must stay beside it
            command += f" && git mv {quoted(relative(media, start).as_posix())} {quoted(target)}"
    return command
