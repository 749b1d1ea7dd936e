"""Fakes of two transports play one recording: each exchange answers one call, whoever asks at the same moment."""

from functools import partial
from pathlib import Path

import pytest

from converse_harness import Fake, recording
from converse_harness.plugin.recording.run import RecordingRun
from converse_harness.plugin.recording.tally import Tally
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.stream.http import Request
from tests.threads import together

EXCHANGES = 400
ASKED = Request("POST", "/model/m/converse", (), b'{"messages":[{"role":"user","content":[{"text":"?"}]}]}')

ANSWER = (
    b'{"metrics":{"latencyMs":1},"output":{"message":{"content":[{"text":"%d"}],"role":"assistant"}},'
    b'"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}'
)


def test_each_exchange_answers_one_call(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    writer = SessionWriter(tmp_path / "trip.jsonl")
    head = (("Content-Type", "application/json"),)
    writer.captured += (
        CapturedExchange(ASKED, "Converse", 200, head, 0.1, [(ANSWER % n, 0.2)]) for n in range(EXCHANGES)
    )
    writer.save()
    session = RecordingRun(request.node, Tally(request.config), writer.path, recording(writer.path))
    fakes = Fake(), Fake()
    for fake in fakes:
        session.give(fake)
    answers: list[bytes] = []

    def ask(fake: Fake) -> None:
        responses = (fake.core.exchange(ASKED).response for _ in range(EXCHANGES // 8))
        answers.extend(b"".join(chunk.data for chunk in response.chunks) for response in responses)

    together([partial(ask, fake) for fake in fakes * 4])
    assert sorted(answers) == sorted(ANSWER % n for n in range(EXCHANGES))
    assert not [slot for slot in session.queue("").slots if slot.left]
