"""The figures of recorded streams, which stand beside those of drawn ones, are those of the recordings."""

import base64
import json
from pathlib import Path
from typing import Any

from botocore.eventstream import EventStreamBuffer

from tests.oracle.conftest import rows_of_aws
from tests.strategies.figures import RECORDED, figures


def test_the_figures_are_those_of_the_recordings(shared: Path) -> None:
    corpus = shared / "corpus"
    streams: list[list[dict[str, Any]]] = []
    for entry in rows_of_aws(shared):
        if entry["event_stream"]:
            frames: Any = EventStreamBuffer()
            body = json.loads((corpus / entry["file"]).read_text())["response"]["body_base64"]
            frames.add_data(base64.b64decode(body))
            streams.append([{frame.headers[":event-type"]: json.loads(frame.payload)} for frame in frames])
    assert len(streams) == 66
    assert figures(streams) == RECORDED
