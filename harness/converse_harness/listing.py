"""The command `converse-harness cases`: the catalogue for people, and as JSON for programs."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any, Final, TextIO

from converse_harness.cases import CASES, Case, UnknownCase
from converse_harness.serve.lines import BOLD, RED, Printer

NOTHING_FOUND: Final = 2


def list_cases(glob: str | None, *, as_json: bool, out: TextIO, err: TextIO) -> int:
    """Print the cases whose names match the glob, or have it in them; the result is the exit code, 2 if none does."""
    found = [case for name, case in CASES.items() if glob is None or glob in name or fnmatchcase(name, glob)]
    if not found:
        Printer(err).say(f"converse-harness cases: {_not_found(glob or '')}", RED)
        return NOTHING_FOUND
    printer = Printer(out)
    if as_json:
        printer.say(json.dumps([described(case) for case in found], indent=2))
        return 0
    width = max(len(case.name) for case in found)
    for case in found:
        printer.say(f"{printer.styled(f'{case.name:<{width}}', BOLD)}  {case.sentence}")
    return 0


def described(case: Case) -> dict[str, Any]:
    """A case in JSON; `replies` are the answers to calls in a row, in a few words each."""
    return {
        "name": case.name,
        "sentence": case.sentence,
        "must": case.must,
        "source": case.source,
        "stream_only": case.stream_only,
        "replies": [reply.summary for reply in case.replies],
    }


def _not_found(glob: str) -> str:
    try:
        CASES[glob]
    except UnknownCase as error:
        return str(error)
    raise AssertionError(f"{glob} is a case")  # it would have been found
