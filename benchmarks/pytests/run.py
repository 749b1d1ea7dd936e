"""A pytest of many tests in a process of its own, by CPU time.

A test's cost is what the process takes from the end of its first tests to the end of its last one, so that imports and
the first client do not count. Each test is one call with a prompt of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measure import ROOT, Rounds, run_python

OURS: Final = ("-p", "converse_harness.plugin")

_CONFTEST: Final = """
import os, resource, socket

look_up = socket.getaddrinfo

def on_loopback(host, *arguments, **options):
    if host not in ("127.0.0.1", "localhost"):
        raise RuntimeError(f"a benchmark asks for {host}")
    return look_up(host, *arguments, **options)

socket.getaddrinfo = on_loopback  # what a tool lets pass must not reach the real service

done, seconds = 0, []

def pytest_runtest_logfinish():
    global done
    done += 1
    if done in (int(os.environ["FIRST"]), int(os.environ["TESTS"])):
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds.append(used.ru_utime + used.ru_stime)

def pytest_unconfigure():
    print("CPU", seconds[1] - seconds[0])
"""

_HEAD: Final = """
import functools, os, pytest, botocore.session

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
ANSWER = "Hello, how are you doing today?"
each = pytest.mark.parametrize("number", range(int(os.environ["TESTS"])))

def asked(number):
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": f"Story {number}, please."}]}]}

session = functools.cache(botocore.session.get_session)  # called in a test, when moto is imported

def new_client(url=None):
    keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake"}
    url = url or os.environ.get("URL")
    return session().create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, **keys)

@pytest.fixture(scope="session")
def client():
    return new_client()
"""

CONVERSE: Final = """
    answer = client.converse(**asked(number))
    assert answer["output"]["message"]["content"][0]["text"]
"""
EMPTY: Final = """
@each
def test_it(number):
    pass
"""


@dataclass(frozen=True, slots=True)
class FileOfTests:
    """A file of tests, the plugins and options it runs with, the lines of its pytest.ini, and its environment.

    `note` is what is worth knowing of the tool; `missing` is the reason why it cannot run.
    """

    text: str
    options: tuple[str, ...] = ()
    ini: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str = ""
    missing: str = ""


@contextmanager
def temporary_folder() -> Generator[Path, None, None]:
    """A folder for files of tests."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name).resolve()


def measured_tests(folder: Path, rounds: int, first: int, tests: int, files: Mapping[str, FileOfTests]) -> Rounds:
    """The CPU seconds of one test of each file; the first ones do not count."""
    for name, file in files.items():
        here = folder / name.replace(" ", "_")
        here.mkdir(exist_ok=True)
        (here / "test_it.py").write_text(_HEAD + file.text, encoding="utf-8")
        (here / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
        (here / "pytest.ini").write_text(f"[pytest]\n{file.ini}", encoding="utf-8")
    contestants = {
        name: partial(_cpu, folder / name.replace(" ", "_"), file, first, tests) for name, file in files.items()
    }
    return Rounds(rounds, contestants, warm=False)


def _cpu(folder: Path, file: FileOfTests, first: int, tests: int) -> float:
    """CPU seconds of one test."""
    environment = {**environment_of(file), "FIRST": str(first), "TESTS": str(tests)}
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *file.options, "test_it.py"]
    output = run_python(options, folder, environment, allowed=(0,))
    return float(output.rpartition("CPU ")[2]) / (tests - first)


def environment_of(file: FileOfTests) -> dict[str, str]:
    """The environment variables of a run: only the plugins of the options are loaded."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        **file.environment,
    }
