"""Find the changes to make in a text, also in its escaped parts, and apply changes to a text split into pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from converse_harness.secrets.accounts import Change
from converse_harness.secrets.encodings import undone
from converse_harness.secrets.kinds import ACCOUNTS, SecretKind
from converse_harness.secrets.mask import MASK, STAND_IN, secret_spans

FindChanges = Callable[[str], list[Change]]
"""A function that returns the changes to make in a text, in order."""


def deep(find: FindChanges, text: str, depth: int = 2) -> list[Change]:
    """Return the changes that `find` returns for a text, and for the same text with its escapes decoded.

    Escapes include `%20` and HTML entities. Escapes within escapes are decoded, too, up to `depth` times. All positions
    are positions in the given text.
    """
    changes = find(text)
    for inner, starts in undone(text) if depth else ():
        for start, end, new in deep(find, inner, depth - 1):
            at, stop = starts[start], starts[end]
            if not any(at < other_end and other < stop for other, other_end, _ in changes):
                changes = [*changes, (at, stop, new)]
    return sorted(changes)


def spread(pieces: Sequence[str], changes: Sequence[Change]) -> Iterator[str]:
    """Apply changes to one text that is split into pieces.

    A replacement with the length of the replaced text is split at the same positions. Any other replacement is put into
    the piece in which the replaced text begins.
    """
    at = 0
    for piece in pieces:
        end, done, made = at + len(piece), at, ""
        for start, stop, new in changes:
            if stop > at and start < end:
                made += piece[done - at : max(start, at) - at]
                if len(new) == stop - start:
                    made += new[max(at - start, 0) : end - start]
                elif start >= at:
                    made += new
                done = min(stop, end)
        yield made + piece[done - at :]
        at = end


def masked(spans: Iterable[tuple[int, int]]) -> list[Change]:
    """Return the changes that mask these spans. Overlapping spans are masked as one span."""
    made: list[Change] = []
    for start, end in sorted(spans):
        before, last, _ = made.pop() if made and start < made[-1][1] else (start, end, MASK)
        made.append((before, max(end, last), MASK))
    return made


def masking(kind: SecretKind, text: str) -> list[Change]:
    """Return the changes that mask the secrets of a kind in a text."""
    return masked(secret_spans(kind, text))


def masking_accounts(text: str) -> list[Change]:
    """Return the changes that mask the account ids in a text.

    The numbers that a recorder wrote in place of account ids are not masked.
    """
    spans = (span for kind in ACCOUNTS for span in secret_spans(kind, text))
    return masked(span for span in spans if not text.startswith(STAND_IN, span[0]))
