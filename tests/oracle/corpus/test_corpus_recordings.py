"""What AWS sent, made into recordings and replayed: the same bytes, events, answers and errors through two transports.

Compared with: 378 published recordings of Converse and ConverseStream, and botocore's own parser.
"""

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import botocore.session
import pytest
from botocore.eventstream import EventStreamBuffer
from botocore.parsers import EventStreamJSONParser, create_parser

from converse_harness import ConverseServer, bedrock, fake_converse, recording
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import header, text_of, write
from converse_harness.stream.frames import Decoder, encode
from converse_harness.stream.http import Request
from tests.oracle.conftest import SOME_AND_ALL

BUDGET = 1.5
"""How many times the bytes of a request and its answer a recording may have, if they are more than 2 KB."""

USUAL = {"content-type", "content-length", "transfer-encoding", "connection"}


@dataclass(frozen=True)
class Interaction:
    """One published interaction, and the file of the recording that is made of it."""

    name: str
    operation: str
    target: str
    request: bytes
    status: int
    headers: dict[str, str]
    body: bytes
    streams: bool
    file: Path

    @property
    def error(self) -> str:
        """The name of the error, as far as it was kept."""
        return self.headers.get("x-amzn-errortype", "").partition(":")[0]

    def pieces(self) -> list[bytes]:
        """Its body, a stream frame by frame."""
        if not self.streams:
            return [self.body]
        return [encode(frame) for frame in Decoder().feed(self.body)]


@pytest.fixture(scope="module")
def interactions(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Interaction]:
    """Each interaction of the corpus, recorded."""
    corpus, folder = shared / "corpus", tmp_path_factory.mktemp("recordings")
    index = json.loads((corpus / "index.json").read_text())
    assert len(index) == 378
    return [_recorded(corpus, entry, folder / f"{number}.jsonl") for number, entry in enumerate(index)]


def _recorded(corpus: Path, entry: dict[str, Any], file: Path) -> Interaction:
    known = json.loads((corpus / entry["file"]).read_text())
    request, response = known["request"], known["response"]
    # The recorders masked some headers and dropped others; what is left of the usual ones says nothing.
    headers = {name.lower(): value for name, value in response["headers"]}
    kept = {name: value for name, value in headers.items() if name not in USUAL and "REDACTED" not in value}
    kind = "application/vnd.amazon.eventstream" if response["is_event_stream"] else "application/json"
    made = Interaction(
        entry["file"],
        known["operation"],
        request["path"],
        request["body"].encode() if isinstance(request["body"], str) else json.dumps(request["body"]).encode(),
        response["status"],
        kept,
        base64.b64decode(response["body_base64"]),
        response["is_event_stream"],
        file,
    )
    captured = CapturedExchange(
        Request("POST", made.target, (("authorization", "secret"),), made.request),
        made.operation,
        made.status,
        (*kept.items(), ("Content-Type", kind)),
        0.1,
        [(piece, 0.1 + number / 100) for number, piece in enumerate(made.pieces())],
    )
    write(file, text_of([header(), *exchange_lines(captured, 1)]))
    return made


@pytest.fixture(scope="module")
def client() -> Any:
    """A botocore client that sends whatever request it is told to."""
    made = botocore.session.get_session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="fake",
        aws_secret_access_key="fake",
        config=botocore.config.Config(parameter_validation=False, retries={"total_max_attempts": 1}),
    )
    yield made
    made.close()


def asks(client: Any, of: Interaction) -> Any:
    """The output of the call, or botocore's ClientError."""

    def send_it(params: dict[str, Any], **_: Any) -> None:
        parts = urlsplit(params["url"])
        params |= {"body": of.request, "url": f"{parts.scheme}://{parts.netloc}{of.target}"}

    method: Callable[..., Any] = {"Converse": client.converse, "ConverseStream": client.converse_stream}[of.operation]
    hook = f"before-call.bedrock-runtime.{of.operation}"
    client.meta.events.register(hook, send_it)
    try:
        return method(modelId="m", messages=[])
    except client.exceptions.ClientError as error:
        return error
    finally:
        client.meta.events.unregister(hook, send_it)


def parsed(of: Interaction) -> Any:
    """What botocore makes of the bytes that AWS sent."""
    described = bedrock.operation(of.operation)
    if of.streams:
        return list(_events(of.body, described))
    return create_parser("rest-json").parse(
        {"status_code": of.status, "headers": of.headers, "body": of.body}, described.output_shape
    )


def _events(body: bytes, described: Any) -> Iterator[Any]:
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    shape = described.get_event_stream_output()
    parser = EventStreamJSONParser()
    for frame in buffer:
        yield parser.parse(frame.to_response_dict(), shape)


@SOME_AND_ALL
def test_boto_gets_what_aws_sent(interactions: list[Interaction], client: Any, step: int) -> None:
    wrong: list[str] = []
    for each in interactions[::step]:
        with fake_converse(recording(each.file)) as fake:
            output = asks(client, each)
            expected = parsed(each)
            if each.status != 200:
                same = output.response["Error"] == expected["Error"]
                same &= output.response["ResponseMetadata"]["HTTPStatusCode"] == each.status
            elif each.streams:
                data = b"".join(output["stream"]._raw_stream.stream())
                same = data == each.body
            else:
                same = {**output, "ResponseMetadata": None} == {**expected, "ResponseMetadata": None}
        if not same or fake.calls[0].status != each.status:
            wrong.append(each.name)
    assert wrong == []


def test_boto_parses_the_events_that_aws_sent(interactions: list[Interaction], client: Any) -> None:
    wrong: list[str] = []
    streams = [each for each in interactions if each.streams]
    assert len(streams) == 67
    for each in streams:
        expected = parsed(each)
        with fake_converse(recording(each.file)) as fake:
            events: list[Any] = []
            try:
                events.extend(asks(client, each)["stream"])
            except client.exceptions.ClientError as error:
                events.append({"error": error.response["Error"]})
        exceptions = [event for event in expected if "Error" in event or event.get("error")]
        if not exceptions and events != expected:
            wrong.append(each.name)
        if exceptions and not isinstance(events[-1].get("error"), dict):
            wrong.append(each.name)
        assert fake.calls[0].outcome == "complete", each.name
    assert wrong == []


@SOME_AND_ALL
def test_any_client_of_the_server_gets_what_aws_sent(interactions: list[Interaction], step: int) -> None:
    wrong: list[str] = []
    with ConverseServer() as server:
        for each in interactions[::step]:
            with server.script(recording(each.file)) as fake:
                host = urlsplit(fake.url)
                connection = http.client.HTTPConnection(host.netloc, timeout=30)
                connection.request("POST", f"{host.path}{each.target}", each.request)
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            got = (answer.status, body, headers.get("x-amzn-errortype"), headers.get("x-amzn-requestid"))
            sent = (each.status, each.body, each.headers.get("x-amzn-errortype"), each.headers.get("x-amzn-requestid"))
            if got != sent:
                wrong.append(each.name)
    assert wrong == []


def test_recordings_are_not_much_larger_than_what_was_sent(interactions: list[Interaction]) -> None:
    sizes = {each.name: (each.file.stat().st_size, len(each.request) + len(each.body)) for each in interactions}
    large = {name: made / sent for name, (made, sent) in sizes.items() if sent > 2048}
    assert len(large) > 50
    assert {name: ratio for name, ratio in large.items() if ratio > BUDGET} == {}


def test_streams_are_all_words(interactions: list[Interaction]) -> None:
    """No event of AWS's has to be kept as bytes beside what a person reads."""
    for each in interactions:
        lines = [json.loads(line) for line in each.file.read_text().splitlines()]
        assert not [line for line in lines if line.keys() & {"payload", "frame", "bytes", "bodyBase64"}], each.name


def test_damage_in_a_stream_is_replayed_too(interactions: list[Interaction], client: Any, tmp_path: Path) -> None:
    whole = next(each for each in interactions if each.streams)
    headers = (("Content-Type", "application/vnd.amazon.eventstream"),)
    for cut in (0, 1, 13, 150, len(whole.body) - 1):
        damaged = whole.body[:cut]
        request = Request("POST", whole.target, (), whole.request)
        captured = CapturedExchange(request, whole.operation, 200, headers, 0.1, [(damaged, 0.2)])
        file = tmp_path / f"{cut}.jsonl"
        write(file, text_of([header(), *exchange_lines(captured, 1)]))
        with fake_converse(recording(file)):
            assert b"".join(asks(client, whole)["stream"]._raw_stream.stream()) == damaged
