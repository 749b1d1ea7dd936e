"""The packages are pinned by what is in them, not by where they were once downloaded."""

from __future__ import annotations

import json
from pathlib import Path

LOCK = Path(__file__).with_name("package-lock.json")


def test_the_lock_file_holds_digests_and_no_download_address() -> None:
    _, *packages = json.loads(LOCK.read_text(encoding="utf-8"))["packages"].values()
    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages)
