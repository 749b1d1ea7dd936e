"""Replace account ids, secrets and the user's patterns in a recording before it is written.

A line may contain an event and also the exact bytes that were received; each replacement is made in both. If the
changed bytes then do not decode to the changed event, they are dropped, and a replay encodes the event.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from converse_harness.errors import DamagedData, ReplyError
from converse_harness.json_values import is_array, is_object, is_text
from converse_harness.recordings.format.lines import KINDS as KINDS_OF_LINES
from converse_harness.recordings.format.lines import Line, event_of, kind_of, without_contradiction
from converse_harness.recordings.format.readable import is_other
from converse_harness.recordings.leaks import searched, streamed, streamed_in_others
from converse_harness.secrets.accounts import Accounts
from converse_harness.secrets.kinds import KINDS
from converse_harness.secrets.leaks import Leak, leaks_in
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.removal import Replacements, masking_of
from converse_harness.secrets.spans import FindChanges
from converse_harness.secrets.views import json_in_text, levels, views_of
from converse_harness.stream.frames import decode, encode

_UNTOUCHED: Final = frozenset(
    {"call", "operation", "method", "t", "status", "type", "requestId", "failed", "end", "p", "joined", "masked"}
    | {"part", "parts"}
    | {"bytes", *KINDS_OF_LINES["header"].keys}
)
"""The keys of a line whose values `_OfLines._member` copies unchanged. Before that, `_OfLines.lines` has changed the
pieces of bytes, as a match may extend over several lines.
"""

_EXPECTED: Final = frozenset(kind.name for kind in KINDS if kind.masked)
"""Names of the kinds of secrets that are masked without a warning, because calls to AWS normally contain them."""


class Redacted(NamedTuple):
    """The lines of a recording after the replacements, and the secrets found in the lines before masking."""

    lines: list[Line]
    found: list[Leak]

    @property
    def unexpected(self) -> list[Leak]:
        """The secrets whose masking causes a warning."""
        return [leak for leak in self.found if leak.kind not in _EXPECTED]


@dataclass(slots=True)
class EarlierLines:
    """What is known of the earlier lines of a recording whose lines are redacted in pieces."""

    stand_ins: dict[str, str] = field(default_factory=dict[str, str])
    """Maps each of their account ids to its stand-in."""
    clean: set[str] = field(default_factory=set[str])
    """Texts of theirs that contain no account id, no secret, and none of the texts in `own`."""
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Redaction:
    r"""The user's replacements in recordings. Account ids and secrets are always replaced, even without a Redaction.

    `replacements` maps texts and compiled patterns to their replacements. The replacements are made in the order of
    this mapping, everywhere in requests and answers. The replacement of a pattern may refer to the pattern's groups
    (`\1`). Raises ReplyError for values of other types, and for a pattern that matches the empty text.

    >>> redaction = Redaction({"ada@example.com": "user@example.com", re.compile(r"ticket-\d+"): "ticket-0"})
    >>> redaction.normalised({"text": "ada@example.com about ticket-4711"})
    {'text': 'user@example.com about ticket-0'}
    """

    replacements: Mapping[str | re.Pattern[str], str] = field(default_factory=dict[str | re.Pattern[str], str])

    def __post_init__(self) -> None:
        for given, new in self.replacements.items():
            _check(given, new)

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> Redaction:
        r"""Return a redaction from lines of a configuration file; a line is `regular expression => replacement`.

        Empty lines are ignored. Raises ReplyError for an invalid line.

        >>> Redaction.of_lines([r"cust-\d+ => cust-1"]).normalised("for cust-4711")
        'for cust-1'
        """
        return cls(dict(_replacement_of(line) for line in lines if line.strip()))

    def redacted(
        self,
        lines: Sequence[Line],
        kept: int = 0,
        own: Collection[str] = (),
        earlier: EarlierLines | None = None,
    ) -> Redacted:
        """Return the lines of a recording after all replacements. The first `kept` lines are in the file already.

        `own` contains the secrets of this process, which are masked too. `earlier` is what is known of the earlier
        lines of the file; what is learnt from these lines is added. The result may still contain a secret that cannot
        be masked, for instance in a zip file. Therefore the caller must search the returned lines for secrets.
        """
        made = list(lines)
        if self.replacements:
            made = _OfLines(tuple(starmap(_replacing, self.replacements.items()))).lines(made)
        earlier = EarlierLines() if earlier is None else earlier
        if earlier.own != frozenset(own):
            earlier.clean.clear()
            earlier.own = frozenset(own)
        texts, leaks = searched(made, own, earlier.clean)
        accounts = Accounts.of_recording(texts, kept, earlier.stand_ins)
        if accounts or leaks:
            made = _OfLines(*masking_of({leak.kind for leak in leaks}, own, accounts), named=True).lines(made)
        else:
            earlier.clean.update(view.text for group in texts for view in group.views if not view.form)
        return Redacted(made, leaks)

    def normalised(self, request: Any) -> Any:
        """Return a request, or another JSON value, in the form in which requests are compared.

        All replacements are made, and secrets are masked. Account ids in ARNs, and the numbers that a recorder wrote in
        their place, are numbered in order of appearance. A recorded request already contains the replacements; use
        `normalised` of an empty Redaction for such a request.
        """
        return for_comparison(request, self, own_secrets())


def for_comparison(request: Any, redaction: Redaction, own: Collection[str]) -> Any:
    """Return a request in the form in which requests are compared; see `Redaction.normalised`.

    `own` contains the secrets of this process, which are masked too.
    """
    if redaction.replacements:
        request = Replacements(tuple(starmap(_replacing, redaction.replacements.items()))).value(request)
    views = list(views_of(request, 0))
    accounts = Accounts.of_request(view.text for view in views)
    kinds = {leak.kind for leak in leaks_in(levels(views), own)}
    if not (accounts or kinds):
        return request
    return Replacements(*masking_of(kinds, own, accounts), named=True).value(request)


def _replacing(pattern: str | re.Pattern[str], new: str) -> FindChanges:
    """Return a function that finds the changes in a text: each match of `pattern` becomes `new`.

    A `pattern` that is a text matches exactly this text.
    """
    if isinstance(pattern, str):
        literal = re.compile(re.escape(pattern))
        return lambda text: [(*found.span(), new) for found in literal.finditer(text)]
    return lambda text: [(*found.span(), found.expand(new)) for found in pattern.finditer(text)]


def _replacement_of(line: str) -> tuple[re.Pattern[str], str]:
    """Return the pattern and the replacement from a line `pattern => replacement`. Raises ReplyError for an invalid
    line.
    """
    pattern, arrow, new = (part.strip() for part in line.partition("=>"))
    if not arrow or not pattern:
        raise ReplyError(f"{line.strip()!r}; a line is `pattern => replacement`.")
    try:
        return re.compile(pattern), new
    except re.error as error:
        raise ReplyError(
            f"{pattern!r} is no regular expression ({error}). Put a backslash before characters that "
            "stand for themselves."
        ) from error


def _check(given: Any, new: Any) -> None:
    """Raise ReplyError if `given`, a text or a pattern, cannot be replaced by `new`."""
    if not isinstance(new, str):
        raise ReplyError(f"Redaction: {given!r} is to become {new!r}; it must be a text.")
    pattern: Any = re.compile(re.escape(given)) if isinstance(given, str) else given
    if not isinstance(given, str | re.Pattern) or not isinstance(pattern.pattern, str):
        raise ReplyError(f"Redaction: {given!r} is to be replaced; it must be a text or a compiled pattern of text.")
    if pattern.search(""):
        raise ReplyError(f"{pattern.pattern!r} matches the empty text, which is everywhere.")
    try:
        re.compile(f"(?:{pattern.pattern})|", pattern.flags).sub("" if pattern is not given else new, "")
    except (re.error, IndexError) as error:
        raise ReplyError(f"{pattern.pattern!r} has no group for {new!r} ({error}).") from error


class _OfLines(Replacements):
    """Makes replacements in the lines of a recording."""

    __slots__ = ()

    def lines(self, lines: Sequence[Line]) -> list[Line]:
        """Return a copy of the lines with the replacements made."""
        made = deepcopy([*lines])
        for group in [*streamed(made), *streamed_in_others(made)]:
            pieces = [text for _, _, text in group]
            new = self._raw_pieces(pieces) if group[0][1] == ("bytes",) else self.pieces(pieces)
            for (number, path, _), text in zip(group, new, strict=True):
                inner: Any = made[number - 1]
                for step in path[:-1]:
                    inner = inner[step]
                inner[path[-1]] = text
        return [without_contradiction(self._line(line)) for line in made]

    def _line(self, line: Line) -> Line:
        """Return a line with the replacements made, whose texts that were sent in pieces have been changed."""
        found = event_of(line) if kind_of(line) == "event" else None
        other = found[0] if found is not None and is_other(found[0]) else ""
        return {key: self._member(key, value, is_other_event=key == other) for key, value in line.items()}

    def _member(self, key: str, value: Any, *, is_other_event: bool) -> Any:
        """Return the value of one key of a line with the replacements made."""
        if key in _UNTOUCHED:
            return value
        if is_other_event and not self.named:
            return self._rest(value)
        if key in ("path", "query"):
            new, plain = self.text(value), self.text(unquote(value))
            return new if unquote(new) == plain else quote(plain, safe="/?&=+:%*")
        if key == "frame" or (key.endswith("Base64") and isinstance(value, str)):
            return base64.b64encode(self._raw(base64.b64decode(value))).decode()
        if key == "contentBlockDelta" and is_object(value):
            return {name: self.value(item, name, texts=name != "delta") for name, item in value.items()}
        return self.value(value, key)

    def _rest(self, value: Any) -> Any:
        """Make the user's replacements where `streamed_in_others` has no pieces: in keys, and in JSON in texts.

        Masks can be made twice, and by names, but these replacements must be made once.
        """
        if is_object(value):
            return {self.text(key): self._rest(item) for key, item in value.items()}
        if is_array(value):
            return [self._rest(item) for item in value]
        return self.text(value) if is_text(value) and json_in_text(value) is not None else value

    def _raw(self, data: bytes) -> bytes:
        """Make the replacements in any bytes. If the bytes are a whole frame, its checksums are computed again."""
        try:
            frame = decode(data)
        except DamagedData:
            return self.packed(data)
        headers = tuple(replace(header, value=self.value(header.value)) for header in frame.headers)
        new = replace(frame, headers=headers, payload=self.packed(frame.payload))
        return data if new == frame else encode(new)

    def _raw_pieces(self, pieces: Sequence[str]) -> list[str]:
        """Make the replacements in bytes that are not a whole frame. Each given and each returned piece is base64."""
        texts = self.pieces([base64.b64decode(piece).decode("latin-1") for piece in pieces])
        return [base64.b64encode(each.encode("latin-1", errors="backslashreplace")).decode() for each in texts]
