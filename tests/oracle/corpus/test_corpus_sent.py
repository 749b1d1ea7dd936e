"""The rules of what AWS sends, which drawn answers are held to, hold of every recorded answer."""

import base64
import json
from pathlib import Path
from typing import Any

from botocore.eventstream import EventStreamBuffer

from converse_harness import assemble
from tests.oracle.conftest import rows_of_aws
from tests.strategies.sent import never_sent


def test_a_recorded_answer_breaks_no_rule(shared: Path) -> None:
    corpus = shared / "corpus"
    broken: dict[str, list[str]] = {}
    seen = 0
    for entry in rows_of_aws(shared):
        if entry["status"] != 200:
            continue
        response = json.loads((corpus / entry["file"]).read_text())["response"]
        body = base64.b64decode(response["body_base64"])
        answer = _streamed(body) if response["is_event_stream"] else json.loads(body)
        seen += 1
        if found := never_sent(answer):
            broken[entry["file"]] = found
    assert broken == {}
    assert seen == 349


def _streamed(body: bytes) -> dict[str, Any]:
    frames: Any = EventStreamBuffer()
    frames.add_data(body)
    events: list[dict[str, Any]] = [{frame.headers[":event-type"]: json.loads(frame.payload)} for frame in frames]
    for event in events:
        for members in event.values():
            members.pop("p", None)
    whole = assemble(events)
    message, usage, trace = whole.message, whole.usage, whole.trace or {}
    return {"output": {"message": message}, "stopReason": whole.stop_reason, "usage": usage, "trace": trace}
