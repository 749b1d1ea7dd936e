"""Find and mask secrets in texts and headers."""

from __future__ import annotations

import base64
import re
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from converse_harness.secrets.kinds import DOCUMENTED, KINDS, SecretKind
from converse_harness.secrets.process import LONG_ENOUGH, own_secrets
from converse_harness.secrets.readable import Reading, readings, readings_of_binary

MASK: Final = "***"

Headers = tuple[tuple[str, str], ...]

_SECRET_HEADER: Final = re.compile(
    r"(?:.*-)?(?:auth|authorization|cookie|password|secret|token|(?:access|api|subscription|virtual)-key)",
    re.IGNORECASE,
)
"""Matches the names of headers that contain a secret, including those of gateways in front of Bedrock."""

STAND_IN: Final = "111122"
"""The first digits of the invented account ids that replace real account ids in recordings."""


@cache
def compiled(kind: SecretKind) -> re.Pattern[str]:
    """Return the kind's compiled pattern, compiled at first use, because compiling all patterns takes milliseconds."""
    return re.compile(kind.pattern, re.ASCII)


class FoundSecret(NamedTuple):
    """A secret in a text. `start` and `end` are positions in the text; `value` is the secret as a person reads it.

    `before` is the part of the match before the secret, for example its name, as a person reads it.
    """

    start: int
    end: int
    value: str
    before: str


def secret_spans(kind: SecretKind, text: str) -> list[tuple[int, int]]:
    """Return the start and end of each secret of this kind in a text. Spans may overlap."""
    return [(found.start, found.end) for _, found in matches(text, (kind,))]


def matches(
    text: str, kinds: Iterable[SecretKind] = KINDS, *, binary: bool = False
) -> Iterator[tuple[SecretKind, FoundSecret]]:
    r"""Yield every secret in a text, as a person reads the text, each with its kind. Some may be yielded twice.

    `binary` is true for binary data. The values of AWS's documentation (DOCUMENTED) are no secrets.

    >>> [(kind.name, found.value) for kind, found in matches("my key is AKIAQ7EXAMPLE\x1b[1mKEYABCD")]
    [('an AWS access key id', 'AKIAQ7EXAMPLEKEYABCD')]
    """
    kinds = hinted = tuple(kinds)
    spans, weak = list[tuple[int, int]](), list[tuple[SecretKind, FoundSecret]]()
    for reading in (readings_of_binary if binary else readings)(text):
        # Every character must keep its position. Only U+0130 has a lower case of two characters, so it is replaced.
        lowered = reading.text.replace("\u0130", "i").lower()
        if not reading.has_same_words:
            hinted = tuple(kind for kind in kinds if _has_hint(kind, lowered))
        for kind in hinted:
            for secret in _secrets(kind, reading, lowered):
                if kind.weak:
                    weak.append((kind, secret))
                else:
                    spans.append((secret.start, secret.end))
                    yield kind, secret
    for kind, secret in weak:
        if not any(start < secret.end and secret.start < end for start, end in spans):
            yield kind, secret


def _has_hint(kind: SecretKind, lowered: str) -> bool:
    for hint in kind.hints:  # noqa: SIM110 - any() takes twice as long, and nearly all texts have no hint
        if hint in lowered:
            return True
    return False


def _secrets(kind: SecretKind, reading: Reading, lowered: str) -> Iterator[FoundSecret]:
    for found in (_at_hints if kind.at_hint else _anywhere)(kind, reading.text, lowered):
        kept = found.re.groupindex.get("kept")
        start = found.start() if kept is None or found.start(kept) < 0 else found.end(kept)
        value = reading.text[start : found.end()]
        if value not in DOCUMENTED and kind.accepts(value):
            yield FoundSecret(*reading.span(start, found.end()), value, reading.text[found.start() : start])


def _anywhere(kind: SecretKind, text: str, lowered: str) -> Iterator[re.Match[str]]:
    for start, end in [(0, len(text))] if len(text) < _LARGE else _near_hints(kind, lowered):
        yield from compiled(kind).finditer(text, start, end)


def _at_hints(kind: SecretKind, text: str, lowered: str) -> Iterator[re.Match[str]]:
    # Names such as `key` are frequent, and `re` is slow to find a name in capital or small letters.
    pattern = compiled(kind)
    for hint in kind.hints:
        at = lowered.find(hint)
        while at >= 0:
            if (found := pattern.match(text, at)) is not None:
                yield found
            at = lowered.find(hint, at + 1)


_LARGE: Final = 256 * 1024
_BEFORE_HINT: Final = 12 * 1024  # the end of a private key has its hint in its last line
_AFTER_HINT: Final = 16 * 1024


def _near_hints(kind: SecretKind, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part of a large text that is near a hint of this kind.

    Only these parts are searched, because a search through megabytes of base64 is slow.
    """
    start = end = 0
    for place in sorted(found.start() for hint in kind.hints for found in re.finditer(re.escape(hint), lowered)):
        if not end or place - _BEFORE_HINT > end:
            if end:
                yield start, end
            start = max(place - _BEFORE_HINT, 0)
        end = place + _AFTER_HINT
    yield start, end


def own_spans(text: str, own: Collection[str], *, binary: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret from `own` in a text.

    A short secret counts only as a whole word. Of a secret that is shortened by "...", at least sixteen characters must
    be there.
    """
    for reading in _own_readings(text, binary=binary) if own else ():
        for value in own:
            for each in {value, value.encode(errors="surrogateescape").decode("latin-1")}:
                at = reading.text.find(each)
                while at >= 0:
                    end = at + len(each)
                    around = reading.text[max(at - 1, 0) : at], reading.text[end : end + 1]
                    if len(value) >= LONG_ENOUGH or not any(map(str.isalnum, around)):
                        yield reading.span(at, end)
                    at = reading.text.find(each, at + 1)
    if not binary:
        yield from cut_spans(text, own, LONG_ENOUGH)


def _own_readings(text: str, *, binary: bool = False) -> Iterator[Reading]:
    """Yield the readings of a text, and the text as it is, because a secret may itself contain what nobody reads."""
    found = (readings_of_binary if binary else readings)(text)
    yield from found
    if len(found) > 1:
        yield Reading(text)


_SHOWN: Final = 8
"""A shortened copy of a secret is recognised by this number of characters at the secret's beginning or end."""


def cut_spans(text: str, own: Collection[str], shown: int = _SHOWN) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each shortened secret in a text: the beginning or end of a secret, beside "...".

    `reprlib` and pytest shorten long texts in this way. At least `shown` characters of the secret must be there.
    """
    for reading in _own_readings(text) if own and any(each in text for each in _DOTS) else ():
        for value in own:
            if len(value) > shown:
                yield from (reading.span(*span) for span in _cut_spans(reading.text, value, shown))


_DOTS: Final = ("...", "\u2026")


def _cut_spans(text: str, value: str, shown: int) -> Iterator[tuple[int, int]]:
    for found in re.finditer(re.escape(value[:_SHOWN]), text):
        start = found.start()
        end = start + common_length(value, text[start : start + len(value)])
        end = start + len(text[start:end].rstrip("."))  # the secret may itself go on with a dot
        dots = next((each for each in _DOTS if text.startswith(each, end)), "")
        rest = text[end + len(dots) :]
        tail = next((size for size in range(len(value) - (end - start), 0, -1) if rest.startswith(value[-size:])), 0)
        if dots and end - start + tail >= shown:
            yield start, end + (len(dots) + tail if tail else 0)
    for found in re.finditer(re.escape(value[-shown:]), text):
        end = found.end()
        start = end - common_length(value[::-1], text[max(end - len(value), 0) : end][::-1])
        if text.endswith(_DOTS, 0, start):
            yield start, end


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the common beginning of two texts or lists of texts."""
    # Two long texts may differ only at their ends, so beginnings are compared and not single characters.
    shorter = range(min(len(one), len(other)))
    return bisect_left(shorter, 1, key=lambda at: one[: at + 1] != other[: at + 1])


def mask(text: str, own: Collection[str] | None = None) -> str:
    """Return the text with its secrets masked; `own` are the secrets of this process, by default `own_secrets()`.

    >>> mask("arn:aws:bedrock:us-east-1:210987654321:inference-profile/x")
    'arn:aws:bedrock:us-east-1:***:inference-profile/x'
    >>> mask("/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A210987654321%3Aprompt%2Fx/other")
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A***%3Aprompt%2Fx/other'
    """
    text = _without(text, own_spans(text, own_secrets() if own is None else own))
    return _without(text, ((found.start, found.end) for _, found in matches(text)))


_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}(?:(?:\r?\n|\\n)[A-Za-z0-9+/_-]+)*={0,2}")
_BREAK: Final = re.compile(r"\r?\n|\\n")
_STANDARD: Final = str.maketrans("-_", "+/")
_NESTED: Final = 3
_MOST: Final = 256 * 1024
"""The maximum number of bytes that are read from gzip data after decompression."""


def mask_encoded(text: str, own: Collection[str] | None = None) -> str:
    """Return the text with its secrets masked. Base64 text that encodes a secret, or gzip data with one, is masked too.

    `own` are the secrets of this process, by default `own_secrets()`.

    >>> mask_encoded("the key: QUtJQVE3RVhBTVBMRUtFWUFCQ0QgaXMgbXkga2V5")
    'the key: ***'
    """
    own = own_secrets() if own is None else own
    spans = (
        reading.span(*found.span())
        for reading in readings(text)
        for found in _ENCODED.finditer(reading.text)
        if _holds_secret(found[0], own)
    )
    return mask(_without(text, spans), own)


def _holds_secret(run: str, own: Collection[str], depth: int = _NESTED) -> bool:
    run = _BREAK.sub("", run).rstrip("=").translate(_STANDARD)
    run = run[:-1] if len(run) % 4 == 1 else run  # the last group is cut: one character encodes no byte
    data = base64.b64decode(run + "=" * (-len(run) % 4))
    if data.startswith(b"\x1f\x8b"):
        try:
            data = zlib.decompressobj(31).decompress(data, _MOST)
        except zlib.error:
            return False
    text = data.decode("latin-1")
    if mask(text, own) != text:
        return True
    return depth > 1 and any(_holds_secret(found[0], own, depth - 1) for found in _ENCODED.finditer(text))


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    made, done = "", 0
    for start, end in sorted(spans):
        if start >= done:
            made += text[done:start] + MASK
        done = max(done, end)
    return made + text[done:]


def mask_headers(headers: Headers) -> Headers:
    """Return the headers with the values of secret headers masked."""
    return tuple([_shared((name, MASK if _is_secret_header(name) else value)) for name, value in headers])


@lru_cache(maxsize=256)
def _is_secret_header(name: str) -> bool:
    return _SECRET_HEADER.fullmatch(name) is not None


@lru_cache(maxsize=256)
def _shared(header: tuple[str, str]) -> tuple[str, str]:
    """Return the same object for equal headers. This saves memory, because every call keeps its headers."""
    return header


def header_secrets(headers: Headers) -> Iterator[str]:
    """Yield the tokens in the secret headers; an `Authorization` header with an AWS signature contains none.

    >>> list(header_secrets((("Cookie", "a=1; b=2"), ("authorization", "Bearer t"))))
    ['1', '2', 't']
    """
    for name, value in headers:
        if name.lower() == "cookie":
            yield from (each.partition("=")[2].strip() for each in value.split(";"))
        elif _is_secret_header(name) and not value.startswith("AWS4-"):
            yield value.split()[-1] if value.strip() else ""
