"""Cassettes of vcrpy: what is imported is replayed to the byte; all else is refused, and nothing is written."""

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

import yaml

from converse_harness.errors import MaskedSecretWarning, SecretFound
from converse_harness.features.cassettes.convert import CannotImportAll, import_cassette
from converse_harness.features.cassettes.read import CannotImport
from converse_harness.recordings.format.read import DamagedRecording
from tests.features.cassettes.hand_made import BEDROCK, FIRST, HOSTS, STREAM, interaction
from tests.features.cassettes.test_import_answers import FORMS
from tests.features.cassettes.test_import_refusals import BROKEN
from tests.fuzz.target import ASKED, Target, answers, body_of, folder


def check(data: bytes) -> None:
    """Import the bytes as a file whose name says JSON or YAML."""
    source, target = folder() / ("x.json" if len(data) % 2 else "x.yaml"), folder() / "x.jsonl"
    source.write_bytes(data)
    target.unlink(missing_ok=True)
    with catch_warnings():
        simplefilter("ignore", MaskedSecretWarning)
        try:
            imported = import_cassette(source, target, HOSTS)
        except (CannotImport, CannotImportAll):
            assert not target.exists()
        except (DamagedRecording, SecretFound):
            pass  # a refusal is right, whatever it leaves
        else:
            assert target.exists() is bool(imported.verdicts)
            assert "not equal" not in imported.verdicts


def seeds() -> Iterator[bytes]:
    """Cassettes of the catalogue in every form and layout, and what the tests know to be wrong."""
    for number, answer in enumerate(answers()):
        body = body_of(answer.response)
        response = {
            "status": {"code": answer.response.status, "message": "x"},
            "headers": {name: [value] for name, value in answer.response.headers},
            "body": {"string": body},
        }
        uri = BEDROCK + answer.request.target
        yield _cassette(number, interaction(response, uri, body=ASKED.decode(), headers={"Host": ["x"]}))
        yield body  # an answer without its request, if it is JSON
    yield from (text.encode() for _, text in FORMS.values())
    yield FIRST.encode()
    yield gzip.compress(FIRST.encode(), mtime=0)
    packed = {"string": gzip.compress(STREAM, mtime=0)}
    yield _cassette(0, interaction({"body": packed, "headers": {"Content-Encoding": ["gzip"]}}))
    yield from (text.encode() for text, _ in BROKEN.values() if len(text) < 10_000)


def _cassette(number: int, made: Mapping[str, Any]) -> bytes:
    document: dict[str, Any] = {"interactions": [made], "version": 1}
    if number % 3 == 1:
        document = {"requests": [made["request"]], "responses": [made["response"]]}
    body = made["response"]["body"]["string"]
    try:
        if number % 2:
            made["response"]["body"] = {"string": body.decode()}
            return json.dumps(document).encode()
    except UnicodeDecodeError:
        pass  # then as YAML, which has bytes
    return yaml.dump(document, Dumper=yaml.CSafeDumper).encode()


WORDS = (
    *("interactions:", "requests:", "responses:", "request:", "response:", "uri:", "method:", "headers:", "status:"),
    *("code:", "body:", "string:", "encoding:", "base64_string:", "parsed_body:", "status_code:", "content:"),
    *("!!binary |", "!!python/object/new:_io.BytesIO", "!!python/object/apply:builtins.iter", "!!int ", "!!float "),
    *("&a ", "*a", "<<: ", "? ", "!!set ", "1:59", "0x1f", "0b1", ".inf", "---\n", "%YAML 1.1\n", "[[", "{{"),
    *("Content-Encoding", "gzip", "deflate", "utf-16", "idna", "zlib", "https://", "/model/m/converse-stream"),
    *(":59:59:59:59:59:59", "ffffffffffffffff", "\\0", "\\ud800"),
)

TARGET = Target(check, seeds, WORDS)
