"""What a passing test has left behind: broken agents whose tests were green, and right agents whose tests must be."""

from __future__ import annotations

import gc
from typing import Final, NamedTuple

import pytest

from converse_harness import bedrock
from converse_harness.left_behind import LEFT_BEHIND
from tests.nested import HYPOTHESIS

HEAD: Final = """
import multiprocessing, threading

import boto3, httpx, pytest
from converse_harness import ConverseServer, HttpxFake, cases, faults, fake_converse, record, reply

MESSAGES = [{"role": "user", "content": [{"text": "?"}]}]
PATH = "/model/m/converse-stream"
AWS = "https://bedrock-runtime.us-east-1.amazonaws.com"
LONG = "a long answer " * 500


def client(url=None):
    return boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=url)


def ask():
    return client().converse(modelId="m", messages=MESSAGES)


def stream(url=None):
    return client(url).converse_stream(modelId="m", messages=MESSAGES)["stream"]


def read(url=None):
    try:
        return list(stream(url))
    except Exception:
        return None


def to_the_stop(url=None):
    for event in stream(url):
        if "messageStop" in event:
            break


def swallow():
    try:
        ask()
    except BaseException:
        pass


def ends(how, *args):
    def answer(call):
        how(*args)
    return answer


def exits(call):
    raise SystemExit(3)
"""


class Row(NamedTuple):
    """The body of a test, what it is about, and its outcome: passed, failed, skipped or xfailed."""

    kind: str
    body: str
    outcome: str = ""

    @property
    def source(self) -> str:
        body = self.body if "def test" in self.body else f"def test(converse):\n    {self.body}\n"
        return f"{HEAD}\n\n{body}"

    @property
    def outcomes(self) -> dict[str, int]:
        return {self.outcome or ("failed" if LEFT_BEHIND[self.kind].verdict == "error" else "passed"): 1}


WITHOUT: Final = "def test():\n    "
SERVER: Final = "def test(converse_server):\n    "

BROKEN: Final = {
    "a stream that breaks, not read": Row(
        "fault_not_reached", 'converse.script(reply.text("a").fails_after(2, "throttlingException")); stream()'
    ),
    "one event of a stream that fails": Row(
        "fault_not_reached",
        'converse.script(reply.text("a b c d").fails_after(2, "throttlingException")); next(iter(stream()))',
    ),
    "a stream that is reset": Row(
        "fault_not_reached", 'converse.script(reply.text("a b").broken(faults.reset, after=3)); stream()'
    ),
    "as many events as come before the reset": Row(
        "fault_not_reached",
        'converse.script(reply.text("a b").broken(faults.reset, after=2)); it = iter(stream()); next(it); next(it)',
    ),
    "a frame that is wrong": Row(
        "fault_not_reached",
        'converse.script(reply.text("a b").broken(faults.bad_crc, after=2)); s = stream(); next(iter(s)); s.close()',
    ),
    "a wrong order": Row(
        "fault_not_reached", 'converse.script(reply.text("a b").broken(faults.second_block_stop)); stream()'
    ),
    "a stall": Row(
        "fault_not_reached",
        'converse.script(reply.text("a b c").broken(faults.stall, after=3)); s = stream(); next(iter(s)); s.close()',
    ),
    "a case": Row("fault_not_reached", "converse.script(cases.throttle_mid); stream()"),
    "a case for any number of calls": Row(
        "fault_not_reached", "converse.always(cases.throttle_mid.replies[0]); stream(); stream()"
    ),
    "events that end in an exception": Row(
        "fault_not_reached",
        'converse.script(reply.events([{"messageStart": {"role": "assistant"}}, '
        '{"throttlingException": {"message": "later"}}])); next(iter(stream()))',
    ),
    "a function that answers with a break": Row(
        "fault_not_reached", 'converse.always(lambda call: reply.text("a").error_frame_after(1, "x", "y")); stream()'
    ),
    "a break in httpx": Row(
        "fault_not_reached",
        'converse.script(reply.text("a").fails_after(2, "throttlingException"))\n'
        '    with httpx.stream("POST", AWS + PATH, json={"messages": MESSAGES}): pass',
    ),
    "a break over the server": Row(
        "fault_not_reached",
        SERVER + "huge = reply.text('x' * 6_000_000, pieces=['x' * 1_000_000] * 6)  # more than sockets hold\n"
        "    with converse_server.script(huge.fails_after(6, 'throttlingException')) as fake:\n"
        "        s = stream(fake.url); next(iter(s)); s.close()",
    ),
    "pytest.fail": Row("function_ended", 'converse.script(ends(pytest.fail, "wrong prompt")); swallow()'),
    "SystemExit": Row("function_ended", "converse.script(exits); swallow()"),
    "pytest.fail in a condition": Row(
        "function_ended", 'converse.when(ends(pytest.fail, "no")).always(reply.text("a")); swallow()'
    ),
    "pytest.fail in a with": Row(
        "function_ended",
        WITHOUT + 'with fake_converse(ends(pytest.fail, "wrong prompt")):\n        swallow()',
    ),
    "pytest.fail over the server": Row(
        "function_ended",
        SERVER + 'with converse_server.script(ends(pytest.fail, "wrong prompt")) as fake:\n        read(fake.url)',
    ),
    "pytest.skip": Row("function_ended", 'converse.script(ends(pytest.skip, "no")); swallow()', "skipped"),
    "pytest.xfail": Row("function_ended", 'converse.script(ends(pytest.xfail, "no")); swallow()', "xfailed"),
    "a stream not read": Row("stream_not_read", 'converse.script(reply.text("a long answer")); stream()'),
    "a stream left in the middle": Row(
        "stream_not_read", 'converse.always(reply.text("a long answer")); s = stream(); next(iter(s)); s.close()'
    ),
    "a stream of httpx left at once": Row(
        "stream_not_read",
        'converse.script(reply.text("a"))\n'
        '    with httpx.stream("POST", AWS + PATH, json={"messages": MESSAGES}): pass',
    ),
    "one of two that break was read": Row(
        "stream_not_read", "converse.always(cases.throttle_mid.replies[0]); read(); stream()"
    ),
    "a long stream over the server": Row(
        "stream_not_read",
        SERVER + "with converse_server.script(reply.text(LONG * 200)) as fake:\n"
        '        with httpx.stream("POST", fake.url + PATH, json={"messages": MESSAGES}): pass',
    ),
    "4,000 characters over the server": Row(
        "stream_not_read",
        SERVER + "with converse_server.script(reply.text('abcd ' * 800)) as fake:\n"
        '        with httpx.stream("POST", fake.url + PATH, json={"messages": MESSAGES}): pass',
    ),
    "always, never asked": Row("no_call", 'converse.always(reply.text("a"))'),
    "when, never asked": Row("no_call", 'converse.when(model="*haiku*").always(reply.text("a"))'),
    "a generator that nobody iterates": Row("no_call", 'converse.always(reply.text("a")); (ask() for _ in range(3))'),
    "a loop over no calls": Row("no_call", "for call in converse.calls: assert call.number > 100"),
    "a fake of the test": Row(
        "no_call", WITHOUT + 'with fake_converse() as fake:\n        fake.always(reply.text("a"))'
    ),
    "a fake on the server": Row("no_call", SERVER + 'converse_server.script().always(reply.text("a"))'),
    "left open": Row(
        "left_open",
        'def test():\n    global F; F = fake_converse(reply.text("left")); F.open(); ask()',
    ),
    "left open, of httpx": Row(
        "left_open",
        'def test():\n    global F; F = HttpxFake(reply.text("left")).open()\n'
        '    httpx.post(AWS + "/model/m/converse", json={"messages": MESSAGES})',
    ),
    "left open by the setup of a class": Row(
        "left_open",
        """class TestIt:
    def setup_class(cls): cls.fake = fake_converse().open(); cls.fake.always(reply.text("left"))
    def test_it(self): ask()

def teardown_module():
    from converse_harness.intercept.fake import open_fakes
    assert not open_fakes()""",
    ),
    "left open, on a server of the test": Row(
        "left_open",
        'def test():\n    global F; F = ConverseServer().start(); f = F.script(reply.text("left")); read(f.url)',
    ),
    "left open and not used": Row(
        "reply_unused", 'def test():\n    global F; F = fake_converse(reply.text("left")).open()'
    ),
    "left open by a test that skips": Row(
        "left_open", 'def test():\n    global F; F = fake_converse(reply.text("a")).open(); pytest.skip()', "skipped"
    ),
    "left open by a test that exits": Row(
        "left_open", "def test():\n    global F; F = fake_converse().open(); raise SystemExit(3)", "failed"
    ),
    "not opened": Row("not_opened", WITHOUT + 'fake_converse(reply.text("a"))'),
    "examples": Row(
        "left_between_examples",
        """from hypothesis import HealthCheck, given, settings, strategies as st
COUNTS = iter([0, 2] * 50)

@settings(suppress_health_check=list(HealthCheck), max_examples=4, database=None, deadline=None)
@given(st.integers())
def test(converse, number):
    converse.script(reply.text("one"))
    for _ in range(next(COUNTS)):
        ask()
""",
    ),
}

RIGHT: Final = {
    "a stream read to its end": 'converse.script(reply.text("a")); read()',
    "a client that stops at messageStop": 'converse.script(reply.text("a long answer")); to_the_stop()',
    "a break behind messageStop": 'converse.script(reply.text("a").broken(faults.garbage_after_end)); to_the_stop()',
    "a break that is caught": 'converse.script(reply.text("a b").fails_after(2, "throttlingException")); read()',
    "a wrong frame that is caught": 'converse.script(reply.text("a b").broken(faults.bad_crc, after=2)); read()',
    "a reset that is caught": 'converse.script(reply.text("a b").broken(faults.reset, after=0)); read()',
    "a stall": 'converse.script(reply.text("a b").broken(faults.stall, after=1)); read()',
    "a break for converse": 'converse.script(reply.text("a b").fails_after(2, "validationException")); swallow()',
    "an error before the stream": "converse.script(reply.access_denied()); read()",
    "a retry": 'converse.script(reply.throttled(), reply.text("a")); read()',
    "no answer": 'converse.script(reply.connection_refused().times(5).optional(), reply.text("a").optional()); read()',
    "JSON in place of the stream": 'converse.script(reply.text("a").broken(faults.json_for_stream)); read()',
    "JSON that the agent looks at and leaves": 'converse.script(reply.text("a").broken(faults.json_for_stream))\n'
    '    with httpx.stream("POST", AWS + PATH, json={"messages": MESSAGES}): pass',
    "an answer that may stay unread": 'converse.script(reply.text("a").optional()); stream()',
    "a break that may stay unread": "converse.script(cases.throttle_mid.replies[0].optional()); stream()",
    "unused allowed": """@pytest.mark.converse(unused="allow")
def test(converse):
    converse.script(cases.throttle_mid); stream()""",
    "no call, unused allowed": '@pytest.mark.converse(unused="allow")\ndef test(converse):\n    pass',
    "a client that gives up waiting": 'converse.script(reply.text("a b").paced(each=90)); read()',
    "a break that one of two clients got": "converse.script(cases.throttle_mid); read()",
    "an assert that there is no call": "assert not converse.calls",
    "an assert of the number": "assert len(converse.calls) == 0",
    "an assert of no calls": "assert converse.calls == []",
    "an assert of all calls": "assert not converse.calls.all",
    "an assert of one operation": 'assert not converse.calls.of("InvokeModel")',
    "a stub that is not needed": 'converse.when(model="x*").always(reply.text("a")); '
    'converse.always(reply.text("b")); ask()',
    "CountTokens only": 'converse.always(reply.text("a")); client().count_tokens('
    'modelId="anthropic.claude-sonnet-4-6", input={"converse": {"messages": MESSAGES}})',
    "a fake as a guard": WITHOUT + "with fake_converse(): pass",
    "the client and no call": "def test(converse_client):\n    pass",
    "an autouse fixture": """@pytest.fixture(autouse=True)
def everywhere(converse):
    converse.always(reply.text("a"))

def test():
    pass""",
    "an autouse fixture with a fake of its own": """@pytest.fixture(autouse=True)
def everywhere():
    with fake_converse() as fake:
        fake.always(reply.text("a"))
        yield

def test():
    pass""",
    "a fixture between": """@pytest.fixture
def model(converse):
    converse.always(reply.text("a"))
    return converse

def test(model):
    pass""",
    "usefixtures": '@pytest.mark.usefixtures("converse")\n' + WITHOUT + "pass",
    "replies that are optional": 'converse.script(reply.text("a").optional())',
    "a when that is refused": "with pytest.raises(ValueError): converse.when(turn=1).script(5)",
    "a decorated class": "@fake_converse()\nclass TestAgent:\n    def test(self):\n        pass",
    "setUp of unittest": """import unittest

class TestAgent(unittest.TestCase):
    def setUp(self):
        self.fake = self.enterContext(fake_converse())
        self.fake.always(reply.text("a"))

    def test(self):
        pass""",
    "examples without a call": """from hypothesis import given, settings, strategies as st

@settings(max_examples=3, database=None, deadline=None)
@given(st.lists(st.integers(), max_size=0))
def test(texts):
    with fake_converse() as fake:
        fake.always(reply.text("a"))
        for text in texts:
            ask()""",
    "examples that use all": """from hypothesis import HealthCheck, given, settings, strategies as st

@settings(suppress_health_check=list(HealthCheck), max_examples=3, database=None, deadline=None)
@given(st.integers())
def test(converse, number):
    converse.script(reply.text("one")); ask()""",
    "a fake of a wider scope that a test asks for late": """OPEN = []

@pytest.fixture(scope="module")
def model():
    with fake_converse() as fake:
        fake.always(reply.text("a"))
        OPEN.append(fake)
        yield fake

def test(request):
    request.getfixturevalue("model")

def test_again():
    assert ask()
    assert "open" in repr(OPEN[0])""",
    "a fake of the server left open": SERVER + 'read(converse_server.script(reply.text("a")).url)',
    "a fake on a server of a fixture": """@pytest.fixture
def server():
    with ConverseServer() as server:
        yield server

def test(server):
    read(server.script(reply.text("a")).url)""",
    "a decorated helper that is not called": '@fake_converse(reply.text("a"))\ndef helper(): pass\n\n'
    + WITHOUT
    + "pass",
    "a read over the server": SERVER
    + "with converse_server.script(cases.throttle_mid) as fake:\n        read(fake.url)",
    "a stop over the server": SERVER
    + "with converse_server.script(reply.text('a')) as fake:\n        to_the_stop(fake.url)",
    "Ctrl-C stays what it is": """def ctrl_c(call):
    raise KeyboardInterrupt

def test(converse):
    converse.script(ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        ask()""",
    "a timeout of gevent": """class Timeout(BaseException):
    __module__ = "gevent.timeout"

def late(call):
    raise Timeout

def test(converse):
    converse.script(late)
    with pytest.raises(Timeout):
        ask()""",
}


def _run(project: pytest.Pytester, source: str) -> pytest.RunResult:
    project.makepyfile(test_it=source)
    result = project.runpytest_inprocess(
        *HYPOTHESIS, "-p", "no:cacheprovider", "-W", "default::converse_harness.FakeNotOpenWarning"
    )
    if "server" in source:
        gc.collect()  # the sockets of broken agents, while their warnings are ignored
    return result


SLOW: Final = ("a break over the server",)  # it sends more than the buffers of sockets hold


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # the agents are broken
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=name, marks=[pytest.mark.slow] * (name in SLOW)) for name, row in BROKEN.items()]
)
def test_a_broken_agent_is_told(project: pytest.Pytester, row: Row) -> None:
    result = _run(project, row.source)
    result.assert_outcomes(**row.outcomes, **({"warnings": 1} if row.kind == "not_opened" else {}))
    verdict, text = LEFT_BEHIND[row.kind].verdict, result.stdout.str()
    assert (f"\n{row.kind}, in 1 test\n" in text) == (verdict == "note")
    said = LEFT_BEHIND[row.kind].text.partition("{")[2].partition("} ")[2].partition(".")[0].partition("{")[0].strip()
    assert said in " ".join(text.split()) or row.outcome in ("skipped", "xfailed")


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_a_right_agent_is_not_told(project: pytest.Pytester, body: str) -> None:
    if "count_tokens" in body and "CountTokens" not in bedrock.operations():
        pytest.skip("this botocore has no CountTokens")
    result = _run(project, Row("", body).source)
    assert result.ret == 0, result.stdout.str()
    result.stdout.no_fnmatch_line("*converse notes*")
    result.stdout.no_fnmatch_line("*warning*")
