"""`--converse-chaos` on the plain suites finds the stream without messageStop that is taken for an answer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[5]
SUITES = ROOT / "tests/clients/pinned/badday"


@pytest.mark.slow
def test_a_stream_without_its_end_is_not_noticed_by_three_clients() -> None:
    suites = sorted(map(str, SUITES.glob("test_plain_*.py")))
    options = ("-v", "-p", "no:cacheprovider", "--tier", "default")  # the tier is named, so that no clock runs
    command = ("-m", "pytest", *options, *suites, "--converse-chaos=no_message_stop")
    # Under CI the end of a run of the default tier is short; that of chaos is its findings.
    environ = {**os.environ, "CI": "", "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))}
    run = subprocess.run([sys.executable, *command], cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout  # the tests pass, and chaos changes nothing of it
    clients = re.findall(r"^not noticed +\S*test_plain_(\w+)\.py::.* no_message_stop", run.stdout, re.MULTILINE)
    assert set(clients) == {"boto3", "pydantic_ai", "strands"}
