"""Replace account ids, secrets and the user's patterns in a recording before it is written.

A line may contain an event and also the exact bytes that were received; each replacement is made in both. If the
changed bytes then do not decode to the changed event, they are dropped, and a replay encodes the event.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from converse_harness.errors import DamagedData, ReplyError
from converse_harness.json_values import columns, is_array, is_object
from converse_harness.recordings.format.lines import KINDS as KINDS_OF_LINES
from converse_harness.recordings.format.lines import Line, without_contradiction
from converse_harness.recordings.leaks import OWN_SECRET, Accounts, Leak, all_views, leaks_in, streamed
from converse_harness.secrets.encodings import GZIP, STANDARD, unpacked
from converse_harness.secrets.kinds import ACCOUNTS, KINDS
from converse_harness.secrets.mask import MASK, cut_spans, matches, own_spans
from converse_harness.secrets.process import own_secrets
from converse_harness.secrets.spans import FindChanges, deep, masked, masking, masking_accounts, spread
from converse_harness.secrets.views import LINE_OF_JSON, is_pair, levels, value_names, views_of
from converse_harness.stream.frames import decode, encode

_UNTOUCHED: Final = frozenset(
    {"call", "operation", "method", "t", "status", "type", "requestId", "failed", "end", "p", "joined", "masked"}
    | {"bytes", *KINDS_OF_LINES["header"].keys}
)
"""The keys of a line whose values `_Work._member` copies unchanged. Before that, `_Work.lines` has changed the pieces
of bytes, as a match may extend over several lines.
"""

_MASKED: Final = tuple(kind for kind in KINDS if kind not in ACCOUNTS)

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


_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{20,}={0,2}(?![A-Za-z0-9+/=_-])")
_NESTED: Final = 4
"""The maximum number of nested encodings in which replacements are made."""


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

    def redacted(self, lines: Sequence[Line], kept: int = 0, own: Collection[str] = ()) -> Redacted:
        """Return the lines of a recording after all replacements. The first `kept` lines are in the file already.

        `own` contains the secrets of this process, which are masked too. The result may still contain a secret that
        cannot be masked, for instance in a zip file. Therefore the caller must search the returned lines for secrets.
        """
        made = list(lines)
        if self.replacements:
            made = _Work(tuple(starmap(_replacing, self.replacements.items()))).lines(made)
        texts = list(levels(all_views(made)))
        accounts, leaks = Accounts.of_recording(texts, kept), leaks_in(texts, own)
        if accounts or leaks:
            made = _masking({leak.kind for leak in leaks}, own, accounts).lines(made)
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
        request = _Work(tuple(starmap(_replacing, redaction.replacements.items()))).value(request)
    views = list(views_of(request, 0))
    accounts = Accounts.of_request(view.text for view in views)
    kinds = {leak.kind for leak in leaks_in(levels(views), own)}
    return _masking(kinds, own, accounts).value(request) if accounts or kinds else request


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


class Cleaned(NamedTuple):
    """A text with masked secrets, the kinds of the secrets, and the secrets as spelled in the original text."""

    text: str
    kinds: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()


def without_secrets(text: str, own: Collection[str]) -> Cleaned:
    """Mask the secrets in a text.

    `own` contains the secrets of this process, which are found even if shortened by "...". If a secret cannot be masked
    alone (in a zip file, for instance), its whole line is masked. If the secret is split into pieces, all lines of JSON
    are masked. If this is not enough, the whole text is masked.

    >>> without_secrets("AWS_ACCESS_KEY_ID is AKIAIOSFODNN7EXAMPLE", own=()).text
    'AWS_ACCESS_KEY_ID is ***'
    """
    kinds = _kinds_in(text, own)
    cut = masked(cut_spans(text, own))
    if cut:
        text, kinds = "".join(spread([text], cut)), list(dict.fromkeys([*kinds, OWN_SECRET]))
    if not kinds:
        return Cleaned(text)
    work = _masking(kinds, own)
    values = {text[start:end] for find in work.finds for start, end, _ in deep(find, text)}
    made = work.text(text)
    if _kinds_in(made, own):
        lines = made.split("\n")
        made = "\n".join(MASK if _kinds_in(line, own) else line for line in lines)
    if _kinds_in(made, own):  # the secret is split into pieces
        made = LINE_OF_JSON.sub(lambda line: line[0].removesuffix(line[1]) + MASK, made)
    return Cleaned(MASK if _kinds_in(made, own) else made, tuple(kinds), frozenset(values))


def value_without_secrets(value: Any, own: Collection[str]) -> Any:
    """Mask the secrets in a text or another JSON value, also where they are encoded. Account ids are masked too.

    `own` contains the secrets of this process. If a secret cannot be masked alone, the whole value is masked.

    >>> value_without_secrets({"key": "QUtJQUlPU0ZPRE5ON0VYQU1QTEUgaXMgbXkga2V5"}, own=())
    {'key': 'KioqIGlzIG15IGtleQ=='}
    """
    kinds = _kinds_in(value, own)
    if not kinds:
        return value
    made = _masking(kinds, own).value(value)
    return MASK if _kinds_in(made, own) else made


def _kinds_in(value: Any, own: Collection[str]) -> list[str]:
    """Return the kinds of the secrets in a text or another JSON value, each kind once."""
    return list(dict.fromkeys(leak.kind for leak in leaks_in(levels(views_of(value, 0)), own)))


@dataclass(frozen=True, slots=True)
class _Work:
    """Makes replacements in the lines of a recording, or in a single JSON value or text."""

    finds: tuple[FindChanges, ...]
    accounts: Accounts | None = None
    """The accounts whose ids are replaced where they are JSON numbers. Ids in texts are replaced by a function in
    `finds`.
    """

    named: bool = False
    """Whether each text is searched together with its key, as `key: value`, and also with its escapes decoded."""

    def lines(self, lines: Sequence[Line]) -> list[Line]:
        """Return a copy of the lines with the replacements made."""
        made = deepcopy([*lines])
        for group in streamed(made):
            pieces = [text for _, _, text in group]
            new = self._raw_pieces(pieces) if group[0][1] == ("bytes",) else self.pieces(pieces)
            for (number, path, _), text in zip(group, new, strict=True):
                inner: Any = made[number - 1]
                for step in path[:-1]:
                    inner = inner[step]
                inner[path[-1]] = text
        return [without_contradiction({key: self._member(key, value) for key, value in line.items()}) for line in made]

    def _member(self, key: str, value: Any) -> Any:
        """Return the value of one key of a line with the replacements made."""
        if key in _UNTOUCHED:
            return value
        if key in ("path", "query"):
            new, plain = self.text(value), self.text(unquote(value))
            return new if unquote(new) == plain else quote(plain, safe="/?&=+:%*")
        if key == "frame" or (key.endswith("Base64") and isinstance(value, str)):
            return base64.b64encode(self._raw(base64.b64decode(value))).decode()
        if key == "contentBlockDelta" and is_object(value):
            return {name: self.value(item, name, texts=name != "delta") for name, item in value.items()}
        return self.value(value, key)

    def value(self, value: Any, name: str = "", *, texts: bool = True) -> Any:
        """Make the replacements in the keys and numbers of a JSON value, and in its texts if `texts` is true.

        `name` is the key of the value.
        """
        if isinstance(value, str):
            label = f"{name}: " if self.named and name else ""
            before, new = self.pieces([label, value]) if texts else (label, value)
            return new if before == label or new else MASK
        if is_object(value):
            names = value_names(value)
            return {self.text(key): self.value(item, names[key], texts=texts) for key, item in value.items()}
        if is_array(value):
            name = value[0] if is_pair(value) else name
            value = self._as_lines(value) if self.named and texts else value
            return [self.value(item, name, texts=texts) for item in value]
        return self.accounts.number(value) if self.accounts and type(value) is int else value

    def _as_lines(self, items: list[Any]) -> list[Any]:
        """Return the items of a list after the replacements that extend over several items, as over lines of a text."""
        made = [*items]
        for texts in columns(items):
            lines = [each for *_, text in texts for each in ("\n", text)]
            new = self.pieces(lines, depth=0)
            for (index, name, _), text in zip(texts, new[1::2], strict=True) if new != lines else ():
                made[index] = made[index] | {name: text} if is_object(made[index]) else text
        return made

    def text(self, text: str, depth: int = _NESTED) -> str:
        """Make the replacements in a text, also in encoded parts of the text, up to `depth` encodings deep."""
        return self.pieces([text], depth)[0]

    def pieces(self, pieces: Sequence[str], depth: int = _NESTED) -> list[str]:
        """Make the replacements in the pieces of one text. A match may extend over several pieces."""
        new = list(pieces)
        for find in self.finds:
            changes = deep(find, "".join(new)) if self.named else find("".join(new))
            if changes:
                new = list(spread(new, changes))
        return [_BASE64.sub(lambda found: self._run(found[0], depth - 1), each) for each in new] if depth else new

    def _run(self, run: str, depth: int) -> str:
        """If `run` is the base64 of a text, of gzip data or of an image, make the replacements in what it encodes."""
        padded = run + "=" * (-len(run) % 4)
        try:
            data = base64.b64decode(padded.translate(STANDARD), validate=True)
        except ValueError:
            return run
        try:
            new = self._packed(data, depth, "strict")
        except ValueError:  # not UTF-8
            new = data if self.named else self._binary(data)
        if new == data:
            return run
        encoded = base64.b64encode(new, b"-_" if "-" in run or "_" in run else b"+/").decode()
        return encoded if padded == run else encoded.rstrip("=")

    def _binary(self, data: bytes) -> bytes:
        """Make those replacements in binary data that touch a secret. Other matches in binary data are accidental."""
        text = data.decode("latin-1")
        for find in self.finds:
            changes = find(text)
            secrets = [found for _, found in matches(text)] if changes else []
            touching = [each for each in changes if any(at.start < each[1] and each[0] < at.end for at in secrets)]
            text = "".join(spread([text], touching))
        return text.encode("latin-1", errors="backslashreplace")

    def _packed(self, data: bytes, depth: int = _NESTED, errors: str = "surrogateescape") -> bytes:
        """Make the replacements in the bytes of a text, or in the text in gzip data.

        `errors` is the error handler for bytes that are not UTF-8: `strict` raises UnicodeDecodeError.
        """
        is_gzip = data.startswith(GZIP)
        inner = b"".join(each for _, each in unpacked(data)) if is_gzip else data
        new = self.text(inner.decode(errors=errors), depth).encode(errors=errors)
        return data if new == inner else gzip.compress(new, mtime=0) if is_gzip else new

    def _raw(self, data: bytes) -> bytes:
        """Make the replacements in any bytes. If the bytes are a whole frame, its checksums are computed again."""
        try:
            frame = decode(data)
        except DamagedData:
            return self._packed(data)
        headers = tuple(replace(header, value=self.value(header.value)) for header in frame.headers)
        new = replace(frame, headers=headers, payload=self._packed(frame.payload))
        return data if new == frame else encode(new)

    def _raw_pieces(self, pieces: Sequence[str]) -> list[str]:
        """Make the replacements in bytes that are not a whole frame. Each given and each returned piece is base64."""
        texts = self.pieces([base64.b64decode(piece).decode("latin-1") for piece in pieces])
        return [base64.b64encode(each.encode("latin-1", errors="backslashreplace")).decode() for each in texts]


def _masking(kinds: Collection[str], own: Collection[str], accounts: Accounts | None = None) -> _Work:
    """Return an object that masks secrets and replaces account ids. `kinds` are names of kinds of secrets.

    `own` contains the secrets of this process. Without `accounts`, all account ids are masked.
    """
    finds: list[FindChanges] = [lambda text: masked(own_spans(text, own))] if OWN_SECRET in kinds else []
    finds += [partial(masking, kind) for kind in _MASKED if kind.name in kinds]
    return _Work((*finds, masking_accounts if accounts is None else accounts.changes), accounts, named=True)
