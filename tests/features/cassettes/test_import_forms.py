"""The forms in which recorders store requests and responses, and the result of importing each form."""

import base64
import gzip
import io
import json
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import brotli  # type: ignore[import-untyped]  # it has none
import pytest
import vcr
import zstandard
from vcr.request import Request as VcrRequest

from converse_harness import fake_converse, recording
from converse_harness.features.cassettes.convert import ImportVerdict, import_cassette
from converse_harness.features.cassettes.read import CannotImport, read_cassette
from converse_harness.recordings.format.exchanges import RecordedExchange
from converse_harness.secrets.encodings import CannotUnpack, unpack
from tests.features.cassettes.hand_made import (
    ANSWER,
    ASKED,
    BEDROCK,
    CONVERSE,
    FIRST,
    HOSTS,
    NOVA,
    STREAM,
    client_of,
    event,
    interaction,
    replayed_bodies,
    written,
)


def imported_alone(
    folder: Path, response: Mapping[str, Any], **request: Any
) -> tuple[ImportVerdict, RecordedExchange, bytes]:
    """The verdict on one interaction, its exchange, and the bytes that are replayed."""
    made = folder / "hand.jsonl"
    (verdict,) = import_cassette(written(folder, interaction(response, **request)), made, HOSTS).verdicts
    return verdict, recording(made).exchanges[0], replayed_bodies(made)[0]


BODIES: Mapping[str, tuple[Any, bytes]] = {
    "a text": ({"string": ANSWER.decode()}, ANSWER),
    "bytes": ({"string": ANSWER}, ANSWER),
    "spaced": ({"string": '{"message": "no"}'}, b'{"message": "no"}'),
    "base64": ({"base64_string": base64.encodebytes(ANSWER).decode()}, ANSWER),
    "base64 bytes": ({"base64_string": base64.b64encode(ANSWER)}, ANSWER),
    "an encoding": ({"string": '{"output":"°"}', "encoding": "latin-1"}, b'{"output":"\xb0"}'),
    "no body of its own": (ANSWER.decode(), ANSWER),
    "nothing": (None, b""),
    "an empty text": ({"string": ""}, b""),
    "not JSON": ({"string": "<html>no</html>"}, b"<html>no</html>"),
    "parts": ([ANSWER[:20], ANSWER[20:].decode()], ANSWER),
}


@pytest.mark.parametrize("name", BODIES)
def test_forms_of_a_body(name: str, tmp_path: Path) -> None:
    body, expected = BODIES[name]
    verdict, exchange, replayed = imported_alone(tmp_path, {"body": body})
    assert (verdict, replayed) == ("equal byte for byte", expected)
    assert "headers" not in exchange.head
    assert exchange.request == {"messages": []}


@pytest.mark.parametrize("padding", [{}, {"p": "abcdefghij"}])
@pytest.mark.parametrize("spaces", [(",", ":"), (", ", ": ")])
def test_the_stream_of_invoke_model_is_read_as_json(
    padding: dict[str, str], spaces: tuple[str, str], tmp_path: Path
) -> None:
    events = [
        {"type": "message_start", "message": {"id": "msg_bdrk_01Trip", "role": "assistant", "content": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "18 °C"}},
        {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": 4}},
    ]
    texts = [json.dumps(each, ensure_ascii=False, separators=spaces) for each in events]
    members = [{"bytes": base64.b64encode(each.encode()).decode(), **padding} for each in texts]
    body = b"".join(event("chunk", json.dumps(each, separators=(",", ":")).encode()) for each in members)
    uri = f"{BEDROCK}/model/{NOVA}/invoke-with-response-stream"
    verdict, exchange, replayed = imported_alone(tmp_path, {"body": {"string": body}}, uri=uri, body='{"prompt": "Hi"}')
    assert (verdict, replayed) == ("equal byte for byte", body)
    shown = [{"$json": each} for each in events] if spaces == (",", ":") else [{"$text": each} for each in texts]
    lengths = {key: len(text) for key, text in padding.items()}
    assert [*exchange.events] == [{"t": 0, "chunk": {"bytes": each}, **lengths} for each in shown]


@pytest.mark.parametrize(
    "body", [b'{"embedding":[0.5,-1e-05],"inputTextTokenCount":3}', b'{"embedding": [1.0E-5]}', b"no"]
)
def test_any_body_of_invoke_model_is_replayed(body: bytes, tmp_path: Path) -> None:
    uri = f"{BEDROCK}/model/{NOVA}/invoke"
    headers = {"Content-Type": ["application/json"], "X-Amzn-Bedrock-Input-Token-Count": ["3"]}
    verdict, exchange, replayed = imported_alone(tmp_path, {"body": {"string": body}, "headers": headers}, uri=uri)
    assert (verdict, replayed) == ("equal byte for byte", body)
    assert exchange.head["headers"] == {"X-Amzn-Bedrock-Input-Token-Count": "3"}


@pytest.mark.parametrize("module", ["_multidict", "_multidict_py"])
def test_names_of_headers_that_aiohttp_gave_to_vcrpy(module: str, tmp_path: Path) -> None:
    path = written(tmp_path, interaction({"body": {"string": ANSWER}}))
    named = (
        f"    headers:\n      ? !!python/object/apply:multidict.{module}.istr\n      - Content-Type\n      : - text/x\n"
    )
    text = path.read_text()
    assert text.count("    headers: {}\n") == 2
    path.write_text(text.replace("    headers: {}\n", named))
    (read,) = read_cassette(path)
    assert read.request["headers"] == read.response["headers"] == {"Content-Type": ["text/x"]}
    made = tmp_path / "hand.jsonl"
    assert import_cassette(path, made, HOSTS).verdicts == ("equal byte for byte",)
    assert replayed_bodies(made) == [ANSWER]


@pytest.mark.parametrize("body", ['{"messages": [1]}', b'{"messages":[1]}', {"string": '{"messages":  [1]}'}])
def test_forms_of_a_request(body: object, tmp_path: Path) -> None:
    assert imported_alone(tmp_path, {"body": {"string": ANSWER}}, body=body)[1].request == {"messages": [1]}


def test_an_answer_of_the_httpx_of_older_vcrpy(tmp_path: Path) -> None:
    old = interaction({}, headers={"content-type": "application/json"})
    old["response"] = {"status_code": 200, "http_version": "HTTP/1.1", "headers": {}, "content": ANSWER.decode()}
    made = tmp_path / "made.jsonl"
    assert import_cassette(written(tmp_path, old), made, HOSTS).verdicts == ("equal byte for byte",)
    assert replayed_bodies(made) == [ANSWER]


def without_made_id(head: Mapping[str, Any]) -> dict[str, Any]:
    """The line of a head without the request id, which must be one as AWS makes them."""
    assert UUID(head["requestId"]).version == 4
    return {name: value for name, value in head.items() if name != "requestId"}


def test_json_that_the_recorder_parsed_is_written_as_bedrock_writes_it(tmp_path: Path) -> None:
    parsed = json.loads(ANSWER)
    response = {
        "parsed_body": parsed,
        "headers": {"content-type": ["application/json"], "content-length": ["7"], "content-encoding": ["br"]},
    }
    case = interaction(response, parsed_body={"messages": [{"role": "user"}]})
    del case["request"]["body"]
    made = tmp_path / "made.jsonl"
    assert import_cassette(written(tmp_path, case), made, HOSTS).verdicts == ("re-serialised",)
    (exchange,) = recording(made).exchanges
    assert exchange.request == {"messages": [{"role": "user"}]}
    assert without_made_id(exchange.head) == {"t": 0, "status": 200, "body": parsed}
    assert replayed_bodies(made) == [ANSWER]


def test_a_damaged_frame_and_what_follows_it_stay_as_they_are(tmp_path: Path) -> None:
    damaged = STREAM[:200] + b"?" + STREAM[201:]
    verdict, exchange, replayed = imported_alone(tmp_path, {"body": {"string": damaged}}, uri=f"{CONVERSE}-stream")
    assert (verdict, replayed) == ("equal byte for byte", damaged)
    assert [next(reversed(line)) for line in exchange.events] == ["p", "bytes"]


def test_a_stream_is_a_chunk_for_each_frame_and_what_is_no_frame_stays(tmp_path: Path) -> None:
    uri = f"{CONVERSE}-stream"
    for name, tail in {"whole": b"", "cut": STREAM[:50], "not frames": b"no frame at all"}.items():
        response = {"body": {"string": STREAM + tail}, "headers": {"Content-Type": ["**REDACTED**"]}}
        verdict, exchange, replayed = imported_alone(tmp_path, response, uri=uri)
        assert (verdict, replayed) == ("equal byte for byte", STREAM + tail), name
        lines = [*exchange.events]
        assert lines[:4] == [
            {"t": 0, "messageStart": {"role": "assistant"}, "p": 4},
            {"t": 0, "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "18"}}, "p": 3},
            {"t": 0, "contentBlockStop": {"contentBlockIndex": 0}, "p": 2},
            {"t": 0, "messageStop": {"stopReason": "end_turn"}, "p": 5},
        ]
        assert [line.keys() for line in lines[4:]] == [{"t", "bytes"}] * bool(tail)
        assert without_made_id(exchange.head) == {"t": 0, "status": 200}


SERVICE = "http://internal.amazon.com/coral/com.amazon.bedrock/"

HEADS: Mapping[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "all of AWS's": (
        {
            "Date": ["Thu, 06 Feb 2025 05:12:36 GMT"],
            "Content-Type": ["application/json"],
            "Content-Length": ["13"],
            "Connection": ["keep-alive"],
            "Set-Cookie": "test_set_cookie",
            "x-amzn-RequestId": ["32ef4ce3"],
            "x-amzn-ErrorType": [f"ValidationException:{SERVICE}"],
        },
        {"type": "ValidationException", "requestId": "32ef4ce3"},
    ),
    "as bytes": ({"X-Amzn-Errortype": [f"ValidationException:{SERVICE}".encode()]}, {"type": "ValidationException"}),
    "in lower case, without the address": (
        {"x-amzn-errortype": "ValidationException"},
        {"headers": {"x-amzn-ErrorType": "ValidationException"}},
    ),
    "masked": (
        dict.fromkeys(("Content-Type", "x-amzn-ErrorType", "x-amzn-RequestId", "Retry-After"), "**REDACTED**"),
        {},
    ),
    "masked otherwise": ({"Content-Type": ["<filtered>"], "x-amzn-RequestId": ["XXX"], "Retry-After": [None]}, {}),
    "dropped": ({}, {}),
    "no mapping at all": (None, {}),
    "that are kept": ({"Retry-After": ["7"]}, {"headers": {"Retry-After": "7"}}),
    "of HTML": ({"Content-Type": ["text/html"]}, {"headers": {"Content-Type": "text/html"}}),
}


@pytest.mark.parametrize("name", HEADS)
def test_headers_of_an_error(name: str, tmp_path: Path) -> None:
    headers, expected = HEADS[name]
    response = {"status": {"code": 400}, "headers": headers, "body": {"string": '{"message":"no"}'}}
    _, exchange, replayed = imported_alone(tmp_path, response)
    head = exchange.head if "requestId" in expected else without_made_id(exchange.head)
    assert head == {"t": 0, "status": 400, "body": {"message": "no"}} | expected
    assert replayed == b'{"message":"no"}'


@pytest.mark.parametrize("said", ["ThrottlingException", "com.amazon.bedrock#ThrottlingException:"])
def test_an_error_whose_name_stands_in_its_body(said: str, tmp_path: Path) -> None:
    response = {"status": {"code": 429}, "parsed_body": {"__type": said, "message": "Rate exceeded"}}
    _, exchange, _ = imported_alone(tmp_path, response)
    assert exchange.head["type"] == "ThrottlingException"
    with fake_converse(recording(tmp_path / "hand.jsonl", match="order")):
        client = client_of(BEDROCK)
        with pytest.raises(client.exceptions.ThrottlingException, match="Rate exceeded"):
            client.converse(**ASKED)


def test_masked_request_headers_are_no_values(tmp_path: Path) -> None:
    names = ("x-amzn-bedrock-guardrailIdentifier", "x-amzn-bedrock-trace", "Authorization")
    headers = dict(zip(names, ("**REDACTED**", [b"ENABLED"], "AWS4-HMAC-SHA256 Credential=AKIA"), strict=True))
    _, exchange, _ = imported_alone(tmp_path, {"body": {"string": ANSWER}}, headers=headers)
    assert exchange.call["headers"] == {"x-amzn-bedrock-trace": "ENABLED"}


OPERATIONS = {
    f"{BEDROCK}/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Aprompt%2Fx/converse": "Converse",
    f"{BEDROCK}/model/{NOVA}/count-tokens": "CountTokens",
    f"{BEDROCK}/model/{NOVA}/invoke": "InvokeModel",
    f"{BEDROCK}/guardrail/g/version/1/apply": "ApplyGuardrail",
    "https://bedrock.us-east-1.amazonaws.com/guardrails": "CreateGuardrail",
    f"https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com:443/model/{NOVA}/converse": "Converse",
    f"https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com/model/{NOVA}/converse": "Converse",
}
OTHERS = (
    f"{BEDROCK}/model/{NOVA}/unheard-of",
    f"{BEDROCK}/v1/model/{NOVA}/converse",
    "https://sts.amazonaws.com/",
    f"https://bedrock-runtime.us-east-1.amazonaws.com.example.org/model/{NOVA}/converse",
    f"http://127.0.0.1:4000/model/{NOVA}/converse",
    "about:blank",
    "",
)


def test_only_what_bedrock_was_asked_becomes_an_exchange(tmp_path: Path) -> None:
    uris = [*OPERATIONS, *OTHERS, *OPERATIONS]
    # What is left alone is not looked at: its status is none.
    cassette = written(
        tmp_path,
        *(
            interaction({} if uri in OPERATIONS else {"status": None}, uri, body=f'{{"n":{n}}}')
            for n, uri in enumerate(uris)
        ),
    )
    imported = import_cassette(cassette, tmp_path / "made.jsonl", HOSTS)
    exchanges = recording(tmp_path / "made.jsonl").exchanges
    assert [each.operation for each in exchanges] == [*OPERATIONS.values()] * 2
    assert [each.request["n"] for each in exchanges] == [*range(7), *range(14, 21)]
    assert [each.call["call"] for each in exchanges] == [*range(1, 15)]
    assert imported.alone == {
        "bedrock-runtime.us-east-1.amazonaws.com": 2,
        "sts.amazonaws.com": 1,
        "bedrock-runtime.us-east-1.amazonaws.com.example.org": 1,
        "127.0.0.1:4000": 1,
        "about:blank": 1,
        "no host": 1,
    }


def test_the_same_interaction_twice_is_two_exchanges(tmp_path: Path) -> None:
    same = interaction({"body": {"string": ANSWER}})
    cassette = written(tmp_path, same, same)
    assert "*id001" in cassette.read_text()  # an alias in YAML
    assert import_cassette(cassette, tmp_path / "made.jsonl", HOSTS).verdicts == ("equal byte for byte",) * 2
    assert replayed_bodies(tmp_path / "made.jsonl") == [ANSWER] * 2


ENCODED: Mapping[str, tuple[str | None, bytes]] = {
    "gzip": ("gzip", gzip.compress(ANSWER)),
    "gzip by its older name": ("x-gzip", gzip.compress(ANSWER)),
    "gzip of two members": ("gzip", gzip.compress(ANSWER[:50]) + gzip.compress(ANSWER[50:]) + bytes(9)),
    "deflate": ("deflate", zlib.compress(ANSWER)),
    "deflate without its head": ("deflate", zlib.compress(ANSWER, wbits=-15)),
    "br": ("br", brotli.compress(ANSWER)),
    "zstd": ("zstd", zstandard.compress(ANSWER)),
    "zstd of two frames": ("zstd", zstandard.compress(ANSWER[:50]) + zstandard.compress(ANSWER[50:])),
    "its header masked": ("**REDACTED**", gzip.compress(ANSWER)),
    "its header dropped": (None, gzip.compress(ANSWER)),
    "decoded already": ("br", ANSWER),
    "by no one": ("identity", ANSWER),
}


@pytest.mark.parametrize("name", ENCODED)
def test_encodings(name: str, tmp_path: Path) -> None:
    coding, body = ENCODED[name]
    headers = {} if coding is None else {"Content-Encoding": [coding]}
    verdict, exchange, replayed = imported_alone(tmp_path, {"headers": headers, "body": {"string": body}})
    assert (verdict, replayed) == ("equal byte for byte", ANSWER)
    assert "headers" not in exchange.head


_ZEROS = bytes(1_000_000)
BOMBS: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "members of gzip": ("gzip", lambda data: 1_000 * gzip.compress(data[:1_000])),
    "deflate": ("deflate", zlib.compress),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstandard.compress),
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_more_is_unpacked_than_is_taken(name: str) -> None:
    coding, pack = BOMBS[name]
    bomb = pack(_ZEROS)
    assert unpack(coding, bomb, len(_ZEROS)) == _ZEROS
    many = bomb if name == "br" else 3 * bomb
    tracemalloc.start()
    try:
        with pytest.raises(CannotUnpack, match=r"^is longer than 0 MB once it is unpacked, and no more is$"):
            unpack(coding, many, 10_000)
        # GzipFile alone has two buffers of 128 KiB since Python 3.12.
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_a_cassette_that_is_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converse_harness.features.cassettes.read.MAX_FILE", 1_000_000)
    path = tmp_path / "bomb.yaml.gz"
    path.write_bytes(gzip.compress(b"interactions: [" + 2 * _ZEROS))
    with pytest.raises(CannotImport, match="this is longer than 0 MB once it is unpacked, and no more is"):
        import_cassette(path, tmp_path / "made.jsonl", HOSTS)


@pytest.mark.parametrize(("coding", "package"), [("br", "brotli"), ("zstd", "zstandard")])
def test_without_its_package_a_body_says_what_to_install(
    coding: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CannotUnpack, match=rf"the package {package}, .* pip install 'converse-harness\[import\]'"):
        unpack(coding, b"x")


def test_a_stream_that_was_decoded_already(tmp_path: Path) -> None:
    response = {"headers": {"content-encoding": "gzip"}, "body": {"string": STREAM}}
    assert imported_alone(tmp_path, response, uri=f"{CONVERSE}-stream")[2] == STREAM


def test_what_is_data_and_looks_like_python(tmp_path: Path) -> None:
    """What vcrpy writes for bodies that are files or iterators; nothing is called for them."""
    with io.BytesIO(b'{"messages":[1]}') as file, vcr.use_cassette(str(tmp_path / "made.yaml")) as writer:
        for body in (file, iter([b'{"messages":', b"[2]}"])):
            asked = VcrRequest("POST", CONVERSE, body, {"content-type": ("application/json",)})
            answer = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": ANSWER}}
            writer.append(asked, answer)
    text = (tmp_path / "made.yaml").read_text()
    assert "!!python/object/new:_io.BytesIO" in text
    assert "!!python/object/apply:builtins.iter" in text
    made = tmp_path / "made.jsonl"
    assert import_cassette(tmp_path / "made.yaml", made, HOSTS).verdicts == ("equal byte for byte",) * 2
    assert [each.request for each in recording(made).exchanges] == [{"messages": [1]}, {"messages": [2]}]


def test_json_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    # As YAML it could not be read: the escapes of JSON come in pairs.
    path.write_text('{"version": 1, "metadata": "\\ud83d\\ude00", "interactions": []}', encoding="utf-8-sig")
    assert read_cassette(path) == []


def test_scalars_are_what_yaml_and_json_have(tmp_path: Path) -> None:
    text = FIRST.replace(
        "body: {string: '{}'}",
        "parsed_body: {d: 2025-01-01, e: =, t: !!python/unicode é, n: null, b: on, i: 0x10, "
        "f: 1.5, s: !!python/tuple [!!str 1], x: !!python/bytes aGk=}",
    )
    path = tmp_path / "hand.yaml"
    path.write_text(text, encoding="utf-8-sig")
    (only,) = read_cassette(path)
    assert only.line == 2
    assert only.response["parsed_body"] == {
        "d": "2025-01-01",
        "e": "=",
        "t": "é",
        "n": None,
        "b": True,
        "i": 16,
        "f": 1.5,
        "s": ["1"],
        "x": b"hi",
    }


@pytest.mark.parametrize("size", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_a_huge_cassette(tmp_path: Path, size: int) -> None:
    delta = event("contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"' + b"x" * 100 + b'"},"p":"abc"}')
    streams = [
        interaction({"body": {"string": delta * 3 * size}}, f"{CONVERSE}-stream", body=f'{{"n":{n}}}') for n in range(2)
    ]
    many = [interaction({"body": {"string": ANSWER}}, body=f'{{"n":{n}}}') for n in range(2 * size)]
    cassette = written(tmp_path, *streams, *many)
    assert cassette.stat().st_size > 2_000 * size
    imported = import_cassette(cassette, tmp_path / "made.jsonl", HOSTS)
    assert imported.verdicts == ("equal byte for byte",) * (2 * size + 2)
