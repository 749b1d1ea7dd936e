"""The fixture `converse_httpx`: when it fails its test, and its use together with `converse` and with respx."""

import pytest

from tests.nested import RESPX

AGENT = '''
import httpx

URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"


def ask_httpx(text):
    """An agent that survives anything, as agents in production do."""
    try:
        answer = httpx.post(URL, json={"messages": [{"role": "user", "content": [{"text": text}]}]})
        return answer.json()["output"]["message"]["content"][0]["text"]
    except Exception:
        return "sorry"
'''


@pytest.fixture
def httpx_project(project: pytest.Pytester) -> pytest.Pytester:
    """A pytester project with the modules `agent` and `httpx_agent`."""
    project.makepyfile(httpx_agent=AGENT)
    return project


def test_unexpected_calls_and_unused_replies_fail(httpx_project: pytest.Pytester) -> None:
    httpx_project.makepyfile(
        """
        import pytest
        from httpx_agent import ask_httpx
        from converse_harness import reply

        def test_right(converse_httpx):
            converse_httpx.script(reply.text("hi"))
            assert ask_httpx("hello") == "hi"

        def test_unexpected(converse_httpx):
            assert ask_httpx("hello") == "sorry"

        def test_unused(converse_httpx):
            converse_httpx.script(reply.text("hi"))

        @pytest.mark.converse(unused="allow", unexpected="allow")
        def test_allowed(converse_httpx):
            assert ask_httpx("hello") == "sorry"
            converse_httpx.script(reply.text("hi"))
        """
    )
    result = httpx_project.runpytest()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*UnexpectedCall: call 1 has no reply: nothing is scripted.",
            "*- Bedrock Converse calls (httpx) -*",
            'call 1  Converse m, 1 message, last: text "hello"',
            "*UnusedReplies: 1 scripted reply was not used.",
        ]
    )


def test_two_fakes_that_fail_are_one_failure_that_names_both(httpx_project: pytest.Pytester) -> None:
    httpx_project.makepyfile(
        """
        from agent import weather
        from httpx_agent import ask_httpx
        from converse_harness import reply

        def test_it(converse, converse_httpx):
            assert weather("Bern") == ask_httpx("hello") == "sorry"

        def test_one_of_them(converse, converse_httpx):
            converse.script(reply.text("18 °C"))
            assert weather("Bern") == "18 °C"
            assert ask_httpx("hello") == "sorry"
        """
    )
    result = httpx_project.runpytest()
    result.assert_outcomes(failed=2)
    # The one frame of ours that pytest wants to show.
    assert result.stdout.str().count(">  ") == 2
    result.stdout.fnmatch_lines(
        [
            "*UnexpectedCall: call 1 has no reply: nothing is scripted.",
            '*arrived   ConverseStream us.amazon.nova-lite-v1:0, 1 message, last: text "What is it like in Bern?"',
            "*UnexpectedCall: call 1 has no reply: nothing is scripted.",
            '*arrived   Converse m, 1 message, last: text "hello"',
            "*- Bedrock Converse calls -*",
            "*- Bedrock Converse calls (httpx) -*",
        ]
    )


def test_inside_given_a_message_names_what_to_open_instead(httpx_project: pytest.Pytester) -> None:
    httpx_project.makepyfile(
        """
        from hypothesis import given, settings, strategies as st
        from httpx_agent import ask_httpx
        from converse_harness import reply
        from converse_harness import HttpxFake

        @given(st.integers())
        def test_wrong(converse_httpx, number):
            pass

        @settings(max_examples=20)
        @given(st.text())
        def test_right(text):
            with HttpxFake(reply.text(text)):
                assert ask_httpx("hello") == text
        """
    )
    result = httpx_project.runpytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "test_wrong uses @given, and the fixture `converse_httpx` would give all its examples one script*",
            "*with HttpxFake(answer) as fake:",
            "(from converse_harness import HttpxFake; More: converse-harness docs *",
        ]
    )


@pytest.mark.parametrize("fixtures", ["converse_httpx, respx_mock", "respx_mock, converse_httpx"])
def test_beside_the_fixture_and_the_decorator_of_respx(httpx_project: pytest.Pytester, fixtures: str) -> None:
    httpx_project.makepyfile(
        f"""
        import httpx, pytest, respx
        from httpx_agent import ask_httpx
        from converse_harness import reply

        def ask_both(mine, converse_httpx):
            converse_httpx.script(reply.text("ours"))
            mine.get("https://example.com/").respond(text="mine")
            assert httpx.get("https://example.com/").text == "mine"
            assert ask_httpx("hello") == "ours"

        def test_fixture({fixtures}):
            ask_both(respx_mock, converse_httpx)

        @pytest.mark.respx(base_url="https://example.com/", assert_all_mocked=False)
        def test_fixture_with_settings({fixtures}):
            respx_mock.get("/path").respond(text="mine")
            converse_httpx.script(reply.text("ours"))
            assert httpx.get("https://example.com/path").text == "mine"
            assert httpx.get("https://example.com/other").status_code == 200
            assert ask_httpx("hello") == "ours"

        @respx.mock
        def test_decorator(converse_httpx):
            ask_both(respx, converse_httpx)

        @respx.mock(using="httpx")
        def test_decorator_with_settings(respx_mock, converse_httpx):
            ask_both(respx_mock, converse_httpx)

        @respx.mock
        def test_both({fixtures}):
            ask_both(respx_mock, converse_httpx)
        """
    )
    httpx_project.runpytest(*RESPX).assert_outcomes(passed=5)
