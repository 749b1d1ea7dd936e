"""The streams of other operations than ConverseStream: each event is read as JSON or a text, and sent to the byte."""

from __future__ import annotations

import base64
import json
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from converse_harness.recordings.chance import outline
from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.lines import (
    Line,
    dump,
    event_as_sent,
    frame_bytes_of,
    frame_line,
    without_contradiction,
)
from converse_harness.recordings.format.media import KEY, references
from converse_harness.recordings.format.read import DamagedRecording, parse, read
from converse_harness.recordings.format.readable import as_sent, compact
from converse_harness.recordings.leaks import scan
from converse_harness.recordings.record.captured import STREAM, CapturedExchange, exchange_lines
from converse_harness.recordings.record.keep_unchanged import with_kept
from converse_harness.recordings.record.write import SessionWriter, header, store, text_of
from converse_harness.recordings.redaction import Redaction
from converse_harness.stream.events import PADDING, encode_event, standard_frame
from converse_harness.stream.frames import decode
from converse_harness.stream.http import Request

KEY_ID = "AKIAQ7EXAMPLEKEYABCD"
INVOKED = "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke-with-response-stream"
ASKED_AGENT = "/agents/AGENT/agentAliases/ALIAS/sessions/s/text"


def text_in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def chunk(data: bytes, padding: int | None = 7) -> bytes:
    """The frame of a chunk with these bytes."""
    return encode_event({"chunk": {"bytes": text_in_base64(data)}}, padding)


def piece(text: str) -> dict[str, Any]:
    """A model's own event with a piece of its text."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def line_of(data: bytes) -> Line:
    return frame_line(decode(data), data, 1, joined=False)


def bytes_on(line: Line) -> bytes:
    return frame_bytes_of(line, event_as_sent(line))


def recorded(pieces: list[bytes], target: str = INVOKED, request: Any = None) -> list[Line]:
    """The lines of an answer that arrived in these pieces."""
    headers = (("Content-Type", STREAM), ("x-amzn-RequestId", "0f6c0000-0000-4000-8000-000000000000"))
    body = json.dumps(request or {"prompt": "Grüezi"}).encode()
    timed = [(each, number / 100) for number, each in enumerate(pieces, 1)]
    return exchange_lines(CapturedExchange(Request("POST", target, (), body), None, 200, headers, pieces=timed), 1)


def replayed(text: str) -> bytes:
    (exchange,) = parse(text).exchanges
    answer = reply_of(exchange).plan.recorded
    assert answer is not None
    return b"".join(each.data for each in answer.response.chunks)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)
objects = st.dictionaries(st.sampled_from(["type", "bytes", "$json", "$text", "p", "é"]), json_values, max_size=3)
contents = st.one_of(
    objects.map(compact),
    objects.map(lambda each: json.dumps(each, indent=1).encode()),
    st.text(max_size=20).map(str.encode),
    st.binary(max_size=20),
)
members = st.one_of(
    contents.map(lambda data: {"bytes": text_in_base64(data)}),
    contents.map(lambda data: {"attribution": {"citations": []}, "bytes": text_in_base64(data)}),
    st.lists(contents, max_size=2).map(lambda files: {"files": [{"bytes": text_in_base64(each)} for each in files]}),
    objects,
)
payloads = st.tuples(members, st.none() | st.integers(0, len(PADDING)), st.booleans()).map(
    lambda drawn: json.dumps(
        drawn[0] if drawn[1] is None else {**drawn[0], "p": PADDING[: drawn[1]]},
        ensure_ascii=False,
        separators=(",", ":") if drawn[2] else None,
    ).encode()
)
frames = st.builds(standard_frame, st.sampled_from(["chunk", "files", "trace", "badGatewayException"]), payloads)


@given(st.lists(frames, min_size=1, max_size=5), st.sampled_from([INVOKED, ASKED_AGENT]), st.data())
@example([chunk(b'{"bytes":{"$json":1}}')], INVOKED, None)
@example([standard_frame("chunk", b'{"bytes":{"$json":{"a":1}},"p":"ab"}')], INVOKED, None)
@example([standard_frame("chunk", b'{"bytes":{"$text":"a"}}')], INVOKED, None)
def test_any_stream_of_another_operation_is_replayed_to_the_byte(
    sent: list[bytes], target: str, data: st.DataObject | None
) -> None:
    body = b"".join(sent)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=4))) if data else []
    pieces = [body[start:end] for start, end in pairwise([0, *cuts, len(body)]) if start < end]
    text = text_of([header(), *recorded(pieces, target)])
    assert replayed(text) == body
    (exchange,) = parse(text).exchanges
    assert text_of(exchange.lines()) == text.partition("\n")[2]
    ends = set(accumulate(map(len, sent)))
    alone = [line for line in exchange.events if not line.get("joined")]
    assert len(exchange.events) == len(sent)
    assert len(alone) == len({min(end for end in accumulate(map(len, pieces)) if end >= at) for at in ends})


@given(objects, st.none() | st.integers(2, 61))
def test_a_chunk_of_json_is_read_as_json_alone(event: dict[str, Any], padding: int | None) -> None:
    line = line_of(chunk(compact(event), padding))
    expected = {"t": 1, "chunk": {"bytes": {"$json": event}}, **({} if padding is None else {"p": padding})}
    assert json.loads(dump(line)) == expected


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b'{"type": "ping"}', {"$text": '{"type": "ping"}'}),
        (b'{"a":1,"a":2}', {"$text": '{"a":1,"a":2}'}),
        (b'{"a":NaN}', {"$text": '{"a":NaN}'}),
        (b'{"a":"\\ud800"}', {"$text": '{"a":"\\ud800"}'}),
        (b"[" * 101 + b"]" * 101, {"$text": "[" * 101 + "]" * 101}),
        (b"42", {"$text": "42"}),
        ("Grüezi\n".encode(), {"$text": "Grüezi\n"}),
        (b"\x89PNG", "iVBORw=="),
        (b"a\x00b", "YQBi"),
        (b"", ""),
    ],
)
def test_other_bytes_are_a_text_or_base64(data: bytes, shown: object) -> None:
    line = line_of(chunk(data))
    assert line == {"t": 1, "chunk": {"bytes": shown}, "p": 7}
    assert bytes_on(line) == chunk(data)


def test_base64_in_an_unusual_spelling_stays() -> None:
    sent = encode_event({"chunk": {"bytes": "YQ=="}})
    for spelling in ("YR==", "YQ", "Y Q=="):
        data = encode_event({"chunk": {"bytes": spelling}})
        assert line_of(data) == {"t": 1, "chunk": {"bytes": spelling}}
        assert bytes_on(line_of(data)) == data != sent


def test_base64_of_converse_stream_stays() -> None:
    image = {"contentBlockIndex": 0, "delta": {"image": {"source": {"bytes": text_in_base64(b"text")}}}}
    data = standard_frame("contentBlockDelta", compact(image))
    assert line_of(data)["contentBlockDelta"] == image


def test_an_event_that_looks_like_the_readable_form_is_kept_as_its_frame() -> None:
    data = standard_frame("chunk", b'{"bytes":{"$json":[1]}}')
    assert line_of(data) == {"t": 1, "frame": text_in_base64(data)}


def test_what_a_person_edits_is_sent() -> None:
    data = standard_frame("chunk", json.dumps({"bytes": text_in_base64(compact(piece("Hi")))}).encode())
    line = line_of(data)
    assert line.keys() == {"t", "chunk", "payload"}
    assert bytes_on(line) == data
    line["chunk"]["bytes"]["$json"]["delta"]["text"] = "Ho"
    assert without_contradiction(line).keys() == {"t", "chunk"}
    assert bytes_on(line) == chunk(compact(piece("Ho")), None)


def test_base64_of_older_recordings_is_sent_as_before() -> None:
    made = stream("Hi", "you")
    old = [line if "chunk" not in line else {**line, "chunk": as_sent(line["chunk"])} for line in made]
    assert isinstance(old[-1]["chunk"]["bytes"], str)
    sent = replayed(text_of([header(), *made]))
    assert replayed(text_of([header(), *old])) == sent
    assert sent.startswith(chunk(compact({**piece("Hi"), "message": {"id": "msg_bdrk_01"}})))


def stream(*pieces: str, id: str = "msg_bdrk_01") -> list[Line]:
    return recorded([chunk(compact({**piece(each), "message": {"id": id}})) for each in pieces])


def test_an_older_recording_that_is_recorded_again_stays_as_it_was() -> None:
    first = [header(), *stream("Hi", "you", id="msg_bdrk_0123456789")]
    old = [line if "chunk" not in line else {**line, "chunk": as_sent(line["chunk"])} for line in first]
    again = [header(), *stream("Hi", "you", id="msg_bdrk_9876543210")]
    assert outline(old[1:]) == outline(again[1:])
    assert with_kept(old, again) == old
    other = [header(), *stream("Hi", "they", id="msg_bdrk_9876543210")]
    assert with_kept(old, other)[:4] == old[:4]
    assert with_kept(old, other)[4]["chunk"]["bytes"]["$json"]["delta"]["text"] == "they"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"$json": "\ud800"}, r'"chunk" cannot be sent as an event\.'),
        ({"$yaml": "a: 1"}, r"chunk\.bytes is .* \(dict\); it must be bytes"),
        ({"$text": 1}, r"chunk\.bytes is .* \(dict\); it must be bytes"),
        ({"$json": {}, "$text": ""}, r"chunk\.bytes is .* \(dict\); it must be bytes"),
    ],
)
def test_a_chunk_that_cannot_be_sent_is_refused_with_its_line(given: Any, problem: str) -> None:
    lines = [header(), *stream("Hi")]
    lines[3] = {**lines[3], "chunk": {"bytes": given}}
    with pytest.raises(DamagedRecording, match=f":4: {problem}"):
        parse(text_of(lines))


@pytest.mark.parametrize("spelled", [compact, lambda each: each["delta"]["text"].encode()])
@pytest.mark.parametrize("cut", range(1, len(KEY_ID)))
def test_a_secret_over_several_chunks_is_masked(spelled: Any, cut: int) -> None:
    texts = ("the key is " + KEY_ID[:cut], KEY_ID[cut:] + " and", " more")
    lines = [header(), *recorded([chunk(spelled(piece(each))) for each in texts])]
    made = Redaction().redacted(lines)
    assert [leak.kind for leak in made.found] == ["an AWS access key id"]
    assert scan(made.lines) == []
    assert b"more" in base64.b64decode(as_sent(made.lines[-1]["chunk"])["bytes"])
    assert KEY_ID[:cut] not in text_of(made.lines[3:4]) or cut < 5
    assert replayed(text_of(made.lines)).startswith(chunk(spelled(piece("the key is ***"))))


def test_the_users_replacements_are_made_over_several_chunks_and_in_the_request() -> None:
    sent = [chunk(compact(piece(each))) for each in ("Dear ada@exam", "ple.com!")]
    lines = [header(), *recorded(sent, request={"prompt": "for ada@example.com"})]
    made = Redaction({"ada@example.com": "user@example.com"}).redacted(lines).lines
    assert made[1]["request"] == {"prompt": "for user@example.com"}
    assert [line["chunk"]["bytes"]["$json"]["delta"]["text"] for line in made[3:]] == ["Dear user@example.com", "!"]


def test_the_users_replacements_are_made_once() -> None:
    spaced = json.dumps({"a": "ada", "ada": [1, "Eve"]}).encode()
    events = [{**piece("ad"), "by": ["ada"]}, {**piece("a and ada"), "ada": {"list": ["ada", 7]}}]
    lines = [header(), *recorded([*(chunk(compact(each)) for each in events), chunk(spaced)])]
    made = [as_sent(line["chunk"]) for line in Redaction({"ada": "ada-1", "Eve": "Eve"}).redacted(lines).lines[3:]]
    assert [json.loads(base64.b64decode(each["bytes"])) for each in made] == [
        {**piece("ada-1"), "by": ["ada-1"]},
        {**piece(" and ada-1"), "ada-1": {"list": ["ada-1", 7]}},
        {"a": "ada-1", "ada-1": [1, "Eve"]},
    ]


def test_a_head_that_a_person_edited_is_no_event() -> None:
    head = {"body": {"message": "ada"}, "t": 1, "status": 404}
    call = {"call": 1, "operation": "InvokeModel", "modelId": "m"}
    assert Redaction({"ada": "user"}).redacted([call, head]).lines == [call, {**head, "body": {"message": "user"}}]


def test_pieces_of_other_blocks_are_not_joined() -> None:
    events = [piece("AKIAQ7EXAMPLE"), {**piece("KEYABCD"), "index": 1}]
    assert scan([header(), *recorded([chunk(compact(each)) for each in events])]) == []


def test_a_secret_in_a_chunk_that_no_mask_reaches_leaves_the_exchange_out(tmp_path: Path) -> None:
    spaced = [chunk(json.dumps(piece(each)).encode()) for each in (KEY_ID[:9], KEY_ID[9:])]
    lines = recorded(spaced)
    assert [leak.kind for leak in scan([header(), *lines])] == ["an AWS access key id"]
    assert scan(Redaction().redacted([header(), *lines]).lines) != []
    writer = SessionWriter(tmp_path / "trip.jsonl")
    assert writer.lines().lines[1:] == []


def test_long_bytes_of_other_events_are_beside_the_recording(tmp_path: Path) -> None:
    image = text_in_base64(bytes(range(256)) * 13)
    sent = [
        encode_event({"files": {"files": [{"name": "map.png", "type": "image/png", "bytes": image}]}}),
        encode_event({"trace": {"text": image}}),
        chunk(compact({"images": [image]})),
    ]
    path = tmp_path / "trip.jsonl"
    text = store(path, [header(), *recorded(sent, ASKED_AGENT)])
    (exchange,) = read(path).exchanges
    assert text.count(KEY) == 2
    assert [len(references(json.loads(row))) for row in text.splitlines()[3:]] == [1, 0, 1]
    assert len([*tmp_path.glob("trip.media/*")]) == 1
    answer = reply_of(exchange).plan.recorded
    assert answer is not None
    assert b"".join(each.data for each in answer.response.chunks) == b"".join(sent)
