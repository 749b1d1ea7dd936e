"""What the tests of citations share: a citation of each location."""

from __future__ import annotations

from typing import Any

import pytest

from converse_harness import citing

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
TEXT = "Zürich: 18 °C, sunny."
WEB = citing("https://www.example.com/weather")

CITATIONS: dict[str, dict[str, Any]] = {
    "documentChar": citing({"name": "forecast", "source": {"text": TEXT}}, "18 °C"),
    "documentPage": citing({"name": "report", "format": "pdf", "source": {"bytes": b"%PDF"}}, "18 °C", pages=3),
    "documentChunk": citing({"name": "notes", "source": {"content": [{"text": "."}, {"text": TEXT}]}}, "18 °C"),
    "searchResultLocation": citing(
        {"source": "https://example.com", "title": "Weather", "content": [{"text": TEXT}]}, "18 °C", index=2
    ),
    "web": WEB,
}

streamed = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "not streaming"])
each_location = pytest.mark.parametrize("location", CITATIONS)
