"""Files in requests are recorded and played by their length and their SHA-256; nothing else of them is kept."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from converse_harness import Endpoint, Redaction, bedrock, recording
from converse_harness.cli import main
from converse_harness.recordings import digest
from converse_harness.recordings.digest import FileDigest
from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.format.media import KEY, by_digest, put_back, set_aside
from converse_harness.recordings.format.read import parse, read
from converse_harness.recordings.play.play import Recording
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.write import SessionWriter, header, said_of_masked, store
from converse_harness.stream.http import Request
from converse_strategies import converse_requests
from tests.profiles import examples
from tests.recordings.asking import as_stored, body, exchange, json_of, request, result, use, user
from tests.recordings.format.test_media import put_back_all
from tests.secrets.planted import REFUSED

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ANSWER = b'{"output":{}}'


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def random_bytes(seed: int, length: int) -> bytes:
    """Bytes that occur in no other text by chance."""
    return hashlib.shake_256(str(seed).encode()).digest(length)


def image(data: bytes, format: str = "png") -> dict[str, Any]:
    return {"image": {"format": format, "source": {"bytes": base64_of(data)}}}


def document(data: bytes, name: str = "plan") -> dict[str, Any]:
    return {"document": {"format": "pdf", "name": name, "source": {"bytes": base64_of(data)}}}


def written(data: bytes, **more: str) -> dict[str, Any]:
    """What a recording has in place of a file."""
    return {"$file": {**more, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}}


def recorded(path: Path, *asked: Request, **options: Any) -> SessionWriter:
    """A writer whose service answered these requests."""
    headers = (("Content-Type", "application/json"),)
    captured = [CapturedExchange(each, status=200, headers=headers, pieces=[(ANSWER, 0.1)]) for each in asked]
    return SessionWriter(path, captured=captured, **options)


def answers(path: Path, asked: Any, **how: Any) -> bool:
    """Whether a recording answers a request."""
    return Endpoint(recording(path, **how)).exchange(request(asked)).response.status == 200


places = st.sampled_from([image, document, lambda data: {"toolResult": {"toolUseId": "a", "content": [image(data)]}}])


@settings(max_examples=examples(0.5))
@given(converse_requests(), places, st.integers(0, 9999), st.integers(12, 5000), st.data())
def test_a_file_is_played_by_its_digest_and_no_part_of_it_is_written(
    drawn: dict[str, Any], place: Any, seed: int, length: int, data: st.DataObject
) -> None:
    """Whatever else is asked: with one other byte it is another request. The recording has no part of the file."""
    file = random_bytes(seed, length)
    model, asked = json_of(drawn)
    asked["messages"][-1]["content"].append(place(file))
    text = as_stored(recorded(Path("trip.jsonl"), request(asked, model=model)))
    assert not any(base64_of(file)[start : start + 16] in text for start in range(0, len(base64_of(file)) - 15, 4))
    assert not any(run in text.encode() or run.hex() in text for run in (file[:12], file[-12:]))
    assert json.dumps(written(file)["$file"]) in text
    session = Recording(Path("trip.jsonl"), parse(text), "exact")
    assert Endpoint(session).exchange(request(asked, model=model)).response.status == 200
    at = data.draw(st.integers(0, length - 1))
    other = file[:at] + bytes([file[at] ^ 1]) + file[at + 1 :]
    asked["messages"][-1]["content"][-1] = place(other)
    assert Endpoint(session).exchange(request(asked, model=model)).response.status == 400


SMALL, LONG = random_bytes(1, 20), random_bytes(2, 4000)


@pytest.mark.parametrize("data", [SMALL, LONG, b""], ids=["small", "long", "empty"])
@pytest.mark.parametrize(
    "block",
    [
        {"image": {"format": "png", "source": {"bytes": "@"}}},
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": "@"}}},
        {"video": {"format": "mp4", "source": {"bytes": "@"}}},
        {"toolResult": {"toolUseId": "a", "content": [{"document": {"name": "a", "source": {"bytes": "@"}}}]}},
        {"guardContent": {"image": {"format": "png", "source": {"bytes": "@"}}}},
        {"image": {"format": 5, "source": {"bytes": "@"}}},
    ],
)
def test_which_members_are_files(block: dict[str, Any], data: bytes) -> None:
    with_bytes, with_digest = (
        json.loads(json.dumps(block).replace('"@"', json.dumps(each))) for each in (base64_of(data), written(data))
    )
    lines = [by_digest({"call": 1, "operation": "ConverseStream", "request": body(user(with_bytes))})]
    found, files = set_aside(lines, Path("trip.jsonl"))
    assert (found[0]["request"], files) == (body(user(with_digest)), {})
    assert [put_back(found[0], Path())] == lines


@pytest.mark.parametrize("data", [SMALL, LONG], ids=["small", "long"])
@pytest.mark.parametrize(
    "block",
    [
        {"text": "@"},
        {"document": {"format": "txt", "name": "a", "source": {"text": "@"}}},
        {"document": {"format": "txt", "name": "a", "source": {"content": [{"text": "@"}]}}},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "@"}}}},
        {"reasoningContent": {"redactedContent": "@"}},
        {"toolUse": {"toolUseId": "a", "name": "b", "input": {"source": {"bytes": "@"}}}},
        {"image": {"format": "png", "source": {"bytes": "no base64: @"}}},
    ],
)
def test_what_is_no_file_stays(block: dict[str, Any], data: bytes) -> None:
    line = {"call": 1, "operation": "Converse", "request": body(user(json_with(block, base64_of(data))))}
    assert by_digest(line) == line


def json_with(value: Any, text: str) -> Any:
    return json.loads(json.dumps(value).replace("@", text))


def test_base64_with_line_ends_is_the_same_file() -> None:
    folded = base64.encodebytes(LONG).decode()
    line = {"call": 1, "operation": "Converse", "request": body(user({"image": {"source": {"bytes": folded}}}))}
    assert by_digest(line)["request"]["messages"][0]["content"][0]["image"]["source"]["bytes"] == FileDigest.of(LONG)


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"type": "base64", "media_type": "image/jpeg", "data": base64_of(LONG)}, {"data": written(LONG)}),
        (
            {"url": f"data:image/png;base64,{base64_of(LONG)}"},
            {"url": written(LONG, before="data:image/png;base64,")},
        ),
        ({"data": base64_of(SMALL)}, {}),
        (
            {"signature": base64_of(LONG)},
            {"signature": {KEY: f"trip.media/{hashlib.sha256(LONG).hexdigest()[:16]}.bin"}},
        ),
        ({"text": "word " * 2000}, {}),
    ],
    ids=["base64", "data URL", "short", "signature", "text"],
)
def test_long_base64_is_a_file_where_no_model_describes_the_request(part: Any, kept: Any) -> None:
    line = by_digest({"call": 1, "operation": "InvokeModel", "request": {"messages": [part]}})
    (found,), _ = set_aside([line], Path("trip.jsonl"))
    assert found["request"] == {"messages": [part | kept]}
    if "$file" in json.dumps(kept):
        assert put_back(found, Path()) == line


def test_other_operations_that_the_model_describes() -> None:
    for operation, asked in {
        "CountTokens": {"input": {"converse": body(user(image(SMALL)))}},
        "ApplyGuardrail": {"source": "INPUT", "content": [image(SMALL)]},
    }.items():
        if operation in bedrock.operations():
            line = by_digest({"call": 1, "operation": operation, "request": asked})
            assert base64_of(SMALL) not in json.dumps(line)


like_a_digest = st.fixed_dictionaries({"bytes": st.integers(0, 9), "sha256": st.sampled_from(["0" * 64, "x"])})
json_values = st.recursive(
    st.none() | st.sampled_from(["", base64_of(LONG), "trip.media/0123456789abcdef.png"]) | like_a_digest,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([KEY, digest.KEY, "bytes", "source"]), inner, max_size=3)
    ),
)


@example({digest.KEY: {"bytes": 1, "sha256": "0" * 64}}, "Converse")
@example({digest.KEY: {digest.KEY: {}}}, "InvokeModel")
@example({digest.KEY: {KEY: "trip.media/0123456789abcdef.png"}}, "Converse")
@given(json_values, st.sampled_from(["Converse", "InvokeModel", "GET /x"]))
def test_nothing_of_the_application_is_mistaken_for_a_file(value: Any, operation: str) -> None:
    call = by_digest({"call": 1, "operation": operation, "request": {"tool": value}})
    lines: list[Line] = [call, {"t": 1, "status": 400, "body": {"tool": value}}]
    found, files = set_aside(lines, Path("trip.jsonl"))
    assert put_back_all(json.loads(json.dumps(found)), files) == lines


@pytest.mark.parametrize(
    "old",
    [
        {"$file": "readme.md"},
        {"$file": {"path": "readme.md"}},
        {"$file": {"bytes": "12", "sha256": "0" * 64}},
        {"$file": {"bytes": 12, "sha256": "0" * 63}},
        {"$file": {"bytes": 12, "sha256": "0" * 64}, "name": "a"},
    ],
)
def test_such_a_key_in_an_older_recording_is_the_applications(old: Any) -> None:
    line = {"call": 1, "operation": "Converse", "request": body(user({"json": old}))}
    assert put_back(line, Path()) == line


def test_the_mismatch_tells_both_files(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    recorded(path, request(body(user(image(LONG))))).save()
    asked = request(body(user(image(SMALL))))
    endpoint = Endpoint(recording(path, match="exact"))
    endpoint.exchange(asked)
    message = str(endpoint.problems[0])
    long, small = (hashlib.sha256(each).hexdigest()[:16] for each in (LONG, SMALL))
    place = "messages[0].content[0].image.source.bytes"
    assert f'- {place}  "4,000 bytes sha256:{long}..."' in message
    assert f'+ {place}  "20 bytes sha256:{small}..."' in message


def test_a_secret_in_a_file_costs_nothing_and_one_in_its_name_is_masked(tmp_path: Path) -> None:
    secret = REFUSED["a GitHub token"]
    path = tmp_path / "trip.jsonl"
    asked = body(user(document(secret.encode(), f"plan {secret}"), image(b"\x89PNG" + secret.encode())))
    writer = recorded(path, request(asked))
    writer.save()
    text = path.read_text()
    assert secret not in text
    assert base64_of(secret.encode())[:16] not in text
    assert said_of_masked(writer.written.masked, "it").splitlines()[1:] == [
        "  it:3: request.messages[0].content[0].document.name: a GitHub token"
    ]
    assert answers(path, asked, match="exact")


def test_replacements_and_masks_do_not_touch_a_digest(tmp_path: Path) -> None:
    """The digest is that of the bytes as sent, although each digit in all texts is replaced."""
    redaction = Redaction({re.compile(r"\d"): "x"})
    data = b"account 210987654321 of cust-7"
    path = tmp_path / "trip.jsonl"
    asked = body(user(document(data, "a7")))
    recorded(path, request(asked), redaction=redaction).save()
    found = json.loads(path.read_text().splitlines()[1])["is"]["content"][0]["document"]
    assert (found["source"]["bytes"], found["name"]) == (written(data), "ax")
    assert answers(path, asked, match="exact", redaction=redaction)
    recorded(path, request(body(user("new"))), before=read(path).exchanges, keeps=True, redaction=redaction).save()
    assert answers(path, asked, match="exact", redaction=redaction)


def test_kept_files_are_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    asked = body(user(image(LONG), document(SMALL)))
    recorded(path, request(asked), keep_files=True).save()
    (file,) = tmp_path.glob("trip.media/*.png")
    assert file.read_bytes() == LONG
    assert base64_of(SMALL) in path.read_text()
    assert "$file" not in path.read_text()
    assert answers(path, asked, match="exact")
    assert not answers(path, body(user(image(SMALL), document(SMALL))), match="exact")


def test_a_recording_may_have_both(tmp_path: Path) -> None:
    """Exchanges that were recorded with files keep them if others are added, and all are compared exactly."""
    path = tmp_path / "trip.jsonl"
    first, second = (body(user(image(data))) for data in (LONG, LONG[::-1]))
    recorded(path, request(first), keep_files=True).save()
    recorded(path, request(second), before=read(path).exchanges, keeps=True).save()
    one, other = (line["is"]["content"][0] for line in map(json.loads, path.read_text().splitlines()) if "part" in line)
    assert KEY in one["image"]["source"]["bytes"]
    assert other["image"]["source"]["bytes"] == written(LONG[::-1])
    assert answers(path, first, match="exact")
    assert answers(path, second, match="exact")
    assert not answers(path, body(user(image(SMALL))), match="exact")


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_recorded_again(before: bool, after: bool, tmp_path: Path) -> None:
    """An unchanged exchange keeps its files; only if files are wanted now, they take the place of digests."""
    path = tmp_path / "trip.jsonl"
    asked = request(body(user(image(LONG))))
    recorded(path, asked, keep_files=before).save()
    old = path.read_text()
    recorded(path, asked, keep_files=after).save()
    assert (path.read_text() == old) == (before or not after)
    assert ("$media" in path.read_text()) == (before or after)
    recorded(path, request(body(user(image(LONG[::-1])))), keep_files=after).save()
    assert ("$media" in path.read_text()) == after


def shown(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    capsys.readouterr()
    assert main([str(each) for each in arguments]) == code
    return capsys.readouterr().out


def test_files_are_shown_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = tmp_path / "trip.jsonl", tmp_path / "other.jsonl"
    inner = {"toolResult": {"toolUseId": "a", "content": [image(SMALL)]}}
    recorded(path, request(body(user(image(LONG), document(SMALL), inner)))).save()
    recorded(other, request(body(user(image(LONG), document(LONG), inner)))).save()
    long, small = (hashlib.sha256(each).hexdigest()[:16] for each in (LONG, SMALL))
    for command in (["show"], ["show", "--stable"]):
        text = shown(capsys, *command, path)
        assert re.search(rf"image +png 4,000 bytes sha256:{long}\.\.\.\n", text)
        assert re.search(rf"document +plan pdf 20 bytes sha256:{small}\.\.\.\n", text)
        assert "".join(text.split()).count(f"20bytessha256:{small}...") == 2
        assert hashlib.sha256(LONG).hexdigest()[:17] not in text
    text = shown(capsys, "diff", path, other, code=1)
    assert f'"20 bytes sha256:{small}..."' in text
    assert f'"4,000 bytes sha256:{long}..."' in text


def with_digests(folder: Path) -> Path:
    """A recording whose request has an image and a document by digest."""
    path = folder / "trip.jsonl"
    call = {"operation": "Converse", "modelId": CLAUDE, "request": body(user(image(LONG), document(SMALL), "What?"))}
    store(path, [header(), by_digest({"call": 1, **call}), *exchange({})[1:]])
    return path


def test_nothing_is_found_in_a_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing found" in shown(capsys, "check", with_digests(tmp_path))


def test_a_digest_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a secret of the process with the same digits does not change it."""
    monkeypatch.setenv("MY_TOKEN", hashlib.sha256(SMALL).hexdigest())
    path = tmp_path / "trip.jsonl"
    asked = body(user(image(SMALL)))
    writer = recorded(path, request(asked))
    writer.save()
    assert not writer.written.masked
    assert json.dumps(written(SMALL)) in path.read_text()
    assert answers(path, asked, match="exact")


def test_a_digest_stays_one_where_the_ids_of_an_older_session_are_written(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    for number in (1, 2):
        name = f"tooluse_{number}_kZJMlvQmRJ6eAyJE5GIl7Q"
        recorded(path, request(body(user(image(SMALL)), use(name), result(name, f"{number} °C")))).save()
    text = path.read_text()
    assert "tooluse_1_" in text
    assert "tooluse_2_" not in text
    assert text.count(json.dumps(written(SMALL))) == 1


@pytest.mark.parametrize("usual", [True, False], ids=["as recorded", "edited"])
def test_kept_files_with_masks_are_compared_with_masks(usual: bool, tmp_path: Path) -> None:
    """A digest of the masked bytes would not be that of the bytes which the test sends."""
    path = tmp_path / "trip.jsonl"
    asked = body(user(document(f"The key is {REFUSED['a GitHub token']}.".encode())))
    recorded(path, request(asked), keep_files=True).save()
    if not usual:
        path.write_text(path.read_text().replace('{"call"', '{ "call"'))
    assert base64_of(b"The key is ***.") in path.read_text()
    assert answers(path, asked, match="exact")
