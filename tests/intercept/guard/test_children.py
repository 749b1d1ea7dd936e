"""Processes started while a fake is open: none reaches Bedrock, each says why and what to do."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from converse_harness import BlockedConnection, fake_converse, reply
from converse_harness.intercept.clients import ENDPOINTS, is_loopback
from converse_harness.intercept.guard import children, workers
from converse_harness.intercept.guard.children import CLOSED_PORT_URL, away_from_bedrock

Client = Callable[..., Any]
HOST = "bedrock-runtime.us-east-1.amazonaws.com"


def closed(host: object, port: object = None, *args: Any, **kwargs: Any) -> Any:
    sys.audit("socket.getaddrinfo", host, port, 0, 0, 0)  # as the real one does
    raise OSError("the network was asked")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spawned child imports this module by its name; pytest's importlib mode leaves the root off sys.path."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3])


def ask() -> str:
    """What a call to Bedrock comes to in a child."""
    socket.getaddrinfo = closed
    client: Any = botocore.session.Session().create_client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    try:
        client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}])
    except Exception as error:  # noqa: BLE001 - its name is the answer
        return f"{type(error).__name__}: {error}"
    return "answered"


def ask_and_tell(told: Connection) -> None:
    told.send(ask())
    told.close()


class Asking(SpawnProcess):
    """A process that has its own `run`, and no target."""

    def __init__(self, told: Connection) -> None:
        super().__init__()
        self.told = told

    def run(self) -> None:
        ask_and_tell(self.told)


def told_of_a_child(how: str) -> Any:
    """Expect that the fake is told of the refusal, with the host and both processes."""
    return pytest.raises(BlockedConnection, match=rf"\({HOST}\) from process \d+, {how} {os.getpid()}")


def test_a_forked_child_is_refused(make_client: Client, question: dict[str, Any]) -> None:
    with told_of_a_child("which was forked from process"), fake_converse(reply.text("hi")) as fake:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.write(writing, ask().encode())
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with open(reading) as pipe:
            said = pipe.read()
        assert said.startswith("BlockedConnection: ")
        assert f"({HOST}) from process {child}, which was forked from process {os.getpid()}" in said
        assert "converse_server" in said
        assert fake.calls == []
        assert make_client().converse(**question)["stopReason"] == "end_turn"


def test_a_forked_child_may_open_a_fake_of_its_own() -> None:
    with fake_converse():
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with fake_converse(reply.text("hi")):
                os.write(writing, ask().encode())
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with open(reading) as pipe:
            assert pipe.read() == "answered"


def say_refused(said: str) -> bool:
    return said.startswith("BlockedConnection: ") and f"which process {os.getpid()} started" in said


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=pytest.mark.slow)])
def test_children_of_multiprocessing_are_refused(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    with told_of_a_child("which process"), fake_converse():
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=ask_and_tell, args=(sending,))
        process.start()
        sending.close()  # or a child that dies would be waited for
        said = receiving.recv()
        process.join()
        assert "_converse_harness" not in vars(process)
    assert say_refused(said), said


@pytest.mark.slow
def test_a_process_that_overrides_run_is_refused() -> None:
    with told_of_a_child("which process"), fake_converse():
        receiving, sending = multiprocessing.get_context("spawn").Pipe(duplex=False)
        process = Asking(sending)
        process.start()
        sending.close()  # or a child that dies would be waited for
        said = receiving.recv()
        process.join()
    assert say_refused(said), said


@pytest.mark.slow
def test_a_pool_behind_a_forkserver_that_runs_already_is_refused() -> None:
    context = multiprocessing.get_context("forkserver")
    first = context.Process(target=os.getpid)
    first.start()
    first.join()
    with told_of_a_child("which process"), fake_converse(), ProcessPoolExecutor(1, mp_context=context) as pool:
        said = pool.submit(ask).result(timeout=60)
    assert say_refused(said), said


@pytest.mark.slow
def test_a_child_started_after_the_fake_closed_is_free() -> None:
    with fake_converse():
        pass
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(ask).result(timeout=60).startswith("EndpointConnectionError")


def test_a_fake_does_not_open_if_it_cannot_tell_the_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(workers, "_signal_file", str(tmp_path / "no such folder" / "signal"))
    with pytest.raises(FileNotFoundError, match="no such folder"), fake_converse():
        raise AssertionError("it is open")
    assert not workers._blocked


@pytest.mark.parametrize(
    "method", ["fork", *(pytest.param(each, marks=pytest.mark.slow) for each in ("spawn", "forkserver"))]
)
def test_a_worker_that_is_older_than_the_fake_asks_whether_one_is_open(method: str) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert pool.submit(ask).result(timeout=60).startswith("EndpointConnectionError")
        for _ in range(2):
            with pytest.raises(BlockedConnection, match=rf"\({HOST}\) from process \d+, a worker"), fake_converse():
                said = pool.submit(ask).result(timeout=60)
            assert said.startswith("BlockedConnection: a call to Bedrock"), said
            assert "a worker that was started before the converse-harness fake" in said
            assert pool.submit(ask).result(timeout=60).startswith("EndpointConnectionError")


# Other programs

SAY = "import json, os; print(json.dumps(dict(os.environ)))"


def environment_of(*args: Any, **kwargs: Any) -> dict[str, str]:
    done = subprocess.run([sys.executable, "-c", SAY], *args, check=True, capture_output=True, **kwargs)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_a_program_gets_an_environment_that_leads_nowhere() -> None:
    before = dict(os.environ)
    with fake_converse():
        found = environment_of()
        assert dict(os.environ) == before
        (url,) = {found[name] for name in ENDPOINTS}
        assert is_loopback(url)
        assert {found[name] for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY")} == {url}
        assert found["PATH"] == before["PATH"]
    assert not {*ENDPOINTS} & environment_of().keys()


def test_so_does_one_that_asyncio_starts() -> None:
    async def run() -> bytes:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "import os; print(os.environ.get('AWS_ENDPOINT_URL_BEDROCK'))", stdout=subprocess.PIPE
        )
        out, _ = await process.communicate()
        return out

    with fake_converse():
        assert is_loopback(asyncio.run(run()).decode().strip())


def test_an_sdk_in_a_program_says_why_it_was_refused() -> None:
    program = (
        "import botocore.session as s\n"
        "c = s.Session().create_client('bedrock-runtime', region_name='us-east-1', aws_access_key_id='a',"
        " aws_secret_access_key='b')\n"
        "c.converse(modelId='m', messages=[{'role': 'user', 'content': [{'text': 'x'}]}])\n"
    )
    with pytest.raises(BlockedConnection, match="an endpoint of Bedrock was asked by a process"), fake_converse():
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "AWS_MAX_ATTEMPTS": "1"},
        )
    assert "AccessDeniedException" in done.stderr
    assert "use the fixture `converse_server` and put `fake.environ` into the child's environment" in done.stderr


class Metadata(BaseHTTPRequestHandler):
    """The metadata service of an instance that has a role."""

    def do_PUT(self) -> None:
        self._say("token")

    def do_GET(self) -> None:
        keys = {
            "AccessKeyId": "of-the-role",
            "SecretAccessKey": "s",
            "Token": "t",
            "Expiration": "2100-01-01T00:00:00Z",
        }
        self._say("role" if self.path.endswith("/") else json.dumps({"Code": "Success", **keys}))

    def _say(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_program_keeps_the_role_of_its_instance() -> None:
    program = "import botocore.session; print(botocore.session.get_session().get_credentials().access_key)"
    with ThreadingHTTPServer(("127.0.0.1", 0), Metadata) as server, fake_converse():
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        service = f"http://127.0.0.1:{server.server_address[1]}/"
        env = {**os.environ, "AWS_EC2_METADATA_SERVICE_ENDPOINT": service}
        done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, env=env)
        server.shutdown()
        serving.join()
    assert done.stdout == "of-the-role\n", done.stderr


LOOPBACK = "http://127.0.0.1:8123/fake"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, dict.fromkeys(ENDPOINTS, CLOSED_PORT_URL)),
        ({"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": LOOPBACK}, {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": LOOPBACK}),
        (
            {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://[::1]:80"},
            {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://[::1]:80"},
        ),
        (
            {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://proxy.example"},
            {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": CLOSED_PORT_URL},
        ),
        ({b"AWS_BEDROCK_RUNTIME_ENDPOINT": LOOPBACK.encode()}, {"AWS_BEDROCK_RUNTIME_ENDPOINT": LOOPBACK}),
        (
            {"AWS_ENDPOINT_URL": LOOPBACK},
            {"AWS_ENDPOINT_URL_BEDROCK": None, "AWS_BEDROCK_RUNTIME_ENDPOINT": CLOSED_PORT_URL},
        ),
        ({"AWS_ENDPOINT_URL": "http://localhost:4566"}, {"AWS_ENDPOINT_URL_BEDROCK": None}),
        ({"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"}),
        ({}, {"AWS_EC2_METADATA_DISABLED": None}),
        ({"AWS_EC2_METADATA_DISABLED": "true"}, {"AWS_EC2_METADATA_DISABLED": "true"}),
    ],
)
def test_a_loopback_endpoint_that_the_caller_gave_stays(
    given: dict[Any, Any], expected: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "_proxy_for", lambda env: None)  # none can be started
    found = away_from_bedrock(given)
    assert {name: found.get(name) for name in expected} == expected


def test_a_copy_in_the_same_process_refuses_nothing(make_client: Client, question: dict[str, Any]) -> None:
    import pickle

    from converse_harness.intercept.guard.children import refuse_in_child

    with fake_converse(reply.text("hi")):
        assert pickle.loads(pickle.dumps(refuse_in_child())) is None
        assert make_client().converse(**question)["stopReason"] == "end_turn"
    assert issubclass(BlockedConnection, AssertionError)
