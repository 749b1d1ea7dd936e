"""Opening a recording: an exchange is read and checked when it is used, and says then what reading all of it says."""

import re
from pathlib import Path

import pytest

from converse_harness import ReplyError, fake_converse, recording
from converse_harness.cli.check import check_file
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.format.exchanges import RecordedExchange, RecordedSession
from converse_harness.recordings.format.read import DamagedRecording, open_text, parse
from converse_harness.recordings.play.play import Recording
from tests.recordings.damaged import CALL, DAMAGED, HEADER, ILLEGAL, OTHERS, SOUND, STREAM, text

WRONG = {**DAMAGED, **ILLEGAL, **OTHERS}


def checked(session: RecordedSession) -> tuple[RecordedExchange, ...]:
    return Recording(Path("x.jsonl"), session).check().exchanges


@pytest.mark.parametrize("name", SOUND)
def test_an_opened_session_is_the_one_that_is_read(name: str) -> None:
    assert checked(open_text(SOUND[name])) == parse(SOUND[name]).exchanges


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_the_same_words(name: str) -> None:
    wrong = WRONG[name][0]
    with pytest.raises(DamagedRecording) as read:
        parse(wrong, "x.jsonl")
    with pytest.raises(DamagedRecording) as opened:
        checked(open_text(wrong, "x.jsonl"))
    assert str(opened.value) == str(read.value)


def test_the_keys_of_a_call_may_have_any_order_and_any_tool_may_be_named_call() -> None:
    tools = {"tools": [{"toolSpec": {"name": "call"}}]}
    call = {"operation": "ConverseStream", "modelId": "m", "call": 2, "request": {"toolConfig": tools}}
    made = text(HEADER, {**CALL, "request": {"toolConfig": tools}}, *STREAM[2:], call, *STREAM[2:])
    assert checked(open_text(made)) == parse(made).exchanges


def ask(words: str) -> str:
    """What the model answers, or the kind of error."""
    client = create_client()
    try:
        stream = client.converse_stream(
            modelId=CALL["modelId"], messages=[{"role": "user", "content": [{"text": words}]}]
        )["stream"]
        return "".join(event.get("contentBlockDelta", {}).get("delta", {}).get("text", "") for event in stream)
    except client.exceptions.ClientError as error:
        return str(error)


def session_with_a_damaged_answer(file: Path) -> None:
    asked = [{"messages": [{"role": "user", "content": [{"text": words}]}]} for words in ("one", "two", "three")]
    calls = ({**CALL, "call": number, "request": each} for number, each in enumerate(asked, 1))
    rows = [text(call, *STREAM[2:]) for call in calls]
    rows[1] = rows[1].replace('"messageStop"', '"messageStops"')
    file.write_text("".join([text(HEADER), *rows]), encoding="utf-8")


def test_a_damaged_exchange_that_is_not_used_is_for_check_to_find(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    session_with_a_damaged_answer(file)
    with fake_converse(recording(file), unused="allow"):
        assert ask("one").startswith("From Chur")
    (finding,) = (each for each in check_file(file).findings if "messageStops" in each.text)
    with pytest.raises(DamagedRecording) as caught:
        recording(file).check()
    assert (caught.value.line, caught.value.problem) == (finding.line, finding.text)


def test_a_damaged_exchange_that_is_used_fails_the_test(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    session_with_a_damaged_answer(file)
    with pytest.raises(DamagedRecording, match="messageStops") as read:
        recording(file).check()

    @fake_converse(recording(file), unused="allow")
    def replay() -> None:
        ask("one")
        assert "messageStops" in ask("two")

    with pytest.raises(DamagedRecording) as used:
        replay()
    assert str(used.value) == str(read.value)


def test_the_first_answer_does_not_wait_for_the_others_to_be_read(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    session_with_a_damaged_answer(file)
    first, *others = file.read_text(encoding="utf-8").split('{"call"')[1:]
    damaged = "".join(f'{{"call"{each}'.replace(":", ";") for each in others)
    file.write_text(f'{text(HEADER)}{{"call"{first}{damaged}', encoding="utf-8")
    with fake_converse(recording(file), unused="allow"):
        assert ask("one").startswith("From Chur")


def test_a_path_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = "No such file or directory. A path is relative to the working directory"
    where = f"recording('trips/x.jsonl'): {said}, {tmp_path}."
    with pytest.raises(ReplyError, match=f"^{re.escape(where)}$"):
        recording("trips/x.jsonl")
    (tmp_path / "recordings/trips").mkdir(parents=True)
    (tmp_path / "recordings/trips/x.jsonl").touch()
    with pytest.raises(ReplyError, match=re.escape(f"{where} There is recordings/trips/x.jsonl: give that.")):
        recording("trips/x.jsonl")
