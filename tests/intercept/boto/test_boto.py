"""The boto transport, seen from outside: real clients of botocore, whatever they were made with."""

from __future__ import annotations

import gc
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import boto3
import botocore.exceptions
import pytest
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from converse_harness import BlockedConnection, UnexpectedCall, fake_converse, reply
from converse_harness.intercept.clients import ACCESS_KEY, BEARER_TOKEN
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.stream.delivery import SentChunks
from converse_harness.stream.http import Chunk, HttpResponse, Request

Client = Callable[..., Any]
Network = list[tuple[str, Any]]


def text_of(answer: Any) -> str:
    return str(answer["output"]["message"]["content"][0]["text"])


# Every client of the process


def test_answers_a_client_made_before_and_one_made_after(make_client: Client, question: dict[str, Any]) -> None:
    before = make_client(region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    with fake_converse(reply.text("one"), reply.text("two")):
        after = make_client()
        assert [text_of(client.converse(**question)) for client in (before, after)] == ["one", "two"]


@pytest.mark.needs_os
def test_answers_boto3_and_any_thread(question: dict[str, Any]) -> None:
    answers: list[str] = []

    def ask() -> None:
        answers.append(text_of(boto3.client("bedrock-runtime").converse(**question)))

    with fake_converse(reply.text("hi").times(3)):
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["hi"] * 3


def test_the_newest_fake_answers_and_the_one_below_after_it(make_client: Client, question: dict[str, Any]) -> None:
    client_answers: list[str] = []
    with fake_converse(reply.text("outer").times(2)):
        client = make_client()
        client_answers.append(text_of(client.converse(**question)))
        with fake_converse(reply.text("inner")):
            client_answers.append(text_of(client.converse(**question)))
        client_answers.append(text_of(client.converse(**question)))
    assert client_answers == ["outer", "inner", "outer"]


def test_answers_the_control_plane_too(make_client: Client, network: Network) -> None:
    with fake_converse() as fake:
        fake.on_operation("GetInferenceProfile", lambda call: reply.error("AccessDeniedException"))
        with pytest.raises(botocore.exceptions.ClientError, match="AccessDenied"):
            make_client("bedrock").get_inference_profile(inferenceProfileIdentifier="p")
    with pytest.raises(UnexpectedCall, match="ListGuardrails"), fake_converse():
        make_client("bedrock").list_guardrails()
    assert network == []


# Keys and region


def test_needs_no_credentials_and_no_region(make_client: Client, question: dict[str, Any], network: Network) -> None:
    with fake_converse(reply.text("hi")):
        client = make_client()
        assert text_of(client.converse(**question)) == "hi"
        assert client.meta.region_name == "us-east-1"
    assert network == []


def test_asks_no_machine_for_its_region(make_client: Client, question: dict[str, Any], network: Network) -> None:
    with fake_converse(reply.text("hi")):
        assert text_of(make_client(config=Config(defaults_mode="auto")).converse(**question)) == "hi"
    assert network == []


def test_keeps_the_region_that_is_configured(make_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-southeast-2")
    with fake_converse():
        assert make_client().meta.region_name == "ap-southeast-2"
        assert make_client(config=Config(region_name="eu-west-3")).meta.region_name == "eu-west-3"
        assert make_client(region_name="eu-north-1").meta.region_name == "eu-north-1"


def test_never_signs_with_real_keys(
    make_client: Client, question: dict[str, Any], real_keys: str, signatures: Callable[[Any], list[str]]
) -> None:
    environment = dict(os.environ)
    older = make_client(region_name="us-east-1")
    with fake_converse(reply.text("hi").times(3)):
        clients = [older, make_client(), make_client(aws_access_key_id=real_keys, aws_secret_access_key="x")]
        for client in clients:
            seen = signatures(client)
            client.converse(**question)
            assert f"Credential={ACCESS_KEY}/" in seen[0]
            assert real_keys not in seen[0]
    assert dict(os.environ) == environment


def test_never_sends_a_real_bearer_token(
    make_client: Client,
    question: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    signatures: Callable[[Any], list[str]],
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "real-token")
    with fake_converse(reply.text("hi")):
        client = make_client()
        seen = signatures(client)
        client.converse(**question)
    assert seen == [f"Bearer {BEARER_TOKEN}"]


def test_leaves_unsigned_clients_unsigned(make_client: Client, question: dict[str, Any]) -> None:
    headers: list[str] = []
    with fake_converse(reply.text("hi")):
        client = make_client(config=Config(signature_version=UNSIGNED))
        client.meta.events.register("before-send", lambda request, **_: headers.extend(request.headers.keys()))
        client.converse(**question)
    assert "Authorization" not in headers


def test_a_client_made_under_a_fake_finds_its_keys_once_it_needs_them(
    make_client: Client, question: dict[str, Any], real_keys: str, signatures: Callable[[Any], list[str]]
) -> None:
    with fake_converse():
        client = make_client()
    seen = signatures(client)
    client.meta.events.register_last("before-send", canned)
    assert text_of(client.converse(**question)) == "from a hook"
    assert f"Credential={real_keys}/" in seen[0]


def test_a_client_made_under_a_fake_has_no_keys_where_there_are_none(
    make_client: Client, question: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with fake_converse():
        client = make_client()
    with pytest.raises(botocore.exceptions.NoCredentialsError):
        client.converse(**question)


def test_the_users_own_look_up_of_credentials_is_the_real_one(real_keys: str) -> None:
    session = boto3.Session()
    with fake_converse():
        credentials: Any = session.get_credentials()
        assert credentials.access_key == real_keys


def test_leaves_other_services_alone(
    make_client: Client, real_keys: str, signatures: Callable[[Any], list[str]]
) -> None:
    with fake_converse():
        client = make_client("sts", region_name="us-east-1")
        seen = signatures(client)
        client.meta.events.register_last(
            "before-send", lambda request, **_: AWSResponse(request.url, 403, {}, Bytes(b"<no/>"))
        )
        with pytest.raises(botocore.exceptions.ClientError):
            client.get_caller_identity()
        with pytest.raises(botocore.exceptions.NoRegionError):
            make_client("sqs")
    assert f"Credential={real_keys}/" in seen[0]


# The answer on its way


def test_a_stream_is_lazy(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi")) as fake:
        stream = iter(make_client().converse_stream(**question)["stream"])
        (call,) = fake.calls
        assert len(call.events) == 0
        next(stream)
        assert len(call.events) == 1
        outcomes = [call.outcome]
        rest = list(stream)
        assert len(call.events) == 1 + len(rest)
        outcomes.append(call.outcome)
    assert outcomes == ["still running", "complete"]


def test_pauses_are_slept_between_the_events(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi", pieces=["h", "i"]).paced(first=0.03, each=0.02)) as fake:
        started = time.monotonic()
        events = list(make_client().converse_stream(**question)["stream"])
        elapsed = time.monotonic() - started
        times = [event.at for event in fake.calls[0].events]
    assert elapsed >= 0.03 + 0.02 * (len(events) - 1)
    assert all(later - earlier >= 0.02 for earlier, later in itertools.pairwise(times))


def test_closing_early_is_seen(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi").optional()) as fake:
        stream = make_client().converse_stream(**question)["stream"]
        next(iter(stream))
        stream.close()
        assert fake.calls[0].outcome == "closed by client"


def test_closing_after_the_last_event_is_complete(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi")) as fake:
        stream = make_client().converse_stream(**question)["stream"]
        for event in stream:
            if "metadata" in event:
                break
        stream.close()
        assert fake.calls[0].outcome == "complete"


def test_a_stream_that_is_dropped_unread_is_closed_by_the_client(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi").times(2).optional()) as fake:
        client = make_client()
        answer = client.converse_stream(**question)
        del answer
        stream = iter(client.converse_stream(**question)["stream"])
        next(stream)
        del stream
        gc.collect()
        assert [call.outcome for call in fake.calls] == ["closed by client"] * 2


def test_the_date_comes_first(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi")):
        headers = make_client().converse(**question)["ResponseMetadata"]["HTTPHeaders"]
    assert next(iter(headers)) == "date"


def test_reads_bodies_piece_by_piece(make_client: Client) -> None:
    with fake_converse() as fake:
        fake.on_operation("InvokeModel", lambda call: {"body": b"0123456789", "contentType": "text/plain"})
        client = make_client()
        body = client.invoke_model(modelId="m", body=b"{}")["body"]
        assert (body.read(4), body.read(), body.read()) == (b"0123", b"456789", b"")
        again = client.invoke_model(modelId="m", body=b"{}")["body"]
        assert list(again.iter_chunks(4)) == [b"0123", b"4567", b"89"]


class Breaking:
    """A fake whose answer breaks off."""

    sleeps = False
    attempts = None

    def __init__(self, events: Sequence[Chunk], reported: list[str]) -> None:
        self.events = events
        self.reported = reported
        self.taken = SentChunks()

    def exchange(self, request: Request, *, service: str, operation: str) -> Breaking:
        self.reported.append(f"{service} {operation}")
        return self

    @property
    def response(self) -> HttpResponse:
        def chunks() -> Iterator[Chunk]:
            yield from self.events
            raise ConnectionResetError("cut")

        return HttpResponse(200, (), chunks())

    records = False
    captured = call = None

    def ended(self, outcome: str) -> None:
        self.reported.append(outcome)

    def waited(self, seconds: float, call: object = None) -> None: ...

    def block(self, error: BlockedConnection) -> None: ...


@pytest.mark.parametrize("count", [0, 2])
def test_what_breaks_off_is_delivered_up_to_there(make_client: Client, question: dict[str, Any], count: int) -> None:
    with fake_converse(reply.text("hi").optional()) as fake:
        body = json.dumps({"messages": question["messages"]}).encode()
        events = fake.core.exchange(Request("POST", "/model/m/converse-stream", (), body)).response.chunks
    chunks = list(itertools.islice(events, count))
    reported: list[str] = []
    received: list[Any] = []
    breaking: Any = Breaking(chunks, reported)  # a fake with the least that a transport uses
    with OPEN_FAKES.opened(breaking):
        stream = make_client().converse_stream(**question)["stream"]
        with pytest.raises(ConnectionResetError):
            received.extend(stream)
        stream.close()
    assert len(received) == count
    assert reported == ["bedrock-runtime ConverseStream", "cut"]
    assert breaking.taken.data == [each.data for each in chunks]


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (reply.connection_refused(), botocore.exceptions.EndpointConnectionError),
        (reply.connect_timeout(), botocore.exceptions.ConnectTimeoutError),
        (reply.read_timeout(), botocore.exceptions.ReadTimeoutError),
    ],
)
def test_connection_failures_are_botocores_own(
    make_client: Client, question: dict[str, Any], failure: Any, raised: type[Exception]
) -> None:
    with fake_converse() as fake:
        fake.always(failure)
        client = make_client(config=Config(retries={"total_max_attempts": 2, "mode": "standard"}))
        with pytest.raises(raised, match=r"bedrock-runtime\.us-east-1"):
            client.converse(**question)
        assert len(fake.calls) == 2


def test_the_path_of_an_endpoint_url_is_not_part_of_the_target(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi")) as fake:
        make_client(endpoint_url="https://gateway.example/aws/bedrock/").converse(**question)
        assert fake.calls[0].request.target.startswith("/model/anthropic.claude")


def test_a_hook_of_the_user_runs_first_and_may_win(make_client: Client, question: dict[str, Any]) -> None:
    with fake_converse() as fake:
        client = make_client()
        client.meta.events.register("before-send.bedrock-runtime.Converse", canned)
        assert text_of(client.converse(**question)) == "from a hook"
        assert fake.calls == []


def test_a_call_that_began_before_the_fake_is_answered_by_it(make_client: Client, question: dict[str, Any]) -> None:
    """A client that was in the middle of its retries when the fake opened: nothing may reach Bedrock from then on."""
    client = make_client(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    fake = fake_converse(reply.text("hi"))
    opened: Iterator[Any] = iter([fake.open])
    client.meta.events.register("before-sign", lambda **_: next(opened, lambda: None)() and None)
    try:
        assert text_of(client.converse(**question)) == "hi"
    finally:
        fake.close()
    assert OPEN_FAKES.newest() is None


class Bytes:
    """The raw part of a response that a hook makes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def stream(self) -> Iterator[bytes]:
        yield self.data


def canned(request: Any, **_: Any) -> AWSResponse:
    """A before-send hook that answers."""
    body = b'{"output": {"message": {"role": "assistant", "content": [{"text": "from a hook"}]}}}'
    return AWSResponse(request.url, 200, {}, Bytes(body))
