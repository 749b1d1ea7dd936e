"""Every way to Bedrock that is known, in a network of its own whose every name leads to a trap."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.certificates import certificate
from tests.clients.pinned.network.ways import HOST, WAYS

HERE = Path(__file__).parent
PROGRAMS = ("curl", "node")


@cache
def namespace() -> list[str]:
    """What to put before a command, so that it runs in a network of its own; empty where the machine allows none."""
    unshare = shutil.which("unshare")
    if unshare is None or shutil.which("ip") is None:
        return []
    command = [unshare, "--user", "--map-root-user", "--net", "--mount", "--"]
    tried = [*command, "sh", "-c", "ip link set lo up && mount --bind /etc/hosts /etc/resolv.conf"]
    return command if subprocess.run(tried, check=False, capture_output=True).returncode == 0 else []


def is_there(needed: str) -> bool:
    if needed in PROGRAMS:
        return shutil.which(needed) is not None
    return not needed or importlib.util.find_spec(needed) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_a_way_is_stopped_and_fails_the_test(tmp_path: Path, name: str) -> None:
    _, _, outcome = WAYS[name]
    said, reached = tried(tmp_path, name, "refuses")
    if outcome == "stopped":
        assert (reached, said["out"]) == ([], "failed\n"), said["err"]
    else:
        assert reached, "it is stopped: say so in the table and on the page"


LIBRARIES = ("httpx", "httpx2", "aiohttp")
ANSWERED = [name for name, (_, needed, _) in WAYS.items() if needed in LIBRARIES and "pool" not in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERED)
def test_a_client_that_is_answered_reaches_nobody(tmp_path: Path, name: str) -> None:
    said, reached = tried(tmp_path, name, "answers")
    assert reached == [], said["err"]
    # Only the Host header says that a request to an address is for Bedrock. The guard refuses it.
    assert said["out"] == ("failed\n" if "address" in name or "subprocess" in name else "passed\n"), said["err"]


def tried(tmp_path: Path, name: str, answers: str) -> tuple[dict[str, str], list[str]]:
    """What a way said under a fake that `answers` or `refuses`, and which hosts of Bedrock it reached."""
    _, needed, _ = WAYS[name]
    if not namespace():
        pytest.skip("not tested: this machine allows no network namespace")
    if not is_there(needed):
        pytest.skip(f"not tested: {needed} is not installed")
    log = tmp_path / "trap.log"
    pair = [str(file) for file in certificate(tmp_path, HOST)]
    way: list[str | Path] = [sys.executable, HERE / "ways.py", name, log, answers]
    done = subprocess.run(
        [*namespace(), sys.executable, HERE / "trap.py", log, *pair, *way],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env={name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
    )
    said = json.loads(done.stdout)
    caught = log.read_text().partition("open\n")[2].splitlines()
    return said, [line for line in caught if "bedrock" in line.lower()]
