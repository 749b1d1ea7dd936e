"""boto3 makes the same of every scenario in process and over the socket."""

from __future__ import annotations

from contextlib import closing

import boto3
import botocore.exceptions
import pytest
import urllib3.exceptions

from converse_harness import ConverseServer, fake_converse
from tests.clients.scenarios import (
    CASES,
    CONNECTION,
    CONVERSE,
    REQUEST,
    STREAM,
    Deviation,
    Deviations,
    Fold,
    Order,
    Result,
    run,
    shape_name,
    whole,
)

pytestmark = pytest.mark.any_answer


def ask(order: Order) -> Result:
    """What boto3 gives for the question, with a client made as anybody makes one."""
    fold = Fold(order)
    client = boto3.client("bedrock-runtime")
    try:
        if order.operation != STREAM:
            answer = client.converse(**REQUEST)
            return whole(answer) if "output" in answer else fold.fail("no output", answer)
        with closing(client.converse_stream(**REQUEST)["stream"]) as stream:
            for event in stream:
                if fold.take(event):
                    break
        return fold.result
    except botocore.exceptions.ClientError as error:
        return fold.fail(shape_name(error.response["Error"]["Code"]), error)
    except (botocore.exceptions.HTTPClientError, urllib3.exceptions.ProtocolError) as error:
        return fold.fail(CONNECTION, error)


DEVIATIONS: Deviations = {
    ("closed in the middle of a frame", CONVERSE): Deviation(
        "newer botocore does not compare a body with its Content-Length, and takes JSON that it cannot read for {}",
        {"error": "no output"},
    ),
}


@pytest.mark.parametrize("transport", ["in process", "server"])
@pytest.mark.parametrize(("name", "operation"), CASES)
def test_scenario(
    name: str, operation: str, transport: str, converse_server: ConverseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    run(name, operation, fake_converse if transport == "in process" else converse_server.script, ask, DEVIATIONS)
