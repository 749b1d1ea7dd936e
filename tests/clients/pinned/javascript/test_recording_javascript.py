"""JavaScript clients as those that are recorded: through the proxy, with HTTP/2 and HTTP/1.1, and what is replayed."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from converse_harness import ConverseServer, Fake, Reply, recording
from converse_harness.recordings.format.read import read
from tests.clients.pinned.javascript.conftest import Node
from tests.clients.pinned.javascript.test_scenarios_javascript import DEVIATIONS
from tests.clients.scenarios import CASES, run

pytestmark = pytest.mark.any_answer

SOME = ("tool", "exception inside the stream", "the client leaves")
"""What is recorded with the other clients too, as the proxy is the same for all of them."""

RECORDED = [
    (client, name, operation)
    for client in DEVIATIONS
    for name, operation in CASES
    if client == "aws-sdk" or name in SOME
]


@pytest.fixture(autouse=True)
def _developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of somebody who has access to Bedrock."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFADEVELOPER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the-secret-of-a-developer")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


@pytest.mark.parametrize(("client", "name", "operation"), RECORDED)
def test_a_recording_replays_what_the_client_made_of_it(
    client: str, name: str, operation: str, node: Node, converse_server: ConverseServer, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    ask = partial(node.ask, client)
    with ExitStack() as services, ConverseServer() as bedrock:

        def recorded(reply: Reply) -> Fake:
            service = services.enter_context(bedrock.script(reply))
            return converse_server.record(path, upstream=service.url)

        run(name, operation, recorded, ask, DEVIATIONS[client])
    (exchange,) = read(path).exchanges
    assert exchange.operation == operation
    run(name, operation, lambda _: converse_server.script(recording(path, pace="recorded")), ask, DEVIATIONS[client])
