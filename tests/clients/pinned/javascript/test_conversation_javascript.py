"""The AI SDK and the AWS SDK for JavaScript send back what the model said."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from converse_harness import ConverseServer
from tests.clients import three_turns
from tests.clients.pinned.javascript.conftest import HERE, LIMIT


@pytest.mark.parametrize(
    ("client", "operation"), [("ai-sdk", "Converse"), ("ai-sdk", "ConverseStream"), ("aws-sdk", "Converse")]
)
@pytest.mark.parametrize("first", three_turns.ANSWERS)
def test_a_tool_loop(project: Path, converse_server: ConverseServer, first: str, client: str, operation: str) -> None:
    shutil.copy(HERE / "loop.mjs", project)
    questions = (three_turns.QUESTION, three_turns.THANKS)
    with converse_server.script() as fake:
        three_turns.answer(fake, first)
        subprocess.run(
            ["node", "--no-warnings", str(project / "loop.mjs"), client, operation, three_turns.MODEL, *questions],
            env={**os.environ, **fake.environ},
            check=True,
            timeout=LIMIT,
        )
        three_turns.check(fake)
