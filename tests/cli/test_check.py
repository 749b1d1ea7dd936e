"""`converse-harness check`: format, legality, secrets, media and staleness, a line for each finding."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from converse_harness import bedrock
from converse_harness.cli import main
from converse_harness.cli.check import MEANINGS, Sort
from converse_harness.recordings.format.lines import KINDS, Line
from converse_harness.recordings.record.write import store
from tests.recordings.asking import body, exchange, result, streamed, use, user
from tests.recordings.asking import write as write_exchanges
from tests.recordings.damaged import (
    ANSWER,
    BOTOCORE,
    CALL,
    HEAD,
    HEADER,
    REASONS,
    SECOND,
    START,
    STREAM,
    TEXT,
    THROTTLED,
    text,
    without,
)

COMMAND = Path(sys.executable).parent / "converse-harness"
ASKED = {"call": 1, "operation": "Converse", "modelId": "m"}
ANSWERED = {"t": 3, "status": 200, "body": ANSWER}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *paths: str) -> tuple[int, str]:
    """The exit code and what is printed."""
    code = main(["check", *paths])
    out, err = capsys.readouterr()
    assert err == ""
    return code, out


def said(capsys: pytest.CaptureFixture[str], *lines: Line) -> list[str]:
    """What is said of a file with these lines."""
    Path("x.jsonl").write_text(text(*lines))
    code, out = check(capsys, "x.jsonl")
    *findings, summary = out.splitlines()
    assert (code == 0) == summary.partition(";")[0].endswith("nothing found")
    return findings


def test_nothing_is_found_in_what_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a").mkdir()
    Path("a/x.jsonl").write_text(text(*STREAM))
    Path("a/y.jsonl").write_text(text(HEADER, CALL, THROTTLED, SECOND, ANSWERED))
    assert check(capsys, "a", "a/x.jsonl") == (0, "2 recordings, 3 exchanges: nothing found\n")


def test_faults_that_are_meant_are_listed_and_are_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text(text(HEADER, {**CALL, "faults": ["no start"]}, HEAD, TEXT))
    assert check(capsys, "x.jsonl") == (
        0,
        "x.jsonl:2: fault: no start\n1 recording, 1 exchange: nothing found; 1 fault that its recording names\n",
    )


def test_each_finding_is_a_line_and_they_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("deep/er").mkdir(parents=True)
    Path("deep/er/bad.jsonl").write_text(text(*STREAM)[:-30])
    Path("deep/bad.jsonl").write_text(text(HEADER, {**CALL, "fault": "x"}, {**HEAD, "t": -1}, *STREAM[3:]))
    key = "AKIA" + "Q7EXAMPLEKEYABCD"
    asked = {**ASKED, "request": {"messages": [], "system": [{"text": f"my key is {key}"}]}}
    Path("deep/found.jsonl").write_text(text(HEADER, asked, {**ANSWERED, "body": {**ANSWER, "stopReason": "x"}}))
    code, out = check(capsys, "deep")
    keys = f"{', '.join(KINDS['call'].keys)}, modelId"
    reasons = f"a StopReason is one of {REASONS} (AWS model StopReason, {BOTOCORE})."
    cut = "this line is not JSON (Expecting value: column 102). The file ends in the middle of it."
    assert out.splitlines() == [
        f'deep/bad.jsonl:2: format: the key "fault" is not known; did you mean "faults"? It is a call, with {keys}.',
        'deep/bad.jsonl:3: format: "t" is -1; it must be whole milliseconds, from 0 to 10000000000.',
        f"deep/er/bad.jsonl:9: format: {cut}",
        "deep/found.jsonl:2: secret: request.system[0].text: an AWS access key id",
        f"deep/found.jsonl:3: illegal: stopReason is 'x'; {reasons}",
        "3 recordings, 1 exchange: 5 findings (3 format, 1 illegal, 1 secret)",
    ]
    assert code == 1
    assert key not in out


def test_findings_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text(text(HEADER, CALL))
    code, out = check(capsys, "--json", "x.jsonl")
    assert code == 1
    assert json.loads(out) == [
        {
            "path": "x.jsonl",
            "line": 2,
            "sort": "format",
            "text": (
                "the file ends after this line; after a call comes the head of an answer or a failure instead of "
                "an answer."
            ),
        }
    ]
    Path("x.jsonl").write_text(text(*STREAM))
    assert check(capsys, "--json", "x.jsonl") == (0, "[]\n")


def test_what_a_reader_lets_pass_and_nobody_means(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text(*STREAM).splitlines()
    lines[3] = '{"t": 397, "messageStart": {"role": "user", "role": "assistant"}, "p": 31}'
    Path("x.jsonl").write_text("\n".join(lines))
    assert check(capsys, "x.jsonl")[1].splitlines() == [
        'x.jsonl:4: format: the key "role" is there twice; only the last one counts.',
        'x.jsonl:4: format: "t" is 397, and 398 in the line before; it is replayed without a pause.',
        "1 recording, 1 exchange: 2 findings (2 format)",
    ]


def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a/x.jsonl").mkdir(parents=True)
    assert check(capsys, "a")[1].splitlines()[0] == "a/x.jsonl: format: cannot be read: Is a directory."


# Staleness


def test_an_answer_of_another_botocore_is_stale_and_no_breach(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = {**ANSWERED, "body": {**ANSWER, "mood": "fine"}}
    (newer,) = said(capsys, {**HEADER, "botocore": "999.0"}, ASKED, unknown)
    assert newer.startswith("x.jsonl:3: stale: the ConverseResponse has the unknown member 'mood'")
    (older,) = said(capsys, {**HEADER, "botocore": "1.0"}, ASKED, {**ANSWERED, "body": without("usage", ANSWER)})
    assert older.startswith("x.jsonl:3: stale: the ConverseResponse lacks 'usage'")
    (same,) = said(capsys, {**HEADER, "botocore": bedrock.botocore_version()}, ASKED, unknown)
    assert same.startswith("x.jsonl:3: illegal: the ConverseResponse has the unknown member 'mood'")


def test_an_operation_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"call": 1, "operation": "ConverseTwice", "modelId": "m", "request": {"a": 1}}
    (gone,) = said(capsys, {**HEADER, "botocore": "999.0"}, asked, ANSWERED)
    assert "x.jsonl:2: stale: the request: " in gone
    assert "ConverseTwice" in gone


def test_a_request_of_another_service_is_held_to_its_model(capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"call": 1, "operation": "Retrieve", "service": "bedrock-agent-runtime", "knowledgeBaseId": "KB12345678"}
    answered = {"t": 3, "status": 200, "body": {"retrievalResults": []}}
    assert said(capsys, HEADER, {**asked, "request": {"retrievalQuery": {"text": "hi"}}}, answered) == []
    (found,) = said(capsys, HEADER, {**asked, "request": {"query": {"text": "hi"}}}, answered)[:1]
    assert found.startswith("x.jsonl:2: stale: the request: the RetrieveRequest ")


@pytest.mark.parametrize(
    ("type_", "status", "said_of_it"),
    [
        ("BadGatewayException", 502, None),
        ("ThrottlingException", 429, None),
        ("BadGatewayException", 400, "BadGatewayException has status 502, not 400"),
        ("ModelTimeoutException", 408, "AWS's API model has no error"),
    ],
)
def test_an_error_of_another_service_is_held_to_its_model(
    capsys: pytest.CaptureFixture[str], type_: str, status: int, said_of_it: str | None
) -> None:
    asked = {"call": 1, "operation": "Rerank", "service": "bedrock-agent-runtime", "request": {}}
    found = said(capsys, HEADER, asked, {"t": 3, "status": status, "type": type_, "body": {"message": "no"}})
    assert len(found) == (said_of_it is not None)
    assert not found or found[0].startswith(f"x.jsonl:3: illegal: {said_of_it}")


@pytest.mark.parametrize(
    ("request_", "said_of_it"),
    [
        ({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, None),
        (
            {"messages": [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "ELIDED"}}}]}]},
            None,
        ),
        ({"messages": [{"role": "user", "content": [{"text": None}]}], "nothing": None}, None),
        ({"messages": [], "tools": []}, "the ConverseRequest has the unknown member 'tools'"),
        ({"messages": [{"role": "bot", "content": []}]}, "messages[0].role is 'bot'"),
        ({"messages": [{"role": "user"}]}, "messages[0] lacks 'content'"),
        ({"messages": 5}, "messages is a JSON int; it must be a list."),
        ({"system": [{"text": 5}]}, "system[0].text is a JSON int; it must be a string."),
    ],
)
def test_a_request_is_held_to_the_model(
    capsys: pytest.CaptureFixture[str], request_: dict[str, Any], said_of_it: str | None
) -> None:
    found = said(capsys, HEADER, {**ASKED, "request": request_}, ANSWERED)
    if said_of_it is None or "nothing" in request_:
        assert [each for each in found if "text" not in each and "nothing" not in each] == []
    else:
        assert len(found) == 1
        assert found[0].startswith(f"x.jsonl:2: stale: the request: {said_of_it}")
    # What Bedrock refused, or what never reached it, is not held against anything.
    assert said(capsys, HEADER, {**ASKED, "request": request_}, THROTTLED) == []
    assert said(capsys, HEADER, {**ASKED, "request": request_}, {"t": 1, "failed": "read timeout"}) == []


# Media


def with_media(folder: Path) -> tuple[Path, Path]:
    """A recording with an image beside it, and the image."""
    image = {"format": "png", "source": {"bytes": base64.b64encode(os.urandom(9000)).decode()}}
    asked = {**ASKED, "request": {"messages": [{"role": "user", "content": [{"image": image}]}]}}
    store(folder / "x.jsonl", [HEADER, asked, ANSWERED])
    (file,) = (folder / "x.media").iterdir()
    return folder / "x.jsonl", file


def test_media_that_are_there_and_used_are_fine(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    with_media(folder)
    assert check(capsys, ".") == (0, "1 recording, 1 exchange: nothing found\n")


def test_media_that_are_missing_changed_or_not_used(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    _, image = with_media(folder)
    (folder / "x.media" / "0123456789abcdef.png").write_bytes(b"")
    (folder / "gone.media").mkdir()
    image.write_bytes(b"changed")
    first, second, third, summary = check(capsys, ".")[1].splitlines()
    assert first.startswith(f"x.jsonl:2: media: its media in x.media/{image.name} was changed")
    assert second == "x.jsonl: media: x.media/0123456789abcdef.png is used by no line."
    assert third == "gone.media: media: these are the media of gone.jsonl, which is not there."
    assert summary == "1 recording, 0 exchanges: 3 findings (3 media)"
    image.unlink()
    assert f"x.jsonl:2: media: its media in x.media/{image.name} cannot be read" in check(capsys, ".")[1]


# As a command


@pytest.mark.parametrize("arguments", [(), ("missing",), ("empty",), ("--jso", "x", "--nope")])
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    with pytest.raises(SystemExit) as ended:
        main(["check", *arguments])
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    if arguments == ("missing",):
        assert said == "converse-harness check: error: missing: is not there"
    if arguments == ("empty",):
        assert said == "converse-harness check: error: empty: there is no recording (*.jsonl) in it"


def test_it_runs_as_a_command_and_is_plain_in_a_pipe(folder: Path) -> None:
    (folder / "x.jsonl").write_text(text(HEADER, CALL, HEAD, START))
    done = subprocess.run([COMMAND, "check", "x.jsonl"], capture_output=True, text=True, check=False, cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "\033" not in done.stdout
    assert done.stdout.startswith("x.jsonl:4: illegal: The stream ends where no block is open after 1 event.")


def test_every_sort_has_a_meaning() -> None:
    assert set(MEANINGS) == set(get_args(Sort))


def test_a_broken_answer_is_named_and_not_the_request_that_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    said_so = {"role": "assistant", "content": [{"text": "Hello, Bern."}]}
    first = streamed(body(user("hi")), "Hello, ", "Bern.")
    write_exchanges(Path("y.jsonl"), first, streamed(body(user("hi"), said_so, user("and?")), "Bye."))
    store(Path("x.jsonl"), [json.loads(line) for line in Path("y.jsonl").read_text().splitlines()])
    lines = Path("x.jsonl").read_text().splitlines()
    assert '"answer 1"' in "".join(lines)
    stop = next(number for number, line in enumerate(lines) if "contentBlockStop" in line)
    Path("x.jsonl").write_text("\n".join([*lines[:stop], *lines[stop + 1 :], ""]))
    code, out = check(capsys, "x.jsonl")
    assert code == 1
    assert out.startswith(
        f"x.jsonl:{stop + 1}: format: the answer to call 1 (lines 4-9) cannot be put together: line {stop + 1}: "
        "events[3] is messageStop"
    )
    assert out.count("cannot be put together") == 1


def test_a_tool_result_without_its_tool_use(capsys: pytest.CaptureFixture[str]) -> None:
    write_exchanges(Path("x.jsonl"), exchange(body(user("hi"), use("tooluse_1"), result("tooluse_1"))))
    assert check(capsys, "x.jsonl")[0] == 0
    write_exchanges(Path("x.jsonl"), exchange(body(user("hi"), use("tooluse_1"), result("tooluse_2"))))
    code, out = check(capsys, "x.jsonl")
    assert code == 1
    assert out.startswith("x.jsonl:2: illegal: messages[2].content[0].toolResult.toolUseId of the request is ")
    assert '"tooluse_2"; no toolUse before it has that id.' in out


def test_what_a_failed_test_recorded_is_called_that(capsys: pytest.CaptureFixture[str]) -> None:
    write_exchanges(Path("x.failed.jsonl"), exchange(body(user("hi"))))
    code, out = check(capsys, "x.failed.jsonl")
    assert (code, out.splitlines()) == (
        0,
        [
            "x.failed.jsonl: a test that did not pass recorded it; no test plays it.",
            "1 recording, 1 exchange: nothing found",
        ],
    )
