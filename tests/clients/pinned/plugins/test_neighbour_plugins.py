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


GREEN: Final = {
    "gevent": ("from gevent import monkey\nmonkey.patch_all()", "job.get()"),
    # without eventlet's resolver, which imports trio if it is installed: that fails after the patches, also without us
    "eventlet": (
        "import os\nos.environ['EVENTLET_NO_GREENDNS'] = 'yes'\nimport eventlet\neventlet.monkey_patch()",
        "job.wait()",
    ),
}
"""By library of greenlets: how it replaces threads and sockets, and how a greenlet gives what its function returns."""

GREENLETS: Final = """
import socket, threading, time
import pytest
from converse_harness import BlockedConnection
import {library}

def test_greenlets(converse):
    converse.script(reply.text("hi").times(40))
    jobs = [{library}.spawn(ask) for _ in range(20)]
    assert [{result} for job in jobs] == ["hi"] * 20

def test_threads_are_greenlets(converse):
    converse.script(reply.text("hi").times(10))
    said = []
    threads = [threading.Thread(target=lambda: said.append(ask())) for _ in range(5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert said == ["hi"] * 5

def test_no_retry_waits(converse):
    converse.script(reply.throttled().times(2), reply.text("hi").times(2))
    began = time.monotonic()
    assert ask() == "hi"
    assert time.monotonic() - began < 0.5
    assert len(converse.calls) == 4

def test_nothing_else_reaches_bedrock():
    with pytest.raises(BlockedConnection), fake_converse():
        socket.create_connection(("bedrock-runtime.us-east-1.amazonaws.com", 443), timeout=1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()) as kept, fake_converse():
            kept.sendmsg([b"hello"])
            assert listening.accept()[0].recv(5) == b"hello"
"""


@pytest.mark.parametrize("library", GREEN)
def test_after_a_library_of_greenlets_has_patched_all(pytester: pytest.Pytester, library: str) -> None:
    patched, result = GREEN[library]
    tests = EVERYWHERE + GREENLETS.format(library=library, result=result)
    run(pytester, tests, before=patched).assert_outcomes(passed=7)


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
