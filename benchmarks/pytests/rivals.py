"""What a test with one Converse call costs more than an empty one: ours, and other tools, in the same run.

In ours the client is shared by all tests, as in the others. The other tools run without our plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from benchmarks.floor import MODEL
from benchmarks.pytests.run import CONVERSE, EMPTY, OURS, FileOfTests, measured_tests, temporary_folder
from benchmarks.rows import Row
from benchmarks.servers.others import in_process_of_its_own, missing_aimock
from converse_harness import ConverseServer, record, reply
from converse_harness.intercept.clients import create_client

FIRST: Final = 20
TESTS: Final = 120
ROUNDS: Final = 3

ANSWER: Final = """
    message = {"role": "assistant", "content": [{"text": ANSWER}]}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    answer = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}"""

USES_CASSETTE: Final = """
from MODULE import use_cassette

@pytest.fixture
def cassette():
    with use_cassette(os.environ["CASSETTE"], record_mode="none"):
        yield

@each
def test_it(number, cassette, client):"""

FILES: Final = {
    "empty": FileOfTests(EMPTY),
    "ours": FileOfTests(
        f"""
from converse_harness import reply

@each
def test_it(number, converse, client):
    converse.script(reply.text(ANSWER)){CONVERSE}""",
        OURS,
    ),
    "recording": FileOfTests(
        f"""
from converse_harness import recording

@each
def test_it(number, converse, client):
    number = 0
    converse.script(recording(os.environ["CASSETTE"])){CONVERSE}""",
        OURS,
        note="the same prompt in each test",
    ),
    "Stubber": FileOfTests(
        f"""
from botocore.stub import Stubber

@each
def test_it(number, client):{ANSWER}
    with Stubber(client) as stubber:
        stubber.add_response("converse", answer, asked(number))
        assert client.converse(**asked(number))["output"]["message"] == message
""",
        note="it has no streams",
    ),
    "cassetter": FileOfTests(
        USES_CASSETTE.replace("MODULE", "cassetter") + CONVERSE, note="its cassette is read in each test"
    ),
    "vcrpy": FileOfTests(USES_CASSETTE.replace("MODULE", "vcr") + CONVERSE, note="its cassette is read in each test"),
    "pytest-recording": FileOfTests(
        f"""
@pytest.fixture(scope="module")
def vcr_cassette_dir():
    return os.path.dirname(os.environ["CASSETTE"])

@each
@pytest.mark.vcr
@pytest.mark.default_cassette(os.path.basename(os.environ["CASSETTE"]))
def test_it(number, client):{CONVERSE}""",
        ("-p", "pytest_recording.plugin"),
        note="its cassette is read in each test",
    ),
    "pytest-httpserver": FileOfTests(
        f"""
@pytest.fixture(scope="session")
def client(make_httpserver):
    return new_client(make_httpserver.url_for("").rstrip("/"))

@each
def test_it(number, httpserver, client):{ANSWER}
    httpserver.expect_request(f"/model/{{MODEL}}/converse").respond_with_json(answer){CONVERSE}""",
        ("-p", "pytest_httpserver.pytest_plugin"),
        note="its server runs in a thread of the test",
    ),
    "aimock": FileOfTests(
        f"\n@each\ndef test_it(number, client):{CONVERSE}",
        note="the client's side alone; its server is another process",
    ),
    "moto": FileOfTests(
        """
from moto import mock_aws

@each
@mock_aws
def test_it(number):
    assert new_client().invoke_model(modelId=MODEL, body="{}")["body"].read()
""",
        note="InvokeModel, as it has no Converse; a client for each test, as it asks",
    ),
}

MODULES: Final = {
    "cassetter": "cassetter",
    "vcrpy": "vcr",
    "pytest-recording": "pytest_recording",
    "pytest-httpserver": "pytest_httpserver",
    "moto": "moto",
}
RECORDERS: Final = {"cassetter": "cassetter", "vcrpy": "vcr", "pytest-recording": "vcr"}
"""The modules whose `use_cassette` writes the cassette."""


def rows() -> Iterator[Row]:
    """One for each file but the empty one."""
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        files = {name: _prepared(stack, folder, name, file) for name, file in FILES.items()}
        can_run = {name: file for name, file in files.items() if not file.missing}
        measured = measured_tests(folder, ROUNDS, FIRST, TESTS, can_run)
        for name, file in files.items():
            if file.missing:
                yield Row(f"rival {name}", None, file.missing)
            elif name != "empty":
                yield Row(f"rival {name}", 1000 * measured.over(name, "empty"), file.note)


def _prepared(stack: ExitStack, folder: Path, name: str, file: FileOfTests) -> FileOfTests:
    """The file with its environment, or with the reason why it cannot run."""
    if name in MODULES and find_spec(MODULES[name]) is None:
        return replace(file, missing="it is not installed")
    if name == "aimock":
        if missing := missing_aimock():
            return replace(file, missing=missing)
        return replace(file, environment={"URL": stack.enter_context(in_process_of_its_own("aimock", 50)).url})
    if name == "recording":
        path = folder / "ours.jsonl"
        _recorded(partial(record, path))
        return replace(file, environment={"CASSETTE": str(path)})
    if name in RECORDERS:
        path = folder / f"{name}.yaml"
        use: Any = import_module(RECORDERS[name]).use_cassette
        return replace(
            file, environment={"CASSETTE": str(path), "URL": _recorded(partial(use, str(path), record_mode="all"))}
        )
    return file


def _recorded(recorder: Callable[[], AbstractContextManager[object]]) -> str:
    """Record one Converse call, what the test number 0 of each file asks; return the URL that was asked."""
    with ConverseServer() as server, server.script(reply.text("Hello, how are you doing today?")) as fake:
        client = create_client(endpoint_url=fake.url)
        with recorder():
            client.converse(modelId=MODEL, messages=[{"role": "user", "content": [{"text": "Story 0, please."}]}])
        return fake.url
