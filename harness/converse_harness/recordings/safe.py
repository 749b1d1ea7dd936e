"""The lines of a session that may be written: secrets are masked, and an exchange is left out where they cannot be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from converse_harness.recordings.capture import before_request, with_faults
from converse_harness.recordings.leaks import Leak, scan
from converse_harness.recordings.lines import Line
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets import own_secrets

_SHOWN: Final = 10

_ADVICE: Final = (
    "Have it replaced (a line `pattern => replacement` under converse_redact in pytest's configuration, or "
    "Redaction(replacements=...)), or record with a test value in its place."
)


class LeftOut(NamedTuple):
    """An exchange that is not written: its number in the session, from 0, what was asked, and the secrets in it."""

    number: int
    asked: str
    leaks: tuple[Leak, ...]


class SafeLines(NamedTuple):
    """Lines without a secret: where one was `masked`, by their own line numbers, and which exchanges are `left_out`."""

    lines: list[Line]
    masked: tuple[Leak, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def safe_lines(lines: Sequence[Line], redaction: Redaction, kept: int = 0) -> SafeLines:
    """The lines of a file as they are written; `kept` of them, at the beginning, were written before, and all stay."""
    own = own_secrets()
    redacted = redaction.redacted(lines, kept, own)
    made, masked = redacted.lines, list(redacted.unexpected)
    if not redacted.found and made == lines:
        return SafeLines(made)
    starts = [number for number, line in enumerate(lines, 1) if "call" in line]
    left_out = tuple(_left_out(made, starts, [leak for leak in scan(made, own) if leak.line > kept]))
    gone = {each.number for each in left_out}
    written, places = made[:1], list[Leak]()
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(made) + 1], strict=True)):
        if number in gone:
            continue
        moved = len(written) + 1 - start
        here = [replace(leak, line=leak.line + moved) for leak in masked if start <= leak.line < end]
        exchange = list(with_faults(made[start - 1 : end - 1]))
        exchange[0] = _with_masks(exchange[0], here) | {"call": number + 1 - sum(each < number for each in gone)}
        written += exchange
        places += here
    return SafeLines(written, tuple(places), left_out)


def said_of_masked(masked: Sequence[Leak], where: object) -> str:
    """What people are told of masks in the file `where`; nothing where there are none."""
    if not masked:
        return ""
    return f"{where} has *** in the place of {_secrets(len(masked))}:\n" + "\n".join(_listed(masked, where))


def said_of_left_out(safe: SafeLines, where: object) -> str:
    """What people are told of exchanges that are not in the file `where`; nothing where all are."""
    if not safe.left_out:
        return ""
    leaks = [leak for each in safe.left_out for leak in each.leaks]
    places = [f"  call {each.number + 1}, {each.asked}: {leak}" for each in safe.left_out for leak in each.leaks]
    wrote = any("call" in line for line in safe.lines)
    missing = f"{len(safe.left_out)} exchange{'s' * (len(safe.left_out) != 1)}"
    first = f"{where} was written without {missing}" if wrote else f"{where} was not written"
    last = "" if wrote else "What was there before is as it was. "
    listed = "\n".join(_shortened(places))
    return f"{first}, for it would hold {_secrets(len(leaks))} that cannot be masked there:\n{listed}\n{last}{_ADVICE}"


def _left_out(lines: Sequence[Line], starts: Sequence[int], leaks: Sequence[Leak]) -> Iterator[LeftOut]:
    by_number: dict[int, list[Leak]] = {}
    for leak in leaks:
        by_number.setdefault(bisect_right(starts, leak.line) - 1, []).append(leak)
    for number, found in sorted(by_number.items()):
        call = lines[starts[number] - 1]
        yield LeftOut(number, str(call.get("operation") or f"{call.get('method')}"), tuple(found))


def _with_masks(call: Line, masked: Sequence[Leak]) -> Line:
    places = list(dict.fromkeys([*call.get("masked", ()), *map(str, masked)]))
    return before_request(call, {"masked": places}) if places else call


def _secrets(count: int) -> str:
    return "a secret" if count == 1 else f"{count} secrets"


def _listed(leaks: Sequence[Leak], where: object) -> list[str]:
    return _shortened([f"  {where}:{leak.line}: {leak}" for leak in leaks])


def _shortened(places: list[str]) -> list[str]:
    more = len(places) - _SHOWN
    return places if more <= 0 else [*places[:_SHOWN], f"  and {more} more"]
