"""Cassettes of vcrpy, written by hand in the forms that recorders use, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import boto3
import botocore.config
import urllib3
import yaml

from converse_harness import ConverseServer, recording
from converse_harness.features.cassettes.convert import Hosts
from converse_harness.intercept.guard.hosts import is_bedrock_host
from converse_harness.stream.frames import Frame, Header, HeaderType, encode

NOVA: Final = "us.amazon.nova-lite-v1:0"
ASKED: Final = {"modelId": NOVA, "messages": [{"role": "user", "content": [{"text": "What is it like in Zürich?"}]}]}
BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"
CONVERSE: Final = f"{BEDROCK}/model/us.amazon.nova-lite-v1%3A0/converse"
ANSWER: Final = (
    b'{"metrics":{"latencyMs":9},"output":{"message":{"content":[{"text":"18 \xc2\xb0C"}],"role":"assistant"}},'
    b'"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}'
)
SECRETS: Final = ("AKIAFAKEFAKEFAKEFAKE", "very secret indeed", "amz-sdk", "Authorization", "Signature")

HOSTS: Final = Hosts(is_bedrock_host)

MEND: Final = "Mend it, or record the cassette again."
"""What is advised where nothing better is known."""


def client_of(url: str) -> Any:
    """A boto3 client on an endpoint, with keys that no recording may have."""
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=SECRETS[0],
        aws_secret_access_key=SECRETS[1],
        config=botocore.config.Config(retries={"total_max_attempts": 1}),
    )


_ACTIONS: Final = {
    "Converse": "converse",
    "ConverseStream": "converse-stream",
    "CountTokens": "count-tokens",
    "InvokeModel": "invoke",
    "InvokeModelWithResponseStream": "invoke-with-response-stream",
}
"""The last part of the path of each operation."""


def replayed_bodies(made: Path) -> list[bytes]:
    """The body of each answer of a recording, as a client that does not know AWS gets it."""
    bodies: list[bytes] = []
    with ConverseServer() as server, server.script(recording(made, match="order")) as fake:
        for exchange in recording(made).exchanges:
            url = f"{fake.url}/model/{exchange.model_id}/{_ACTIONS[exchange.operation]}"
            answer = urllib3.PoolManager().request("POST", url, body=json.dumps(exchange.request))
            assert answer.status == exchange.head["status"]
            bodies.append(answer.data)
    return bodies


def event(name: str, payload: bytes) -> bytes:
    """A frame as AWS sends it."""
    headers = ((":event-type", name), (":content-type", "application/json"), (":message-type", "event"))
    return encode(Frame(tuple(Header(key, HeaderType.STRING, value) for key, value in headers), payload))


STREAM: Final = (
    event("messageStart", b'{"p":"abcd","role":"assistant"}')
    + event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"18"},"p":"abc"}')
    + event("contentBlockStop", b'{"contentBlockIndex":0,"p":"ab"}')
    + event("messageStop", b'{"p":"abcde","stopReason":"end_turn"}')
)


def interaction(response: Mapping[str, Any], uri: str = CONVERSE, **request: Any) -> dict[str, Any]:
    """One interaction; a response that says nothing else is a 200."""
    asked = {"method": "POST", "uri": uri, "body": '{"messages": []}', "headers": {}} | request
    return {"request": asked, "response": {"status": {"code": 200, "message": "OK"}, "headers": {}} | dict(response)}


def written(folder: Path, *interactions: Mapping[str, Any], name: str = "hand.yaml", **more: Any) -> Path:
    """A cassette of them."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.dump({"interactions": list(interactions), "version": 1, **more}, Dumper=yaml.CSafeDumper))
    return path


FIRST: Final = f"""interactions:
- request:
    method: POST
    uri: {CONVERSE}
    body: '{{}}'
  response:
    status: {{code: 200}}
    body: {{string: '{{}}'}}
"""
"""A cassette of one interaction, of 8 lines, to which others can be appended."""
