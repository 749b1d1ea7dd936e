"""Record -> file -> replay is the identity for every reply that the strategies draw: bytes, chunks, headers, breaks."""

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from converse_harness import DamagedData, Endpoint, Reply
from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.read import parse
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import header, text_of
from converse_harness.stream.frames import Decoder, encode
from converse_harness.stream.http import HttpResponse, Request
from converse_strategies import faulty_replies, replies


def answered(reply: Reply, operation: str) -> tuple[Request, HttpResponse]:
    """A request, and what a fake answers."""
    path = {"Converse": "converse", "ConverseStream": "converse-stream"}[operation]
    body = json.dumps({"messages": [{"role": "user", "content": [{"text": "Grüezi"}]}]}).encode()
    request = Request("POST", f"/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/{path}", (), body)
    response = Endpoint(reply).exchange(request).response
    return request, replace(response, chunks=tuple(response.chunks))


def heard_of(request: Request, response: HttpResponse) -> CapturedExchange:
    """What a transport hears of it that gets every chunk for itself, 10 ms apart."""
    pieces = [(chunk.data, 0.02 + number / 100) for number, chunk in enumerate(response.chunks)]
    end = 0.02 + len(pieces) / 100
    return CapturedExchange(
        request,
        status=response.status,
        headers=response.headers,
        head_at=0.01,
        pieces=[] if response.failure else pieces,
        failure=response.failure,
        ended=response.broken,
        ended_at=end,
    )


def replayed(text: str) -> HttpResponse:
    (exchange,) = parse(text).exchanges
    recorded = reply_of(exchange).plan.recorded
    assert recorded is not None
    return recorded.response


def frame_ends(body: bytes) -> list[int]:
    """Where each frame ends, as far as there are frames."""
    try:
        return list(accumulate(len(encode(frame)) for frame in Decoder().feed(body)))
    except DamagedData:
        return []


def told(response: HttpResponse) -> dict[str, Any]:
    """Everything that a client can see of a response but its pauses, and cuts in the middle of a frame."""
    pieces = [chunk.data for chunk in response.chunks]
    return {
        "status": response.status,
        "headers": dict(response.headers),
        "body": b"".join(pieces),
        "cuts": set(accumulate(map(len, pieces))) & set(frame_ends(b"".join(pieces))),
        "failure": response.failure,
        "broken": response.broken,
    }


@given(
    reply=st.one_of(replies(), faulty_replies().map(lambda faulty: faulty.reply)),
    operation=st.sampled_from(["Converse", "ConverseStream"]),
)
def test_what_is_recorded_is_replayed(reply: Reply, operation: str) -> None:
    request, response = answered(reply, operation)
    text = text_of([header(), *exchange_lines(heard_of(request, response), 1)])
    assert told(replayed(text)) == told(response)
    (exchange,) = parse(text).exchanges
    assert text_of(exchange.lines()) == text.partition("\n")[2]


def events_in(response: HttpResponse) -> list[Mapping[str, Any]]:
    """The events that the chunks are known to hold."""
    return [event for chunk in response.chunks for event in (chunk.event, *chunk.more) if event is not None]


@given(reply=replies())
def test_what_is_replayed_is_known_by_its_events(reply: Reply) -> None:
    request, response = answered(reply, "ConverseStream")
    text = text_of([header(), *exchange_lines(heard_of(request, response), 1)])
    assert events_in(replayed(text)) == events_in(response)
