"""Media of a recording lies beside it, by hash; reading puts it back, or says what is wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import DamagedData, bedrock, chunk
from converse_harness.recordings.format import media
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.media import KEY, THRESHOLD, put_back, references, set_aside
from converse_harness.recordings.format.read import DamagedRecording, read
from converse_harness.recordings.record import write
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.write import SessionWriter, header, safe_lines, store
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets.accounts import stand_in
from converse_harness.stream.events import encode_event, read_event
from converse_harness.stream.frames import decode
from converse_harness.stream.http import Request
from tests.secrets.planted import REFUSED

LARGE = bytes(range(256)) * 13
SMALL = LARGE[: THRESHOLD // 4 * 3]
NAME = f"trip.media/{hashlib.sha256(LARGE).hexdigest()[:16]}.png"


ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": "I see."}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes, format: str = "png") -> dict[str, Any]:
    return {"image": {"format": format, "source": {"bytes": text_of(data)}}}


def exchange(
    content: list[dict[str, Any]], body: Any = None, operation: str = "Converse", status: int = 200
) -> list[Line]:
    request = {"messages": [{"role": "user", "content": content}]}
    return [
        header(),
        {"call": 1, "operation": operation, "modelId": "amazon.nova-lite-v1:0", "request": request},
        {"t": 5, "status": status, "body": {**ANSWER, **(body or {})}},
    ]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_long_media_is_beside_the_recording(tmp_path: Path) -> None:
    answer = {"output": {"message": {"role": "assistant", "content": [image(LARGE)]}}}
    lines = exchange([image(LARGE), image(SMALL), {"text": text_of(LARGE)}], answer)
    path = tmp_path / "trip.jsonl"
    text = store(path, lines)
    assert path.read_text() == text
    assert set(files_of(tmp_path)) == {"trip.jsonl", NAME}
    assert (tmp_path / NAME).read_bytes() == LARGE
    first, second, third = json.loads(text.splitlines()[1])["is"]["content"]
    assert first["image"] == {"format": "png", "source": {"bytes": {KEY: NAME}}}
    assert (second, third) == (image(SMALL), {"text": text_of(LARGE)})
    (found,) = read(path).exchanges
    assert [*found.lines()] == lines[1:]


@pytest.mark.parametrize(
    ("block", "suffix"),
    [
        ({"document": {"format": "pdf", "name": "a", "source": {"bytes": "@"}}}, "pdf"),
        ({"video": {"format": "mp4", "source": {"bytes": "@"}}}, "mp4"),
        (
            {"toolResult": {"toolUseId": "a", "content": [{"image": {"format": "webp", "source": {"bytes": "@"}}}]}},
            "webp",
        ),
        ({"reasoningContent": {"redactedContent": "@"}}, "bin"),
        ({"image": {"format": "../../x", "source": {"bytes": "@"}}}, "bin"),
        ({"image": {"format": 5, "source": {"bytes": "@"}}}, "bin"),
    ],
)
def test_what_media_there_is(block: dict[str, Any], suffix: str) -> None:
    lines = exchange([json.loads(json.dumps(block).replace("@", text_of(LARGE)))])
    found, files = set_aside(lines, Path("trip.jsonl"))
    assert [name.rpartition(".")[2] for name in files] == [suffix]
    assert text_of(LARGE) not in json.dumps(found)


@pytest.mark.parametrize(
    "block",
    [
        {"text": "@"},
        {"toolUse": {"toolUseId": "a", "name": "b", "input": {"bytes": "@"}}},
        {"toolResult": {"toolUseId": "a", "content": [{"json": {"bytes": "@"}}]}},
        {"unknown": {"bytes": "@"}},
        {"image": {"format": "png", "source": {"bytes": "@\n"}}},
        {"image": {"format": "png", "source": {"bytes": "no base64! " * 1000}}},
    ],
)
def test_what_is_no_media_stays_on_its_line(block: dict[str, Any]) -> None:
    lines = exchange([json.loads(json.dumps(block).replace("@", text_of(LARGE)))])
    assert set_aside(lines, Path("trip.jsonl")) == (lines, {})


def test_media_in_the_body_of_an_invoked_model() -> None:
    source = {"type": "base64", "media_type": "image/jpeg", "data": text_of(LARGE)}
    lines = exchange([{"type": "image", "source": source}], operation="InvokeModel")
    found, files = set_aside(lines, Path("trip.jsonl"))
    assert [name.rpartition(".")[2] for name in files] == ["jpeg"]
    assert put_back_all(found, files) == lines


streams_images = pytest.mark.skipif(
    not bedrock.has_member("ContentBlockDelta", "image"), reason="this botocore knows no images in streams"
)


@streams_images
def test_media_that_streams() -> None:
    delta = {"contentBlockIndex": 0, "delta": {"image": {"source": {"bytes": text_of(LARGE)}}}}
    lines: list[Line] = [*exchange([]), {"t": 6, "contentBlockDelta": delta, "p": 4}]
    found, files = set_aside(lines, Path("trip.jsonl"))
    assert len(files) == 1
    assert put_back_all(found, files) == lines
    kept = [*lines[:-1], lines[-1] | {"payload": json.dumps({**delta, "p": "abcd"}, indent=1)}]
    assert set_aside(kept, Path("trip.jsonl")) == (kept, {})


def put_back_all(lines: list[Line], files: dict[str, bytes]) -> list[Line]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            place = Path(folder, name)
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        return [put_back(line, Path(folder)) for line in lines]


json_values = st.recursive(
    st.none() | st.integers() | st.sampled_from(["", text_of(LARGE), NAME, "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([KEY, "bytes", "image", "source", "format"]), inner, max_size=3)
    ),
)


@given(json_values, json_values, st.sampled_from(["Converse", "InvokeModel", "GET /x"]))
def test_nothing_is_mistaken_for_media_that_is_aside(request: Any, members: Any, operation: str) -> None:
    lines: list[Line] = [
        {"call": 1, "operation": operation, "request": request},
        {"t": 1, "status": 200, "body": members},
        {"t": 1, "messageStart": {"a": members, "role": request}},
    ]
    found, files = set_aside(lines, Path("trip.jsonl"))
    assert put_back_all(found, files) == lines
    assert {name for line in found for name in references(line)} == set(files)


def test_media_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    lines = exchange([image(LARGE), image(LARGE)])
    store(path, lines)
    before = (tmp_path / NAME).stat()
    store(path, lines)
    assert (tmp_path / NAME).stat().st_ino == before.st_ino
    (tmp_path / NAME).write_bytes(b"damaged")
    store(path, lines)
    assert (tmp_path / NAME).read_bytes() == LARGE


def captured(data: bytes, account: str) -> CapturedExchange:
    arn = f"arn:aws:bedrock:us-east-1:{account}:application-inference-profile/{account[:2]}"
    body = json.dumps({"messages": [{"role": "user", "content": [image(data), {"text": arn}]}]}).encode()
    headers = (("Content-Type", "application/json"),)
    return CapturedExchange(
        Request("POST", "/model/m/converse", (), body), status=200, headers=headers, pieces=[(b"{}", 0.1)]
    )


def test_a_recording_with_media_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    SessionWriter(path, captured=[captured(LARGE, "210987654321")], keep_files=True).save()
    first = path.read_text().splitlines()[1:]
    more = [captured(LARGE, "210987654321")]
    writer = SessionWriter(path, read(path).exchanges, keeps=True, captured=more, keep_files=True)
    writer.save()
    writer.captured.append(captured(LARGE[::-1], "999988887777"))
    writer.save()
    writer.save()
    assert path.read_text().splitlines()[1:4] == first
    found = read(path).exchanges
    assert [each.request["messages"][0]["content"][0] for each in found] == [
        image(LARGE),
        image(LARGE),
        image(LARGE[::-1]),
    ]
    accounts = [each.request["messages"][0]["content"][1]["text"].split(":")[4] for each in found]
    assert accounts == [stand_in(1), stand_in(1), stand_in(2)]
    assert len(files_of(tmp_path)) == 3
    assert [name for line in map(json.loads, path.read_text().splitlines()) for name in references(line)].count(
        NAME
    ) == 1  # two calls have the message


def test_a_recording_beside_another_has_its_own_media(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "trip.jsonl", captured=[captured(LARGE, "210987654321")], keep_files=True)
    writer.save(tmp_path / "trip.failed.jsonl")
    assert set(files_of(tmp_path)) == {"trip.failed.jsonl", NAME.replace("trip.media", "trip.failed.media")}
    assert len(read(tmp_path / "trip.failed.jsonl").exchanges) == 1


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trip.jsonl"
    store(path, exchange([image(LARGE)]))
    before = files_of(tmp_path)
    writes = write.write

    def full(place: Path, content: str | bytes) -> None:
        if place == path:
            raise OSError(28, "No space left on device")
        writes(place, content)

    monkeypatch.setattr(write, "write", full)
    with pytest.raises(OSError, match="No space left"):
        store(path, exchange([image(LARGE), image(LARGE + b"x")]))
    assert files_of(tmp_path) == before
    (tmp_path / "new").mkdir()
    path = tmp_path / "new" / "trip.jsonl"
    with pytest.raises(OSError, match="No space left"):
        store(path, exchange([image(LARGE)]))
    assert list((tmp_path / "new").iterdir()) == []


def test_a_secret_in_media_costs_the_exchange() -> None:
    lines = exchange([image(LARGE + REFUSED["a GitHub token"].encode())])
    (left_out,) = safe_lines(lines, Redaction()).left_out
    assert [str(leak) for leak in left_out.leaks] == [
        "request.messages[0].content[0].image.source.bytes: a GitHub token, in base64 form"
    ]


def damaged(tmp_path: Path, reference: str) -> str:
    path = tmp_path / "trip.jsonl"
    store(path, exchange([image(LARGE)]))
    path.write_text(path.read_text().replace(NAME, reference))
    with pytest.raises(DamagedRecording) as found:
        read(path)
    assert isinstance(found.value, DamagedData)
    assert (found.value.path, found.value.line) == (path, 2)
    return str(found.value)


def test_media_that_is_gone(tmp_path: Path) -> None:
    gone = NAME.replace("trip.media/", "trip.media/trip.media/")
    assert damaged(tmp_path, gone) == (
        f"{tmp_path}/trip.jsonl:2: its media in {gone} cannot be read (No such file or directory). "
        "Mend the line, or record the session again."
    )


def test_media_that_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    store(path, exchange([image(LARGE)]))
    (tmp_path / NAME).write_bytes(LARGE + b"x")
    with pytest.raises(DamagedRecording) as found:
        read(path)
    actual = hashlib.sha256(LARGE + b"x").hexdigest()[:16]
    assert str(found.value) == (
        f"{path}:2: its media in {NAME} was changed: its SHA-256 begins with {actual}. If that is meant, give the file "
        "this name, here as well. Mend the line, or record the session again."
    )
    new = NAME.replace(NAME[11:27], actual)
    (tmp_path / NAME).rename(tmp_path / new)
    path.write_text(path.read_text().replace(NAME, new))
    (exchange_,) = read(path).exchanges
    assert exchange_.request["messages"][0]["content"] == [image(LARGE + b"x")]


@pytest.mark.parametrize(("sent", "checked_out"), [(b"\r\n", b"\n"), (b"\n", b"\r\n")], ids=["eol=lf", "eol=crlf"])
def test_line_ends_that_git_converted(sent: bytes, checked_out: bytes, tmp_path: Path) -> None:
    table = b"city,degrees" + sent + (b"Chur,18" + sent) * THRESHOLD
    document = {"document": {"format": "csv", "name": "cities", "source": {"bytes": text_of(table)}}}
    store(tmp_path / "trip.jsonl", exchange([document]))
    (beside,) = tmp_path.glob("*/*.csv")
    beside.write_bytes(table.replace(sent, checked_out))
    (read_again,) = read(tmp_path / "trip.jsonl").exchanges
    assert read_again.request["messages"][0]["content"] == [document]


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "/etc/passwd",
        f"/{NAME}",
        f"../{NAME}",
        f"trip.media/../../{NAME}",
        f"trip.media\\{NAME[11:]}",
        f"C:{NAME}",
        "trip.media/passwd",
        "trip.media/0123456789abcdef",
        "trip.media/0123456789ABCDEF.png",
        f"trip.media//{NAME[11:]}",
    ],
)
def test_a_name_that_leads_elsewhere(tmp_path: Path, reference: str) -> None:
    message = damaged(tmp_path, json.dumps(reference)[1:-1])
    assert f"{reference!r} is no name of a file with media: that is relative, stays in the folder" in message


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_that_leads_out_of_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "recordings"
    inside.mkdir()
    store(inside / "trip.jsonl", exchange([image(LARGE)]))
    (inside / NAME).rename(tmp_path / "elsewhere")
    (inside / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRecording, match="leads out of the folder of the recording"):
        read(inside / "trip.jsonl")


def test_folders_by_the_names_of_recordings() -> None:
    assert media.folder_of(Path("a/trip.failed.jsonl")) == "trip.failed.media"


@pytest.mark.parametrize("megabytes", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_megabytes_go_aside_and_come_back(tmp_path: Path, megabytes: int) -> None:
    photo = hashlib.shake_256(b"photo").digest(megabytes * 1024 * 1024)
    lines = exchange([image(photo)])
    store(tmp_path / "trip.jsonl", lines)
    (found,) = read(tmp_path / "trip.jsonl").exchanges
    assert found.request == lines[1]["request"]


@streams_images
def test_an_image_in_a_stream_is_read_as_it_was_sent(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": [{"image": {"format": "png", "source": {"bytes": LARGE}}}]}
    lines = [*exchange([], operation="ConverseStream")[:2], {"t": 1, "status": 200}]
    frames = [encode_event(event, 3) for event in chunk(message)]
    for frame in frames:
        name, members, padding = read_event(decode(frame))
        lines.append({"t": 2, name: members, "p": padding})
    store(tmp_path / "trip.jsonl", lines)
    (found,) = read(tmp_path / "trip.jsonl").exchanges
    assert [*found.lines()] == lines[1:]
