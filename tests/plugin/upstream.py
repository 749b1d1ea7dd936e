"""A Bedrock for whoever records in a pytester project, and what that leaves on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from converse_harness import Call, Endpoint, Reply, reply
from converse_harness.recordings.format.read import read
from converse_harness.stream.http import Request
from tests.nested import XDIST

ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "recorders-own-key",
    "AWS_SECRET_ACCESS_KEY": "recorders-own-secret",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Service(ThreadingHTTPServer):
    """Answers as Bedrock does; not a transport, so that a fake of the same process does not know it."""

    def __init__(self, answer: Any) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self._endpoint = Endpoint()
        self._endpoint.script.fallback.add([answer], endless=True)
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[Call]:
        """What it was asked."""
        return self._endpoint.calls

    def exchange(self, request: Request) -> Any:
        """The answer to one request."""
        with self._lock:
            return self._endpoint.exchange(request).response


class Handler(BaseHTTPRequestHandler):
    """One request: its whole answer at once."""

    protocol_version = "HTTP/1.1"
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        response = self.server.exchange(Request("POST", self.path, tuple(self.headers.items()), body))
        data = [chunk.data for chunk in response.chunks]
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        if any(name == "Transfer-Encoding" for name, _ in response.headers):
            data = [b"%x\r\n%b\r\n" % (len(each), each) for each in [*data, b""]]
        self.wfile.write(b"".join(data))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def service(answer: Any) -> Iterator[Service]:
    """A running Service that answers every call with one reply, or what a function of the call gives."""
    with Service(answer) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def echo(call: Call) -> Reply:
    """What was asked, with an exclamation mark."""
    return reply.text(f"{call.last_user_text}!")


class Upstream:
    """Bedrock for whoever records: `record` runs pytest with an account, `replay` without any."""

    def __init__(self, project: pytest.Pytester, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.service, self._monkeypatch = project, service, monkeypatch

    def record(
        self, *args: str, mode: str = "once", account: bool = True, apart: bool = False, **options: bool
    ) -> pytest.RunResult:
        """Run pytest so that it records; `apart` in a process of its own, else with pytester's options."""
        with self._monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", self.service.url)
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            for name, value in ACCOUNT.items() if account else ():
                patch.setenv(name, value)
            return self._run(f"--converse-record={mode}", *args, apart=apart, **options)

    def replay(self, *args: str) -> pytest.RunResult:
        """Run pytest so that it plays."""
        before = len(self.service.calls)
        result = self._run(*args)
        assert len(self.service.calls) == before
        return result

    def _run(self, *args: str, apart: bool = False, **options: bool) -> pytest.RunResult:
        run: Callable[..., pytest.RunResult] = self.project.runpytest_subprocess if apart else self.project.runpytest
        return run(*(XDIST if "-n" in args else ()), *args, **options)

    @property
    def files(self) -> list[str]:
        root = self.project.path / "recordings"
        return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())

    def questions(self, name: str) -> list[str]:
        """What was asked in a recording."""
        exchanges = read(self.project.path / "recordings" / name).exchanges
        return [each.request["messages"][-1]["content"][0]["text"] for each in exchanges]
