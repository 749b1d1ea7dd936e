"""`converse-harness show --html`: a recording as a page."""

import hashlib
from pathlib import Path

import pytest

from converse_harness.cli import main
from converse_harness.recordings.format.lines import Line
from tests.features.report.test_viewer import MARKUP, Parsed
from tests.recordings.damaged import ANSWER, CALL, HEAD, HEADER, REFUSED, START, STREAM, TEXT, THROTTLED, text
from tests.recordings.format.test_files import LONG, with_digests
from tests.recordings.format.test_files import shown as run

RECORDINGS = Path(__file__).parents[3] / "recordings"
KEY = "AK" + "IAQ7EXAMPLEKEYABCD"
SECOND = {"call": 2, "operation": "Converse", "modelId": "m", "request": {"messages": []}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(*lines: Line, options: tuple[str, ...] = ()) -> Parsed:
    """The page of a recording with these lines after the header."""
    Path("x.jsonl").write_text(text(HEADER, *lines))
    assert main(["show", "x.jsonl", *options, "--html", "out.html"]) == 0
    return Parsed(Path("out.html").read_text("utf-8"))


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_sample_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(path), "--html"]) == 0
    printed = capsys.readouterr().out
    assert main(["show", str(path), "--html", "new/out.html"]) == 0
    assert Path("new/out.html").read_text("utf-8") == printed
    assert capsys.readouterr().out.startswith("wrote new/out.html (")
    Parsed(printed)


def test_a_tool_loop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(RECORDINGS / "tool_loop.jsonl"), "--html"]) == 0
    found = Parsed(capsys.readouterr().out).text
    assert "pause of 203.0 ms" in found
    assert "244.0 mscontentBlockStart block 1, uses get_weather, tooluse_" in found
    assert "message 1: as in call 1" in found
    assert "The answer of call 1" in found
    assert "result of get_weather used in call 1" in found
    assert "answer fromline 5 of the recording" in found


def test_what_went_wrong_is_shown() -> None:
    cut = [CALL, HEAD, START, TEXT, {"t": 900, "bytes": "AAAA"}, {"t": 950, "end": "connection reset"}]
    found = shown({**cut[0], "faults": ["no end"]}, *cut[1:]).text
    assert "Faultno end" in found
    assert "(connection reset)" in found
    assert "bytes" in found
    assert "connection refused" in shown(CALL, REFUSED).text
    assert "Too many requests" in shown(CALL, THROTTLED).text


def test_one_call_alone() -> None:
    page = shown(*STREAM[1:], SECOND, {"t": 5, "status": 200, "body": ANSWER}, options=("--call", "2"))
    assert [each for each in page.values("id") if each.endswith("call-1")] == []
    assert "Call 2" in page.text


def test_markup_and_secrets_of_a_file_that_a_person_wrote() -> None:
    messages = [{"role": "user", "content": [{"text": f"{MARKUP} {KEY}"}]}]
    page = shown({**CALL, "modelId": MARKUP, "request": {"messages": messages}}, HEAD, *STREAM[3:])
    assert "img" not in [name for name, _ in page.elements]
    assert KEY not in page.text
    assert f"{MARKUP} ***" in page.text


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--html", "--stable"), 2, "--html: it came with --stable, which is text. Give one of them."),
        (("--html", "."), 2, "show.*--html .: it is a folder; name a file, such as recording.html"),
        (("--html", "x.jsonl/out.html"), 1, "x.jsonl/out.html: "),
        (("--html", "--call", "9"), 2, "--call 9: x.jsonl has 1 call"),
    ],
    ids=["stable", "folder", "below a file", "no such call"],
)
def test_wrong_usage(options: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text(text(*STREAM))
    try:
        ended = main(["show", "x.jsonl", *options])
    except SystemExit as exit_:
        ended = exit_.code  # type: ignore[assignment]
    assert ended == code
    assert said.removeprefix("show.*") in capsys.readouterr().err


def test_the_digest_of_a_file_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "show", with_digests(tmp_path), "--html", tmp_path / "trip.html")
    text = (tmp_path / "trip.html").read_text(encoding="utf-8")
    assert f"4,000 bytes sha256:{hashlib.sha256(LONG).hexdigest()[:16]}" in text
