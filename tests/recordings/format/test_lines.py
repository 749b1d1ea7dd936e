"""A line of a recording: its event is what counts; bytes beside it hold only as long as they say the same."""

import base64
import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from converse_harness.recordings.format.lines import (
    dump,
    event_as_sent,
    frame_bytes_of,
    frame_line,
    without_contradiction,
)
from converse_harness.stream.events import encode_event, standard_frame
from converse_harness.stream.frames import decode

EVENT: dict[str, Any] = {"messageStop": {"stopReason": "end_turn"}}
USUAL = encode_event(EVENT, 3)


@given(st.binary(max_size=40) | st.integers(1, len(USUAL) - 1).map(lambda cut: USUAL[:cut]))
def test_bytes_that_are_no_frame_stand_for_nothing_beside_an_event(data: bytes) -> None:
    line = {"t": 1, **EVENT, "p": 3, "frame": base64.b64encode(data).decode()}
    assert frame_bytes_of(line, event_as_sent(line)) == USUAL
    assert without_contradiction(line) == {"t": 1, **EVENT, "p": 3}
    assert without_contradiction({**line, "frame": base64.b64encode(USUAL).decode()}).keys() == line.keys()


@given(st.text(max_size=9), st.sampled_from(["utf-8", "utf-16-le", "utf-32-be"]))
def test_json_of_any_encoding_is_kept_to_the_byte(text: str, encoding: str) -> None:
    data = standard_frame("messageStop", json.dumps({"stopReason": text}, ensure_ascii=False).encode(encoding))
    line = frame_line(decode(data), data, 1, joined=False)
    assert line["messageStop"] == {"stopReason": text}
    assert frame_bytes_of(line, event_as_sent(line)) == data
    assert json.loads(dump(line)) == line


@given(st.text(st.characters()))
@example("\ud800")
def test_a_line_is_written_as_people_read_it_where_utf_8_can_carry_it(text: str) -> None:
    written = dump({"text": text})
    assert json.loads(written.encode()) == {"text": text}
    if not any("\ud800" <= each <= "\udfff" for each in text):
        assert written == json.dumps({"text": text}, ensure_ascii=False)
