"""What other systems lack is not needed to import the package, to open a fake or to serve.

Nothing was run on Windows or macOS. Here a process is made to look like one without what POSIX or Linux alone has.
"""

import subprocess
import sys

import pytest

from tests.untraced import untraced

LACKS = """
import os, signal, socket, sys, types
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "ITIMER_REAL", "setitimer", "pthread_sigmask"):
    delattr(signal, name)
for name in ("fork", "forkpty", "register_at_fork", "posix_spawn", "posix_spawnp", "getuid", "killpg", "setsid"):
    if hasattr(os, name):
        delattr(os, name)
delattr(socket, "CMSG_LEN")
for name in ("fcntl", "termios", "pty", "resource"):
    sys.modules[name] = None
sys.platform = "win32"
sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK=1, LK_UNLCK=0, locking=lambda *_: None)
"""
"""What Windows has not; the libraries that are imported before take their own way there."""

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
        if module.name not in ("converse_harness.intercept.aioboto",):  # it needs aiobotocore
            importlib.import_module(module.name)
from converse_harness import ConverseServer, fake_converse, reply
from converse_harness.intercept.clients import create_client
ask = dict(modelId="m", messages=[dict(role="user", content=[dict(text="hi")])])
with fake_converse(reply.text("in process")):
    print(create_client().converse(**ask)["output"]["message"]["content"][0]["text"])
with ConverseServer() as server, server.script(reply.text("from a socket")) as fake:
    print(create_client(endpoint_url=fake.url).converse(**ask)["output"]["message"]["content"][0]["text"])
from converse_harness.plugin.rerun import _limited
with _limited(1):
    print("not timed")
from converse_harness.cli.checkup import system
print(*system()[2], sep=chr(10))
"""


def run(program: str) -> list[str]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=untraced(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_plugin_and_the_command_are_imported_without_what_posix_has() -> None:
    assert run(PLUGIN) == []


@pytest.mark.slow
def test_fakes_and_server_work_without_what_posix_has() -> None:
    lines = run(EVERYTHING)
    assert lines[:3] == ["in process", "from a socket", "not timed"]
    assert [line.partition(":")[0] for line in lines[3:]] == ["signal.setitimer", "os.register_at_fork", "TIOCOUTQ"]
