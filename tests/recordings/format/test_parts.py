"""Requests in parts: each message and system prompt is in a file once, and every request is what it was."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from converse_harness import fake_converse, recording
from converse_harness.intercept.clients import create_client
from converse_harness.json_values import canonical
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.read import open_text, parse
from converse_harness.recordings.format.shared_parts import written_once
from converse_harness.recordings.record.write import header, store, text_of
from converse_strategies import converse_requests
from tests.recordings.damaged import ANSWER, STREAM
from tests.recordings.sessions import FOLDER, TOOLS

REFUSED: Line = {"t": 1, "failed": "connection refused"}
ANSWERED: Line = {"t": 3, "status": 200, "body": ANSWER}
SAID: Line = {"role": "assistant", "content": [{"text": "hi"}]}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(0, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)
messages = st.one_of(json_values, st.just(SAID), st.just({**SAID, "role": "user"}))
conversations = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(messages, max_size=4) | json_values,
        "system": json_values,
        "toolConfig": json_values,
        "tools": json_values,
        "modelId": json_values,
        "input": st.fixed_dictionaries({}, optional={"converse": json_values}),
    },
)
requests = st.one_of(
    conversations,
    conversations.map(lambda inner: {"input": {"converse": inner}}),
    converse_requests().map(lambda drawn: json.loads(json.dumps(drawn, default=str))),
    json_values,
)


def lines_of(asked: list[tuple[str, Any]]) -> list[Line]:
    """A session of these calls; those of Converse are answered with `SAID`, and those of ConverseStream in a stream."""
    lines = [header()]
    for number, (operation, request) in enumerate(asked, 1):
        lines.append({"call": number, "operation": operation, "modelId": "m", "request": request})
        lines += {"Converse": [ANSWERED], "ConverseStream": STREAM[2:]}.get(operation, [REFUSED])
    return lines


@given(
    st.lists(
        st.tuples(st.sampled_from(["Converse", "ConverseStream", "CountTokens", "InvokeModel"]), requests), max_size=5
    )
)
@example([("Converse", {}), ("Converse", {"messages": [SAID, SAID, 1, 1.0, True]})])
@example([("CountTokens", {"input": {"converse": {"messages": [SAID]}, "other": 1}}), ("Converse", {"messages": []})])
def test_every_request_is_what_it_was(asked: list[tuple[str, Any]]) -> None:
    text = text_of(written_once(lines_of(asked)))
    for session in (parse(text, legal=False), open_text(text)):
        found = [(exchange.operation, canonical(exchange.call["request"])) for exchange in session.exchanges]
        assert found == [(operation, canonical(request)) for operation, request in asked]


@given(st.lists(requests, max_size=5))
def test_what_is_read_is_written_as_it_was(asked: list[Any]) -> None:
    once = written_once(lines_of([("Converse", request) for request in asked]))
    session = parse(text_of(once), legal=False)
    lines = [session.header, *(line for exchange in session.exchanges for line in exchange.lines())]
    assert text_of(written_once(lines)) == text_of(once)


def turns(count: int) -> list[tuple[str, Any]]:
    """A conversation of that many turns, each a call with all that was said before."""
    said: list[Any] = []
    asked: list[tuple[str, Any]] = []
    for number in range(count):
        said = [*said, {"role": "user", "content": [{"text": f"question {number}"}]}]
        asked.append(("Converse", {"messages": said, "system": [{"text": "be brief"}], "toolConfig": TOOLS}))
        said = [*said, SAID]
    return asked


def test_each_message_stands_in_the_file_once() -> None:
    text = text_of(written_once(lines_of(turns(9))))
    assert [text.count(f'question {number}"') for number in range(9)] == [1] * 9
    assert text.count("be brief") == text.count("toolSpec") == 1
    assert text.count('"hi"') == 9  # each in the answer in which it came


def test_an_answer_that_is_edited_is_edited_where_it_was_sent_back() -> None:
    text = text_of(written_once(lines_of(turns(2)))).replace('"hi"', '"salü"', 1)
    assert parse(text).exchanges[1].request["messages"][1]["content"] == [{"text": "salü"}]


def test_a_part_that_is_edited_is_edited_in_every_call(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    store(file, lines_of(turns(2)))
    file.write_text(file.read_text().replace("question 0", "question zero"))
    client = create_client()
    with fake_converse(recording(file, match="exact")):
        for _, asked in turns(2):
            sent = json.loads(json.dumps(asked).replace("question 0", "question zero"))
            assert client.converse(modelId="m", **sent)["output"]["message"] == SAID


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.jsonl")), ids=lambda file: file.stem)
def test_the_samples_are_written_so(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    session = parse(text)
    lines = [session.header, *(line for exchange in session.exchanges for line in exchange.lines())]
    assert text_of(written_once(lines)) == text
