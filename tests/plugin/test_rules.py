"""A request that Bedrock would refuse, in a project's tests: what fails, what is shown, and how to allow it."""

import pytest

START = "A conversation must start with a user message. Try again with a conversation that starts with a user message."
REPORT = f"""
*RefusedRequest: Bedrock would refuse call 1: {START}
E*
E*   arrived   Converse us.amazon.nova-lite-v1:0, 2 messages, last: text "hi"
E*   rule      first_message_is_the_users: a conversation starts with a message of the user
E*   broken at messages[[]0].role
E*   source    langgenius/dify#12340 (2025-01-03, Claude 3.5 Sonnet), strands-agents/harness-sdk#2085 (2026-04-07, *
E*
E*   Mend the request. Where the test is about this refusal: with converse.refuses("first_message_is_the_users"): ...
E*   Where the model does accept it: @pytest.mark.converse(rules={{"first_message_is_the_users": "off"}}), or rules=*
E*   More: converse-harness docs *
""".strip().splitlines()
LOOSE = (
    '*rules=\'loose\'*one of "off" (answer every request), "warn" (answer as scripted, with a note for each '
    'request that Bedrock would refuse), "default" (refuse requests that Bedrock refuses for the requested model), '
    '"strict" (refuse also model ids that Bedrock does not accept); or *'
)
LEVELS = ["off", "warn", "default", "strict"]
AGENT = '''
import httpx

from agent import ask, client

HELLO = {"role": "user", "content": [{"text": "hello"}]}
WELCOME = {"role": "assistant", "content": [{"text": "welcome"}]}
URL = "https://bedrock-runtime.us-east-1.amazonaws.com"


def begun(**options):
    """A conversation that the assistant begins."""
    return ask("hi", [WELCOME], **options)


def survives():
    """The same in an agent that survives anything, as agents in production do."""
    try:
        return begun()
    except Exception:
        return "sorry"


def made_up():
    """A model that nobody has."""
    answer = client().converse(modelId="my-model", messages=[HELLO])
    return answer["output"]["message"]["content"][0]["text"]


def by_httpx(url=URL):
    """A conversation that the assistant begins, by another client: its status, and its body."""
    body = {"messages": [WELCOME, HELLO]}
    answer = httpx.post(f"{url}/model/us.amazon.nova-lite-v1:0/converse", json=body, trust_env=False)
    return answer.status_code, answer.json()
'''


@pytest.fixture
def refused(project: pytest.Pytester) -> pytest.Pytester:
    """A pytester project whose module `asking` asks for what Bedrock refuses."""
    project.makepyfile(asking=AGENT)
    return project


def test_a_refused_request_gets_bedrocks_own_400_with_its_own_words(refused: pytest.Pytester) -> None:
    refused.makepyfile(
        f"""
        import pytest
        from asking import begun
        from botocore.exceptions import ClientError
        from converse_harness import reply

        @pytest.mark.converse(unexpected="allow", unused="allow")
        def test_it(converse):
            converse.script(reply.text("hi"))
            with pytest.raises(ClientError) as caught:
                begun()
            answer = caught.value.response
            assert answer["Error"] == {{"Code": "ValidationException", "Message": {START!r}}}
            assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
            assert converse.calls[0].refusal.rule.name == "first_message_is_the_users"
        """
    )
    refused.runpytest().assert_outcomes(passed=1)


def test_a_refused_request_fails_the_test_though_the_agent_swallows_it(refused: pytest.Pytester) -> None:
    refused.makepyfile(
        """
        from asking import survives
        from converse_harness import reply

        def test_it(converse):
            converse.script(reply.text("hi"))
            assert survives() == "sorry"
        """
    )
    result = refused.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(REPORT, consecutive=True)
    result.stdout.fnmatch_lines(
        [
            "*- Bedrock Converse calls -*",
            "call 1  Converse *",
            "    answer   400  refused: first_message_is_the_users  (complete)",
        ]
    )
    result.stdout.no_fnmatch_line("*not used*")


def test_a_test_that_fails_because_of_it_shows_both(refused: pytest.Pytester) -> None:
    refused.makepyfile(
        """
        from asking import begun

        def test_it(converse):
            begun()
        """
    )
    result = refused.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"*ValidationException) when calling the Converse operation: {START}",
            "The above exception was the direct cause of the following exception:",
            *REPORT,
        ]
    )


@pytest.mark.parametrize("way", ["marker", "ini", "option"])
@pytest.mark.parametrize("level", LEVELS)
def test_each_level_by_marker_ini_and_option(refused: pytest.Pytester, level: str, way: str) -> None:
    marker = f"@pytest.mark.converse(rules={level!r})" if way == "marker" else ""
    refused.makepyfile(
        f"""
        import pytest
        from asking import begun, made_up
        from converse_harness import reply

        {marker}
        def test_begun(converse):
            converse.script(reply.text("hi"))
            assert begun() == "hi"

        {marker}
        def test_made_up(converse):
            converse.script(reply.text("hi"))
            assert made_up() == "hi"
        """
    )
    if way == "ini":
        refused.makeini(f"[pytest]\nconverse_rules = {level}\n")
    result = refused.runpytest(*([f"--converse-rules={level}"] if way == "option" else []))
    failed = {"off": 0, "warn": 0, "default": 1, "strict": 2}[level]
    result.assert_outcomes(passed=2 - failed, failed=failed)
    if failed:
        result.stdout.fnmatch_lines([f"E*RefusedRequest: Bedrock would refuse call 1: {START}"])
    if level == "strict":
        result.stdout.fnmatch_lines(
            ["E*RefusedRequest: Bedrock would refuse call 1: The provided model identifier is invalid."]
        )


def test_the_marker_wins_over_the_command_line_and_that_over_the_ini_file(refused: pytest.Pytester) -> None:
    refused.makepyfile(
        """
        import pytest
        from asking import begun, made_up
        from converse_harness import reply

        @pytest.mark.converse(rules="off")
        def test_marker(converse):
            converse.script(reply.text("hi"))
            assert begun() == "hi"

        def test_option(converse):
            converse.script(reply.text("hi"))
            assert made_up() == "hi"
        """
    )
    refused.makeini("[pytest]\nconverse_rules = strict\n")
    refused.runpytest("--converse-rules=default").assert_outcomes(passed=2)


@pytest.mark.parametrize("way", ["marker", "ini", "option"])
@pytest.mark.parametrize("fixture", ["converse", "converse_httpx", "converse_server"])
def test_a_level_that_is_none(refused: pytest.Pytester, fixture: str, way: str) -> None:
    marker = '@pytest.mark.converse(rules="loose")' if way == "marker" else ""
    refused.makepyfile(
        f"""
        import pytest

        {marker}
        def test_it({fixture}):
            {fixture}.script()
        """
    )
    if way == "ini":
        refused.makeini("[pytest]\nconverse_rules = loose\n")
    result = refused.runpytest(*(["--converse-rules=loose"] if way == "option" else []))
    if way == "marker":
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([LOOSE])
    else:
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([LOOSE.replace("='loose'", "*loose")])


def test_the_fixture_of_httpx_and_that_of_the_server(refused: pytest.Pytester) -> None:
    refused.makepyfile(
        f"""
        import pytest
        from asking import begun, by_httpx
        from converse_harness import reply

        REFUSED = (400, {{"message": {START!r}}})

        def test_httpx(converse_httpx):
            assert by_httpx() == REFUSED

        def test_server(converse_server):
            fake = converse_server.script()
            assert by_httpx(fake.url) == REFUSED

        @pytest.mark.converse(rules="off")
        def test_httpx_off(converse_httpx):
            converse_httpx.script(reply.text("hi"))
            assert by_httpx()[0] == 200

        @pytest.mark.converse(rules="off")
        def test_server_off(converse_server):
            fake = converse_server.script(reply.text("hi"))
            assert begun(endpoint_url=fake.url) == "hi"

        @pytest.mark.converse(rules="warn")
        def test_server_warn(converse_server):
            with converse_server.script(reply.text("hi")) as fake:
                assert begun(endpoint_url=fake.url) == "hi"

        @pytest.mark.converse(rules="off")
        def test_what_the_call_says_wins(converse_server):
            with converse_server.script(rules="default", unexpected="allow") as fake:
                assert by_httpx(fake.url) == REFUSED
        """
    )
    result = refused.runpytest()
    result.assert_outcomes(passed=4, failed=2)
    for where in (" (httpx) -*", " at http://127.0.0.1:*"):
        result.stdout.fnmatch_lines(
            [
                f"*RefusedRequest: Bedrock would refuse call 1: {START}",
                f"*- Bedrock Converse calls{where}",
                "    answer   400  refused: first_message_is_the_users  (complete)",
            ]
        )
    result.stdout.fnmatch_lines(["*= converse notes =*", "*::test_server_warn", "    Bedrock would refuse call 1: *"])


def test_inside_given(refused: pytest.Pytester) -> None:
    refused.makepyfile(
        """
        import pytest
        from asking import begun, survives
        from converse_harness import fake_converse
        from converse_harness import reply
        from hypothesis import Phase, given, settings, strategies as st

        @settings(max_examples=5, database=None, phases=[Phase.generate])
        @given(st.text())
        def test_refused(text):
            with fake_converse(reply.text(text)):
                survives()

        @settings(max_examples=5)
        @given(st.text())
        def test_off(text):
            with fake_converse(reply.text(text), rules="off"):
                assert begun() == text
        """
    )
    result = refused.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(REPORT)
