"""`--converse-record=inline`: recordings of a run are written into the tests as `converse.script(...)`.

A recording stays on disk until its test has been edited, at the end of the run: nothing is lost if the run is killed.
"""

from __future__ import annotations

import hashlib
import inspect
import unittest
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from converse_harness.plugin.settings import MARKER
from converse_harness.recordings.edits import CannotEdit, line_length, read_source, with_imports
from converse_harness.recordings.inlining import find, with_script
from converse_harness.recordings.pruning import remove_recording
from converse_harness.recordings.read import read
from converse_harness.recordings.script_source import script_source
from converse_harness.recordings.write import write

if TYPE_CHECKING:
    import pytest

    from converse_harness.recordings.capture import CapturedExchange

_BOTO: Final = "boto"
"""A text that the user agents of boto3, botocore and aiobotocore contain."""

_NOT_REMOVED: Final = "the test has its replies now, but the file cannot be removed ({problem}). Remove it yourself."

__all__ = ["CannotEdit", "InlineEdit", "apply", "plan"]


class InlineEdit(NamedTuple):
    """A planned edit of a test's file. xdist can send all members from a worker to the controller.

    `digest` is the digest of the file, in which the test function `name` begins on `line`. `script` and `names` are the
    source of the script and the names that it must import. The script replaces the recording in the file `recording`.
    """

    file: str
    digest: str
    name: str
    line: int
    script: str
    names: Sequence[str]
    recording: str
    nodeid: str
    exchanges: int


def plan(item: pytest.Item, recording: Path, captured: Sequence[CapturedExchange], before: int) -> InlineEdit:
    """Plan the edit of a test that was recorded just now. Raises CannotEdit if the test cannot be edited safely.

    `before` is the number of calls that fixtures made before the test function began.
    """
    code = _code_of(item)
    if before:
        raise CannotEdit("one of its fixtures asks before the test begins, and a script would come too late.")
    if any(_BOTO not in (each.header_of_request("user-agent") or "").lower() for each in captured):
        raise CannotEdit("it asks with another client than boto3 or aiobotocore, which `converse` does not answer.")
    file = Path(code.co_filename)
    source = read_source(file)
    found = find(source, item.function.__name__, code.co_firstlineno)  # type: ignore[attr-defined]
    exchanges = read(recording).exchanges
    indent = len(found.indent.expandtabs(4))
    script = script_source(exchanges, short=True, indent=indent, width=line_length(file))
    if script.left_out:
        raise CannotEdit(script.left_out[0])
    padded = "".join(f"{' ' * len(found.indent)}{line[indent:]}" for line in script.text.splitlines(keepends=True))
    made = InlineEdit(
        str(file), _digest(source), found.node.name, code.co_firstlineno, padded, script.names, str(recording),
        item.nodeid, len(exchanges),
    )  # fmt: skip
    with_script(source, found, padded, script.names)
    return made


def _code_of(item: pytest.Item) -> Any:
    """Return the code object of a test's function. Raises CannotEdit if no script can be written into this function."""
    function = getattr(item, "function", None)
    code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
    if code is None or Path(code.co_filename) != item.path:
        raise CannotEdit("its function is not in the file, but was made by other code.")
    same = [each for each in item.session.items if getattr(getattr(each, "function", None), "__code__", None) is code]
    has_name = any("name" in marker.kwargs or marker.args for marker in item.iter_markers(MARKER))
    is_unittest = issubclass(getattr(item, "cls", None) or object, unittest.TestCase)
    for applies, reason in (
        (hasattr(item, "callspec"), "it is parametrized, and each of its parameters has replies of its own."),
        (is_unittest, "a unittest.TestCase has no fixtures as arguments."),
        (len(same) > 1, "several tests are made of its function."),
        (has_name, "its recording has a name of its own, and other tests may play it."),
        ("converse_httpx" in getattr(item, "fixturenames", ()), "it asks over httpx."),
    ):
        if applies:
            raise CannotEdit(reason)
    return code


def apply(edits: Iterable[InlineEdit], folder: Path) -> tuple[list[str], list[tuple[InlineEdit, str]]]:
    """Edit the tests, and remove their recordings from the folder `folder`.

    Return the node ids of the edited tests, and a pair for each failed edit: the edit and the reason.
    """
    done: list[str] = []
    failed: list[tuple[InlineEdit, str]] = []
    files: dict[str, list[InlineEdit]] = {}
    for edit in edits:
        files.setdefault(edit.file, []).append(edit)
    for file, several in files.items():
        try:
            _apply(Path(file), several)
        except (CannotEdit, OSError) as error:
            failed += [(edit, str(error)) for edit in several]
            continue
        for edit in several:
            try:
                remove_recording(Path(edit.recording), folder)
                done.append(edit.nodeid)
            except OSError as error:
                failed.append((edit, _NOT_REMOVED.format(problem=error.strerror or error)))
    return done, failed


def _apply(path: Path, edits: Sequence[InlineEdit]) -> None:
    source = read_source(path)
    if any(_digest(source) != edit.digest for edit in edits):
        raise CannotEdit("the file was changed while the tests ran.")
    # Edit the last function first, so that the line numbers of earlier functions stay valid. Add imports at the end.
    for edit in sorted(edits, key=lambda edit: edit.line, reverse=True):
        source = with_script(source, find(source, edit.name, edit.line), edit.script, ())
    source = with_imports(source, {name for edit in edits for name in edit.names})
    target = path.resolve()
    mode = target.stat().st_mode
    write(target, source)
    target.chmod(mode)


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()
