"""`--converse-as`: what a run reports of another model, and what it leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.nested import XDIST
from tests.recordings.asking import counts_tokens

OPUS = "us.anthropic.claude-opus-5"
SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

AGENT = f"""
import threading

from converse_harness.intercept.clients import create_client

SONNET = "{SONNET}"


def ask(text="hello", model=SONNET, prefill=None, client=None, **inference):
    messages = [{{"role": "user", "content": [{{"text": text}}]}}]
    messages += [] if prefill is None else [{{"role": "assistant", "content": [{{"text": prefill}}]}}]
    asked = {{"modelId": model, "messages": messages, "inferenceConfig": inference}}
    return (client or create_client()).converse(**asked)  # line 12


def ask_in_a_thread(**inference):
    thread = threading.Thread(target=lambda: ask(**inference))
    thread.start()
    thread.join()
"""

TESTS = """
import pytest
from agent import SONNET, ask
from converse_harness import fake_converse, reply


@pytest.fixture
def hi(converse):
    converse.always(reply.text("hi"))


def test_accepted(hi):
    ask()


def test_temperature(converse):
    converse.script(reply.throttled().times(2), reply.text("hi"), reply.text("hi"))
    ask(temperature=0.5)
    ask("hello again", temperature=0.5)


def test_prefill():
    with fake_converse(reply.text("hi")):
        ask(prefill="{")


def test_fails(hi):
    ask(temperature=0.3)
    assert False


def test_other_model(hi):
    ask(model="us.amazon.nova-lite-v1:0", temperature=0.3)


def test_over_a_socket(converse_server):
    with converse_server.script(reply.text("hi")) as fake:
        from converse_harness.intercept.clients import create_client
        ask(client=create_client(endpoint_url=fake.url), temperature=0.5)


@pytest.mark.converse(rules="off")
def test_off(hi):
    ask(temperature=0.5)


@pytest.mark.converse(unexpected="allow")
def test_refused_as_it_is(converse):
    with pytest.raises(Exception, match="cannot both be specified"):
        ask(temperature=0.5, topP=0.5)


@pytest.mark.converse(rules="warn")
def test_noted_as_it_is(hi):
    ask(temperature=0.5, topP=0.5)


def test_asks_nothing():
    pass
"""

REPORT = [
    "*= converse rehearsal =*",
    f"rehearsed as {OPUS}: 1 of 5 tests would be accepted",
    f"  in place of {SONNET} (6 requests), the id asked most often; not of us.amazon.nova-lite-v1:0 (1 request) *",
    "  test_it.py::test_fails          call 1      claude_has_no_temperature  `temperature` is deprecated*agent.py:12",
    "  test_it.py::test_over_a_socket  call 1      claude_has_no_temperature  `temperature` is deprecated for*el.",
    "  test_it.py::test_prefill        call 1      claude_is_not_prefilled    This model does not*... *agent.py:12",
    "  test_it.py::test_temperature    calls 1, 4  claude_has_no_temperature  `temperature` is deprecated* agent.py:12",
    "Bedrock's words, and who saw them last:",
    "  claude_has_no_temperature: The model returned the following errors: `temperature` is deprecated*   (*202?-*)",
    "  claude_is_not_prefilled: *The conversation must end with a user message.   (*202?-*)",
    'left out: 2 tests with a request that is refused as it is, 1 test with rules="off"',
    "not rehearsed: signatures, contents of files, token limits; what your framework sends differently for *",
]


FIELDS = """
from agent import SONNET, create_client
from converse_harness import reply


def test_thinks(converse):
    converse.script(reply.text("hi"))
    fields = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "effort": 5}
    messages = [{"role": "user", "content": [{"text": "hello"}]}]
    create_client().converse(modelId=SONNET, messages=messages, additionalModelRequestFields=fields)
"""


@pytest.fixture
def suite(project: pytest.Pytester) -> pytest.Pytester:
    """A suite for Sonnet 4.5 that another model refuses in places."""
    project.makepyfile(agent=AGENT, test_it=TESTS)
    return project


def report_of(result: pytest.RunResult) -> list[str]:
    """The lines of the section."""
    lines = result.outlines
    start = next(index for index, line in enumerate(lines) if "converse rehearsal" in line)
    end = next(index for index, line in enumerate(lines) if line.startswith("not rehearsed: "))
    return lines[start : end + 1]


def test_each_call_that_would_be_refused_is_reported(suite: pytest.Pytester) -> None:
    result = suite.runpytest(f"--converse-as={OPUS}", "--tb=no")
    result.assert_outcomes(passed=9, failed=1)
    result.stdout.fnmatch_lines(REPORT, consecutive=True)
    result.stdout.no_fnmatch_line("*test_it.py::test_accepted *")


def test_nothing_is_said_without_the_option(suite: pytest.Pytester) -> None:
    result = suite.runpytest("--tb=no")
    result.assert_outcomes(passed=9, failed=1)
    result.stdout.no_fnmatch_line("*rehears*")


@pytest.mark.slow
def test_workers_report_to_the_controller(suite: pytest.Pytester) -> None:
    """What they saw is reported as if one process had seen it, with the fields that no rule looks at."""
    suite.makepyfile(test_fields=FIELDS)
    options = (f"--converse-as={OPUS}", "--converse-as-strict", "--tb=no", "--deselect=test_it.py::test_fails")
    alone = suite.runpytest(*options)
    workers = suite.runpytest(*XDIST, "-n", "2", *options)
    assert report_of(workers) == report_of(alone)
    assert report_of(alone)[-1].startswith("not rehearsed: additional model request fields (effort), signatures, ")
    assert (alone.ret, workers.ret) == (1, 1)
    workers.stdout.fnmatch_lines(["the run fails, because of --converse-as-strict"])


def test_strict_is_content_where_nothing_would_be_refused(suite: pytest.Pytester) -> None:
    result = suite.runpytest(f"--converse-as={SONNET}", "--converse-as-strict", "-k", "not fails")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"rehearsed as {SONNET}: 4 of 4 tests would be accepted"])


def test_a_pattern_chooses_the_ids_that_are_replaced(suite: pytest.Pytester) -> None:
    options = (
        f"--converse-as=*nova*={OPUS}",
        f"--converse-as=*={OPUS}",
        "--converse-as=*nowa*=us.amazon.nova-pro-v1:0",
    )
    result = suite.runpytest(*options, "--tb=no")
    result.stdout.fnmatch_lines(
        [
            f"rehearsed as {OPUS}: 0 of 1 test would be accepted",
            "  in place of us.amazon.nova-lite-v1:0 (1 request)",
            "  test_it.py::test_other_model  call 1  *",
            f"rehearsed as {OPUS}: 1 of 6 tests would be accepted",
            f"  in place of {SONNET} (6 requests), us.amazon.nova-lite-v1:0 (1 request)",
            "rehearsed as us.amazon.nova-pro-v1:0: nothing was asked",
            f"  no model id matches '*nowa*'; asked were {SONNET} (6 requests), us.amazon.* Correct the pattern.",
        ]
    )


def test_all_lines_of_models(suite: pytest.Pytester) -> None:
    result = suite.runpytest("--converse-as=all", "--tb=no")
    result.stdout.fnmatch_lines(
        [
            "rehearsed as the newest model of each line of models (all)",
            f"  in place of {SONNET} (6 requests), the id asked most often; not of *",
            "  anthropic.claude-opus-5-5: 1 of 5 tests would be accepted   claude_has_no_temperature (3), *led (1)",
            "  meta.llama4-scout: 5 of 5 tests would be accepted",
            "  google.gemma-3 (no rules of its own are known, only those of all models): 5 of 5 tests would be*",
        ]
    )
    result.stdout.no_fnmatch_line("*test_it.py::test_temperature *claude_has*")


def test_an_id_that_names_its_line_alone_is_refused_where_it_was_named(suite: pytest.Pytester) -> None:
    """At the strict level, which refuses it; the ids of `all` are only examples of their lines."""
    suite.makepyfile(
        test_strict="""
        import pytest
        from agent import ask
        from converse_harness import reply


        @pytest.mark.converse(rules="strict")
        def test(converse):
            converse.script(reply.text("hi"))
            ask()
        """
    )
    for named, accepted in (("all", 1), ("anthropic.claude-opus-5-5", 0)):
        result = suite.runpytest("test_strict.py", f"--converse-as={named}")
        result.stdout.fnmatch_lines([f"*anthropic.claude-opus-5-5: {accepted} of 1 test would be accepted*"])


@pytest.mark.parametrize(
    ("model", "about"),
    [
        ("us.anthropic.claude-opus-9", " (rules inferred from Claude Opus 5.5)"),
        ("us.amazon.nova-premier-v1:0", " (its end of life was on 2026-09-14)"),
        ("us.anthropic.claude-opus-5", ""),
    ],
)
def test_what_a_reader_must_know_of_the_model(model: str, about: str, suite: pytest.Pytester) -> None:
    result = suite.runpytest(f"--converse-as={model}", "-k", "accepted")
    result.stdout.fnmatch_lines([f"rehearsed as {model}{about}: 1 of 1 test would be accepted"])


def test_of_an_unknown_model_nothing_is_claimed(suite: pytest.Pytester) -> None:
    result = suite.runpytest("--converse-as=my-alias", "-k", "temperature")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["my-alias: nothing is claimed, because no row of the table of models has *"])
    result.stdout.no_fnmatch_line("*would be accepted*")


def test_the_model_behind_an_id_of_ones_own_is_rehearsed(suite: pytest.Pytester) -> None:
    suite.makeini("[pytest]\nconverse_models =\n    my-* = anthropic.claude-opus-5\n")
    result = suite.runpytest("--converse-as=my-alias", "-k", "temperature")
    result.stdout.fnmatch_lines(["rehearsed as my-alias: 0 of 1 test would be accepted"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--converse-as=a b"],
            "*--converse-as 'a b': 'a b' is no model id. It is MODEL or PATTERN=MODEL; *For example*",
        ),
        (["--converse-as=*sonnet*="], "*--converse-as '[*]sonnet[*]=': no model id came. It is *"),
        (["--converse-as==us.amazon.nova-pro-v1:0"], "*no pattern came before the =. It is *"),
        (["--converse-as-strict"], "*--converse-as-strict came without --converse-as MODEL. Name the model as well."),
        (["--converse-as-strict", "--converse-as=my-alias"], "*--converse-as-strict: my-alias: nothing is claimed, *"),
    ],
)
def test_what_is_no_model_stops_the_run(options: list[str], message: str, suite: pytest.Pytester) -> None:
    result = suite.runpytest(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_a_run_without_requests_says_so(project: pytest.Pytester) -> None:
    project.makepyfile("def test_nothing(): pass")
    result = project.runpytest(f"--converse-as={OPUS}")
    result.stdout.fnmatch_lines([f"rehearsed as {OPUS}: nothing was asked", "  requests of Converse and * made one"])


def test_calls_of_fixtures_and_threads_are_rehearsed_with_the_line_that_asked(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_it="""
        import pytest
        from agent import ask, ask_in_a_thread
        from converse_harness import fake_converse, reply


        @pytest.fixture(scope="module")
        def module():
            with fake_converse(reply.text("hi"), reply.text("hi")):
                ask(temperature=0.1)
                yield
                ask(prefill="{")  # in the teardown, which belongs to the last test of the module


        def test_with_a_fixture(module):
            pass


        class Library:
            '''Asks in a thread whose stack has no line of the user.'''

            def ask(self):
                import concurrent.futures, functools
                from converse_harness.intercept.clients import create_client

                message = {"role": "user", "content": [{"text": "hi"}]}
                asked = {"modelId": "anthropic.claude-sonnet-4-5", "messages": [message]}
                call = functools.partial(create_client().converse, inferenceConfig={"temperature": 1}, **asked)
                with concurrent.futures.ThreadPoolExecutor() as pool:
                    return pool.submit(call).result()  # line 29


        def test_in_a_thread_of_a_library(converse):
            converse.always(reply.text("hi"))
            Library().ask()


        def test_in_a_thread(converse):
            converse.always(reply.text("hi"))
            ask_in_a_thread(temperature=0.2)
        """
    )
    result = suite.runpytest(f"--converse-as=*={OPUS}")
    result.stdout.fnmatch_lines(
        [
            "  test_it.py::test_in_a_thread               call 1  claude_has_no_temperature *agent.py:12",
            "  test_it.py::test_in_a_thread               call 2  claude_is_not_prefilled *agent.py:12",
            "  test_it.py::test_in_a_thread_of_a_library  call 1  claude_has_no_temperature *test_it.py:29",
            "  test_it.py::test_with_a_fixture            call 1  claude_has_no_temperature *agent.py:12",
        ]
    )


@pytest.mark.parametrize(
    ("statuses", "accepted"),
    [([200], True), ([400], False), ([403], False), ([503, 200], True)],
    ids=["answered", "refused", "denied", "answered at last"],
)
def test_what_bedrock_accepted_is_worth_more_than_a_rule(
    statuses: list[int], accepted: bool, suite: pytest.Pytester
) -> None:
    """A recorded answer to what a rule refuses of the same model; where Bedrock did not answer, it is left out."""
    answer = '{"message": {"role": "assistant", "content": [{"text": "hi"}]}}'
    usage = '{"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}'
    body = f'{{"output": {answer}, "stopReason": "end_turn", "usage": {usage}, "metrics": {{"latencyMs": 1}}}}'
    types = {400: "ValidationException", 403: "AccessDeniedException", 503: "ServiceUnavailableException"}
    heads = [
        f'"status": {status}, '
        + (f'"type": "{types[status]}", "body": {{"message": "no"}}' if status in types else f'"body": {body}')
        for status in statuses
    ]
    message = '{"role": "user", "content": [{"text": "hello"}]}'
    request = f'"request": {{"messages": [{message}], "inferenceConfig": {{"temperature": 0.5}}}}'
    folder = suite.mkdir("recordings")
    (folder / "one.jsonl").write_text(
        '{"format": "converse-recording", "version": 2}\n'
        + "".join(
            f'{{"call": {n}, "operation": "Converse", "modelId": "{OPUS}", {request}}}\n{{"t": 5, {head}}}\n'
            for n, head in enumerate(heads, 1)
        )
    )
    suite.makepyfile(
        test_it=f"""
        from contextlib import suppress
        import pytest
        from agent import ask

        @pytest.mark.converse_recording("one")
        def test_recorded():
            with suppress(Exception):
                ask(model="{OPUS}", temperature=0.5)
        """
    )
    result = suite.runpytest(f"--converse-as={OPUS}", "--converse-as=us.anthropic.claude-opus-5-5")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"rehearsed as {OPUS}: {'1 of 1 test' if accepted else 'nothing was asked'}*"])
    assert ("left out: 1 test" in result.stdout.str()) != accepted


def test_recordings_that_tests_play_are_rehearsed(suite: pytest.Pytester) -> None:
    source = Path(__file__).parents[3] / "recordings" / "tool_loop.jsonl"
    suite.mkdir("recordings").joinpath("loop.jsonl").write_bytes(source.read_bytes())
    suite.makepyfile(
        test_it="""
        from converse_harness import fake_converse, recording
        from converse_harness.intercept.clients import create_client

        def test_loop():
            played = recording("recordings/loop.jsonl")
            with fake_converse(played):
                for exchange in played.exchanges:
                    list(create_client().converse_stream(modelId=exchange.model_id, **exchange.request)["stream"])
        """
    )
    result = suite.runpytest("--converse-as=us.meta.llama4-scout-17b-instruct-v1:0")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "  test_it.py::test_loop  calls 1, 2  some_stream_no_tools  *",
            "  test_it.py::test_loop  call 2 *llama_and_mistral_speak_or_use_a_tool  *",
        ]
    )


def test_account_ids_are_masked_and_matched_all_the_same(suite: pytest.Pytester) -> None:
    arn = "arn:aws:bedrock:us-east-1:210987654321:application-inference-profile/a1b2c3d4e5f6"
    suite.makepyfile(
        test_it=f"""
        from agent import ask
        from converse_harness import reply

        def test_profile(converse):
            converse.always(reply.text("hi"))
            ask(model="{arn}", temperature=0.5)
        """
    )
    result = suite.runpytest(f"--converse-as=arn:*:210987654321:*={OPUS}")
    result.stdout.fnmatch_lines([f"rehearsed as {OPUS}: 0 of 1 test would be accepted"])
    assert not re.search(r"in place of .*210987654321", result.stdout.str())


def test_many_rows_are_cut(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_it="""
        import pytest
        from agent import ask
        from converse_harness import reply

        @pytest.mark.parametrize("n", range(53))
        def test_each(n, converse):
            converse.always(reply.text("hi"))
            ask(temperature=0.5)
        """
    )
    result = suite.runpytest(f"--converse-as={OPUS}")
    result.stdout.fnmatch_lines(["  ... and 3 more, which -v shows"])
    assert result.stdout.str().count(" claude_has_no_temperature  ") == 50
    assert suite.runpytest(f"--converse-as={OPUS}", "-v").stdout.str().count(" claude_has_no_temperature  ") == 53


def test_the_model_of_the_ini_file_and_of_the_command_line(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(converse_model): print(converse_model)")
    project.runpytest().stdout.fnmatch_lines(["*UsageError: the fixture converse_model returns the ini setting *"])
    project.makeini("[pytest]\nconverse_model = amazon.nova-lite-v1:0\n")
    project.runpytest("-s").stdout.fnmatch_lines(["*amazon.nova-lite-v1:0*"])
    project.runpytest("-s", "-o", f"converse_model={OPUS}").stdout.fnmatch_lines([f"*{OPUS}*"])


def test_every_example_and_every_async_call_is_rehearsed(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_it="""
        import unittest
        from agent import ask
        from converse_harness import HttpxFake, fake_converse, reply
        from hypothesis import given, settings, strategies as st

        @settings(max_examples=8, database=None, deadline=None)
        @given(st.floats(0, 1))
        def test_given(temperature):
            with fake_converse(reply.text("hi")):
                ask(temperature=temperature)

        class TestOld(unittest.TestCase):
            def test_case(self):
                with fake_converse(reply.text("hi")):
                    ask(temperature=0.5)

        def test_httpx():
            import asyncio, httpx

            async def post(fake):
                async with httpx.AsyncClient(transport=fake.httpx_async_transport) as client:
                    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-sonnet-4-5/converse"
                    message = {"role": "user", "content": [{"text": "hi"}]}
                    asked = {"messages": [message], "inferenceConfig": {"temperature": 1}}
                    return await client.post(url, json=asked)  # line 25

            with HttpxFake(reply.text("hi")) as fake:
                assert asyncio.run(post(fake)).status_code == 200
        """
    )
    result = suite.runpytest(f"--converse-as=*={OPUS}", "-p", "_hypothesis_pytestplugin")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "  test_it.py::TestOld::test_case  call 1  claude_has_no_temperature *agent.py:12",
            "  test_it.py::test_given          call 1  claude_has_no_temperature *agent.py:12",
            "  test_it.py::test_httpx          call 1  claude_has_no_temperature *test_it.py:25",
        ]
    )


def test_a_rule_that_a_test_switches_off_refuses_no_other_model(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_it="""
        import pytest
        from agent import ask
        from converse_harness import reply


        @pytest.mark.converse(rules={"claude_has_no_temperature": "off"})
        def test_off(converse):
            converse.script(reply.text("hi"))
            ask(temperature=0.5)


        @pytest.mark.converse(rules={"claude_has_no_top_p": "off"})
        def test_another_is_off(converse):
            converse.script(reply.text("hi"))
            ask(temperature=0.5)
        """
    )
    result = suite.runpytest(f"--converse-as={OPUS}")
    result.assert_outcomes(passed=2)
    report = "\n".join(report_of(result))
    assert "test_another_is_off  call 1  claude_has_no_temperature" in report
    assert "test_off " not in report


COUNTING = """
import pytest
from agent import SONNET, ask
from converse_harness import reply
from converse_harness.intercept.clients import create_client

ASKED = {"converse": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}}


def test_counts(converse):
    create_client().count_tokens(modelId=SONNET.removeprefix("us."), input=ASKED)


def test_counts_for_a_profile(converse):
    converse.script(reply.text("hi"))
    with pytest.raises(Exception, match="counting tokens"):
        create_client().count_tokens(modelId=SONNET, input=ASKED)
    ask()
"""


@counts_tokens
def test_what_is_counted_is_rehearsed_too(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it=COUNTING)
    result = suite.runpytest(f"--converse-as=*={OPUS}")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            f"rehearsed as {OPUS}: 1 of 2 tests would be accepted",
            "  test_it.py::test_counts  call 1  model_counts_tokens  The provided model doesn't support*test_it.py:*",
        ]
    )
    result.stdout.no_fnmatch_line("left out: *")


@pytest.mark.parametrize(
    ("model", "unjudged"),
    [
        ("us.amazon.nova-pro-v1:0", "additional model request fields (effort), signatures, "),
        ("us.anthropic.claude-sonnet-4-6", "additional model request fields (effort), signatures, "),
        ("no-such-model", "signatures, "),
    ],
)
def test_additional_fields_that_no_rule_looks_at_are_named(suite: pytest.Pytester, model: str, unjudged: str) -> None:
    suite.makepyfile(test_it=FIELDS)
    result = suite.runpytest(f"--converse-as={model}")
    result.assert_outcomes(passed=1)
    assert report_of(result)[-1].startswith(f"not rehearsed: {unjudged}")
