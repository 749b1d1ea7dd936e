"""At peace with what stops the time, runs tests in threads, traces them or replaces threads and sockets."""

from __future__ import annotations

import sys
from typing import Final

import pytest

LIMIT: Final = 60
"""Seconds after which an inner run has failed."""

AGENT: Final = """
import boto3

def ask(url=None):
    keys = dict(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
    client = boto3.client("bedrock-runtime", endpoint_url=url, **keys)
    question = dict(modelId="m", messages=[{"role": "user", "content": [{"text": "hello"}]}])
    assert len(list(client.converse_stream(**question)["stream"])) > 3
    return client.converse(**question)["output"]["message"]["content"][0]["text"]
"""

EVERYWHERE: Final = """
from agent import ask
from converse_harness import fake_converse, reply

PACED = reply.text("hi").paced(first=0.05, each=0.01).times(2)

def test_in_process(converse):
    converse.script(PACED)
    assert ask() == "hi"
    assert len(converse.calls) == 2

def test_over_a_socket(converse_server):
    with converse_server.script(PACED) as fake:
        assert ask(fake.url) == "hi"
    assert len(fake.calls) == 2

def test_without_a_fixture():
    with fake_converse(PACED) as fake:
        assert ask() == "hi"
    assert len(fake.calls) == 2
"""


def run(pytester: pytest.Pytester, test: str, *options: str, before: str = "") -> pytest.RunResult:
    """Run a test in a process of its own with nothing but ours and the plugins that are named."""
    pytester.makepyfile(agent=AGENT, test_it=test)
    pytester.makeconftest("")
    pytester.plugins = []
    with pytest.MonkeyPatch.context() as only:
        only.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        only.setenv("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false")
        only.setenv("DD_TRACE_AGENT_URL", "http://127.0.0.1:9")
        start = f"{before}\nimport sys, pytest\nsys.exit(pytest.main(sys.argv[1:]))"
        plugins = ("-p", "converse_harness.plugin", "-p", "no:cacheprovider")
        return pytester.run(sys.executable, "-c", start, *plugins, *options, timeout=LIMIT)


FROZEN: Final = {
    "freezegun": ("freezegun", 'freezegun.freeze_time("2020-01-01")'),
    "time-machine": ("time_machine", 'time_machine.travel("2020-01-01", tick=False)'),
}
FREEZING: Final = """
import pytest
import {module}
from converse_harness import ConverseServer

@pytest.fixture(autouse=True)
def frozen():
    with {stopped}:
        yield

def test_a_server_that_starts_in_it():
    with ConverseServer() as server:
        test_over_a_socket(server)
"""


@pytest.mark.parametrize("tool", FROZEN)
def test_pauses_end_while_the_time_stands_still(pytester: pytest.Pytester, tool: str) -> None:
    module, stopped = FROZEN[tool]
    run(pytester, FREEZING.format(module=module, stopped=stopped) + EVERYWHERE).assert_outcomes(passed=4)


def test_the_thread_method_of_pytest_timeout_ends_a_hanging_test(pytester: pytest.Pytester) -> None:
    options = ("-p", "pytest_timeout", "--timeout", "3", "--timeout-method", "thread")
    run(pytester, EVERYWHERE, *options).assert_outcomes(passed=3)
    hanging = """
def test_hangs(converse_server):
    with converse_server.script(PACED.paced(first=3600)) as fake:
        ask(fake.url)
"""
    result = run(pytester, EVERYWHERE + hanging, *options)
    result.stdout.fnmatch_lines(["*Timeout*", "*in test_hangs*"])


def test_under_ddtrace(pytester: pytest.Pytester) -> None:
    """Its patches of botocore and httpx are around ours, made before or after."""
    patched = "from ddtrace import patch\npatch(botocore=True, httpx=True)\n"
    run(pytester, EVERYWHERE, before=patched).assert_outcomes(passed=3)
    late = """
def test_patched_later(converse):
    from ddtrace import patch
    patch(botocore=True)
    test_in_process(converse)
"""
    options = ("-p", "ddtrace.contrib.internal.pytest.plugin", "--ddtrace")
    run(pytester, EVERYWHERE + late, *options).assert_outcomes(passed=4)


def test_after_gevent_has_patched_all(pytester: pytest.Pytester) -> None:
    greenlets = """
def test_greenlets(converse):
    import gevent
    converse.script(reply.text("hi").times(10))
    jobs = [gevent.spawn(ask) for _ in range(5)]
    gevent.joinall(jobs, timeout=10)
    assert [job.value for job in jobs] == ["hi"] * 5
"""
    result = run(pytester, EVERYWHERE + greenlets, before="from gevent import monkey\nmonkey.patch_all()")
    result.assert_outcomes(passed=4)


def test_under_pytest_run_parallel_a_fake_of_the_process_is_for_one_thread(pytester: pytest.Pytester) -> None:
    decorated = '\n@fake_converse(reply.text("hi").times(2))\ndef test_decorated():\n    assert ask() == "hi"\n'
    options = ("-p", "pytest_run_parallel.plugin", "--parallel-threads", "4", "-v")
    result = run(pytester, EVERYWHERE + decorated, *options)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "*::test_in_process PASSED [[]thread-unsafe[]]: uses a fake of converse-harness that answers every *",
            "*::test_over_a_socket PARALLEL PASSED*",
            "*::test_without_a_fixture PASSED [[]thread-unsafe[]]*",
            "*::test_decorated PASSED [[]thread-unsafe[]]*",
        ]
    )
