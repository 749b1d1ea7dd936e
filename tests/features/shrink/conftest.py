"""Runs with the option, without the fresh process, which only slow tests start."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from converse_harness.features.shrink import hooks
from converse_harness.plugin.reruns.failure import Failure
from converse_harness.plugin.reruns.finished import finished_tests

HEAD = """
import functools
import boto3, json, pytest
from converse_harness import fake_converse, faults, reply

CONFIG = {"tools": [{"toolSpec": {"name": "book", "inputSchema": {"json": {"type": "object"}}}}]}


@functools.cache
def client():
    return boto3.client("bedrock-runtime", region_name="us-east-1")


def asked(text="?"):
    return {"modelId": "us.amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": text}]}]}


def ask(text="?"):
    answer = client().converse(**asked(text), toolConfig=CONFIG)
    return answer["output"]["message"]["content"][-1]


"""

Shrinking = Callable[..., list[str]]


@pytest.fixture
def confirmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scripts that a fresh process would run. It is not started; the test fails in it as in this process."""
    scripts: list[str] = []

    def failure_with(item: pytest.Item, script: str, *_: object) -> Failure | None:
        scripts.append(script)
        return finished_tests(item.config).failures[item.nodeid]

    monkeypatch.setattr(hooks, "failure_with", failure_with)
    return scripts


@pytest.fixture
def shrinking(project: pytest.Pytester, confirmed: list[str]) -> Shrinking:
    """Run a file of tests, and return the lines about it; the seconds are replaced by `*`."""

    def run(tests: str, *arguments: str, option: str = "--converse-shrink", code: int = 1) -> list[str]:
        project.makepyfile(test_it=HEAD + tests)
        result = project.runpytest_inprocess("-q", "--tb=line", option, *arguments, no_reraise_ctrlc=True)
        assert result.ret == code, result.stdout.str()
        return lines_of(result)

    return run


def lines_of(result: pytest.RunResult) -> list[str]:
    """The lines of the section, without seconds."""
    _, _, after = result.stdout.str().partition(" converse shrink ")
    lines = after.split("\n")[1:]
    end = next((at for at, line in enumerate(lines) if line.startswith(("===", "!!!")) or line.endswith("in *s")), -1)
    return [re.sub(r"\), \d+ s\.|(?<=\d), \d+ s\.", "), * s.", line) for line in lines[:end] if line]
