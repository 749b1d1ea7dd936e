"""Calls and fakes as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from converse_harness import model
from converse_harness.calls import CONVERSATIONS, Call
from converse_harness.doors.control.bodies import too_deep
from converse_harness.doors.server.fake import ServerFake
from converse_harness.errors import ConverseHarnessError
from converse_harness.script import Slot, describe
from converse_harness.secrets import mask


def call_json(call: Call) -> dict[str, Any]:
    """A call: the request as JSON carried it (blobs in base64), secret headers masked, and the answer so far."""
    conversation = _conversation(call)
    return {
        "number": call.number,
        "operation": call.operation,
        "modelId": call.model_id,
        "attempt": call.attempt,
        "turn": call.turn,
        "method": call.request.method,
        "target": call.request.target,
        "messages": conversation.get("messages", []),
        "system": conversation.get("system", []),
        "toolNames": call.tool_names,
        "lastUserText": call.last_user_text,
        "body": {} if too_deep(call.body) else call.body,
        "malformed": call.malformed,
        "headers": dict(call.headers),
        "status": call.status,
        "reply": call.reply.summary if call.reply is not None else None,
        "events": [
            {"at": at, "event": json.loads(model.to_json("ConverseStreamOutput", event))} for event, at in call.events
        ],
        "outcome": call.outcome.value,
    }


def _conversation(call: Call) -> Mapping[str, Any]:
    """The part of the body that has the messages, as it came."""
    if call.operation not in CONVERSATIONS or too_deep(call.body):
        return {}
    if call.operation == "CountTokens":
        return cast("Mapping[str, Any]", call.body.get("input", {}).get("converse", {}))
    return call.body


def fake_json(id: str, fake: ServerFake) -> dict[str, Any]:
    """The state of an open fake."""
    script = fake.endpoint.script
    return {
        "id": id,
        "url": fake.url,
        "environ": fake.environ,
        "calls": len(fake.endpoint.calls),
        "script": [{"reply": what, "state": state} for what, state in describe(script)],
        "unused": unused(script.unused()),
        "problems": [problem_text(problem) for problem in fake.failures()],
    }


def unused(slots: list[Slot]) -> list[str]:
    """The replies that were due and not used, one text each."""
    return [mask(slot.summary) for slot in slots]


def problem_text(problem: Exception) -> str:
    """A failure as Python would say it."""
    name = "" if isinstance(problem, ConverseHarnessError) else f"{type(problem).__name__}: "
    return mask(f"{name}{problem}")
