"""The samples in `recordings/` are what the project's own recorder makes today, and every one is sound."""

import json
from pathlib import Path
from typing import Any

import pytest

from converse_harness import recording
from tests.recordings.sessions import FOLDER, SESSIONS, make


def without_times(path: Path) -> list[dict[str, Any]]:
    """The lines of a recording but for when it was made and how long each took."""
    _, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "t"} for line in lines]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make(folder)
    return folder


@pytest.mark.parametrize("name", SESSIONS)
def test_a_sample_is_what_the_recorder_makes(name: str, made: Path) -> None:
    assert without_times(FOLDER / f"{name}.jsonl") == without_times(made / f"{name}.jsonl")


def test_there_are_no_others() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(SESSIONS)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_sample_can_be_played_again(name: str) -> None:
    from converse_harness import fake_converse
    from converse_harness.intercept.clients import create_client

    with fake_converse(recording(FOLDER / f"{name}.jsonl", match="exact")) as fake:
        SESSIONS[name].ask(create_client())
    assert len(fake.calls) == len(recording(FOLDER / f"{name}.jsonl").exchanges)
