"""A marked test is recorded from what stands in place of Bedrock, by the command on the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.tables import DOCS
from tests.plugin.upstream import ACCOUNT, Upstream

COMMAND = re.compile(
    r"^\$ (AWS_ENDPOINT_URL\w+)=http://127\.0\.0\.1:8080 pytest (--converse-record=once)$", re.MULTILINE
)


@pytest.mark.skipif(os.name != "posix", reason="the command is one of a POSIX shell")
def test_the_command_of_the_page(upstream: Upstream) -> None:
    found = COMMAND.search((DOCS / "recording.md").read_text(encoding="utf-8"))
    assert found is not None
    upstream.project.makepyfile(
        test_a="""
        import boto3
        import httpx
        import os
        import pytest

        ASKED = [{"role": "user", "content": [{"text": "a"}]}]

        @pytest.mark.converse_recording
        def test_boto():
            boto3.client("bedrock-runtime").converse(modelId="m", messages=ASKED)

        @pytest.mark.converse_recording
        def test_set_by_the_test(monkeypatch):
            monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", os.environ.get("OTHER", "http://127.0.0.1:1"))
            boto3.client("bedrock-runtime").converse(modelId="m", messages=ASKED)
        """
    )
    environ = {
        **os.environ,
        **ACCOUNT,
        "OTHER": upstream.service.url,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "-p converse_harness.plugin",
    }
    command = f"{found[1]}={upstream.service.url} pytest {found[2]}"
    ran = subprocess.run(
        command, shell=True, cwd=upstream.project.path, env=environ, check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout
    assert len(upstream.service.calls) == 2
    assert upstream.files == ["test_a/test_boto.jsonl", "test_a/test_set_by_the_test.jsonl"]
    upstream.replay().assert_outcomes(passed=2)
