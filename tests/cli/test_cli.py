"""The command, as a person and as a script run it."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from converse_harness.cases import CASES
from converse_harness.cli import main
from tests.untraced import untraced

COMMAND = Path(sys.executable).parent / "converse-harness"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_the_demo_shows_a_tool_loop_event_by_event_without_colour_in_a_pipe() -> None:
    done = run("demo")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\033[" not in done.stdout
    said = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert said[:3] == [
        "you    What is it like in Zürich?",
        "agent  calls get_weather({'city': 'Zürich'})",
        "model  It is 18 °C and sunny in Zürich.",
    ]
    assert done.stdout.count('"messageStart"') == done.stdout.count('"metadata"') == 2
    assert "def test_looks_up_the_weather(converse):" in done.stdout


@pytest.mark.slow
def test_the_demo_is_stopped_by_ctrl_c() -> None:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": untraced()}
    with subprocess.Popen([COMMAND, "demo"], text=True, **pipes) as demo:
        assert demo.stdout is not None
        demo.stdout.readline()  # it runs
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=60)
    assert (demo.returncode, errors) == (130, "")


def test_ctrl_c_while_a_command_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("converse_harness.cli.import_module", interrupted)
    assert main(["cases"]) == 130


def test_without_a_standard_output() -> None:
    done = subprocess.run(["sh", "-c", 'exec "$0" cases >&-', COMMAND], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_leaves_is_no_error_of_the_demo() -> None:
    with subprocess.Popen([COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        demo.stdout.readline()
        demo.stdout.close()
        errors = demo.stderr.read()
        demo.wait(timeout=60)
    assert (demo.returncode, errors) == (1, "")


@pytest.mark.parametrize("arguments", [(), ("demos",), ("demo", "--fast")])
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: converse-harness")


def test_wrong_usage_of_the_command() -> None:
    done = run("demos")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: converse-harness")
    assert "Traceback" not in done.stderr


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("converse-harness 0.")


def test_cases_are_listed_one_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "\033[" not in told.out
    lines = told.out.splitlines()
    assert [line.partition(" ")[0] for line in lines] == list(CASES)
    width = max(map(len, CASES)) + 2
    assert [line[width:] for line in lines] == [case.sentence for case in CASES.values()]


@pytest.mark.parametrize("glob", ["overflow", "overflow_*", "*overflow*"])
def test_cases_can_be_picked(glob: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", glob]) == 0
    names = [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [name for name in CASES if name.startswith("overflow_")]


def test_cases_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in told] == list(CASES)
    for each, case in zip(told, CASES.values(), strict=True):
        assert (each["sentence"], each["required"], each["source"]) == (case.sentence, case.required, case.source)
        assert each["stream_only"] is case.stream_only
        assert each["replies"] == [reply.summary for reply in case.replies]


def test_no_case_of_that_name_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "overflw_pre"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("converse-harness cases: no case is called 'overflw_pre'. Near it: overflow_pre, ")


@pytest.mark.slow
def test_colour_of_cases_is_for_terminals() -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with os.fdopen(ours, encoding="utf-8") as out:
        done = subprocess.run([COMMAND, "cases", "text_basic"], stdout=theirs, env=environment, timeout=60, check=True)
        os.close(theirs)
        assert out.readline().rstrip() == "\033[1mtext_basic\033[0m  One text in several deltas."
    assert done.returncode == 0


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error_of_the_cases() -> None:
    with subprocess.Popen([COMMAND, "cases"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as listing:
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.readline()
        listing.stdout.close()
        errors = listing.stderr.read()
        listing.wait(timeout=60)
    assert errors == ""
    assert listing.returncode in (0, 1)  # 0 if all was in the pipe before it was closed
