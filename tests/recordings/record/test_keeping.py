"""Nothing recorded is lost without a word, and what was there stays whole: full disks, crashes, other processes."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from converse_harness import ConverseHarnessError, DamagedData, recording
from converse_harness.recordings.format.read import read
from converse_harness.recordings.names import MODES, Failed, Mode
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.recordings.session import MissingRecording, open_session, save_or_set_aside
from converse_harness.stream.http import Request

ANSWER = (
    '{"metrics":{"latencyMs":1},"output":{"message":{"content":[{"text":"?"}],"role":"assistant"}},'
    '"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}'
)
JSON = (("Content-Type", "application/json"),)


def captured(text: str) -> CapturedExchange:
    request = f'{{"messages":[{{"role":"user","content":[{{"text":"{text}"}}]}}]}}'.encode()
    asked = Request("POST", "/model/m/converse", (), request)
    return CapturedExchange(asked, "Converse", 200, JSON, 0.1, [(ANSWER.replace("?", text).encode(), 0.2)])


def tape_with(path: Path, *texts: str) -> SessionWriter:
    writer = SessionWriter(path)
    writer.captured += map(captured, texts)
    return writer


def texts_in(path: Path) -> list[str]:
    bodies = (exchange.head["body"] for exchange in read(path).exchanges)
    return [str(body["output"]["message"]["content"][0]["text"]) for body in bodies]


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("passed", "failed", "names"),
    [
        (True, "aside", ["trip.jsonl"]),
        (True, "drop", ["trip.jsonl"]),
        (False, "aside", ["trip.failed.jsonl"]),
        (False, "write", ["trip.jsonl"]),
        (False, "drop", []),
    ],
)
def test_what_a_test_recorded_goes_where_its_end_says(
    tmp_path: Path, *, passed: bool, failed: Failed, names: list[str]
) -> None:
    kept = save_or_set_aside(tape_with(tmp_path / "trip.jsonl", "a", "b"), passed=passed, failed=failed)
    assert left_over(tmp_path) == names
    assert (kept.path, kept.exchanges, kept.problem) == (tmp_path / names[0] if names else None, 2, "")


def test_aside_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()
    save_or_set_aside(tape_with(path, "new"), passed=False)
    assert texts_in(path) == ["old"]
    assert texts_in(tmp_path / "trip.failed.jsonl") == ["new"]


def test_nothing_that_came_is_nothing_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()
    writer = SessionWriter(path, captured=[CapturedExchange(Request("POST", "/", (), b""), running=True)])
    kept = save_or_set_aside(writer, passed=True)
    assert (kept.path, kept.exchanges) == (None, 0)
    assert texts_in(path) == ["old"]


def test_a_full_disk_leaves_what_was_there_and_says_where_the_rest_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recordings" / "trip.jsonl"
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    tape_with(path, "old").save()
    disks = iter([True, False])  # the first is full

    def full(handle: int) -> None:
        if next(disks):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    kept = save_or_set_aside(tape_with(path, "new", "newer"), passed=True)
    assert texts_in(path) == ["old"]
    assert left_over(path.parent) == ["trip.jsonl"]
    assert kept.path is not None
    assert kept.path.is_relative_to(elsewhere)
    assert texts_in(kept.path) == ["new", "newer"]
    assert kept.problem == (
        f"{path} could not be written (No space left on device); what was there is as it was. The 2 recorded exchanges "
        f"are kept in {kept.path}: move it there, or record again."
    )


def test_no_disk_at_all_says_that_it_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    kept = save_or_set_aside(tape_with(path, "new"), passed=True)
    assert texts_in(path) == ["old"]
    assert left_over(tmp_path) == ["tmp", "trip.jsonl"]
    assert left_over(elsewhere) == []
    assert kept.path is None
    assert kept.problem == (
        f"{path} could not be written (No space left on device); what was there is as it was. Nor could a temporary "
        "file (No space left on device). The recorded exchange is lost: record again once that is mended."
    )


def test_a_path_that_is_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    path.mkdir()
    kept = save_or_set_aside(tape_with(path, "new"), passed=True)
    assert left_over(tmp_path) == ["trip.jsonl"]
    assert kept.path is not None
    assert texts_in(kept.path) == ["new"]
    assert kept.problem.startswith(f"{path} could not be written (Is a directory); what was there is as it was.")


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "recordings").write_text("mine")
    kept = save_or_set_aside(tape_with(tmp_path / "recordings" / "trip.jsonl", "new"), passed=True)
    assert kept.path is not None
    assert (tmp_path / "recordings").read_text() == "mine"
    assert "could not be written (File exists)" in kept.problem


@pytest.mark.skipif(os.name != "posix", reason="there are no such rights")
def test_others_may_read_it_as_they_may_read_any_file(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "new").save()
    usual = tmp_path / "usual"
    usual.write_text("")
    assert path.stat().st_mode == usual.stat().st_mode


if os.name == "posix" and os.geteuid() != 0:  # root and Windows write into such a folder; see the next test

    def test_a_read_only_folder(tmp_path: Path) -> None:
        path = tmp_path / "recordings" / "trip.jsonl"
        tape_with(path, "old").save()
        path.parent.chmod(0o500)
        try:
            kept = save_or_set_aside(tape_with(path, "new"), passed=True)
            assert texts_in(path) == ["old"]
            assert "could not be written (Permission denied)" in kept.problem
        finally:
            path.parent.chmod(0o700)


def test_a_folder_in_which_nothing_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root sees a read-only folder: it is simulated, since root may write into any."""
    path = tmp_path / "recordings" / "trip.jsonl"
    tape_with(path, "old").save()
    opened = os.open

    def refuse(name: Any, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT and Path(name).parent == path.parent:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(name, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    kept = save_or_set_aside(tape_with(path, "new"), passed=True)
    assert texts_in(path) == ["old"]
    assert kept.path is not None
    assert texts_in(kept.path) == ["new"]
    assert "could not be written (Permission denied)" in kept.problem


def test_what_it_keeps_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()
    writer = open_session(path, "new_episodes").writer
    assert writer is not None
    writer.captured.append(captured("new"))
    path.write_text("{")
    kept = save_or_set_aside(writer, passed=True)
    assert path.read_text() == "{"
    assert f"{path} could not be written ({path}:1: this line is not JSON" in kept.problem
    assert kept.path is not None
    assert texts_in(kept.path) == ["old", "new"]


def test_what_is_refused_is_lost_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(ConverseHarnessError):
        pass

    def refuse(self: SessionWriter, path: Path | None = None) -> None:
        raise Refused(f"{self.path} would hold an AWS key.")

    monkeypatch.setattr(SessionWriter, "save", refuse)
    kept = save_or_set_aside(tape_with(tmp_path / "trip.jsonl", "new"), passed=True)
    assert kept.path is None
    assert kept.problem == (
        f"{tmp_path / 'trip.jsonl'} would hold an AWS key.\n"
        "The recorded exchange is lost: record again once that is mended."
    )


def test_two_that_add_to_one_file_both_end_up_in_it(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()
    one, two = (open_session(path, "new_episodes").writer for _ in range(2))
    assert one is not None
    assert two is not None
    one.captured.append(captured("one"))
    two.captured.append(captured("two"))
    one.save()
    two.save()
    assert texts_in(path) == ["old", "one", "two"]
    assert [exchange.call["call"] for exchange in read(path).exchanges] == [1, 2, 3]


ADD = """
import sys
from pathlib import Path
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.session import open_session
from converse_harness.stream.http import Request

path, name, answer = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
for number in range(10):
    writer = open_session(path, "new_episodes").writer
    asked = Request("POST", "/model/m/converse", (), b'{"messages":[{"role":"user","content":[{"text":"?"}]}]}')
    JSON = (("Content-Type", "application/json"),)
    body = answer.replace("?", name + str(number)).encode()
    writer.captured.append(CapturedExchange(asked, "Converse", 200, JSON, 0.1, [(body, 0.2)]))
    writer.save()
"""


@pytest.mark.slow
def test_processes_that_add_to_one_file_at_once_all_end_up_in_it(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()
    command = [sys.executable, "-c", ADD, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen([*command, name, ANSWER], **pipes) for name in "abc"]  # type: ignore[call-overload]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [(child.communicate(timeout=60), child.returncode)[1] for child in children] == [0, 0, 0]
    texts = texts_in(path)
    assert texts[0] == "old"
    assert sorted(texts[1:]) == sorted(f"{name}{number}" for name in "abc" for number in range(10))
    assert left_over(tmp_path) == ["trip.jsonl"]


CRASH = """
import os, signal, sys
from pathlib import Path
from converse_harness.recordings.record.write import write

at, path = sys.argv[1], Path(sys.argv[2])
real = getattr(os, at)


def dies(*args):
    os.kill(os.getpid(), signal.SIGKILL)


setattr(os, at, dies)
write(path, "x" * 100_000)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_a_crash_in_the_middle_leaves_the_old_file_whole(tmp_path: Path, at: str) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()
    crashed = subprocess.run([sys.executable, "-c", CRASH, at, str(path)], timeout=60, check=False)
    assert crashed.returncode == -signal.SIGKILL
    assert texts_in(path) == ["old"]
    assert [recording.name for recording in tmp_path.glob("*.jsonl")] == ["trip.jsonl"]  # what is left is no recording
    tape_with(path, "new").save()  # and locks nobody out
    assert texts_in(path) == ["new"]


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    names = [
        ".a.jsonl.0123abcd.part",
        ".b.jsonl.89abcdef.part",
        ".a.jsonl.00000000.part",
        "mine.part",
        ".a.jsonl.x.part",
    ]
    left, other, fresh, *theirs = [tmp_path / name for name in names]
    for each in (left, other, fresh, *theirs):
        each.write_text("half")
    for each in (left, other, *theirs):
        os.utime(each, (0, each.stat().st_mtime - 61))
    tape_with(tmp_path / "a.jsonl", "?").save()
    assert {each.name for each in tmp_path.iterdir()} == {"a.jsonl", fresh.name, *(each.name for each in theirs)}


def test_an_interrupt_while_it_writes_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trip.jsonl"
    tape_with(path, "old").save()

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tape_with(path, "new").save()
    assert texts_in(path) == ["old"]
    assert left_over(tmp_path) == ["trip.jsonl"]


def test_modes_open_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    with pytest.raises(MissingRecording, match="there is no recording"):
        open_session(path, "none")
    for mode in ("once", "new_episodes", "all"):
        opened = open_session(path, mode)
        assert opened.recording is None
        assert opened.writer is not None
    tape_with(path, "old").save()
    kinds = {mode: tuple(each is not None for each in open_session(path, mode)) for mode in MODES}
    assert kinds == {
        "none": (True, False),
        "once": (True, False),
        "new_episodes": (True, True),
        "all": (False, True),
    }
    assert recording(path).required
    assert not open_session(path, "none").recording.required  # type: ignore[union-attr]
    path.write_text("{")
    played: tuple[Mode, ...] = ("none", "once", "new_episodes")
    for mode in played:
        with pytest.raises(DamagedData, match=r"trip\.jsonl:1: this line is not JSON"):
            open_session(path, mode)
