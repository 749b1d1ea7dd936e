"""The digest of a file in a request: a recording keeps it in place of the file's bytes."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final

from converse_harness.json_values import Unsearched, is_object

KEY: Final = "$file"
"""The only key of an object that stands for a file in the lines of a recording."""

_HEX: Final = re.compile(r"[0-9a-f]{64}")

_PARTS: Final = re.compile(r"\A(?:(.*) )?([\d,]+) bytes sha256:([0-9a-f]{64})\Z", re.DOTALL)

_LONG: Final = re.compile(r"(?<=\d bytes sha256:)([0-9a-f]{16})[0-9a-f]{48}")


class FileDigest(Unsearched):
    """The length and the SHA-256 of a file, as a text: `12,345 bytes sha256:9f86...`, with all 64 digits.

    In a request, it stands in place of the base64 of the file. If the file is in a data URL, the text begins with the
    part of this URL before the base64.
    """

    __slots__ = ()

    @classmethod
    def of(cls, data: bytes, before: str = "") -> FileDigest:
        """Return the digest of these bytes.

        >>> FileDigest.of(b"test")[:30]
        '4 bytes sha256:9f86d081884c7d6'
        """
        return cls._made(before, len(data), sha256(data).hexdigest())

    @classmethod
    def read(cls, value: object) -> FileDigest | None:
        """Return the digest that a JSON value of a recording's line stands for; None for any other value."""
        inner = value[KEY] if is_object(value) and value.keys() == {KEY} else None
        if not is_object(inner) or inner.keys() - {"before"} != {"bytes", "sha256"}:
            return None
        count, digest, before = inner["bytes"], inner["sha256"], inner.get("before", "")
        if type(count) is not int or count < 0 or not isinstance(digest, str) or not isinstance(before, str):
            return None
        return cls._made(before, count, digest) if _HEX.fullmatch(digest) else None

    @classmethod
    def _made(cls, before: str, count: int, digest: str) -> FileDigest:
        return cls(f"{before}{' ' if before else ''}{count:,} bytes sha256:{digest}")

    @property
    def written(self) -> dict[str, Any]:
        """The JSON that stands for the file in the lines of a recording."""
        ((before, count, digest),) = _PARTS.findall(self)
        url = {"before": before} if before else {}
        return {KEY: {**url, "bytes": int(count.replace(",", "")), "sha256": digest}}


def with_short_digests(text: str) -> str:
    """Return a text for people, with the first 16 digits of each digest of a file in it.

    >>> with_short_digests(f"an image of {FileDigest.of(b'test')}")
    'an image of 4 bytes sha256:9f86d081884c7d65...'
    """
    return _LONG.sub(r"\1...", text) if "bytes sha256:" in text else text
