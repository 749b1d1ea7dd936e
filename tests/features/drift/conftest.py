"""Somebody with access to Bedrock, and a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.drift.provider import Again
from tests.recordings.developer import give_access


@pytest.fixture
def again(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Again:
    """The command that asks a recording again, in the environment of somebody who has access to Bedrock."""
    give_access(monkeypatch)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return Again(tmp_path, capsys)
