"""The command, as a person and as a script run it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_the_demo_is_stopped_by_ctrl_c() -> None:
    # A shell that runs these tests in the background has them ignore SIGINT, which a child inherits.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        demo = subprocess.Popen([COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with demo:
        assert demo.stdout is not None
        demo.stdout.readline()  # it runs
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=60)
    assert (demo.returncode, errors) == (130, "")


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
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: converse-harness")


def test_the_version() -> None:
    assert run("--version").stdout.startswith("converse-harness 0.")
