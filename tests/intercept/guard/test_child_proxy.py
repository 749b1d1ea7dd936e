"""The proxy for children: Bedrock is refused and told of, all else goes where it went before."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os import execv, execve, posix_spawn, system
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import BlockedConnection, fake_converse, refusals
from converse_harness.intercept.clients import ENDPOINTS
from converse_harness.intercept.guard.children import away_from_bedrock, variables
from converse_harness.intercept.guard.hosts import is_bedrock_host
from converse_harness.intercept.registry import forwarding

HOST = "bedrock-runtime.us-east-1.amazonaws.com"


class Site(BaseHTTPRequestHandler):
    """Another host, and a proxy of the user's: it tells what it was asked."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = {
            "target": self.path,
            "body": body.decode(),
            **{name.lower(): value for name, value in self.headers.items()},
        }
        text = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_CONNECT(self) -> None:
        self.send_response(200, f"{self.path} {self.headers['Proxy-Authorization']}")
        self.end_headers()
        self.wfile.write(b"tunnel")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _told_to_nobody() -> Iterator[None]:
    """What the proxy refuses a test that talks to it by hand fails neither another test nor the run."""
    yield
    refusals.of_others()


@pytest.fixture
def site() -> Iterator[str]:
    """Host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def proxy_of(**env: str) -> str:
    return away_from_bedrock(env)["https_proxy"]


def post(proxy: str, url: str) -> httpx.Response:
    with httpx.Client(proxy=proxy, trust_env=False) as client:
        return client.post(url, content=b"body")


def connect(proxy: str, target: str) -> str:
    """What a proxy says to a tunnel."""
    parts = urlsplit(proxy)
    login = b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    with closing(socket.create_connection((parts.hostname or "", parts.port or 0))) as talk:
        head = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {login}\r\n\r\n"
        talk.sendall(head.encode())
        with talk.makefile("rb") as reading:
            return reading.readline().decode().strip()


def test_other_hosts_are_passed_on(site: str) -> None:
    with fake_converse():
        proxy = proxy_of()
    told = post(proxy, f"http://{site}/path?q=1").json()
    assert (told["target"], told["body"], told["host"]) == ("/path?q=1", "body", site)
    assert connect(proxy, site) == "HTTP/1.1 200 Connection established"


def test_they_go_through_the_proxy_that_the_user_has(site: str) -> None:
    with fake_converse():
        proxy = proxy_of(HTTPS_PROXY=f"http://me:pa%40ss@{site}", http_proxy=site, NO_PROXY="amazonaws.com,localhost")
    assert post(proxy, "http://elsewhere.example/path").json()["target"] == "http://elsewhere.example/path"
    status, target, kind, user = connect(proxy, "elsewhere.example:443").split()[1:]
    assert (status, target, kind, b64decode(user)) == ("200", "elsewhere.example:443", "Basic", b"me:pa@ss")


@pytest.mark.parametrize("target", [f"{HOST}:443", f"{HOST}.:443"])
def test_a_tunnel_to_bedrock_is_refused_and_fails_the_test(target: str) -> None:
    blocked = pytest.raises(BlockedConnection, match=f"{HOST}.* was asked by a process")
    with blocked, fake_converse(), forwarding():  # as from a child, where this process does not look
        said = connect(proxy_of(), target)
    assert said.startswith("HTTP/1.1 403 Refused by converse-harness")


@pytest.mark.parametrize("url", [f"http://{HOST}/model", "http://bedrock-agentcore.eu-west-1.amazonaws.com/x"])
def test_so_is_a_request_in_clear(url: str) -> None:
    with pytest.raises(BlockedConnection, match="was asked by a process"), fake_converse(), forwarding():
        said = post(proxy_of(), url)
    assert (said.status_code, said.headers["x-amzn-errortype"]) == (403, "AccessDeniedException")
    assert "converse_server" in said.json()["message"]


def test_after_the_fake_it_still_refuses(site: str) -> None:
    with fake_converse():
        proxy = proxy_of()
    assert post(proxy, f"http://{HOST}/model").status_code == 403
    assert post(proxy, f"http://{site}/").status_code == 200


def test_one_that_cannot_reach_a_host_says_so() -> None:
    with fake_converse():
        proxy = proxy_of()
    said = post(proxy, "http://127.0.0.1:1/")
    assert (said.status_code, said.reason_phrase.split(":")[0]) == (502, "converse-harness cannot reach 127.0.0.1")


def test_a_child_of_a_child_has_the_same_proxy() -> None:
    with fake_converse():
        once = away_from_bedrock({})
        assert away_from_bedrock(once) == once


def test_a_proxy_that_speaks_socks_stays() -> None:
    with fake_converse():
        found = away_from_bedrock({"ALL_PROXY": "socks5://127.0.0.1:1080"})
    assert "https_proxy" not in found
    assert found["ALL_PROXY"] == "socks5://127.0.0.1:1080"
    assert set(ENDPOINTS) <= found.keys()


LABELS = st.sampled_from(
    ["bedrock-runtime", "s3", "us-east-1", "eu-west-1", "amazonaws", "com", "cn", "example", "api", "aws", "*"]
)
ENTRIES = st.one_of(st.lists(LABELS, min_size=1, max_size=5).map(".".join), st.just("*"))
HOSTS = [
    f"{service}.{region}.{domain}"
    for service in ("bedrock-runtime", "bedrock")
    for region in ("us-east-1", "eu-west-1", "cn-north-1")
    for domain in ("amazonaws.com", "api.aws", "amazonaws.com.cn")
]


@given(st.lists(st.tuples(st.sampled_from(["", "."]), ENTRIES).map("".join), max_size=4))
def test_no_exception_of_the_user_leads_past_it_to_bedrock(entries: list[str]) -> None:
    from urllib import request

    bypasses = vars(request)["proxy_bypass_environment"]
    kept = variables("http://127.0.0.1:9", {"no_proxy": ",".join(entries)})["no_proxy"]
    assert [host for host in HOSTS if bypasses(host, {"no": kept})] == []
    assert bypasses("127.0.0.1", {"no": kept})
    assert all(is_bedrock_host(host) for host in HOSTS)


@pytest.mark.parametrize(
    "start",
    [
        lambda command: os.system(command),  # noqa: PLW0108 - as it is when it is called
        lambda command: subprocess.run(command, shell=True, check=False).returncode,
        lambda command: os.waitstatus_to_exitcode(
            os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", command], dict(os.environ)), 0)[1]
        ),
        lambda command: vars(os)["spawnv"](os.P_WAIT, "/bin/sh", ["sh", "-c", command]),
        lambda command: os.waitstatus_to_exitcode(os.waitpid(_forked(command), 0)[1]),
        lambda command: system(command),  # noqa: PLW0108
        lambda command: os.waitstatus_to_exitcode(os.waitpid(_forked(command, exec=execve), 0)[1]),
        lambda command: os.waitstatus_to_exitcode(os.waitpid(_forked(command, exec=execv), 0)[1]),
    ],
    ids=["system", "shell", "posix_spawn", "spawnv", "fork and exec", "bound system", "bound execve", "bound execv"],
)
def test_a_program_has_the_variables_however_it_is_started(start: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-x")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "own")
    command = (
        'test "$https_proxy" = "$AWS_ENDPOINT_URL_BEDROCK_AGENTCORE" -a -n "$https_proxy"'
        ' -a -z "$AWS_BEARER_TOKEN_BEDROCK" -a "$AWS_ACCESS_KEY_ID" = own'
    )
    before = dict(os.environ)
    assert callable(start)
    with fake_converse():
        assert start(command) == 0
        assert dict(os.environ) == before
    assert in_c() == in_python()
    assert start(command) != 0


getenv: Any = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
NAMES = (*ENDPOINTS, "HTTPS_PROXY", "no_proxy", "PYTHONPATH", "NODE_OPTIONS", "AWS_BEARER_TOKEN_BEDROCK")


def in_c() -> dict[str, str]:
    """What C code, such as libcurl in this process, reads from the environment."""
    found = {name: getenv(name.encode()) for name in NAMES}
    return {name: value.decode() for name, value in found.items() if value is not None}


def in_python() -> dict[str, str]:
    return {name: os.environ[name] for name in NAMES if name in os.environ}


def test_what_a_shell_was_lent_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the code under test has changed a variable meanwhile."""
    with fake_converse():
        system("true")
        monkeypatch.setenv("HTTPS_PROXY", "http://mine")
        assert in_c() == in_python()
        assert system('test "$HTTPS_PROXY" = http://mine') != 0
    assert in_c() == in_python()


def test_a_spawn_that_was_bound_before_is_refused() -> None:
    with fake_converse():
        with pytest.raises(BlockedConnection, match=r"Write `import os` and `os.posix_spawn\(...\)`"):
            posix_spawn("/bin/true", ["true"], os.environ)
        os.waitpid(posix_spawn("/bin/true", ["true"], away_from_bedrock(None)), 0)
    os.waitpid(posix_spawn("/bin/true", ["true"], os.environ), 0)


def _forked(command: str, exec: Any = None) -> int:
    child = os.fork()
    if child == 0:
        args: Any = ("/bin/sh", ["sh", "-c", command])
        if exec is None:
            os.execl("/bin/sh", "sh", "-c", command)
        exec(*args, *((dict(os.environ),) if exec is execve else ()))
    return child
