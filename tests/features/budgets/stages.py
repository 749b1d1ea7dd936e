"""Marks for tests that need a built-in stage: `python -m tests.without -s STAGE` takes one away."""

from __future__ import annotations

from typing import Final

import pytest

from converse_harness.endpoint.stages import STAGES

_NAMES: Final = {stage.__name__ for stage in STAGES}

NEEDS_HISTORY: Final = pytest.mark.skipif("History" not in _NAMES, reason="no stage recognises conversations")
NEEDS_CACHE: Final = pytest.mark.skipif(
    not {"History", "PromptCaching"} <= _NAMES, reason="no stage follows the prompt cache of a conversation"
)
