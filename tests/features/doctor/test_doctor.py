"""The command `doctor`: what it says of this environment, and of a broken one."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.endpoint import EndpointCreator

from converse_harness.cli import main
from converse_harness.features.doctor import checkup
from converse_harness.features.doctor.checkup import Package, Patched, PluginCost
from tests.package.test_platforms import LACKS, run

LACKING = f"""
import converse_harness.cli
import pytest
{LACKS}
from converse_harness.features.doctor.checkup import system
print(*system()[2], sep=chr(10))
"""

COMMAND = Path(sys.executable).parent / "converse-harness"

Seen = Callable[..., tuple[int, str]]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Seen:
    """The command, with what its processes found put in."""

    def run(*arguments: str, costs: tuple[PluginCost, ...] = (), patched: Patched | None = None) -> tuple[int, str]:
        monkeypatch.setattr(checkup, "costs", lambda _: [*costs])
        monkeypatch.setattr(checkup, "patched", lambda: patched or Patched(10, {}, "", 12.0))
        status = main(["doctor", *arguments])
        return status, capsys.readouterr().out

    return run


def test_a_sound_environment(doctor: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "never-printed")
    status, said = doctor(costs=(PluginCost("respx", "respx 0.23", 655.4), PluginCost("converse", "us", 7.6)))
    lines = said.splitlines()
    assert status == 0
    assert lines[0].startswith(f"converse-harness 0.1.0, Python {sys.version.partition(' ')[0]} (tried), Linux ")
    assert "                655  respx 0.23  -p no:respx" in lines
    assert "                  8  us          -p no:converse" in lines
    assert "AWS_SECRET_ACCESS_KEY" in said
    assert "never-printed" not in said
    assert f"pytest {pytest.__version__}" in said  # on one line
    assert lines[-1] == "Nothing is broken: a fake answers botocore here."
    assert max(map(len, lines)) <= 110


def test_what_was_not_tried(doctor: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "tried_pythons", lambda: ["3.8", "3.9"])
    monkeypatch.setattr(checkup, "system", lambda: ("Windows AMD64", False, ["signal.setitimer: no limit"]))
    status, said = doctor()
    assert status == 0
    assert "(not tried; 3.8, 3.9 are), Windows AMD64 (not tried)\n" in said
    assert "missing      signal.setitimer: no limit\n" in said


def test_a_python_without_threads(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", start)
    monkeypatch.setattr("threading.Timer.start", start)  # OpenTelemetry leaves it one of its own
    assert main(["doctor"]) == 1
    said = capsys.readouterr().err
    assert "starts no thread: can't start new thread. `converse-harness demo` shows whether a fake answers here" in said


def test_the_same_as_json(doctor: Seen) -> None:
    status, said = doctor("--json", costs=(PluginCost("respx", "respx 0.23", 655.4),))
    seen = json.loads(said)
    assert (status, seen["problems"]) == (0, [])
    assert seen["plugins"] == [
        {"name": "respx", "package": "respx 0.23", "ms": 655.4, "error": "", "off": "-p no:respx"}
    ]
    assert {"botocore", "pytest", "boto3"} <= {each["name"] for each in seen["packages"]}


@pytest.mark.parametrize(
    ("found", "advice"),
    [
        ({"costs": (PluginCost("old", "old 1", None, "ImportError: gone"),)}, "-p no:old"),
        ({"patched": Patched(10, {}, "cannot open a fake: botocore 9 is not as expected.", 0.0)}, "botocore 9"),
    ],
)
def test_what_is_broken_is_exit_code_1(doctor: Seen, found: dict[str, Any], advice: str) -> None:
    status, said = doctor(**found)
    assert (status, said.splitlines()[-1]) == (1, "1 problem.")
    assert advice in said.partition("\n\n")[2]


def test_a_package_that_is_missing_or_too_old(doctor: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "packages", lambda: [Package("h2", None, ">=4.2"), Package("h11", "0.14", ">=0.16")])
    status, said = doctor()
    assert status == 1
    assert "pip install 'h2>=4.2'" in said
    assert "pip install 'h11>=0.16'" in said
    assert said.endswith("2 problems.\n")


def test_whose_code_stands_there() -> None:
    @functools.wraps(EndpointCreator.create_endpoint)
    def wrapper(*args: Any) -> Any:
        return EndpointCreator.create_endpoint(*args)

    assert checkup.changed_by(EndpointCreator.create_endpoint, "botocore.endpoint") == ""
    assert checkup.changed_by(wrapper, "botocore.endpoint") == __name__.partition(".")[0]


def test_every_place_that_a_fake_replaces_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    checkup.look(0.5)
    places, changed, problem, ms = json.loads(capsys.readouterr().out)
    assert (changed, problem, ms) == ({}, "", 500)
    assert places >= 9


@pytest.mark.slow
def test_plugins_that_fail_or_patch_are_found(tmp_path: Path) -> None:
    about = tmp_path / "planted-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[pytest11]\ngone = planted_gone\npatching = planted_patching\n")
    (tmp_path / "planted_patching.py").write_text(
        "import functools, botocore.endpoint as e\nold = e.Endpoint._send\n"
        "e.Endpoint._send = functools.wraps(old)(lambda *a, **k: old(*a, **k))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [COMMAND, "doctor"], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 1, done.stderr
    said = " ".join(done.stdout.split())
    assert "botocore.endpoint.Endpoint._send was changed by planted_patching" in said
    assert "fails planted 1 -p no:gone" in said
    assert (
        "pytest cannot load the plugin gone of planted 1: ModuleNotFoundError: No module named 'planted_gone'" in said
    )
    assert said.endswith("1 problem.")


@pytest.mark.slow
def test_it_lists_what_a_system_lacks() -> None:
    lines = run(LACKING)
    assert [line.partition(":")[0] for line in lines] == ["signal.setitimer", "os.register_at_fork", "TIOCOUTQ"]
