"""A request id that a recorder has hidden is replayed as a valid one; any other as it is."""

from pathlib import Path
from uuid import UUID

import pytest

from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.read import read
from tests.recordings.asking import streamed, throttled, write

REQUEST = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}


def sent_ids(path: Path) -> list[str]:
    """The request ids of the answers of a recording, as they are replayed."""
    replies = [reply_of(exchange) for exchange in read(path).exchanges]
    answers = [reply.plan.recorded.response for reply in replies if reply.plan.recorded is not None]
    return [dict(answer.headers)["x-amzn-RequestId"] for answer in answers]


def with_id(exchange: list[Line], request_id: str) -> list[Line]:
    call, head, *rest = exchange
    return [call, {**head, "requestId": request_id}, *rest]


@pytest.mark.parametrize("hidden", ["**REDACTED**", "[FILTERED]", "<request id>", "redacted", "***"])
def test_a_hidden_id_becomes_a_valid_one(tmp_path: Path, hidden: str) -> None:
    path = write(tmp_path / "r.jsonl", with_id(streamed(REQUEST, "a"), hidden), with_id(throttled(REQUEST), hidden))
    first, second = sent_ids(path)
    assert [UUID(each).version for each in (first, second)] == [4, 4]
    assert str(UUID(first)) == first != second
    assert sent_ids(path) == [first, second]


@pytest.mark.parametrize("known", ["0f6c1f1e-6b1c-4c1b-9a53-0e3f2f6a7b18", "5d4c", "test-request-id-001"])
def test_another_id_is_replayed_as_it_is(tmp_path: Path, known: str) -> None:
    assert sent_ids(write(tmp_path / "r.jsonl", with_id(streamed(REQUEST, "a"), known))) == [known]
