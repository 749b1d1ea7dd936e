"""A recording is read whole or not at all: what is wrong with a file is said by file, line and reason."""

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import DamagedData, bedrock, recording
from converse_harness.cli.check import CheckFinding, check_file
from converse_harness.recordings.format import media
from converse_harness.recordings.format.check import MAX_PROBLEMS, faults_of
from converse_harness.recordings.format.exchanges import RecordedExchange, reply_of
from converse_harness.recordings.format.lines import DEEPEST, KINDS, ONE_OF, TYPES
from converse_harness.recordings.format.other_files import OTHER_FILES
from converse_harness.recordings.format.read import DamagedRecording, open_file, parse, read
from converse_harness.recordings.names import Mode
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.session import open_session
from converse_harness.stream.events import encode_event
from converse_harness.stream.http import Request
from tests.profiles import examples
from tests.recordings.asking import body, streamed, user, write
from tests.recordings.damaged import (
    ANSWER,
    CALL,
    DAMAGED,
    HEAD,
    HEADER,
    ILLEGAL,
    MEANT,
    MEND,
    OTHERS,
    REFUSED,
    SECOND,
    SOUND,
    START,
    STREAM,
    TEXT,
    THROTTLED,
    base64_of,
    nested,
    stream,
    text,
    without,
)

JSON_TYPE = (("Content-Type", "application/json"),)
STREAM_TYPE = (("Content-Type", "application/vnd.amazon.eventstream"),)


@pytest.mark.parametrize("name", SOUND)
def test_sound_files_are_read(name: str) -> None:
    session = parse(SOUND[name])
    for exchange in session.exchanges:
        reply = reply_of(exchange)
        assert reply.plan.recorded is not None
        list(reply.plan.recorded.response.chunks)


@pytest.mark.parametrize(
    ("damaged", "line", "said"),
    [
        *(pytest.param(*row[:2], f"{row[2]} {MEND}", id=name) for name, row in DAMAGED.items()),
        *(pytest.param(*row[:2], f"{row[2]} {MEANT}", id=name) for name, row in ILLEGAL.items()),
        *(pytest.param(*row, id=name) for name, row in OTHERS.items()),
    ],
)
def test_what_is_wrong_is_said_by_line_and_reason(damaged: str, line: int, said: str) -> None:
    with pytest.raises(DamagedRecording) as caught:
        parse(damaged, "x.jsonl")
    assert str(caught.value) == f"x.jsonl:{line}: {said}"
    assert caught.value.line == line


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
OTHER_KINDS: dict[str, tuple[bytes, str]] = {
    "Git LFS": (
        POINTER,
        (
            "a pointer of Git LFS, which has the content of the file elsewhere. Run `git lfs pull`; in CI, check out "
            "with LFS."
        ),
    ),
    "git-annex": (
        b"/annex/objects/SHA256E-s12--a3b4.jsonl\n",
        "a pointer of git-annex, which has the content of the file elsewhere. Run `git annex get x.jsonl`.",
    ),
    "a link of git-annex as text": (
        b"../../.git/annex/objects/Wq/3z/SHA256E-s12--a3b4.jsonl/SHA256E-s12--a3b4.jsonl",
        "a pointer of git-annex, which has the content of the file elsewhere. Run `git annex get x.jsonl`.",
    ),
    "HTML": (
        b"\n<!DOCTYPE html>\n<html><title>Sign in</title>",
        "an HTML page, for instance of a login or an error in place of a download. Get the file itself.",
    ),
    "gzip": (gzip.compress(text(*STREAM).encode()), "compressed with gzip. Unpack it with gunzip."),
    "zstd": (b"\x28\xb5\x2f\xfd\x04\x00", "compressed with zstd. Unpack it with unzstd."),
    "zip": (b"PK\x03\x04\x14\x00", "a zip archive. Unpack it."),
}
"""Files of other kinds: their content, and what is said of it."""


@pytest.mark.parametrize("reader", [read, open_file])
@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_a_file_of_another_kind_is_named_with_what_to_do(
    tmp_path: Path, kind: str, reader: Callable[[Path], Any]
) -> None:
    content, said = OTHER_KINDS[kind]
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(DamagedRecording) as caught:
        reader(path)
    assert str(caught.value) == f"{path}:1: the file is {said}"


def test_each_kind_of_other_file_is_tried() -> None:
    tried = {next(kind for kind in OTHER_FILES if kind.start.match(content)) for content, _ in OTHER_KINDS.values()}
    assert tried == {*OTHER_FILES}


def test_a_pointer_in_place_of_media_is_named(tmp_path: Path) -> None:
    name = "x.media/0123456789abcdef.png"
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_bytes(POINTER)
    with pytest.raises(
        media.DamagedMedia, match=f"^its media in {name} is not there: the file is a pointer of Git LFS"
    ):
        media.put_back({"call": "Converse", "request": {"image": {media.KEY: name}}}, tmp_path)


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        (".git/annex/objects/Wq/3z/KEY/KEY", "Run `git annex get x.jsonl`."),
        ("elsewhere.jsonl", "Restore that file, or remove the link."),
    ],
)
@pytest.mark.parametrize("mode", ["none", "once", "new_episodes"])
def test_a_link_to_a_file_that_is_not_there_is_not_recorded_over(
    tmp_path: Path, target: str, advice: str, mode: Mode
) -> None:
    path = tmp_path / "x.jsonl"
    path.symlink_to(target)
    with pytest.raises(DamagedRecording) as caught:
        open_session(path, mode)
    assert str(caught.value) == f"{path}:1: the file is a symbolic link to {target}, which is not there. {advice}"
    assert path.is_symlink()


@pytest.mark.parametrize("name", ILLEGAL)
def test_what_is_illegal_is_read_where_it_is_meant(name: str) -> None:
    lines = ILLEGAL[name][0].splitlines()
    call = {**json.loads(lines[1]), "faults": ["it is meant"]}
    (exchange,) = parse("\n".join([lines[0], json.dumps(call), *lines[2:]])).exchanges
    assert exchange.faults == ["it is meant"]
    assert faults_of(exchange)
    reply = reply_of(exchange)
    assert reply.plan.recorded is not None
    list(reply.plan.recorded.response.chunks)


def test_a_list_of_no_faults_allows_none() -> None:
    faulty = text(HEADER, {**CALL, "faults": []}, HEAD, TEXT)
    with pytest.raises(DamagedRecording, match="before any messageStart"):
        parse(faulty)


def test_many_problems_are_told_by_their_number() -> None:
    call, head, *events = STREAM[1:]
    bad = [{"t": 5, "messageStop": {"stopReason": str(number)}} for number in range(9)]
    found = faults_of(RecordedExchange(2, call, head, (*events[:1], *bad)))
    assert len(found) == MAX_PROBLEMS
    assert found[-1] == "and 5 more"


def test_the_botocore_that_recorded_decides_what_is_held_against_it() -> None:
    def read_with(botocore: str | None, body: dict[str, Any]) -> None:
        named = HEADER if botocore is None else {**HEADER, "botocore": botocore}
        parse(text(named, {**CALL, "operation": "Converse"}, {"t": 3, "status": 200, "body": body}))

    new_value, old_lack = {**ANSWER, "stopReason": "bored"}, without("usage", ANSWER)
    read_with("999.0", new_value)
    read_with("1.0", old_lack)
    for botocore, answer in (
        (None, new_value),
        (bedrock.botocore_version(), new_value),
        ("1.0", new_value),
        ("of somebody", new_value),
        (None, old_lack),
        (bedrock.botocore_version(), old_lack),
        ("999.0", old_lack),
    ):
        with pytest.raises(DamagedRecording):
            read_with(botocore, answer)


def test_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(stream(5, {"t": 1}))
    with pytest.raises(DamagedRecording, match="it has no event") as caught:
        recording(file).check()
    assert str(caught.value).startswith(f"{file}:5: ")
    assert isinstance(caught.value, DamagedData)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.path, again.line, again.problem) == (
        str(caught.value),
        file,
        5,
        "it has no event; a line has one, and beside it t, p, joined, payload, frame.",
    )


def test_bytes_that_are_no_text_are_found(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    data = text(*STREAM).encode()
    at = data.index(b"Chur")
    file.write_bytes(data[:at] + b"\xfc" + data[at:])
    with pytest.raises(DamagedRecording) as caught:
        read(file)
    assert str(caught.value) == (
        f"{file}:5: byte {at} of the file is not UTF-8. Save it as UTF-8, or record the session again."
    )
    file.write_bytes(text(*STREAM).encode("utf-16"))
    with pytest.raises(DamagedRecording, match=":1: byte 0 of the file is not UTF-8"):
        read(file)


def test_a_file_that_cannot_be_read_is_another_matter(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.jsonl")


def test_every_line_of_the_table_is_complete() -> None:
    for kind, (called, keys) in KINDS.items():
        assert called
        assert all(key.type in TYPES and key.meaning for key in keys.values())
        assert set(ONE_OF.get(kind, ())) <= set(keys)


def test_what_is_nested_deep_is_kept_as_text_and_read_again() -> None:
    deep = json.dumps(nested(DEEPEST + 1), separators=(",", ":")).encode()
    path = "/model/m/converse"
    captured = CapturedExchange(Request("POST", path, (), deep), status=200, headers=JSON_TYPE, pieces=[(deep, 0.1)])
    call, head = exchange_lines(captured, 1)
    assert call["requestText"] == head["bodyText"] == deep.decode()
    parse(text(HEADER, call, head))
    deepest = json.dumps(nested(DEEPEST), separators=(",", ":")).encode()
    captured = CapturedExchange(
        Request("POST", path, (), deepest), status=200, headers=JSON_TYPE, pieces=[(deepest, 0.1)]
    )
    call, head = exchange_lines(captured, 1)
    assert call["request"] == head["body"] == nested(DEEPEST)
    parse(text(HEADER, call, head))


def test_an_event_that_is_nested_deep_is_kept_as_its_frame() -> None:
    data = encode_event(
        {"messageStop": {"stopReason": "end_turn", "additionalModelResponseFields": nested(DEEPEST)}}, 5
    )
    asked = Request("POST", "/model/m/converse-stream", (), b"{}")
    captured = CapturedExchange(asked, status=200, headers=STREAM_TYPE, pieces=[(data, 0.1)])
    lines = exchange_lines(captured, 1)
    assert lines[2] == {"t": 100, "frame": base64_of(data)}
    parse(text(HEADER, *lines))


@pytest.mark.parametrize("name", ["call", "end", "status", "failed", "t", "p", "bytes", "frame", "payload", "joined"])
def test_an_event_that_is_named_as_a_key_of_lines_is_kept_as_its_frame(name: str) -> None:
    data = encode_event({name: {"status": 1}}, 5)
    captured = CapturedExchange(
        Request("POST", "/model/m/converse-stream", (), b"{}"), status=200, headers=STREAM_TYPE, pieces=[(data, 0.1)]
    )
    lines = exchange_lines(captured, 1)
    assert lines[2] == {"t": 100, "frame": base64_of(data)}
    (exchange,) = parse(text(HEADER, *lines)).exchanges
    assert exchange.faults == ["these bytes are no event of a stream."]


ODD = text(
    {**HEADER, "botocore": bedrock.botocore_version()},
    {**CALL, "query": "a=b", "headers": {"x-amzn-bedrock-trace": "ENABLED"}, "faults": ["all kinds of lines"]},
    {**HEAD, "headers": {"Content-Type": None, "retry-after": "3"}},
    START,
    {**TEXT, "payload": '{"delta":{"text":"From Chur"},"contentBlockIndex":0,"p":"abcdefg"}'},
    {"t": 414, "frame": base64_of(encode_event({"messageStart": {"role": "assistant"}}))},
    {"t": 414, ":error": {"code": "500", "message": "oh"}},
    {"t": 415, "bytes": "AAAA", "joined": True},
    {"t": 416, "end": "connection reset"},
    {"call": 2, "method": "GET", "path": "/x", "requestBase64": "AAAA"},
    {"t": 1, "status": 404, "bodyText": "no"},
    {**CALL, "call": 3},
    THROTTLED,
    {**SECOND, "call": 4},
    {"t": 3, "status": 200, "body": ANSWER},
    {**CALL, "call": 5},
    REFUSED,
).encode()

Damage = Callable[[bytes], bytes]


def replaced(at: int, byte: int) -> Damage:
    return lambda data: data[: at % len(data)] + bytes([byte]) + data[at % len(data) + 1 :]


def inserted(at: int, new: bytes) -> Damage:
    return lambda data: data[: at % len(data)] + new + data[at % len(data) :]


def cut(at: int, length: int) -> Damage:
    return lambda data: data[: at % len(data)] + data[at % len(data) + length :]


def moved(origin: int, target: int) -> Damage:
    def move(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        lines.insert(target % len(lines), lines.pop(origin % len(lines)))
        return b"".join(lines)

    return move


def value_replaced(line: int, key: int, new: Any) -> Damage:
    """Another value for one of the keys of a line."""

    def replace(data: bytes) -> bytes:
        rows = data.splitlines(keepends=True)
        members = json.loads(rows[line % len(rows)])
        members[list(members)[key % len(members)]] = new
        rows[line % len(rows)] = f"{json.dumps(members)}\n".encode()
        return b"".join(rows)

    return replace


places = st.integers(min_value=0, max_value=len(ODD))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=examples(5))
@given(
    damage=st.one_of(
        st.builds(replaced, places, st.integers(0, 255)),
        st.builds(
            inserted, places, st.sampled_from([b"{", b"[", b'"', b",", b"\n", b"\r", b"1", b"-", b"\\ud800", b"e9"])
        ),
        st.builds(cut, places, st.integers(1, 200)),
        st.builds(moved, places, places),
        st.builds(value_replaced, places, places, values),
    )
)
def test_a_damaged_file_is_read_or_refused_by_line(damage: Damage, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    file.write_bytes(damage(ODD))
    exchanges: tuple[RecordedExchange, ...] = ()
    line = 1
    try:
        exchanges = recording(file).check().exchanges
    except DamagedRecording as error:
        line = error.line
    assert 1 <= line <= ODD.count(b"\n") + 1
    for exchange in exchanges:
        reply = reply_of(exchange)
        assert reply.plan.recorded is not None
        assert reply.summary is not None
        assert all(isinstance(chunk.data, bytes) for chunk in reply.plan.recorded.response.chunks)


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "=======", ">>>>>>> other branch", "||||||| base", "=======\r"])
@pytest.mark.parametrize("at", [1, 3, 8])
def test_a_conflict_marker_of_git_is_named(tmp_path: Path, marker: str, at: int) -> None:
    """However a file is read, and in `check`."""
    file = tmp_path / "a.jsonl"
    lines = write(file, streamed(body(user("a")), "hi")).read_text(encoding="utf-8").splitlines()
    lines.insert(at - 1, marker)
    file.write_text("\n".join([*lines, ""]), newline="", encoding="utf-8")
    told = (
        f'this line is a conflict marker of git, "{marker.strip()}": resolve the conflict, or record the session again.'
    )
    for way in (read, open_file, recording):
        with pytest.raises(DamagedRecording) as raised:
            way(file)
        assert str(raised.value) == f"{file}:{at}: {told}"
    (finding,) = check_file(file).findings
    assert finding == CheckFinding(file, at, "format", told)
