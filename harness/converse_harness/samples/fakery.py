"""Faker's words, the same in every process: each name has a seed of its own, so that none depends on another."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

_LOCK = Lock()


def fake(name: str, provider: str, **arguments: Any) -> str:
    """What a provider of Faker says for this name; always the same, in whatever order names are asked for.

    Faker is imported here, at first need. A new version of it may say something else, since its lists of words grow.

    >>> fake("guest", "name") == fake("guest", "name")
    True
    """
    return _said(name, provider, tuple(sorted(arguments.items())))


def digits(name: str, pattern: str) -> str:
    """A pattern with a digit for each `#`, the same for the same name.

    >>> len(digits("booking", "BK-######"))
    9
    """
    return fake(name, "numerify", text=pattern)


@cache
def _said(name: str, provider: str, arguments: tuple[tuple[str, Any], ...]) -> str:
    with _LOCK:  # seed and use belong together: another thread may ask at the same time
        faker = _faker()
        faker.seed_instance(f"converse-harness {name}")
        return str(getattr(faker, provider)(**dict(arguments)))


@cache
def _faker() -> Any:
    from faker import Faker

    return Faker("en_US")
