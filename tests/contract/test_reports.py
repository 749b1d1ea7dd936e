"""What a user sees of a contract: failures, errors, the table at the end; under xdist, -q, -k, junit-xml as well."""

from __future__ import annotations

import gc
import json
import warnings
from collections import Counter
from pathlib import Path

import pytest

from converse_harness import Reply
from tests.contract.projects import CONSUMER, outcomes, run, told
from tests.nested import ASYNCIO, XDIST

ENDLESS = """
import asyncio
import time

from converse_harness.contract import ConsumerContract


def asked(target):
    return list(target.client.converse_stream(**target.request)["stream"])


class Limited(ConsumerContract):
    time_limit = 0.3
    most_calls = 5


class TestHangs(Limited):
    def consume(self, target):
        asked(target)
        while True:
            time.sleep(0.01)


class TestHangsInALoop(Limited):
    async def consume(self, target):
        asked(target)
        await asyncio.Event().wait()


class TestRetries(Limited):
    time_limit = 30
    known = {"any_answer": "it never gives up"}

    def consume(self, target):
        while True:
            try:
                asked(target)
            except Exception:
                pass


"""

WRONG = """
from converse_harness.contract import ConsumerContract, Outcome, consumer_contract


def asked(target):
    return list(target.client.converse_stream(**target.request)["stream"])


class TestSetUp(ConsumerContract):
    known = {"text_basic": "a key is missing"}

    def consume(self, target):
        raise LookupError("no key")


def nothing(target):
    asked(target)


def wrong(target):
    asked(target)
    return Outcome(tool_calls=[("get_weather", {})])


def fine(target):
    events = asked(target)
    return Outcome("".join(event.get("contentBlockDelta", {}).get("delta", {}).get("text", "") for event in events))


TestNothing = consumer_contract(nothing)
TestWrong = consumer_contract(wrong)
TestFine = consumer_contract(fine, known={"text_basic": "thought to be broken"})
TestNotWritten = type("TestNotWritten", (ConsumerContract,), {})
"""


@pytest.mark.slow
def test_adapters_that_do_not_end(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_endless=ENDLESS)
    result = run(pytester, "-k", "text_basic or (any_answer and (TestHangsInALoop or TestRetries))")
    assert outcomes(pytester) == {
        "TestHangs.text_basic": "failure",
        "TestHangsInALoop.text_basic": "failure",
        "TestHangsInALoop.any_answer": "failure",
        "TestRetries.text_basic": "failure",
        "TestRetries.any_answer": "skipped",
    }
    assert {name: (each["flaw"], each["why"]) for name, each in told(pytester).items()} == {
        "TestHangs.text_basic": ("hangs", "it was stopped after 0.3 s"),
        "TestHangsInALoop.text_basic": ("hangs", "it was stopped after 0.3 s"),
        "TestHangsInALoop.any_answer": ("hangs", "it was stopped after 0.3 s"),
        "TestRetries.text_basic": ("endless retry", "more than 5 requests"),
        "TestRetries.any_answer": ("endless retry", "1 of 1 answers, such as: more than 5 requests"),
    }
    result.stdout.fnmatch_lines(
        [
            "test_endless.py::TestRetries: 2 mishandled (1 known)",
            "  recorded of AWS:",
            "    text_basic  endless retry         more than 5 requests",
            "  documented by AWS, or possible in its API model:",
            "    any_answer  endless retry, known  1 of 1 answers, such as: more than 5 requests",
        ]
    )


def test_adapters_that_are_wrong(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_wrong=WRONG)
    result = run(pytester, "-k", "text_basic")
    assert outcomes(pytester) == {
        "TestSetUp.text_basic": "error",
        "TestNothing.text_basic": "error",
        "TestWrong.text_basic": "error",
        "TestFine.text_basic": "failure",
        "TestNotWritten.text_basic": "error",
    }
    assert {name: (each["flaw"], each["why"]) for name, each in told(pytester).items()} == {
        "TestFine.text_basic": ("", "")
    }
    result.stdout.fnmatch_lines(
        [
            "E*converse_harness.contract.*SetUpFailed: The adapter failed before the consumer asked anything, with Lo*",
            "E*converse_harness.contract.*SetUpFailed: The adapter returned None. Return an Outcome(*",
            "*return Outcome(tool_calls=*get_weather*",
            "E*converse_harness.ReplyError: Outcome(tool_calls=...): number 0 is ('get_weather', {}); a ToolCall(*",
            "E*has no `consume`: ask `target`, and return an Outcome.*",
            "test_wrong.py::TestFine: 1 handled",
            "    text_basic  handled, but in `known`",
        ]
    )


ONE_MISTAKE = """
from converse_harness.contract import ConsumerContract


class TestUrl(ConsumerContract):
    transport = "httpx"
    examples = 5

    def consume(self, target):
        return target.url
"""


def test_a_mistake_of_the_adapter_is_told_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mistake=ONE_MISTAKE)
    result = run(pytester, "-rs", "-k", "text_basic or cut_off or no_message_stop or any_answer")
    found = outcomes(pytester)
    assert Counter(found.values()) == {"error": 1, "skipped": len(found) - 1}
    assert found["TestUrl.text_basic"] == "error"
    text = result.stdout.str()
    told = text[: text.index("short test summary")]  # which is not cut under CI
    assert told.count("Aim it at https://bedrock-runtime") == 1
    result.stdout.fnmatch_lines(["SKIPPED [[]*[]] *: ReplyError, as in text_basic: target.url: with the transport*..."])
    assert len(result.outlines) < 150


LOOP = """
from converse_harness.contract import ConsumerContract, Outcome, Target


class TestLoop(ConsumerContract):
    '''A loop over the events that minds nothing.'''

    known = {"cut_off": "it takes what it got"}

    def consume(self, target: Target) -> Outcome:
        text = ""
        for event in target.client.converse_stream(**target.request)["stream"]:
            text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        return Outcome(text)
"""

TABLE = [
    "test_loop.py::TestLoop: 1 handled, 2 mishandled (1 known)",
    "  AWS is not known to send it:",
    "    cut_off          silent success, known  no error; '18 °C and sunny', stop reason None",
    "    no_message_stop  silent success         no error; '18 °C and sunny in Zürich.', stop reason None",
]
SOME = "text_basic or cut_off or no_message_stop"


def table(lines: list[str]) -> list[str]:
    """The table at the end of a run's output."""
    start = next(number for number, line in enumerate(lines) if line.strip("= ") == "converse contract")
    rest = lines[start + 1 :]
    return rest[: next((number for number, line in enumerate(rest) if line.startswith("=")), None)]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-q",),
        (*XDIST, "-n1"),
        pytest.param((*XDIST, "-n2", "--dist=loadscope"), marks=pytest.mark.slow),
        ("-p", "no:randomly"),
    ],
)
def test_the_table(options: tuple[str, ...], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    pytester.makepyfile(test_loop=LOOP)
    result = run(pytester, "-k", SOME, *options)
    result.assert_outcomes(passed=1, failed=1, xfailed=1)
    assert table(result.outlines) == TABLE
    assert "\x1b" not in result.stdout.str()
    assert max(map(len, result.outlines)) <= 200


TERMINAL = """
def pytest_collection_finish(session):
    session.config.pluginmanager.getplugin("terminalreporter").isatty = True
"""
"""A conftest that makes pytest write to a terminal."""


def test_the_table_has_the_width_of_a_terminal(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(test_loop=LOOP)
    pytester.makeconftest(TERMINAL)
    monkeypatch.setenv("COLUMNS", "90")
    shortened = "    no_message_stop  silent success         no error; '18 °C and sunny in Zürich.', st..."
    assert table(run(pytester, "-k", SOME).outlines) == [*TABLE[:3], shortened]
    monkeypatch.setenv("COLUMNS", "120")
    assert table(run(pytester, "-k", SOME).outlines) == TABLE


def test_colours_are_for_a_terminal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_loop=LOOP)
    coloured = run(pytester, "-k", SOME, "--color=yes").stdout.str()
    assert "\x1b[33m    cut_off" in coloured
    assert "\x1b[31m    no_message_stop" in coloured


def test_no_table_without_a_contract(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_plain="def test_it():\n    assert True")
    assert "converse contract" not in run(pytester).stdout.str()


def test_without_a_terminal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_loop=LOOP)
    assert run(pytester, "-k", SOME, "-p", "no:terminal").ret == 1
    assert outcomes(pytester) == {"TestLoop.no_message_stop": "failure", "TestLoop.cut_off": "skipped"}


def test_a_failure_says_all(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_loop=LOOP)
    lines = run(pytester, "-k", SOME).outlines
    start = lines.index("no_message_stop: mishandled: silent success.")
    assert lines[start : start + 11] == [
        "no_message_stop: mishandled: silent success.",
        "",
        "  sent    The messageStop is missing.",
        '          text "18 °C and sunny in Zürich.", no_message_stop at event 8',
        "  seen    no error; '18 °C and sunny in Zürich.', stop reason None (1 request)",
        "  must    Treat the answer as broken off: never as whole, and run none of its tools.",
        '  alone   pytest -k "TestLoop and no_message_stop"',
        "",
        "Mend the consumer. If it is to stay so, say why, and the test passes until it is mended:",
        'known = {"no_message_stop": "..."}   More: converse-harness docs contract known',
        "---------------------------- Bedrock Converse calls ----------------------------",
    ]
    assert lines[start + 11].startswith("call 1  ConverseStream us.anthropic.claude-haiku-4-5-20251001-v1:0, 1 message")


def test_a_property_prints_the_answer_to_paste(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_loop=LOOP.replace('.get("text", "")', '["text"]'))
    lines = run(pytester, "-k", "any_answer").outlines
    start = lines.index("any_answer: mishandled: wrong error.")
    shown = lines[start + 3 :]
    code = "\n".join(shown[: next(number for number, line in enumerate(shown) if line.startswith("  seen"))])
    scope: dict[str, object] = {}
    exec("from converse_harness import reply\nanswer = (" + code + ")", scope)
    assert isinstance(answer := scope["answer"], Reply)
    assert answer.summary in ("3 events", 'text ""')


SECRET = "AKIA" + "Q7EXAMPLEKEYABCD"


def test_no_secret_lands_in_a_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_secret=f"""
        from converse_harness.contract import ConsumerContract, Outcome


        class TestSecret(ConsumerContract):
            def consume(self, target):
                list(target.client.converse_stream(**target.request)["stream"])
                raise RuntimeError("I am {SECRET[:4]}" + "{SECRET[4:]}")
        """
    )
    result = run(pytester, "-k", "text_basic")
    result.assert_outcomes(failed=1)
    assert told(pytester)["TestSecret.text_basic"]["why"] == "RuntimeError: 'I am ***'"
    assert SECRET not in result.stdout.str()
    assert SECRET not in Path(pytester.path, "report.xml").read_text(encoding="utf-8")


TRANSPORTS = """
import asyncio

import httpx
from consumer import ask
from converse_harness.contract import ConsumerContract, Outcome, ToolCall, consumer_contract


def streams(target):
    text, calls, reason = ask(target.client, **target.request)
    return Outcome(text, [ToolCall(*call) for call in calls], reason)


async def in_a_thread(target):
    return await asyncio.to_thread(streams, target)


def whole(target):
    answer = target.client.converse(**target.request)
    blocks = answer["output"]["message"]["content"]
    text = "".join(block.get("text", "") for block in blocks)
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    return Outcome(text, [ToolCall(use["name"], use["input"]) for use in uses], answer["stopReason"])


async def by_httpx(target):
    request = dict(target.request)
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{request.pop('modelId')}/converse"
    async with httpx.AsyncClient() as client:
        answer = (await client.post(url, json=request, timeout=target.patience)).raise_for_status().json()
    text = "".join(block.get("text", "") for block in answer["output"]["message"]["content"])
    return Outcome(text, stop_reason=answer["stopReason"])


class TestBotoStream(ConsumerContract):
    examples = EXAMPLES

    def consume(self, target):
        return streams(target)


TestServerStream = consumer_contract(in_a_thread, transport="server", examples=EXAMPLES)
TestBoto = consumer_contract(whole, operation="Converse", examples=EXAMPLES)
TestServer = consumer_contract(whole, operation="Converse", transport="server", examples=EXAMPLES)
TestHttpx = consumer_contract(by_httpx, operation="Converse", transport="httpx", examples=EXAMPLES)
"""

EVERYWHERE = "text_basic or throttle_pre or reset or any_failure"


# Python 3.13 reports that a response cannot be flushed if a collection ends its socket's file first. urllib3 makes such
# responses of real connections, and the consumer does not close those of broken streams.
@pytest.mark.filterwarnings("ignore:.*<urllib3.response.HTTPResponse:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("mode", "tests", "examples"),
    [
        ("strict", "text_basic or reset or any_failure", 1),
        ("auto", "text_basic", 1),
        pytest.param("strict", EVERYWHERE, 50, marks=pytest.mark.slow),
        pytest.param("auto", EVERYWHERE, 50, marks=pytest.mark.slow),
    ],
)
def test_every_transport_and_both_operations(mode: str, tests: str, examples: int, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(consumer=CONSUMER, test_transports=TRANSPORTS.replace("EXAMPLES", str(examples)))
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):  # of connections to the servers
        run(pytester, "-k", tests, *ASYNCIO, "-o", f"asyncio_mode={mode}", "-W", "ignore::ResourceWarning")
        gc.collect()
    assert outcomes(pytester) == {}
    contracts = ("TestBotoStream", "TestServerStream", "TestBoto", "TestServer", "TestHttpx")
    assert {name.partition(".")[0] for name in told(pytester)} == set(contracts)
    assert {json.dumps(each["level"]) for each in told(pytester).values()} == {'"handled"'}


def test_what_pytest_lists_stays_clean(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_loop=LOOP)
    listed = run(pytester, "--fixtures").stdout.str()
    assert "converse_server" in listed
    assert "contract_" not in listed
    assert "contract" not in run(pytester, "--markers").stdout.str()


SEVERAL = """
from converse_harness.contract import ConsumerContract, Outcome


class TestSeveral(ConsumerContract):
    operation = "Converse"
    kinds = ["text"]
    examples = 100

    def consume(self, target):
        answer = target.client.converse(**target.request)
        text = answer["output"]["message"]["content"][-1].get("text", "")
        return Outcome(text.replace("0", "2"), stop_reason="end_turn")


class TestFewer(TestSeveral):
    stop_reasons = ["end_turn", "max_tokens"]
    without = ["max_tokens"]


class TestWrongAlone(TestFewer):
    known = {"any_answer": "it drops blocks"}
"""


def test_a_property_reports_each_kind_of_flaw_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_several=SEVERAL)
    result = run(pytester, "-k", "any_answer", "--tb=short")
    text = result.stdout.str()
    kinds = {name: [each["flaw"], *(more["flaw"] for more in each["more"])] for name, each in told(pytester).items()}
    assert set(kinds["TestSeveral.any_answer"]) >= {"corrupted", "lost", "wrong error", "silent success"}
    assert set(kinds["TestFewer.any_answer"]) == {"corrupted", "lost", "wrong error"}
    assert f"any_answer: {len(kinds['TestSeveral.any_answer'])} kinds of answers are not handled." in text
    # Each is as small as it can be: the text of one character, two blocks, and none.
    for smallest in ("'2'; it was '0'", "IndexError is an accident of code: 'list index out of range'"):
        assert smallest in text
    result.stdout.fnmatch_lines(["    any_answer  corrupted, known *  * of 100 answers, such as: *"])
