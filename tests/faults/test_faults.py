"""Faults: what each does to an answer, where it can be, told how, and refused where it cannot."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply, ReplyError, StreamOrderError, faults, reply
from converse_harness.endpoint.stage import Exchange
from converse_harness.faults.model import DURATIONS, FAULT_LEVELS, TRANSPORTS, Fault, Transport
from converse_harness.faults.order import ORDER_FAULTS, OrderFault
from converse_harness.faults.response import GARBAGE, JSON, ResponseFault
from converse_harness.reply.plan import Plan
from converse_harness.stream.events import decode_event, encode_event
from converse_harness.stream.frames import PRELUDE_LENGTH, Decoder
from converse_harness.stream.http import Chunk, HttpResponse, Request
from tests.broken import WHOLE, faulty

BODY = json.dumps({"messages": [{"role": "user", "content": [{"text": "?"}]}]}).encode()
ALL = list(faults.FAULTS.values())
IN_ORDER = [each for each in ALL if isinstance(each, OrderFault)]
TEXT = reply.text("The answer is forty-two.").fails_after(5, "throttlingException")
"""With a failure the chunking is neutral, as it is where events are counted."""
STREAM, CONVERSE = "converse-stream", "converse"


def asked(answer: Reply, operation: str = STREAM, transport: Transport | None = None) -> tuple[Endpoint, Exchange]:
    endpoint = Endpoint(answer, transport=transport)
    return endpoint, endpoint.exchange(Request("POST", f"/model/m/{operation}", (), BODY))


class Sent(NamedTuple):
    chunks: list[Chunk]
    response: HttpResponse

    @property
    def frames(self) -> list[bytes]:
        return [chunk.data for chunk in self.chunks]

    @property
    def data(self) -> bytes:
        return b"".join(self.frames)

    @property
    def length(self) -> str | None:
        return dict(self.response.headers).get("Content-Length")


def sent(answer: Reply, operation: str = STREAM) -> Sent:
    endpoint, exchange = asked(answer, operation)
    chunks = list(exchange.response.chunks)
    assert endpoint.problems == []
    return Sent(chunks, exchange.response)


def of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("fault", [faults.FAULTS[name] for name in names], ids=names)


each_fault = pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)


@pytest.mark.parametrize("fault", [each for each in ALL if each.on_body is not None], ids=lambda fault: fault.name)
def test_the_response_of_a_call_is_what_the_client_gets_whole(fault: Fault) -> None:
    """Of Converse, whose body is one piece: with another body, or a part of it, there is no whole answer."""
    whole = sent(reply.text("a b"), CONVERSE)
    _, exchange = asked(reply.text("a b").broken(fault), CONVERSE)
    data = b"".join(chunk.data for chunk in exchange.response.chunks)
    assert (exchange.call.response is not None) is (data == whole.data)


# The table


def test_faults_are_named_as_they_are_imported() -> None:
    assert dir(faults) == sorted(faults.FAULTS)
    assert {name: getattr(faults, name) for name in faults.FAULTS} == dict(faults.FAULTS)


@each_fault
def test_every_fault_is_described(fault: Fault) -> None:
    assert repr(fault) == f"faults.{fault.name}"
    assert fault.sentence[0].isupper()
    assert fault.sentence.endswith(".") or ". " in fault.sentence or "`" in fault.sentence
    assert fault.botocore
    assert "boto" in fault.transports or fault.name == "stale_connection"
    assert isinstance(fault, OrderFault if fault.level == "events" else ResponseFault)
    assert (fault.seconds is None) is (fault.name not in DURATIONS)
    assert (fault.place == "position") is (fault.level == "events")


def test_what_breaks_the_order_is_a_fault_or_cannot_be_sent() -> None:
    in_order = {name: fault.sentence for name, fault in faults.FAULTS.items() if fault.level == "events"}
    assert in_order == {name: row.sentence for name, row in ORDER_FAULTS.items() if name not in faults.NOT_SENDABLE}
    assert set(faults.NOT_SENDABLE) < set(ORDER_FAULTS)


def test_what_cannot_be_sent_cannot_for_the_reason_given() -> None:
    events = list(reply.text("a b").events())
    nothing = reply.events(ORDER_FAULTS["no_events"].apply_at(events, 0), strict=False)
    empty = sent(reply.text("a b").broken(faults.empty_200))
    assert sent(nothing).chunks == empty.chunks == []
    assert [each.response.status for each in (sent(nothing), empty)] == [200, 200]
    assert sent(nothing).response.headers[:3] == empty.response.headers[:3]
    assert faults.NOT_SENDABLE["no_events"] == "empty_200 is the same on the wire"
    for name, reason in (("event_of_two_types", "a frame has one type"), ("event_without_type", "a frame has a type")):
        assert faults.NOT_SENDABLE[name] == reason
        with pytest.raises(StreamOrderError, match="an event has exactly one key, its type"):
            encode_event(ORDER_FAULTS[name].apply_at(events, 0)[0])


# The order of events


@pytest.mark.parametrize("fault", IN_ORDER, ids=lambda fault: fault.name)
def test_the_order_is_broken_at_each_of_its_sites(fault: OrderFault) -> None:
    whole = next(each for each in (WHOLE, faulty(fault)) if fault.applicable_at(list(each.plan.unbroken_events())))
    unbroken = list(whole.plan.unbroken_events())
    applicable_at = fault.applicable_at(unbroken)
    if not whole.plan.placements:
        assert whole.broken(fault).plan.placements[0].after == applicable_at[len(applicable_at) // 2]
    for position in applicable_at:
        broken = Reply(Plan(whole.plan.body)).broken(fault, after=position)
        assert broken.summary.endswith(f", {fault.name} at event {position}")
        frames = sent(broken).chunks
        expected = fault.apply_at(unbroken, position)
        assert list(broken.events()) == expected
        assert [next(iter(chunk.event or {})) for chunk in frames] == [next(iter(event)) for event in expected]
        assert [decode_event(Decoder().feed(chunk.data)[0])[0] for chunk in frames] == [chunk.event for chunk in frames]


@given(data=st.data())
def test_a_broken_order_can_fail_and_pause_as_any_other(data: st.DataObject) -> None:
    fault = data.draw(st.sampled_from([each for each in IN_ORDER if each.name != "event_after_exception"]))
    broken = WHOLE.broken(fault)
    events = len(list(broken.events()))
    after = data.draw(st.integers(0, events - 1))
    chunks = sent(broken.fails_after(after, "throttlingException").paced(first=1, each=0.5)).chunks
    assert len(chunks) == after + 1
    assert [*(chunks[-1].event or {})] == ["throttlingException"]
    assert [chunk.delay for chunk in chunks] == [1, *[0.5] * after]


# Frames


@of("truncated_frame", "cut_in_prelude", "cut_in_headers", "bad_crc", "bad_prelude_crc")
@given(data=st.data())
def test_a_frame_is_broken_and_those_before_it_are_not(fault: Fault, data: st.DataObject) -> None:
    whole = sent(TEXT).frames
    after = data.draw(st.integers(0, len(whole) - 1))
    broken = sent(TEXT.broken(fault, after=after))
    assert broken.frames[:after] == whole[:after]
    assert broken.response.broken is None
    hit, was = broken.frames[after], whole[after]
    assert hit != was
    if "crc" not in fault.name:
        assert len(broken.frames) == after + 1
        headers = int.from_bytes(was[4:8])
        low, high = {
            "truncated_frame": (1, len(was) - 1),
            "cut_in_prelude": (1, PRELUDE_LENGTH - 1),
            "cut_in_headers": (PRELUDE_LENGTH + 1, PRELUDE_LENGTH + headers - 1),
        }[fault.name]
        assert low <= len(hit) <= high
        assert was.startswith(hit)
        assert broken.chunks[after].event is None
    else:
        assert broken.frames[after + 1 :] == whole[after + 1 :]
        changed = [place for place, (a, b) in enumerate(zip(hit, was, strict=True)) if a != b]
        assert changed == [len(was) - 1 if fault is faults.bad_crc else PRELUDE_LENGTH - 1]


def test_garbage_follows_the_end() -> None:
    assert sent(TEXT.broken(faults.garbage_after_end)).data == sent(TEXT).data + GARBAGE


# HTTP


@of("one_byte_chunks", "one_chunk")
def test_other_chunks_carry_the_same_bytes_events_and_pauses(fault: Fault) -> None:
    paced = TEXT.paced(first=1, each=0.25)
    whole, chunked = sent(paced), sent(paced.broken(fault))
    assert chunked.data == whole.data
    assert {len(frame) for frame in chunked.frames} == ({1} if fault is faults.one_byte_chunks else {len(whole.data)})
    assert math.isclose(sum(each.delay for each in chunked.chunks), sum(each.delay for each in whole.chunks))
    events = [event for chunk in chunked.chunks for event in (chunk.event, *chunk.more) if event is not None]
    assert events == [chunk.event for chunk in whole.chunks]


ANSWERS = {"answer": reply.text("The answer is forty-two."), "error": reply.throttled().retry_after(3)}


@pytest.mark.parametrize("operation", [STREAM, CONVERSE])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_empty_200_has_no_sign_of_an_error(name: str, operation: str) -> None:
    empty = sent(ANSWERS[name].broken(faults.empty_200), operation)
    assert (empty.response.status, empty.data) == (200, b"")
    chunked = (name, operation) == ("answer", STREAM)
    framing = "Transfer-Encoding" if chunked else "Content-Length"
    assert [key for key, _ in empty.response.headers] == ["Content-Type", framing, "Connection", "x-amzn-RequestId"]
    assert empty.length == (None if chunked else "0")


def test_json_where_a_stream_is_due() -> None:
    answer = sent(TEXT.broken(faults.json_for_stream))
    assert (answer.response.status, answer.data) == (200, JSON)
    assert json.loads(JSON)
    kind, length, *others = answer.response.headers
    assert (kind, length) == (("Content-Type", "application/json"), ("Content-Length", str(len(JSON))))
    assert others == list(sent(TEXT).response.headers[2:])


@pytest.mark.parametrize("operation", [STREAM, CONVERSE])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_content_length_that_is_too_long(name: str, operation: str) -> None:
    whole, wrong = sent(ANSWERS[name], operation), sent(ANSWERS[name].broken(faults.wrong_content_length), operation)
    assert wrong.data == whole.data
    assert wrong.length == str(len(whole.data) + 1)
    assert "Transfer-Encoding" not in dict(wrong.response.headers)
    assert wrong.response.broken == "connection closed"


# The connection


@of("reset", "closed", "stall")
@given(data=st.data())
def test_a_stream_is_the_whole_one_up_to_the_break(fault: Fault, data: st.DataObject) -> None:
    frames = sent(TEXT).frames
    after = data.draw(st.integers(0, len(frames) - (fault.place == "in event")))
    cut = sent(TEXT.broken(fault, after=after))
    broken = {"reset": "connection reset", "closed": "connection closed", "stall": "stalled"}
    assert cut.response.broken == broken[fault.name]
    assert cut.frames[:after] == frames[:after]
    rest = b"".join(cut.frames[after:])
    assert rest == (frames[after][: len(frames[after]) // 2] if fault is faults.closed else b"")


@of("reset", "closed", "stall")
@pytest.mark.parametrize("answer", [reply.text("The answer is forty-two."), reply.throttled()], ids=["text", "error"])
def test_a_whole_body_is_cut_and_its_length_is_not(fault: Fault, answer: Reply) -> None:
    whole, cut = sent(answer, CONVERSE), sent(answer.broken(fault, after=0), CONVERSE)
    assert cut.response.broken is not None
    assert whole.data.startswith(cut.data)
    assert len(cut.data) < len(whole.data)
    assert cut.length == str(len(whole.data))


def test_a_pause_of_some_seconds_goes_on_after_it() -> None:
    paused = TEXT.paced(each=0.25).broken(faults.stall.lasting(7), after=2)
    whole = sent(TEXT.paced(each=0.25))
    assert sent(paused).frames == whole.frames
    assert [chunk.delay for chunk in sent(paused).chunks] == [0, 0.25, 7.25, 0.25, 0.25, 0.25]
    answer = reply.text("The answer is forty-two.")
    body = sent(answer.broken(faults.stall.lasting(7)), CONVERSE)
    assert body.data == sent(answer, CONVERSE).data
    assert [chunk.delay for chunk in body.chunks] == [0, 7]
    assert body.response.broken is None
    at_the_start = sent(answer.broken(faults.stall.lasting(7), after=0), CONVERSE)
    assert [chunk.delay for chunk in at_the_start.chunks] == [7]


@pytest.mark.parametrize("operation", [STREAM, CONVERSE])
def test_a_slow_first_byte_changes_nothing_else(operation: str) -> None:
    answer = ANSWERS["answer"]
    slow, whole = sent(answer.broken(faults.slow_first_byte), operation), sent(answer, operation)
    assert (slow.response.wait, whole.response.wait) == (1, 0)
    assert slow.chunks == whole.chunks
    longer = answer.broken(faults.slow_first_byte.lasting(2.5))
    assert sent(longer, operation).response.wait == 2.5
    assert longer.summary.endswith(", slow_first_byte")


@of("connection_refused", "connect_timeout", "read_timeout")
def test_no_answer_is_a_reply_of_its_own(fault: Fault) -> None:
    for answer in (getattr(reply, fault.name)(), reply.text("hi").broken(fault), reply.throttled().broken(fault)):
        assert answer.summary == fault.name
        for operation in (STREAM, CONVERSE):
            response = sent(answer, operation).response
            assert response.failure == fault.name.replace("_", " ")


# What only a stream can have


@pytest.mark.parametrize("fault", [fault for fault in ALL if fault.on_body is None], ids=lambda fault: fault.name)
def test_what_only_a_stream_can_have_fails_a_converse_call_by_name(fault: Fault) -> None:
    answer = faulty(fault)
    endpoint, exchange = asked(answer, CONVERSE)
    (problem,) = endpoint.problems
    assert str(problem) == (
        f"{answer.summary}: only a stream can be broken by {fault.name}, and the client called Converse, which "
        "answers with one whole body."
    )
    assert exchange.response.status == 400
    with pytest.raises(ReplyError) as raised:
        reply.throttled().broken(fault)
    why = "it has no events" if isinstance(fault, OrderFault) else "only a stream can be broken so"
    assert str(raised.value) == f"broken(fault={fault.name}): {reply.throttled().summary}: {why}."


# Several


LEVELS = {level: [each for each in ALL if each.level == level and not each.no_answer] for level in FAULT_LEVELS}


@given(data=st.data(), operation=st.sampled_from([STREAM, CONVERSE]))
def test_faults_of_different_levels_can_be_combined(data: st.DataObject, operation: str) -> None:
    answer = data.draw(st.sampled_from([WHOLE, TEXT, reply.throttled(), reply.text("")]))
    for level in FAULT_LEVELS:
        fault = data.draw(st.none() | st.sampled_from(LEVELS[level]))
        if fault is None:
            continue
        fault = data.draw(st.sampled_from([fault, fault.lasting(2)])) if fault.seconds else fault
        try:
            answer = answer.broken(fault)
        except ReplyError:
            continue
        for again in LEVELS[level]:
            with pytest.raises(ReplyError) as raised:
                answer.broken(again)
            assert str(raised.value) == (
                f"broken(fault={again.name}): {fault.name} breaks the same level already ({level}); a reply has one "
                "fault of each."
            )
    endpoint, exchange = asked(answer, operation)
    chunks = list(exchange.response.chunks)
    streams_alone = [each for each in answer.plan.placements if each.fault.on_body is None]
    assert len(endpoint.problems) == (1 if operation == CONVERSE and streams_alone else 0)
    assert [each.fault.level for each in answer.plan.placements] == [
        level for level in FAULT_LEVELS if level in {each.fault.level for each in answer.plan.placements}
    ]
    if endpoint.problems:
        return
    names = {each.fault.name for each in answer.plan.placements}
    breaks = {"reset": "connection reset", "closed": "connection closed", "stall": "stalled"}
    forever = [
        each for each in answer.plan.placements if each.fault.name in breaks and each.fault.seconds in (None, math.inf)
    ]
    wrong = "wrong_content_length" in names
    expected = breaks[forever[0].fault.name] if forever else "connection closed" if wrong else None
    assert exchange.response.broken == expected
    length = dict(exchange.response.headers).get("Content-Length")
    if wrong:
        assert length == str(sum(len(chunk.data) for chunk in chunks) + 1)
    if "empty_200" in names:
        assert chunks == []


def test_a_break_counts_events_in_whatever_chunks_they_travel() -> None:
    three = b"".join(sent(TEXT).frames[:3])
    for chunked in (faults.one_byte_chunks, faults.one_chunk):
        both = [TEXT.broken(chunked).broken(faults.reset, after=3), TEXT.broken(faults.reset, after=3).broken(chunked)]
        for answer in both:
            assert sent(answer).data == three
            assert sent(answer).response.broken == "connection reset"


def test_a_frame_that_is_cut_before_the_connection_breaks() -> None:
    answer = TEXT.broken(faults.truncated_frame, after=1).broken(faults.closed, after=4).broken(faults.one_chunk)
    assert sent(answer).data == sent(TEXT.broken(faults.truncated_frame, after=1)).data
    assert sent(answer).response.broken == "connection closed"


def test_by_default_a_fault_comes_after_half_of_the_events() -> None:
    broken = reply.text("one two three four").broken(faults.reset)
    assert len(sent(broken).frames) == 4
    assert broken.summary == 'text "one two three four", reset after 4 events'


# Nonsense

ONE = reply.text("one")
NONSENSE: list[tuple[Reply, Any, dict[str, Any], str]] = [
    (
        ONE,
        "reset",
        {},
        "broken(fault='reset'): this is the name of a fault. Write it without quotes: broken(faults.reset).",
    ),
    (ONE, faults.reset, {"after": 9}, "broken(reset, after=9): this reply has 5 events; 0 to 5."),
    (ONE, faults.reset, {"after": -1}, "broken(reset, after=-1): this reply has 5 events; 0 to 5."),
    (
        ONE,
        faults.reset,
        {"after": "1"},
        "broken(reset, after='1'): a position in a stream is a whole number of events; this is of the type str.",
    ),
    (
        ONE,
        faults.reset,
        {"after": 1.0},
        "broken(reset, after=1.0): a position in a stream is a whole number of events; this is of the type float.",
    ),
    (
        ONE,
        faults.no_block_stop,
        {"after": 2.0},
        (
            "broken(no_block_stop, after=2.0): a position in a stream is a whole number of events; this is of the type "
            "float."
        ),
    ),
    (
        ONE,
        faults.reset,
        {"after": True},
        "broken(reset, after=True): a position in a stream is a whole number of events; this is of the type bool.",
    ),
    (ONE, faults.closed, {"after": 5}, "broken(closed, after=5): this reply has 5 events; 0 to 4."),
    (ONE, faults.bad_crc, {"after": 5}, "broken(bad_crc, after=5): this reply has 5 events; 0 to 4."),
    (
        reply.events([], strict=False),
        faults.bad_crc,
        {},
        "broken(fault=bad_crc): this reply has no event that could be so broken.",
    ),
    (ONE, faults.one_chunk, {"after": 1}, "broken(one_chunk, after=1): it is of the whole answer; leave out after=."),
    (
        ONE,
        faults.no_block_stop,
        {"after": 0},
        "broken(no_block_stop, after=0): in this reply it can be at event 2.",
    ),
    (
        ONE,
        faults.no_block_start,
        {},
        (
            "broken(fault=no_block_start): no event of this reply can be so broken. Its events: messageStart, "
            "contentBlockDelta, contentBlockStop, messageStop, metadata. Break a reply that has such an event, or "
            "break this one otherwise."
        ),
    ),
    (
        reply.events([], strict=False),
        faults.no_metadata,
        {},
        (
            "broken(fault=no_metadata): no event of this reply can be so broken. Its events: none. Break a reply that "
            "has such an event, or break this one otherwise."
        ),
    ),
    (
        ONE.fails_after(1, "throttlingException"),
        faults.no_block_stop,
        {},
        (
            'broken(fault=no_block_stop): text "one", throttlingException after 1 event: break the order first, then '
            "say how it fails."
        ),
    ),
    (
        ONE.broken(faults.reset, after=5),
        faults.no_block_stop,
        {},
        (
            'broken(fault=no_block_stop): text "one", reset after 5 events: break the order before '
            "broken(faults.reset), which counts events."
        ),
    ),
    (
        reply.connection_refused(),
        faults.one_chunk,
        {},
        "broken(fault=one_chunk): connection_refused: where no answer comes, nothing else can be broken.",
    ),
    (
        ONE.broken(faults.one_chunk),
        faults.read_timeout,
        {},
        'broken(fault=read_timeout): text "one", one_chunk: where no answer comes, nothing else can be broken.',
    ),
    (
        reply.connection_refused(),
        faults.reset,
        {},
        (
            "broken(fault=reset): connection_refused breaks the same level already (connection); a reply has one fault "
            "of each."
        ),
    ),
]


@pytest.mark.parametrize(("answer", "fault", "options", "message"), NONSENSE)
def test_nonsense_fails_where_it_is_written(answer: Reply, fault: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplyError) as raised:
        answer.broken(fault, **options)
    assert str(raised.value) == message


def test_a_failure_is_said_before_a_fault_that_counts_events() -> None:
    with pytest.raises(ReplyError) as raised:
        ONE.broken(faults.reset, after=5).fails_after(1, "throttlingException")
    assert str(raised.value) == (
        'text "one", reset after 5 events: say how it fails before broken(faults.reset), which counts events.'
    )


@each_fault
def test_only_what_lasts_has_a_duration(fault: Fault) -> None:
    if fault.name in DURATIONS:
        assert repr(fault.lasting(0.5)) == f"faults.{fault.name}.lasting(0.5)"
        assert fault.lasting(0.5).seconds == 0.5
        for nonsense in (0, -1, math.inf, math.nan, True, "1", None):
            with pytest.raises(ReplyError) as raised:
                fault.lasting(cast("float", nonsense))
            assert str(raised.value) == f"{fault.name}.lasting(seconds={nonsense!r}): a number of seconds, more than 0."
    else:
        with pytest.raises(ReplyError) as raised:
            fault.lasting(1)
        assert str(raised.value) == f"{fault.name} has no duration. Those that last: stall, slow_first_byte."


# Error frames


def test_an_error_frame_is_read_as_it_was_written() -> None:
    failing = reply.text("one two").error_frame_after(2, "InternalFailure", "Sorry.")
    chunks = sent(failing).chunks
    assert len(chunks) == 3
    (frame,) = Decoder().feed(chunks[-1].data)
    assert frame.payload == b""
    assert {header.name: header.value for header in frame.headers} == {
        ":message-type": "error",
        ":error-code": "InternalFailure",
        ":error-message": "Sorry.",
    }
    event = {":error": {"code": "InternalFailure", "message": "Sorry."}}
    assert decode_event(frame) == (event, None)
    assert chunks[-1].event == event
    assert encode_event(event) == chunks[-1].data


def test_an_error_frame_is_a_500_where_there_is_no_stream() -> None:
    answer = sent(reply.text("one two").error_frame_after(2, "InternalFailure", "Sorry."), CONVERSE)
    assert answer.response.status == 500
    assert dict(answer.response.headers)["x-amzn-ErrorType"].startswith("InternalFailure:")
    assert json.loads(answer.data) == {"message": "Sorry."}


NO_NAME = (
    "the name must be of ASCII letters, digits, '.', '_' and '-'; on plain Converse it travels in the header "
    "x-amzn-ErrorType."
)
NO_FAILURES: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("error_frame_after", (1, "Zürich"), {}, f"error_frame_after(1, code='Zürich'): {NO_NAME}"),
    ("error_frame_after", (1, ""), {}, f"error_frame_after(1, code=''): {NO_NAME}"),
    ("error_frame_after", (1, "A\r\nB: c"), {}, f"error_frame_after(1, code='A\\r\\nB: c'): {NO_NAME}"),
    ("error_frame_after", (1, "A", ""), {}, "error_frame_after(message=''): it must not be empty."),
    ("error_frame_after", (1, "A", 5), {}, "error_frame_after(message=5): it must be a str; it is of the type int."),
    (
        "error_frame_after",
        (9,),
        {},
        (
            "error_frame_after(events=9): this reply has 5 events (messageStart, contentBlockDelta, contentBlockStop, "
            "messageStop, metadata); what ends it takes the place of one: 0 to 5."
        ),
    ),
    ("fails_after", (1, "oh noException"), {"strict": False}, f"fails_after(1, exception='oh noException'): {NO_NAME}"),
]


@pytest.mark.parametrize(("method", "arguments", "options", "message"), NO_FAILURES)
def test_a_failure_that_cannot_be(
    method: str, arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ReplyError) as raised:
        getattr(ONE, method)(*arguments, **options)
    assert str(raised.value) == message


def test_an_exception_that_no_header_can_name_is_for_streams_alone() -> None:
    odd = reply.events([{"日本Exception": {"message": "x"}}], strict=False)
    assert len(sent(odd).frames) == 1
    endpoint, exchange = asked(odd, CONVERSE)
    assert exchange.response.status == 400
    assert str(endpoint.problems[0]).startswith(
        "'日本Exception' is sent by a stream alone: on Converse it would be an "
    )


# Transports


@pytest.mark.parametrize("transport", TRANSPORTS)
@each_fault
def test_a_transport_does_it_or_says_so_where_it_is_scripted(fault: Fault, transport: Transport) -> None:
    answer = faulty(fault)
    if transport in fault.transports:
        assert Endpoint(answer, transport=transport).problems == []
        return
    able = ", ".join(each for each in TRANSPORTS if each in fault.transports)
    cannot = f"{answer.summary}: the {transport} transport cannot express the fault {fault.name}."
    said = f"{cannot} Transports that can: {able}."
    with pytest.raises(ReplyError) as raised:
        Endpoint(answer, transport=transport)
    assert str(raised.value) == said
    endpoint = Endpoint(lambda call: answer, transport=transport)
    exchange = endpoint.exchange(Request("POST", f"/model/m/{STREAM}", (), BODY))
    assert [str(problem) for problem in endpoint.problems] == [said]
    assert exchange.response.status == 400
