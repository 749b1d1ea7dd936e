"""Replies that break the connection: where, told how, and refused where they cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply, ReplyError, faults, reply
from converse_harness.replies import Fault
from converse_harness.wire.http import Break, Request

BODY = json.dumps({"messages": [{"role": "user", "content": [{"text": "?"}]}]}).encode()
ALL = [getattr(faults, name) for name in faults.__all__]


def sent(answer: Reply, operation: str = "converse-stream") -> tuple[list[bytes], Break | None]:
    response = Endpoint(answer).exchange(Request("POST", f"/model/m/{operation}", (), BODY)).response
    return [chunk.data for chunk in response.chunks], response.broken


def test_faults_are_named_as_they_are_imported() -> None:
    assert {name: getattr(faults, name).name for name in faults.__all__} == {name: name for name in faults.__all__}


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
@given(data=st.data())
def test_a_stream_is_the_whole_one_up_to_the_fault(fault: Fault, data: st.DataObject) -> None:
    # With a failure the chunking is neutral, as it is with a fault: so the two streams are the same.
    whole = reply.text("The answer is forty-two.").fails_after(5, "throttlingException")
    frames, _ = sent(whole)
    after = data.draw(st.integers(0, len(frames) - fault.in_frame))
    cut, broken = sent(whole.broken(fault, after=after))
    assert broken is fault.breaks
    assert cut[:after] == frames[:after]
    rest = b"".join(cut[after:])
    assert rest == (frames[after][: len(frames[after]) // 2] if fault.in_frame else b"")


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
@pytest.mark.parametrize("answer", [reply.text("The answer is forty-two."), reply.throttled()], ids=["text", "error"])
def test_a_whole_body_is_cut_and_its_length_is_not(fault: Fault, answer: Reply) -> None:
    ((whole,), _) = sent(answer, "converse")
    ((cut,), broken) = sent(answer.broken(fault, after=0), "converse")
    assert broken is fault.breaks
    assert whole.startswith(cut)
    assert len(cut) < len(whole)
    exchange = Endpoint(answer.broken(fault)).exchange(Request("POST", "/model/m/converse", (), BODY))
    assert dict(exchange.response.headers)["Content-Length"] == str(len(whole))


def test_half_of_the_events_come_before_it_if_nothing_is_said() -> None:
    frames, _ = sent(reply.text("one two three four").broken(faults.reset))
    assert len(frames) == 4
    assert reply.text("one two three four").broken(faults.reset).summary == (
        'text "one two three four", reset after 4 events'
    )


NONSENSE: list[tuple[Any, dict[str, Any], str]] = [
    ("reset", {}, "broken('reset'): a fault by its name, for instance faults.reset."),
    (faults.reset, {"after": 9}, "broken(reset, after=9): this reply has 5 events; 0 to 5."),
    (faults.reset, {"after": -1}, "broken(reset, after=-1): this reply has 5 events; 0 to 5."),
    (faults.reset, {"after": True}, "broken(reset, after=True): this reply has 5 events; 0 to 5."),
    (faults.truncated_frame, {"after": 5}, "broken(truncated_frame, after=5): this reply has 5 events; 0 to 4."),
]


@pytest.mark.parametrize(("fault", "options", "message"), NONSENSE)
def test_nonsense_fails_where_it_is_written(fault: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ReplyError) as raised:
        reply.text("one").broken(fault, **options)
    assert str(raised.value) == message


def test_what_is_no_answer_cannot_be_broken() -> None:
    with pytest.raises(ReplyError, match="connection refused: there is no answer that could be broken"):
        reply.connection_refused().broken(faults.reset)
