"""What the consumers lack that a contract asks: they read whole streams, and a contract sends broken and newer ones.

The changes are data, as bugs are, so that each consumer stays of its own design. Each has a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tests.planted.bugs import Bug, Read, load

Changes = tuple[tuple[str, str], ...]

_NO_ACCIDENT: Final = (
    "def read(events: Iterable[Event]) -> Answer:\n",
    '''\
def read(events: Iterable[Event]) -> Answer:
    """The same; what is missing in an event is an error of the stream, and no accident of this code."""
    try:
        return _read(events)
    except (AttributeError, LookupError, StopIteration, TypeError) as error:
        raise Unreadable(repr(error)) from error


def _read(events: Iterable[Event]) -> Answer:
''',
)

_ENDS: Final = """\
            case "nothing" | "message" | "stopped":
                raise Unreadable("the end of no block")
            case _:
                pass"""

_ONE_KIND: Final = """\
    if len(delta) > 1 or (block and ("reasoningContent" in delta) != ("reasoningContent" in block)):
        raise Unreadable(f"{delta} in {block}")
    if "text" in delta:
"""

_NO_TEXT: Final = """\
    if kind != "toolUse" and "toolUse" in block.get("start", {}):
        raise Unreadable(f"{kind} in the input of a tool")
    if kind == "text":
"""

_FOR_A_TOOL: Final = """\
        if "toolUse" not in block.get("start", {}):
            raise Unreadable("input for no tool")
        buffer.write(value["input"])"""

_NOTHING: Final = """\
delta = _typed(members, "delta", dict)
            if "hologram" in delta:
                delta = {"text": ""}
"""

MENDED: Final[Mapping[str, Changes]] = {
    "fold": (
        # A block that begins as a kind of the future is skipped.
        ("closed != set(blocks)", "set(blocks) - closed"),
        # A block and a delta have one kind.
        ('    if "text" in delta:\n', _ONE_KIND),
        _NO_ACCIDENT,
    ),
    "states": (
        # A block of a kind of the future is skipped.
        (
            '            case _:\n                raise Unreadable("the end of no block")',
            _ENDS,
        ),
        # The input of a tool that never began is no input.
        (
            '                self._expect("toolUse")\n',
            '                self._expect("toolUse" if self.head else "a tool use that began")\n',
        ),
        # Reasoning of a kind of the future is skipped.
        (
            '                else:\n                    self.pieces.append(value["text"])',
            '                elif "text" in value:\n                    self.pieces.append(value["text"])',
        ),
        _NO_ACCIDENT,
    ),
    "lines": (
        # Text in the input of a tool is no input.
        (
            '    if kind == "text":\n',
            _NO_TEXT,
        ),
        # The input of a tool that never began is no text.
        (
            '        buffer.write(value["input"])',
            _FOR_A_TOOL,
        ),
        _NO_ACCIDENT,
    ),
    "pipeline": (
        # What belongs to a block has an index.
        (
            '                    if name.endswith("Exception"):',
            '                    if name.endswith("Exception") or name.startswith("contentBlock"):',
        ),
        _NO_ACCIDENT,
    ),
    "typed": (
        # A stop reason of the future is read.
        (
            'if members.get("stopReason") not in STOP_REASONS:',
            'if not isinstance(members.get("stopReason"), str):',
        ),
        # So are blocks and deltas of kinds of the future, as nothing.
        (
            'delta = _typed(members, "delta", dict)\n',
            _NOTHING,
        ),
        ('    if kind not in ("toolUse", "toolResult", "image"):\n        raise Unreadable(kind)\n', ""),
        _NO_ACCIDENT,
    ),
}
"""For each consumer: what is changed."""


def mended(consumer: str, bug: Bug | None = None) -> Read:
    """The function `read` of a mended consumer, with a bug if one is given."""
    clean = Bug(consumer, f"{consumer}_mended", "No bug.", MENDED[consumer])
    return load(consumer, clean if bug is None else replace(bug, changes=(*MENDED[consumer], *bug.changes)))
