"""The JavaScript clients, over the socket: the AWS SDK with HTTP/2 and with HTTP/1.1, and the AI SDK."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from converse_harness import ConverseServer
from converse_harness.intercept.clients import environ
from tests.clients.mortal import mortal_server
from tests.clients.pinned.javascript.conftest import Node
from tests.clients.scenarios import CASES, CONNECTION, CONVERSE, SCENARIOS, STREAM, Deviation, Deviations, Order, run
from tests.clients.surroundings import SURROUNDINGS, check_no_token

pytestmark = pytest.mark.any_answer

CLOSED = "closed in the middle of a frame"

DEVIATIONS: dict[str, Deviations] = {
    "aws-sdk": {
        (CLOSED, STREAM): Deviation(
            "Node ends the streams of an HTTP/2 connection that was closed without a word as if they were complete, "
            "unless what it sent meanwhile had the connection reset; the SDK then finds a part of a frame",
            {"error": "Error", "said": "Truncated event message received."},
            sometimes=True,
        ),
        (CLOSED, CONVERSE): Deviation(
            "as above; the SDK then finds a part of a JSON text",
            {"error": "SyntaxError", "said": "JSON"},
            sometimes=True,
        ),
    },
    "aws-sdk with NodeHttpHandler": {},
    "ai-sdk": {
        ("exception inside the stream", STREAM): Deviation(
            "it gives the members of the exception in an `error` part, a plain object, and not its name",
            {"error": "an error without a name", "stop": "error", "usage": (None, None)},
        ),
    },
}


@pytest.mark.parametrize("client", DEVIATIONS)
@pytest.mark.parametrize(("name", "operation"), CASES)
def test_scenario(name: str, operation: str, client: str, node: Node, converse_server: ConverseServer) -> None:
    run(name, operation, converse_server.script, partial(node.ask, client), DEVIATIONS[client])


def test_the_default_handler_speaks_http2_and_the_other_http1(node: Node, converse_server: ConverseServer) -> None:
    spoken: dict[str, str] = {}
    for client in ("aws-sdk", "aws-sdk with NodeHttpHandler"):
        with converse_server.script(SCENARIOS["text"].reply) as fake:
            node.ask(client, Order(STREAM, fake))
            spoken[client] = node.protocol
    assert spoken == {"aws-sdk": "h2", "aws-sdk with NodeHttpHandler": "http/1.1"}


@pytest.mark.parametrize("client", DEVIATIONS)
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_a_child_finds_the_server_whatever_its_user_has_set(
    client: str, surroundings: str, project: Path, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SURROUNDINGS[surroundings].items():
        monkeypatch.setenv(name, value)
    scenario = SCENARIOS["text"]
    with (
        converse_server.script(scenario.reply) as fake,
        Node(project, {**os.environ, **fake.environ}) as child,
    ):
        assert child.ask(client, Order(STREAM, fake)) == scenario.stream
        check_no_token(fake)


KILLED: dict[str, tuple[str | None, ...]] = {
    # The connection is reset; still Node, when it is busy, may end the streams of HTTP/2 as if they were complete.
    "aws-sdk": (CONNECTION, None),
    "aws-sdk with NodeHttpHandler": (CONNECTION,),
    "ai-sdk": (CONNECTION,),
}
"""What a client may say of a server that dies in the middle of a stream."""


@pytest.mark.parametrize("client", KILLED)
def test_a_server_that_is_killed(client: str, node: Node, tmp_path: Path) -> None:
    with mortal_server(tmp_path) as (url, server):
        result = node.ask_under(environ(url, os.environ), client, STREAM, server.kill)
    assert result.text.startswith("la ")
    assert result.error in KILLED[client]
    assert result.stop in (None, "error")
    assert list(tmp_path.rglob("*")) == []
