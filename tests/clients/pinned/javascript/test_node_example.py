"""The documented test of an agent in JavaScript passes, run as its first lines say; and fails where it must."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "node" / "weather.example.mjs"


@pytest.fixture
def serve() -> Iterator[str]:
    """The URL of a `converse-harness serve`."""
    command = shutil.which("converse-harness", path=sysconfig.get_path("scripts"))
    assert command is not None
    with subprocess.Popen([command, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            found = re.search(r"http://\S+", first)
            assert found is not None, first
            yield found[0]
        finally:
            process.terminate()
            process.stdout.read()


def run(example: Path, url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", "--no-warnings", "--test", "--test-reporter=tap", str(example)],
        env={**os.environ, "CONVERSE_HARNESS_URL": url},
        cwd=example.parent,
        check=False,
        capture_output=True,
        text=True,
    )


def test_passes(project: Path, serve: str) -> None:
    done = run(Path(shutil.copy(EXAMPLE, project)), serve)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^# pass 3$", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^# skipped 0$", done.stdout, re.MULTILINE), done.stdout


def test_keeps_tests_apart_that_run_at_the_same_time(project: Path, serve: str) -> None:
    """Each of them eight times, all at once: their answers differ, and each looks at its own calls."""
    text = EXAMPLE.read_text(encoding="utf-8").replace("  test(", "  for (let n = 0; n < 8; n++) test(")
    many = project / "many.test.mjs"
    many.write_text(text, encoding="utf-8")
    done = run(many, serve)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^# pass 24$", done.stdout, re.MULTILINE), done.stdout


def test_says_which_reply_was_not_used(project: Path, serve: str) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace('{ text: "ok" });', '{ text: "ok" }, { text: "too much" });')
    broken = project / "broken.test.mjs"
    broken.write_text(text, encoding="utf-8")
    done = run(broken, serve)
    assert done.returncode == 1
    assert re.search(r"^# fail 1$", done.stdout, re.MULTILINE), done.stdout
    assert 'text "too much"' in done.stdout
