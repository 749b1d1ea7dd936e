"""What becomes of a test: one failure, with a text that says what came, what was scripted, and what to do."""

import pytest

UNEXPECTED = r"""
*UnexpectedCall: call 3 has no reply left.
E*
E*   arrived   ConverseStream us.amazon.nova-lite-v1:0, 5 messages, last: toolResult tooluse_*... (error) "city not *"
E*   scripted  1. tool_use get_weather {"city": "Zürich"}     used by call 1
E*             2. tool_use get_weather {"city": "Bern"}       used by call 2
E*
E*   The agent went round its tool loop once more than the script expects. Add a reply for it, or use
E*   converse.always(...) for "any number of times".   More: converse-harness docs scripting running-out
""".strip().splitlines()


def test_an_agent_that_is_tested_as_the_readme_says_passes(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import weather
        from converse_harness import reply

        def test_looks_up_the_weather(converse):
            converse.script(reply.tool_use("get_weather", {"city": "Zürich"}), reply.text("18 °C and sunny."))
            assert "18" in weather("Zürich")
            ask, answer = converse.calls
            assert ask.tool_names == ["get_weather"]
            assert answer.tool_results[0]["content"] == [{"text": "city not found"}]
            assert answer.response.message["content"] == [{"text": "18 °C and sunny."}]
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_an_unexpected_call_fails_the_test_though_the_agent_swallows_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import weather
        from converse_harness import reply

        def test_it(converse):
            converse.script(
                reply.tool_use("get_weather", {"city": "Zürich"}), reply.tool_use("get_weather", {"city": "Bern"})
            )
            assert weather("Zürich") == "sorry"
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(UNEXPECTED)
    result.stdout.fnmatch_lines(
        [
            "*- Bedrock Converse calls -*",
            "call 1  ConverseStream us.amazon.nova-lite-v1:0, 1 message, last: text*",
            "    tools    get_weather",
            '    answer   200  tool_use get_weather {"city": "Zürich"}  (complete)',
            '*ms  {"messageStart": {"role": "assistant"}}',
            "call 3  *",
            "    answer   400  no reply  (complete)",
        ]
    )


def test_an_unused_reply_fails_a_passing_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import ask
        from converse_harness import reply

        def test_it(converse):
            converse.script(reply.text("a"), reply.throttled().times(2))
            assert ask("hi") == "a"
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*UnusedReplies: 2 scripted replies were not used.",
            'E*   scripted  1. text "a" *used by call 1',
            "E*             2. ThrottlingException (429) * 2 times*not used",
            'E*   arrived   Converse us.amazon.nova-lite-v1:0, 1 message, last: text "hi"',
            'E*   *@pytest.mark.converse(unused="allow")*',
        ]
    )


def test_unused_replies_are_not_reported_on_a_test_that_failed_already(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from converse_harness import reply

        def test_it(converse):
            converse.script(reply.text("a"))
            assert 1 == 2
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*assert 1 == 2"])
    result.stdout.no_fnmatch_line("*not used*")


def test_a_test_that_fails_because_of_an_unexpected_call_says_so_at_its_own_line(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import ask

        def test_it(converse):
            ask("hi")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>       ask("hi")',
            ">       answer = client(**options).converse(*",
            "E*UnexpectedCall: call 1 has no reply: nothing is scripted.",
            'E*   converse.script(reply.text("...")) * More: converse-harness docs scripting replies-in-order',
        ]
    )
    result.stdout.no_fnmatch_line("*botocore*")


@pytest.mark.parametrize("way", ["marker", "ini", "option"])
def test_strictness_can_be_allowed_by_marker_ini_and_option(project: pytest.Pytester, way: str) -> None:
    marker = '@pytest.mark.converse(unused="allow", unexpected="allow")' if way == "marker" else ""
    project.makepyfile(
        f"""
        import pytest
        from agent import weather
        from converse_harness import reply

        {marker}
        def test_it(converse):
            converse.when(model="none").script(reply.text("a"))
            assert weather("Bern") == "sorry"
        """
    )
    if way == "ini":
        project.makeini("[pytest]\nconverse_unused = allow\nconverse_unexpected = allow\n")
    options = ["--converse-unused=allow", "--converse-unexpected=allow"] if way == "option" else []
    project.runpytest(*options).assert_outcomes(passed=1)


def test_a_wrong_setting_is_refused_by_name(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.converse(unsed="allow")
        def test_name(converse):
            pass

        @pytest.mark.converse(unused="alow")
        def test_value(converse):
            pass

        @pytest.mark.converse(sleeps="maybe")
        def test_sleeps(converse):
            pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        [
            "*converse: unsed= is no setting. Did you mean unused=? Settings: unused=, *, guard=, rerun=, environ=*",
            "*@pytest.mark.converse(unused='alow'): one of 'fail', 'allow'.",
            "*@pytest.mark.converse(sleeps='maybe'): it is True or False.",
        ]
    )


def test_the_seed_changes_the_ids(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from agent import client
        from converse_harness import reply

        seen = set()

        @pytest.mark.parametrize("seed", [pytest.param(n, marks=pytest.mark.converse(seed=n)) for n in (0, 1, 1)])
        def test_it(converse, seed):
            converse.script(reply.tool_use("now"))
            answer = client().converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
            seen.add(answer["output"]["message"]["content"][0]["toolUse"]["toolUseId"])

        def test_seen():
            assert len(seen) == 2
        """
    )
    project.runpytest().assert_outcomes(passed=4)


def test_a_scripted_function_that_raises_fails_the_test_with_its_own_error(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import weather
        from converse_harness import reply

        def test_it(converse):
            converse.always(lambda call: reply.text(call.tool_results[0]["text"]))
            assert weather("Bern") == "sorry"
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*IndexError: list index out of range*"])


def test_secrets_do_not_reach_the_report(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from agent import client
        from converse_harness import reply

        ARN = "arn:aws:bedrock:us-east-1:112233445566:inference-profile/us.amazon.nova-lite-v1:0"

        def test_it(converse):
            converse.script(reply.text("a"))
            client(aws_access_key_id="AKIAQ7EXAMPLEKEYABCD", aws_secret_access_key="s" * 40).converse(
                modelId=ARN, messages=[{"role": "user", "content": [{"text": "my key is AKIAQ7EXAMPLEKEYABCD"}]}]
            )
            raise RuntimeError
        """
    )
    result = project.runpytest("--tb=short", "--junit-xml=report.xml", "-o", "junit_logging=all")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["call 1  Converse arn:aws:bedrock:us-east-1:[*][*][*]:inference-profile/*my key is [*][*][*]*"]
    )
    report = (project.path / "report.xml").read_text()
    for secret in ("112233445566", "AKIAQ7EXAMPLEKEYABCD", "ssssss"):
        assert secret not in report
        result.stdout.no_fnmatch_line(f"*{secret}*")


def test_a_call_that_another_fixture_makes_after_the_test_is_an_error_of_its_teardown(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from agent import weather

        @pytest.fixture
        def asks_late(converse):
            yield
            weather("Bern")

        def test_it(asks_late):
            pass

        def test_asked_before(converse):
            weather("Bern")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(passed=1, errors=1, failed=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_it*", "*UnexpectedCall: call 1 has no reply*"])


def test_an_expected_failure_or_a_skip_does_not_hide_an_unexpected_call(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from agent import weather

        def test_it(converse):
            weather("Bern")
            pytest.xfail("known")

        def test_skip(converse):
            weather("Bern")
            pytest.skip("not here")
        """
    )
    project.runpytest().assert_outcomes(xfailed=1, skipped=1, errors=2)


def test_what_is_wrong_with_a_call_fails_its_own_test_whatever_the_scope_of_the_fake(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import boto3
        import pytest
        from contextlib import suppress
        from converse_harness import fake_converse, reply

        @pytest.fixture(scope="session", params=["session"])
        def model():
            with fake_converse(reply.text("for the last test")) as fake:
                yield fake

        def ask(text):
            message = {"role": "user", "content": [{"text": text}]}
            with suppress(Exception):
                boto3.client("bedrock-runtime").converse(modelId="amazon.titan-text-lite-v1", messages=[message])

        def test_blank(model):
            ask(" ")

        def test_no_call(model):
            pass

        def test_blank_and_failing(model):
            ask(" ")
            raise ValueError("its own")

        def test_blank_and_skipped(model):
            ask(" ")
            pytest.skip("too late")

        def test_blank_and_expected_to_fail(model):
            ask(" ")
            pytest.xfail("known")

        def test_right(model):
            ask("?")
        """
    )
    result = project.runpytest("-rA", "-p", "no:randomly", "-p", "no:xdist")
    result.assert_outcomes(failed=3, passed=2, xfailed=1)
    result.stdout.fnmatch_lines_random(
        [
            "E*converse_harness.RefusedRequest: Bedrock would refuse call 1: *",
            "E*converse_harness.RefusedRequest: Bedrock would refuse call 2: *",
            "E*converse_harness.RefusedRequest: Bedrock would refuse call 3: *",
            "*ValueError: its own",
        ]
    )


def test_a_failure_without_a_fake_is_shown_as_it_is(project: pytest.Pytester) -> None:
    """An exception that was dealt with on the way would be shown as what it happened during."""
    project.makepyfile("def test_it():\n    assert [] == [1]")
    result = project.runpytest("--tb=native")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*During handling*")


def test_a_test_that_is_run_again_has_a_fake_of_its_own(project: pytest.Pytester) -> None:
    """As plugins do that run a failing test again: what the first run left unused is not held against the second."""
    project.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            runtestprotocol(item, nextitem=nextitem, log=False)
            item._initrequest()
            runtestprotocol(item, nextitem=nextitem)
            return True
        """
    )
    project.makepyfile(
        """
        from converse_harness import reply

        runs = []

        def test_it(converse):
            runs.append(1)
            if len(runs) == 1:
                converse.script(reply.text("a"))
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_an_interrupt_is_no_failure_of_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from converse_harness import reply

        def test_it(converse):
            converse.script(reply.text("a"))
            raise KeyboardInterrupt

        def test_next():
            pass
        """
    )
    result = project.runpytest_inprocess(no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.no_fnmatch_line("*UnusedReplies*")
