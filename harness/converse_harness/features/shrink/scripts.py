"""Read the replies that take the place of a test's script: from a recording, or from a printed line of code."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from converse_harness import faults, reply
from converse_harness.endpoint.call import SCRIPTED
from converse_harness.errors import ConverseHarnessError, ReplyError
from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.read import read
from converse_harness.reply.reply import Reply


def replies_in(path: Path) -> list[Reply]:
    """Return the replies of a file: of a recording in the order of its calls, or of a line `converse.script(...)`.

    Raises ReplyError for a file without replies, OSError for one that cannot be read, and DamagedData for a damaged
    recording.
    """
    if path.suffix == ".py":
        return replies_of(path.read_text(encoding="utf-8"))
    exchanges = [each for each in read(path, legal=False).exchanges if each.operation in SCRIPTED]
    if not exchanges:
        raise ReplyError(f"{path} has no answer of Converse or ConverseStream.")
    return [reply_of(each) for each in exchanges]


def replies_of(code: str) -> list[Reply]:
    """Return the replies that a printed line of code scripts. Raises ReplyError for any other code.

    >>> replies_of('converse.script(reply.text("hi").times(2))')
    [<Reply text "hi", 2 times>]
    """
    found: list[Reply] = []

    def script(*replies: Reply) -> None:
        found.extend(replies)

    converse = SimpleNamespace(script=script)
    try:
        exec(compile(code, "<script>", "exec"), {"converse": converse, "reply": reply, "faults": faults})
    except ConverseHarnessError:
        raise
    except Exception as error:
        raise ReplyError(f"the line of code raised {type(error).__name__}: {error}") from error
    if not found:
        raise ReplyError("the code scripts no reply.")
    return found
