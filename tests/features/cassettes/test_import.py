"""What vcrpy recorded of real clients is imported, and replayed byte for byte."""

import gzip
import http.client
import http.server
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
import urllib3
import vcr
import yaml
from vcr.request import Request as VcrRequest

from converse_harness import ConverseServer, fake_converse, recording, reply
from converse_harness.features.cassettes.convert import Hosts, Imported, import_cassette
from converse_harness.intercept.guard.hosts import is_bedrock_host
from tests.features.cassettes.hand_made import (
    ANSWER,
    ASKED,
    BEDROCK,
    HOSTS,
    NOVA,
    SECRETS,
    client_of,
    replayed_bodies,
)

pytestmark = pytest.mark.any_answer


class Got(NamedTuple):
    """What a client got of a session: the bytes of each answer, and what it made of them."""

    bodies: list[bytes]
    made: list[object]


def session(client: Any) -> Got:
    """Five calls: a message, a stream, two throttled ones, a stream that fails."""
    got = Got([], [])
    for event in ("Converse", "*"):
        client.meta.events.register(f"before-parse.bedrock-runtime.{event}", _keeps(got, streams=event == "*"))
    got.made.append(client.converse(**ASKED)["output"])
    got.bodies.append(b"".join(client.converse_stream(**ASKED)["stream"]._raw_stream.stream()))
    for call in (client.converse, client.converse_stream):
        with pytest.raises(client.exceptions.ClientError) as throttled:
            call(**ASKED)
        response = throttled.value.response
        got.made.append((response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]))
    with pytest.raises(client.exceptions.ClientError, match="modelStreamErrorException") as broken:
        got.made.extend(client.converse_stream(**ASKED)["stream"])
    got.made.append(broken.value.response["Error"])
    return got


def _keeps(got: Got, *, streams: bool) -> Callable[..., None]:
    def keep(response_dict: dict[str, Any], **_: object) -> None:
        if not streams or response_dict["status_code"] != 200:
            got.bodies.append(response_dict["body"])

    return keep


REPLIES = (
    reply.text("It is 18 °C."),
    reply.message({"text": "Let me look."}, {"toolUse": {"name": "get_weather", "input": {"city": "Zürich"}}}),
    reply.throttled().times(2),
    reply.text("Once upon a time").fails_after(3, "modelStreamErrorException", "The model stopped."),
)


@pytest.fixture
def other_host() -> Iterator[str]:
    """A host that is not Bedrock; for a path that says so it compresses what it sends."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b'{"hello": "you"}', {})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(
                gzip.compress(ANSWER, mtime=0), {"Content-Encoding": "gzip", "Content-Type": "application/json"}
            )

        def _answer(self, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(200)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Gzipped:
    """A serializer and persister as a large user of vcrpy has them: requests beside responses, compressed."""

    @staticmethod
    def serialize(cassette: dict[str, Any]) -> bytes:
        requests = [
            {"method": each.method, "uri": each.uri, "body": each.body, "headers": dict.fromkeys(each.headers, "**X**")}
            for each in cassette["requests"]
        ]
        return gzip.compress(yaml.safe_dump({**cassette, "requests": requests}).encode())

    @staticmethod
    def deserialize(data: bytes) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(gzip.decompress(data))
        return {**found, "requests": [VcrRequest(**each) for each in found["requests"]]}

    @classmethod
    def load_cassette(cls, path: Path, serializer: object) -> object:
        raise vcr.persisters.filesystem.CassetteNotFoundError

    @classmethod
    def save_cassette(cls, path: Path, cassette: dict[str, Any], serializer: object) -> None:
        Path(path).write_bytes(cls.serialize(cassette))


def masked(response: dict[str, Any]) -> dict[str, Any]:
    """A response as that user keeps it: no header has its value."""
    return {**response, "headers": dict.fromkeys(response["headers"], "**REDACTED**")}


def record_with_vcrpy(cassette: Path, server: ConverseServer, other: str) -> tuple[Got, str]:
    """What a boto3 client gets while vcrpy records it, and the host that it asked."""
    writer = vcr.VCR()
    options: dict[str, Any] = {}
    if cassette.suffix == ".gz":
        writer.register_serializer("gz", Gzipped)
        writer.register_persister(Gzipped)
        options = {"serializer": "gz", "before_record_response": masked}
    with server.script(*REPLIES) as fake:
        with writer.use_cassette(str(cassette), record_mode="all", **options):
            assert urllib3.PoolManager().request("GET", other).json() == {"hello": "you"}
            got = session(client_of(fake.url))
            assert urllib3.PoolManager().request("GET", f"{other}/again").status == 200
        return got, urlsplit(fake.url).netloc


@pytest.mark.parametrize("name", ["session.yaml", "session.yaml.gz"])
def test_what_vcrpy_recorded_is_replayed_byte_for_byte(
    name: str, converse_server: ConverseServer, other_host: str, tmp_path: Path
) -> None:
    cassette, made = tmp_path / name, tmp_path / "made.jsonl"
    live, host = record_with_vcrpy(cassette, converse_server, other_host)
    imported = import_cassette(cassette, made, Hosts(is_bedrock_host, frozenset({host})))
    assert imported == Imported(("equal byte for byte",) * 5, {urlsplit(other_host).netloc: 2})
    with fake_converse(recording(made, match="order")) as fake:
        replayed = session(client_of(BEDROCK))
    assert replayed.bodies == live.bodies
    if name.endswith(".gz"):
        # Which error it was stood in a header, whose value was masked: the cassette does not know it either.
        assert [made[0] for made in replayed.made if isinstance(made, tuple)] == [429, 429]
    else:
        assert replayed.made == live.made
    assert [call.operation for call in fake.calls] == ["Converse", "ConverseStream"] * 2 + ["ConverseStream"]
    text = made.read_text()
    assert not [secret for secret in SECRETS if secret in text]
    assert '"t": 0, "messageStart"' in text
    assert "null" not in text


@pytest.mark.parametrize(("library", "decoded_by_vcrpy"), [("urllib3", False), ("http", False), ("http", True)])
def test_what_a_proxy_compressed_is_replayed_as_the_client_read_it(
    library: str, decoded_by_vcrpy: bool, other_host: str, tmp_path: Path
) -> None:
    cassette, made = tmp_path / "proxied.yaml", tmp_path / "proxied.jsonl"
    with vcr.use_cassette(str(cassette), decode_compressed_response=decoded_by_vcrpy):
        target, body = f"/gateway/v1/model/{NOVA}/converse?trace=1", json.dumps({"messages": []})
        if library == "urllib3":
            assert urllib3.PoolManager().request("POST", f"{other_host}{target}", body=body).data == ANSWER
        else:
            connection = http.client.HTTPConnection(urlsplit(other_host).netloc)
            connection.request("POST", target, body)
            assert connection.getresponse().read() == gzip.compress(ANSWER, mtime=0)
            connection.close()
    kept = yaml.safe_load(cassette.read_text())["interactions"][0]["response"]
    assert (kept["headers"].get("Content-Encoding"), isinstance(kept["body"]["string"], bytes)) == {
        ("urllib3", False): (["gzip"], False),  # urllib3 decoded it, and vcrpy kept the header
        ("http", False): (["gzip"], True),
        ("http", True): (None, False),
    }[library, decoded_by_vcrpy]
    netloc = urlsplit(other_host).netloc
    assert import_cassette(cassette, made, HOSTS) == Imported((), {netloc: 1})
    assert not made.exists()
    for named in (netloc, "127.0.0.1"):
        imported = import_cassette(cassette, made, Hosts(is_bedrock_host, frozenset({named})))
        assert imported == Imported(("equal byte for byte",), {})
    assert recording(made).exchanges[0].call == {
        "call": 1,
        "operation": "Converse",
        "modelId": NOVA,
        "query": "trace=1",
        "request": {"messages": []},
    }
    assert recording(made).exchanges[0].head.keys() == {"t", "status", "requestId", "body"}
    assert replayed_bodies(made) == [ANSWER]


def test_the_json_serializer_of_vcrpy(converse_server: ConverseServer, tmp_path: Path) -> None:
    cassette, made = tmp_path / "session.json", tmp_path / "session.jsonl"

    def without_headers(request: Any) -> Any:
        request.headers = {}  # boto3's are bytes, which JSON cannot hold
        return request

    with converse_server.script(reply.text("18 °C"), reply.throttled()) as fake:
        client = client_of(fake.url)
        with vcr.use_cassette(str(cassette), serializer="json", before_record_request=without_headers):
            output = client.converse(**ASKED)["output"]
            with pytest.raises(client.exceptions.ThrottlingException):
                client.converse(**ASKED)
        host = urlsplit(fake.url).netloc
    imported = import_cassette(cassette, made, Hosts(is_bedrock_host, frozenset({host})))
    assert imported.verdicts == ("equal byte for byte",) * 2
    with fake_converse(recording(made)):
        client = client_of(BEDROCK)
        assert client.converse(**ASKED)["output"] == output
        with pytest.raises(client.exceptions.ThrottlingException):
            client.converse(**ASKED)
