"""What the helpers build equals what AWS sent where a guardrail was on: every recorded stream and body, in all fields.

A call of a helper gets the free values of the recording alone: texts, what was found, units, latencies. What AWS has
added to its traces since a recording was made is taken out of ours first, by the table SINCE.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from converse_harness import Endpoint, Reply, bedrock, reply
from converse_harness.stream.http import Request

CORPUS: Final = Path(__file__).resolve().parents[4] / "shared" / "corpus"

NEWEST: Final = "99999999"
"""The day of the recording that does not say one; it has all that the others have."""

SINCE: Final = {
    "actionReason": "20250819",
    "detected": "20250819",
    "contentPolicyImageUnits": "20250819",
    "automatedReasoningPolicies": "20250819",
    "automatedReasoningPolicyUnits": "20250819",
    "appliedGuardrailDetails": NEWEST,
}
"""Members of a guardrail's trace, with the day of the first recording that has them."""


@dataclass(frozen=True)
class Recorded:
    """A recorded answer with a guardrail's trace, and the request."""

    name: str
    day: str
    request: Request
    operation: str
    body: bytes

    @property
    def answer(self) -> dict[str, Any]:
        """The members of the answer; those of a stream without their padding."""
        return _members(self.body, self.operation)


def _members(body: bytes, operation: str) -> dict[str, Any]:
    if operation == "Converse":
        whole: dict[str, Any] = json.loads(body)
        return whole
    from botocore.eventstream import EventStreamBuffer

    frames = EventStreamBuffer()
    frames.add_data(body)
    events: list[dict[str, Any]] = []
    for frame in frames:
        payload = json.loads(frame.payload)
        assert payload.pop("p")
        events.append({frame.headers[":event-type"]: payload})
    return {"events": events}


def _recorded() -> list[Recorded]:
    """Every recording with a guardrail's trace; none in a lone checkout, where the corpus is not there."""
    if not CORPUS.is_dir():
        return []
    found: list[Recorded] = []
    for entry in json.loads((CORPUS / "index.json").read_text()):
        if "guardrail-trace" not in entry["features"]:
            continue
        recording = json.loads((CORPUS / entry["file"]).read_text())
        asked, answered = recording["request"], recording["response"]
        days = [value[:8] for name, value in asked["headers"] if name.lower() == "x-amz-date"]
        request = Request(asked["method"], asked["path"], (), json.dumps(asked["body"]).encode())
        body = base64.b64decode(answered["body_base64"])
        found.append(Recorded(Path(entry["file"]).stem, days[0] if days else NEWEST, request, entry["operation"], body))
    return found


RECORDED: Final = _recorded()


def built(recorded: Recorded, answer: Reply) -> dict[str, Any]:
    """What the fake answers, without what AWS did not send yet."""
    response = Endpoint(answer).exchange(recorded.request).response
    members = _members(b"".join(chunk.data for chunk in response.chunks), recorded.operation)
    later = {member for member, day in SINCE.items() if recorded.day < day}
    kept: dict[str, Any] = _without(members, later)
    return kept


def _without(value: Any, members: set[str]) -> Any:
    if isinstance(value, list):
        return [_without(each, members) for each in value]
    if isinstance(value, dict):
        kept = {name: _without(each, members) for name, each in value.items() if name not in members}
        if "actionReason" in members and kept.get("modelOutput") == []:
            del kept["modelOutput"]  # empty only in JSON that has an actionReason as well
        return kept
    return value


def written(recorded: Recorded) -> Reply:
    """The answer, written with a helper."""
    answer = recorded.answer
    if recorded.operation == "ConverseStream":
        *events, stop, metadata = answer["events"]
        pieces = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
        text, stop_reason, answer = "".join(pieces), stop["messageStop"]["stopReason"], metadata["metadata"]
    else:
        (block,) = answer["output"]["message"]["content"]
        text, pieces, stop_reason = block["text"], [block["text"]], answer["stopReason"]
    guardrail = answer["trace"]["guardrail"]
    (asked,) = guardrail["inputAssessment"].values()
    ((answered,),) = guardrail["outputAssessments"].values()
    given: dict[str, Any] = {
        "pieces": pieces,
        "policy": free_values(answered),
        "input_assessment": free_values(asked),
        "usage": {name: value for name, value in answer["usage"].items() if name != "totalTokens"},
        "metrics": answer["metrics"],
    }
    if stop_reason == "end_turn":
        return reply.guardrail_passed(text, side="output", **given)
    return reply.guardrail_masked(text, original=guardrail["modelOutput"][0], **given)


def free_values(assessment: Mapping[str, Any]) -> dict[str, Any]:
    """What a guardrail's owner or the text decides: what was found, units, milliseconds, characters; not what is done.

    But for grounding and relevance: that they were good enough is part of what was found.
    """
    kept: dict[str, Any] = _without(assessment, {"appliedGuardrailDetails", "detected"})
    for entries in kept.get("sensitiveInformationPolicy", {}).values():
        for entry in entries:
            assert entry.pop("action") == "ANONYMIZED"
    return kept


def test_the_recordings_are_all_there(shared: Path) -> None:
    assert shared / "corpus" == CORPUS
    stops = [b"guardrail_intervened" in each.body for each in RECORDED]
    assert (len(RECORDED), sum(stops)) == (20, 16)
    assert sum(each.operation == "ConverseStream" for each in RECORDED) == 8


KNOWN: Final = [each for each in RECORDED if bedrock.has_shape("AppliedGuardrailDetails") or each.day < "20250819"]
"""Those whose members the installed botocore's model has."""

if KNOWN:

    @pytest.mark.parametrize("recorded", KNOWN, ids=lambda each: each.name)
    def test_a_helper_builds_what_is_recorded(recorded: Recorded) -> None:
        assert built(recorded, written(recorded)) == recorded.answer

    def test_what_was_found_follows_from_the_texts() -> None:
        (recorded,) = (each for each in RECORDED if each.name == "test_guardrails__test_guardrail_converse_stream")
        events = recorded.answer["events"]
        text = events[1]["contentBlockDelta"]["delta"]["text"]
        theirs = events[-1]["metadata"]["trace"]["guardrail"]
        answer = reply.guardrail_masked(text, original=theirs["modelOutput"][0])
        ours = built(recorded, answer)["events"][-1]["metadata"]["trace"]["guardrail"]
        assert ours.keys() == theirs.keys()
        assert (ours["actionReason"], ours["modelOutput"]) == (theirs["actionReason"], theirs["modelOutput"])
        ((mine,),), ((recorded_one,),) = (each["outputAssessments"].values() for each in (ours, theirs))
        assert mine["sensitiveInformationPolicy"] == recorded_one["sensitiveInformationPolicy"]
        counted = [each["invocationMetrics"]["guardrailCoverage"] for each in (mine, recorded_one)]
        assert counted[0] == counted[1]

    @pytest.mark.parametrize("member", SINCE)
    def test_the_table_says_when_a_member_came(member: str) -> None:
        assert SINCE[member] == min(each.day for each in RECORDED if f'"{member}"'.encode() in each.body)
