"""`converse_guard = session`: nothing reaches a host of Bedrock where no fake and no recording is open."""

import os
import socket

import pytest

from converse_harness import refusals
from converse_harness.intercept.registry import OPEN_FAKES
from tests.nested import OURS, XDIST, load

HOST = "bedrock-runtime.us-east-1.amazonaws.com"
NETWORK = """
import socket, sys
asked = []

def look_up(host, *args, **kwargs):
    sys.audit("socket.getaddrinfo", host, *args, *[None] * (4 - len(args)))  # as the real one does
    asked.append(host)
    raise OSError("the network was asked")

socket.getaddrinfo = look_up
"""


@pytest.fixture(autouse=True)
def _network_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in this process leaves NETWORK in place of the real function."""
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)


@pytest.fixture
def guarded(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose network only says that it was asked, and whose ini file has the guard of the session."""
    project.makeini("[pytest]\nconverse_guard = session")
    project.makepyfile(network=NETWORK)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "real")
    return project


def run(project: pytest.Pytester, *args: str, apart: bool = False) -> pytest.RunResult:
    """Run pytest; `apart` in a process of its own, which imports every client after the guard began."""
    refusals.of_others()  # what a child of an earlier test was refused is not told of this run
    run = project.runpytest_subprocess if apart else project.runpytest_inprocess
    return run("-p", "no:cacheprovider", *args)


def test_a_run_that_does_not_begin_leaves_the_guard_off(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    load()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest("import no_such_module")
    outside = OPEN_FAKES.blocker()
    pytester.runpytest_inprocess(*OURS, "--converse-guard=session").stderr.fnmatch_lines(["*no_such_module*"])
    assert OPEN_FAKES.blocker() is outside


def test_a_test_without_a_fake_fails_and_is_told_of_the_fixture(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(
        """
        import network
        from agent import ask
        from converse_harness import fake_converse, reply
        import httpx, pytest

        def test_forgot_the_fixture():
            ask("hi")

        def test_forgot_to_open_it():
            fake_converse(reply.text("hi"))
            ask("hi")

        def test_swallows_it():
            try:
                httpx.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse")
            except BaseException:
                pass

        def test_with_a_fake(converse):
            converse.script(reply.text("hi"))
            assert ask("?") == "hi"

        def test_another_host():
            with pytest.raises(httpx.ConnectError, match="the network was asked"):
                httpx.get("https://example.com")

        @pytest.fixture
        def asks():
            try:
                ask("hi")
            except Exception:
                yield

        def test_in_a_fixture(asks):
            pass

        def test_nothing_else_was_asked():
            assert network.asked == ["example.com"]

        @pytest.mark.converse(guard="off")
        def test_lets_through():
            with pytest.raises(Exception, match="the network was asked|Could not connect"):
                ask("hi")
            assert network.asked[-1] == "bedrock-runtime.us-east-1.amazonaws.com"
        """
    )
    result = run(guarded, apart=True)
    result.assert_outcomes(passed=4, failed=3, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_in_a_fixture*",
            f"E*BlockedConnection: botocore tried to reach {HOST} in *::test_in_a_fixture, where no fake*",
            f"E*BlockedConnection: botocore tried to reach {HOST} in *::test_forgot_the_fixture, where no fake*",
            f"E*BlockedConnection: botocore tried to reach {HOST} in *::test_forgot_to_open_it, where no fake*",
            f"E*BlockedConnection: httpx tried to reach {HOST} in *::test_swallows_it, where no *`converse`*",
        ]
    )


def test_a_blocked_call_is_the_only_problem_of_a_test_that_has_closed_its_fake(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(
        """
        from agent import ask
        from converse_harness import reply
        import network

        def test_it(converse):
            converse.script(reply.text("hi"))
            converse.close()
            try:
                ask("?")
            except Exception:
                pass
        """
    )
    result = run(guarded)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*BlockedConnection: botocore tried to reach*"])
    assert "UnusedReplies" not in result.stdout.str()


@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize("place", ["conftest", "test_module"])
def test_import_time_counts(guarded: pytest.Pytester, place: str, swallowed: bool) -> None:
    call = "agent.ask('hi')"
    ask = f"try:\n    {call}\nexcept BaseException:\n    pass\n" if swallowed else f"{call}\n"
    guarded.makepyfile(**{place: f"import network, agent\n{ask}\ndef test_it(): pass"})
    if place == "conftest":
        guarded.makepyfile(test_it="def test_it(): pass")
    result = run(guarded, apart=place == "conftest" and not swallowed)
    assert result.ret != 0
    said = "\n".join([*result.outlines, *result.errlines])
    assert f"botocore tried to reach {HOST} outside of a test, where no fake and no recording is open" in said


def test_a_stubber_and_a_recording_of_another_tool_answer_as_before(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(
        """
        import network, agent
        from botocore.stub import Stubber

        ANSWER = {
            "output": {"message": {"role": "assistant", "content": [{"text": "stubbed"}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1},
        }

        def test_stubbed():
            client = agent.client()
            with Stubber(client) as stub:
                stub.add_response("converse", ANSWER)
                said = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])
            assert said["output"]["message"]["content"] == [{"text": "stubbed"}]
        """
    )
    run(guarded).assert_outcomes(passed=1)


@pytest.mark.parametrize("given", [["--converse-guard=off"], []])
def test_it_is_off_by_default_and_by_option(project: pytest.Pytester, given: list[str]) -> None:
    if given:
        project.makeini("[pytest]\nconverse_guard = session")
    project.makepyfile(network=NETWORK)
    project.makepyfile(
        """
        import network, httpx, pytest

        def test_it():
            with pytest.raises(httpx.ConnectError, match="the network was asked"):
                httpx.get("https://bedrock-runtime.us-east-1.amazonaws.com/")
        """
    )
    run(project, *given).assert_outcomes(passed=1)


def test_the_option_switches_it_on_and_other_words_are_refused(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=f"def test_it(): import socket; socket.getaddrinfo('{HOST}', 443)")
    run(project, "--converse-guard=session").assert_outcomes(failed=1)
    project.makeini("[pytest]\nconverse_guard = on")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*converse_guard = on: one of off, session.*"])


def test_the_guard_of_a_session_inside_another_gives_back_what_was_there(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(
        """
        pytest_plugins = ["pytester"]
        import network, socket

        def test_outer(pytester):
            pytester.makepyfile("def test_inner(): pass")
            inner = pytester.runpytest_inprocess("-p", "converse_harness.plugin", "--converse-guard=session")
            inner.assert_outcomes(passed=1)
            socket.create_connection(("bedrock.us-east-1.amazonaws.com", 443))
        """
    )
    result = run(guarded)
    result.stdout.fnmatch_lines(["E*BlockedConnection: socket tried to reach bedrock.us-east-1.amazonaws.com in *"])


def test_a_worker_of_xdist_has_the_environment_of_the_run_and_a_guard_of_its_own(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(
        """
        import network, os, httpx, pytest
        from agent import ask
        from converse_harness.intercept.clients import ENDPOINTS

        def test_swallows_it():
            try:
                ask("hi")
            except Exception:
                pass

        @pytest.mark.converse(guard="off")
        def test_lets_through():
            with pytest.raises(httpx.ConnectError, match="the network was asked"):
                httpx.get("https://bedrock-runtime.us-east-1.amazonaws.com/")
            assert not {*ENDPOINTS, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"} & os.environ.keys()
        """
    )
    result = run(guarded, *XDIST, "-n", "1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"E*BlockedConnection: botocore tried to reach {HOST} in *::test_swallows_it, where*"])


def test_a_marked_test_may_use_a_pool_of_threads_that_was_used_under_a_fake(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(
        """
        import network, pytest
        from agent import ask
        from concurrent.futures import ThreadPoolExecutor
        from converse_harness import reply

        pool = ThreadPoolExecutor(1)

        def test_with_a_fake(converse):
            converse.script(reply.text("hi"))
            assert pool.submit(ask, "?").result() == "hi"

        @pytest.mark.converse(guard="off")
        def test_lets_through():
            with pytest.raises(Exception, match="the network was asked|Could not connect"):
                pool.submit(ask, "?").result()

        def test_forgot_the_fixture():
            pool.submit(ask, "?").result()
        """
    )
    result = run(guarded, "-p", "no:randomly")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["E*BlockedConnection: thread 'ThreadPoolExecutor*made a call to Bedrock after*closed*"]
    )


WITHOUT_KEYS = f"""
import network
import boto3, pytest

HELLO = [{{"role": "user", "content": [{{"text": "hi"}}]}}]


def ask(service="bedrock-runtime", **options):
    return boto3.Session().client(service, region_name="us-east-1", **options)


def test_swallows_it():
    try:
        ask().converse(modelId="m", messages=HELLO)
    except Exception:
        pass


def test_swallows_it_of_the_control_plane():
    try:
        ask("bedrock").list_foundation_models()
    except Exception:
        pass


def test_beside_another_fake(converse_httpx):
    try:
        ask().converse(modelId="m", messages=HELLO)
    except Exception:
        pass


def test_of_another_service():
    with pytest.raises(Exception, match="credentials|SSO|Token|token|sso"):
        ask("sqs").list_queues()


def test_of_a_host_of_its_own():
    with pytest.raises(Exception) as raised:
        ask("bedrock-runtime", endpoint_url="http://localhost:9").converse(modelId="m", messages=HELLO)
    assert "converse-harness" not in str(raised.value)


def test_of_a_hook():
    def stop(**kwargs):
        raise ZeroDivisionError

    for event in ("before-sign", "choose-signer", "request-created"):
        client = ask()
        client.meta.events.register_first(f"{{event}}.bedrock-runtime", stop)
        with pytest.raises(ZeroDivisionError):
            client.converse(modelId="m", messages=HELLO)


@pytest.mark.converse(guard="off")
def test_lets_through():
    with pytest.raises(Exception) as raised:
        ask().converse(modelId="m", messages=HELLO)
    assert "converse-harness" not in str(raised.value)


def test_nobody_else_was_asked():
    assert set(network.asked) <= {{{HOST!r}}}
"""

SSO = """
[profile expired]
region = us-east-1
sso_session = s
sso_account_id = 123456789012
sso_role_name = r

[sso-session s]
sso_start_url = https://example.awsapps.com/start
sso_region = us-east-1
sso_registration_scopes = sso:account:access

[profile half]
credential_process = false
"""


@pytest.mark.parametrize("given", [{}, {"AWS_PROFILE": "expired"}, {"AWS_PROFILE": "half"}], ids=str)
def test_without_keys_a_forgotten_fake_fails_as_well(
    guarded: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    pytest.importorskip("boto3")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(guarded.makefile(".cfg", aws=SSO)))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(guarded.path / "none"))
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    guarded.makepyfile(WITHOUT_KEYS)
    result = run(guarded, "-p", "no:randomly")
    result.assert_outcomes(passed=5, failed=3)
    fixtures = "where no fake and no recording is open*Take the fixture `converse` (boto3, botocore, aiobotocore, *"
    result.stdout.fnmatch_lines_random(
        [
            f"E*BlockedConnection: botocore tried to reach {HOST} in *::test_swallows_it, {fixtures}",
            f"E*BlockedConnection: botocore tried to reach bedrock.us-east-1.amazonaws.com in *, {fixtures}",
            "E*BlockedConnection: a boto client called Bedrock while only a fake of the httpx transport is open*",
        ]
    )
