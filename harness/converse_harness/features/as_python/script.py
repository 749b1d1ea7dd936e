"""Convert a recording to the source of a test: `converse.script(...)` with a reply for each recorded answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from keyword import iskeyword
from pathlib import Path
from textwrap import wrap
from typing import Final, NamedTuple

from converse_harness.features.as_python.spelling import Calls, spelled
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.play.matching import asked_in
from converse_harness.recordings.play.mismatch import summary
from converse_harness.reply.source import WIDTH, Unwritable, chain_source, source_of
from converse_harness.secrets.mask import mask
from converse_harness.words import cut

_INDENT: Final = "    "
_ROOM: Final = WIDTH - len(_INDENT) - len("# ")


class ScriptSource(NamedTuple):
    """The source of `converse.script(...)` as `text`, and the number of recorded answers in it as `replies`.

    `names` are the names that the source must import from `converse_harness`. `left_out` contains a sentence for each
    exchange that no reply can answer; the sentence states the reason.
    """

    text: str
    names: tuple[str, ...]
    left_out: tuple[str, ...]
    replies: int


def script_source(exchanges: Sequence[RecordedExchange], *, short: bool = False) -> ScriptSource:
    """Return the source of `converse.script(...)` with a reply for each recorded answer.

    If `short` is true, the cuts between deltas, the token usage and the ids of tool uses are left out.
    """
    made: list[Calls] = []
    left_out: list[str] = []
    for exchange in exchanges:
        calls = spelled(exchange, short=short) or ()
        try:
            is_writable = bool(calls and chain_source(calls))
        except Unwritable:
            is_writable = False
        if is_writable:
            made.append(calls)
        elif exchange.operation != "CountTokens":  # a fake answers CountTokens without a script
            left_out.append(_why_not(exchange))
    replies: list[Calls] = []
    for calls, several in groupby(made):
        number = sum(1 for _ in several)
        replies.append((*calls, ("times", (number,), {})) if number > 1 else calls)
    text = _script(replies) if replies else ""
    names = tuple(name for name in ("faults", "reply") if re.search(rf"\b{name}\.", text))
    return ScriptSource(text, names, tuple(left_out), len(made))


def _script(replies: Sequence[Calls]) -> str:
    if len(replies) == 1:
        line = f"{_INDENT}converse.script({chain_source(replies[0], width=10**9)})"
        if len(line) <= WIDTH:
            return f"{line}\n"
    lines = [f"{2 * _INDENT}{chain_source(calls, indent=2 * len(_INDENT), width=WIDTH - 1)},\n" for calls in replies]
    return "".join([f"{_INDENT}converse.script(\n", *lines, f"{_INDENT})\n"])


def _why_not(exchange: RecordedExchange) -> str:
    what = f"call {exchange.call['call']} (line {exchange.at}, {exchange.operation})"
    if exchange.operation in ("Converse", "ConverseStream"):
        return f"{what}: no function of `reply` sends this answer; only its recording does."
    return f"{what}: `reply` answers Converse and ConverseStream; for another operation see converse.on_operation."


def module_source(exchanges: Sequence[RecordedExchange], script: ScriptSource, name: str, recording: str) -> str:
    """Return the source of a file of tests with one test.

    The test has the script, comments where the code under test belongs, and an assertion. `recording` is the name of
    the file that the exchanges are from.
    """
    literal = source_of(f"Replies of {recording}.")
    docstring = f'""{literal}""' if literal.startswith('"') else literal
    lines = [f"{docstring}\n\nfrom converse_harness import {', '.join(script.names)}\n\n\n"]
    lines += [f"def {name}(converse):\n", script.text]
    comments = [line for each in script.left_out for line in wrap(f"Left out: {each}", _ROOM, subsequent_indent="  ")]
    comments.append("Call the code under test here. When this was recorded, it asked:")
    comments += [f"  {exchange.call['call']}. {mask(summary(asked_in(exchange)))}" for exchange in exchanges]
    lines += map(_comment, comments)
    asked = sum(exchange.operation in ("Converse", "ConverseStream") for exchange in exchanges)
    lines.append(f"{_INDENT}assert len(converse.calls) == {asked}\n")
    return "".join(lines)


def _comment(text: str) -> str:
    shown = "".join(each if each.isprintable() else "\ufffd" for each in text)
    return f"{_INDENT}# {cut(shown, _ROOM)}\n"


def name_of_test(path: Path) -> str:
    """Return the name of a test for the recording at a path.

    >>> name_of_test(Path("recordings/trips/Chur to Tirano.jsonl"))
    'test_chur_to_tirano'
    """
    stem = re.sub(r"~[0-9a-f]{8}$", "", path.stem)
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()
    name = name if name.startswith("test_") else f"test_{name or 'recorded'}"
    return f"{name}_" if iskeyword(name) else name
