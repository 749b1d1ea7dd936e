"""A memory of mem0, tested as its users test one."""

import json

import pytest
from mem0 import Memory

from converse_harness import reply

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
EMBEDDER = "amazon.titan-embed-text-v2:0"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Look up the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture
def memory(converse, tmp_path):
    store = {"path": str(tmp_path / "store"), "embedding_model_dims": 8, "collection_name": "tests"}
    config = {
        "llm": {"provider": "aws_bedrock", "config": {"model": MODEL}},
        "embedder": {"provider": "aws_bedrock", "config": {"model": EMBEDDER}},
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(tmp_path / "history.db"),
    }
    memory = Memory.from_config(config)
    yield memory
    memory.vector_store.client.close()


@pytest.fixture
def embeddings(converse):
    vector = json.dumps({"embedding": [1.0] * 8}).encode()
    converse.on_operation("InvokeModel", lambda call: {"body": vector, "contentType": "application/json"})


def test_text(converse, memory, embeddings):
    converse.script(reply.json({"memory": [{"id": "0", "text": "User likes Zürich"}]}))
    memory.add("I like Zürich.", user_id="anna")
    (found,) = memory.search("Where to?", filters={"user_id": "anna"})["results"]
    assert found["memory"] == "User likes Zürich"
    (call,) = converse.calls
    assert "I like Zürich." in call.last_user_text


def test_tool_use(converse, memory):
    converse.script(reply.tool_use("get_weather", {"city": "Bern"}))
    said = memory.llm.generate_response([{"role": "user", "content": "How warm is it in Bern?"}], tools=[TOOL])
    assert said["tool_calls"] == [{"name": "get_weather", "arguments": {"city": "Bern"}}]
    assert converse.calls[0].tool_names == ["get_weather"]


def test_throttled(converse, memory):
    converse.script(reply.throttled(), reply.text("ok"))
    assert memory.llm.generate_response([{"role": "user", "content": "Are you there?"}]) == "ok"
    assert [call.status for call in converse.calls] == [429, 200]
