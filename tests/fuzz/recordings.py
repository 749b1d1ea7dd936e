"""Recordings: what is read is replayed, and written again it is the same; all else is a `DamagedRecording`."""

from collections.abc import Iterator
from pathlib import Path

from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.lines import KINDS, dump
from converse_harness.recordings.format.read import DamagedRecording, parse, read
from converse_harness.recordings.format.shared_parts import written_once
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from tests.fuzz.target import Target, answers, folder
from tests.recordings.damaged import DAMAGED, HEADER, ILLEGAL, OTHERS, SOUND

SAMPLES = Path(__file__).parents[2] / "recordings"

LONGEST = 10_000
"""Characters of a seed: from long ones long inputs come, and few of them."""


def check(data: bytes) -> None:
    """Read, replay, write and read again."""
    path = folder() / "x.jsonl"
    path.write_bytes(data)
    try:
        session = read(path)
    except DamagedRecording:
        return
    for exchange in session.exchanges:
        recorded = reply_of(exchange).plan.recorded
        assert recorded is not None
        assert all(isinstance(chunk.data, bytes) for chunk in recorded.response.chunks)
    lines = [session.header, *(line for exchange in session.exchanges for line in exchange.lines())]
    again = parse("".join(f"{dump(line)}\n" for line in written_once(lines)), path)
    assert again.header == session.header
    assert [each.lines() for each in again.exchanges] == [each.lines() for each in session.exchanges]


def seeds() -> Iterator[bytes]:
    """The samples, a recording of each answer of the catalogue, and what the tests know to be wrong."""
    for sample in sorted(SAMPLES.glob("*.jsonl")):
        yield sample.read_bytes()
    for answer in answers():
        pieces = [(chunk.data, 0.1) for chunk in answer.response.chunks]
        captured = CapturedExchange(
            answer.request, answer.operation, answer.response.status, answer.response.headers, pieces=pieces
        )
        yield "".join(f"{dump(line)}\n" for line in (HEADER, *exchange_lines(captured, 1))).encode()
    wrong = (text for text, _, _ in (*DAMAGED.values(), *ILLEGAL.values(), *OTHERS.values()))
    yield from (text.encode() for text in (*SOUND.values(), *wrong) if len(text) < LONGEST)


WORDS = (
    *(f'"{key}": ' for key in dict.fromkeys(key for kind in KINDS.values() for key in kind.keys)),
    *("\n", '{"call": 2, "operation": "Converse", "modelId": "m"', '"faults": ["x"]', '"Base64": ', '"Text": '),
    *('"$media": ', '"sha256": ', "true", "null", "1e999", "NaN", "\\ud800", "-1", "0.5"),
)

TARGET = Target(check, seeds, WORDS)
