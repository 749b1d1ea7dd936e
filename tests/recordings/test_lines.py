"""A line of a recording: its event is what counts; bytes beside it hold only as long as they say the same."""

import base64
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from converse_harness.recordings.lines import dump, frame_bytes_of, without_contradiction
from converse_harness.stream.events import encode_event

EVENT: dict[str, Any] = {"messageStop": {"stopReason": "end_turn"}}
USUAL = encode_event(EVENT, 3)


@given(st.binary(max_size=40) | st.integers(1, len(USUAL) - 1).map(lambda cut: USUAL[:cut]))
def test_bytes_that_are_no_frame_stand_for_nothing_beside_an_event(data: bytes) -> None:
    line = {"t": 1, **EVENT, "p": 3, "frame": base64.b64encode(data).decode()}
    assert frame_bytes_of(line, None) == USUAL
    assert without_contradiction(line) == {"t": 1, **EVENT, "p": 3}
    assert without_contradiction({**line, "frame": base64.b64encode(USUAL).decode()}).keys() == line.keys()


@given(st.text(st.characters()))
def test_a_line_is_written_as_people_read_it_where_utf_8_can_carry_it(text: str) -> None:
    written = dump({"text": text})
    assert json.loads(written.encode()) == {"text": text}
    if not any("\ud800" <= each <= "\udfff" for each in text):
        assert written == json.dumps({"text": text}, ensure_ascii=False)
