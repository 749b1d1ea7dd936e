"""What a test costs: 500 tests with one call each by a client that they share, and tests that make a strands agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.measure import Rounds, run_python
from benchmarks.pytests.run import CONVERSE, EMPTY, OURS, FileOfTests, environment_of, measured_tests, temporary_folder
from benchmarks.rows import Row

FIRST: Final = 20
TESTS: Final = 500
ROUNDS: Final = 4
STRANDS_FIRST: Final = 5
STRANDS_TESTS: Final = 40
STRANDS_ROUNDS: Final = 3

KEPT: Final = "converse_boto_data = session"
NOT_KEPT: Final = "converse_boto_data = off"
UNKNOWN: Final = "Unknown config option: converse_boto_data"

STREAM: Final = """
    events = list(client.converse_stream(**asked(number))["stream"])
    assert "messageStart" in events[0]
"""
FLOOR: Final = """
from benchmarks.floor import Exchange
from converse_harness import reply

@pytest.fixture(scope="session")
def client():
    return Exchange("OPERATION", lambda: {}, lambda: reply.text(ANSWER)).floor()

@each
def test_it(number, client):"""
OURS_HEAD: Final = """
from converse_harness import reply

@each
def test_it(number, converse, client):
    converse.script(reply.text(ANSWER))"""

FILES: Final = {
    "empty": FileOfTests(EMPTY),
    "fixture": FileOfTests("\n@each\ndef test_it(number, converse):\n    pass\n", OURS),
    "floor": FileOfTests(FLOOR.replace("OPERATION", "converse") + CONVERSE),
    "floor stream": FileOfTests(FLOOR.replace("OPERATION", "converse_stream") + STREAM),
    "ours": FileOfTests(OURS_HEAD + CONVERSE, OURS),
    "ours stream": FileOfTests(OURS_HEAD + STREAM, OURS),
}

STRANDS: Final = FileOfTests(
    """
from converse_harness import reply
from strands import Agent
from strands.models import BedrockModel

@each
def test_it(number, converse):
    converse.script(reply.text(ANSWER))
    agent = Agent(model=BedrockModel(model_id=MODEL), callback_handler=None)
    assert ANSWER in str(agent(f"Story {number}, please."))
""",
    OURS,
)


def rows() -> Iterator[Row]:
    """Ours over the floor, then tests that make a model and an agent over an empty one."""
    with temporary_folder() as folder:
        measured = measured_tests(folder, ROUNDS, FIRST, TESTS, FILES)
        own = 1000 * measured.of("floor")
        yield Row("test", _ms(measured, "ours", "floor"), f"beyond {own:.2f} ms of pytest and client")
        yield Row("test stream", _ms(measured, "ours stream", "floor stream"))
        yield Row("test fixture", _ms(measured, "fixture", "empty"))
        yield from _strands(folder)


def _ms(measured: Rounds, name: str, floor: str) -> float:
    """Of one test, beyond the floor."""
    return 1000 * measured.over(name, floor)


def _strands(folder: Path) -> Iterator[Row]:
    files = {"empty": FILES["empty"], "plain": STRANDS}
    kept = replace(STRANDS, ini=f"{KEPT}\n")
    if known := _is_known(folder / "setting", kept):
        files |= {"kept": kept, "plain": replace(STRANDS, ini=f"{NOT_KEPT}\n")}
    measured = measured_tests(folder, STRANDS_ROUNDS, STRANDS_FIRST, STRANDS_TESTS, files)
    if known:
        yield Row("strands", _ms(measured, "kept", "empty"), f"`{KEPT}`")
    else:
        yield Row("strands", None, f"this version has no setting `{KEPT}`")
    yield Row("strands plain", _ms(measured, "plain", "empty"), "`BedrockModel` and `Agent` are made in the test")


def _is_known(folder: Path, file: FileOfTests) -> bool:
    """Whether pytest takes the setting of the file; any other failure raises RuntimeError."""
    folder.mkdir()
    (folder / "test_nothing.py").touch()
    (folder / "pytest.ini").write_text(f"[pytest]\n{file.ini}", encoding="utf-8")
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-config", "--collect-only", *file.options]
    try:
        run_python(options, folder, environment_of(file), allowed=(5,))
    except RuntimeError as error:
        if UNKNOWN in str(error):
            return False
        raise
    return True
