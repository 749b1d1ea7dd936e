"""What the tests of context overflows share: where one comes, and how it is worded."""

from __future__ import annotations

from typing import cast

import pytest

from converse_harness import Reply, reply
from converse_harness.bedrock.families import OVERFLOWS
from converse_harness.literals import OverflowWording

places = pytest.mark.parametrize("place", ["before", "first frame", "after a delta"])
wordings = pytest.mark.parametrize("name", OVERFLOWS)


def overflow(name: str, place: str) -> Reply:
    """The overflow before the stream, or as an exception frame in it."""
    before = reply.context_overflow(cast("OverflowWording", name))
    if place == "before":
        return before
    return reply.text("x").fails_after(int(place == "after a delta"), "validationException", OVERFLOWS[name].message)
