"""Recording through the server transport: what any client asks goes on to a service, and its answer back, live."""

from __future__ import annotations

import json
import queue
import re
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from converse_harness import (
    BlockedConnection,
    ConverseServer,
    Redaction,
    Reply,
    ReplyError,
    TransportError,
    UnexpectedCall,
    fake_converse,
    recording,
    reply,
)
from converse_harness.intercept.clients import ACCESS_KEY, SECRET_KEY
from converse_harness.recordings.format.read import read
from converse_harness.server.http import upstream
from converse_harness.server.http.upstream import Upstream
from converse_harness.server.mounts import ServerFake
from converse_harness.stream.events import encode_event
from tests.certificates import certificate
from tests.intercept.guard.boto_only import BotoOnlyFake
from tests.recordings.developer import KEY_ID, REGION, SECRET, TOKEN, give_access
from tests.recordings.peers import DELTA, METADATA, START, STREAM, Answers, body, chunk, peer, reset
from tests.server.peers import Raw, Raw2, eventually, question

pytestmark = pytest.mark.any_answer

CLIENT_KEY, CLIENT_SECRET = "AKIDOFACLIENT", "the-secret-of-a-client"
QUESTION: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
MODEL = "amazon.nova-lite-v1:0"
ARN = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc"

Make = Callable[[str], Any]


@pytest.fixture(autouse=True)
def _developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of somebody who has access to Bedrock."""
    give_access(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture(scope="module")
def service() -> Iterator[ConverseServer]:
    """Stands for Bedrock."""
    with ConverseServer() as server:
        yield server


@pytest.fixture(scope="module")
def proxy() -> Iterator[ConverseServer]:
    with ConverseServer() as server:
        yield server


def boto(url: str | None = None, **config: Any) -> Any:
    keys = {"aws_access_key_id": CLIENT_KEY, "aws_secret_access_key": CLIENT_SECRET} if url else {}
    once = {"retries": {"total_max_attempts": 1}, **config}
    return boto3.client("bedrock-runtime", endpoint_url=url, region_name="us-east-1", config=Config(**once), **keys)


def converse(client: Any) -> Any:
    answer = client.converse(modelId=MODEL, **QUESTION)
    return {**answer, "ResponseMetadata": None}


def stream(client: Any) -> list[Any]:
    with closing(client.converse_stream(modelId=MODEL, **QUESTION)["stream"]) as events:
        return list(events)


def outcome_of(act: Callable[[], Any]) -> Any:
    """What a client gets: a value, or the type and message of an error."""
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same again
        return type(error).__qualname__, re.sub(r"127\.0\.0\.1:\d+|0x[0-9a-f]+|https?://\S+", "", str(error))


def target(fake: ServerFake, operation: str = "converse", model: str = "m") -> str:
    return f"{fake.url}/model/{model}/{operation}"


def ends(path: Path) -> list[str | None]:
    return [None if each.end is None else each.end["end"] for each in read(path).exchanges]


class Service:
    """A service that keeps the requests as they came, and answers each with the same JSON."""

    def __init__(self) -> None:
        seen: list[tuple[str, str, dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                seen.append((self.command, self.path, dict(self.headers), data))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format: str, *args: Any) -> None:
                pass

        for method in ("GET", "POST", "PUT"):
            setattr(Handler, f"do_{method}", Handler.answer)
        self.seen = seen
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Service:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def captured() -> Iterator[Service]:
    with Service() as service:
        yield service


# What the client sees


def test_each_event_reaches_the_client_before_the_next_one_is_sent(proxy: ConverseServer, path: Path) -> None:
    taken = threading.Event()

    def wait_for_the_client(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        if taken.wait(10):
            connection.sendall(chunk(METADATA) + chunk(b""))

    with peer(wait_for_the_client) as url, proxy.record(path, upstream=url) as fake:
        events = iter(boto(fake.url).converse_stream(modelId=MODEL, **QUESTION)["stream"])
        assert "messageStart" in next(events)
        (call,) = fake.calls
        assert (call.status, len(call.events), call.outcome) == (200, 1, "still running")
        taken.set()
        assert "metadata" in next(events)
        assert list(events) == []
        eventually(lambda: call.outcome == "complete")
    (exchange,) = read(path).exchanges
    assert exchange.events[0]["t"] >= exchange.head["t"]
    assert len(exchange.events) == 2


def test_the_head_of_a_stream_does_not_wait_for_its_first_event(proxy: ConverseServer, path: Path) -> None:
    headed = threading.Event()

    def wait_for_the_client(connection: socket.socket) -> None:
        connection.sendall(STREAM)
        if headed.wait(10):
            connection.sendall(chunk(START) + chunk(b""))

    with (
        peer(wait_for_the_client) as url,
        proxy.record(path, upstream=url) as fake,
        httpx.stream("POST", target(fake, "converse-stream"), json=QUESTION) as answer,
    ):
        assert answer.status_code == 200
        headed.set()
        assert answer.read() == START


REPLIES: dict[str, Reply] = {
    "text": reply.text("Grüezi, it is 18 °C."),
    "tool": reply.tool_use("get_weather", {"city": "Zürich"}),
    "throttled": reply.throttled(),
    "denied": reply.error("AccessDeniedException", "No."),
    "midway": reply.text("It will be").fails_after(3, "modelStreamErrorException"),
    "slow": reply.text("one two three").paced(first=0.01, each=0.01),
}


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("ask", [stream, converse])
def test_a_recording_replays_what_the_client_saw(
    service: ConverseServer, proxy: ConverseServer, path: Path, name: str, ask: Callable[[Any], Any]
) -> None:
    with service.script(REPLIES[name]) as real:
        without = outcome_of(lambda: ask(boto(real.url)))
    with service.script(REPLIES[name]) as real, proxy.record(path, upstream=real.url) as fake:
        recorded = outcome_of(lambda: ask(boto(fake.url)))
        (call,) = fake.calls
        (sent,) = real.calls
        eventually(lambda: call.outcome != "still running")
        assert [event for event, _ in call.events] == [event for event, _ in sent.events]
        assert (call.status, call.outcome) == (sent.status, sent.outcome)
    with fake_converse(recording(path)):
        replayed = outcome_of(lambda: ask(boto()))
    assert without == recorded == replayed


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_the_bytes_are_those_that_the_service_sent(
    service: ConverseServer, proxy: ConverseServer, path: Path, http2: bool
) -> None:
    script = [reply.text("one two three four"), reply.text("five")]

    def both(url: str) -> list[tuple[int, bytes, dict[str, str]]]:
        with httpx.Client(http1=not http2, http2=http2) as client:
            answers = [
                client.post(f"{url}/model/m/{operation}", json=QUESTION)
                for operation in ("converse-stream", "converse")
            ]
        return [
            (each.status_code, each.content, {k: v for k, v in each.headers.items() if k != "date"}) for each in answers
        ]

    with service.script(*script) as real:
        without = both(real.url)
    with service.script(*script) as real, proxy.record(path, upstream=real.url) as fake:
        assert both(fake.url) == without
    with proxy.script(recording(path)) as replaying:
        assert both(replaying.url) == without


def test_each_chunk_of_the_service_is_one_for_the_client(
    service: ConverseServer, proxy: ConverseServer, path: Path
) -> None:
    with service.script(reply.text("one two three four")) as real, proxy.record(path, upstream=real.url) as fake:
        with Raw(fake.url) as client:
            answer = client.ask(fake.url, "converse-stream")
        sent = real.calls[0].answered.taken.data
    assert answer.chunks == sent
    assert len(sent) > 4
    with proxy.script(recording(path)) as replaying, Raw(replaying.url) as client:
        assert client.ask(replaying.url, "converse-stream").chunks == sent


def test_two_streams_of_one_connection_are_two_exchanges(proxy: ConverseServer, path: Path) -> None:
    """With HTTP/2; the one that began first ends last."""
    second = threading.Event()

    def slow(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        if second.wait(10):
            connection.sendall(chunk(METADATA) + chunk(b""))

    def quick(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START) + chunk(DELTA) + chunk(b""))

    with peer(slow, quick) as url, proxy.record(path, upstream=url) as fake, Raw2(fake.url) as client:
        client.ask(1)
        client.until(lambda: client.frames[1])
        client.ask(3)
        assert client.answer(3) == START + DELTA
        assert 1 not in client.ended
        second.set()
        assert client.answer(1) == START + METADATA
    assert [len(each.events) for each in read(path).exchanges] == [2, 2]
    assert "metadata" in read(path).exchanges[0].events[1]


@pytest.mark.slow
def test_a_client_that_reads_slowly_holds_up_nobody(proxy: ConverseServer, path: Path) -> None:
    sent = threading.Event()
    long = encode_event({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "la " * 10_000}}}, 3)

    def pour(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(long) * 200 + chunk(b""))
        sent.set()

    def quick(connection: socket.socket) -> None:
        connection.sendall(body(b"{}"))

    with (
        peer(pour, quick) as url,
        proxy.record(path, upstream=url) as fake,
        Raw(fake.url, buffer=65_536) as slow,
    ):
        slow.send(question(fake.url))
        assert sent.wait(20)  # the service is never held up by a client: what comes is kept anyway
        assert httpx.post(target(fake), json=QUESTION).json() == {}
        assert len(slow.answer().body) == 200 * len(long)


def test_many_at_a_time_are_not_mixed(service: ConverseServer, proxy: ConverseServer, path: Path) -> None:
    count = 24
    with service.script() as real, proxy.record(path, upstream=real.url) as fake:
        real.always(lambda call: reply.text(f"you said {call.last_user_text}").paced(each=0.001))

        def ask(number: int) -> str:
            said = {"messages": [{"role": "user", "content": [{"text": f"number {number} of all"}]}]}
            with httpx.Client(http2=bool(number % 2), http1=not number % 2) as client:
                return client.post(target(fake, "converse-stream"), json=said, timeout=30).read().decode("latin-1")

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(ask, range(count)))
        assert len(fake.calls) == count
    exchanges = read(path).exchanges
    assert len(exchanges) == count
    with proxy.script(recording(path, match="exact")) as fake, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(count))) == answers
    for exchange in exchanges:
        (number,) = re.findall(r"number (\d+) of", json.dumps(exchange.request))
        deltas = [line["contentBlockDelta"]["delta"]["text"] for line in exchange.events if "contentBlockDelta" in line]
        assert "".join(deltas) == f"you said number {number} of all"


# What the service sees


def signature_holds(
    seen: tuple[str, str, dict[str, str], bytes], service: Service, signed_for: str = "bedrock"
) -> bool:
    """Whether the signature of a request is the one that the developer's keys give."""
    method, path, headers, data = seen
    given = re.fullmatch(
        rf"AWS4-HMAC-SHA256 Credential={KEY_ID}/\d{{8}}/{REGION}/{signed_for}/aws4_request, "
        r"SignedHeaders=(\S+), Signature=(\w+)",
        headers["Authorization"],
    )
    assert given is not None
    names = given[1].split(";")
    assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names)
    lower = {name.lower(): value for name, value in headers.items()}
    request: Any = AWSRequest(method, service.url + path, {name: lower[name] for name in names}, data)
    request.context["timestamp"] = lower["x-amz-date"]
    signer: Any = SigV4Auth(Credentials(KEY_ID, SECRET, TOKEN), signed_for, REGION)
    canonical = signer.canonical_request(request)
    return bool(signer.signature(signer.string_to_sign(request, canonical), request) == given[2])


REQUESTS = {
    "a model id": ("POST", "/model/us.amazon.nova-lite-v1%3A0/converse", b'{"messages":[]}'),
    "an ARN": ("POST", f"/model/{ARN.replace(':', '%3A').replace('/', '%2F')}/converse-stream", b"{}"),
    "an ARN in small letters": ("POST", f"/model/{ARN.replace(':', '%3a').replace('/', '%2f')}/converse", b"{}"),
    "a plain colon": ("POST", "/model/us.amazon.nova-lite-v1:0/converse", b"{}"),
    "a query": ("GET", "/inference-profiles?type=APPLICATION&maxResults=2&nextToken=a%2Bb%3D", b""),
    "nothing of Bedrock's": ("PUT", "/some/where?x=%20", b"\x00\xff"),
}


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize("asked", REQUESTS)
def test_it_is_signed_anew_for_the_service(
    proxy: ConverseServer, captured: Service, path: Path, asked: str, http2: bool
) -> None:
    method, where, data = REQUESTS[asked]
    with (
        proxy.record(path, upstream=captured.url) as fake,
        httpx.Client(http1=not http2, http2=http2) as client,
    ):
        assert client.request(method, fake.url + where, content=data).status_code == 200
    (seen,) = captured.seen
    assert (seen[0], seen[3]) == (method, data)
    assert seen[1].lower() == where.lower()
    assert signature_holds(seen, captured)


def test_a_call_of_agentcore_is_signed_for_it_and_keeps_the_headers_of_its_input(
    proxy: ConverseServer, captured: Service, path: Path
) -> None:
    members = {"Mcp-Session-Id": "s1", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    where = "/runtimes/arn%3Aaws%3Abedrock-agentcore%3Aus-east-1%3A123456789012%3Aruntime%2Fa/invocations"
    with proxy.record(path, upstream=captured.url) as fake:
        httpx.post(fake.url + where, content=b"{}", headers={**members, "X-Api-Key": "k"}).raise_for_status()
    (seen,) = captured.seen
    assert signature_holds(seen, captured, "bedrock-agentcore")
    lower = {name.lower(): value for name, value in seen[2].items()}
    assert {name.lower(): value for name, value in members.items()}.items() <= lower.items()
    assert "x-api-key" not in lower


def test_the_service_may_have_a_path_of_its_own(proxy: ConverseServer, captured: Service, path: Path) -> None:
    with proxy.record(path, upstream=f"{captured.url}/gate/way/") as fake:
        converse(boto(fake.url, parameter_validation=False))
    (seen,) = captured.seen
    assert seen[1] == "/gate/way/model/amazon.nova-lite-v1%3A0/converse"
    assert signature_holds(seen, captured)


def test_what_says_what_is_asked_goes_on_and_what_says_who_asks_does_not(
    proxy: ConverseServer, captured: Service, path: Path
) -> None:
    asked = {
        "Accept": "application/vnd.amazon.eventstream",
        "Content-Type": "application/json; charset=utf-8",
        "X-Amzn-Bedrock-Trace": "ENABLED",
        "x-amzn-bedrock-guardrailidentifier": "g1",
    }
    dropped = {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={CLIENT_KEY}/20260101/us-east-1/bedrock/aws4_request",
        "X-Amz-Date": "20200101T000000Z",
        "X-Amz-Security-Token": "the-session-token-of-a-client",
        "X-Amz-Content-Sha256": "0" * 64,
        "Cookie": "session=of-a-client",
        "Proxy-Authorization": "Basic b2YtYS1jbGllbnQ=",
        "X-Api-Key": "the-api-key-of-a-client",
        "User-Agent": "agent-of-a-client",
        "Accept-Encoding": "gzip, br",
        "amz-sdk-request": "attempt=1; max=1",
        "Expect": "100-continue",
        "TE": "trailers",
    }
    with proxy.record(path, upstream=captured.url) as fake:
        httpx.post(target(fake), content=b"{}", headers={**asked, **dropped}).raise_for_status()
    ((_, _, headers, _),) = captured.seen
    lower = {name.lower(): value for name, value in headers.items()}
    assert {name.lower(): value for name, value in asked.items()}.items() <= lower.items()
    for name, value in dropped.items():
        assert lower.get(name.lower()) != value
        assert value not in path.read_text(encoding="utf-8")
    assert set(lower) == {
        *map(str.lower, asked),
        *("accept-encoding", "authorization", "content-length", "host", "user-agent"),
        *("x-amz-date", "x-amz-security-token"),
    }
    assert read(path).exchanges[0].call["headers"] == {
        "X-Amzn-Bedrock-Trace": "ENABLED",
        "x-amzn-bedrock-guardrailidentifier": "g1",
    }


def test_a_bearer_token_goes_instead_of_a_signature(
    proxy: ConverseServer, captured: Service, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "the-bearer-token-of-a-developer")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    client = {"Authorization": "Bearer the-bearer-token-of-a-client"}
    with proxy.record(path, upstream=captured.url) as fake:
        httpx.post(target(fake), content=b"{}", headers=client).raise_for_status()
        transcript = fake.transcript
    ((_, _, headers, _),) = captured.seen
    assert headers["Authorization"] == "Bearer the-bearer-token-of-a-developer"
    assert not any(name.lower().startswith("x-amz-") for name in headers)
    assert "bearer-token" not in path.read_text(encoding="utf-8") + transcript


def test_no_secret_is_written_or_shown(
    service: ConverseServer, proxy: ConverseServer, path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with service.script(reply.text("hi").times(2), reply.throttled()) as real:
        with proxy.record(path, upstream=real.url) as fake:
            stream(boto(fake.url))
            converse(boto(fake.url))
            outcome_of(lambda: converse(boto(fake.url)))
            shown = fake.transcript + repr(fake.calls) + repr([call.request for call in fake.calls])
        shown += repr([call.request for call in real.calls])
    everything = path.read_text(encoding="utf-8") + shown + "".join(capfd.readouterr())
    for secret in (KEY_ID, SECRET, TOKEN, CLIENT_KEY, CLIENT_SECRET, "AWS4-HMAC-SHA256"):
        assert secret not in everything


# Where the service is, and whose keys sign


@pytest.mark.parametrize(
    ("region", "host"),
    {
        "eu-central-1": "bedrock-runtime.eu-central-1.amazonaws.com",
        "us-gov-west-1": "bedrock-runtime.us-gov-west-1.amazonaws.com",
        "cn-north-1": "bedrock-runtime.cn-north-1.amazonaws.com.cn",
    }.items(),
)
def test_the_service_of_a_region(region: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the endpoint that the environment names: that may well be the proxy itself."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    found = Upstream(None, region)
    assert (found.url, found.region) == (f"https://{host}", region)


def test_the_region_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Upstream(None, None).region == REGION
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    assert Upstream(None, None).region == "eu-west-3"
    config = tmp_path / "config"
    config.write_text("[profile work]\nregion = eu-north-1\naws_access_key_id = AKIDW\naws_secret_access_key = x\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert Upstream(None, None).region == "eu-north-1"


def test_clients_are_told_the_region_in_which_is_recorded(proxy: ConverseServer, captured: Service, path: Path) -> None:
    with proxy.record(path, upstream=captured.url, region="ap-south-1") as fake:
        assert fake.environ["AWS_REGION"] == fake.environ["AWS_DEFAULT_REGION"] == "ap-south-1"
        assert fake.environ["AWS_ACCESS_KEY_ID"] == ACCESS_KEY


def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def dummy_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


def no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")


def no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")


def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "the-bearer-token-of-a-developer")


def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    del monkeypatch


@pytest.mark.parametrize(
    ("change", "url", "said"),
    [
        (no_keys, None, "there are no credentials to sign with: botocore found none .* set AWS_ACCESS_KEY_ID and "),
        (dummy_keys, None, "no credentials to sign with: the environment has the dummy keys of a fake"),
        (
            no_profile,
            None,
            r"no credentials to sign with: The config profile \(nobody\) could not be found\. The proxy",
        ),
        (no_region, None, "there is no region to find Bedrock in: .* Give one .*--region"),
        (no_region, "http://127.0.0.1:1", "there is no region to sign for"),
        (token, "http://bedrock.example", "would travel unencrypted to http://bedrock.example"),
        (nothing, "127.0.0.1:1", "cannot be passed on to '127.0.0.1:1': give an http"),
        (nothing, "https://me:secret@gateway.example", r"'https://\*\*\*@gateway.example'"),
        (nothing, "https://gateway.example/?a=b", "without user or query"),
        (nothing, "http://gateway.example:port", "cannot be passed on"),
    ],
)
def test_what_is_missing_is_said_when_it_opens(
    proxy: ConverseServer,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pytest.MonkeyPatch], None],
    url: str | None,
    said: str,
) -> None:
    change(monkeypatch)
    before = proxy.fakes
    with pytest.raises(TransportError, match=said) as raised:
        proxy.record(path, upstream=url)
    assert "secret" not in str(raised.value).replace("AWS_SECRET_ACCESS_KEY", "")
    assert proxy.fakes == before
    assert not path.exists()


def test_keys_that_are_lost_on_the_way_are_said_to_the_client_and_the_test(
    proxy: ConverseServer, captured: Service, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = proxy.record(path, upstream=captured.url)

    def lose(self: Upstream, request: object) -> None:
        raise TransportError(upstream.LOST.format(error="the token has expired"))

    monkeypatch.setattr(Upstream, "_signed", lose)
    answer = httpx.post(target(fake), json=QUESTION)
    assert answer.status_code == 400  # which no client repeats
    assert "could not be renewed: the token has expired" in answer.json()["message"]
    with pytest.raises(TransportError, match="the token has expired"), fake:
        pass
    assert not path.exists()
    assert captured.seen == []


def test_the_way_to_bedrock_is_open_to_the_proxy_and_to_nobody_else(
    proxy: ConverseServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a fake was opened later, as the one that answers the tests of a whole session."""
    asked: list[str] = []
    host = f"bedrock-runtime.{REGION}.amazonaws.com"

    def look_up(name: str, *more: Any, **options: Any) -> Any:
        asked.append(name)
        sys.audit("socket.getaddrinfo", name, *more)  # as the interpreter's own does
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    with proxy.record(path) as fake, BotoOnlyFake() as other:
        with monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", look_up)
            with pytest.raises(BlockedConnection):
                httpx.post(f"https://{host}/model/m/converse")
        with Raw(fake.url) as client, monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", look_up)
            answer = client.ask(fake.url)
            client.send(f"GET {urlsplit(fake.url).path}/inference-profiles/x HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            assert client.answer().status == 503
        assert answer.status == 503
        assert host in answer.json["message"]
        fake.check()
        assert len(other.endpoint.problems) == 1
        other.endpoint.problems.clear()
    assert asked == [host, f"bedrock.{REGION}.amazonaws.com"]  # by the proxy; the second is of the control plane
    assert [each.head["failed"] for each in read(path).exchanges] == ["connection refused"] * 2


# How it ends


def boto_midway(url: str, patience: float) -> tuple[Any, ...]:
    client = boto(url, read_timeout=patience)
    with closing(client.converse_stream(modelId=MODEL, **QUESTION)["stream"]) as events:
        seen: list[Any] = []
        try:
            seen.extend(events)
        except Exception as error:  # noqa: BLE001 - what it is, is asked
            seen.append(type(error).__name__)
        return tuple(seen)


def breaks_by_reset(connection: socket.socket) -> None:
    connection.sendall(STREAM + chunk(START) + chunk(DELTA))
    time.sleep(0.1)  # for a reset takes back what is still on its way
    reset(connection)


def breaks_in_a_chunk(connection: socket.socket) -> None:
    connection.sendall(STREAM + chunk(START) + chunk(DELTA)[:-20])


def breaks_between_chunks(connection: socket.socket) -> None:
    connection.sendall(STREAM + chunk(START) + chunk(DELTA))


def breaks_by_nonsense(connection: socket.socket) -> None:
    connection.sendall(STREAM + chunk(START) + b"this is no chunk\r\n")


def breaks_by_silence(connection: socket.socket) -> None:
    connection.sendall(STREAM + chunk(START))
    with suppress(OSError):  # the proxy leaves in its own way
        connection.recv(1)


MIDWAY: dict[str, tuple[Answers, str, bytes]] = {
    "reset": (breaks_by_reset, "connection reset", START + DELTA),
    "closed in a chunk": (breaks_in_a_chunk, "connection closed", START + DELTA[:-18]),
    "closed between chunks": (breaks_between_chunks, "connection closed", START + DELTA),
    "nonsense": (breaks_by_nonsense, "connection closed", START),
    "silence": (breaks_by_silence, "stalled", START),
}


@pytest.mark.parametrize("how", MIDWAY)
def test_where_the_service_breaks_off_the_client_sees_it_and_so_does_who_replays(
    proxy: ConverseServer, path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    breaks, end, came = MIDWAY[how]
    # Only silence is told by the clock: on a busy machine the beginning of any answer may take a second.
    clients, proxys = (2, 0.3) if how == "silence" else (60, 60)
    monkeypatch.setattr(upstream, "_TIMEOUTS", (60.0, proxys))
    with peer(breaks) as url, proxy.record(path, upstream=url) as fake:
        recorded = boto_midway(fake.url, clients)
        (call,) = fake.calls
        assert call.outcome == "cut"
    assert ends(path) == [end]
    with proxy.script(recording(path)) as replaying:
        assert boto_midway(replaying.url, clients) == recorded
        sent = b"".join(replaying.calls[0].answered.taken.data)
    assert sent == came
    assert recorded[-1] in ("ResponseStreamingError", "ProtocolError", "ReadTimeoutError", "ChecksumMismatch")


@pytest.mark.parametrize("how", ["reset", "closed between chunks"])
def test_other_streams_of_the_connection_go_on_where_one_is_reset(proxy: ConverseServer, path: Path, how: str) -> None:
    breaks, _, _ = MIDWAY[how]
    with peer(breaks) as url, proxy.record(path, upstream=url) as fake, Raw2(fake.url) as client:
        client.ask(1)
        client.until(lambda: client.resets or client.closed)
        assert client.frames[1][:1] == [START]
        assert (1 in client.resets) == (how == "reset")


def whole(data: bytes, length: int | None = None) -> Answers:
    return lambda connection: connection.sendall(body(data, length=length))


def test_a_body_that_breaks_off_is_kept_as_far_as_it_came(proxy: ConverseServer, path: Path) -> None:
    with (
        peer(whole(b'{"output": ', 100)) as url,
        proxy.record(path, upstream=url) as fake,
        Raw(fake.url) as client,
    ):
        client.send(question(fake.url, "converse"))
        client.until(b"Content-Length: 100\r\n")
        assert client.rest().endswith(b'\r\n\r\n{"output": ')
    assert ends(path) == ["connection closed"]
    with proxy.script(recording(path)) as replaying, Raw(replaying.url) as client:
        client.send(question(replaying.url, "converse"))
        client.until(b"Content-Length: 100\r\n")
        assert client.rest().endswith(b'{"output": ')


def test_a_body_without_a_length_gets_one(proxy: ConverseServer, path: Path) -> None:
    """It ends with the connection, and that to the client goes on."""
    answer = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}"
    with (
        peer(lambda connection: connection.sendall(answer)) as url,
        proxy.record(path, upstream=url) as fake,
        Raw(fake.url) as client,
    ):
        assert [client.ask(fake.url).body for _ in range(2)] == [b"{}", b"{}"]
    assert ends(path) == [None, None]


def says_nothing(connection: socket.socket) -> None:
    with suppress(OSError):  # as above
        connection.recv(1)


def hangs_up(connection: socket.socket) -> None:
    del connection


UNREACHED: dict[str, tuple[Answers, str]] = {
    "closed": (hangs_up, "connection closed"),
    "reset": (reset, "connection closed"),
    "silent": (says_nothing, "read timeout"),
}


@pytest.mark.parametrize("how", [*UNREACHED, "refused"])
def test_a_service_that_does_not_answer_is_unavailable(
    proxy: ConverseServer, path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Which clients know, and try again; the recording says what happened."""
    answers, failure = UNREACHED.get(how, (hangs_up, "connection refused"))
    monkeypatch.setattr(upstream, "_TIMEOUTS", (60.0, 0.3 if how == "silent" else 60.0))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with peer(answers) as somebody:
        url = nobody if how == "refused" else somebody
        with proxy.record(path, upstream=url) as fake:
            with Raw(fake.url) as client:
                status, name, message = client.ask(fake.url).error
            assert (status, name) == (503, "ServiceUnavailableException")
            assert message.startswith(f"converse-harness passes calls on to {url}, and no answer came from there: ")
            error, said = outcome_of(lambda: converse(boto(fake.url)))
            assert (error, "no answer came from there" in said) == ("ServiceUnavailableException", True)
            assert [(call.status, call.outcome) for call in fake.calls] == [(0, "cut")] * 2
    assert [each.head["failed"] for each in read(path).exchanges] == [failure] * 2


def test_throttled_calls_are_exchanges_of_their_own(service: ConverseServer, proxy: ConverseServer, path: Path) -> None:
    """The client's own retries are at work."""
    twice: Any = {"total_max_attempts": 3, "mode": "standard"}
    script = [reply.throttled(), reply.throttled(), reply.text("hi")]
    with service.script(*script) as real, proxy.record(path, upstream=real.url) as fake:
        recorded = converse(boto(fake.url, retries=twice))
        assert [call.status for call in fake.calls] == [429, 429, 200]
    assert [each.head["status"] for each in read(path).exchanges] == [429, 429, 200]
    with fake_converse(recording(path)):
        assert converse(boto(retries=twice)) == recorded


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_a_client_that_leaves_early_leaves_the_service(proxy: ConverseServer, path: Path, http2: bool) -> None:
    left: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def goes_on(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START) + chunk(DELTA))
        connection.settimeout(10)
        with suppress(ConnectionResetError):  # to be reset counts as nothing more came
            left.put(connection.recv(1))
            return
        left.put(b"")

    with peer(goes_on) as url, proxy.record(path, upstream=url) as fake:
        with (
            httpx.Client(http1=not http2, http2=http2) as client,
            client.stream("POST", target(fake, "converse-stream"), json=QUESTION) as answer,
        ):
            came = b""
            for data in answer.iter_raw():
                came += data
                if came == START + DELTA:
                    break
        assert left.get(timeout=10) == b""
        (call,) = fake.calls
        eventually(lambda: call.outcome == "closed by client")
    assert ends(path) == ["closed by client"]
    assert len(read(path).exchanges[0].events) == 2
    with pytest.raises(UnexpectedCall, match="recorded"), fake_converse(recording(path)):
        stream(boto())


def test_a_client_that_leaves_after_the_last_event_has_all_of_it(proxy: ConverseServer, path: Path) -> None:
    """Though the answer has not ended: no more can come."""

    def never_ends(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(METADATA))
        says_nothing(connection)

    with peer(never_ends) as url, proxy.record(path, upstream=url) as fake:
        with httpx.stream("POST", target(fake, "converse-stream"), json=QUESTION) as answer:
            assert next(answer.iter_raw()) == METADATA
        eventually(lambda: fake.calls[0].outcome != "still running")
    assert ends(path) == [None]


def test_what_has_come_in_full_is_kept_in_full_though_the_client_leaves(proxy: ConverseServer, path: Path) -> None:
    """More than it had room for."""
    sent = threading.Event()
    data = b"x" * 8_000_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)

    def pour(connection: socket.socket) -> None:
        connection.sendall(head + data)
        sent.set()

    with peer(pour) as url, proxy.record(path, upstream=url) as fake:
        with Raw(fake.url, buffer=4096) as client:
            client.send(question(fake.url, "converse"))
            assert sent.wait(20)
            eventually(fake.core.writer.captured[0].is_complete)  # type: ignore[union-attr]
        eventually(lambda: fake.calls[0].outcome != "still running")
    assert ends(path) == [None]


def test_what_is_still_coming_when_the_recording_ends_is_kept_and_marked(proxy: ConverseServer, path: Path) -> None:
    def goes_on(connection: socket.socket) -> None:
        connection.sendall(STREAM + chunk(START))
        says_nothing(connection)

    with peer(goes_on) as url:
        fake = proxy.record(path, upstream=url)
        with httpx.stream("POST", target(fake, "converse-stream"), json=QUESTION) as answer:
            pieces = answer.iter_raw()
            assert next(pieces) == START
            fake.close()
            with pytest.raises(httpx.HTTPError):
                next(pieces)
    assert ends(path) == ["closed by client"]
    assert len(read(path).exchanges[0].events) == 1


def test_a_call_without_an_answer_is_left_out_and_nobody_waits_for_it(path: Path) -> None:
    asked = threading.Event()
    over = threading.Event()

    def thinks(connection: socket.socket) -> None:
        asked.set()
        over.wait(10)
        connection.sendall(body(b"{}"))

    with peer(whole(b"{}"), thinks) as url:
        server = ConverseServer().start()
        fake = server.record(path, upstream=url)
        with Raw(fake.url) as client:
            assert client.ask(fake.url).json == {}
            client.send(question(fake.url, "converse"))
            assert asked.wait(10)
            server.stop()  # a warning would be an error
            assert client.is_closed()
        over.set()
    assert len(read(path).exchanges) == 1


# Encrypted, as the real service is


def test_the_service_is_asked_over_tls_and_left_over_it(
    proxy: ConverseServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is trusted by AWS_CA_BUNDLE, as boto3 has it."""
    file, secret = certificate(path.parent, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, secret)
    left: queue.SimpleQueue[None] = queue.SimpleQueue()

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):  # it is closed in the end
            while True:
                connection, _ = listening.accept()
                # One of the two ends first.
                with suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
                    secure.settimeout(10)
                    secure.sendall(STREAM + chunk(START))
                    while secure.recv(65_536):
                        pass  # the request, and then the end of the connection
                left.put(None)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        with proxy.record(path, upstream=url) as fake, Raw(fake.url) as client:
            status, _, message = client.ask(fake.url).error
            assert (status, "CERTIFICATE_VERIFY_FAILED" in message) == (503, True)
            left.get(timeout=10)
        monkeypatch.setenv("AWS_CA_BUNDLE", str(file))
        with proxy.record(path, upstream=url) as fake:
            with httpx.stream("POST", target(fake, "converse-stream"), json=QUESTION) as answer:
                assert next(answer.iter_raw()) == START
            left.get(timeout=10)
            eventually(lambda: fake.calls[0].outcome == "closed by client")
        listening.shutdown(socket.SHUT_RDWR)
    assert ends(path) == ["closed by client"]


# The file


def holds(path: Path, exchanges: int) -> bool:
    return path.exists() and len(read(path).exchanges) == exchanges


def test_what_has_ended_is_on_disk_before_the_recording_ends(
    service: ConverseServer, proxy: ConverseServer, path: Path
) -> None:
    with service.script(reply.text("hi").times(2)) as real, proxy.record(path, upstream=real.url) as fake:
        for number in (1, 2):
            converse(boto(fake.url))
            eventually(partial(holds, path, number))


def test_new_episodes_are_added_to_those_that_are_played(
    service: ConverseServer, proxy: ConverseServer, path: Path
) -> None:
    def ask(url: str, text: str) -> str:
        roles = ("user", "assistant", "user")
        said = {"messages": [{"role": roles[n], "content": [{"text": each}]} for n, each in enumerate(text)]}
        answer = httpx.post(f"{url}/model/m/converse", json=said).json()
        return str(answer["output"]["message"]["content"][0]["text"])

    with service.script(reply.text("one")) as real, proxy.record(path, upstream=real.url) as fake:
        assert ask(fake.url, "a") == "one"
    script = [reply.text("two"), reply.text("three")]
    with (
        service.script(*script) as real,
        proxy.record(path, upstream=real.url, mode="new_episodes") as fake,
    ):
        assert ask(fake.url, "bb") == "two"
        eventually(lambda: len(read(path).exchanges) == 2)
        assert ask(fake.url, "a") == "one"
        assert ask(fake.url, "ccc") == "three"
        eventually(lambda: len(read(path).exchanges) == 3)
        assert [call.summary for call in fake.calls] == ['text "two"', 'text "one"', 'text "three"']
    assert [each.call["call"] for each in read(path).exchanges] == [1, 2, 3]
    with proxy.record(path, mode="none") as fake:  # which needs no service, and no keys
        assert [ask(fake.url, text) for text in ("a", "bb", "ccc")] == ["one", "two", "three"]
    with pytest.raises(ReplyError, match=r"^mode=.some.; one of"):
        proxy.record(path, mode="some")
    with pytest.raises(ReplyError, match=r"there is no recording .*x\.jsonl\. Make it: ConverseServer\.record\("):
        proxy.record(path.parent / "x.jsonl", mode="none")


def test_nothing_recorded_leaves_the_file_as_it_was(proxy: ConverseServer, path: Path) -> None:
    path.write_text("what was there", encoding="utf-8")
    with proxy.record(path, upstream="http://127.0.0.1:1"):
        pass
    assert path.read_text(encoding="utf-8") == "what was there"


def test_what_cannot_be_written_is_kept_elsewhere(
    service: ConverseServer, proxy: ConverseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / "file"
    folder.write_text("no folder", encoding="utf-8")
    with service.script(reply.text("hi")) as real:
        fake = proxy.record(folder / "session.jsonl", upstream=real.url)
        assert converse(boto(fake.url))["stopReason"] == "end_turn"
        with pytest.raises(ReplyError, match="could not be written") as raised:
            fake.close()
    (kept,) = tmp_path.glob("*/session.jsonl")
    assert str(kept) in str(raised.value)
    assert len(read(kept).exchanges) == 1
    assert fake not in proxy.fakes


def test_what_is_replaced_in_the_file_is_for_the_test_to_say(
    service: ConverseServer, proxy: ConverseServer, path: Path
) -> None:
    redaction = Redaction({"ada@example.com": "user@example.com"})
    with (
        service.script(reply.text("To ada@example.com.")) as real,
        proxy.record(path, upstream=real.url, redaction=redaction) as fake,
    ):
        assert "ada@example.com" in str(stream(boto(fake.url)))
    assert "ada@" not in path.read_text(encoding="utf-8")
    assert "user@example.com" in path.read_text(encoding="utf-8")


def test_a_secret_that_is_said_is_not_written(service: ConverseServer, proxy: ConverseServer, path: Path) -> None:
    with service.script(
        reply.text("My key is AKIAQ7EXAMPLEKEYABCD.", pieces=["My key is AKIAQ7EX", "AMPLEKEYABCD."])
    ) as real:
        fake = proxy.record(path, upstream=real.url)
        stream(boto(fake.url))
        fake.close()
    (exchange,) = read(path).exchanges
    assert exchange.call["masked"] == ["contentBlockDelta.delta.text (with the lines after it): an AWS access key id"]
    assert "Q7EXAMPLEKEY" not in path.read_text(encoding="utf-8")


def test_a_server_stops_though_a_recording_cannot_be_written(
    service: ConverseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / "file"
    folder.write_text("no folder", encoding="utf-8")
    with service.script(reply.text("hi")) as real:
        server = ConverseServer().start()
        fake, other = server.record(folder / "session.jsonl", upstream=real.url), server.script()
        converse(boto(fake.url))
        with pytest.raises(ReplyError, match="could not be written"):
            server.stop()
    assert server.fakes == []
    assert other not in server.fakes
    assert ", closed, " in repr(fake)
    with pytest.raises(httpx.ConnectError):
        httpx.get(fake.url)
