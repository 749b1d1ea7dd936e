"""Which fake a boto call belongs to when fakes of several transports are open: by where the client is aimed."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from converse_harness import BlockedConnection, ConverseServer, fake_converse, reply

Client = Callable[..., Any]
QUESTION: dict[str, Any] = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hello"}]}]}


@pytest.fixture
def server() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


def said(answer: dict[str, Any]) -> str:
    return str(answer["output"]["message"]["content"][0]["text"])


@pytest.mark.parametrize("server_first", [True, False])
def test_a_client_reaches_the_fake_that_it_is_aimed_at(
    server: ConverseServer, make_client: Client, question: dict[str, Any], server_first: bool
) -> None:
    before = make_client(region_name="eu-west-1")
    one = server.script() if server_first else fake_converse()
    with one, fake_converse() if server_first else server.script() as two:
        over, inside = (one, two) if server_first else (two, one)
        over.script(reply.text("over the socket"))
        inside.script(reply.text("in process"))
        aimed = make_client(endpoint_url=over.url)  # type: ignore[union-attr]
        assert said(before.converse(**question)) == "in process"
        assert said(aimed.converse(**question)) == "over the socket"


def test_under_a_server_alone_bedrock_itself_is_refused_and_the_test_told(
    server: ConverseServer, make_client: Client, question: dict[str, Any], network: list[tuple[str, Any]]
) -> None:
    swallowed = suppress(BlockedConnection)  # the server reports it all the same
    with pytest.raises(BlockedConnection, match=r"endpoint_url=fake\.url"), server.script(), swallowed:
        make_client().converse(**question)
    assert [event for event, args in network if event == "socket.getaddrinfo"] == []


def test_a_fake_that_is_closed_answers_nobody(
    server: ConverseServer, make_client: Client, question: dict[str, Any]
) -> None:
    with server.script() as fake:
        client = make_client(endpoint_url=fake.url)
    with server.script(), pytest.raises(client.exceptions.ClientError, match=r"no fake is open at /fake-[\w-]{16} of"):
        client.converse(**question)


def test_retries_over_the_socket_are_real_and_cost_no_time(
    server: ConverseServer, make_client: Client, question: dict[str, Any]
) -> None:
    with server.script(reply.throttled().times(2), reply.text("hi")) as fake:
        assert said(make_client(endpoint_url=fake.url).converse(**question)) == "hi"
        assert [call.status for call in fake.calls] == [429, 429, 200]
        assert sum(call.answered.waited for call in fake.calls) > 0


def test_real_keys_do_not_travel_to_the_server(
    server: ConverseServer,
    make_client: Client,
    question: dict[str, Any],
    real_keys: str,
    signatures: Callable[[Any], list[str]],
) -> None:
    with server.script(reply.text("hi")) as fake:
        client = make_client(endpoint_url=fake.url)
        sent = signatures(client)
        client.converse(**question)
    assert len(sent) == 1
    assert real_keys not in sent[0]


def test_the_control_plane_is_routed_over_the_socket_too(server: ConverseServer, make_client: Client) -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    with server.script() as fake:
        fake.on_operation(
            "GetInferenceProfile",
            lambda call: reply.output({"inferenceProfileArn": call.params["inferenceProfileIdentifier"]}, strict=False),
        )
        client = make_client("bedrock", endpoint_url=fake.url)
        assert client.get_inference_profile(inferenceProfileIdentifier=arn)["inferenceProfileArn"] == arn


def test_environ_is_enough_for_a_client_of_this_process(
    server: ConverseServer, make_client: Client, question: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.script(reply.text("hi")) as fake:
        for name, value in fake.environ.items():
            monkeypatch.setenv(name, value)
        assert said(make_client().converse(**question)) == "hi"


@pytest.mark.parametrize(
    "outer",
    [
        {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-real"},
        {"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"},
        {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
        {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "NO_PROXY": "example.com"},
        {"AWS_SESSION_TOKEN": "real-token", "AWS_ACCESS_KEY_ID": "AKIDREALREALREAL"},
    ],
    ids=lambda outer: next(iter(outer)),
)
def test_environ_is_enough_for_a_program_whatever_its_user_has_set(
    server: ConverseServer, monkeypatch: pytest.MonkeyPatch, outer: dict[str, str]
) -> None:
    for name, value in outer.items():
        monkeypatch.setenv(name, value)
    with server.script(reply.text("hi")) as fake:
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, **fake.environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ran.stdout, ran.stderr, ran.returncode) == ("hi\n", "", 0)
        (call,) = fake.calls
        assert "real" not in str(call.headers).lower()


PROGRAM = """
import botocore.session
client = botocore.session.get_session().create_client("bedrock-runtime")
answer = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
print(answer["output"]["message"]["content"][0]["text"])
"""


def _ask_in_child(url: str, told: Connection) -> None:
    client: Any = botocore.session.Session().create_client(
        "bedrock-runtime", endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    told.send(said(client.converse(**QUESTION)))
    told.close()


@pytest.mark.parametrize("method", [pytest.param("spawn", marks=pytest.mark.slow), "fork"])
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_child_process_reaches_the_server_also_while_a_fake_is_open_here(
    server: ConverseServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    # A spawned child imports this module by its name; pytest's importlib mode leaves the root off sys.path.
    monkeypatch.syspath_prepend(Path(__file__).parents[3])
    context: Any = multiprocessing.get_context(method)
    with fake_converse(), server.script(reply.text("hi")) as fake:
        receiving, sending = context.Pipe(duplex=False)
        child = context.Process(target=_ask_in_child, args=(fake.url, sending))
        child.start()
        sending.close()  # or a child that dies would be waited for
        assert receiving.recv() == "hi"
        child.join(60)
