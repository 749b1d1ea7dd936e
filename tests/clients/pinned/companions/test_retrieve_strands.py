"""strands-agents: an agent with `retrieve` of strands-agents-tools, which makes its client of the knowledge base."""

import pytest
from strands import Agent
from strands.models import BedrockModel
from strands_tools import retrieve

from converse_harness import Fake, reply

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


# strands-agents-tools 0.8 says so of each use; the tool has no other name yet.
@pytest.mark.filterwarnings("ignore:retrieve is deprecated:DeprecationWarning")
def test_the_agent_answers_from_what_it_retrieved(converse: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWLEDGE_BASE_ID", "KB12345678")
    converse.script(
        reply.tool_use("retrieve", {"text": "glaciers", "numberOfResults": 2, "score": 0.5}),
        reply.text("Ice that moves."),
    )
    found = [
        {
            "content": {"type": "TEXT", "text": "A glacier is ice that moves."},
            "location": {"type": "S3", "s3Location": {"uri": "s3://handbook/ice.txt"}},
            "score": 0.91,
        },
        {"content": {"type": "TEXT", "text": "Magma is rock that melts."}, "score": 0.2},
    ]
    converse.on_operation("Retrieve", {"retrievalResults": found}, service="bedrock-agent-runtime")
    agent = Agent(model=BedrockModel(model_id=MODEL), tools=[retrieve], callback_handler=None)
    assert str(agent("What is a glacier?")).strip() == "Ice that moves."
    (result,) = converse.calls.of("ConverseStream").last.tool_results
    assert result["status"] == "success"
    assert "A glacier is ice that moves." in result["content"][0]["text"]
    assert "s3://handbook/ice.txt" in result["content"][0]["text"]
    assert "Magma" not in result["content"][0]["text"]
    (call,) = converse.calls.of("Retrieve")
    assert call.params == {
        "knowledgeBaseId": "KB12345678",
        "retrievalQuery": {"text": "glaciers"},
        "retrievalConfiguration": {"vectorSearchConfiguration": {"numberOfResults": 2}},
    }
