"""What AWS was really asked, matched: every published request is itself by every rule, and survives other prose.

Compared with: 378 published recordings of Converse and ConverseStream.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from converse_harness import Endpoint
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.recordings.play.matching import MATCHES, Match, asked_by, asked_in, key
from converse_harness.stream.http import Request
from tests.recordings.asking import with_other_prose


class Published(NamedTuple):
    """A request that was published; of some only a text is known."""

    name: str
    operation: str
    path: str
    asked: Any

    def recorded(self, rule: Match, model_id: str, asked: Any) -> str:
        """What an exchange with such a request is for a rule."""
        line = {"call": 1, "operation": self.operation, "modelId": model_id}
        line |= {"requestText": asked} if isinstance(asked, str) else {"request": asked}
        return key(rule, asked_in(RecordedExchange(2, line, {})))


@pytest.fixture(scope="module")
def published(shared: Path) -> list[Published]:
    """Every request of the corpus."""
    folder = shared / "corpus"
    found: list[Published] = []
    for row in json.loads((folder / "index.json").read_text()):
        request = json.loads((folder / row["file"]).read_text())["request"]
        found.append(Published(row["file"], row["operation"], request["path"], request["body"]))
    assert len(found) == 378
    return found


def test_every_published_request_matches_itself_by_every_rule(published: list[Published]) -> None:
    for each in published:
        data = each.asked.encode() if isinstance(each.asked, str) else json.dumps(each.asked).encode()
        call = Endpoint().receive(Request("POST", each.path, (), data))
        for rule in MATCHES:
            assert key(rule, asked_by(call)) == each.recorded(rule, call.model_id, each.asked), (each.name, rule)


def test_published_requests_that_differ_in_prose_alone_have_one_shape(published: list[Published]) -> None:
    changed = 0
    for each in published:
        other = with_other_prose(each.asked)
        assert each.recorded("shape", "m", other) == each.recorded("shape", "m", each.asked), each.name
        changed += other != each.asked
    assert changed > 350


def test_the_shapes_of_published_requests_tell_the_turns_of_a_session_apart(published: list[Published]) -> None:
    """No two requests have one shape that are not of one length."""
    lengths: dict[str, set[int]] = {}
    for each in published:
        if isinstance(each.asked, dict):
            shape = each.recorded("shape", "m", each.asked)
            lengths.setdefault(shape, set()).add(len(each.asked.get("messages", ())))
    assert len(lengths) > 50
    assert {len(found) for found in lengths.values()} == {1}
