"""The fixture `converse_each_case`: once per case, chosen by -k, unused, under xdist, with @given, for Converse."""

import pytest

from converse_harness.cases import CASES
from tests.nested import XDIST

STORY = """
    import dataclasses
    from agent import client

    @dataclasses.dataclass
    class Outcome:
        payments: list

    def run_agent_safely():
        outcome = Outcome([])
        messages = [{"role": "user", "content": [{"text": "?"}]}]
        try:
            list(client().converse_stream(modelId="us.amazon.nova-lite-v1:0", messages=messages)["stream"])
        except Exception:
            pass
        return outcome

    def test_every_known_trouble(converse_each_case):
        outcome = run_agent_safely()
        assert outcome.payments == []
"""

WHOLE = """
    from agent import ask

    def test_it(converse_each_case):
        try:
            ask("?")
        except Exception:
            pass
"""


@pytest.mark.slow
def test_every_case_is_survived(project: pytest.Pytester) -> None:
    project.makepyfile(STORY)
    project.runpytest().assert_outcomes(passed=len(CASES))


def test_a_test_runs_once_for_each_case(project: pytest.Pytester) -> None:
    project.makepyfile(STORY)
    listed = project.runpytest("--collect-only", "-q").outlines
    assert [line.partition("[")[2].rstrip("]") for line in listed if "test_every_known_trouble" in line] == list(CASES)


def test_k_picks_some(project: pytest.Pytester) -> None:
    project.makepyfile(STORY)
    picked = sum("overflow" in name for name in CASES)
    project.runpytest("-k", "overflow").assert_outcomes(passed=picked, deselected=len(CASES) - picked)


@pytest.mark.slow
def test_under_xdist(project: pytest.Pytester) -> None:
    project.makepyfile(STORY)
    picked = sum("throttl" in name for name in CASES)
    project.runpytest(*XDIST, "-n", "2", "-k", "throttl").assert_outcomes(passed=picked)


def test_the_fake_answers_with_the_case_and_then_with_ok(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import agent
        import pytest
        from agent import ask
        from converse_harness import reply

        @pytest.mark.parametrize("converse_each_case", ["throttle_pre"], indirect=True)
        def test_it(converse_each_case, converse):
            assert converse_each_case.name == "throttle_pre"
            assert [ask("?"), ask("?"), ask("?")] == ["18 °C and sunny in Zürich.", "OK.", "OK."]
            assert [call.status for call in converse.calls] == [429, 429, 200, 200, 200]

        @pytest.mark.parametrize("converse_each_case", ["throttle_pre"], indirect=True)
        def test_who_does_not_ask_again(converse_each_case, monkeypatch):
            monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
            agent.client.cache_clear()
            with pytest.raises(Exception, match="Too many requests"):
                ask("?")
            agent.client.cache_clear()

        @pytest.mark.parametrize("converse_each_case", ["text_basic"], indirect=True)
        def test_more_of_the_test_s_own(converse_each_case, converse):
            converse.script(reply.text("mine"))
            assert [ask("?"), ask("?"), ask("?")] == ["18 °C and sunny in Zürich.", "mine", "OK."]
        """
    )
    project.runpytest().assert_outcomes(passed=3)


def test_the_fake_is_of_the_transport_that_the_test_uses(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import httpx
        import pytest

        pytestmark = pytest.mark.parametrize("converse_each_case", ["throttle_pre"], indirect=True)
        URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"

        def statuses():
            asked = {"messages": [{"role": "user", "content": [{"text": "?"}]}]}
            return [httpx.post(URL, json=asked).status_code for _ in range(4)]

        def test_httpx(converse_each_case, converse_httpx):
            assert statuses() == [429, 429, 200, 200]

        def test_server(converse_each_case, converse_server):
            pass

        def test_both(converse_each_case, converse, converse_httpx):
            pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "`converse_each_case` adds the replies*",
            "the test uses converse_server. Use one of these two alone*",
            '*@pytest.mark.parametrize("case", CASES.values(), ids=CASES)',
            "*def test_it(case, converse_server):",
            "*with converse_server.script([*]case.replies, ...)*",
            "the test uses converse and converse_httpx. *",
            "*converse_httpx.script([*]case.replies, ...)*",
        ]
    )


def test_who_asks_for_nothing_fails(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(converse_each_case): pass")
    result = project.runpytest("-k", "overflow_pre or no_message_stop")
    result.assert_outcomes(failed=2, deselected=len(CASES) - 2)
    result.stdout.fnmatch_lines(["*UnusedReplies: 1 scripted reply was not used.", "*arrived   nothing:*"])


@pytest.mark.parametrize("word", ["no_message", pytest.param("", marks=pytest.mark.slow)])
def test_what_only_a_stream_can_be_is_skipped_for_converse(project: pytest.Pytester, word: str) -> None:
    project.makepyfile(WHOLE)
    picked = [case for name, case in CASES.items() if word in name or "text" in name]
    only = sum(case.stream_only for case in picked)
    assert 0 < only < len(picked)
    result = project.runpytest("-rs", "-k", f"{word} or text" if word else "")
    result.assert_outcomes(passed=len(picked) - only, skipped=only, deselected=len(CASES) - len(picked))
    result.stdout.fnmatch_lines(["SKIPPED*no_message_stop: only a stream can be so, and all that was called is Con*"])
    # It is skipped as well where what is left unused would be allowed.
    result = project.runpytest("-k", "no_message_stop", "--converse-unused=allow")
    result.assert_outcomes(skipped=1, deselected=len(CASES) - 1)


def test_a_test_that_fails_is_not_skipped(project: pytest.Pytester) -> None:
    project.makepyfile(WHOLE + "        assert False, 'of its own'\n")
    result = project.runpytest("-k", "no_message_stop")
    result.assert_outcomes(failed=1, deselected=len(CASES) - 1)
    result.stdout.fnmatch_lines(["*of its own*"])


def test_inside_given_a_message_says_what_to_write_instead(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from agent import client
        from converse_harness import fake_converse
        from converse_harness import reply
        from converse_harness.cases import CASES
        from hypothesis import given, settings, strategies as st

        @given(text=st.text())
        def test_wrong(converse_each_case, text):
            pass

        @pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
        @given(text=st.text(min_size=1))
        @settings(max_examples=2, database=None)
        def test_right(case, text):
            with fake_converse(*case.replies, unused="allow") as fake:
                messages = [{"role": "user", "content": [{"text": text}]}]
                with pytest.raises(Exception, match="too long"):
                    client().converse_stream(modelId="m", messages=messages)
                assert fake.calls[0].last_user_text == text
        """
    )
    result = project.runpytest("-k", "overflow_pre")
    result.assert_outcomes(passed=1, errors=1, deselected=2 * len(CASES) - 2)
    result.stdout.fnmatch_lines(
        [
            "test_wrong uses @given, and the fixture `converse_each_case` would give all its examples one script*",
            '    @pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))',
            "        with fake_converse(?case.replies, unused=?allow?) as fake:",
            "(from converse_harness import fake_converse; from converse_harness.cases import CASES; More: *",
        ]
    )


def test_a_name_that_is_none_and_a_fixture_asked_for_too_late(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("converse_each_case", ["overflw_pre"], indirect=True)
        def test_wrong(converse_each_case):
            pass

        def test_late(request):
            request.getfixturevalue("converse_each_case")
        """
    )
    result = project.runpytest()
    result.assert_outcomes(errors=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "`converse_each_case`: no case is called 'overflw_pre'. Near it: overflow_pre, *",
            "`converse_each_case` was asked for while the test was running already.",
        ]
    )


def test_names_of_cases_need_indirect(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("converse_each_case", ["throttle_mid"])
        def test_wrong(converse_each_case):
            pass
        """
    )
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["Add `indirect=True`: @pytest.mark.parametrize(*"])


def test_a_fixture_of_the_test_s_own_may_ask_for_it_or_replace_it(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_ask="""
        import pytest
        from agent import ask

        @pytest.fixture
        def trouble(converse_each_case):
            return converse_each_case.name

        def test_it(trouble):
            with pytest.raises(Exception, match="too long"):
                ask("?")
        """,
        test_replace="""
        import pytest

        @pytest.fixture
        def converse_each_case():
            return "mine"

        def test_it_overflow_pre(converse_each_case):
            assert converse_each_case == "mine"
        """,
    )
    project.runpytest("-k", "overflow_pre").assert_outcomes(passed=2, deselected=len(CASES) - 1)


def test_the_catalogue_is_not_read_where_nobody_asks(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys

        def test_it(converse_message):
            assert "converse_harness.cases" not in sys.modules
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_pytest_lists_it(project: pytest.Pytester) -> None:
    project.runpytest("--fixtures").stdout.fnmatch_lines(
        [
            "converse_each_case -- *converse_harness/plugin/__init__.py:*",
            "    A named situation: the test runs once for each case of the catalogue; the fake sends its replies.",
        ]
    )
