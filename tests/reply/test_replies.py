"""Replies: what they check at the line that writes them, and how they read."""

import re
from typing import Any

import pytest

from converse_harness import Reply, ReplyError, bedrock, chunk, reply
from converse_harness.bedrock.families import usual
from converse_harness.literals import ErrorName, StreamException
from converse_harness.stream.grammar import check_order

STOP_REASONS = ", ".join(repr(reason) for reason in bedrock.enum("StopReason"))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda: reply.message({"text": "a", "toolUse": {"toolUseId": "t", "name": "n", "input": {}}}),
            (
                "content[0] has two members, 'text' and 'toolUse'; a ContentBlock has exactly one (AWS model "
                "ContentBlock)."
            ),
        ),
        (
            lambda: reply.text("a").fails_after(1, "slow", strict=True),
            (
                "fails_after(1, exception='slow'): it is not an exception of ConverseStream. One of: "
                "internalServerException, modelStreamErrorException, serviceUnavailableException, "
                "throttlingException, validationException. For one that is not in the model pass strict=False."
            ),
        ),
        (
            lambda: reply.tool_use("get weather"),
            "name is 'get weather'; a ToolName matches [a-zA-Z0-9_-]+ (AWS model ToolName).",
        ),
        (
            lambda: reply.message({"text": "a"}, stop_reason="finished", strict=True),
            (
                f"stop_reason is 'finished'; a StopReason is one of {STOP_REASONS} (AWS model StopReason, botocore "
                f"{bedrock.botocore_version()})."
            ),
        ),
        (
            lambda: reply.message({"text": "a"}, usage={"inputTokens": -1}),
            (
                "usage.inputTokens is -1; a TokenUsageInputTokensInteger is 0 to 2147483647 (AWS model "
                "TokenUsageInputTokensInteger)."
            ),
        ),
        (
            lambda: reply.text("a").times(0),
            "times(uses=0): a reply is used a whole number of times, at least once. For any number use always().",
        ),
        (
            lambda: reply.text("a").times(True),
            "times(uses=True): a reply is used a whole number of times, at least once. For any number use always().",
        ),
        (lambda: reply.text("a").paced(each=-1), "paced(each=-1): a pause is a number of seconds, 0 or more."),
        (
            lambda: reply.text("a").fails_after(5, "throttlingException"),
            (
                "fails_after(events=5): this reply has 5 events (messageStart, contentBlockDelta, contentBlockStop, "
                "messageStop, metadata); what ends it takes the place of one: 0 to 4."
            ),
        ),
        (
            lambda: reply.throttled().fails_after(0, "throttlingException"),
            (
                'ThrottlingException (429) "Too many requests, please wait before trying again.": it comes before any '
                "stream and has no events."
            ),
        ),
        (
            lambda: reply.events([{"messageStart": "assistant"}]),
            "events[0].messageStart is 'assistant'; an event is a mapping of its members.",
        ),
        (
            lambda: reply.events([{"contentBlockStop": {"contentBlockIndex": -1}}]),
            (
                "events[0].contentBlockStop.contentBlockIndex is -1; a NonNegativeInteger is 0 to 2147483647 "
                "(AWS model NonNegativeInteger)."
            ),
        ),
        (
            lambda: reply.error("Slow", status=None),
            (
                "error(name='Slow'): it is not an error of Bedrock. One of: "
                f"{', '.join(sorted(bedrock.all_errors()))}. "
                "For one that is not in the model give its status=."
            ),
        ),
    ],
)
def test_a_wrong_reply_fails_where_it_is_written(write: Any, message: str) -> None:
    with pytest.raises(ReplyError) as caught:
        write()
    assert str(caught.value) == message


def test_a_document_cannot_be_streamed_and_is_refused() -> None:
    document = {"document": {"name": "a", "format": "txt", "source": {"bytes": b"a"}}}
    with pytest.raises(ReplyError, match=r"^content\[0\] is 'document', which cannot be streamed"):
        reply.message(document)


def test_a_reply_keeps_what_it_was_given() -> None:
    value: dict[str, Any] = {"city": "Zürich"}
    written = reply.tool_use("get_weather", value)
    value["city"] = "Bern"
    assert written.summary == 'tool_use get_weather {"city": "Zürich"}'


@pytest.mark.parametrize(
    ("written", "summary"),
    [
        (reply.text("18 °C and sunny."), 'text "18 °C and sunny."'),
        (reply.text("a" * 99), f'text "{"a" * 55}..."'),
        (reply.text("a", stop_reason="max_tokens"), 'text "a", max_tokens'),
        (reply.json({"city": "Zürich"}), r'text "{\"city\": \"Zürich\"}"'),
        (reply.context_overflow(), 'ValidationException (400) "Input is too long for requested model."'),
        (reply.read_timeout(), "read_timeout"),
        (reply.text("a").fails_after(0, "x", strict=False), 'text "a", x after 0 events'),
    ],
)
def test_a_reply_reads_as_one_line(written: Reply, summary: str) -> None:
    assert written.summary == summary
    assert repr(written) == f"<Reply {summary}>"


@pytest.mark.parametrize("name", sorted(bedrock.all_errors()))
def test_every_modelled_error_has_a_status_and_a_wording(name: ErrorName) -> None:
    body: Any = reply.error(name).plan.body
    assert body.status == bedrock.all_errors()[name].status
    assert body.members["message"] == usual(name)


@pytest.mark.parametrize("name", sorted(bedrock.stream_exceptions()))
def test_every_exception_frame_can_take_the_place_of_every_event(name: StreamException) -> None:
    written = reply.text("The answer is forty-two.")
    for position in range(len(list(written.events()))):
        failing = written.fails_after(position, name)
        assert failing.plan.failure is not None
        check_order([*list(failing.events())[:position], failing.plan.failure.event])


def test_an_exception_may_carry_further_members() -> None:
    failing = reply.text("a").fails_after(1, "modelStreamErrorException", "died", originalStatusCode=500)
    assert failing.plan.failure is not None
    assert failing.plan.failure.event["modelStreamErrorException"] == {"message": "died", "originalStatusCode": 500}
    with pytest.raises(ReplyError, match=re.escape("modelStreamErrorException.originalStatusCode is 9")):
        reply.text("a").fails_after(1, "modelStreamErrorException", originalStatusCode=9)


def test_an_exact_sequence_is_what_was_written() -> None:
    events = chunk({"role": "assistant", "content": [{"text": "Hi there"}]})
    assert list(reply.events(events).events()) == events


def test_without_strict_any_event_goes() -> None:
    events: list[dict[str, Any]] = [{"contentBlockStop": {"contentBlockIndex": 7}}, {"futureEvent": {"a": 1}}]
    assert list(reply.events(events, strict=False).events()) == events


@pytest.mark.parametrize("event", [{"futureEvent": {"a": {1, 2}}}, {"contentBlockStop": {"contentBlockIndex": object}}])
def test_without_strict_an_event_must_still_be_json(event: dict[str, Any]) -> None:
    with pytest.raises(ReplyError, match=r"^events\[0\] cannot be sent: .*Events are JSON, with bytes for blobs\.$"):
        reply.events([event], strict=False)


def test_pieces_are_the_exact_deltas() -> None:
    written = reply.text("Zürich", pieces=["Z", "ürich"])
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in written.events() if "contentBlockDelta" in event]
    assert deltas == ["Z", "ürich"]


@pytest.mark.parametrize("strict", [True, False])
def test_what_the_model_knows_of_an_answer_has_its_type_in_any_case(strict: bool) -> None:
    with pytest.raises(ReplyError, match="inputTokens"):
        reply.message({"text": "hi"}, usage={"inputTokens": "many"}, strict=strict)
