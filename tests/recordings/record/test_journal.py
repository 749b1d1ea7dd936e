"""The journal: what is on disk while a recorder is open, and what a killed process leaves."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import DamagedData, JournalWarning, Redaction, ReplyError, fake_converse, record, recording
from converse_harness.recordings.format.read import parse, read
from converse_harness.recordings.names import given_path, journal_path, usual_path
from converse_harness.recordings.record import journal as journal_module
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.journal import Journal
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.recordings.session import begin_journal, open_session, save_or_set_aside
from converse_harness.stream.events import encode_event
from converse_harness.stream.http import Request
from tests.recordings.record.test_keeping import ANSWER, JSON, captured, left_over, tape_with, texts_in
from tests.secrets.planted import LONG, in_zip

pytestmark = pytest.mark.any_answer

TOKEN = "gh" + "p_" + LONG[:36]
ARN = "arn:aws:bedrock:us-east-1:{}:inference-profile/x"
HEADER = '{"format": "converse-recording", "version": 2, "by": "converse-harness 0.1.0, process %s"}\n'


def recorder(path: Path, **options: Any) -> SessionWriter:
    """A writer with its journal, as a recorder has one."""
    writer = open_session(path, options.pop("mode", "all"), **options).writer
    assert writer is not None
    assert begin_journal(writer) == ()
    return writer


def end(writer: SessionWriter, *exchanges: CapturedExchange) -> None:
    """End calls of a recorder."""
    assert writer.journal is not None
    for exchange in exchanges:
        writer.captured.append(exchange)
        writer.journal.add(exchange)


def journal_of(path: Path) -> Path:
    return path.with_name("trip.unfinished.jsonl")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trip.jsonl"


@contextmanager
def held(journal: Path, process: str, calls: str = "") -> Iterator[None]:
    """Another recorder has this journal open. A lock of this process is refused to it like one of another process."""
    fcntl = pytest.importorskip("fcntl")
    journal.write_text(HEADER % process + calls, encoding="utf-8")
    with journal.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_each_call_is_on_disk_when_the_client_has_its_answer_and_the_file_is_all_that_stays(path: Path) -> None:
    script = iter(["one", "two", "three"])

    def service(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=dict(JSON), content=ANSWER.replace("?", next(script)))

    with record(path) as opened:
        assert len(journal_of(path).read_text().splitlines()) == 1
        client = httpx.Client(transport=opened.httpx_transport(httpx.MockTransport(service)))
        for number, text in enumerate(["one", "two", "three"], 1):
            client.post("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse", json={"messages": []})
            assert texts_in(journal_of(path))[-1] == text
            assert len(recording(journal_of(path)).exchanges) == number
        assert not path.exists()
    assert left_over(path.parent) == ["trip.jsonl"]


@pytest.mark.parametrize("mode", ["none", "once", "new_episodes"])
def test_what_is_only_played_leaves_nothing(path: Path, mode: Any) -> None:
    tape_with(path, "hi").save()
    before = path.read_bytes()
    with fake_converse(), record(path, mode=mode, unused="allow"):
        assert (left_over(path.parent) == ["trip.jsonl"]) is (mode != "new_episodes")
    assert left_over(path.parent) == ["trip.jsonl"]
    assert path.read_bytes() == before


def test_folders_are_made_for_what_is_recorded_only(tmp_path: Path) -> None:
    with record(tmp_path / "a" / "b" / "trip.jsonl"):
        assert (tmp_path / "a" / "b").is_dir()
    assert left_over(tmp_path) == []


# A conversation repeats its messages; some of them hold what must not be written.
SAID = st.sampled_from(["hi", "Chur", TOKEN, f"key {TOKEN}", ARN.format("314159265358"), ARN.format("271828182845")])


def asked(history: list[str], model: str) -> CapturedExchange:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": [{"text": text}]} for at, text in enumerate(history)]
    request = Request("POST", f"/model/{model}/converse", (), json.dumps({"messages": messages}).encode())
    answer = ANSWER.replace("?", f"To {history[-1]}").encode()
    return CapturedExchange(request, "Converse", 200, JSON, 0.1, [(answer, 0.2)])


def said_in(path: Path) -> list[list[dict[str, Any]]]:
    """The lines of each exchange without where it was masked: a part has another place than the request with it."""
    found = [list(exchange.lines()) for exchange in read(path).exchanges]
    return [[{key: value for key, value in line.items() if key != "masked"} for line in lines] for lines in found]


@given(turns=st.lists(st.tuples(SAID, st.booleans()), min_size=1, max_size=6))
@settings(deadline=None, max_examples=12)
def test_after_each_call_it_says_what_the_file_would_say(
    turns: list[tuple[str, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "trip.jsonl"
    writer, history = recorder(path), list[str]()
    for number, (text, goes_on) in enumerate(turns, 1):
        history = [*history, text] if goes_on and len(history) % 2 == 0 else [text]
        end(writer, asked(history, "m"))
        history.append(f"To {text}")
        plain = SessionWriter(path.with_name("plain.jsonl"), captured=writer.captured[:number], exact=True)
        plain.save()
        assert said_in(journal_of(path)) == said_in(plain.path)
        for secret in (TOKEN, "314159265358", "271828182845"):
            assert secret not in journal_of(path).read_text(encoding="utf-8")
    # And the file is the same, byte for byte, as that of a recorder without a journal.
    fresh = SessionWriter(path.with_name("fresh.jsonl"), captured=[*map(copy_of, writer.captured)])
    fresh.header = writer.header = lambda: {"format": "converse-recording", "version": 2}
    fresh.save()
    assert save_or_set_aside(writer, passed=True).path == path
    assert path.read_bytes() == fresh.path.read_bytes()
    assert not journal_of(path).exists()


def test_a_text_that_becomes_a_secret_of_this_process_is_masked_from_then_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "a plain sentence until now"
    body = json.dumps({"messages": [], "system": [{"text": secret}]}).encode()
    with_it = CapturedExchange(Request("POST", "/model/m/converse", (), body), "Converse", 200, JSON, 0.1, [])
    writer = recorder(path)
    end(writer, asked([secret], "m"))
    monkeypatch.setenv("WEATHER_TOKEN", secret)
    end(writer, with_it)
    first, second = said_in(journal_of(path))
    assert first[0]["request"]["messages"][0]["content"] == [{"text": secret}]
    assert second[0]["request"]["system"] == [{"text": "***"}]


def copy_of(exchange: CapturedExchange) -> CapturedExchange:
    return CapturedExchange(exchange.request, "Converse", 200, JSON, 0.1, list(exchange.pieces))


@pytest.mark.parametrize("keep_files", [False, True])
def test_a_file_in_a_request_is_in_it_as_in_the_recording(path: Path, keep_files: bool) -> None:
    image = base64.b64encode(b"a picture of ada" * 400).decode()
    content = [{"image": {"format": "png", "source": {"bytes": image}}}]
    body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
    writer = recorder(path, keep_files=keep_files)
    end(writer, CapturedExchange(Request("POST", "/model/m/converse", (), body), "Converse", 200, JSON, 0.1, []))
    assert (image in journal_of(path).read_text(encoding="utf-8")) is keep_files
    assert "$file" in journal_of(path).read_text(encoding="utf-8") or keep_files
    writer.save()
    assert said_in(journal_of(path)) == said_in(path)


def test_a_stream_is_whole_in_it_and_what_is_still_coming_is_not_in_it(path: Path) -> None:
    writer = recorder(path)
    events = [
        encode_event({"messageStart": {"role": "assistant"}}, 7),
        *(encode_event({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": each}}}, 3) for each in TOKEN),
        encode_event({"contentBlockStop": {"contentBlockIndex": 0}}, 3),
        encode_event({"messageStop": {"stopReason": "end_turn"}}, 3),
        encode_event({"metadata": {"usage": {}, "metrics": {"latencyMs": 1}}}, 3),
    ]
    request = Request("POST", "/model/m/converse-stream", (), b'{"messages":[]}')
    head = (("Content-Type", "application/vnd.amazon.eventstream"),)
    streamed = CapturedExchange(request, "ConverseStream", 200, head, 0.1, [(each, 0.2) for each in events])
    end(writer, streamed, CapturedExchange(request, "ConverseStream"), captured("after"))
    first, second = read(journal_of(path)).exchanges
    deltas = [line["contentBlockDelta"]["delta"]["text"] for line in first.events if "contentBlockDelta" in line]
    assert (len(deltas), "".join(deltas)) == (len(TOKEN), "***")
    assert second.call["call"] == 2


def test_an_exchange_with_a_secret_that_cannot_be_masked_is_not_in_it_nor_is_it_referred_to(path: Path) -> None:
    packed = base64.b64encode(in_zip(TOKEN)).decode()
    writer = recorder(path)
    end(writer, asked([packed], "m"), asked(["Chur"], "m"), asked([packed, "To it", "Chur"], "m"), asked(["Bern"], "m"))
    assert [exchange[0]["request"]["messages"][0]["content"] for exchange in said_in(journal_of(path))] == [
        [{"text": "Chur"}],
        [{"text": "Bern"}],
    ]
    assert packed not in journal_of(path).read_text(encoding="utf-8")


def test_the_user_s_rules_change_texts_and_not_the_names_of_parts(path: Path) -> None:
    writer = recorder(path, redaction=Redaction({"message": "letter", re.compile(r"\d+"): "0"}))
    end(writer, asked(["message 4711"], "m"), asked(["message 4711", "To message 4711", "Bern"], "m"))
    first, second = said_in(journal_of(path))
    assert first[0]["request"]["messages"][0]["content"] == [{"text": "letter 0"}]
    assert len(second[0]["request"]["messages"]) == 3


@pytest.mark.parametrize(("theirs", "mode"), [("4711", "all"), ("4711", "new_episodes"), ("4711, which adds", "all")])
def test_a_file_that_another_process_records_is_not_recorded_here(path: Path, theirs: str, mode: Any) -> None:
    tape_with(path, "old").save()
    with held(journal_of(path), theirs), pytest.raises(ReplyError) as refused, record(path, mode=mode):
        raise AssertionError("the block must not begin")
    assert str(refused.value) == (
        f"{path} is being recorded by process 4711; its calls so far are in {journal_of(path)}. Only one recorder at a "
        "time may write a file, because the last one would replace what the others recorded. Wait until the other has "
        "ended, or give this one another path."
    )
    assert left_over(path.parent) == ["trip.jsonl", "trip.unfinished.jsonl"]


def test_two_that_add_to_a_file_have_a_journal_each(path: Path) -> None:
    tape_with(path, "old").save()
    with held(journal_of(path), "4711, which adds"):
        writer = recorder(path, mode="new_episodes")
        end(writer, captured("new"))
        assert texts_in(path.with_name("trip~2.unfinished.jsonl")) == ["new"]
        assert save_or_set_aside(writer, passed=True).path == path
        assert left_over(path.parent) == ["trip.jsonl", "trip.unfinished.jsonl"]
    assert texts_in(path) == ["old", "new"]


def test_what_a_killed_recorder_left_is_named_and_stays_as_it_was(path: Path) -> None:
    killed = recorder(path)
    end(killed, captured("one"), captured("two"))
    left = journal_of(path).read_bytes()
    assert killed.journal is not None
    assert killed.journal.close(keep=True) == journal_of(path)
    with pytest.warns(JournalWarning) as warned, record(path):
        assert left_over(path.parent) == ["trip.unfinished.jsonl", "trip~2.unfinished.jsonl"]
    (said,) = warned
    assert str(said.message) == (
        f"record({str(path)!r}): {journal_of(path)} is what a recorder left that was killed: 2 calls, not in {path}. "
        "`converse-harness show` prints it. To play it, rename it to trip.jsonl; if you do not need it, remove it."
    )
    assert said.filename == __file__
    assert journal_of(path).read_bytes() == left
    assert left_over(path.parent) == ["trip.unfinished.jsonl"]
    assert texts_in(journal_of(path).rename(path)) == ["one", "two"]


def test_what_was_left_without_a_call_is_removed(path: Path) -> None:
    journal_of(path).write_text(HEADER % 4711, encoding="utf-8")
    (path.parent / "other.unfinished.jsonl").write_text(HEADER % 4711, encoding="utf-8")
    with record(path):
        assert left_over(path.parent) == ["other.unfinished.jsonl", "trip.unfinished.jsonl"]
    assert left_over(path.parent) == ["other.unfinished.jsonl"]


def test_one_that_is_cut_anywhere_loses_its_last_call_at_most_or_names_the_line(path: Path) -> None:
    writer = recorder(path)
    end(writer, captured("one"))
    whole = len(journal_of(path).read_bytes())
    end(writer, captured("two"))
    data = journal_of(path).read_bytes()
    assert writer.journal is not None
    writer.journal.close()
    damaged = 0
    for size in range(whole, len(data)):
        text = data[:size].decode()
        path.write_text(text, encoding="utf-8")
        try:
            assert texts_in(path)[0] == "one"
        except DamagedData as error:
            damaged += 1
            assert re.match(rf"{re.escape(str(path))}:[5-7]: ", str(error))  # noqa: PT017 - either is right
        kept = text[:whole]
        assert [exchange.call["call"] for exchange in parse(kept).exchanges] == [1]
    assert damaged > 10


def test_a_full_disk_costs_the_journal_one_warning_and_the_recording_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = recorder(path)
    end(writer, captured("one"))
    before, real = journal_of(path).read_bytes(), os.write

    def full(handle: int, data: Any) -> int:
        if len(data) < 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data[:50])

    monkeypatch.setattr(os, "write", lambda handle, data: full(handle, data) if len(data) > 60 else full(handle, b""))
    said = re.escape(
        f"{journal_of(path)} cannot be written (No space left on device). The recording goes on, but if this process "
        "is killed, its calls are lost."
    )
    with pytest.warns(JournalWarning, match=said) as warned:
        end(writer, captured("two"), captured("three"))
    monkeypatch.undo()
    assert len(warned) == 1
    assert journal_of(path).read_bytes() == before
    assert save_or_set_aside(writer, passed=True).path == path
    assert texts_in(path) == ["one", "two", "three"]
    assert left_over(path.parent) == ["trip.jsonl"]


def test_an_interrupted_write_is_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = recorder(path)
    end(writer, captured("one"))

    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(journal_module, "_sync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            end(writer, captured("two"))
    assert texts_in(journal_of(path)) == ["one"]
    end(writer, captured("three"))
    assert texts_in(journal_of(path)) == ["one", "two", "three"]


def test_if_the_session_can_be_saved_nowhere_the_journal_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = recorder(path)
    end(writer, captured("one"))

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    kept = save_or_set_aside(writer, passed=True)
    assert kept.problem.endswith(f"The calls that had ended are in {journal_of(path)}: rename it.")
    assert texts_in(journal_of(path)) == ["one"]


@pytest.mark.parametrize("passed", [True, False])
def test_a_recorder_inside_another_of_one_file_loses_nothing(path: Path, passed: bool) -> None:
    outer = recorder(path)
    end(outer, captured("outer"))
    inner = recorder(path)
    end(inner, captured("inner"))
    assert save_or_set_aside(inner, passed=True).path == path
    kept = save_or_set_aside(outer, passed=passed)
    assert kept.path is not None
    assert (texts_in(path), texts_in(kept.path)) == (["inner"], ["outer"])
    assert ("another recorder of this process wrote it" in kept.problem) is passed
    later = recorder(path)
    end(later, captured("later"))
    assert save_or_set_aside(later, passed=True).path == path
    assert texts_in(path) == ["later"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_changes_nothing_and_keeps_no_lock(path: Path) -> None:
    writer = recorder(path)
    end(writer, captured("one"))
    before = journal_of(path).read_bytes()
    (asks, wait), (told, tells) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(wait)
            end(writer, captured("of the child"))
            assert writer.journal is not None
            writer.journal.close()
            os.write(tells, b".")
            os.read(asks, 1)  # it outlives the parent's recorder
        finally:
            os._exit(0)
    assert os.read(told, 1) == b"."
    for pipe in (asks, told, tells):
        os.close(pipe)
    assert journal_of(path).read_bytes() == before
    assert writer.journal is not None
    writer.journal.close(keep=True)
    other = open_session(path, "all").writer
    assert other is not None
    assert len(Journal(other).said) == 1  # the child would hold the lock, and this would be refused
    os.close(wait)
    os.waitpid(child, 0)


def test_its_name_is_no_recording_s_and_says_whose_it_is(path: Path) -> None:
    for number in (1, 2, 10):
        assert usual_path(journal_path(path, number)) == path
    assert usual_path(Path("test_x~0123abcd.unfinished.jsonl")) == Path("test_x~0123abcd.jsonl")
    with pytest.raises(ReplyError, match="so ends a file that no test plays"):
        given_path("trip.unfinished")


RECORD = """
import signal
import sys
import httpx
from converse_harness import record

if hasattr(signal, "SIGHUP"):  # under nohup, programs ignore it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
TOKEN, answer, headers = sys.argv[2], sys.argv[3], {"Content-Type": "application/json"}
count = 0

def service(request):
    global count
    count += 1
    print("asked", count, flush=True)
    return httpx.Response(200, headers=headers, content=answer.replace("?", f"{count} {TOKEN}"))

messages = []
with record(sys.argv[1]) as recorder:
    client = httpx.Client(transport=recorder.httpx_transport(httpx.MockTransport(service)))
    print("open", flush=True)
    for number in range(1, int(sys.argv[4])):
        messages.append({"role": "user", "content": [{"text": f"question {number} {TOKEN}"}]})
        url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"
        answered = client.post(url, json={"messages": messages}).json()
        messages.append(answered["output"]["message"])
        print("ended", number, flush=True)
"""


def start(path: Path, calls: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-c", RECORD, str(path), TOKEN, ANSWER, str(calls + 1)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there are no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
@given(lines=st.integers(0, 40), pause=st.floats(0, 0.004))
@settings(deadline=None, max_examples=3)
def test_a_killed_process_loses_the_call_under_way_at_most(
    tmp_path_factory: pytest.TempPathFactory, name: str, lines: int, pause: float
) -> None:
    path = tmp_path_factory.mktemp("killed") / "trip.jsonl"
    process = start(path, 100)
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(lines)]
    with pytest.raises(subprocess.TimeoutExpired):  # a moment inside of a call, not only its beginning or its end
        process.wait(pause)
    process.send_signal(getattr(signal, name))
    seen += process.stdout.readlines()
    process.stdout.close()
    assert process.wait(20) == -getattr(signal, name)
    ended, begun = (sum(line.startswith(word) for line in seen) for word in ("ended", "asked"))
    assert left_over(path.parent) == ["trip.unfinished.jsonl"]
    text = journal_of(path).read_text(encoding="utf-8")
    assert TOKEN not in text
    assert text.endswith("\n")
    if begun:
        numbers = [] if '{"call"' not in text else [int(each.split()[0]) for each in texts_in(journal_of(path))]
        assert numbers == [*range(1, len(numbers) + 1)]
        assert ended <= len(numbers) <= begun
    with record(path) if '{"call"' not in text else pytest.warns(JournalWarning), record(path):
        pass  # a dead process locks nobody out


@pytest.mark.slow
def test_the_second_process_is_told_and_the_first_loses_nothing(path: Path) -> None:
    first = start(path, 50)
    with pytest.raises(ReplyError, match=f"is being recorded by process {first.pid};"), record(path):
        raise AssertionError("the block must not begin")
    assert first.communicate(timeout=60)[0].endswith("ended 50\n")
    assert first.returncode == 0
    assert len(read(path).exchanges) == 50
    assert left_over(path.parent) == ["trip.jsonl"]
