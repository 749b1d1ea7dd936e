"""Make lines safe to write: mask the secrets, and leave out an exchange if a secret in it cannot be masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from converse_harness.process_secrets import own_secrets
from converse_harness.recordings.capture import before_request, with_faults
from converse_harness.recordings.leaks import Leak, scan
from converse_harness.recordings.lines import Line
from converse_harness.recordings.parts import exchanges_in
from converse_harness.recordings.redaction import Redaction

_SHOWN: Final = 10
"""The maximum number of secrets that a report lists."""

_ADVICE: Final = (
    "Have it replaced (a line `pattern => replacement` under converse_redact in pytest's configuration, or "
    "Redaction(replacements=...)), or record with a test value in its place.   More: converse-harness docs recording "
    "what-is-never-written"
)


_ENCODED: Final = (
    "\nA pattern is searched in texts, in base64 and gzip of texts, and where it touches the secret in the bytes of an "
    "image. Where the rule that is set does not reach the secret, one must match the encoded text as it stands in the "
    "request: `iVBORw0KGgo[A-Za-z0-9+/=]+ => aW1hZ2U=` replaces each PNG."
)
"""The advice that a report on left-out exchanges adds if one of the secrets is in an encoded text."""


class LeftOut(NamedTuple):
    """An exchange that is not written to the file, because it contains `leaks`: secrets that cannot be masked.

    `number` is the number of the exchange, from 0. `asked` is its operation or, without an operation, its HTTP method.
    """

    number: int
    asked: str
    leaks: tuple[Leak, ...]


class SafeLines(NamedTuple):
    """Lines without secrets, the places of the secrets that are masked in them, and the exchanges that are left out."""

    lines: list[Line]
    masked: tuple[Leak, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def safe_lines(lines: Sequence[Line], redaction: Redaction, kept: int = 0) -> SafeLines:
    """Return the lines of a file without secrets. The first `kept` lines are in the file already and never left out.

    `redaction` makes the replacements.
    """
    own = own_secrets()
    redacted = redaction.redacted(lines, kept, own)
    made, masked = redacted.lines, redacted.unexpected
    if not redacted.found and made == lines:
        return SafeLines(made)
    found = [leak for leak in scan(made, own) if leak.line > kept]
    written, places, left_out = made[:1], list[Leak](), list[LeftOut]()
    for number, (index, exchange) in enumerate(exchanges_in(made)):
        numbers = range(index + 1, index + 1 + len(exchange))
        leaks = tuple(leak for leak in found if leak.line in numbers)
        if leaks:
            asked = exchange[0].get("operation") or exchange[0].get("method")
            left_out.append(LeftOut(number, str(asked), leaks))
            continue
        here = [replace(leak, line=leak.line + len(written) - index) for leak in masked if leak.line in numbers]
        call, *answer = with_faults(exchange)
        masks = list(dict.fromkeys([*call.get("masked", ()), *map(str, here)]))
        call = before_request(call, {"masked": masks}) if masks else call
        written += [call | {"call": number + 1 - len(left_out)}, *answer]
        places += here
    return SafeLines(written, tuple(places), tuple(left_out))


def said_of_masked(masked: Sequence[Leak], where: object) -> str:
    """Return the report about masked secrets in the file `where`; empty if there are none."""
    listed = _listed([f"  {where}:{leak.line}: {leak}" for leak in masked])
    return f"{where} has *** in the place of {_secrets(len(masked))}:\n{listed}" if masked else ""


def said_of_left_out(safe: SafeLines, where: object) -> str:
    """Return the report about exchanges left out of the file `where`; empty if there are none."""
    if not safe.left_out:
        return ""
    places = [f"  call {each.number + 1}, {each.asked}: {leak}" for each in safe.left_out for leak in each.leaks]
    wrote = any("call" in line for line in safe.lines)
    missing = f"{len(safe.left_out)} exchange{'s' * (len(safe.left_out) != 1)}"
    first = f"{where} was written without {missing}" if wrote else f"{where} was not written"
    last = "" if wrote else "What was there before is as it was. "
    held = f"{_secrets(len(places))} that cannot be masked there"
    encoded = _ENCODED if any(leak.form for each in safe.left_out for leak in each.leaks) else ""
    return f"{first}, for it would hold {held}:\n{_listed(places)}\n{last}{_ADVICE}{encoded}"


def _secrets(count: int) -> str:
    return "a secret" if count == 1 else f"{count} secrets"


def _listed(places: list[str]) -> str:
    more = len(places) - _SHOWN
    return "\n".join(places if more <= 0 else [*places[:_SHOWN], f"  and {more} more"])
