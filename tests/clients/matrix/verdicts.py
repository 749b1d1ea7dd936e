"""The words of the matrix: what its pages call verdicts, operations and clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from converse_harness.contract.judging import Flaw, VerdictLevel
from tests.clients.matrix.base import Client

TITLES: Final = {"ConverseStream": "Streams", "Converse": "Whole answers"}

WORDS: Final = (
    VerdictLevel.HANDLED.word,
    VerdictLevel.REFUSED.word,
    *(f"{VerdictLevel.MISHANDLED.word}: {flaw.word}" for flaw in Flaw),
)
"""Every verdict that a client can have."""


def head(client: Client) -> str:
    """The client's title and its versions."""
    versions = client.read().get("versions", {})
    return f"{client.title} {', '.join(versions.values())}".strip()


def ways(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Every way in which the client was seen to end; one, unless the case varies."""
    every: list[Mapping[str, Any]] = row.get("ways", [row])
    return every


def verdicts(row: Mapping[str, Any]) -> list[str]:
    """The verdict of every way."""
    return [way["verdict"] for way in ways(row)]
