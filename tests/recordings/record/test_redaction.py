"""What is changed before it is written: consistently, in events and bytes alike, and so that it still replays."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import ReplyError
from converse_harness.recordings.format.lines import (
    Line,
    bytes_line,
    event_as_sent,
    event_of,
    frame_bytes_of,
    frame_line,
)
from converse_harness.recordings.format.read import read
from converse_harness.recordings.leaks import scan
from converse_harness.recordings.record.captured import CapturedExchange
from converse_harness.recordings.record.write import SessionWriter
from converse_harness.recordings.redaction import Redaction
from converse_harness.secrets.accounts import stand_in
from converse_harness.stream.events import encode_event, read_event
from converse_harness.stream.frames import Frame, Header, HeaderType, decode, encode
from converse_harness.stream.http import Request
from tests.secrets.planted import MASKED, SECRET_PARTS

ADA, BOB, EVE = "210987654321", "999988887777", "098765432101"
"""Accounts; numbers may begin with 0."""

FIRST, SECOND = stand_in(1), stand_in(2)

HEAD: Line = {"t": 1, "status": 200}


def arn(account: str, name: str = "x") -> str:
    return f"arn:aws:bedrock:us-east-1:{account}:application-inference-profile/{name}"


def redacted(*lines: Line, redaction: Redaction | None = None, kept: int = 0) -> list[Line]:
    return (redaction or Redaction()).redacted(lines, kept).lines


def asked(request: Any, **more: Any) -> Line:
    return {"call": 1, "operation": "Converse", **more, "request": request}


def delta(text: str, **more: Any) -> Line:
    return {"t": 2, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}, "p": 4, **more}


def test_an_account_has_one_stand_in_wherever_its_number_stands() -> None:
    line = asked(
        {
            "arn": arn(ADA),
            "other": f"role {arn(BOB)} of {BOB}; bucket logs-{ADA}-eu, in the console {ADA[:4]}-{ADA[4:8]}-{ADA[8:]}",
            ADA: int(ADA),
            "quoted": f"arn%3Aaws%3Abedrock%3Aus-east-1%3A{ADA}%3Aprompt%2FX and %20{ADA}",
            "longer": f"9{ADA} {ADA}0",
        },
        modelId=arn(ADA),
        path=f"/x/{ADA}",
        query=f"of={BOB}",
        headers={"x-amzn-bedrock-guardrailidentifier": arn(BOB)},
    )
    (found,) = redacted(line)
    assert found == {
        **line,
        "modelId": arn(FIRST),
        "path": f"/x/{FIRST}",
        "query": f"of={SECOND}",
        "headers": {"x-amzn-bedrock-guardrailidentifier": arn(SECOND)},
        "request": {
            "arn": arn(FIRST),
            "other": f"role {arn(SECOND)} of {SECOND}; bucket logs-{FIRST}-eu, in the console 1111-2200-0001",
            FIRST: int(FIRST),
            "quoted": f"arn%3Aaws%3Abedrock%3Aus-east-1%3A{FIRST}%3Aprompt%2FX and %20{FIRST}",
            "longer": f"9{ADA} {ADA}0",
        },
    }


@pytest.mark.parametrize(
    "text",
    [
        f"arn:aws:sts::{ADA}:assumed-role/Admin/ada is not authorized",
        f"arn:aws-us-gov:iam::{ADA}:root",
        f"accountId: {ADA}",
        f'{{\\"AccountId\\":\\"{ADA}\\"}}',
        f"bucketOwner: {ADA}",
        f"AWS account {ADA}",
        f"arn%253Aaws%253Abedrock%253Aus-east-1%253A{ADA}%253Ax",
    ],
)
def test_where_an_account_is_known_from(text: str) -> None:
    (found,) = redacted(asked(text))
    assert found["request"] == text.replace(ADA, FIRST)


def test_a_number_of_twelve_digits_is_no_account_by_itself() -> None:
    line = asked({"upc": "036000291452", "order": 123456789012, "account": "My account 123456789012"})
    assert redacted(line) == [line]


def test_an_account_that_begins_with_0_is_masked_as_a_number_as_well() -> None:
    (found,) = redacted(asked({"arn": arn(EVE), "number": int(EVE)}))
    assert found["request"] == {"arn": arn(FIRST), "number": int(FIRST)}


def test_an_account_in_the_base64_of_a_text_is_masked() -> None:
    document = f"owner: {arn(ADA)}\n".encode()
    packed = base64.b64encode(gzip.compress(document)).decode()
    line = asked({"bytes": base64.b64encode(document).decode(), "nested": {"packed": packed}})
    (found,) = redacted(line)
    assert base64.b64decode(found["request"]["bytes"]) == document.replace(ADA.encode(), FIRST.encode())
    unpacked = gzip.decompress(base64.b64decode(found["request"]["nested"]["packed"]))
    assert unpacked == document.replace(ADA.encode(), FIRST.encode())


def test_the_base64_of_an_image_stays_as_it_is() -> None:
    image = base64.b64encode(b"\x89PNG\xff" + ADA.encode()).decode()
    (found,) = redacted(asked({"arn": arn(ADA), "image": image}))
    assert found["request"]["image"] == image


def test_what_streams_in_pieces_is_masked_in_its_pieces() -> None:
    text = f"See {arn(ADA)}."
    pieces = [text[:32], text[32:35], text[35:]]
    found = redacted(asked({}), HEAD, *map(delta, pieces))
    masked = text.replace(ADA, FIRST)
    assert [line["contentBlockDelta"]["delta"]["text"] for line in found[2:]] == [
        masked[:32],
        masked[32:35],
        masked[35:],
    ]


def test_a_replacement_of_another_length_goes_where_what_it_replaces_begins() -> None:
    redaction = Redaction({"Ada Lovelace": "N. N."})
    found = redacted(*map(delta, ("I am A", "da Love", "lace, of London.")), redaction=redaction)
    assert [line["contentBlockDelta"]["delta"]["text"] for line in found] == ["I am N. N.", "", ", of London."]


def test_blocks_that_stream_in_turns_are_kept_apart() -> None:
    lines = [delta(ADA[:6]), delta("arn:aws:x::" + ADA + ":y"), delta(ADA[6:])]
    lines[1]["contentBlockDelta"]["contentBlockIndex"] = 1
    found = redacted(*lines)
    assert [line["contentBlockDelta"]["delta"]["text"] for line in found] == [
        FIRST[:6],
        f"arn:aws:x::{FIRST}:y",
        FIRST[6:],
    ]


def test_the_texts_of_documents_in_deltas_are_masked() -> None:
    line: Line = {
        "t": 1,
        "contentBlockDelta": {
            "contentBlockIndex": 0,
            "delta": {"toolResult": [{"json": {arn(ADA): [int(ADA), arn(ADA)]}}]},
        },
    }
    (found,) = redacted(line)
    assert found["contentBlockDelta"]["delta"] == {"toolResult": [{"json": {arn(FIRST): [int(FIRST), arn(FIRST)]}}]}


# Bytes


def spaced(line_event: dict[str, Any], padding: int) -> bytes:
    """A frame whose JSON is not the usual one."""
    frame = decode(encode_event(line_event, padding))
    return encode(Frame(frame.headers, json.dumps(json.loads(frame.payload), indent=1).encode()))


ODD = (Header(":event-type", HeaderType.STRING, "odd"), Header(":message-type", HeaderType.STRING, "event"))


def captured(data: bytes) -> Line:
    return frame_line(decode(data), data, 5, joined=False)


@pytest.mark.parametrize(
    "data",
    [
        encode_event({"metadata": {"trace": {"promptRouter": {"invokedModelId": arn(ADA)}}}}, 9),
        spaced({"metadata": {"trace": {"promptRouter": {"invokedModelId": arn(ADA)}}}}, 9),
        encode_event({"validationException": {"message": f"No access for {arn(ADA)}"}}),
        encode_event({":error": {"code": "Denied", "message": f"No access for {arn(ADA)}"}}),
        encode(Frame((*ODD, Header("who", HeaderType.STRING, arn(ADA))), b"{}")),
        encode(Frame(ODD, b"no JSON: " + arn(ADA).encode())),
        encode(Frame(ODD[:1], b'{"who":"%s"}' % arn(ADA).encode())),
        encode(Frame((), arn(ADA).encode() + b"\xff")),
    ],
    ids=["usual", "spaced", "exception", "error", "header", "no JSON", "no message type", "no event"],
)
def test_a_frame_is_masked_with_new_checksums(data: bytes) -> None:
    (found,) = redacted(captured(data))
    assert frame_bytes_of(found, event_as_sent(found)) == encode(_masked(decode(data)))
    assert scan([found], own=()) == []


def _masked(frame: Frame) -> Frame:
    headers = tuple(
        Header(each.name, each.type, each.value.replace(ADA, FIRST) if isinstance(each.value, str) else each.value)
        for each in frame.headers
    )
    return Frame(headers, frame.payload.replace(ADA.encode(), FIRST.encode()))


def test_an_escaped_payload_is_masked_as_its_event_is() -> None:
    payload = json.dumps({"contentBlockIndex": 0, "delta": {"text": arn("ID")}, "p": "abcd"})
    (found,) = redacted(delta(arn(ADA), payload=payload.replace("ID", _escaped(ADA))))
    assert found == delta(arn(FIRST), payload=payload.replace("ID", FIRST))


def test_a_payload_that_hides_what_its_event_shows_goes() -> None:
    payload = json.dumps({"contentBlockIndex": 0, "delta": {"text": "I am NAME"}, "p": "abcd"})
    (found,) = redacted(
        delta("I am Ada", payload=payload.replace("NAME", _escaped("Ada"))), redaction=Redaction({"Ada": "A."})
    )
    assert found == delta("I am A.")
    assert read_event(decode(frame_bytes_of(found, event_as_sent(found))))[1]["delta"]["text"] == "I am A."


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(each):04x}" for each in text)


def test_bytes_that_are_no_frame_are_masked_in_their_pieces() -> None:
    data = b'\x00\x00\x01\xffh "' + arn(ADA).encode() + b'", "Gr\xc3\xbcezi"'
    found = redacted(asked({}), HEAD, *(bytes_line(each, 5) for each in (data[:40], data[40:], b"\xff")))
    pieces = [base64.b64decode(line["bytes"]) for line in found[2:]]
    assert b"".join(pieces) == data.replace(ADA.encode(), FIRST.encode()) + b"\xff"
    assert [len(piece) for piece in pieces] == [40, len(data) - 40, 1]


@pytest.mark.parametrize("name", ["body", "request"])
@pytest.mark.parametrize("form", ["", "Text", "Base64"])
def test_a_body_of_every_form_is_masked(name: str, form: str) -> None:
    def made(account: str) -> Any:
        text = f"é {arn(account)}"
        return {"": {"a": text}, "Text": text, "Base64": base64.b64encode(b"\xff" + text.encode()).decode()}[form]

    first: Line = {"call": 1} if name == "request" else {"t": 1, "status": 403, "type": "AccessDeniedException"}
    assert redacted({**first, f"{name}{form}": made(ADA)}) == [{**first, f"{name}{form}": made(FIRST)}]


@pytest.mark.parametrize("name", MASKED)
def test_what_is_always_masked_is_no_secret_afterwards(name: str) -> None:
    text = f"Fetch {MASKED[name]} now"
    lines = [asked({"text": text}), HEAD, *(delta(each) for each in (text[:60], text[60:70], text[70:]))]
    found = redacted(*lines)
    assert SECRET_PARTS[name] not in json.dumps(found)
    assert scan(found, own=()) == []
    assert found[0]["request"]["text"].startswith("Fetch ")
    assert found[0]["request"]["text"].endswith(" now")
    assert "".join(line["contentBlockDelta"]["delta"]["text"] for line in found[2:]) == found[0]["request"]["text"]
    assert redacted(*found) == found


@given(
    st.lists(st.sampled_from([ADA, BOB, EVE, FIRST, "111122000009"]), max_size=6),
    st.lists(st.integers(1, 40), max_size=12),
)
def test_accounts_and_stand_ins_go_together_one_by_one(accounts: Sequence[str], cuts: Sequence[int]) -> None:
    text = " ".join(f"{arn(each)} {each}" for each in accounts)
    pieces = list[str]()
    for cut in cuts:
        pieces, text = [*pieces, text[:cut]], text[cut:]
    found = redacted(asked({}), HEAD, *(delta(each) for each in [*pieces, text]))
    new = re.findall(r"\d{12}", "".join(line["contentBlockDelta"]["delta"]["text"] for line in found[2:]))
    old = [each for each in accounts for _ in range(2)]
    assert len(set(zip(old, new, strict=True))) == len(set(old)) == len(set(new))
    assert sorted(set(new)) == [stand_in(number) for number in range(1, len(set(new)) + 1)]
    assert redacted(*found) == found
    assert scan(found, own=()) == []


def test_lines_that_were_there_keep_their_stand_ins() -> None:
    before = redacted(asked(f"{arn(ADA, 'a')} {arn(BOB, 'b')}"))
    after = redacted(*before, asked(arn(EVE, "c")), asked(arn(BOB, "b")), asked(f"{ADA} {arn(ADA, 'd')}"), kept=1)
    assert after[0] == before[0]
    # The same ARN is of the same account; of the others nobody can tell.
    assert [line["request"] for line in after[1:]] == [
        arn(stand_in(3), "c"),
        arn(SECOND, "b"),
        f"{stand_in(4)} {arn(stand_in(4), 'd')}",
    ]


def test_an_account_written_into_the_file_by_hand_is_masked() -> None:
    assert redacted(asked(arn(ADA, "a")), asked(arn(FIRST)), kept=2) == [asked(arn(SECOND, "a")), asked(arn(FIRST))]


# What the user names


def test_replacements_are_made_everywhere_and_in_their_order() -> None:
    redaction = Redaction({re.compile(r"ticket-(\d)\d+"): r"ticket-\g<1>", "ticket-4": "a ticket", "Zürich": "Bern"})
    (found,) = redacted(
        asked(
            {"Zürich": ["ticket-4711, ticket-55", {"doc": base64.b64encode("in Zürich, at home".encode()).decode()}]}
        ),
        redaction=redaction,
    )
    assert found["request"] == {"Bern": ["a ticket, ticket-5", {"doc": base64.b64encode(b"in Bern, at home").decode()}]}


def test_the_words_of_the_format_are_not_replaced() -> None:
    redaction = Redaction({"Converse": "x", "call": "y", "status": "z", "text": "v", "us": "w"})
    lines = [asked("call us", modelId="us.x"), {**HEAD, "requestId": "us"}, delta("status")]
    assert redacted(*lines, redaction=redaction) == [
        asked("y w", modelId="w.x"),
        {**HEAD, "requestId": "us"},
        delta("z") | {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"v": "z"}}},
    ]


def test_lines_of_the_ini_file() -> None:
    redaction = Redaction.of_lines(
        [r"  cust-\d+ => cust-1 ", "", "secret project =>", r"(\w+)@corp\.com => \1@example.com"]
    )
    assert redaction.normalised("cust-77 of the secret project, ada@corp.com") == "cust-1 of the , ada@example.com"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cust-1", "'cust-1'; a line is `pattern => replacement`."),
        ("=> x", "'=> x'; a line is `pattern => replacement`."),
        (
            "a(b => x",
            (
                "'a(b' is no regular expression (missing ), unterminated subpattern at position 1). "
                "Put a backslash before characters that stand for themselves."
            ),
        ),
        ("x* => y", "'x*' matches the empty text, which is everywhere."),
        (r"x => \1", r"'x' has no group for '\\1' (invalid group reference 1 at position 1)."),
    ],
)
def test_lines_that_say_nothing(line: str, message: str) -> None:
    with pytest.raises(ReplyError) as refused:
        Redaction.of_lines([line])
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("replacements", "message"),
    [
        ({"a": None}, "Redaction: 'a' is to become None; it must be a text."),
        ({5: "a"}, "Redaction: 5 is to be replaced; it must be a text or a compiled pattern of text."),
        (
            {re.compile(b"a"): "a"},
            "Redaction: re.compile(b'a') is to be replaced; it must be a text or a compiled pattern of text.",
        ),
        ({"": "a"}, "'' matches the empty text, which is everywhere."),
    ],
)
def test_replacements_that_are_none(replacements: Any, message: str) -> None:
    with pytest.raises(ReplyError) as refused:
        Redaction(replacements)
    assert str(refused.value) == message


def test_the_backslash_of_a_text_is_a_backslash() -> None:
    assert Redaction({r"C:\Users\ada": r"C:\1"}).normalised(r"in C:\Users\ada\x") == r"in C:\1\x"


# Matching


def test_a_live_request_is_equal_to_its_recorded_form() -> None:
    redaction = Redaction({"Ada": "A."})
    live = {"modelId": arn(BOB), "text": f"Ada of {BOB} sees {arn(ADA)} at {MASKED['the signature of a URL']}"}
    earlier, recorded = redacted(asked(arn(ADA)), asked(live), redaction=redaction)
    assert SECOND in json.dumps(recorded)
    assert redaction.normalised(live) == Redaction().normalised(recorded["request"])
    assert Redaction().normalised({"modelId": arn(BOB)}) == Redaction().normalised(
        recorded["request"] and {"modelId": arn(SECOND)}
    )
    assert redaction.normalised({**live, "modelId": arn(ADA)}) != Redaction().normalised(recorded["request"])
    assert earlier["request"] == arn(FIRST)


def test_a_request_without_anything_to_replace_is_itself() -> None:
    request = {"messages": [{"content": [{"text": "What is 123456789012?"}]}]}
    assert Redaction().normalised(request) is request


def test_an_answer_that_a_replacement_makes_illegal_says_so(tmp_path: Path) -> None:
    answer = {
        "output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }
    headers = (("Content-Type", "application/json"),)
    request = Request("POST", "/model/m/converse", (), b"{}")
    captured = CapturedExchange(request, status=200, headers=headers, pieces=[(json.dumps(answer).encode(), 0.1)])
    path = tmp_path / "trip.jsonl"
    SessionWriter(path, captured=[captured, captured]).save()
    assert [each.faults for each in read(path).exchanges] == [[], []]
    SessionWriter(path, redaction=Redaction({"end_turn": "the end"}), captured=[captured, captured]).save()
    assert [len(each.faults) for each in read(path).exchanges] == [1, 1]
    assert list(read(path).exchanges[0].call) == ["call", "operation", "modelId", "faults", "request"]


def test_nothing_that_was_given_is_changed(tmp_path: Path) -> None:
    lines = [asked({"a": arn(ADA)}), HEAD, delta(arn(ADA))]
    copy = json.loads(json.dumps(lines))
    assert redacted(*lines) != lines
    assert lines == copy
    assert [event_of(line) is not None for line in lines] == [True, True, True]
