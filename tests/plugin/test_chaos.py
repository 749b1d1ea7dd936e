"""Chaos: what `--converse-chaos` reruns, how it judges, and what it leaves as it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pytest

from tests.nested import ANYIO, ASYNCIO

CONSUMER = '''
import logging

import boto3
from botocore.config import Config

LOG = logging.getLogger("consumer")
MODEL = "us.amazon.nova-lite-v1:0"


class Broken(Exception):
    """The answer is not whole."""


def client(**options):
    return boto3.client("bedrock-runtime", region_name="us-east-1", config=Config(**options))


def question(text):
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": text}]}]}


def loose(text, **options):
    """Takes what came for the whole answer."""
    stream = client(**options).converse_stream(**question(text))["stream"]
    return "".join(event.get("contentBlockDelta", {}).get("delta", {}).get("text", "") for event in stream)


def careful(text, **options):
    """Raises unless the answer came to its end."""
    said, stopped = "", False
    for event in client(**options).converse_stream(**question(text))["stream"]:
        said += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        stopped = stopped or "messageStop" in event
    if not stopped:
        raise Broken(said)
    return said


def patient(text, attempts=2):
    """Asks again when an answer breaks off."""
    for attempt in range(attempts):
        try:
            return careful(text)
        except Exception:
            if attempt == attempts - 1:
                raise


def telling(text):
    """Writes a log line, and gives what it has."""
    try:
        return careful(text)
    except Exception as error:
        LOG.warning("no whole answer: %s", error)
        return ""


def polite(text):
    """Gives the error as its result."""
    try:
        return careful(text)
    except Exception as error:
        return f"Failed: {type(error).__name__}"


def silent(text):
    """Swallows every error."""
    try:
        return careful(text)
    except Exception:
        return ""


def whole(text):
    return client().converse(**question(text))["output"]["message"]["content"][0]["text"]
'''

HEAD = """
import asyncio, unittest
import pytest
import consumer
from consumer import *
from converse_harness import fake_converse, faults, recording, reply

HI = "Hello you there, all of you."
"""

ROW = re.compile(
    r"^(?P<verdict>[a-z]+(?: [a-z]+)*?) +(?P<test>\S+::.+?)   reply (?P<reply>\d+)  (?P<fault>\w+): ", re.MULTILINE
)


def verdicts(result: pytest.RunResult) -> dict[tuple[str, int, str], str]:
    """(name of the test, number of the reply, fault) -> verdict, of a run with -v."""
    return {
        (found["test"].partition("::")[2], int(found["reply"]), found["fault"]): found["verdict"]
        for found in ROW.finditer(result.stdout.str())
    }


@pytest.fixture
def chaos(project: pytest.Pytester) -> pytest.Pytester:
    """A pytester project with the module `consumer`."""
    project.makepyfile(consumer=CONSUMER)
    return project


def run(project: pytest.Pytester, tests: str, *args: str, option: str = "") -> pytest.RunResult:
    project.makepyfile(test_it=HEAD + tests)
    return project.runpytest("-v", f"--converse-chaos{option and '='}{option}", *args)


JUDGED: Mapping[str, Mapping[str, str]] = {
    "loose(HI) == HI": {
        "no_message_stop": "not noticed",
        "cut_off": "wrong answer without an error",
        "throttled": "recovered",
        "throttle_first_frame": "raised",
        "reset": "raised",
        "stall": "raised",
        "no_metadata": "harmless",
        "empty_200": "wrong answer without an error",
        "bad_crc": "raised",
    },
    "loose(HI, read_timeout=None) == HI": {"stall": "hung"},
    "careful(HI) == HI": {"no_message_stop": "raised", "cut_off": "raised", "no_metadata": "harmless"},
    "patient(HI) == HI": {"no_message_stop": "recovered", "cut_off": "recovered", "reset": "recovered"},
    "telling(HI) in (HI, '')": {"no_message_stop": "reported", "reset": "reported"},
    "telling(HI) == HI": {"no_message_stop": "reported", "reset": "reported"},
    "polite(HI) == HI": {"no_message_stop": "reported", "reset": "reported"},
    "polite(HI)": {"no_message_stop": "not noticed", "reset": "not noticed"},
    "silent(HI) in (HI, '')": {"no_message_stop": "not noticed", "reset": "not noticed"},
    "silent(HI) == HI": {"no_message_stop": "wrong answer without an error"},
    "patient(HI) == HI and len(converse.calls) == 1": {"reset": "counted", "throttled": "counted"},
    "whole(HI) == HI": {"throttled": "recovered", "reset": "recovered", "empty_200": "raised", "stall": "recovered"},
}


LINES = "\n    "


def test_each_verdict(chaos: pytest.Pytester) -> None:
    tests = "".join(
        f"""
def test_{number}(converse):
    converse.script(reply.text(HI))
    {LINES.join(f"assert {part}" for part in asserted.split(" and "))}
"""
        for number, asserted in enumerate(JUDGED)
    )
    result = run(chaos, tests)
    result.assert_outcomes(passed=len(JUDGED))
    seen = verdicts(result)
    found = {
        asserted: {fault: seen.get((f"test_{number}", 1, fault)) for fault in faults}
        for number, (asserted, faults) in enumerate(JUDGED.items())
    }
    assert found == JUDGED
    assert ("test_11", 1, "no_message_stop") not in seen  # only a stream breaks so


KINDS = {
    "function": """
def test(converse):
    converse.script(reply.text(HI))
    assert careful(HI) == HI
""",
    "parametrised": """
@pytest.mark.parametrize("text", [HI, HI + "!"])
def test(converse, text):
    converse.script(reply.text(text))
    assert careful(HI) == text
""",
    "class": """
class TestIt:
    seen = None

    @pytest.fixture(autouse=True)
    def set_up(self, converse):
        assert self.seen is None
        self.seen = 1

    def test(self, converse):
        converse.script(reply.text(HI))
        assert careful(HI) == HI
""",
    "without a fixture": """
def test():
    with fake_converse(reply.text(HI)):
        assert careful(HI) == HI
""",
    "decorated": """
@fake_converse(reply.text(HI))
def test():
    assert careful(HI) == HI
""",
    "TestCase": """
class TestIt(unittest.TestCase):
    def setUp(self):
        self.fake = fake_converse(reply.text(HI))
        self.fake.__enter__()

    def tearDown(self):
        self.fake.close()

    def test(self):
        self.assertEqual(careful(HI), HI)
""",
    "IsolatedAsyncioTestCase": """
class TestIt(unittest.IsolatedAsyncioTestCase):
    async def test(self):
        async with fake_converse(reply.text(HI)):
            self.assertEqual(await asyncio.to_thread(careful, HI), HI)
""",
    "asyncio strict": """
@pytest.mark.asyncio
async def test(converse):
    converse.script(reply.text(HI))
    assert await asyncio.to_thread(careful, HI) == HI
""",
    "asyncio auto": """
@pytest.fixture
async def text():
    yield HI

async def test(converse, text):
    converse.script(reply.text(text))
    assert careful(HI) == text
""",
    "anyio": """
@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param

@pytest.mark.anyio
async def test(converse):
    converse.script(reply.text(HI))
    assert careful(HI) == HI
""",
    "module fixture": """
@pytest.fixture(scope="module")
def fake():
    with fake_converse() as fake:
        fake.always(reply.text("ready"))
        assert loose("warm up") == "ready"
        yield fake

def test(fake):
    fake.always(reply.text(HI))
    assert careful(HI) == HI
""",
    "server": """
def test(converse_server):
    with converse_server.script(reply.text(HI)) as fake:
        made = boto3.client("bedrock-runtime", endpoint_url=fake.url, region_name="us-east-1",
                            aws_access_key_id="a", aws_secret_access_key="b")
        stream = made.converse_stream(**question(HI))["stream"]
        said, events = "", [*stream]
        if not any("messageStop" in event for event in events):
            raise Broken
""",
}
PLUGINS: Mapping[str, Iterable[str]] = {
    "asyncio strict": ASYNCIO,
    "asyncio auto": (*ASYNCIO, "-o", "asyncio_mode=auto"),
    "anyio": ANYIO,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_test_is_rerun(chaos: pytest.Pytester, kind: str) -> None:
    result = run(chaos, KINDS[kind], *PLUGINS.get(kind, ()), option="no_message_stop,throttled,no_metadata")
    tests = 2 if kind in ("parametrised", "anyio") else 1
    result.assert_outcomes(passed=tests)
    expected = {"no_message_stop": "raised", "throttled": "recovered", "no_metadata": "harmless"}
    seen = verdicts(result)
    assert len(seen) == 3 * tests, result.stdout.str()
    assert {(fault, verdict) for (_, _, fault), verdict in seen.items()} == {*expected.items()}
    assert not result.stderr.str()
