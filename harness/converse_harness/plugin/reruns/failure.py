"""How a test failed, in a form that can be compared between two runs: the type of the error, and the user's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from converse_harness.json_values import object_of
from converse_harness.plugin.reruns.watch import Watch
from converse_harness.secrets.mask import mask
from converse_harness.user_lines import UserLine, raising_line
from converse_harness.words import cut, one_line

_WIDTH: Final = 100
"""The maximum length of the text about an error."""

_ENDLESS: Final = "asks without end"
HANGS: Final = "hangs"
"""Why a test failed that waited, until something ended it."""


class Failure(NamedTuple):
    """How a test failed. Two failures are the same if all members but `text` are equal.

    `kind` is the full name of the error's type, with the code of an AWS error. `line` is the innermost line of the
    user's code that raised it, or None. `when` is the phase of the test. `hang` tells why the test counts as hung, and
    is "" if it does not; then the other members are empty, since a test is ended at any line.
    """

    kind: str
    line: UserLine | None
    when: str
    hang: str = ""
    text: str = ""

    def is_same(self, other: Failure | None) -> bool:
        """Whether another run failed in the same way."""
        return other is not None and self[:-1] == other[:-1]

    def told(self, root: Path) -> str:
        """Return a text such as `KeyError: 'text' at agent.py:88`, with the path relative to `root`."""
        if self.hang:
            return f"the test {self.hang}"
        where = () if self.line is None else (UserLine.relative_to(self.line, root),)
        return " at ".join((self.text, *where))


def single(error: BaseException) -> BaseException:
    """Return the single exception in a group, also if the group has several levels.

    Return a group of several exceptions, or any other exception, unchanged.
    """
    inner: tuple[BaseException, ...]
    while len(inner := getattr(error, "exceptions", ())) == 1:
        error = inner[0]
    return error


def failure_of(error: BaseException, when: str, hang: str = "") -> Failure:
    """Return how a test failed that raised `error` in the phase `when`."""
    if hang:
        return Failure("", None, "", hang)
    found = single(error)
    kind: type[Any] = type(found)
    code = object_of(object_of(getattr(found, "response", None)).get("Error")).get("Code")
    name = f"{kind.__module__}.{kind.__qualname__}" + (f" {code}" if code else "")
    said = one_line(mask(str(found)))
    text = cut(f"{kind.__name__}: {said}" if said else kind.__name__, _WIDTH)
    return Failure(name, raising_line(found) or raising_line(error), when, text=text)


def hang_of(error: BaseException | None, watch: Watch, *, stopped: bool = False) -> str:
    """Return why a test counts as hung: it asked without end, or it was ended by a time limit; "" if it did not hang.

    pytest-timeout ends a test by `pytest.fail("Timeout ...")`.
    """
    if watch.asked_without_end:
        return _ENDLESS
    timed_out = type(error).__name__ == "Failed" and str(error).startswith("Timeout ")
    return HANGS if stopped or timed_out else ""
