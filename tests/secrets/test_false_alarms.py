"""What is no secret is not taken for one: what agents send and get all the time, and a hundred megabytes of sources."""

from __future__ import annotations

import base64
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


MEGABYTES: Final = 100
DECODED: Final = 20
"""Megabytes in which also what is encoded is looked at, which takes longer."""

ENDINGS: Final = frozenset({".py", ".pyi", ".md", ".rst", ".txt", ".json", ".yaml", ".toml", ".js", ".html"})

EXAMPLES: Final = (
    "EXAMPLE",
    "AKGPT4J56IAJ2EUBL5CQ",
    "n%2BEalOV6A2HIOx4Rcfb7LT16bBM%3D",
    "Credential=mock_access_key/",
    "base64_encoded_creds",
    "sk-Fn8Ej39NxjAXrvpUGKghGw",
    "sk-QWrxEynunsNpV1zT48HIrw",
    "sk-test-example-key-123",
    "tiger^5HHH",
    "ya29.google-oauth...",
)
"""What a secret of a manual or a docstring has in it: it looks like one. AWS writes the first into all of its own."""


@pytest.mark.nightly
def test_installed_packages_hold_no_secrets() -> None:
    """Account ids apart: those of examples are account ids, and each has its stand-in in a recording."""
    files = sorted(path for path in Path(sysconfig.get_path("purelib")).rglob("*") if path.suffix in ENDINGS)
    Chance(1).shuffle(files)
    seen, found = 0, list[tuple[str, str, str]]()
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        for kind, secret in _found(text, decoded=seen < DECODED * 10**6 and len(text) < 10**6):
            if not any(example in secret for example in EXAMPLES):
                found.append((str(path), kind, secret))
        seen += len(text)
        if seen > MEGABYTES * 10**6:
            break
    print(f"{seen / 10**6:.0f} MB of sources were read, {DECODED} of them decoded")
    if seen < MEGABYTES * 10**6 / 2:
        pytest.skip(f"only {seen / 10**6:.0f} MB of sources are installed here")
    assert not found, "\n".join(map(str, found))


def _found(text: str, *, decoded: bool) -> Iterator[tuple[str, str]]:
    groups = [each.searched for each in levels([View(text, 1, ())])] if decoded else [text]
    for group in groups:
        for kind, found in matches(group, (kind for kind in KINDS if kind not in ACCOUNTS)):
            yield kind.name, found.value
