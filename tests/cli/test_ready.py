"""`serve --ready-file` and `--until-stdin-closes`: a program starts a server, finds it, and never leaves it behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from converse_harness.cli.server_output import ready_file
from converse_harness.cli.terminal import CommandFailed
from tests.cli.test_serve import COMMAND, run, serving
from tests.untraced import untraced


@pytest.mark.parametrize(
    ("by", "code"),
    [pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_the_file_is_there_while_it_serves(tmp_path: Path, by: signal.Signals, code: int) -> None:
    with hangup(signal.SIG_DFL):
        check_that_the_file_is_there(tmp_path, by, code)


def test_the_script_of_the_page_ends_when_the_server_does_not_start(tmp_path: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "control-api.md").read_text(encoding="utf-8")
    script = page.partition("<!-- example: file=check.sh -->\n```sh\n")[2].partition("```")[0]
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "weather.py" in done.stderr) == (1, True), done.stderr


@contextmanager
def hangup(handler: signal.Handlers) -> Generator[None]:
    """Start processes with this handler of SIGHUP; `nohup` around this run would have it ignored."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def test_under_nohup_it_goes_on() -> None:
    with hangup(signal.SIG_IGN), serving() as served:
        served.process.send_signal(signal.SIGHUP)
        assert httpx.get(f"{served.url}/__converse/fakes", trust_env=False).status_code == 200
        assert served.end(signal.SIGTERM) == (143, "")


def check_that_the_file_is_there(tmp_path: Path, by: signal.Signals, code: int) -> None:
    file = tmp_path / "ready.json"
    file.write_text('{"url": "http://127.0.0.1:1", "pid": 1}', encoding="utf-8")  # of one that was killed
    with serving("--ready-file", file) as served:
        ready = json.loads(file.read_text(encoding="utf-8"))
        assert ready == {"url": served.url, "pid": served.process.pid}
        assert served.end(by) == (code, "")
    assert [*tmp_path.iterdir()] == []


def test_the_file_of_an_earlier_server_is_gone_when_this_one_cannot_start(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    with serving() as other:
        file.touch()
        done = run("--port", other.url.rpartition(":")[2], "--ready-file", str(file))
    assert done.returncode == 1
    assert not file.exists()


def test_a_file_that_another_server_wrote_meanwhile_stays(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    with ready_file(file, "http://127.0.0.1:1"):
        assert json.loads(file.read_text(encoding="utf-8")) == {"url": "http://127.0.0.1:1", "pid": os.getpid()}
        file.write_text("other", encoding="utf-8")
    assert file.read_text(encoding="utf-8") == "other"


def test_a_file_that_is_taken_away_meanwhile_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    with ready_file(file, "http://127.0.0.1:1"):
        file.unlink()
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot be written: No such file"), ready_file(tmp_path / "a" / "b", "url"):
        pytest.fail("it is not written")
    done = run("--ready-file", str(tmp_path / "a" / "b"))
    assert (done.returncode, done.stderr.startswith("converse-harness serve: --ready-file ")) == (1, True)


def test_it_ends_when_its_input_closes(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    with serving("--until-stdin-closes", "--ready-file", file, stdin=subprocess.PIPE) as served:
        assert served.process.stdin is not None
        served.process.stdin.write("what comes in is not read\n")
        served.process.stdin.flush()
        assert httpx.get(f"{served.url}/__converse/fakes", trust_env=False).status_code == 200
        _, errors = served.process.communicate(timeout=60)
    assert (served.process.returncode, errors) == (0, "")
    assert not file.exists()


def test_without_the_option_a_closed_input_ends_nothing() -> None:
    with serving(stdin=subprocess.DEVNULL) as served:
        assert httpx.get(f"{served.url}/__converse/fakes", trust_env=False).status_code == 200
        assert served.end(signal.SIGINT) == (130, "")


def test_ctrl_c_while_it_waits_for_its_input_is_quiet() -> None:
    with serving("--until-stdin-closes", stdin=subprocess.PIPE) as served:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(timeout=60) == 130
        assert served.process.stderr is not None
        assert served.process.stderr.read() == ""


PARENT = """\
import os, signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_ends_with_a_parent_that_is_killed() -> None:
    """The errors of the server go to a pipe of this test, which ends when the server has ended."""
    command = [sys.executable, "-c", PARENT, str(COMMAND), "serve", "--until-stdin-closes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=untraced(), text=True) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        try:
            _, errors = parent.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.kill(server, signal.SIGKILL)
            raise
    assert (parent.returncode, errors) == (-signal.SIGKILL, "")
