"""What other systems lack is not needed to import the package, to open a fake or to serve.

Nothing was run on Windows or macOS. Here a process is made to look like one without what POSIX or Linux alone has.
"""

import io
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from converse_harness.cli import terminal
from tests.untraced import untraced

LACKS = """
import os, signal, socket, sys, time, types
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "ITIMER_REAL", "setitimer", "pthread_sigmask"):
    delattr(signal, name)
for name in ("fork", "forkpty", "register_at_fork", "posix_spawn", "posix_spawnp", "getuid", "killpg", "setsid"):
    if hasattr(os, name):
        delattr(os, name)
delattr(socket, "CMSG_LEN")
for name in ("clock_gettime", "CLOCK_MONOTONIC"):
    delattr(time, name)
for name in ("fcntl", "termios", "pty", "resource", "pwd", "grp"):
    sys.modules[name] = None
sys.platform = "win32"
sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK=1, LK_UNLCK=0, locking=lambda *_: None)
"""
"""What Windows has not; the libraries that are imported before take their own way there."""

PROXY = f"""
import h11, re
{LACKS}
os.O_BINARY = 0
from converse_harness.intercept.guard.child_proxy import main
main()
"""

PLUGIN = f"""
import pytest
{LACKS}
import converse_harness, converse_harness.plugin, converse_strategies, converse_harness.cli
"""

EVERYTHING = f"""
import aiohttp, anyio, asyncio, multiprocessing.util, urllib.request, tempfile, uuid
import botocore.session, botocore.httpsession, botocore.retries.standard, faker, h2.connection, pytest, respx
import concurrent.futures.process, hypothesis.stateful, hypothesis.extra
{LACKS}
import importlib, pkgutil, json
from pathlib import Path
import converse_harness, converse_strategies
for package in (converse_harness, converse_strategies):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name not in ("converse_harness.intercept.boto.aio",):  # it needs aiobotocore
            importlib.import_module(module.name)
from converse_harness import ConverseServer, fake_converse, reply
from converse_harness.intercept.clients import create_client
ask = dict(modelId="m", messages=[dict(role="user", content=[dict(text="hi")])])
with fake_converse(reply.text("in process")):
    print(create_client().converse(**ask)["output"]["message"]["content"][0]["text"])
with ConverseServer() as server, server.script(reply.text("from a socket")) as fake:
    print(create_client(endpoint_url=fake.url).converse(**ask)["output"]["message"]["content"][0]["text"])
from converse_harness.plugin.reruns.rerun import _limited
with _limited(1):
    print("not timed")
"""


def run(program: str) -> list[str]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=untraced(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.needs_os
def test_the_plugin_and_the_command_are_imported_without_what_posix_has() -> None:
    assert run(PLUGIN) == []


@pytest.mark.slow
def test_fakes_and_server_work_without_what_posix_has() -> None:
    assert run(EVERYTHING) == ["in process", "from a socket", "not timed"]


@pytest.mark.parametrize(
    ("environ", "styled"),
    [({}, "ok"), ({"WT_SESSION": "1"}, "\033[1mok\033[0m"), ({"TERM": "xterm"}, "\033[1mok\033[0m")],
)
def test_the_old_console_of_windows_gets_no_styles(
    environ: dict[str, str], styled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "WT_SESSION", "TERM", "ANSICON", "ConEmuANSI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", "win32")
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    assert terminal.styled("ok", terminal.BOLD, out) == styled


@pytest.mark.needs_os
def test_ctrl_c_does_not_reach_a_proxy_that_has_no_session_of_its_own() -> None:
    """On a console of Windows it goes to every process; the proxy serves until its standard input is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", PROXY],
        env=untraced(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as proxy:
        assert proxy.stdout is not None
        port = int(proxy.stdout.readline())
        os.kill(proxy.pid, signal.SIGINT)
        settings = json.dumps(["", "", "", os.devnull, "", ""]).encode()
        with socket.create_connection(("127.0.0.1", port), 10) as client:
            assert proxy.stdin is not None
            proxy.stdin.write(settings + b"\n")
            proxy.stdin.flush()
            client.sendall(b"GET / HTTP/1.1\r\nHost: bedrock-runtime.us-east-1.amazonaws.com\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 403 ")
        _, complaint = proxy.communicate()
    assert (proxy.returncode, complaint) == (0, b"")
