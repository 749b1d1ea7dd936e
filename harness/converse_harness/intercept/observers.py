"""Stages that a pytest run attaches to all fakes of this process: they watch each call, or replace replies.

`--converse-as` and `--converse-report` watch the calls. `--converse-chaos` replaces replies in reruns of tests.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from converse_harness.endpoint import MakeStage

_watching: Final[list[MakeStage]] = []
_replacing: Final[list[tuple[MakeStage, ...]]] = [()]
_attached: tuple[MakeStage, ...] = ()


def attached() -> tuple[MakeStage, ...]:
    """Return what makes the stages that every fake of this process has now: the same tuple until this changes."""
    return _attached


@contextmanager
def watching(make: MakeStage) -> Generator[None]:
    """Attach a stage to every fake during a `with` block. Its methods must not raise an exception."""
    _watching.append(make)
    _renew()
    try:
        yield
    finally:
        _watching.remove(make)
        _renew()


@contextmanager
def replacing(*makes: MakeStage) -> Generator[None]:
    """Attach stages that replace replies during a `with` block. If blocks are nested, only the inner one counts."""
    _replacing.append(makes)
    _renew()
    try:
        yield
    finally:
        _replacing.remove(makes)
        _renew()


def _renew() -> None:
    global _attached
    _attached = (*_watching, *_replacing[-1])
