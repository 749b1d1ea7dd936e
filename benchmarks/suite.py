"""What a test costs: a pytest of 500 tests in a process of its own, by CPU time, ours beside others.

A test's cost is what the process takes from the end of its 20th test to the end of its last one, so that imports and
the first client do not count. Each test is one call with a prompt of its own, by a client that all tests share.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from benchmarks.budgets import Row
from benchmarks.floor import asked
from benchmarks.measure import ROOT, Rounds, run_python
from benchmarks.servers import in_process_of_its_own, missing_aimock
from converse_harness import ConverseServer, reply
from converse_harness.intercept.clients import create_client

FIRST: Final = 20
TESTS: Final = 500
OTHERS_TESTS: Final = 120
OUR_ROUNDS: Final = 4
OTHERS_ROUNDS: Final = 2

CONFTEST: Final = """
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

HEAD: Final = """
import functools, os, pytest, botocore.session
from botocore.stub import Stubber

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
ANSWER = "Hello, how are you doing today?"
each = pytest.mark.parametrize("number", range(int(os.environ["TESTS"])))

def asked(number):
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": f"Story {number}, please."}]}]}

session = functools.cache(botocore.session.get_session)  # called in a test, when moto is imported

def new_client():
    keys = {"aws_access_key_id": "fake", "aws_secret_access_key": "fake", "endpoint_url": os.environ.get("URL")}
    return session().create_client("bedrock-runtime", region_name="us-east-1", **keys)

@pytest.fixture(scope="session")
def client():
    return new_client()
"""

FLOOR: Final = """
from benchmarks.floor import Exchange
from converse_harness import reply

@pytest.fixture(scope="session")
def client():
    return Exchange("OPERATION", lambda: {}, lambda: reply.text(ANSWER)).floor()
"""

CONVERSE: Final = """
    answer = client.converse(**asked(number))
    assert answer["output"]["message"]["content"][0]["text"]
"""
STREAM: Final = """
    events = list(client.converse_stream(**asked(number))["stream"])
    assert "messageStart" in events[0]
"""

FILES: Final[Mapping[str, str]] = {
    "empty": "@each\ndef test_it(number):\n    pass\n",
    "fixture": "@each\ndef test_it(number, converse):\n    pass\n",
    "floor": FLOOR.replace("OPERATION", "converse") + "@each\ndef test_it(number, client):" + CONVERSE,
    "floor stream": FLOOR.replace("OPERATION", "converse_stream") + "@each\ndef test_it(number, client):" + STREAM,
    "ours": f"""
from converse_harness import reply

@each
def test_it(number, converse, client):
    converse.script(reply.text(ANSWER)){CONVERSE}""",
    "ours stream": f"""
from converse_harness import reply

@each
def test_it(number, converse, client):
    converse.script(reply.text(ANSWER)){STREAM}""",
    "Stubber": """
@each
def test_it(number, client):
    message = {"role": "assistant", "content": [{"text": ANSWER}]}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    answer = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
    with Stubber(client) as stubber:
        stubber.add_response("converse", answer, asked(number))
        assert client.converse(**asked(number))["output"]["message"] == message
""",
    "vcrpy": f"""
import vcr

@pytest.fixture
def cassette():
    with vcr.use_cassette(os.environ["CASSETTE"], record_mode="none", match_on=["method", "path"]):
        yield

@each
def test_it(number, cassette, client):{CONVERSE}""",
    "moto": """
from moto import mock_aws

@each
@mock_aws
def test_it(number):
    assert new_client().invoke_model(modelId=MODEL, body=f"{{}}")["body"].read()
""",
    "aimock": f"@each\ndef test_it(number, client):{CONVERSE}",
}
"""The files; those of ours have the plugin, the others run without it."""

WITH_PLUGIN: Final = ("fixture", "ours", "ours stream")

OTHERS: Final[Mapping[str, str]] = {
    "Stubber": "it has no streams",
    "vcrpy": "its cassette is read in each test",
    "moto": "InvokeModel, as it has no Converse; a client for each test, as it asks",
    "aimock": "the client's side alone; its server is another process",
}


def rows() -> list[Row]:
    """Ours over the floor and over an empty test, then the others over an empty test."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        for name, text in FILES.items():
            _file(folder, name).write_text(HEAD + text, encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        ours = ("empty", "fixture", "floor", "floor stream", "ours", "ours stream")
        measured = _measured(folder, OUR_ROUNDS, TESTS, {name: {} for name in ours})
        own = 1000 * measured.of("floor")
        return [
            Row("test", _ms(measured, "ours", "floor"), f"beyond {own:.2f} ms of pytest and client"),
            Row("test stream", _ms(measured, "ours stream", "floor stream")),
            Row("test fixture", _ms(measured, "fixture", "empty")),
            Row("test over empty", _ms(measured, "ours", "empty")),
            *_others(stack, folder),
        ]


def _file(folder: Path, name: str) -> Path:
    return folder / f"test_{name.replace(' ', '_').lower()}.py"


def _measured(folder: Path, rounds: int, tests: int, environments: Mapping[str, Mapping[str, str]]) -> Rounds:
    contestants = {name: partial(_cpu, folder, name, tests, more) for name, more in environments.items()}
    return Rounds(rounds, contestants, warm=False)


def _cpu(folder: Path, name: str, tests: int, more: Mapping[str, str]) -> float:
    """CPU seconds of one test."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "FIRST": str(FIRST),
        "TESTS": str(tests),
        **more,
    }
    plugin = ["-p", "converse_harness.plugin"] if name in WITH_PLUGIN else []
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, _file(folder, name).name]
    output = run_python(options, folder, environment, allowed=(0,))
    return float(output.rpartition("CPU ")[2]) / (tests - FIRST)


def _ms(measured: Rounds, name: str, floor: str) -> float:
    """Of one test, beyond the floor."""
    return 1000 * measured.over(name, floor)


def _others(stack: ExitStack, folder: Path) -> Iterator[Row]:
    environments: dict[str, dict[str, str]] = {"empty": {}, "Stubber": {}}
    missing: dict[str, str] = {}
    if find_spec("vcr") is None:
        missing["vcrpy"] = "it is not installed"
    else:
        environments["vcrpy"] = _cassette(folder / "cassette.yaml")
    if find_spec("moto") is None:
        missing["moto"] = "it is not installed"
    else:
        environments["moto"] = {}
    if reason := missing_aimock():
        missing["aimock"] = reason
    else:
        environments["aimock"] = {"URL": stack.enter_context(in_process_of_its_own("aimock", 50)).url}
    measured = _measured(folder, OTHERS_ROUNDS, OTHERS_TESTS, environments)
    for name, note in OTHERS.items():
        if name in missing:
            yield Row(f"test {name}", None, missing[name])
        else:
            yield Row(f"test {name}", _ms(measured, name, "empty"), note)


def _cassette(path: Path) -> dict[str, str]:
    """One Converse call, as vcrpy records it."""
    vcr: Any = import_module("vcr")
    with ConverseServer() as server, server.script(reply.text("Hello, how are you doing today?")) as fake:
        client = create_client(endpoint_url=fake.url)
        with vcr.use_cassette(str(path), record_mode="all"):
            client.converse(**asked())
        return {"CASSETTE": str(path), "URL": fake.url}
