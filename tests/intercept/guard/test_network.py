"""Nothing but the loopback, by any way: a program without credentials, with a trap on every address.

It runs where the network has no routes (a namespace of its own, where the machine allows one), and an audit hook that
was installed before the fake writes down what every process of it looks up, connects to and sends to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

TRAP = """
import os, sys

def _trap(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        address = args[1] if event in ("socket.connect", "socket.sendto") else args[0]
        host = address[0] if isinstance(address, tuple) else address
        host = host if isinstance(host, str) else repr(host)
        line = f"{event}\\t{host}\\n".encode()
        file = os.open(os.environ["TRAP"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line)
        os.close(file)

sys.addaudithook(_trap)
"""

PROGRAM = """
import asyncio, multiprocessing, os, subprocess, sys, threading

URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"
QUESTION = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "x"}]}]}

def attempt(name, act):
    try:
        outcome = act()
    except BaseException as error:
        outcome = f"{type(error).__name__}"
    print(f"{name}: {outcome}", flush=True)

def boto():
    import boto3
    return boto3.client("bedrock-runtime").converse(**QUESTION)["stopReason"]

def boto_with_region():
    import boto3
    return boto3.client("bedrock-runtime", region_name="us-east-1").converse(**QUESTION)["stopReason"]

def control_plane():
    import boto3
    return boto3.client("bedrock").get_inference_profile(inferenceProfileIdentifier="p")

def with_httpx():
    import httpx
    return httpx.post(URL)

def with_async_httpx():
    import httpx
    async def post():
        async with httpx.AsyncClient() as client:
            return await client.post(URL)
    return asyncio.run(post())

def with_aiohttp():
    import aiohttp
    async def post():
        async with aiohttp.ClientSession() as session, session.post(URL):
            pass
    return asyncio.run(post())

def with_a_socket():
    import socket
    with socket.socket() as plain:
        return plain.connect(("bedrock-runtime.us-east-1.amazonaws.com", 443))

def child(name):
    attempt(name, boto_with_region)

def main():
    import botocore.session
    from converse_harness import fake_converse
    from converse_harness import reply
    go_on, done = threading.Event(), threading.Event()

    def outlive():
        go_on.wait()
        attempt("thread", boto_with_region)
        attempt("thread with httpx", with_httpx)
        done.set()

    fake = fake_converse()
    fake.open()
    fake.always(reply.text("hi"))
    attempt("boto", boto)
    attempt("control plane", control_plane)
    attempt("httpx", with_httpx)
    attempt("async httpx", with_async_httpx)
    attempt("aiohttp", with_aiohttp)
    attempt("socket", with_a_socket)
    pid = os.fork()
    if pid == 0:
        child("forked")
        os._exit(0)
    os.waitpid(pid, 0)
    for method in ("fork", "spawn", "forkserver"):
        process = multiprocessing.get_context(method).Process(target=child, args=(method,))
        process.start()
        process.join()
    done_process = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True)
    print(done_process.stdout.strip(), flush=True)
    threading.Thread(target=outlive).start()
    fake.close()
    go_on.set()
    done.wait()

if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        # A program of its own, which knows nothing of the fake, and has no credentials: only its environment keeps it.
        attempt("program without credentials", boto_with_region)
        os.environ.update(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_MAX_ATTEMPTS="1")
        attempt("program with credentials", boto_with_region)
    else:
        main()
"""

EXPECTED = {
    "boto": "end_turn",
    "control plane": "ClientError",
    "httpx": "<Response [400 Bad Request]>",
    "async httpx": "<Response [400 Bad Request]>",
    "aiohttp": "None",
    "socket": "BlockedConnection",
    "forked": "BlockedConnection",
    "fork": "BlockedConnection",
    "spawn": "BlockedConnection",
    "forkserver": "BlockedConnection",
    "program without credentials": "NoCredentialsError",
    "program with credentials": "AccessDeniedException",
    "thread": "BlockedConnection",
    "thread with httpx": "BlockedConnection",
}


def without_routes() -> list[str]:
    """What to put before a command, so that it runs in a network of its own whose only interface is the loopback."""
    unshare = shutil.which("unshare")
    command = [unshare, "--user", "--map-root-user", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    usable = (
        unshare is not None
        and shutil.which("ip") is not None
        and subprocess.run([str(part) for part in [*command, "true"]], check=False, capture_output=True).returncode == 0
    )
    return [str(part) for part in command] if usable else []


def is_inside(host: str) -> bool:
    """Whether a host is the loopback, a path of the file system, or nothing."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in ("localhost", "None", "''", "b''", "") or host.startswith(("/", "b'/", "b'\\x00", "\0"))


@pytest.mark.slow
@pytest.mark.parametrize("network", ["without routes", "with a trap only"])
def test_nothing_leaves_the_loopback(tmp_path: Path, network: str) -> None:
    prefix = without_routes() if network == "without routes" else []
    trap, program = tmp_path / "trap.log", tmp_path / "program.py"
    (tmp_path / "sitecustomize.py").write_text(TRAP)
    program.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {
        "HOME": str(tmp_path),
        "TRAP": str(trap),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
    }
    done = subprocess.run(
        [*prefix, sys.executable, str(program)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=120,
    )
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert said == EXPECTED, done.stderr
    attempts = [line.split("\t") for line in trap.read_text().splitlines()]
    # The name of a host of Bedrock in a look-up is stopped before it is looked up; the trap only saw it first.
    assert [host for event, host in attempts if not is_inside(host) and "bedrock" not in host] == []
    assert [host for event, host in attempts if event != "socket.getaddrinfo" and not is_inside(host)] == []
