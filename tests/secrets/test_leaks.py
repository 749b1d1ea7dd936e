"""Nothing that is a secret is overlooked, however it is encoded; nothing else is taken for one."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from converse_harness.recordings.format.lines import Line
from converse_harness.recordings.leaks import scan
from converse_harness.recordings.record.write import SafeLines, safe_lines, said_of_left_out, said_of_masked
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets import encodings, process
from converse_harness.secrets.kinds import KINDS, SecretKind
from converse_harness.secrets.leaks import OWN_SECRET, Leak
from converse_harness.secrets.mask import mask, matches
from converse_harness.secrets.process import remember
from converse_strategies import converse_requests, stream_events
from tests.profiles import examples
from tests.secrets.planted import FORMS, LONG, MASKED, REFUSED, in_zip, texts_of


def call(text: str) -> list[dict[str, Any]]:
    return [{"format": "x"}, {"call": 1, "request": {"messages": [{"content": [{"text": text}]}]}}]


PLACE = "request.messages[0].content[0].text"


@pytest.mark.parametrize("name", [*REFUSED, *MASKED])
def test_every_kind_is_found_in_every_form(name: str) -> None:
    for form, formed in FORMS.items():
        found = scan(call(formed({**MASKED, **REFUSED}[name])), own=())
        assert {(leak.line, leak.path) for leak in found} == {(2, PLACE)}, form
        assert any(name.startswith(leak.kind) for leak in found), (form, found)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=examples(0.25))
@given(data=st.data(), spaces=st.sampled_from([0, 2**18]))
def test_whatever_the_pattern_of_a_kind_matches_has_one_of_its_hints(
    kind: SecretKind, data: st.DataObject, spaces: int
) -> None:
    # What is looked ahead to is drawn as well.
    text = data.draw(texts_of(kind))
    assert any(hint in text.lower() for hint in kind.hints)
    # In a text of megabytes only the neighbourhood of the hints is searched.
    assert any(True for _ in matches(" " * spaces + text, (kind,))) == any(True for _ in matches(text, (kind,)))


@pytest.mark.parametrize("name", REFUSED)
def test_every_kind_is_masked_in_messages(name: str) -> None:
    text = mask(f"before {REFUSED[name]} after")
    assert LONG not in text
    assert scan([{"text": text}], own=()) == []
    assert (text.startswith("before "), text.endswith(" after")) == (True, True)


@pytest.mark.parametrize(
    "line",
    [
        {"headers": {"x-amzn-bedrock-a": REFUSED["a GitHub token"]}},
        {"request": {REFUSED["a GitHub token"]: 1}},
        {"request": {"config": {"secretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYNobodysKey"}}},
        {"request": {"authorization": "Basic YWRhOmNvcnJlY3QgaG9yc2U="}},
        {"faults": ["it says " + REFUSED["a GitHub token"]]},
        {"query": "token=" + REFUSED["a GitHub token"]},
        {"bodyText": "<p>" + REFUSED["a GitHub token"]},
        {"bodyBase64": base64.b64encode(b"\xff" + REFUSED["a GitHub token"].encode()).decode()},
        {"t": 1, "bytes": base64.b64encode(b"\0\0" + REFUSED["a GitHub token"].encode()).decode()},
        {"t": 1, "messageStop": {}, "payload": json.dumps({"a": REFUSED["a GitHub token"]})},
    ],
)
def test_every_part_of_a_line_is_searched(line: dict[str, Any]) -> None:
    assert scan([line], own=())


@pytest.mark.parametrize("before", ["", "/", "=", ":", '"', "(", "_", " ", "é", "\n", "?key=", "https://example.com/"])
@pytest.mark.parametrize("name", ["a GitHub token", "a JSON Web Token", "an AWS access key id", "an OpenAI API key"])
def test_a_secret_may_begin_after_anything_but_a_letter(name: str, before: str) -> None:
    assert scan(call(before + REFUSED[name]), own=())
    assert scan(call("x" + REFUSED[name]), own=()) == []


@given(st.lists(st.integers(1, 8), min_size=4, max_size=20), st.sampled_from(sorted(REFUSED)))
def test_a_secret_that_streams_in_pieces_is_found(lengths: list[int], name: str) -> None:
    left, pieces = f"Here: {REFUSED[name]}", list[str]()
    for length in lengths:
        pieces.append(left[:length])
        left = left[length:]
    pieces.append(left)
    deltas = [
        {"t": 1, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": piece}}}}
        for piece in pieces
    ]
    other = {"t": 1, "contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "Another block."}}}
    lines = [each for delta in deltas for each in (delta, other)]
    assert any(name.startswith(leak.kind) for leak in scan(lines, own=()))


def test_a_secret_in_bytes_that_came_in_pieces_is_found() -> None:
    data = b'{"text":"' + REFUSED["a GitHub token"].encode()
    lines = [{"t": 1, "bytes": base64.b64encode(part).decode()} for part in (data[:15], data[15:30], data[30:])]
    assert scan(lines, own=()) == [
        Leak(1, "bytes (with the lines after it)", "a GitHub token", ("base64",)),
    ]


HARMLESS = [
    "Never put your AWS_SECRET_ACCESS_KEY or aws_session_token into code; use a secret access key from the vault.",
    "Authorization: Bearer <token>, Cookie: session=..., x-api-key: $ANTHROPIC_API_KEY, Bearer authentication-scheme",
    "the bearer responsibilities-and-obligations of the bearer",
    "A private key begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "export GITHUB_TOKEN=ghp_... OPENAI_API_KEY=sk-... HF_TOKEN=hf_xxx",
    "sk-learn-and-other-hyphenated-words-of-forty-letters risk-management-for-large-organisations",
    "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q",
    "toolu_bdrk_01A09q90qw90lq917835lq9",
    str(uuid.UUID(int=2**127 + 12345)),
    hashlib.sha256(b"x").hexdigest(),
    hashlib.sha1(b"x").hexdigest(),
    base64.b64encode(hashlib.sha512(b"x").digest() * 5).decode(),
    "The number 123456789012, the phone +41 44 123 45 67 89, the UPC 036000291452",
    "arn:aws:bedrock:us-east-1:111122000001:inference-profile/x",
    "arn:aws:s3:::bucket/key arn:aws:bedrock:us-east-1::foundation-model/x",
    "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=***&x=1",
    "x-amz-security-token:***",
    "eyJhbGciOiJIUzI1NiJ9 is how the header of a token begins",
    "arn:aws:bedrock:us-east-1:123456789012:prompt/x accountId=111122223333 accountId: 444455556666",
    "AKIAIOSFODNN7EXAMPLE, aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    '{"signature": "EroBCkYIBBgCKkAi9vbJmFvT2Q7E5Y0aB1zq+/xyz=", "type": "reasoning"}',
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_passes(text: str) -> None:
    assert scan(call(text), own=()) == []


@given(st.binary(max_size=3000))
def test_bytes_are_no_secret(data: bytes) -> None:
    assert scan(call(base64.b64encode(data).decode()), own=()) == []


@given(converse_requests(), st.one_of(stream_events()))
@example({}, [])
def test_what_people_ask_and_models_answer_is_no_secret(request: dict[str, Any], events: list[dict[str, Any]]) -> None:
    line = json.loads(json.dumps({"request": request, "events": events}, default=lambda blob: blob.hex()))
    assert {leak.kind for leak in scan([line], own=())} <= {"an AWS account id"}


def test_secrets_of_this_process_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "correct horse/battery+staple")
    monkeypatch.setenv("DATABASE_PASSWORD", "Zürich, Bahnhofstrasse 1")
    monkeypatch.setenv("VAULT_TOKEN_FILE", "/run/secrets/vault-token")
    monkeypatch.setenv("SHORT_TOKEN", "fake")
    for form in FORMS.values():
        for value in ("correct horse/battery+staple", "Zürich, Bahnhofstrasse 1"):
            if form in (FORMS["UTF-16"], FORMS["escaped"]) and not value.isascii():
                continue
            assert [leak.kind for leak in scan(call(form(value)))] == [OWN_SECRET], form(value)
    assert scan(call("fake /run/secrets/vault-token")) == []


def test_what_a_request_was_signed_with_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_signed_with", set[str]())
    remember("from-the-instance-role", None, "short")
    assert [leak.kind for leak in scan(call("from-the-instance-role, short"))] == [OWN_SECRET]


def zipped(token: str) -> str:
    return base64.b64encode(in_zip(token)).decode()


def safe(*texts: str, rule: Redaction | None = None) -> SafeLines:
    """A file of calls with these texts, made safe."""
    lines: list[Line] = [{"format": "converse-recording"}]
    for number, text in enumerate(texts, 1):
        asked = {"messages": [{"content": [{"text": text}]}]}
        lines += [{"call": number, "operation": "Converse", "modelId": "m", "request": asked}]
        lines += [{"t": 1, "status": 200, "body": {}}]
    return safe_lines(lines, rule or Redaction())


def test_what_is_masked_is_said_where_it_stands_in_the_file() -> None:
    token = REFUSED["a GitHub token"]
    made = safe(zipped(token), "nothing", f"it is {token}.")
    assert [line["call"] for line in made.lines if "call" in line] == [1, 2]
    assert made.lines[3]["masked"] == [f"{PLACE}: a GitHub token"]
    assert said_of_masked(made.masked, "trip.jsonl") == (
        f"trip.jsonl has *** in the place of a secret:\n  trip.jsonl:4: {PLACE}: a GitHub token"
    )
    assert said_of_left_out(made, "trip.jsonl").splitlines()[:2] == [
        "trip.jsonl was written without 1 exchange, for it would hold a secret that cannot be masked there:",
        f"  call 1, Converse: {PLACE}: a GitHub token, in zip in base64 form",
    ]


KEY_LINES = ["-----BEGIN PRIV" + "ATE KEY-----", LONG[:32] * 2, LONG[:24], "-----END PRIV" + "ATE KEY-----"]


LISTED = {
    "blocks": [{"text": line} for line in KEY_LINES],
    "lines": [{"json": {"lines": ["$ cat key.pem", *KEY_LINES, "$"]}}],
    "numbered": [{"json": {"lines": [{"number": 1, "line": line} for line in KEY_LINES]}}],
}


@pytest.mark.parametrize("content", LISTED.values(), ids=LISTED)
def test_a_private_key_in_a_list_of_its_lines(content: list[Any]) -> None:
    call: Line = {"call": 1, "operation": "Converse", "modelId": "m", "request": {"messages": [{"content": content}]}}
    made = safe_lines([{"format": "converse-recording"}, call, {"t": 1, "status": 200, "body": {}}], Redaction())
    assert [leak.kind for leak in made.masked] == ["a private key"]
    assert not made.left_out
    assert LONG[:24] not in json.dumps(made.lines)


IN_PLACE = (
    "as it is",
    "in prose",
    "in JSON in a string",
    "escaped",
    "percent-encoded",
    "percent-encoded twice",
    "base64",
    "base64 twice",
    "base64 in JSON in base64",
    "a data URL",
    "gzip",
)


@pytest.mark.parametrize("form", IN_PLACE)
@pytest.mark.parametrize("name", ["a GitHub token", "an AWS secret access key", "a private key", "a JSON Web Token"])
def test_these_forms_are_masked_in_their_place(form: str, name: str) -> None:
    made = safe(FORMS[form](f"é {REFUSED[name]} \n\tü"))
    assert (made.left_out, len(made.masked)) == ((), 1)
    text = made.lines[1]["request"]["messages"][0]["content"][0]["text"]
    if form in ("escaped", "in JSON in a string"):
        json.loads(text)
        assert "***" in text


def test_a_secret_in_an_item_is_not_told_of_the_joined_items_as_well() -> None:
    content = [{"text": "the key is AKIAQ7EXAMPLEKEYABCD"}, {"text": "and more"}]
    found = scan([{"call": 1, "request": {"content": content, "others": content[::-1]}}])
    assert [leak.path for leak in found] == ["request.content[0].text", "request.others[1].text"]


def test_where_nothing_is_left_nothing_was_written() -> None:
    said = said_of_left_out(safe(zipped(REFUSED["a GitHub token"])), "trip.jsonl")
    assert said.startswith("trip.jsonl was not written, for it would hold a secret that cannot be masked there:\n")
    assert "\nWhat was there before is as it was. Have it replaced" in said


def test_of_many_secrets_ten_are_listed() -> None:
    said = said_of_masked(safe(*[REFUSED["a Stripe key"]] * 25).masked, "x.jsonl")
    assert said.startswith("x.jsonl has *** in the place of 25 secrets:\n")
    assert said.count("a Stripe key") == 10
    assert said.endswith("\n  and 15 more")


def test_compressed_data_is_unpacked_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "MAX_BODY", 1000)
    bomb = bytes(10_000_000)
    assert [len(data) for _, data in encodings.unpacked(gzip.compress(bomb))] == [1000]
    assert [len(data) for _, data in encodings.unpacked(in_zip("x" * 10_000_000))] == [1000]


@pytest.mark.parametrize(
    "data",
    [b"\x1f\x8bno gzip", b"PK\x03\x04no zip", in_zip("text")[:-9], gzip.compress(b"x" * 99, mtime=0)[:-9]],
    ids=["gzip by its look", "zip by its look", "half a zip", "half a gzip"],
)
def test_what_is_compressed_and_damaged_is_searched_as_it_is(data: bytes) -> None:
    assert scan(call(base64.b64encode(data).decode()), own=()) == []


def picture(token: str, fill: str = "") -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff" + f"{fill} {token} ".encode() + b"\xff").decode()


def test_a_rule_of_the_user_reaches_a_secret_in_an_image() -> None:
    rule = Redaction.of_lines(["ghp_[A-Za-z0-9]+ => ghp_x"])
    image = picture(REFUSED["a GitHub token"], "ghp_1")
    made = safe(image, rule=rule)
    assert (made.left_out, made.masked) == ((), ())
    # Where the rule matches by chance, the image stays as it is; a replayed request becomes the same.
    assert text_of(made) == picture("ghp_x", "ghp_1") == rule.normalised(image)


def test_the_advice_names_a_rule_that_reaches_what_is_encoded() -> None:
    image = picture(REFUSED["a GitHub token"])
    assert "`iVBORw0KGgo[A-Za-z0-9+/=]+ => aW1hZ2U=`" in said_of_left_out(safe(image), "trip.jsonl")
    rule = Redaction.of_lines(["iVBORw0KGgo[A-Za-z0-9+/=]+ => aW1hZ2U="])
    assert text_of(safe(image, rule=rule)) == "aW1hZ2U="


def text_of(made: SafeLines) -> str:
    text: str = made.lines[1]["request"]["messages"][0]["content"][0]["text"]
    return text


SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYNobodysKey"


@pytest.mark.parametrize("between", [" ", ":", ",", "\n", '", "', " | "])
def test_a_secret_access_key_right_after_its_id_is_found(between: str) -> None:
    text = f"use AKIAQ7EXAMPLEKEYABCD{between}{SECRET_KEY} there"
    assert {leak.kind for leak in scan([{"call": 1, "request": {"text": text}}])} == {
        "an AWS access key id",
        "an AWS secret access key",
    }
    assert mask(text, ()) == f"use ***{between}*** there"


@pytest.mark.parametrize(
    "word", ["2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", "a" * 40, "AB12" * 10, f"of {SECRET_KEY}", SECRET_KEY + "x"]
)
def test_another_word_after_the_id_is_not(word: str) -> None:
    assert mask(f"AKIAQ7EXAMPLEKEYABCD {word}", ()) == f"*** {word}"


def _of_delta(delta: dict[str, Any]) -> list[Line]:
    return [{"call": 1}, {"t": 1, "contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}, "p": 7}]


EXCHANGES: Final[Mapping[str, Callable[[str], list[Line]]]] = {
    "a message": lambda text: call(text)[1:],
    "a key": lambda text: [{"call": 1, "request": {text: 1}}],
    "a text": lambda text: _of_delta({"text": text}),
    "the input of a tool": lambda text: _of_delta({"toolUse": {"input": text}}),
    "reasoning": lambda text: _of_delta({"reasoningContent": {"text": text}}),
    "an event": lambda text: [{"call": 1}, {"t": 1, "metadata": {"trace": {"promptRouter": {"text": text}}}}],
}

FEW: Final = [
    "a harmless text",
    "the second harmless text",
    "hunter2-Pass",
    REFUSED["a GitHub token"],
    MASKED["an AWS account id"],
]


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(EXCHANGES)), st.sampled_from(FEW), st.sampled_from(sorted(FORMS))), max_size=5
    )
)
def test_an_exchange_is_searched_as_if_it_were_alone(drawn: list[tuple[str, str, str]]) -> None:
    lines: list[Line] = []
    expected: list[Leak] = []
    for place, text, form in drawn:
        exchange = EXCHANGES[place](FORMS[form](text))
        expected += [replace(leak, line=leak.line + len(lines)) for leak in scan(exchange, own=["hunter2-Pass"])]
        lines += exchange
    assert scan(lines, own=["hunter2-Pass"]) == expected


def test_a_secret_in_pieces_is_found_beside_a_whole_one_of_another_exchange() -> None:
    whole = f"is {REFUSED['a GitHub token']} it"

    def exchange(number: int, *pieces: str) -> list[dict[str, Any]]:
        deltas = [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": piece}}} for piece in pieces]
        return [{"call": number}, {"t": 1, "status": 200}, *({"t": 2, **delta} for delta in deltas)]

    lines = [{"format": "x"}, *exchange(1, whole[:20], whole[20:]), *exchange(2, whole, " again")]
    assert [leak.line for leak in scan(lines, own=())] == [4, 8]
