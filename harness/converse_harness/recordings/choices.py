"""What a person may choose when recording, as tables that cost nothing to import: pytest shows them when it starts."""

from __future__ import annotations

from typing import Final

FAILED_SUFFIX: Final = ".failed.jsonl"
"""The suffix of what a test recorded that failed, beside the recording that it would have replaced."""

MODES: Final = {
    "none": "play what was recorded, never ask the network",
    "once": "record what has no file yet, play what has one",
    "new_episodes": "play what matches, record the rest and keep what was there",
    "all": "record everything anew",
}
"""Whether a session is played or recorded: the modes that users of vcrpy know. The first is the default of pytest."""

FAILED: Final = {
    "aside": f"put it beside the recording, as NAME{FAILED_SUFFIX}",
    "write": "write it as if the test had passed",
    "drop": "forget it",
}
"""What becomes of what a test recorded that did not pass. The first is the default."""
