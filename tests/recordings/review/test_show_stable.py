"""`converse-harness show --stable`: two recordings of one session look the same, also to `git diff`."""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from converse_harness.cli import main
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.record.write import header, store, text_of
from tests.recordings.asking import NOVA, body, exchange, result, streamed, tools, use, user
from tests.recordings.asking import write as write_exchanges

BIN = Path(sys.executable).parent


def session(
    seed: int = 0, *, question: str = "What is it like in Bern?", answer: str = "It is 18 °C.", **tool: Any
) -> list[list[Line]]:
    """A tool loop; `seed` changes what differs between two recordings of it."""
    chance = random.Random(seed)
    ids = [f"tooluse_{chance.randrange(10**16):022d}" for _ in range(2)]
    asked = body(user(question), system=[{"text": "You know the weather."}], toolConfig=tools("get_weather", "maps"))
    stream = streamed(asked, "Let me look.")
    start = {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": ids[0], "name": "t"}}}}
    given = json.dumps(tool or {"city": "Bern"})
    cut = chance.randrange(len(given))
    deltas = [
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": piece}}}}
        for piece in (given[:cut], given[cut:])
    ]
    events: list[Line] = [start, *deltas, {"contentBlockStop": {"contentBlockIndex": 1}}]
    stream[-2:-2] = [{"t": 20, **event, "p": 3} for event in events]
    stream[-2]["messageStop"] = {"stopReason": "tool_use"}
    stream[-1]["metadata"] = {
        "metrics": {"latencyMs": chance.randrange(999)},
        "usage": {"inputTokens": 9, "outputTokens": 4, "totalTokens": 13},
    }
    asked_by = f"request-{chance.randrange(10**12)}"
    reply = {"role": "assistant", "content": [{"text": "Let me look."}, *use(ids[0], "t")["content"]]}
    reply["content"][1]["toolUse"]["input"] = tool or {"city": "Bern"}
    then = exchange(
        {**asked, "messages": [*asked["messages"], reply, result(ids[0], f"18 °C, asked as {ids[0]} by {asked_by}")]},
        answer,
    )
    for line in stream[1:] + then[1:]:
        line["t"] = chance.randrange(9999)
    for line in stream[2:]:
        line["p"] = chance.randrange(60)
    stream[1]["requestId"] = asked_by
    then[1]["body"]["metrics"]["latencyMs"] = chance.randrange(999)
    return [stream, then]


def show(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["show", "--stable", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_a_conversation_with_each_message_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = show(write_exchanges(tmp_path / "x.jsonl", *session()), capsys)
    schema = [line for line in out.splitlines() if line.startswith("   ") and "#1" not in line]
    assert "\n".join(line for line in out.splitlines() if line not in schema and "tool   " not in line) == (
        f"call 1  ConverseStream  {NOVA}\n"
        "  system       You know the weather.\n"
        "  tools        get_weather, maps\n"
        "  user         What is it like in Bern?\n"
        "  assistant    Let me look.\n"
        '  tool_use     t {"city": "Bern"}\n'
        "               #1\n"
        "  stop         tool_use\n"
        "  usage        9 in, 4 out\n"
        "\n"
        f"call 2  Converse  {NOVA}\n"
        "  tool_result  #1 18 °C, asked as #1 by (request id 1)\n"
        "  assistant    It is 18 °C.\n"
        "  stop         end_turn\n"
        "  usage        1 in, 1 out"
    )
    assert '"name": "maps"' in "".join(schema)


SHOWN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a question": ({"question": "And in Chur?"}, ["  user         What is it like in Bern?"]),
    "an answer": ({"answer": "It rains."}, ["  assistant    It is 18 °C."]),
    "an input": ({"city": "Chur"}, ['  tool_use     t {"city": "Bern"}']),
}


@pytest.mark.parametrize(("change", "gone"), SHOWN.values(), ids=SHOWN)
def test_a_change_is_a_change_of_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], gone: list[str]
) -> None:
    before = show(write_exchanges(tmp_path / "a.jsonl", *session()), capsys).splitlines()
    after = show(write_exchanges(tmp_path / "b.jsonl", *session(1, **change)), capsys).splitlines()
    assert len(before) == len(after)
    assert [one for one, other in zip(before, after, strict=True) if one != other] == gone


def test_the_same_message_twice_in_a_conversation_is_shown_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "yes, " * 30
    said = {"role": "assistant", "content": [{"text": "More?"}]}
    path = write_exchanges(
        tmp_path / "x.jsonl", exchange(body(user("yes"), said, user("yes"), said, user(long, "x"), user(long, "x")))
    )
    rows = [line.split(None, 1) for line in show(path, capsys).splitlines()[1:-3]]
    assert [row[1] for row in rows if row[0] == "user"] == [
        "yes", "yes", long, "x", f"{long[:60]}... (as above)", "x",
    ]  # fmt: skip


def test_an_other_conversation_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_exchanges(
        tmp_path / "x.jsonl",
        exchange(body(user("one"), system=[{"text": "s"}]), "hi"),
        exchange(body(user("two"), inferenceConfig={"maxTokens": 9}), "hi"),
        exchange(body(user("two"), inferenceConfig={"maxTokens": 9}), "hello"),
        exchange({"inferenceConfig": {"maxTokens": 9}}, "?"),
    )
    assert show(path, capsys).replace("  stop         end_turn\n  usage        1 in, 1 out\n", "") == (
        f"call 1  Converse  {NOVA}\n  system       s\n  user         one\n  assistant    hi\n\n"
        f"call 2  Converse  {NOVA}\n  system       (none)\n"
        '  inferenceConfig  {"maxTokens": 9}\n  messages     (a new conversation)\n'
        "  user         two\n  assistant    hi\n\n"
        f"call 3  Converse  {NOVA}\n  request      (as before)\n  assistant    hello\n\n"
        f"call 4  Converse  {NOVA}\n  messages     (none)\n  assistant    ?\n"
    )


def test_a_call_of_another_service_does_not_part_a_conversation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = body(user("one"), system=[{"text": "s"}])
    found: list[Line] = [
        {"call": 0, "operation": "Rerank", "service": "bedrock-agent-runtime", "request": {"nextToken": "one"}},
        {"t": 1, "status": 200, "body": {"results": []}},
    ]
    sessions = [exchange(asked, "hi"), found, exchange(asked, "hello"), found]
    shown = show(write_exchanges(tmp_path / "x.jsonl", *sessions), capsys)
    assert (shown.count("  system "), shown.count("(none)"), shown.count("  request      (as before)")) == (1, 0, 1)
    assert shown.count("nextToken") == 1


def test_tokens_of_the_cache_are_tokens_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []
    for number, key in enumerate(("cacheWriteInputTokens", "cacheReadInputTokens")):
        lines = exchange(body(user("?")))
        lines[1]["body"]["usage"] = {"inputTokens": 10, "outputTokens": 1, "totalTokens": 101, key: 90}
        shown.append(show(write_exchanges(tmp_path / f"{number}.jsonl", lines), capsys))
    assert shown[0] == shown[1]
    assert "usage        100 in, 1 out" in shown[0]


def test_another_operation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def invoked(id: str, latency: int) -> str:
        request = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
        made = {"id": id, "content": [{"type": "tool_use", "id": f"toolu_{id}", "input": {"id": "order-1"}}]}
        call = {"call": 0, "operation": "InvokeModel", "modelId": "m", "request": request}
        head = {
            "t": latency,
            "status": 200,
            "headers": {"x-amzn-bedrock-invocation-latency": str(latency)},
            "body": made,
        }
        return show(write_exchanges(tmp_path / "x.jsonl", [call, head]), capsys)

    first = invoked("msg_1", 5)
    assert first == invoked("msg_2", 7)
    for word in ('"content": "hi"', '"id": "#1"', '"id": "#2"', "order-1"):
        assert word in first


# Files that are no recordings, and files without their media: `git diff` has copies of files, in another folder.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"format": "converse-recording", "version": 2}\nwhat\n', "line 2: this line is not JSON"),
        ("<<<<<<< HEAD\nx\n=======\n", "line 1: this line is a conflict marker of git"),
        ("", "line 1: the file is empty"),
    ],
)
def test_a_damaged_file_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    first, _, rest = show(path, capsys).partition("\n")
    assert told in first
    assert str(path) not in first
    assert rest == text


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--stable", str(tmp_path / "x.jsonl")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_media_are_not_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = {"image": {"format": "png", "source": {"bytes": "QUFB" * 9999}}}
    (lines,) = [[{**exchange(body(user("?", image)))[0], "call": 1}, *exchange(body(user("?", image)))[1:]]]
    path = tmp_path / "a" / "x.jsonl"
    path.parent.mkdir()
    store(path, [header(), *lines])
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    assert "$media" in show(copy, capsys)


# git


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run git in a repository with the recipe of docs/recording.md."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    repository = tmp_path / "repository"
    (repository / "recordings" / "trips").mkdir(parents=True)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=repository, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("init", "-q")
    for name in ("name", "email"):
        run("config", f"user.{name}", "a")
    run("config", "diff.converse.textconv", "converse-harness show --stable")
    run("config", "diff.converse.cachetextconv", "true")  # what is committed is shown by one process, not by four
    (repository / ".gitattributes").write_text("recordings/**/*.jsonl diff=converse\n")
    monkeypatch.chdir(repository)
    return run


def changed(diff: str) -> list[str]:
    """The lines that a diff removes and adds."""
    return [line for line in diff.splitlines() if line[:1] in ("-", "+") and line[:3] not in ("---", "+++")]


def test_git_diff_shows_what_was_said(git: Callable[..., str]) -> None:
    path = Path("recordings", "trips", "a b.jsonl")

    def record(exchanges: list[list[Line]]) -> None:
        write_exchanges(path, *exchanges)

    record(session())
    git("add", "-A")
    git("commit", "-qm", "x")
    record(session(1))
    assert git("diff", "--no-textconv") != ""
    assert changed(git("diff")) == []
    record(session(2, question="And in Chur?", answer="It rains."))
    assert changed(git("diff")) == [
        "-  user         What is it like in Bern?",
        "+  user         And in Chur?",
        "-  assistant    It is 18 °C.",
        "+  assistant    It rains.",
    ]
    path.write_text(text_of([header()]) + "<<<<<<< HEAD\n")
    assert "+This is no recording that can be shown: line 2: " in git("diff")
    git("rm", "-qf", str(path))
    assert "-  user         What is it like in Bern?" in git("diff", "HEAD")


def test_one_call_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its ids have the numbers that they have in the whole."""
    path = write_exchanges(tmp_path / "x.jsonl", *session())
    whole = show(path, capsys)
    assert main(["show", "--stable", "--call", "2", str(path)]) == 0
    only = capsys.readouterr().out
    assert only.startswith("call 2")
    assert whole.endswith(only)
    with pytest.raises(SystemExit, match="2"):
        main(["show", "--stable", "--call", "3", str(path)])
    assert "has 2 calls" in capsys.readouterr().err


def test_ids_are_numbered_without_gaps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exchanges = [*session(1), *session(2, question="And in Chur?")]
    for number, (_, head, *_others) in enumerate(exchanges):
        head["requestId"] = f"request-id-{number}"
    shown = show(write_exchanges(tmp_path / "x.jsonl", *exchanges), capsys)
    numbers = [int(each) for each in re.findall(r"#(\d+)", shown)]
    assert list(dict.fromkeys(numbers)) == [1, 2]
