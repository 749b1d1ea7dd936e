"""Routes of Semantic Router, tested as its users test them. It asks Bedrock for embeddings only."""

import asyncio
import json

import pytest
from semantic_router import IndexedRouter, Route
from semantic_router.encoders import BedrockEncoder

from converse_harness import reply

pytestmark = pytest.mark.converse(environ=True)

TRAVEL = Route(name="travel", utterances=["Where to?", "How far is Zürich?"])
WEATHER = Route(name="weather", utterances=["Will it rain?"])


def embedding(*numbers):
    return {"body": json.dumps({"embedding": numbers}).encode(), "contentType": "application/json"}


def by_subject(call):
    """Embed the questions about rain and snow apart from the others."""
    return embedding(1.0, 0.0) if call.body["inputText"].endswith(("rain?", "snow?")) else embedding(0.0, 1.0)


@pytest.fixture
def encoder(converse):
    return BedrockEncoder(name="amazon.titan-embed-text-v2:0")


def test_text(converse, encoder):
    converse.on_operation("InvokeModel", by_subject)
    router = IndexedRouter(encoder=encoder, routes=[TRAVEL, WEATHER])
    assert router("Will it snow?").name == "weather"
    asked = [call.body["inputText"] for call in converse.calls.of("InvokeModel")]
    assert asked == ["Where to?", "How far is Zürich?", "Will it rain?", "Will it snow?"]


def test_async(converse, encoder):
    converse.on_operation("InvokeModel", by_subject)
    router = IndexedRouter(encoder=encoder, routes=[TRAVEL, WEATHER])
    assert asyncio.run(router.acall("When?")).name == "travel"


def test_throttled(converse, encoder):
    converse.on_operation("InvokeModel", reply.throttled(), embedding(0.5, 0.25))
    assert encoder(["Will it rain?"]) == [[0.5, 0.25]]
    assert [call.status for call in converse.calls.of("InvokeModel")] == [429, 200]
