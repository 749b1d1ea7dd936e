"""A session recorded again: the difference of the two files is what has changed, and nothing that is chance."""

import difflib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import ConverseServer, assemble, fake_converse, record, recording, reply
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.chance import outline
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.shared_parts import exchanges_in
from converse_harness.recordings.record.captured import exchange_lines
from converse_harness.recordings.record.keep_unchanged import with_kept
from converse_harness.recordings.record.write import header
from converse_strategies import replies
from tests.recordings.sessions import TOOLS
from tests.recordings.test_identity import answered, heard_of

REPLIES = (
    reply.tool_use("get_weather", {"city": "Chur"}),
    reply.tool_use("get_weather", {"city": "Tirano"}),
    reply.text("Take the Bernina Express, and a coat."),
)
CHUR = "How is the weather on the way from Chur to Tirano?"


def three_turns(client: Any, words: str = CHUR, *, streams: bool = False) -> list[str]:
    """A client that uses the tool twice; the ids that it was given."""
    asked: dict[str, Any] = {"modelId": "us.amazon.nova-lite-v1:0", "toolConfig": TOOLS, "system": [{"text": "Brief."}]}
    messages: list[Any] = [{"role": "user", "content": [{"text": words}]}]
    ids: list[str] = []
    for _ in range(len(REPLIES)):
        if streams:
            answer = assemble(client.converse_stream(**asked, messages=messages)["stream"]).message
        else:
            answer = client.converse(**asked, messages=messages)["output"]["message"]
        used = [block["toolUse"]["toolUseId"] for block in answer["content"] if "toolUse" in block]
        results = [{"toolResult": {"toolUseId": each, "content": [{"text": "18 °C"}]}} for each in used]
        messages = [*messages, answer, {"role": "user", "content": results}]
        ids += used
    return ids


def recorded(
    path: Path, seed: int, words: str = CHUR, answers: Sequence[Any] = REPLIES, *, streams: bool = False
) -> tuple[str, list[str]]:
    """The text of the file, and the ids that the service invented."""
    with ConverseServer() as server, server.script(*answers, seed=seed) as fake:
        client = create_client(endpoint_url=fake.url)
        with record(path):
            ids = three_turns(client, words, streams=streams)
    return path.read_text(encoding="utf-8"), ids


def changed(old: str, new: str) -> list[str]:
    """The lines that are others in the new text, or are not in the old one."""
    rows = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    return [row for row in rows if row.startswith("+") and not row.startswith("+++")]


@pytest.mark.parametrize("streams", [False, True])
def test_nothing_has_changed_where_only_chance_has(streams: bool, tmp_path: Path) -> None:
    old, ids = recorded(tmp_path / "x.jsonl", seed=1, streams=streams)
    new, others = recorded(tmp_path / "x.jsonl", seed=2, streams=streams)
    assert set(ids).isdisjoint(others)
    assert new == old


@pytest.mark.parametrize("streams", [False, True])
def test_a_changed_sentence_is_a_few_changed_lines(streams: bool, tmp_path: Path) -> None:
    old, _ = recorded(tmp_path / "x.jsonl", seed=1, streams=streams)
    words = f"{CHUR} Please answer in one sentence."
    new, _ = recorded(tmp_path / "x.jsonl", seed=2, words=words, streams=streams)
    rows = changed(old, new)
    assert 4 <= len(rows) <= 5  # the sentence, the tokens of three answers, perhaps the time
    assert sum("one sentence" in row for row in rows) == 1
    assert len(new.splitlines()) == len(old.splitlines())


def test_ids_that_are_kept_are_kept_in_the_requests_as_well(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    _, (first, second) = recorded(path, seed=1)
    other = reply.tool_use("get_weather", {"city": "Poschiavo"})
    text, (_, new) = recorded(path, seed=2, answers=(REPLIES[0], other, REPLIES[2]))
    assert [text.count(each) for each in (first, second, new)] == [2, 2, 0]  # in the answer, and with its result
    with fake_converse(recording(path, match="exact")):
        assert three_turns(create_client()) == [first, second]


@pytest.mark.parametrize("content", ["", "no recording\n", '{"format": "converse-recording", "version": 1}\n'])
def test_what_was_no_recording_is_replaced(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    recorded(path, seed=1)
    assert len(recording(path).check().exchanges) == len(REPLIES)


sessions = st.lists(st.tuples(replies(), st.sampled_from(["Converse", "ConverseStream"])), min_size=1, max_size=4)


def lines_of(drawn: Sequence[tuple[Any, str]]) -> list[Line]:
    """A session with these answers."""
    lines = [header()]
    for number, (each, operation) in enumerate(drawn, 1):
        lines += exchange_lines(heard_of(*answered(each, operation)), number)
    return lines


def test_an_id_that_the_new_session_has_elsewhere_is_not_given_to_another_use() -> None:
    """Otherwise two uses of the new session would have one id."""

    def session(*ids: str) -> list[Line]:
        lines: list[Line] = [header()]
        for number, each in enumerate(ids, 1):
            message = {"role": "assistant", "content": [{"toolUse": {"toolUseId": each, "name": "t", "input": {}}}]}
            lines += [
                {"call": number, "operation": "Converse", "modelId": "m", "request": {"messages": [{"n": number}]}},
                {"t": 1, "status": 200, "body": {"output": {"message": message}}},
            ]
        return lines

    new = session("c", "a")
    assert with_kept(session("a"), new) == new


@given(sessions, sessions)
def test_what_has_changed_is_as_it_came(before: list[tuple[Any, str]], after: list[tuple[Any, str]]) -> None:
    new = lines_of(after)
    made = with_kept(lines_of(before), new)
    assert [outline(exchange) for _, exchange in exchanges_in(made)] == [
        outline(exchange) for _, exchange in exchanges_in(new)
    ]
    times = [(line["t"], "status" in line or "failed" in line) for line in made if "t" in line]
    assert all(first <= second or begins for (first, _), (second, begins) in pairwise(times))
