"""`converse-harness init`: what it writes, what it leaves alone, and what it prints."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from converse_harness.cli import main

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("converse.ts", "converse-api.d.ts")


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


SHIPPED = {name: files("converse_harness.features.vitest").joinpath(name).read_bytes() for name in NAMES}


def test_it_writes_two_files_and_says_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "vitest"]) == 0
    assert written(tmp_path) == SHIPPED
    out = capsys.readouterr().out
    assert out.startswith("Wrote converse.ts and converse-api.d.ts.\n")
    assert 'globalSetup: ["./converse.ts"]' in out
    page = ROOT / "docs" / "javascript.md"
    for told in (out, page.read_text(encoding="utf-8")):
        assert '"types": ["node"]' in told  # of TypeScript 7, which has another default


def test_a_folder_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tests" / "bedrock"
    assert main(["init", "vitest", str(folder)]) == 0
    assert written(folder) == SHIPPED
    assert f'globalSetup: ["{folder}/converse.ts"]' in capsys.readouterr().out


def test_what_is_there_stays_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / NAMES[1]).write_text("mine", encoding="utf-8")
    assert main(["init", "vitest", str(tmp_path)]) == 1
    assert written(tmp_path) == {NAMES[1]: b"mine"}
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors == (
        f"converse-harness init: {tmp_path / NAMES[1]} is there already, and nothing is written. Give another DIR, or "
        "write over it with --force.\n"
    )
    assert main(["init", "vitest", str(tmp_path), "--force"]) == 0
    assert written(tmp_path) == SHIPPED


def test_a_folder_that_is_a_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["init", "vitest", str(tmp_path / "file")]) == 1
    assert "cannot be written: " in capsys.readouterr().err


def test_a_kind_that_there_is_not_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["init", "jest"])
    assert ended.value.code == 2
    assert "vitest" in capsys.readouterr().err


def test_an_unknown_kind_is_named_as_the_help_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["init", "jest"])
    errors = capsys.readouterr().err
    assert "init [-h] [--force] KIND [DIR]" in errors
    assert "argument KIND: invalid choice: 'jest'" in errors
