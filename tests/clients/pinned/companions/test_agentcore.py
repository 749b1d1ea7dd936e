"""bedrock-agentcore: its memory and its code interpreter, whose clients of two services are made inside."""

from datetime import UTC, datetime
from typing import Any

import pytest
from bedrock_agentcore.memory import MemoryClient
from bedrock_agentcore.tools.code_interpreter_client import code_session

from converse_harness import Call, Fake, reply
from converse_harness.intercept.clients import create_client

CONTROL, DATA = "bedrock-agentcore-control", "bedrock-agentcore"
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
MEMORY = "handbook-a1b2c3d4e5"
MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
SESSION = {"memoryId": MEMORY, "actorId": "ada", "sessionId": "session-1"}


def memory(status: str) -> dict[str, Any]:
    """Return the output of CreateMemory and GetMemory."""
    arn = f"arn:aws:bedrock-agentcore:us-east-1:123456789012:memory/{MEMORY}"
    times = {"createdAt": NOW, "updatedAt": NOW}
    return {
        "memory": {"arn": arn, "id": MEMORY, "name": "handbook", "eventExpiryDuration": 90, "status": status, **times}
    }


def said(role: str, text: str) -> dict[str, Any]:
    return {"conversational": {"role": role, "content": {"text": text}}}


def remembered(call: Call) -> dict[str, Any]:
    """Return the output of CreateEvent: the event that came."""
    event = {name: call.params[name] for name in ("memoryId", "actorId", "sessionId", "payload")}
    return {"event": {**event, "eventId": "0000001#a1b2c3d4", "eventTimestamp": NOW}}


def answered(text: str) -> str:
    """Return what the model says to a text."""
    asked = [{"role": "user", "content": [{"text": text}]}]
    message = create_client().converse(modelId=MODEL, messages=asked)["output"]["message"]
    return str(message["content"][0]["text"])


@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")  # bedrock-agentcore's own
def test_a_conversation_is_stored_and_recalled(converse: Fake) -> None:
    converse.on_operation("CreateMemory", memory("CREATING"), service=CONTROL)
    converse.on_operation("GetMemory", memory("CREATING"), memory("ACTIVE"), memory("ACTIVE"), service=CONTROL)
    converse.on_operation("CreateEvent", remembered, service=DATA)
    record = {
        "memoryRecordId": "mem-2b1c7a52-8f3d-4e6b-9a70-5d2e8c4f1b36",
        "content": {"text": "Ada likes glaciers."},
        "memoryStrategyId": "facts-1",
        "namespaces": ["/facts/ada/"],
        "createdAt": NOW,
        "score": 0.9,
    }
    converse.on_operation("RetrieveMemoryRecords", {"memoryRecordSummaries": [record]}, service=DATA)
    converse.script(reply.text("A glacier is ice that moves."))

    client = MemoryClient(region_name="us-east-1")
    made = client.create_memory_and_wait("handbook", strategies=[], poll_interval=0)
    assert (made["memoryId"], made["status"]) == (MEMORY, "ACTIVE")
    text = answered("What is a glacier?")
    event = client.create_event(MEMORY, "ada", "session-1", [("What is a glacier?", "USER"), (text, "ASSISTANT")])
    assert event["payload"] == [said("USER", "What is a glacier?"), said("ASSISTANT", "A glacier is ice that moves.")]
    stored = converse.calls.of("CreateEvent").last.params
    assert {name: stored[name] for name in SESSION} == SESSION

    converse.on_operation("ListEvents", {"events": [event], "nextToken": "more"}, {"events": [event]}, service=DATA)
    assert [each["eventId"] for each in client.list_events(MEMORY, "ada", "session-1")] == [event["eventId"]] * 2
    assert [call.params.get("nextToken") for call in converse.calls.of("ListEvents")] == [None, "more"]
    found = client.retrieve_memories(MEMORY, namespace="/facts/ada/", query="What does Ada like?")
    assert [each["content"]["text"] for each in found] == ["Ada likes glaciers."]
    assert converse.calls.of("RetrieveMemoryRecords").last.params == {
        "memoryId": MEMORY,
        "namespace": "/facts/ada/",
        "searchCriteria": {"searchQuery": "What does Ada like?", "topK": 3},
    }
    assert len(converse.calls.of("GetMemory")) == 3


def test_code_runs_in_a_session(converse: Fake) -> None:
    session = {"codeInterpreterIdentifier": "aws.codeinterpreter.v1", "sessionId": "01JCODESESSION"}
    output = {
        "content": [{"type": "text", "text": "42"}],
        "structuredContent": {"stdout": "42", "stderr": "", "exitCode": 0, "executionTime": 0.01},
        "isError": False,
    }
    converse.on_operation("StartCodeInterpreterSession", {**session, "createdAt": NOW}, service=DATA)
    converse.on_operation(
        "InvokeCodeInterpreter", {"sessionId": session["sessionId"], "stream": [{"result": output}]}, service=DATA
    )
    converse.on_operation("StopCodeInterpreterSession", {**session, "lastUpdatedAt": NOW}, service=DATA)
    with code_session("us-east-1") as client:
        answer = client.execute_code("print(6 * 7)")
        assert [event["result"]["structuredContent"]["stdout"] for event in answer["stream"]] == ["42"]
        assert answer["sessionId"] == session["sessionId"]
    assert converse.calls.of("InvokeCodeInterpreter").last.params == {
        **session,
        "name": "executeCode",
        "arguments": {"code": "print(6 * 7)", "language": "python", "clearContext": False},
    }
    stopped = converse.calls.of("StopCodeInterpreterSession").last.params
    assert {name: stopped[name] for name in session} == session  # botocore adds a clientToken
