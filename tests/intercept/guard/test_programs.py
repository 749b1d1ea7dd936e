"""Programs of Python and Node.js guard themselves, because many of their clients ignore the proxy variables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from converse_harness import BlockedConnection, fake_converse

HOST = "bedrock-runtime.us-east-1.amazonaws.com"
ASKED = rf"{HOST} was asked by a process"
PROGRAMS = {
    "http.client": f"import http.client; http.client.HTTPSConnection('{HOST}').request('GET', '/')",
    "httpx without the environment": f"import httpx; httpx.get('https://{HOST}/', trust_env=False)",
    "bytes": f"import socket; socket.gethostbyname(b'{HOST}')",
    "full width": "import socket; socket.getaddrinfo('{}', 443)".format(
        "".join(chr(ord(each) + 0xFEE0) if each.isalpha() else each for each in HOST)
    ),
    "a program of a program": "import os, subprocess, sys\n"
    f"subprocess.run([sys.executable, '-c', 'import socket; socket.create_connection((\"{HOST}\", 443))'], check=True)",
}


def run(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **env})


def python(program: str, **env: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-c", program, **env)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_of_python_is_refused_whatever_its_client_is(program: str) -> None:
    with pytest.raises(BlockedConnection, match="was asked by a process"), fake_converse():
        done = python(program)
    assert "RuntimeError: converse-harness refused " in done.stderr
    assert "put `fake.environ` into its environment" in done.stderr


NODE = f"""
const said = (error) => console.log(String(error.cause ?? error));
fetch("https://{HOST}/").catch(said);
require("https").get("https://{HOST}/").on("error", said);
"""


def test_so_is_a_program_of_node() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("not tested: there is no Node.js")
    with pytest.raises(BlockedConnection, match=ASKED), fake_converse():
        done = run(node, "-e", NODE, NODE_OPTIONS="--no-deprecation")
    assert done.stdout.count(f"Error: converse-harness refused {HOST}: ") == 2, done.stderr
    assert done.stderr == ""


def test_another_host_with_bedrock_in_its_name_is_looked_up(tmp_path: Path) -> None:
    with fake_converse():
        assert "gaierror" in python("import socket; socket.getaddrinfo('bedrock.localdomain.invalid', 443)").stderr


def test_a_program_is_as_it_would_be_without_a_fake(tmp_path: Path) -> None:
    """Its own `sitecustomize` runs, its path is the same, and it says nothing on its own."""
    (tmp_path / "sitecustomize.py").write_text("mine = 1")
    say = "import json, os, sys, sitecustomize; print(json.dumps([sitecustomize.mine, sys.path, sorted(sys.argv)]))"
    alone = python(say, PYTHONPATH=str(tmp_path))
    with fake_converse():
        guarded = python(say, PYTHONPATH=str(tmp_path))
        nothing = python("pass", PYTHONPATH="")
    assert json.loads(alone.stdout)[0] == 1
    assert (guarded.stdout, guarded.stderr) == (alone.stdout, alone.stderr)
    assert (nothing.stdout, nothing.stderr) == ("", "")


def test_it_goes_on_when_the_tests_have_ended() -> None:
    """Then there is no proxy to ask, and nobody to tell."""
    folder = Path(sys.modules[fake_converse.__module__].__file__ or "").parent / "guard" / "programs"
    program = "import socket; socket.getaddrinfo('bedrock.x.invalid', 443)"
    done = python(program, PYTHONPATH=str(folder), CONVERSE_HARNESS_GUARD="1")
    assert "gaierror" in done.stderr
    assert "sitecustomize" not in done.stderr
