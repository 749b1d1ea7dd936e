"""The fuzzers' target that reads cassettes reads its seeds, and finds what is planted."""

from pathlib import Path

import pytest

from converse_harness.features.cassettes import convert
from tests.features.cassettes.fuzz import TARGET
from tests.fuzz.test_targets import a_defect, check_defect, check_seeds


def test_seeds_and_what_is_nearly_one_are_no_findings() -> None:
    check_seeds("cassettes")


def test_a_defect_is_found_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_defect(TARGET, tmp_path / "kept", lambda: monkeypatch.setattr(convert, "pieces_of", a_defect), capsys)
