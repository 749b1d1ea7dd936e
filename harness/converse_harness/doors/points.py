"""Every attribute of another library that is replaced while a fake is open: one table."""

from __future__ import annotations

from converse_harness.doors.patching import Patches, Point

POINTS: tuple[Point, ...] = ()


def _switch(on: bool) -> None:
    """Told before the points go in and after they are out."""


PATCHES = Patches(POINTS, _switch)
