"""CPython 3.14 without sockets, threads and processes: what users do works, and what cannot work is told."""

import json
import sys
from pathlib import Path

import pytest

from converse_harness.cli import main
from converse_harness.contract import Outcome, SetUpFailed, Target
from converse_harness.contract.running import run
from converse_harness.intercept.in_process import InProcessFake

SUITE = Path(__file__).with_name("suite.py")


def test_this_is_another_python() -> None:
    assert (sys.platform, sys.version_info[:2]) == ("emscripten", (3, 14))


def test_a_suite_of_a_user(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_suite=SUITE.read_text(encoding="utf-8"))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    result.assert_outcomes(passed=6, failed=1, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "*UnexpectedCall: *",
            "*TransportError: the loopback server needs sockets and a thread *(emscripten)*Use the fixture `converse`*",
            "FAILED test_suite.py::test_one_call_too_many*",
            "ERROR test_suite.py::test_server*",
        ]
    )


@pytest.mark.parametrize("command", [["serve"], ["record", "any.jsonl"], ["doctor"]])
def test_a_command_says_what_is_missing(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"converse-harness {command[0]}: ")
    assert "this Python (emscripten)" in said


def test_the_demo_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    assert "It is 18 °C and sunny in Zürich." in capsys.readouterr().out


def test_a_contract_says_what_is_missing() -> None:
    with (
        InProcessFake() as fake,
        pytest.raises(SetUpFailed, match=r"this Python \(emscripten\) starts none"),
    ):
        run(lambda _: Outcome("hi"), Target(fake, "Converse"), time_limit=1, most_calls=1)


def test_the_lock_file_holds_digests_and_no_download_address() -> None:
    lock = SUITE.with_name("package-lock.json").read_text(encoding="utf-8")
    _, *packages = json.loads(lock)["packages"].values()
    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages)
