"""The transcript of a failing test has the events of other operations, also those with times and bytes."""

from datetime import UTC, datetime

from converse_harness import fake_converse
from tests.intercept.operations.asking import ask


def test_the_transcript_has_the_times_and_the_number_of_bytes_of_events() -> None:
    trace = {"trace": {"eventTime": datetime(2026, 1, 1, tzinfo=UTC)}}
    events = [trace, {"chunk": {"bytes": b"a"}}, {"chunk": {"bytes": b"an answer"}}]
    asked = {"agentId": "AGENT12345", "agentAliasId": "ALIAS12345", "sessionId": "s1", "inputText": "hi"}
    with fake_converse() as fake:
        fake.on_operation("InvokeAgent", {"completion": events, "contentType": "text/plain", "sessionId": "s1"})
        ask("bedrock-agent-runtime", "InvokeAgent", asked)
    assert '{"trace": {"eventTime": "2026-01-01 00:00:00+00:00"}}' in fake.transcript
    assert '{"bytes": "<1 byte>"}' in fake.transcript
    assert '{"bytes": "<9 bytes>"}' in fake.transcript
