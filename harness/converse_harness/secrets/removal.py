"""Remove secrets from texts and other JSON values, also where they are encoded or split into pieces."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from converse_harness.json_values import columns, is_array, is_object, is_text
from converse_harness.secrets.accounts import Accounts
from converse_harness.secrets.encodings import GZIP, STANDARD, unpacked
from converse_harness.secrets.kinds import ACCOUNTS, KINDS
from converse_harness.secrets.leaks import OWN_SECRET, leaks_in
from converse_harness.secrets.mask import MASK, cut_spans, matches, own_spans
from converse_harness.secrets.spans import FindChanges, deep, masked, masking, masking_accounts, spread
from converse_harness.secrets.views import LINE_OF_JSON, is_pair, levels, value_names, views_of

_MASKED: Final = tuple(kind for kind in KINDS if kind not in ACCOUNTS)

_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{20,}={0,2}(?![A-Za-z0-9+/=_-])")
_NESTED: Final = 4
"""The maximum number of nested encodings in which replacements are made."""


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

    >>> without_secrets("AWS_ACCESS_KEY_ID is AKIAQ7EXAMPLEKEYABCD", own=()).text
    'AWS_ACCESS_KEY_ID is ***'
    """
    kinds = kinds_in(text, own)
    cut = masked(cut_spans(text, own))
    if cut:
        text, kinds = "".join(spread([text], cut)), list(dict.fromkeys([*kinds, OWN_SECRET]))
    if not kinds:
        return Cleaned(text)
    work = Replacements(*masking_of(kinds, own), named=True)
    values = {text[start:end] for find in work.finds for start, end, _ in deep(find, text)}
    made = work.text(text)
    if kinds_in(made, own):
        lines = made.split("\n")
        made = "\n".join(MASK if kinds_in(line, own) else line for line in lines)
    if kinds_in(made, own):  # the secret is split into pieces
        made = LINE_OF_JSON.sub(lambda line: line[0].removesuffix(line[1]) + MASK, made)
    return Cleaned(MASK if kinds_in(made, own) else made, tuple(kinds), frozenset(values))


def value_without_secrets(value: Any, own: Collection[str]) -> Any:
    """Mask the secrets in a text or another JSON value, also where they are encoded. Account ids are masked too.

    `own` contains the secrets of this process. If a secret cannot be masked alone, the whole value is masked.

    >>> value_without_secrets({"key": "QUtJQVE3RVhBTVBMRUtFWUFCQ0QgaXMgbXkga2V5"}, own=())
    {'key': 'KioqIGlzIG15IGtleQ=='}
    """
    kinds = kinds_in(value, own)
    if not kinds:
        return value
    made = Replacements(*masking_of(kinds, own), named=True).value(value)
    return MASK if kinds_in(made, own) else made


def kinds_in(value: Any, own: Collection[str]) -> list[str]:
    """Return the kinds of the secrets in a text or another JSON value, each kind once."""
    return list(dict.fromkeys(leak.kind for leak in leaks_in(levels(views_of(value, 0)), own)))


@dataclass(frozen=True, slots=True)
class Replacements:
    """Makes replacements in a text or another JSON value, also where a text is encoded in another."""

    finds: tuple[FindChanges, ...]
    accounts: Accounts | None = None
    """The accounts whose ids are replaced where they are JSON numbers. Ids in texts are replaced by a function in
    `finds`.
    """

    named: bool = False
    """Whether each text is searched together with its key, as `key: value`, and also with its escapes decoded."""

    def value(self, value: Any, name: str = "", *, texts: bool = True) -> Any:
        """Make the replacements in the keys and numbers of a JSON value, and in its texts if `texts` is true.

        `name` is the key of the value.
        """
        if is_text(value):
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
            kept = [text for *_, text in texts]
            for between in ("\n", ""):
                lines = [each for text in kept for each in (between, text)]
                kept = self.pieces(lines, depth=0)[1::2]
            for (index, name, before), text in zip(texts, kept, strict=True):
                if text != before:
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
            new = self.packed(data, depth, "strict")
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

    def packed(self, data: bytes, depth: int = _NESTED, errors: str = "surrogateescape") -> bytes:
        """Make the replacements in the bytes of a text, or in the text in gzip data.

        `errors` is the error handler for bytes that are not UTF-8: `strict` raises UnicodeDecodeError.
        """
        is_gzip = data.startswith(GZIP)
        inner = b"".join(each for _, each in unpacked(data)) if is_gzip else data
        new = self.text(inner.decode(errors=errors), depth).encode(errors=errors)
        return data if new == inner else gzip.compress(new, mtime=0) if is_gzip else new


def masking_of(
    kinds: Collection[str], own: Collection[str], accounts: Accounts | None = None
) -> tuple[tuple[FindChanges, ...], Accounts | None]:
    """Return the first two members of Replacements that mask secrets and replace account ids.

    `kinds` are names of kinds of secrets. `own` contains the secrets of this process. Without `accounts`, all account
    ids are masked.
    """
    finds: list[FindChanges] = [lambda text: masked(own_spans(text, own))] if OWN_SECRET in kinds else []
    finds += [partial(masking, kind) for kind in _MASKED if kind.name in kinds]
    return (*finds, masking_accounts if accounts is None else accounts.changes), accounts
