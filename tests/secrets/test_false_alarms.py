"""What is no secret is not taken for one: what agents send and get all the time, and a hundred megabytes of sources."""

from __future__ import annotations

import base64
import gzip
import hashlib
import random
import string
import sysconfig
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness.recordings.leaks import scan
from converse_harness.secrets.kinds import ACCOUNTS, KINDS
from converse_harness.secrets.mask import matches
from converse_harness.secrets.views import View, levels

LETTERS: Final = string.ascii_letters + string.digits
PNG: Final = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
JPEG: Final = b"\xff\xd8\xff\xe0\x00\x10JFIF"

Chance = random.Random


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _digest(name: str) -> Callable[[Chance], bytes]:
    return lambda chance: hashlib.new(name, chance.randbytes(8)).digest()


def _id(prefix: str, length: int, letters: str = LETTERS) -> Callable[[Chance], str]:
    return lambda chance: prefix + "".join(chance.choices(letters, k=length))


DRAWN: Final[Mapping[str, tuple[int, Callable[[Chance], str]]]] = {
    "UUID": (2000, lambda chance: str(uuid.UUID(int=chance.getrandbits(128), version=4))),
    "UUID in capitals": (500, lambda chance: str(uuid.UUID(int=chance.getrandbits(128))).upper()),
    "MD5": (500, lambda chance: _digest("md5")(chance).hex()),
    "SHA-1": (1000, lambda chance: _digest("sha1")(chance).hex()),
    "SHA-256": (1000, lambda chance: _digest("sha256")(chance).hex()),
    "SHA-512": (300, lambda chance: _digest("sha512")(chance).hex()),
    "MD5 in base64": (500, lambda chance: _base64(_digest("md5")(chance))),
    "SHA-256 in base64": (500, lambda chance: _base64(_digest("sha256")(chance))),
    "integrity of a package": (300, lambda chance: f"sha512-{_base64(_digest('sha512')(chance))}"),
    "tool use of Bedrock": (1500, _id("tooluse_", 22, f"{LETTERS}-_")),
    "tool use of Anthropic": (1000, _id("toolu_01", 22)),
    "tool use of Anthropic on Bedrock": (500, _id("toolu_bdrk_01", 22)),
    "call of OpenAI": (300, _id("call_", 24)),
    "signature of reasoning": (60, lambda chance: _base64(chance.randbytes(chance.randint(200, 1200)))),
    "image": (20, lambda chance: _base64(PNG + chance.randbytes(chance.randint(200, 9000)))),
    "large image": (1, lambda chance: _base64(JPEG + chance.randbytes(200_000))),
    "vector": (20, lambda chance: str([chance.uniform(-1, 1) for _ in range(20)])),
}
"""How many of each, and how one is made."""

NAMES: Final = (
    "id",
    "toolUseId",
    "requestId",
    "signature",
    "bytes",
    "etag",
    "commit",
    "checksum",
    "key",
    "data",
    "text",
)


@pytest.mark.parametrize("share", [0.1, pytest.param(1, marks=pytest.mark.slow)])
def test_ten_thousand_ids_and_digests_are_no_secrets(share: float) -> None:
    chance = Chance(20261)
    drawn = [(name, make(chance)) for name, (count, make) in DRAWN.items() for _ in range(round(count * share) or 1)]
    assert len(drawn) > 10_000 * share
    lines: list[dict[str, Any]] = [{"request": {chance.choice(NAMES): text}} for _, text in drawn]
    together = range(0, len(drawn), 50)
    lines += [{"request": {"text": " ".join(text for _, text in drawn[at : at + 50])}} for at in together]
    found = scan(lines, own=())
    assert [(leak, drawn[leak.line - 1] if leak.line <= len(drawn) else "") for leak in found] == []


PACKAGES: Final = Path(sysconfig.get_path("purelib"))
STANDARD: Final = Path(sysconfig.get_path("stdlib"))
ENDINGS: Final = frozenset({".py", ".pyi", ".md", ".rst", ".txt", ".json", ".yaml", ".toml", ".js", ".html"})

ORDINARY: Final[Mapping[str, Callable[[], Iterator[Path]]]] = {
    "licences and metadata": lambda: PACKAGES.glob("*.dist-info/**/*[AN]*"),  # LICENSE, COPYING, NOTICE, METADATA
    "Python itself": lambda: (path for path in STANDARD.rglob("*.py") if "site-packages" not in path.parts),
    "models of services": lambda: PACKAGES.glob("botocore/data/*/*/service-*.json.gz"),
    "examples of services": lambda: PACKAGES.glob("botocore/data/*/*/examples-*.json"),
    "sources": lambda: (path for path in PACKAGES.rglob("*") if path.suffix in ENDINGS),
}
"""Where ordinary text is on every machine. They are read whole by night, if that is not too long."""

A_LITTLE: Final = 0.1
DAILY: Final = 1
NIGHTLY: Final = 40
"""Megabytes of each of the five sources that are read: by a person, for each change, and by night.

A megabyte takes 0.6 s of CPU on a quiet machine, of which the patterns need 0.15 s.
"""

EXAMPLES: Final = (
    "aBBKDWQvyuVcTPH9EBp",
    "4twFt5NiznN84AWoo1d7KO1T_yoc0Z6XOpOVswacPZg",
    "RIDING_ROCKET_0023",
    "ROCKET_LAUNCHER_0001",
    "EXAMPLE",
    "AQpAM2RhZTk1MGMyNTk2ZmZmMzEy",
    "AKGPT4J56IAJ2EUBL5CQ",
    "n%2BEalOV6A2HIOx4Rcfb7LT16bBM%3D",
    "n+EalOV6A2HIOx4Rcfb7LT16bBM=",
    "Credential=mock_access_key/",
    "base64_encoded_creds",
    "sk-Fn8Ej39NxjAXrvpUGKghGw",
    "sk-QWrxEynunsNpV1zT48HIrw",
    "sk-test-example-key-123",
    "rest-of-my-password",
    "]35d/{pB9Fo9wJ",
    "h]6EszR}vJ*m",
    "SomeKindOfPassword123!@#",
    "tiger^5HHH",
    "ya29.google-oauth...",
    "bm90IG15IHJlYWwgcGFzc3dvcmQ=",
    "a%20secret",
    "p%2Fss",
    "user+1:a+b",
    "\\xa1\\xa2",
    "MyTestDatabaseSecret",
)
"""What a secret of a manual or a docstring has in it: it looks like one. AWS writes the first into all of its own."""


@pytest.mark.parametrize(
    "share",
    [A_LITTLE, pytest.param(DAILY, marks=pytest.mark.slow), pytest.param(NIGHTLY, marks=pytest.mark.nightly)],
)
@pytest.mark.parametrize("source", ORDINARY)
def test_ordinary_text_holds_no_secrets(source: str, share: float) -> None:
    """Account ids apart: those of examples are account ids, and each has its stand-in in a recording."""
    files = sorted(path for path in ORDINARY[source]() if path.is_file())
    Chance(1).shuffle(files)
    seen, found = 0, list[tuple[str, str, str]]()
    for path in files:
        text = _text(path)
        for start in range(0, len(text), PIECE):
            for kind, secret in _found(text[start : start + PIECE]):
                if not any(example in secret for example in EXAMPLES):
                    found.append((str(path), kind, secret))
        seen += len(text)
        if seen > share * 10**6:
            break
    print(f"{seen / 10**6:.1f} MB of {source} were read")
    assert seen > 0.9 * min(share, DAILY) * 10**6, "there is less text than this test needs"
    assert not found, "\n".join(map(str, found))


PIECE: Final = 250_000
"""Longer texts are searched in pieces of this many characters, as no text of a session is as long as a file."""


def _text(path: Path) -> str:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode(errors="replace")


def _found(text: str) -> Iterator[tuple[str, str]]:
    for group in levels([View(text, 1, ())]):
        for kind, found in matches(group.searched, (kind for kind in KINDS if kind not in ACCOUNTS)):
            yield kind.name, found.value
