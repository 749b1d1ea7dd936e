"""What users had to find in their bills: each bug shows in a test, and the mended consumer passes it."""

from __future__ import annotations

from typing import Final

import pytest

from tests.endpoint.prompt_cache.public_threads import agents, turns
from tests.public_threads.test_lessons import check_bug

LESSONS: Final = {**turns.LESSONS, **agents.LESSONS}


@pytest.mark.parametrize("cause", LESSONS)
def test_the_bug_fails_its_test(cause: str) -> None:
    check_bug(LESSONS[cause])


@pytest.mark.parametrize("cause", LESSONS)
def test_the_mended_consumer_passes_it(cause: str) -> None:
    LESSONS[cause].test(LESSONS[cause].consumer(mended=True))
