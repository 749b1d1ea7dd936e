"""At peace with the others that patch what clients do: vcrpy, pytest-socket, late imports."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import botocore.exceptions
import pytest
import vcr
import wrapt
from botocore.config import Config

from converse_harness import fake_converse, reply

Client = Callable[..., Any]


def text_of(answer: Any) -> str:
    return str(answer["output"]["message"]["content"][0]["text"])


def test_a_cassette_of_vcrpy_around_the_test_stays_empty(
    make_client: Client, question: dict[str, Any], tmp_path: Path
) -> None:
    cassette = tmp_path / "cassette.yaml"
    with vcr.use_cassette(str(cassette), record_mode="none") as writer, fake_converse(reply.text("ours").times(2)):
        client = make_client()
        assert text_of(client.converse(**question)) == "ours"
        assert len(list(client.converse_stream(**question)["stream"])) > 3
        # Anything else is still the cassette's.
        other = make_client(
            "sts",
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(retries={"total_max_attempts": 1}),
        )
        with pytest.raises(botocore.exceptions.HTTPClientError, match="cassette"):
            other.get_caller_identity()
        assert writer.play_count == 0
    assert not cassette.exists()


def run_with_pytest_socket(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    pytester.plugins = []
    with pytest.MonkeyPatch.context() as only:
        only.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return pytester.runpytest_subprocess("-p", "pytest_socket", "-p", "no:cacheprovider", *options)


def test_under_pytest_socket(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import botocore.session, socket, pytest
        from pytest_socket import SocketBlockedError
        from converse_harness import fake_converse
        from converse_harness import reply

        QUESTION = dict(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])

        @pytest.mark.parametrize("round", [1, 2])
        def test_talks(round):
            with fake_converse(reply.text("hi").times(2)):
                client = botocore.session.Session().create_client("bedrock-runtime")
                assert client.converse(**QUESTION)["stopReason"] == "end_turn"
                assert len(list(client.converse_stream(**QUESTION)["stream"])) > 3
                with pytest.raises(SocketBlockedError):
                    socket.socket(socket.AF_INET)
            assert "connect" not in vars(socket.socket) or not hasattr(socket.socket.connect, "__wrapped__")

        def test_opens_before_the_restriction_and_closes_after_it(fake, socket_disabled):
            client = botocore.session.Session().create_client("bedrock-runtime")
            assert client.converse(**QUESTION)["stopReason"] == "end_turn"

        @pytest.fixture
        def fake():
            with fake_converse(reply.text("hi")) as fake:
                yield fake
        """
    )
    result = run_with_pytest_socket(pytester, "--disable-socket", "--allow-unix-socket")
    result.assert_outcomes(passed=3)


def test_under_hosts_that_pytest_socket_allows(pytester: pytest.Pytester) -> None:
    """That mode replaces `socket.socket.connect`, which is ours while a fake is open."""
    pytester.makepyfile(
        """
        import socket, pytest
        from converse_harness import BlockedConnection, fake_converse

        HOST = "bedrock-runtime.us-east-1.amazonaws.com"

        @pytest.mark.parametrize("round", [1, 2])
        def test_blocks(round):
            fake = fake_converse()
            fake.open()
            with socket.socket() as plain, pytest.raises(BlockedConnection):
                socket.getaddrinfo(HOST, 443)
            fake.close()
        """
    )
    result = run_with_pytest_socket(pytester, "--allow-hosts=127.0.0.1")
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize("before", [True, False], ids=["before the fake", "under it"])
def test_a_wrapper_of_wrapt_is_told_of_its_instance(monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    # OpenTelemetry wraps Thread.start so, when strands makes its first agent.
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)  # put back at the end
    started: list[Any] = []

    def note(start: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        started.append(instance)
        return start(*args, **kwargs)

    if before:
        wrapt.wrap_function_wrapper(threading.Thread, "start", note)
    with fake_converse():
        if not before:
            wrapt.wrap_function_wrapper(threading.Thread, "start", note)
        with fake_converse():  # the patches are looked at again, with the wrapper over them
            thread = threading.Thread(target=str)
            thread.start()
            thread.join()
    assert started == [thread]


def test_a_mock_of_a_fixture_answers_first_whatever_the_order_is(pytester: pytest.Pytester) -> None:
    """As that of pytest-httpx; what it leaves alone is answered by the fake."""
    pytester.makepyfile(
        """
        import httpx, pytest
        from converse_harness import reply

        URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"
        QUESTION = {"messages": [{"role": "user", "content": [{"text": "x"}]}]}

        @pytest.fixture
        def mock(monkeypatch):
            real = httpx.HTTPTransport.handle_request

            def handle_request(transport, request):
                if "mine" in request.headers:
                    return httpx.Response(200, json="mock")
                return real(transport, request)

            monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle_request)

        def test_it(mock, converse):
            converse.script(reply.text("fake"))
            assert httpx.post(URL, json=QUESTION, headers={"mine": "yes"}).json() == "mock"
            assert httpx.post(URL, json=QUESTION).json()["stopReason"] == "end_turn"
        """
    )
    pytester.runpytest_subprocess("-p", "no:asyncio").assert_outcomes(passed=1)
