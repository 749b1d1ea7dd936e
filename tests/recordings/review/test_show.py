"""`converse-harness show`: a recording as a person reads it, in exact words."""

import base64
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.cli import main
from converse_harness.cli.show import laid_out
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.review.timeline import Piece
from tests.recordings.damaged import ANSWER, CALL, HEAD, HEADER, REFUSED, START, STREAM, TEXT, THROTTLED, USAGE, text

COMMAND = Path(sys.executable).parent / "converse-harness"
ASKED = {"call": 1, "operation": "Converse", "modelId": "amazon.nova-lite-v1:0", "request": {}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def show(capsys: pytest.CaptureFixture[str], *lines: Line, options: tuple[str, ...] = ()) -> str:
    """What is printed, without the line about the file."""
    Path("x.jsonl").write_text(text(HEADER, *lines))
    assert main(["show", "x.jsonl", *options]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.partition("\n")[2]


def streamed(*events: dict[str, Any]) -> list[Line]:
    """A call with these events, ten milliseconds apart, each in its block."""
    return [CALL, HEAD, *({"t": 400 + 10 * number, **event} for number, event in enumerate(events))]


def delta(member: str, value: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {member: value}}}


def rows(out: str) -> list[str]:
    """What was answered: the lines with a time, and those that go on from them."""
    lines = out.splitlines()
    first = next((number for number, line in enumerate(lines) if line[9:10] == "s"), len(lines))
    return [line.strip() for line in lines[first:]]


def test_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    made = {"recorded": "2026-11-21T15:02:11Z", "by": "converse-harness 0.1.0"}
    call = {
        **CALL,
        "request": {
            "system": [{"text": "You plan trips."}],
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "trains"}}, {"cachePoint": {}}, {"toolSpec": {"name": "maps"}}]
            },
            "messages": [
                {"role": "user", "content": [{"text": "hi"}]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "u1", "name": "trains", "input": {}}}]},
                {
                    "role": "user",
                    "content": [
                        {"toolResult": {"toolUseId": "u1", "status": "error", "content": [{"json": {"at": 9}}]}},
                        {"text": "Chur to Tirano?"},
                    ],
                },
            ],
        },
    }
    Path("x.jsonl").write_text(text({**HEADER, **made}, call, *STREAM[2:]))
    assert main(["show", "x.jsonl"]) == 0
    assert capsys.readouterr().out == (
        "x.jsonl  1 exchange, recorded 2026-11-21T15:02:11Z by converse-harness 0.1.0\n"
        "\n"
        "call 1  ConverseStream m\n"
        "            line 2, status 200, first delta after 0.413 s, 0.416 s in all, 6 events,\n"
        "            request id 5d4c\n"
        "            system       You plan trips.\n"
        "            tools        trains, maps\n"
        "            before       2 messages\n"
        '            tool_result  u1 (error) {"at": 9}\n'
        "            user         Chur to Tirano?\n"
        "   0.413 s  text         From Chur to Tirano\n"
        "   0.415 s  stop         end_turn\n"
        "   0.416 s  usage        9 in, 4 out, 13 in all, latency 397 ms\n"
    )


def test_an_answer_an_error_and_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        ASKED,
        {"t": 3, "status": 200, "body": ANSWER},
        {**CALL, "call": 2},
        THROTTLED,
        {**CALL, "call": 3},
        REFUSED,
    ]
    assert show(capsys, *lines) == (
        "\n"
        "call 1  Converse amazon.nova-lite-v1:0\n"
        "            line 2, status 200, 0.003 s in all\n"
        "            request      {}\n"
        "   0.003 s  text         hi\n"
        "   0.003 s  stop         end_turn\n"
        "   0.003 s  usage        9 in, 4 out, 13 in all, latency 12 ms\n"
        "\n"
        "call 2  ConverseStream m\n"
        "            line 4, status 429, 0.020 s in all\n"
        '            request      {"messages": []}\n'
        "   0.020 s  error        ThrottlingException: Too many requests\n"
        "\n"
        "call 3  ConverseStream m\n"
        "            line 6, 0.001 s in all\n"
        '            request      {"messages": []}\n'
        "   0.001 s  failed       connection refused\n"
    )
    assert show(capsys, *lines, options=("--call", "3")).splitlines()[1] == "call 3  ConverseStream m"


SIGNED = {"signature": "c2ln"}
CITATION = {"title": "forecast", "location": {"web": {"url": "u"}}, "sourceContent": [{"text": "18 °C"}]}
ASSESSED = {
    "topicPolicy": {"topics": [{"name": "Cards", "type": "DENY", "action": "BLOCKED"}]},
    "wordPolicy": {"customWords": [{"match": "x", "action": "NONE"}], "managedWordLists": []},
}
TRACE = {
    "guardrail": {
        "inputAssessment": {"gr1": ASSESSED},
        "outputAssessments": {"gr1": [{"topicPolicy": {"topics": []}}]},
        "actionReason": "Guardrail blocked.",
    },
    "promptRouter": {"invokedModelId": "amazon.nova-lite-v1:0"},
}


@pytest.mark.parametrize(
    ("events", "told"),
    [
        pytest.param(
            [
                delta("reasoningContent", {"text": "Hm"}),
                delta("reasoningContent", {"text": "m."}),
                delta("reasoningContent", SIGNED),
            ],
            ["0.400 s  reasoning    Hmm. (signed)"],
            id="reasoning",
        ),
        pytest.param(
            [delta("reasoningContent", {"redactedContent": "AAAA"})],
            ["0.400 s  reasoning    (3 bytes, redacted)"],
            id="redacted",
        ),
        pytest.param(
            [
                {
                    "contentBlockStart": {
                        "contentBlockIndex": 0,
                        "start": {"toolUse": {"name": "maps", "toolUseId": "u1"}},
                    }
                },
                delta("toolUse", {"input": '{"city": '}),
                delta("toolUse", {"input": '"Zürich"}'}),
                {"contentBlockStop": {"contentBlockIndex": 0}},
            ],
            ['0.400 s  tool_use     maps {"city": "Zürich"}', "u1"],
            id="tool use",
        ),
        pytest.param(
            [
                {
                    "contentBlockStart": {
                        "contentBlockIndex": 0,
                        "start": {"toolUse": {"name": "maps", "toolUseId": "u1"}},
                    }
                },
                delta("toolUse", {"input": '{"cities": ["' + "Z" * 50 + '"]}'}),
            ],
            ["0.400 s  tool_use     maps", "{", '"cities": [', f'"{"Z" * 50}"', "]", "}", "u1"],
            id="long tool input",
        ),
        pytest.param(
            [
                {
                    "contentBlockStart": {
                        "contentBlockIndex": 0,
                        "start": {"toolUse": {"name": "maps", "toolUseId": "u1"}},
                    }
                },
                delta("toolUse", {"input": '{"ci'}),
                {"messageStop": {"stopReason": "max_tokens"}},
            ],
            ['0.400 s  tool_use     maps "{\\"ci"', "u1", "0.420 s  stop         max_tokens"],
            id="tool input that was cut",
        ),
        pytest.param(
            [delta("citation", CITATION), delta("text", "18 °C")],
            ['0.400 s  citation     forecast {"web": {"url": "u"}} "18 °C"', "0.410 s  text         18 °C"],
            id="citation",
        ),
        pytest.param(
            [{"metadata": {"usage": {**USAGE, "cacheReadInputTokens": 7}, "trace": TRACE}}],
            [
                "0.400 s  guardrail    gr1, input: BLOCKED topicPolicy Cards",
                "0.400 s  guardrail    gr1, output: nothing done",
                "0.400 s  guardrail    Guardrail blocked.",
                "0.400 s  router       amazon.nova-lite-v1:0",
                "0.400 s  usage        9 in, 4 out, 13 in all, 7 read from cache",
            ],
            id="metadata",
        ),
        pytest.param(
            [delta("text", "a"), {"throttlingException": {"message": "slow down"}}],
            ["0.400 s  text         a", "0.410 s  exception    throttlingException: slow down"],
            id="exception",
        ),
        pytest.param(
            [{":error": {"code": "500", "message": "oh"}}], ["0.400 s  exception    500: oh"], id="unmodelled error"
        ),
        pytest.param(
            [delta("text", "a"), {"bytes": "AAAA"}, {"frame": "AAAAAA=="}, {"end": "connection reset"}],
            [
                "0.400 s  text         a",
                "0.410 s  bytes        3 bytes that are no event",
                "0.420 s  bytes        4 bytes that are no event",
                "0.430 s  end          connection reset",
            ],
            id="bytes and a bad end",
        ),
        pytest.param(
            [delta("text", 5), {"other": {"a": 1}}, delta("image", {"error": {}})],
            [
                '0.400 s  contentBlockDelta  {"contentBlockIndex": 0, "delta": {"text": 5}}',
                '0.410 s  other        {"a": 1}',
                '0.420 s  contentBlockDelta  {"contentBlockIndex": 0, "delta": {"image": {"error": {}}}}',
            ],
            id="what is not known",
        ),
        pytest.param(
            [delta("text", "\x1b[31mred\x07")], ["0.400 s  text         \ufffd[31mred\ufffd"], id="control characters"
        ),
    ],
)
def test_what_streams(capsys: pytest.CaptureFixture[str], events: list[dict[str, Any]], told: list[str]) -> None:
    assert rows(show(capsys, *streamed(*events))) == told


def test_text_has_the_time_at_which_each_line_began_and_pauses_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    words = [(400, "One two "), (500, "three\nfour "), (600, "five "), (2600, "six"), (2700, " seven"), (3700, ".")]
    events = [{"t": at, **delta("text", word)} for at, word in words]
    out = show(capsys, CALL, HEAD, START, *events, {"t": 4800, "messageStop": {"stopReason": "end_turn"}})
    assert out.splitlines()[5:] == [
        "   0.400 s  text         One two three",
        "   0.500 s               four five",
        "                         (2.000 s pause)",
        "   2.600 s               six seven",
        "                         (1.000 s pause)",
        "   3.700 s               .",
        "                         (1.100 s pause)",
        "   4.800 s  stop         end_turn",
    ]


def test_what_is_long_is_cut_but_for_full(capsys: pytest.CaptureFixture[str]) -> None:
    long = "\n".join(map(str, range(30)))
    lines = [{**ASKED, "request": {"messages": [{"role": "user", "content": [{"text": long}]}]}}]
    lines += [
        {
            "t": 3,
            "status": 200,
            "body": {**ANSWER, "output": {"message": {"role": "assistant", "content": [{"text": long}]}}},
        }
    ]
    short = show(capsys, *lines).splitlines()
    assert short[3:7] == [
        "            user         0",
        "                         1",
        "                         2",
        "                         ... 27 more lines (--full shows all)",
    ]
    assert short[27:29] == [
        "                         ... 10 more lines (--full shows all)",
        "   0.003 s  stop         end_turn",
    ]
    full = show(capsys, *lines, options=("--full",)).splitlines()
    assert len(full) == 3 + 30 + 30 + 2
    assert not any("--full" in line for line in full)


@given(
    words=st.lists(st.text(st.sampled_from("ab \n"), max_size=9), max_size=9),
    width=st.integers(min_value=1, max_value=20),
)
def test_nothing_of_a_text_is_lost_or_too_wide(words: list[str], width: int) -> None:
    lines = list(laid_out([Piece(number, word) for number, word in enumerate(words)], width))
    assert all(len(line.text) <= width for line in lines)
    assert "".join("".join(line.text for line in lines).split()) == "".join("".join(words).split())
    times = [line.at for line in lines if line.at is not None]
    assert times == sorted(times)


def test_the_width_is_that_of_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = show(capsys, *streamed(delta("text", "word " * 20)))
    assert max(map(len, out.splitlines())) <= 60


def test_illegal_answers_and_faults_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out = show(capsys, {**CALL, "faults": ["no start"]}, HEAD, TEXT)
    assert out.splitlines()[-2:] == ["            fault        no start", "   0.413 s  text         From Chur"]
    assert rows(show(capsys, CALL, HEAD, TEXT)) == ["0.413 s  text         From Chur"]


def test_other_operations_and_requests(capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"call": 1, "method": "GET", "path": "/x", "requestBase64": base64.b64encode(b"\xff").decode()}
    assert show(capsys, asked, {"t": 5, "status": 200, "bodyText": "hi\nho"}).splitlines()[1:] == [
        "call 1  GET /x",
        "            line 2, status 200, 0.005 s in all",
        "            requestBase64  /w==",
        "   0.005 s  body         hi",
        "                         ho",
    ]


def test_a_file_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text("{}")
    assert main(["show", "x.jsonl"]) == 1
    assert main(["show", "none.jsonl"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        (
            'converse-harness show: x.jsonl:1: the first line is {}; that of a recording has "format": '
            '"converse-recording". Is it another file?'
        ),
        "converse-harness show: none.jsonl: No such file or directory",
    ]


@pytest.mark.parametrize("call", ["0", "2", "x"])
def test_a_call_that_is_not_there_is_wrong_usage(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.jsonl").write_text(text(*STREAM))
    with pytest.raises(SystemExit) as ended:
        main(["show", "x.jsonl", "--call", call])
    assert ended.value.code == 2
    if call != "x":
        assert f"show --call {call}: x.jsonl has 1 call" in capsys.readouterr().err


def run(folder: Path, **environ: str) -> str:
    """What the command prints to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, "show", "x.jsonl"], stdout=theirs, cwd=folder, env={**os.environ, **environ}
    ) as process:
        os.close(theirs)
        out = b""
        try:
            while data := os.read(ours, 1 << 16):
                out += data
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    return out.decode()


def test_colour_is_for_terminals(folder: Path) -> None:
    (folder / "x.jsonl").write_text(text(HEADER, CALL, THROTTLED))
    assert "\033[31merror" in run(folder)


@pytest.mark.slow
def test_colour_is_nowhere_else(folder: Path) -> None:
    (folder / "x.jsonl").write_text(text(HEADER, CALL, THROTTLED))
    assert "\033" not in run(folder, NO_COLOR="1")
    plain = subprocess.run([COMMAND, "show", "x.jsonl"], capture_output=True, text=True, check=True, cwd=folder)
    assert "\033" not in plain.stdout


def test_a_reader_that_leaves_is_exit_code_1(folder: Path) -> None:
    events = [
        {"t": 400, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": f"{number}\n"}}}
        for number in range(9000)
    ]
    (folder / "x.jsonl").write_text(text(HEADER, CALL, HEAD, *events))
    with subprocess.Popen(
        [COMMAND, "show", "--full", "x.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_folder_is_named_with_a_file_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recordings/a").mkdir(parents=True)
    assert main(["show", "recordings"]) == 1
    (tmp_path / "recordings/a/x.jsonl").touch()
    assert main(["show", "recordings"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "converse-harness show: recordings: it is a folder: name a file; no *.jsonl is in it",
        "converse-harness show: recordings: it is a folder: name a file, such as recordings/a/x.jsonl",
    ]


@pytest.mark.parametrize(
    ("arguments", "usage", "error"),
    [
        (["shwo", "x"], "", "there is no command 'shwo'. Did you mean show?"),
        (["qqqq"], "", "there is no command 'qqqq'. The commands are demo, serve, "),
        (["show", "x.jsonl", "--nope"], " show", "unrecognized arguments: --nope"),
    ],
)
def test_wrong_arguments_print_the_usage_of_their_command(
    capsys: pytest.CaptureFixture[str], arguments: list[str], usage: str, error: str
) -> None:
    check_usage(capsys, arguments, usage, error)


def check_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], usage: str, error: str) -> None:
    """Run a command with wrong arguments; its usage and the error are printed."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"usage: converse-harness{usage} [-h]")
    assert f"\nconverse-harness{usage}: error: {error}" in said
