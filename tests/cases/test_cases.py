"""The catalogue: complete, as its tables say; each case can be sent, and is what its name says."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import botocore.session
import pytest

from converse_harness import Endpoint, Reply, ReplyError, bedrock, fake_converse, faults, reply
from converse_harness.bedrock.citations import locations
from converse_harness.bedrock.families import OVERFLOWS, THROTTLES
from converse_harness.bedrock.guardrails import POLICIES
from converse_harness.cases import CASES, Case, UnknownCase
from converse_harness.cases.case import snake
from converse_harness.cases.catalogue import FAMILIES, Catalogue
from converse_harness.faults.model import IN_PROCESS
from converse_harness.reply import failures
from converse_harness.reply.body import ErrorBody
from converse_harness.stream.grammar import ERROR_FRAME
from converse_harness.stream.http import GATEWAY_ERRORS, Request

AGREED = """
text_basic text_bytewise
reasoning_then_text reasoning_redacted_utf8 reasoning_redacted_binary
tool_fragments tool_no_input tool_truncated_json_max_tokens tool_parallel tool_interleaved tool_but_end_turn
citation_document citation_web server_tool_nova
guardrail_input_blocked guardrail_output_blocked guardrail_masked guardrail_no_trace
throttle_pre throttle_first_frame throttle_mid overflow_pre overflow_mid
model_stream_error unknown_exception error_frame
no_message_stop truncated_frame bad_crc empty_200
metadata_full metadata_missing
unknown_event unknown_delta
"""
"""The names under which clients were first measured: nobody may rename them."""

NEWER = {"citation_web", "server_tool_nova", "metadata_full"}
"""Those of them that botocore 1.40 has no shapes for."""

BODY = json.dumps({"messages": [{"role": "user", "content": [{"text": "?"}]}]}).encode()

all_cases = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))


def replies() -> list[Reply]:
    return [answer for case in CASES.values() for answer in case.replies]


def test_the_names_agreed_on_are_there() -> None:
    assert set(AGREED.split()) - set(CASES) <= (set() if bedrock.has_member("CitationLocation", "web") else NEWER)
    assert len(AGREED.split()) == 34


def test_there_are_many() -> None:
    assert len(CASES) >= 120
    assert len(list(CASES)) == len(CASES)
    assert [name for name, case in CASES.items() if name != case.name] == []


def test_every_fault_is_a_case() -> None:
    for name, fault in faults.FAULTS.items():
        if not fault.transports & IN_PROCESS:
            assert (name, name in CASES) == ("stale_connection", False)  # it meets a second call, over a socket
            continue
        assert [placement.fault.name for placement in CASES[name].reply.plan.placements] == [fault.name]


@pytest.mark.parametrize("operation", ["Converse", "ConverseStream", "CountTokens"])
def test_every_error_of_the_conversation_is_a_case(operation: str) -> None:
    if operation not in bedrock.operations():
        assert operation == "CountTokens"  # botocore 1.40.0 is older than it
        return
    sent = {each.plan.body.name for each in replies() if isinstance(each.plan.body, ErrorBody)}
    assert set(bedrock.errors(operation)) <= sent
    assert sent >= GATEWAY_ERRORS


def test_every_function_for_an_error_is_a_case_of_its_name() -> None:
    functions = {name for name in reply.__all__ if getattr(reply, name).__module__ == failures.__name__}
    assert functions - set(CASES) == {"error", "context_overflow"}


def test_every_wording_is_a_case() -> None:
    said = [each.plan.body.members.get("message") for each in replies() if isinstance(each.plan.body, ErrorBody)]
    for wording in (*OVERFLOWS.values(), *THROTTLES.values()):
        assert wording.message in said


def test_every_exception_frame_is_a_case_in_every_place() -> None:
    places: dict[str, set[str]] = {}
    for case in CASES.values():
        answer = case.reply
        if answer.plan.failure is not None:
            before = [next(iter(event)) for event in answer.events()][: answer.plan.failure.after]
            last = before[-1] if before else "first"
            if last == "contentBlockDelta" and "contentBlockStart" in before:
                last = "tool"
            places.setdefault(answer.plan.failure.name, set()).add(last)
    for exception in bedrock.stream_exceptions():
        assert places[exception] == {"first", "contentBlockDelta", "tool", "messageStop"}
    assert any(
        case.reply.plan.failure is not None and ERROR_FRAME in case.reply.plan.failure.event for case in CASES.values()
    )


def test_every_stop_reason_is_a_case() -> None:
    for reason in bedrock.enum("StopReason"):
        (stop,) = (event["messageStop"] for event in CASES[f"stop_{reason}"].reply.events() if "messageStop" in event)
        assert stop["stopReason"] == reason
    assert "stop_unknown" in CASES


def test_every_policy_of_guardrails_is_a_case() -> None:
    known = bedrock.shape("GuardrailAssessment").members
    for name, policy in POLICIES.items():
        if policy.member not in known:
            assert f"guardrail_{name}" not in CASES
            continue
        trace = json.dumps(metadata_of(CASES[f"guardrail_{name}"])["trace"])
        assert f'"{policy.member}"' in trace
        assert f'"{policy.findings}": [{{' in trace
        assert '"detected": true' in trace or name == "automated_reasoning"


def metadata_of(case: Case) -> dict[str, Any]:
    (metadata,) = (event["metadata"] for event in case.reply.events() if "metadata" in event)
    return dict(metadata)


def test_every_location_of_citations_is_a_case() -> None:
    for kind in locations():
        events = CASES[f"citation_{snake(kind)}"].reply.events()
        deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
        assert [[*delta["citation"]["location"]] for delta in deltas if "citation" in delta] == [[kind]]


@all_cases
def test_a_case_is_told_in_lines(case: Case) -> None:
    for text in (case.sentence, case.required, case.source):
        assert text.strip() == text
        assert text
        assert "\n" not in text
    assert case.sentence[-1] == "." or case.name.startswith(("overflow_", "throttled_"))
    assert case.required.endswith(".")
    assert snake(case.name) == case.name


@all_cases
@pytest.mark.parametrize(("operation", "path"), [("Converse", "converse"), ("ConverseStream", "converse-stream")])
def test_a_case_is_sent_or_says_that_it_is_for_streams(case: Case, operation: str, path: str) -> None:
    only_streams = False
    for answer in case.replies:
        endpoint = Endpoint(answer)
        response = endpoint.exchange(Request("POST", f"/model/us.anthropic.claude-haiku/{path}", (), BODY)).response
        list(response.chunks)
        only_streams = only_streams or any("only a stream can" in str(problem) for problem in endpoint.problems)
        assert only_streams or endpoint.problems == []
    assert only_streams == (case.stream_only and operation == "Converse")


@pytest.fixture(scope="module")
def client() -> Any:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    return botocore.session.get_session().create_client("bedrock-runtime", region_name="us-east-1", **keys)


@all_cases
def test_botocore_meets_a_case(case: Case, client: Any) -> None:
    asked = {"modelId": "us.anthropic.claude-haiku", "messages": json.loads(BODY)["messages"]}
    with fake_converse(*case.replies, unused="allow", answers="off") as fake:
        fake.always(reply.text("OK."))
        with suppress(Exception):  # what botocore makes of it is asserted where clients are compared
            for _ in client.converse_stream(**asked)["stream"]:
                pass
        if not case.stream_only:
            with suppress(Exception):  # as above
                client.converse(**asked)
        assert fake.calls[0].reply is not None
        assert fake.failures() == []


def test_the_replies_of_a_case_are_made_once() -> None:
    case = CASES["throttle_pre"]
    first, then = case.replies
    assert case.reply is first
    assert (first.uses, then.uses) == (2, 1)


def test_an_unknown_name_is_told_its_neighbours() -> None:
    with pytest.raises(UnknownCase, match=r"^no case is called 'overflw_pre'\. Near it: overflow_pre, ") as raised:
        CASES["overflw_pre"]
    assert isinstance(raised.value, KeyError)
    assert isinstance(raised.value, ReplyError)
    assert bedrock.botocore_version() in str(raised.value)
    assert "overflw_pre" not in CASES
    assert CASES.get("overflw_pre") is None
    with pytest.raises(UnknownCase, match=r"^no case is called 'Ω'\. There are"):
        CASES["Ω"]


@pytest.mark.parametrize("need", ["ContentBlock.hologram", "Hologram.frames"])
def test_what_botocore_cannot_read_is_not_there(need: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = CASES["text_basic"]
    assert usual.available
    newer = replace(usual, name="hologram", needs=(need,))
    assert not newer.available
    monkeypatch.setitem(FAMILIES, "text and reasoning", lambda: [usual, newer])
    catalogue = Catalogue()
    assert "text_basic" in catalogue
    assert "hologram" not in catalogue


def test_two_of_a_name_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = CASES["text_basic"]
    monkeypatch.setitem(FAMILIES, "text and reasoning", lambda: [usual, usual])
    with pytest.raises(AssertionError, match="two cases are called text_basic"):
        len(Catalogue())
