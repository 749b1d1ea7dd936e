"""Chaos: what `--converse-chaos` reruns, how it judges, and what it leaves as it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from converse_harness.cases import CASES
from converse_harness.features.chaos import damage, from_cases, hooks, verdict
from converse_harness.intercept.boto.sync import holds_bodies_to_their_length
from converse_harness.plugin.reruns import finished
from tests.nested import ANYIO, ASYNCIO, HYPOTHESIS, XDIST
from tests.plugin.upstream import Upstream

CONSUMER = '''
import functools
import logging

import boto3
from botocore.config import Config

LOG = logging.getLogger("consumer")
MODEL = "us.amazon.nova-lite-v1:0"


class Broken(Exception):
    """The answer is not whole."""


@functools.cache
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


def stubborn(text):
    """Asks again for ever."""
    while True:
        try:
            return careful(text)
        except Exception:
            pass


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


CLOSED = "recovered" if holds_bodies_to_their_length() else "raised"
_BOTH = ("throttled_until_given_up", "context_overflow", "stop_max_tokens", "throttled", "reset", "stall")
_AND = ("stop_content_filtered", "empty_200", "internal_server_error", "closed")
WHOLE = (*_BOTH, *_AND)
STREAM = (
    *WHOLE,
    *("no_message_stop", "cut_off", "throttle_first_frame", "model_stream_error", "overflow_mid", "bad_crc"),
    "no_metadata",
)
WRONG = "wrong answer without an error"
OVERFLOWS = ("context_overflow", "overflow_mid")


def every(usual: str, *, faults: Iterable[str] = STREAM, **others: str) -> dict[str, str]:
    """The verdict on each fault.

    botocore itself asks again before a stream, the usage may always be missing, and of a stop reason the consumers tell
    nobody, as many do that are right.
    """
    before = {
        "throttled": "recovered",
        "internal_server_error": "recovered",
        "no_metadata": "harmless",
        "stop_max_tokens": "not shown",
        "stop_content_filtered": "not shown",
    }
    return {fault: others.get(fault, before.get(fault, usual)) for fault in faults}


JUDGED: Mapping[str, Mapping[str, str]] = {
    "loose(HI) == HI": every("raised", no_message_stop="not noticed", cut_off=WRONG, empty_200=WRONG),
    "loose(HI, read_timeout=None) == HI": every(
        "raised", no_message_stop="not noticed", cut_off=WRONG, empty_200=WRONG, stall="hung"
    ),
    "careful(HI) == HI": every("raised"),
    # the same request is always too long, and twice is not often enough for a busy service
    "patient(HI) == HI": every("recovered", throttled_until_given_up="raised", **dict.fromkeys(OVERFLOWS, "raised")),
    "patient(HI, 20) == HI": every("recovered", **dict.fromkeys(OVERFLOWS, "raised")),
    "telling(HI) in (HI, '')": every("reported"),
    "telling(HI) == HI": every("reported"),
    "polite(HI) == HI": every("reported"),
    "polite(HI)": every("not noticed"),
    "silent(HI) in (HI, '')": every("not noticed"),
    "silent(HI) == HI": every(WRONG),
    "patient(HI) == HI and len(converse.calls) == 1": every(
        "counted",
        **dict.fromkeys(("throttled", "internal_server_error"), "counted"),
        **dict.fromkeys(("throttled_until_given_up", *OVERFLOWS), "raised"),
    ),
    "stubborn(HI) == HI": every("recovered", **dict.fromkeys(OVERFLOWS, "hung")),
    # botocore takes a body that is shorter than its Content-Length, since 1.41; the rest of the members is missing.
    "whole(HI) == HI": every(
        "recovered",
        faults=WHOLE,
        empty_200="raised",
        closed=CLOSED,
        throttled_until_given_up="raised",
        context_overflow="raised",
    ),
}
"""What a test asserts of a consumer -> the verdict on each fault, found by reading the consumer."""

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
        asserted: {fault: verdict for (name, _, fault), verdict in seen.items() if name == f"test_{number}"}
        for number, asserted in enumerate(JUDGED)
    }
    assert found == JUDGED


def test_code_that_waits_before_it_asks_again_is_answered(
    chaos: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_SLEEPS", -1.0)  # any time is long enough
    tests = """
def test(converse):
    converse.script(reply.text(HI))
    assert patient(HI) == HI

def test_client(converse):
    converse.script(reply.text(HI))
    assert careful(HI) == HI
"""
    found = verdicts(run(chaos, tests, option="throttled_until_given_up,context_overflow"))
    assert found == {
        ("test", 1, "throttled_until_given_up"): "recovered",
        ("test_client", 1, "throttled_until_given_up"): "raised",  # the attempts of the client itself do not count
        ("test", 1, "context_overflow"): "raised",
        ("test_client", 1, "context_overflow"): "raised",
    }


def test_what_may_be_ignored_is_what_the_cases_allow() -> None:
    placed = [
        (placement.fault.name, case.required) for case in CASES.values() for placement in case.reply.plan.placements
    ]
    not_whole = ("Treat the answer as broken off", "Ask again", "Give up")
    allowed = {name for name, required in placed if not required.startswith(not_whole)}
    assert len(placed) > 40
    assert allowed == from_cases.MAY_BE_IGNORED & {name for name, _ in placed}


def test_unpacking_calls_counts_them(chaos: pytest.Pytester) -> None:
    tests = """
def test(converse):
    converse.script(reply.text(HI))
    assert patient(HI) == HI
    (call,) = converse.calls
    assert call.last_user_text == HI
"""
    found = verdicts(run(chaos, tests, option="cut_off,throttled"))
    assert found == {("test", 1, "cut_off"): "counted", ("test", 1, "throttled"): "counted"}


def test_other_tools_ask_something_else(chaos: pytest.Pytester) -> None:
    tests = """
def ask(*names):
    tools = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in names]
    said = client().converse(**question("hello"), toolConfig={"tools": tools})
    return said["output"]["message"]["content"][0]["text"]

def test(converse):
    converse.script(reply.text("one"), reply.text("two"))
    assert ask("a") == "one"
    assert ask("b") == "two"
"""
    found = verdicts(run(chaos, tests, option="throttled"))
    assert found == {("test", 1, "throttled"): "recovered", ("test", 2, "throttled"): "recovered"}


def test_each_file_is_shown_before_a_second_test(chaos: pytest.Pytester) -> None:
    test = """
def test_{}(converse):
    converse.script(reply.text(HI))
    assert loose(HI) == HI
"""
    many = HEAD + "".join(test.format(name) for name in "abcde")
    chaos.makepyfile(test_first=many, test_second=many)
    result = chaos.runpytest("--converse-chaos=no_message_stop")
    shown = re.findall(r"^NOT NOTICED   (\S+)   reply", result.stdout.str(), re.MULTILINE)
    assert shown == ["test_first.py::test_a", "test_second.py::test_a", "test_first.py::test_b"]


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
        assert vars(self).pop("seen") == 1  # of an object of its own
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


LEFT_OUT = """
from hypothesis import given, strategies as st

@given(st.just(1))
def test_given(number):
    with fake_converse(reply.text(HI)):
        assert loose(HI) == HI

@pytest.mark.xfail(strict=False)
def test_xfail(converse):
    converse.script(reply.text(HI))
    assert loose(HI) == HI

def test_faults(converse):
    converse.script(reply.text(HI).broken(faults.no_metadata))
    assert loose(HI) == HI

def test_errors(converse):
    converse.script(reply.throttled(), reply.text(HI))
    assert loose(HI) == HI

@pytest.mark.converse(unexpected="allow")
def test_refused(converse):
    converse.script(reply.text(HI))
    with pytest.raises(Exception, match="ValidationException"):
        client().converse(modelId=MODEL, messages=[{"role": "user", "content": []}])
    assert loose(HI) == HI

def test_subtests(converse, subtests):
    converse.script(reply.text(HI))
    with subtests.test("a"):
        assert loose(HI) == HI

class TestCase(unittest.TestCase):
    def test_subtests(self):
        with self.subTest("a"), fake_converse(reply.text(HI)):
            assert loose(HI) == HI

@pytest.mark.converse(rerun=False)
def test_unwilling(converse):
    converse.script(reply.text(HI))
    assert loose(HI) == HI

def test_fails(converse):
    converse.script(reply.text(HI))
    assert loose(HI) == ""

def test_without_fake():
    pass
"""


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="an older pytest has no fixture subtests")
def test_tests_that_are_left_out_are_counted(chaos: pytest.Pytester) -> None:
    result = run(chaos, LEFT_OUT, *HYPOTHESIS, option="no_message_stop")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "0 reruns of 0 tests in 0 s: none",
            "left out      1 with @given, 1 with calls that are refused or not scripted, *, 1 with xfail",
        ]
    )


UNSEEN = """
import os, time

RUNS = []

def test(converse, record_property, record_xml_attribute, record_testsuite_property, tmp_path, capsys):
    RUNS.append(tmp_path)
    record_property("runs", len(RUNS))
    record_xml_attribute("seen", str(len(RUNS)))
    record_testsuite_property("run", len(RUNS))
    assert len(RUNS) == len(set(RUNS))
    converse.script(reply.text(HI))
    assert loose(HI) == HI
    with open("runs", "a") as file:
        file.write("x")
    if len(RUNS) > 1:
        import warnings
        warnings.warn("seen by nobody")

@pytest.fixture(scope="session", autouse=True)
def session():
    yield
    with open("sessions", "a") as file:
        file.write("x")
"""


JUNIT = (
    *("--junit-xml=junit.xml", "-o", "junit_family=xunit1"),
    *("-W", "default", "-W", "ignore:record_xml_attribute:pytest.PytestExperimentalApiWarning"),
)


def test_nobody_sees_a_rerun(chaos: pytest.Pytester) -> None:
    def left(path: Path) -> dict[str, bytes]:
        kept = [each for each in path.rglob("*") if each.is_file() and ".pytest_cache" in str(each)]
        return {str(each.relative_to(path)): each.read_bytes() for each in kept}

    arguments = [*JUNIT, "--durations=0", "-o", "log_cli=true", "-p", "cacheprovider"]
    chaos.makepyfile(test_it=HEAD + UNSEEN)
    alone = chaos.runpytest(*arguments)
    before = left(chaos.path), re.sub(r'(time|timestamp)="[^"]*"', "", (chaos.path / "junit.xml").read_text())
    for name in ("runs", "sessions"):
        (chaos.path / name).unlink()
    result = chaos.runpytest(*arguments, "--converse-chaos=throttled,no_message_stop")
    after = left(chaos.path), re.sub(r'(time|timestamp)="[^"]*"', "", (chaos.path / "junit.xml").read_text())
    assert after == before
    assert (chaos.path / "runs").read_text() == "xxxx"  # its own, once more without damage, and one for each fault
    assert (chaos.path / "sessions").read_text() == "xx"
    assert alone.ret == result.ret == 0
    result.stdout.fnmatch_lines(["2 reruns of 1 test in ? s: 1 recovered, 1 not noticed", "*= 1 passed in *"])
    assert "1 warning" not in result.stdout.str()


def test_a_test_that_does_not_repeat_itself_is_named_and_left(chaos: pytest.Pytester) -> None:
    result = run(
        chaos,
        """
SEEN = []

def test_calls(converse):
    SEEN.append(1)
    converse.script(reply.text(HI))
    assert loose(f"question {len(SEEN)}") == HI

def test_outcome(converse):
    converse.script(reply.text(HI))
    assert loose(HI) == HI
    SEEN.append(2)
    assert SEEN.count(2) == 1
""",
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "0 reruns of 0 tests in 0 s: none; 2 tests are not repeatable",
            (
                "not repeatable test_it.py::test_calls: other calls: messages[[]0].content[[]0].text "
                '"question *" -> "question *"'
            ),
            "not repeatable test_it.py::test_outcome: call failed",
        ]
    )


HANGS = """
import time

def test_hangs(converse):
    converse.script(reply.text(HI))
    try:
        assert careful(HI) == HI
    except Broken:
        while True:
            try:
                time.sleep(100)
            except Exception:
                pass

@pytest.mark.asyncio
async def test_hangs_in_a_loop(converse):
    converse.script(reply.text(HI))
    try:
        assert careful(HI) == HI
    except Broken:
        await asyncio.Event().wait()

def test_next(converse):
    converse.script(reply.text(HI))
    assert careful(HI) == HI
"""


def test_what_hangs_is_ended_and_named(chaos: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finished, "_AT_LEAST", 0.1)
    result = run(chaos, HANGS, *ASYNCIO, option="no_message_stop,throttled")
    assert verdicts(result) == {
        ("test_hangs", 1, "no_message_stop"): "hung",
        ("test_hangs", 1, "throttled"): "recovered",
        ("test_hangs_in_a_loop", 1, "no_message_stop"): "hung",
        ("test_hangs_in_a_loop", 1, "throttled"): "recovered",
        ("test_next", 1, "no_message_stop"): "raised",
        ("test_next", 1, "throttled"): "recovered",
    }
    assert result.ret == 0


STRICT = """
def test(converse):
    converse.script(reply.text(HI))
    assert {} == HI
"""


@pytest.mark.parametrize(("consumer", "code"), [("loose(HI)", 1), ("careful(HI)", 0)])
@pytest.mark.parametrize("more", [(), pytest.param((*XDIST, "-n1"), marks=pytest.mark.slow)], ids=["here", "xdist"])
def test_strict_fails_the_run(chaos: pytest.Pytester, consumer: str, code: int, more: tuple[str, ...]) -> None:
    result = run(chaos, STRICT.format(consumer), *more, "--converse-chaos-strict", option="no_message_stop")
    result.assert_outcomes(passed=1)
    assert result.ret == code


@pytest.mark.slow
def test_each_worker_of_xdist_reruns_its_own_tests(chaos: pytest.Pytester) -> None:
    tests = """
@pytest.mark.parametrize("number", range(6))
def test(converse, number):
    converse.script(reply.text(HI))
    assert loose(f"question {number}") == HI
"""
    result = run(chaos, tests, *XDIST, "-n2", "--converse-chaos-strict", option="no_message_stop,throttled")
    result.assert_outcomes(passed=6)
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # six of the reruns were not noticed
    assert len(verdicts(result)) == 12
    result.stdout.fnmatch_lines(["12 reruns of 6 tests in * s: 6 recovered, 6 not noticed"])


def test_the_same_seed_gives_the_same_reruns_in_the_same_order(chaos: pytest.Pytester) -> None:
    tests = """
import consumer

@pytest.mark.parametrize("number", range(5))
def test(converse, number):
    converse.script(reply.text(HI))
    assert loose(f"question {number}") == HI
    with open("order", "a") as file:
        print(number, converse.calls[0].summary, file=file)
"""

    def order(*args: str) -> str:
        run(chaos, tests, *args, option="no_message_stop,throttled,reset,no_metadata,cut_off")
        text = (chaos.path / "order").read_text()
        (chaos.path / "order").unlink()
        return text

    first = order()
    assert order() == first
    assert order("--converse-seed=7") != first


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            "no_message_stp",
            "no file or folder of tests that is there, and no fault. Did you mean no_message_stop or no_message_start ",
        ),
        ("rest", "Did you mean reset? The usual faults: throttled_until_given_up, "),
        ("max_tokens", "Did you mean stop_max_tokens or "),
        ("xyz", "and no fault. The usual faults: throttled_until_given_up, "),
        ("0s", "'0s' is no number of seconds"),
        ("", "'' is no number of seconds"),
    ],
)
def test_another_value_is_refused(chaos: pytest.Pytester, value: str, says: str) -> None:
    chaos.makepyfile("def test(): pass")
    result = chaos.runpytest(f"--converse-chaos={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert says in result.stderr.str()


def test_strict_without_chaos_is_refused(chaos: pytest.Pytester) -> None:
    chaos.makepyfile("def test(): pass")
    result = chaos.runpytest("--converse-chaos-strict")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--converse-chaos-strict came without --converse-chaos. Give both options." in result.stderr.str()


def test_a_path_limits_the_reruns(chaos: pytest.Pytester) -> None:
    test = HEAD + STRICT.format("loose(HI)")
    (chaos.path / "sub").mkdir()
    (chaos.path / "sub" / "test_there.py").write_text(test)
    chaos.makepyfile(test_here=test)
    result = chaos.runpytest("-v", "--converse-chaos=sub,throttled,600s")
    result.assert_outcomes(passed=2)
    assert verdicts(result) == {("test", 1, "throttled"): "recovered"}
    result.stdout.fnmatch_lines(["recovered*sub/test_there.py::test *"])


def test_what_the_budget_does_not_reach_is_counted(chaos: pytest.Pytester) -> None:
    result = run(chaos, STRICT.format("loose(HI)"), option="0.000001s,throttled,no_metadata")
    result.stdout.fnmatch_lines(["not reached   2 reruns within --converse-chaos=*; give it more seconds"])


TENACITY = """
import sys, time, types

tenacity = types.ModuleType("tenacity")


class DoSleep(float):
    pass


tenacity.DoSleep = DoSleep
sys.modules["tenacity"] = tenacity


def retried(text):
    for attempt in range(3):
        try:
            return careful(text)
        except Exception:
            time.sleep(tenacity.DoSleep(100))


def test(converse):
    converse.script(reply.text(HI))
    assert retried(HI) == HI
    assert tenacity.DoSleep(1) == (0 if "__new__" in vars(DoSleep) else 1)
"""


def test_retries_of_tenacity_wait_in_no_time(chaos: pytest.Pytester) -> None:
    result = run(chaos, TENACITY, option="no_message_stop,reset")
    assert set(verdicts(result).values()) == {"recovered"}
    assert "asleep" not in result.stdout.str()


def test_recorded_tests_are_rerun_and_record_nothing(upstream: Upstream) -> None:
    project = upstream.project
    project.makepyfile(
        """
        import pytest
        from agent import client, ask

        @pytest.mark.converse_recording
        def test(converse):
            assert ask("hello") == "hello!"

        @pytest.mark.converse_recording
        def test_stream():
            asked = {"modelId": "us.amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "?"}]}]}
            assert "messageStop" in str(list(client().converse_stream(**asked)["stream"]))
            assert ask("bye") == "bye!"  # not reached in some reruns
        """
    )
    upstream.record().assert_outcomes(passed=2)
    before = {path: path.read_bytes() for path in (project.path / "recordings").rglob("*") if path.is_file()}
    result = upstream.replay("-v", "--converse-chaos=throttled,reset,no_message_stop")
    result.assert_outcomes(passed=2)
    assert verdicts(result) == {
        ("test", 1, "throttled"): "recovered",
        ("test", 1, "reset"): "recovered",
        ("test_stream", 1, "throttled"): "recovered",
        ("test_stream", 1, "reset"): "raised",
        ("test_stream", 1, "no_message_stop"): "wrong answer without an error",
        ("test_stream", 2, "throttled"): "recovered",
        ("test_stream", 2, "reset"): "recovered",
    }
    assert {path: path.read_bytes() for path in (project.path / "recordings").rglob("*") if path.is_file()} == before
    assert "unplayed" not in result.stdout.str()


TWICE = """
def toss(*told):
    messages = [*told, *question("toss")["messages"]]
    return client().converse(modelId=MODEL, messages=messages)["output"]["message"]["content"][0]["text"]

def test_two_equal_questions(converse):
    converse.script(reply.text("heads"), reply.text("tails"))
    assert [toss(), toss()] == ["heads", "tails"]

def test_until_the_stop(converse):
    def read():
        said = ""
        for event in client().converse_stream(**question("toss"))["stream"]:
            said += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
            if "messageStop" in event:
                return said
    converse.script(reply.text("heads"), reply.text("tails"))
    assert [read(), read()] == ["heads", "tails"]
"""


def test_a_question_is_no_repetition_once_its_answer_was_read(chaos: pytest.Pytester) -> None:
    found = verdicts(run(chaos, TWICE, option="throttled"))
    assert found == {
        (test, number, "throttled"): "recovered"
        for test in ("test_two_equal_questions", "test_until_the_stop")
        for number in (1, 2)
    }


SHORTER = """
def told(text):
    return [{"role": "user", "content": [{"text": text}]}, {"role": "assistant", "content": [{"text": "yes"}]}]

def shorter(fallback=None, summarise=False):
    messages, model = [*told("old"), *question("new")["messages"]], MODEL
    while True:
        try:
            answer = client().converse(modelId=model, messages=messages)["output"]["message"]["content"]
        except Exception as error:
            if summarise:
                client().converse(modelId=model, messages=[*messages[:-1], *question("sum it up")["messages"]])
            messages, model = (messages, fallback) if fallback else (messages[-1:], model)
        else:
            return answer[0]["text"]

def test_drops_what_was_said(converse):
    converse.script(reply.text("one"), reply.text("two"))
    assert [shorter(), shorter()] == ["one", "two"]

def test_sums_up(converse):
    converse.script(reply.text("one"), reply.text("two"))
    assert [shorter(summarise=True), loose("bye")] == ["one", "two"]

def test_asks_another_model(converse):
    converse.script(reply.text("one"), reply.text("two"))
    assert [shorter("amazon.nova-pro-v1:0"), loose("bye")] == ["one", "two"]
"""


def test_what_asks_the_same_otherwise_gets_the_answer(chaos: pytest.Pytester) -> None:
    found = verdicts(run(chaos, SHORTER, option="context_overflow"))
    assert {test: verdict for (test, number, _), verdict in found.items() if number == 1} == dict.fromkeys(
        ("test_drops_what_was_said", "test_sums_up", "test_asks_another_model"), "recovered"
    )


TOOLS = '''
import json


def agent(city, check=True):
    """A loop with one tool. It tells the model of an input that is no JSON, if it checks."""
    messages = [{"role": "user", "content": [{"text": city}]}]
    tools = {"tools": [{"toolSpec": {"name": "book", "inputSchema": {"json": {"type": "object"}}}}]}
    booked = []
    while True:
        tool, text, given, stop = None, "", "", None
        asked = {"modelId": MODEL, "messages": messages, "toolConfig": tools}
        for event in client().converse_stream(**asked)["stream"]:
            if "contentBlockStart" in event:
                tool = event["contentBlockStart"]["start"]["toolUse"]
            delta = event.get("contentBlockDelta", {}).get("delta", {})
            text += delta.get("text", "")
            given += delta.get("toolUse", {}).get("input", "")
            stop = event.get("messageStop", {}).get("stopReason", stop)
        if tool is None:
            return booked, text
        try:
            value = json.loads(given)
            booked.append(value["city"])
            result = {"toolUseId": tool["toolUseId"], "content": [{"text": "booked"}]}
        except ValueError:
            if not check:
                return booked, text
            value = {}
            result = {"toolUseId": tool["toolUseId"], "content": [{"text": "no JSON"}], "status": "error"}
        use = {"toolUseId": tool["toolUseId"], "name": tool["name"], "input": value}
        messages.append({"role": "assistant", "content": [{"toolUse": use}]})
        messages.append({"role": "user", "content": [{"toolResult": result}]})


def script(converse):
    converse.script(reply.tool_use("book", {"city": "Bern"}), reply.text("Booked."))


def test_says_so(converse):
    script(converse)
    assert agent("Bern")[1] == "Booked."


def test_stops(converse):
    script(converse)
    agent("Bern", check=False)


def test_books_once(converse):
    script(converse)
    assert agent("Bern") == (["Bern"], "Booked.")
'''


def test_an_agent_with_a_tool(chaos: pytest.Pytester) -> None:
    names = "cut_in_tool_input,no_message_stop,throttle_first_frame,tool_truncated_json_max_tokens"
    result = run(chaos, TOOLS, option=names)
    result.assert_outcomes(passed=3)
    seen = verdicts(result)
    tests = ("test_says_so", "test_stops", "test_books_once")
    assert {test: seen.pop((test, 1, "tool_truncated_json_max_tokens")) for test in tests} == {
        "test_says_so": "recovered",
        "test_stops": "not shown",  # what the agent returns may tell it
        "test_books_once": "recovered",
    }
    assert {key: seen[key] for key in seen if key[2] == "cut_in_tool_input"} == {
        ("test_says_so", 1, "cut_in_tool_input"): "recovered",  # the model is told, and asks again
        ("test_stops", 1, "cut_in_tool_input"): "not noticed",  # and its unused reply is no failure
        ("test_books_once", 1, "cut_in_tool_input"): "recovered",
    }
    others = {(number, fault): verdict for (_, number, fault), verdict in seen.items() if fault != "cut_in_tool_input"}
    assert others == {
        (1, "no_message_stop"): "not noticed",
        (2, "no_message_stop"): "not noticed",
        (1, "throttle_first_frame"): "raised",
        (2, "throttle_first_frame"): "raised",
    }
    result.stdout.fnmatch_lines(
        ['   try it     converse.script(reply.tool_use("book", {"city": "Bern"}), reply.text("Booked.").broken(*']
    )


STALLS = """
def asked(fake, **options):
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    made = boto3.client("bedrock-runtime", endpoint_url=fake.url, config=Config(**options), **keys)
    return [*made.converse_stream(**question(HI))["stream"]]

@pytest.mark.parametrize("seconds", [60, 0.5])
def test(converse_server, seconds):
    with converse_server.script(reply.text(HI)) as fake:
        assert asked(fake, read_timeout=seconds, retries={"total_max_attempts": 1})

def test_thread(converse):
    import threading
    said = []
    converse.script(reply.text(HI))
    thread = threading.Thread(target=lambda: said.append(careful(HI)))
    thread.start()
    thread.join()
    assert said == [HI]
"""


def test_stalls_over_a_socket_and_errors_of_threads(chaos: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (damage, verdict):
        monkeypatch.setattr(module, "PATIENCE", 1.0)
    result = run(chaos, STALLS, "-W", "default", option="stall")
    assert verdicts(result) == {
        ("test[60]", 1, "stall"): "hung",
        ("test[0.5]", 1, "stall"): "raised",
        ("test_thread", 1, "stall"): "reported",
    }


PASTED = '''
import json, os


def note(*seen):
    with open("seen-" + os.environ["PYTEST_CURRENT_TEST"].split("::")[1].split()[0], "a") as file:
        print(seen, file=file)


def silent_agent(text):
    """Runs what it is told to, in whatever way it comes, and swallows every error. It notes each answer."""
    messages = question(text)["messages"]
    city = {"json": {"type": "object", "required": ["city"]}}
    tools = {"tools": [{"toolSpec": {"name": "book", "inputSchema": city}}]}
    for number in range(1, 5):
        use, seen = None, [number]
        try:
            for event in client().converse_stream(modelId=MODEL, messages=messages, toolConfig=tools)["stream"]:
                ((kind, member),) = event.items()
                use = member.get("start", {}).get("toolUse", use)
                seen.append((kind, str(member.get("delta")), member.get("stopReason"), (use or {}).get("name")))
        except Exception as error:
            seen.append(f"{type(error).__name__}: {error}")
            return
        finally:
            note(*seen)
        if use is None:
            return
        block = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"], "input": {"city": "?"}}}
        result = {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": "booked"}]}}
        messages += [{"role": "assistant", "content": [block]}, {"role": "user", "content": [result]}]
'''


def test_each_line_to_try_shows_the_same_fault(chaos: pytest.Pytester) -> None:
    tests = """
def test_text(converse):
    converse.script(reply.text(HI))
    silent_agent(HI)

def test_tool(converse):
    converse.script(reply.tool_use("book", {"city": "Bern"}), reply.text("Booked."))
    silent_agent(HI)
"""

    def noted(test: str) -> list[str]:
        return (chaos.path / f"seen-{test}").read_text().splitlines()

    out = run(chaos, PASTED + tests, option=f"600s,{','.join(damage.damages())}").stdout.str()
    lines = re.findall(
        r"^(?:NOT NOTICED|WRONG ANSWER) .*::(test_\w+)   reply (\d) .*\n   try it     (.*)$", out, re.MULTILINE
    )
    assert len(lines) > 80
    # the rest of the input is missing, and the tool was run all the same
    assert re.search(r"^NOT NOTICED .*::test_tool .* tool_truncated_json_max_tokens: ", out, re.MULTILINE)
    pasted = [
        f"def test_{number}(converse):\n    {line}\n    silent_agent(HI)\n" for number, (_, _, line) in enumerate(lines)
    ]
    chaos.makepyfile(test_it=HEAD + PASTED + "\n".join(pasted))
    chaos.runpytest().assert_outcomes(passed=len(lines))
    for number, (test, reply, line) in enumerate(lines):
        before = noted(test)
        undamaged = next(each for each in before if each.startswith(f"({reply},"))
        (now,) = (each for each in noted(f"test_{number}") if each.startswith(f"({reply},"))
        assert now in before, line
        assert now != undamaged, line


def test_a_line_to_try_has_what_corrected_code_needs(chaos: pytest.Pytester) -> None:
    tests = """
def test(converse):
    converse.script(reply.text("one"), reply.text("two"))
    silent("a"), silent("b")
"""
    out = run(chaos, tests, option="no_message_stop,throttled_until_given_up").stdout.str()
    lines = re.findall(r"^   try it     (.*)$", out, re.MULTILINE)
    assert len(lines) == 4
    pasted = [
        f"def test_{number}(converse):\n    {line}\n    assert [patient('a'), patient('b')] == ['one', 'two']\n"
        for number, line in enumerate(lines)
    ]
    chaos.makepyfile(test_it=HEAD + "\n".join(pasted))
    chaos.runpytest().assert_outcomes(passed=4)


FOUND = """
CITY = {"json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
TOOL = {"tools": [{"toolSpec": {"name": "book", "inputSchema": CITY}}]}
RAIL = {"guardrailIdentifier": "gr0000000000", "guardrailVersion": "DRAFT"}

def agent(text, check=True, rail=None):
    messages, booked = question(text)["messages"], []
    more = {} if rail is None else {"guardrailConfig": rail}
    while True:
        answer = client().converse(modelId=MODEL, messages=messages, toolConfig=TOOL, **more)
        messages.append(answer["output"]["message"])
        uses = [block["toolUse"] for block in messages[-1]["content"] if "toolUse" in block]
        if not uses:
            return booked, "".join(block.get("text", "") for block in messages[-1]["content"])
        results = []
        for use in uses:
            if check and (use["name"] != "book" or not isinstance(use["input"].get("city"), str)):
                said = {"toolUseId": use["toolUseId"], "content": [{"text": "No such tool, or no city."}]}
            else:
                booked.append(use["input"].get("city", "?"))
                said = {"toolUseId": use["toolUseId"], "content": [{"text": "booked"}]}
            results.append({"toolResult": said})
        messages.append({"role": "user", "content": results})

def script(converse):
    converse.script(reply.tool_use("book", {"city": "Bern"}), reply.text("Booked."))

def test_right(converse):
    script(converse)
    assert agent("Bern") == (["Bern"], "Booked.")

def test_runs_all(converse):
    script(converse)
    agent("Bern", check=False)

def test_runs_all_and_is_seen(converse):
    script(converse)
    assert agent("Bern", check=False)[0] == ["Bern"]

def test_rail(converse):
    script(converse)
    assert agent("Bern", rail=RAIL) == (["Bern"], "Booked.")

def test_keeps_an_empty_text(converse):
    converse.script(reply.text("one"), reply.text("two"))
    messages = []
    for text in ("a", "b"):
        messages += question(text)["messages"]
        answer = client().converse(modelId="us.anthropic.claude-haiku-4-5-20251001-v1:0", messages=messages)
        messages.append(answer["output"]["message"])
"""
_TOLD = dict.fromkeys(("tool_unknown", "tool_input_unfit"), "recovered")


def test_faults_of_the_catalogue(chaos: pytest.Pytester) -> None:
    found = verdicts(run(chaos, FOUND, option="text_empty_block,reasoning_unsigned"))
    assert found["test_keeps_an_empty_text", 1, "text_empty_block"] == "refused afterwards"
    assert found["test_right", 2, "reasoning_unsigned"] == "harmless"
    assert ("test_keeps_an_empty_text", 1, "reasoning_unsigned") not in found  # Claude signs what it thinks
    found = verdicts(run(chaos, FOUND))
    seen = {
        test: {(number, fault): verdict for (name, number, fault), verdict in found.items() if name == test}
        for test in dict.fromkeys(name for name, _, _ in found)
    }
    rails = dict.fromkeys(("guardrail_output_blocked", "guardrail_masked"))  # of the usual faults only with a guardrail
    assert {key: seen["test_right"].get((1, key)) for key in (*_TOLD, *rails)} == {**_TOLD, **rails}
    assert (2, "stop_max_tokens") in seen["test_right"]
    assert (1, "stop_max_tokens") not in seen["test_right"]  # a whole tool use does not end so
    assert not {*seen["test_right"].values()} & {each.word for each in verdict.LISTED}
    assert {key: seen["test_runs_all"][1, key] for key in _TOLD} == dict.fromkeys(_TOLD, "not noticed")
    assert {key: seen["test_runs_all_and_is_seen"][1, key] for key in _TOLD} == {
        "tool_unknown": "not noticed",
        "tool_input_unfit": WRONG,
    }
    assert seen["test_rail"][2, "guardrail_output_blocked"] == "reported"  # the message of the guardrail is the answer
    assert seen["test_rail"][2, "guardrail_masked"] == "harmless"


def test_every_case_is_a_fault_or_changes_nothing() -> None:
    none = {name for name in CASES if name not in damage.damages()}
    assert none == {name for name in from_cases.NO_FAULTS if name in CASES}
    assert damage.damages().keys() >= {*damage.USUAL}
