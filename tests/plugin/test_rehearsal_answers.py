"""`--converse-as-answers`: what a suite makes of another model's manner of answering, and what is left out."""

from __future__ import annotations

import pytest

from tests.nested import ASYNCIO, HYPOTHESIS, XDIST

OPUS = "us.anthropic.claude-opus-4-8"
NOVA = "us.amazon.nova-pro-v1:0"
CLAUDE_4 = "us.anthropic.claude-sonnet-4-20250514-v1:0"
"""A model whose usage always has cache counters, whose reasoning has its text, and whose cuts are those of Claude."""

CONSUMER = f"""
from converse_harness.intercept.clients import create_client

MODEL = "{CLAUDE_4}"


def question(text, model):
    return {{"modelId": model, "messages": [{{"role": "user", "content": [{{"text": text}}]}}]}}


def whole(text="hello", model=MODEL):
    return create_client().converse(**question(text, model))


def deltas(text="hello", model=MODEL):
    stream = create_client().converse_stream(**question(text, model))["stream"]
    return [event["contentBlockDelta"]["delta"] for event in stream if "contentBlockDelta" in event]


def by_words(text="hello", model=MODEL):
    '''Takes each delta for a word.'''
    return " ".join(delta["text"].strip() for delta in deltas(text, model))


def joined(text="hello", model=MODEL):
    return "".join(delta["text"] for delta in deltas(text, model))


def written_tokens():
    return whole()["usage"]["cacheWriteInputTokens"]  # line 30


def thought():
    for block in whole()["output"]["message"]["content"]:
        if "reasoningContent" in block:
            return block["reasoningContent"]["reasoningText"]
"""

HEAD = """
import pytest
from agent import *
from converse_harness import fake_converse, reply

HI = "Hello you there, all of you."
SIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2lnbmVk"}}}
"""

TESTS = """
def test_healthy(converse):
    converse.script(reply.text(HI))
    assert joined() == HI


def test_throttled_first():
    with fake_converse(reply.throttled(), reply.text(HI)) as fake:
        assert joined() == HI
    assert len(fake.calls) == 2


def test_usage(converse):
    converse.script(reply.text(HI))
    assert written_tokens() == 0


def test_thought(converse):
    converse.script(reply.message(SIGNED, {"text": HI}))
    assert thought()["text"] == "Hm."


def test_signature(converse):
    converse.script(reply.message(SIGNED, {"text": HI}))
    assert thought()["signature"] == "c2lnbmVk"


def test_without_fake():
    pass


def test_fails(converse):
    converse.script(reply.text(HI))
    assert joined() == "no"
"""


@pytest.fixture
def suite(project: pytest.Pytester) -> pytest.Pytester:
    """A suite for Claude Sonnet 4, some of whose tests want answers in its manner."""
    project.makepyfile(agent=CONSUMER)
    return project


def run(project: pytest.Pytester, tests: str, *args: str, model: str = OPUS) -> pytest.RunResult:
    project.makepyfile(test_it=HEAD + tests)
    return project.runpytest("--tb=no", f"--converse-as={model}", "--converse-as-answers", *args)


REPORT = [
    "*= converse rehearsal =*",
    f"rehearsed as {OPUS}: 6 of 6 tests would be accepted",
    f"  answered as {OPUS}: 3 of 5 tests pass",
    "    test_it.py::test_thought  assert '' == 'Hm.'  test_it.py:*",
    "    test_it.py::test_usage  KeyError: 'cacheWriteInputTokens'  test_it.py:*, raised in agent.py:*",
    "not rehearsed: *",
]


def test_each_test_that_wants_another_manner_is_named(suite: pytest.Pytester) -> None:
    result = run(suite, TESTS)
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(REPORT)
    lines = {line.strip(): number for number, line in enumerate((HEAD + TESTS).strip().splitlines(), 1)}
    thought, usage = lines['assert thought()["text"] == "Hm."'], lines["assert written_tokens() == 0"]
    raised = CONSUMER.strip().splitlines().index('    return whole()["usage"]["cacheWriteInputTokens"]  # line 30') + 1
    result.stdout.fnmatch_lines([f"*::test_thought *test_it.py:{thought}", f"*test_it.py:{usage}, *agent.py:{raised}"])


SENDS_BACK = """
def test_sends_thoughts_as_text(converse):
    converse.script(reply.message(SIGNED, {"text": HI}), reply.text("bye"))
    asked = question("?", "us.amazon.nova-lite-v1:0")
    client = create_client()
    with pytest.raises(Exception, match="count.*tokens"):  # what is refused so fails no test
        client.count_tokens(modelId=asked["modelId"], input={"converse": {"messages": asked["messages"]}})
    said = client.converse(**asked)["output"]["message"]
    thought = said["content"][0]["reasoningContent"]["reasoningText"]["text"]
    asked["messages"] += [{"role": "assistant", "content": [{"text": thought}]}, *asked["messages"]]
    assert client.converse(**asked)["stopReason"] == "end_turn"
"""


def test_a_refusal_is_told_whole(suite: pytest.Pytester) -> None:
    result = run(suite, SENDS_BACK)
    result.assert_outcomes(passed=1)
    lines = (HEAD + SENDS_BACK).strip().splitlines()
    asks = lines.index('    assert client.converse(**asked)["stopReason"] == "end_turn"') + 1
    result.stdout.fnmatch_lines(
        [
            f"rehearsed as {OPUS}: 1 of 1 test would be accepted",
            f"  answered as {OPUS}: 0 of 1 test passes",
            "    The requests above follow the answers of the script. Here the tests send back other answers, and *",
            "    test_it.py::test_sends_thoughts_as_text  RefusedRequest*",
            f"      text_is_not_blank refuses call [23], asked by test_it.py:{asks}",
            "        The text field in the ContentBlock object at messages.1.content.0 is blank. *",
            "        try again.",
        ]
    )


WORDS = """
def test_words(converse):
    converse.script(reply.text(HI))
    assert by_words(model="my-own-model") == HI


def test_joined(converse):
    converse.script(reply.text(HI))
    assert joined(model="my-own-model") == HI
"""


def test_cuts_are_those_of_the_model(suite: pytest.Pytester) -> None:
    result = run(suite, WORDS, model=NOVA)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [f"  answered as {NOVA}: 1 of 2 tests pass", "    test_it.py::test_words  assert 'Hel*"]
    )


KINDS = """
import unittest


class Suite(unittest.TestCase):
    def test_unit(self):
        with fake_converse(reply.text(HI)):
            self.assertIn("cacheWriteInputTokens", whole()["usage"])


async def test_async(converse):
    converse.script(reply.text(HI))
    assert "cacheWriteInputTokens" in whole()["usage"]


@pytest.mark.parametrize("number", [1, 2])
def test_server(converse_server, number):
    with converse_server.script(*[reply.text(HI)] * number) as fake:
        client = create_client(endpoint_url=fake.url)
        for _ in range(number):
            assert ("cacheWriteInputTokens" in client.converse(**question("?", MODEL))["usage"]) or number == 1
"""


def test_every_kind_of_test_is_rerun(suite: pytest.Pytester) -> None:
    result = run(suite, KINDS, *ASYNCIO, "-o", "asyncio_mode=auto")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            f"  answered as {OPUS}: 1 of 4 tests pass",
            "    test_it.py::Suite::test_unit  'cacheWriteInputTokens' not found in *  test_it.py:14",
            "    test_it.py::test_async  assert 'cacheWriteInputTokens' in *  test_it.py:19",
            "    test_it.py::test_server[[]2[]]  assert *  test_it.py:27",
        ]
    )


TWO_IDS = """
def test_both():
    with fake_converse(reply.text(HI), reply.text(HI)):
        assert by_words(model="my-own-model") == HI
        assert written_tokens() == 0


def test_mine(converse):
    converse.script(reply.text(HI))
    assert by_words(model="my-own-model") == HI
"""


def test_only_the_ids_that_are_replaced_are_answered_otherwise(suite: pytest.Pytester) -> None:
    result = run(suite, TWO_IDS, f"--converse-as=*sonnet*={OPUS}", model=NOVA)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            f"  answered as {NOVA}: 0 of 2 tests pass",
            f"  answered as {OPUS}: 0 of 1 test passes",
            "    test_it.py::test_both  KeyError: 'cacheWriteInputTokens'  *",
        ]
    )


def test_workers_of_xdist_rerun_their_own_tests(suite: pytest.Pytester) -> None:
    """Their report is that of one process: what fails, what is refused, and of which of two models."""
    suite.makepyfile(test_back=HEAD + SENDS_BACK, test_ids=HEAD + TWO_IDS)
    replaced = [f"--converse-as=*{name}*={OPUS}" for name in ("sonnet", "nova-lite")]
    options = (*replaced, "--converse-as-strict", "-k", "thought or usage or both or mine")
    result = run(suite, TESTS, *XDIST, "-n2", *options, model=NOVA)
    result.assert_outcomes(passed=5)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*= converse rehearsal =*",
            f"rehearsed as {NOVA}: 3 of 3 tests would be accepted",
            f"  answered as {NOVA}: 1 of 3 tests pass",
            "    test_ids.py::test_both  KeyError: 'cacheWriteInputTokens'  test_ids.py:*, raised in agent.py:*",
            "    test_it.py::test_usage  KeyError: 'cacheWriteInputTokens'  test_it.py:*, raised in agent.py:*",
            f"  answered as {OPUS}: 0 of 3 tests pass",
            "    test_ids.py::test_both  KeyError: 'cacheWriteInputTokens'  test_ids.py:*, raised in agent.py:*",
            "    test_it.py::test_thought  assert '' == 'Hm.'  test_it.py:*",
            "    test_it.py::test_usage  KeyError: 'cacheWriteInputTokens'  test_it.py:*, raised in agent.py:*",
            f"  answered as {OPUS}: 0 of 1 test passes",
            "    The requests above follow the answers of the script. Here the tests send back other answers, and *",
            "    test_back.py::test_sends_thoughts_as_text  RefusedRequest*",
            "      text_is_not_blank refuses call [23], asked by test_back.py:*",
            "        The text field in the ContentBlock object at messages.1.content.0 is blank. *",
            "not rehearsed: *",
            "the run fails, because of --converse-as-strict",
        ]
    )


LEFT_OUT = """
import hypothesis


@hypothesis.given(hypothesis.strategies.just(1))
def test_given(number):
    with fake_converse(reply.text(HI)):
        joined()


@pytest.mark.converse(rerun=False)
def test_unwilling(converse):
    converse.script(reply.text(HI))
    joined()


@pytest.mark.xfail
def test_xfail(converse):
    converse.script(reply.text(HI))
    assert joined() == "no"


@pytest.mark.converse(unexpected="allow")
def test_refused(converse):
    converse.script(reply.text(HI))
    joined()
    with pytest.raises(Exception):
        joined()


def test_throttled(converse):
    converse.always(reply.throttled())
    with pytest.raises(Exception):
        whole()


def test_events(converse):
    converse.script(reply.events(list(reply.text(HI).events()), strict=False))
    joined()


def test_healthy(converse):
    converse.script(reply.text(HI))
    joined()
"""


def test_tests_that_are_left_out_are_counted(suite: pytest.Pytester) -> None:
    result = run(suite, LEFT_OUT, *HYPOTHESIS)
    result.stdout.fnmatch_lines(
        [
            f"  answered as {OPUS}: 1 of 1 test passes",
            "    not run again: 1 with @given, 1 with calls*, 2 with recorded*, 1 with rerun=False, 1 with xfail",
        ]
    )


CHANGES = """
RUNS = []


def test_calls(converse):
    RUNS.append(1)
    converse.always(reply.text(HI))
    joined(f"question {len(RUNS)}")


OUTCOMES = []


def test_outcome(converse):
    OUTCOMES.append(1)
    converse.script(reply.text(HI))
    assert joined() == HI and len(OUTCOMES) == 1
"""


def test_a_test_that_does_not_repeat_itself_is_named_and_left(suite: pytest.Pytester) -> None:
    result = run(suite, CHANGES)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            f"  answered as {OPUS}: no test that passed could be run again",
            "    not repeatable: test_it.py::test_calls (other calls), test_it.py::test_outcome (call failed)",
        ]
    )


@pytest.mark.parametrize(("test", "code"), [("test_usage", 1), ("test_healthy", 0)])
@pytest.mark.parametrize("workers", [(), pytest.param((*XDIST, "-n2"), marks=pytest.mark.slow)])
def test_strict_fails_the_run(suite: pytest.Pytester, test: str, code: int, workers: tuple[str, ...]) -> None:
    assert run(suite, TESTS, "-k", test, *workers).ret == 0
    assert run(suite, TESTS, "-k", test, "--converse-as-strict", *workers).ret == code


SCOPED = """
@pytest.fixture(scope="module")
def wide():
    with fake_converse(reply.text(HI)):
        yield written_tokens()


def test_wide(wide, converse):
    converse.script(reply.text(HI))
    assert wide == 0 and joined() == HI


@pytest.fixture(scope="module")
def late():
    with fake_converse(reply.text(HI)):
        return written_tokens()


def test_late(converse, request):
    converse.script(reply.message(SIGNED, {"text": HI}))
    assert thought()["text"] or request.getfixturevalue("late") == 0


def test_unused(converse):
    converse.script(reply.message(SIGNED, {"text": HI}), reply.text(HI))
    if thought()["text"]:
        joined()


def test_summary(converse):
    converse.script(reply.message(SIGNED, {"text": HI}))
    asked = {"thinking": {"type": "adaptive", "display": "summarized"}}
    answer = create_client().converse(**question("?", MODEL), additionalModelRequestFields=asked)
    assert answer["output"]["message"]["content"] == [SIGNED, {"text": HI}]
"""


def test_the_checks_of_the_fake_hold_and_wider_fixtures_are_left(suite: pytest.Pytester) -> None:
    result = run(suite, SCOPED, "-o", "converse_rules=warn")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [f"  answered as {OPUS}: 3 of 4 tests pass", "    test_it.py::test_unused  UnusedReplies: *"]
    )


def test_chaos_in_the_same_run(suite: pytest.Pytester) -> None:
    result = run(suite, TESTS, "--converse-chaos=throttled,20s")
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(REPORT)
    result.stdout.fnmatch_lines(["4 reruns of 4 tests in * s: 4 recovered"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--converse-as-answers came without --converse-as MODEL. Name the model as well."),
        (["--converse-as=all"], "--converse-as-answers came with --converse-as all. * only models that are named"),
    ],
)
def test_what_names_no_model_stops_the_run(options: list[str], message: str, suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it=HEAD + TESTS)
    result = suite.runpytest("--converse-as-answers", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


def test_of_an_unknown_model_nothing_is_run(suite: pytest.Pytester) -> None:
    result = run(suite, TESTS, model="no-such-model")
    result.stdout.no_fnmatch_line("*answered as*")
