"""Secrets in what is long, packed or known by a name alone; those of this process that are short or overlap."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.leaks import scan
from converse_harness.recordings.record.write import safe_lines
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets import encodings
from converse_harness.secrets.mask import MASK, mask
from converse_harness.secrets.process import own_secrets
from converse_harness.stream.frames import Frame, Header, HeaderType, encode
from tests.profiles import examples
from tests.secrets.planted import REFUSED, in_zip

TOKEN = REFUSED["a GitHub token"]
KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYNobodysKey"
LINE = "Ada wrote to the office of the harbour in Zürich, and got no answer. "
LONG = LINE * 80
"""More bytes than those of which each beginning is tried."""


def found(text: str) -> bool:
    return bool(scan([{"call": 1, "request": {"text": text}}], own=()))


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@given(
    before=st.text("abcXYZ01", max_size=7),
    place=st.sampled_from([0.0, 0.5, 1.0]),
    token=st.sampled_from([TOKEN, encoded(f"the key is {TOKEN}".encode()), TOKEN.replace("_", "%5F")]),
)
def test_a_long_text_in_base64_is_searched_wherever_it_begins(before: str, place: float, token: str) -> None:
    at = round(place * len(LONG))
    assert found(before + encoded(f"{LONG[:at]} {token} {LONG[at:]}".encode()))
    assert not found(before + encoded(LONG.encode()))


@settings(max_examples=examples(0.5))
@given(
    lengths=st.lists(st.sampled_from([1, 4096, 5000, 32_750, 70_000]), max_size=3),
    before=st.integers(0, 3),
    words=st.sampled_from([0, 500, 15_000]),
)
def test_a_secret_is_told_by_its_place_among_long_texts(lengths: list[int], before: int, words: int) -> None:
    texts = ["Ab" * length for length in lengths]
    texts.insert(before, f"{'word ' * words} the key is {TOKEN}{' word' * words}")
    (leak,) = scan([{f"text{number}": text for number, text in enumerate(texts)}], own=())
    assert (leak.path, leak.form) == (f"text{min(before, len(lengths))}", ())


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (TOKEN.replace("_", "%5F"), "percent-encoded"),
        (TOKEN.replace("_", "\\u005f"), "escaped"),
        (TOKEN.replace("_", "&#95;"), "HTML"),
        (json.dumps([{"value": KEY, "shown": "no", "name": "secretAccessKey"}]), "JSON"),
        (f"Ghzz{TOKEN.encode().hex()}", "hex"),
    ],
)
def test_how_a_secret_is_encoded_is_told(text: str, form: str) -> None:
    (leak,) = scan([{"text": text}], own=())
    assert (leak.path, leak.form) == ("text", (form,))


@given(st.integers(0, 6))
def test_encodings_in_each_other_are_undone(depth: int) -> None:
    text = TOKEN
    for _ in range(depth):
        text = encoded(text.encode())
    assert found(text)


def test_what_is_named_before_its_base64_is_found_wherever_it_stands() -> None:
    for before in range(150, 210):
        assert found(f"{'x' * before}\nsecretAccessKey: {encoded(KEY.encode())}")
    assert not found(f"something: {encoded(KEY.encode())}")


@given(st.integers(0, 3))
def test_every_member_of_what_is_compressed_is_searched(before: int) -> None:
    packed = b"".join(gzip.compress(LINE.encode(), mtime=0) for _ in range(before))
    assert found(encoded(packed + gzip.compress(TOKEN.encode(), mtime=0)))


@given(st.lists(st.integers(1, 90), min_size=1, max_size=4))
def test_all_members_together_are_unpacked_to_the_limit(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "MAX_BODY", 100)
        ((_, inner),) = encodings.unpacked(b"".join(gzip.compress(bytes(size), mtime=0) for size in sizes))
    assert len(inner) == min(sum(sizes), 100)


@pytest.mark.parametrize(
    ("asked", "compared"),
    [
        ({"secretAccessKey": KEY, "city": "Bern"}, {"secretAccessKey": MASK, "city": "Bern"}),
        ([["secretAccessKey", KEY], ["city", "Bern"]], [["secretAccessKey", MASK], ["city", "Bern"]]),
        ({"name": "secretAccessKey", "value": KEY}, {"name": "secretAccessKey", "value": MASK}),
    ],
)
def test_what_is_secret_by_its_name_is_masked_where_requests_are_compared(asked: Any, compared: Any) -> None:
    assert Redaction().normalised({"config": asked}) == {"config": compared}


def test_what_is_secret_by_its_name_is_masked_where_it_is_written() -> None:
    (line,) = Redaction().redacted([{"call": 1, "request": {"secretAccessKey": KEY, "city": "Bern"}}]).lines
    assert line["request"] == {"secretAccessKey": MASK, "city": "Bern"}


@given(
    before=st.text("abc ü\n\t?>", max_size=20),
    after=st.text("abc ü\n\t?>", max_size=20),
    encoder=st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
    padded=st.booleans(),
)
def test_a_secret_in_base64_is_masked_in_the_same_base64(
    before: str, after: str, encoder: Callable[[bytes], bytes], padded: bool
) -> None:
    def written(text: str) -> str:
        made = encoder(text.encode()).decode()
        return made if padded else made.rstrip("=")

    given_text, masked = written(f"{before} {TOKEN} {after}"), written(f"{before} {MASK} {after}")
    (line,) = Redaction().redacted([{"call": 1, "request": given_text}]).lines
    found_there = line["request"]
    if not padded and len(given_text) % 4 == 0:  # nothing says that it is without padding
        found_there = found_there.rstrip("=")
    if not {*"-_"} & {*given_text}:  # nor of which alphabet it is
        masked = masked.translate(str.maketrans("-_", "+/"))
    assert found_there == masked


def test_bytes_that_are_compressed_stay_beside_a_secret() -> None:
    packed = encoded(gzip.compress(b"\xff\xfe", mtime=0))
    lines: list[Line] = [{"call": 1, "request": TOKEN}, {"t": 1, "status": 200, "bodyBase64": packed}]
    call, head = Redaction().redacted(lines).lines
    assert (call["request"], head["bodyBase64"]) == (MASK, packed)


@pytest.mark.parametrize("payload", [b"{}", bytes(range(128, 256)) * 64], ids=["JSON", "an image"])
def test_what_is_encoded_in_the_header_of_a_frame_is_found(payload: bytes) -> None:
    header = Header("note", HeaderType.STRING, f"the key is {TOKEN.replace('_', '%5F')}, and no other")
    assert found(encoded(encode(Frame((header,), payload))))


@given(st.text("abc ü", max_size=20), st.text("abc ü", max_size=20))
def test_a_secret_in_a_compressed_body_is_masked_there(before: str, after: str) -> None:
    packed = gzip.compress(f"{before} {TOKEN} {after}".encode(), mtime=0)
    (line,) = Redaction().redacted([{"t": 1, "status": 200, "bodyBase64": encoded(packed)}]).lines
    made = gzip.decompress(base64.b64decode(line["bodyBase64"])).decode()
    assert made == f"{before} {MASK} {after}"


@pytest.mark.parametrize("kept", range(4))
def test_what_was_written_before_stays_whatever_it_holds(kept: int) -> None:
    hidden = encoded(in_zip(TOKEN))
    lines: list[Line] = [{"format": "converse-recording"}]
    for number in range(1, 4):
        lines.append({"call": number, "operation": "Converse", "modelId": "m", "request": hidden})
        lines.append({"t": 1, "status": 200, "body": {}})
    made = safe_lines(lines, Redaction(), 1 + 2 * kept if kept else 0)
    assert [each.number for each in made.left_out] == [*range(kept, 3)]
    assert [line["request"] for line in made.lines if "call" in line] == [hidden] * kept


@pytest.mark.parametrize("number", [210987654321, "210987654321"])
def test_an_account_beside_its_name_is_found_as_a_number_and_in_a_list(number: object) -> None:
    for value, path in ((number, "accountId"), ([1, number], "accountId[1]")):
        (leak,) = scan([{"accountId": value}], own=())
        assert (leak.kind, leak.path) == ("an AWS account id", path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_what_is_encoded_in_text_of_two_bytes_is_found(encoding: str) -> None:
    assert found(encoded(f"the key is {TOKEN.replace('_', '%5F')}".encode(encoding)))


def test_a_list_of_bytes_is_searched() -> None:
    data = [*f"the key is {TOKEN}".encode()]
    assert scan([{"call": 1, "request": {"blob": {"type": "Buffer", "data": data}}}], own=())
    assert scan([{"call": 1, "request": {"vector": [each + 256 for each in data]}}], own=()) == []


@given(st.integers(0, 3))
def test_the_streams_of_a_document_are_searched(before: int) -> None:
    def stream(data: bytes) -> bytes:
        return b"<</Filter/FlateDecode>>stream\r\n" + zlib.compress(data) + b"\nendstream\n"

    plain = stream(LINE.encode()) * before
    assert found(encoded(b"%PDF-1.7\n" + plain + stream(f"the key is {TOKEN}".encode())))
    assert not found(encoded(b"%PDF-1.7\n" + plain))


def spoken(index: int, text: str) -> Line:
    """A chunk of a model's own stream, in which blocks come in turns."""
    event = {"type": "content_block_delta", "index": index, "delta": {"text": text}}
    return {"t": 1, "chunk": {"bytes": encoded(json.dumps(event).encode())}}


@given(cuts=st.sets(st.integers(1, len(TOKEN) - 1), min_size=1, max_size=4), streams=st.integers(0, 2))
def test_a_secret_in_the_pieces_of_one_of_several_blocks_is_found_where_its_stream_begins(
    cuts: set[int], streams: int
) -> None:
    places = [0, *sorted(cuts), len(TOKEN)]
    head: list[Line] = [{"call": 1, "operation": "InvokeModelWithResponseStream"}, {"t": 0, "status": 200}]
    plain = [*head, spoken(0, "Ada "), spoken(0, "wrote ")]
    lines = [line for _ in range(streams) for line in plain] + head
    for start, end in pairwise(places):
        lines += [spoken(0, TOKEN[start:end]), spoken(1, "Ada wrote. ")]
    assert {leak.line for leak in scan(lines, own=()) if leak.kind == "a GitHub token"} == {len(plain) * streams + 3}


@pytest.mark.parametrize("unseen", ["\u200b", "\U000e0041"], ids=["of no width", "a tag beyond U+FFFF"])
@given(at=st.integers(1, len(TOKEN) - 1), depth=st.integers(1, 3))
@settings(max_examples=examples(0.1))
def test_an_unseen_character_hides_no_secret_however_often_json_escapes_it(unseen: str, at: int, depth: int) -> None:
    text = TOKEN[:at] + unseen + TOKEN[at:]
    for _ in range(depth):
        text = json.dumps(text)
    assert found(text)


# Of this process


@pytest.mark.parametrize(("value", "kept"), [("ab3-567", False), ("ab3-5678", True), ("ab3-56789", True)])
def test_a_value_of_eight_characters_is_worth_hiding(value: str, kept: bool) -> None:
    assert (value in own_secrets({"X_TOKEN": value})) is kept


@given(before=st.sampled_from(["", " ", "x", "7", "-"]), after=st.sampled_from(["", " ", "x", "7", "-"]))
def test_a_short_secret_is_one_only_as_a_whole_word(before: str, after: str) -> None:
    word = before.isalnum() or after.isalnum()
    text = f"{before}s3cr3t-4a2{after}"
    assert mask(text, own={"s3cr3t-4a2"}) == (text if word else f"{before}{MASK}{after}")


@given(st.integers(0, 12))
def test_secrets_that_overlap_are_masked(gap: int) -> None:
    one, other = "correct horse battery", "horse battery staple"
    said = f"It is {one}, {' ' * gap}{other} and correct horse battery staple."
    (line,) = Redaction().redacted([{"call": 1, "request": {"text": said}}], own={one, other}).lines
    assert one not in line["request"]["text"]
    assert other not in line["request"]["text"]
    assert line["request"]["text"].startswith(f"It is {MASK}, {' ' * gap}{MASK} and {MASK}")
    assert line["request"]["text"].count(MASK) == 3
