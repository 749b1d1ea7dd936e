"""`converse-harness serve recordings/x.jsonl`: a recording for other processes and languages."""

import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from converse_harness import recording
from converse_harness.cli import main
from converse_harness.cli.server_output import counted_in, load
from converse_harness.errors import DamagedData
from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.read import read
from converse_harness.recordings.play.play import Playing
from tests.cli.test_serve import Serving, save, serving
from tests.recordings.damaged import CALL, HEADER, SECOND, STREAM, THROTTLED, stream, text

ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "Chur to Tirano?"}]}]}
OTHER: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "And back?"}]}]}
SESSION = text(HEADER, {**CALL, "request": ASKED}, *STREAM[2:], {**SECOND, "request": OTHER}, THROTTLED)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording of two exchanges, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # a Python file that is loaded may import what lies beside it
    made = tmp_path / "trip.jsonl"
    made.write_text(SESSION)
    return made


def ask(served: Serving, operation: str, body: object) -> httpx.Response:
    return httpx.post(f"{served.url}/model/m/{operation}", json=body)


def bytes_of(file: Path, number: int) -> bytes:
    """What the recording has as the body of an answer."""
    recorded = reply_of(read(file).exchanges[number]).plan.recorded
    assert recorded is not None
    return b"".join(chunk.data for chunk in recorded.response.chunks)


def test_a_recording_is_served_byte_for_byte_until_it_is_played(file: Path) -> None:
    with serving(file.name) as served:
        assert re.fullmatch(
            r"Serving 1 recording \(2 exchanges\) on http://127\.0\.0\.1:\d+ +HTTP/1\.1 and HTTP/2", served.head[0]
        )
        first = ask(served, "converse-stream", ASKED)
        assert (first.status_code, first.headers["x-amzn-requestid"], first.content) == (200, "5d4c", bytes_of(file, 0))
        assert re.search(r'ConverseStream  m +"Chur to Tirano\?" +-> 6 events +6 events', served.line())
        second = ask(served, "converse", OTHER)
        assert (second.status_code, second.content) == (429, bytes_of(file, 1))
        assert "ThrottlingException (429)" in served.line()
        third = ask(served, "converse-stream", ASKED)
        assert third.status_code == 400
        assert third.headers["x-amzn-errortype"].startswith("ValidationException")
        assert "UNEXPECTED 400: call 3" in served.line()
        assert served.end(signal.SIGINT) == (130, "")


@pytest.mark.slow
def test_reload_serves_an_edited_recording_and_keeps_the_old_one_while_it_is_broken(file: Path) -> None:
    with serving(file.name, "--reload") as served:
        assert b"From Chur" in ask(served, "converse-stream", ASKED).content
        served.line()
        save(file, SESSION[:-20])
        assert re.search(
            r"  trip\.jsonl:11: this line is not JSON \(.*\)\. The file ends in the middle of it\.", served.line()
        )
        assert served.line().strip() == "The script from before is served on."
        save(file, SESSION.replace("From Chur", "From Bern"))
        assert served.line().endswith("  trip.jsonl has changed: serving 1 recording (2 exchanges) from the beginning")
        assert b"From Bern" in ask(served, "converse-stream", ASKED).content


@pytest.mark.slow
def test_the_rule_and_the_pace_are_as_asked(file: Path) -> None:
    file.write_text(SESSION.replace('"t": 398', '"t": 0').replace('"t": 412', '"t": 300'))
    with serving(file.name, "--match", "order", "--pace", "recorded") as served:
        assert ask(served, "converse", ASKED).status_code == 400  # not the next one
        began = time.monotonic()
        assert ask(served, "converse-stream", OTHER).status_code == 200
        assert time.monotonic() - began >= 0.3
        served.line()
        assert served.line().endswith("  differs from the recording: messages[0].content[0].text")


@pytest.mark.slow
def test_what_is_ignored_does_not_differ(file: Path) -> None:
    with serving(file.name, "--ignore", "messages[*].content[*].text") as served:
        assert ask(served, "converse-stream", OTHER).status_code == 200
        assert "differs" not in served.line()


def test_what_it_is_loaded_with(file: Path) -> None:
    (queue,) = load(file, match="exact", pace=2.0).recordings
    assert isinstance(queue, Playing)
    assert (queue.recording.match, queue.recording.pace) == ("exact", 2.0)
    assert counted_in(load(file)) == "1 recording (2 exchanges)"
    (file.parent / "mixed.py").write_text(
        "from converse_harness import recording, reply\n"
        "script = [recording('trip.jsonl'), reply.text('a'), recording('trip.jsonl')]\n"
    )
    assert counted_in(load(file.parent / "mixed.py")) == "1 script (1 reply) and 2 recordings (4 exchanges)"
    (file.parent / "alone.py").write_text("from converse_harness import recording\nscript = recording('trip.jsonl')\n")
    assert counted_in(load(file.parent / "alone.py")) == "1 recording (2 exchanges)"
    assert recording(file).exchanges[0].operation == "ConverseStream"


def test_a_recording_that_cannot_be_served_is_told_with_its_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(stream(5, {"t": 1}))
    with pytest.raises(DamagedData, match=r"trip\.jsonl:5: it has no event; "):
        load(file)
    assert main(["serve", "trip.jsonl"]) == 1
    assert main(["serve", "missing.jsonl"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("converse-harness serve: trip.jsonl:5: it has no event; ")
    assert second.startswith(
        "converse-harness serve: recording('missing.jsonl'): No such file or directory. A path is "
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--match", "same", "trip.jsonl"), "argument --match: 'same' is no rule; one of order, exact, shape"),
        (("--pace", "-1", "trip.jsonl"), "'-1' is no pace; it is a number from 0 (no pauses), or `recorded` (1)"),
        (("--pace", "nan", "trip.jsonl"), "'nan' is no pace; it is a number from 0 (no pauses), or `recorded` (1)"),
        (("--pace", "inf", "trip.jsonl"), "'inf' is no pace; it is a number from 0 (no pauses), or `recorded` (1)"),
        (("--pace", "2", "weather.py"), "--match, --pace and --ignore are for a recording (.jsonl)"),
        (("--ignore", "7", "trip.jsonl"), 'For instance ignore=["system", "toolConfig.tools[*].description"].'),
        (("--match", "exact"), "--match, --pace and --ignore are for a recording (.jsonl)"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(said)
