"""The proof: a secret in any field of a request or an answer is not on disk; it is masked, or nothing is written.

The fields are those of AWS's API model. What is on disk is searched by a few lines of their own, which know nothing of
how the harness searches.
"""

from __future__ import annotations

import base64
import json
import string
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converse_harness import (
    ConverseServer,
    MaskedSecretWarning,
    ReplyError,
    SecretFound,
    bedrock,
    fake_converse,
    record,
    recording,
    reply,
)
from converse_harness.intercept.clients import create_client
from converse_harness.recordings.format.exchanges import reply_of
from converse_harness.recordings.format.read import read
from converse_harness.recordings.format.readable import compact
from converse_harness.recordings.leaks import scan
from converse_harness.recordings.record.captured import CapturedExchange, exchange_lines
from converse_harness.recordings.record.write import SessionWriter, header, said_of_masked
from converse_harness.secrets.leaks import OWN_SECRET
from converse_harness.stream.events import encode_event, standard_frame
from converse_harness.stream.frames import Decoder, Frame, Header, HeaderType, decode, encode
from converse_harness.stream.http import Request
from converse_strategies import converse_requests, converse_responses, stream_events
from tests import products
from tests.profiles import examples
from tests.secrets.planted import FORMS, MASKED, REFUSED, SECRET_PARTS, in_zip
from tests.secrets.planting import readings

Make = Callable[[str], Any]
"""A value that has a text somewhere."""

OPERATIONS: Final = [name for name in bedrock.operations() if "Async" not in name and "Bidirectional" not in name]

TOKEN: Final = "a GitHub token"
ACCOUNT: Final = "an AWS account id"


def places(shape: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Make]]:
    """Every place in the JSON of a shape that can hold a text; a shape that holds itself is entered twice."""
    kind = shape.type_name
    if above.count(shape.name) > 1:
        return
    above = (*above, shape.name)
    if kind == "structure" and shape.metadata.get("document"):
        yield "{text}", lambda text: {"a": [{"b": text}]}
        yield "{key}", lambda text: {text: {"a": 1}}
        yield "{JSON}", lambda text: {"a": json.dumps({"b": json.dumps([text])})}
        yield "{base64}", lambda text: {"a": base64.b64encode(json.dumps({"b": text}).encode()).decode()}
    elif kind == "structure":
        for name, member in shape.members.items():
            if not member.serialization.get("eventstream"):
                yield from (_within(f".{name}", make, place, name) for place, make in places(member, above))
    elif kind == "list":
        yield from ((f"[]{place}", _listed(make)) for place, make in places(shape.member, above))
    elif kind == "map":
        yield "{key}", lambda text: {text: None}
        yield from (_within("{}", make, place, "key") for place, make in places(shape.value, above))
    elif kind == "blob":
        yield "", lambda text: base64.b64encode(text.encode()).decode()
    else:
        # Of any other type as well: nobody says that a client sends what the model asks for.
        yield "", lambda text: text


def _within(prefix: str, make: Make, place: str, name: str) -> tuple[str, Make]:
    return f"{prefix}{place}", lambda text: {name: make(text)}


def _listed(make: Make) -> Make:
    return lambda text: [make(text)]


def asked(
    operation: str, body: bytes = b"{}", *, label: str = "m", headers: Mapping[str, str] | None = None
) -> Request:
    """A request for an operation; every label of its path is that one."""
    http = bedrock.operation(operation).http
    parts = string.Formatter().parse(http["requestUri"].replace("+}", "}"))
    path = "".join(text + (quote(label, safe="") if name else "") for text, name, _, _ in parts)
    return Request(http["method"], path, tuple((headers or {}).items()), body)


JSON: Final = (("Content-Type", "application/json"), ("x-amzn-RequestId", "1"))
STREAM: Final = (("Content-Type", "application/vnd.amazon.eventstream"), ("x-amzn-RequestId", "1"))
START: Final = encode_event({"messageStart": {"role": "assistant"}}, 5)


def answered(request: Request, body: bytes = b"{}", status: int = 200, *more: tuple[str, str]) -> CapturedExchange:
    return CapturedExchange(request, status=status, headers=(*JSON, *more), head_at=0.1, pieces=[(body, 0.2)])


def streamed(*pieces: bytes) -> CapturedExchange:
    return CapturedExchange(
        asked("ConverseStream"), status=200, headers=STREAM, head_at=0.1, pieces=[(each, 0.2) for each in pieces]
    )


def in_requests(text: str) -> Iterator[tuple[str, CapturedExchange]]:
    for operation in OPERATIONS:
        if "{" in bedrock.operation(operation).http["requestUri"]:
            yield f"{operation} label", answered(asked(operation, label=text))
        yield f"{operation} query", answered(Request("POST", f"{asked(operation).target}?a={quote(text)}", (), b"{}"))
        yield f"{operation} text", answered(asked(operation, text.encode()))
        yield f"{operation} bytes", answered(asked(operation, b"\xff" + text.encode()))
        yield f"{operation} number", answered(asked(operation, compact({"a": [text]}) + b" "))
        for place, make in places(bedrock.operation(operation).input_shape):
            yield f"{operation} request {place}", answered(asked(operation, compact(make(text))))
    yield "another path", answered(Request("POST", f"/a/{quote(text)}/b", (), text.encode()))
    yield "another query", answered(Request("GET", f"/a?b={quote(text)}", (), b""))


def in_answers(text: str) -> Iterator[tuple[str, CapturedExchange]]:
    for operation in OPERATIONS:
        for place, make in places(bedrock.operation(operation).output_shape):
            yield f"{operation} answer {place}", answered(asked(operation), compact(make(text)))
            yield f"{operation} answer, spaced, {place}", answered(asked(operation), json.dumps(make(text)).encode())
        for name, error in bedrock.errors(operation).items():
            for place, make in places(bedrock.shape(name)):
                more = ("x-amzn-ErrorType", name)
                yield f"{operation} {name}{place}", answered(asked(operation), compact(make(text)), error.status, more)
        yield f"{operation} text", answered(asked(operation), f"<p>{text}".encode(), 502)
        yield f"{operation} bytes", answered(asked(operation), b"\xff" + text.encode(), 502)
    yield "code of an error frame", streamed(encode_event({":error": {"code": text, "message": "x"}}))
    yield "message of an error frame", streamed(encode_event({":error": {"code": "x", "message": text}}))
    yield "type of an event", streamed(START, standard_frame(text, b"{}"))
    yield "type of no event", streamed(START, encode(Frame((Header(":event-type", HeaderType.STRING, text),), b"{}")))
    yield "no event", streamed(START, encode(Frame((Header("a", HeaderType.STRING, text),), text.encode())))
    yield "bytes of a header", streamed(encode(Frame((Header("a", HeaderType.BYTE_ARRAY, text.encode()),), b"")))


def in_streams(text: str) -> Iterator[tuple[str, CapturedExchange]]:
    for name in (*bedrock.stream_events(), *bedrock.stream_exceptions()):
        for place, make in places(bedrock.shape(bedrock.stream_shape(name))):
            usual = standard_frame(name, compact(make(text)))
            spaced = standard_frame(name, json.dumps({**make(text), "p": "abc"}, indent=1).encode())
            frame = decode(usual)
            headed = encode(Frame((*frame.headers, Header("a", HeaderType.STRING, text)), frame.payload))
            bad = usual[:-1] + bytes([usual[-1] ^ 1])
            for form, pieces in {
                "usual": (START, usual),
                "spaced": (START, spaced),
                "with a header": (START + headed,),
                "with a wrong checksum": (START, bad),
                "cut, in pieces": (START, usual[:70], usual[70:90], usual[90:-5]),
            }.items():
                yield f"{name}{place}, {form}", streamed(*pieces)


EVERYWHERE: Final[Mapping[str, Callable[[str], Iterator[tuple[str, CapturedExchange]]]]] = {
    "requests": in_requests,
    "answers": in_answers,
    "streams": in_streams,
}

EVERY: Final = {"requests": 4, "answers": 10, "streams": 15}
"""Of so many one is enough for a person. A field stands in one, two and five forms: they come in turn."""

EVERY_OF_SLOW: Final = {"requests": 1, "answers": 1, "streams": 4}
"""Of so many one is enough for a change: every field is tried, and the five forms in streams come in turn."""

sampled = pytest.mark.parametrize(
    ("where", "every"),
    [
        *EVERY.items(),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in EVERY_OF_SLOW.items()),
        pytest.param("streams", 1, marks=pytest.mark.nightly),
    ],
)

# What is on disk


def on_disk(folder: Path) -> bytes:
    return b"\n".join(str(each).encode() + b"\n" + each.read_bytes() for each in folder.rglob("*") if each.is_file())


def assert_absent(folder: Path, secret: str) -> None:
    data = on_disk(folder)
    assert [each for each in readings(secret) if each in data] == []


@sampled
def test_secrets_in_any_field_are_found(
    where: str, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYNobodysKey"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", own)
    names, captured = zip(*list(EVERYWHERE[where](f"{own} {REFUSED[TOKEN]}"))[::every], strict=True)
    assert len(names) > 100
    path = tmp_path / "trip.jsonl"
    lines = [header()] + [line for number, each in enumerate(captured, 1) for line in exchange_lines(each, number)]
    calls = [number for number, line in enumerate(lines, 1) if "call" in line]
    found = {(leak.kind, names[bisect_right(calls, leak.line) - 1]) for leak in scan(lines)}
    assert [(kind, name) for name in names for kind in (TOKEN, OWN_SECRET) if (kind, name) not in found] == []
    writer = SessionWriter(path, captured=list(captured))
    message = saved(writer) + said_of_masked(writer.written.masked, path)
    assert not [secret for secret in (REFUSED[TOKEN], own) if secret in message]
    assert_absent(tmp_path, REFUSED[TOKEN])
    assert_absent(tmp_path, own)
    left_out = {names[each.number] for each in writer.written.left_out}
    assert left_out <= {"bytes of a header", "type of an event"}  # in bytes, and where a text has no place
    assert bool(left_out) is bool(message.count("cannot be masked"))
    assert len(read(path).exchanges) == len(names) - len(left_out)


IN_TURN: Final = "each in turn"
SLOW: Final = products.covering(EVERYWHERE, MASKED)


@pytest.mark.parametrize(
    ("where", "mask", "every"),
    [
        *((where, IN_TURN, EVERY[where]) for where in EVERYWHERE),
        *(pytest.param(where, mask, EVERY_OF_SLOW[where], marks=pytest.mark.slow) for where, mask in SLOW),
        *(pytest.param(where, mask, 1, marks=pytest.mark.nightly) for where, mask in product(EVERYWHERE, MASKED)),
    ],
)
def test_what_is_masked_in_any_field_is_not_on_disk(where: str, mask: str, every: int, tmp_path: Path) -> None:
    masks = list(MASKED) if mask == IN_TURN else [mask]
    made = [list(EVERYWHERE[where](MASKED[name])) for name in masks]
    sure: list[tuple[str, CapturedExchange]] = []
    for number in range(0, len(made[0]), every):
        turn = number // 4 % len(masks)
        place, captured = made[turn][number]
        # A mask has another length: in headers of bytes, in blobs that are no text and beyond a text it is not made.
        if place not in ("bytes of a header", "type of an event"):
            sure.append((masks[turn], captured))
    path = tmp_path / "trip.jsonl"
    SessionWriter(path, captured=[each for _, each in sure]).save()
    for name in masks:
        assert_absent(tmp_path, SECRET_PARTS[name])
    for exchange, (name, each) in zip(read(path).exchanges, sure, strict=True):
        recorded = reply_of(exchange).plan.recorded
        assert recorded is not None
        data = b"".join(chunk.data for chunk in recorded.response.chunks)
        was = b"".join(piece for piece, _ in each.pieces)
        assert _frames(data) == _frames(was), exchange
        assert (len(data) == len(was)) is (name == ACCOUNT or data == was)


def _frames(data: bytes) -> int:
    """How many frames there are before something is wrong."""
    try:
        return len(Decoder().feed(data))
    except ValueError:
        return 0


# Headers

HEADERS: Final = (
    "Accept",
    "Accept-Encoding",
    "Amz-Sdk-Invocation-Id",
    "Amz-Sdk-Request",
    "Anthropic-Api-Key",
    "Api-Key",
    "Authorization",
    "Baggage",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Cookie",
    "Date",
    "ETag",
    "Forwarded",
    "Host",
    "Location",
    "Origin",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Referer",
    "Retry-After",
    "Retry-After-Ms",
    "Server",
    "Set-Cookie",
    "Traceparent",
    "Tracestate",
    "Transfer-Encoding",
    "User-Agent",
    "Via",
    "WWW-Authenticate",
    "X-Amz-Content-Sha256",
    "X-Amz-Date",
    "X-Amz-Id-2",
    "X-Amz-Security-Token",
    "X-Amz-User-Agent",
    "X-Amzn-Bedrock-GuardrailIdentifier",
    "X-Amzn-Bedrock-Trace",
    "X-Amzn-ErrorType",
    "X-Amzn-RequestId",
    "X-Amzn-Trace-Id",
    "X-Api-Key",
    "X-Forwarded-For",
    "X-Goog-Api-Key",
    "X-Request-Id",
)


@pytest.mark.parametrize(("name", "side"), products.sampled(HEADERS, ["request", "answer", "error"]))
def test_a_secret_in_any_header_is_not_on_disk(name: str, side: str, tmp_path: Path) -> None:
    assert_header_is_safe(name, REFUSED[TOKEN], side, tmp_path)


KEPT: Final = {
    "request": ("x-amzn-bedrock-",),
    "answer": (
        "content-encoding",
        "content-length",
        "content-type",
        "retry-after",
        "x-amzn-bedrock-",
        "x-amzn-errortype",
        "x-amzn-requestid",
    ),
}
"""How the names of headers begin whose values a recording has."""


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("side", KEPT)
def test_a_header_is_kept_only_if_it_is_listed(name: str, side: str, tmp_path: Path) -> None:
    value = "nothing-that-looks-like-a-secret"
    save_with_header(name, value, side, tmp_path)
    assert (value.encode() in on_disk(tmp_path)) is name.lower().startswith(KEPT[side])


@given(
    st.text("abcdefghijklmnopqrstuvwxyzABCXYZ-_0123456789", min_size=1, max_size=20),
    st.sampled_from(["", "x-amz-", "x-amzn-", "x-amzn-bedrock-", "X-Amzn-Bedrock-", "Retry-After"]),
    st.sampled_from(sorted(REFUSED)),
    st.sampled_from(["request", "answer", "error"]),
)
def test_no_name_of_a_header_lets_a_secret_through(name: str, prefix: str, secret: str, side: str) -> None:
    with TemporaryDirectory() as folder:
        assert_header_is_safe(prefix + name, REFUSED[secret], side, Path(folder))


def assert_header_is_safe(name: str, value: str, side: str, folder: Path) -> None:
    message = save_with_header(name, value, side, folder)
    assert (folder / "trip.jsonl").exists() is not bool(message)
    assert_absent(folder, value)


def save_with_header(name: str, value: str, side: str, folder: Path) -> str:
    """What is said against an exchange with this header in its request, its answer or its error."""
    if side == "request":
        captured = answered(asked("Converse", headers={name: value}))
    else:
        usual = tuple(each for each in JSON if each[0].lower() != name.lower())
        captured = answered(asked("Converse"), b'{"message":"no"}', 200 if side == "answer" else 403)
        captured.headers = (*usual, (name, value))
    return saved(SessionWriter(folder / "trip.jsonl", captured=[captured]))


# Whatever clients ask and models answer


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


def planted(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """A copy of a value with a text in the place of a leaf."""
    if not path:
        return base64.b64encode(text.encode()) if isinstance(value, bytes) else text
    copy = value.copy()
    copy[path[0]] = planted(value[path[0]], path[1:], text)
    return copy


def to_wire(value: Any) -> bytes:
    return json.dumps(value, default=lambda blob: base64.b64encode(bytes(blob)).decode()).encode()


@settings(max_examples=examples(0.5))
@given(
    request=converse_requests(),
    response=converse_responses(),
    events=stream_events(),
    side=st.sampled_from(["request", "response", "events"]),
    form=st.sampled_from(sorted(FORMS)),
    secret=st.sampled_from(sorted({**REFUSED, **MASKED})),
    choice=st.integers(0, 10**6),
    cut=st.integers(1, 80),
)
def test_no_secret_gets_through(
    request: Any, response: Any, events: Any, side: str, form: str, secret: str, choice: int, cut: int
) -> None:
    text = FORMS[form]({**REFUSED, **MASKED}[secret])
    drawn: dict[str, Any] = {"request": request, "response": dict(response), "events": list(events)}
    paths = list(leaves(drawn[side]))
    drawn[side] = planted(drawn[side], paths[choice % len(paths)], text)
    body = to_wire({key: value for key, value in drawn["request"].items() if key != "modelId"})
    sent = asked("Converse", body, label=str(drawn["request"]["modelId"]))
    stream = b"".join(
        standard_frame(name, to_wire(members)) for event in drawn["events"] for name, members in event.items()
    )
    pieces = [stream[at : at + cut * 10] for at in range(0, len(stream), cut * 10)]
    captured = [answered(sent, to_wire(drawn["response"])), streamed(*pieces)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "trip.jsonl")
        writer = SessionWriter(path, captured=captured)
        message = saved(writer) + said_of_masked(writer.written.masked, path)
        assert not any(each in message.encode() for each in readings(text))
        assert message or secret in MASKED
        assert_absent(Path(folder), SECRET_PARTS.get(secret, text))
        written = len(read(path).exchanges) if path.exists() else 0
        assert written == 2 - len(writer.written.left_out)


def saved(writer: SessionWriter) -> str:
    """What is said against saving it, nothing if it was."""
    try:
        writer.save()
    except SecretFound as refused:
        return str(refused)
    return ""


# Through a transport


def test_a_recorder_masks_a_secret_and_warns(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    answer = reply.text(f"Your token is {REFUSED[TOKEN]}, keep it.")
    with ConverseServer() as server, server.script(answer, reply.text("hi")) as service:
        client = create_client(endpoint_url=service.url)
        with pytest.warns(MaskedSecretWarning) as warned, record(path):  # noqa: PT031 - both calls are in one recording
            said = ask(client, "hello")
            ask(client, "again")
    assert REFUSED[TOKEN] in said
    place = "body.output.message.content[0].text: a GitHub token"
    assert str(warned[0].message) == (
        f"record({str(path)!r}): {path} has *** in the place of a secret:\n  {path}:4: {place}"
    )
    assert warned[0].filename == __file__
    first, second = read(path).exchanges
    assert first.call["masked"] == [place]
    assert "masked" not in second.call
    assert_absent(tmp_path, REFUSED[TOKEN])
    with fake_converse(recording(path, match="exact")):
        client = create_client()
        assert ask(client, "hello") == said.replace(REFUSED[TOKEN], "***")
        ask(client, "again")


def test_an_exchange_whose_secret_cannot_be_masked_is_left_out(tmp_path: Path) -> None:
    """A zip in which it stands is not packed anew. The others are there, and the message says which is not."""
    path = tmp_path / "trip.jsonl"
    packed = base64.b64encode(in_zip(REFUSED[TOKEN])).decode()
    answers = (reply.text("hi"), reply.text(packed), reply.text("bye"))
    with ConverseServer() as server, server.script(*answers) as service:
        client = create_client(endpoint_url=service.url)
        with pytest.raises(ReplyError) as refused, record(path) as recorder:  # noqa: PT012 - it is raised at the end
            for question in "abc":
                ask(client, question)
    assert str(refused.value) == (
        f"record({str(path)!r}): {path} was written without 1 exchange, for it would hold a secret that cannot be "
        "masked there:\n  call 2, Converse: body.output.message.content[0].text: a GitHub token, in zip in base64 form"
        "\nHave it replaced (a line `pattern => replacement` under converse_redact in pytest's configuration, or "
        "Redaction(replacements=...)), or record with a test value in its place.   More: "
        "converse-harness docs recording what-is-never-written\n"
        "A pattern is searched in texts, in base64 and gzip of texts, and where it touches the secret in the bytes of "
        "an image. Where the rule that is set does not reach the secret, one must match the encoded text as it stands "
        "in the request: `iVBORw0KGgo[A-Za-z0-9+/=]+ => aW1hZ2U=` replaces each PNG.\n"
        "The recorded exchange is lost: record again once that is mended."
    )
    assert recorder.saved == path
    assert [each.call["request"]["messages"][0]["content"][0]["text"] for each in read(path).exchanges] == ["a", "c"]


def test_what_a_client_signs_with_is_masked_wherever_it_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    keys = {"aws_access_key_id": "the-id-of-a-key-of-ada", "aws_secret_access_key": "correct horse battery staple"}
    token = {"aws_session_token": "a session of half an hour"}
    for secret in (*keys.values(), *token.values()):
        with ConverseServer() as server, server.script(reply.text(f"You said {secret}.")) as service:
            client = create_client(endpoint_url=service.url, **keys, **token)
            with pytest.warns(MaskedSecretWarning, match="a secret of this process") as warned, record(path):
                ask(client, "hello")
        assert secret not in str(warned[0].message)
        assert_absent(tmp_path, secret)
        assert "You said ***." in path.read_text(encoding="utf-8")


def test_a_token_that_comes_back_is_masked(tmp_path: Path) -> None:
    token = "opaque-and-of-no-known-kind"
    question = {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    for name, value in (
        ("Authorization", f"Bearer {token}"),
        ("Cookie", f"a=1; session={token}"),
        ("X-Api-Key", token),
    ):
        with ConverseServer() as server, server.script(reply.text(f"You said {token}.")) as service:
            url = f"{service.url}/model/m/converse"
            recorder = record(tmp_path / "trip.jsonl")
            client = httpx.Client(transport=recorder.httpx_transport(httpx.HTTPTransport()), headers={name: value})
            with pytest.warns(MaskedSecretWarning, match="a secret of this process"), recorder, client:
                client.post(url, json=question)
        assert_absent(tmp_path, token)


def test_a_recorded_account_is_masked_and_still_plays(tmp_path: Path) -> None:
    path = tmp_path / "trip.jsonl"
    profile = "arn:aws:bedrock:us-east-1:210987654321:application-inference-profile/trip"
    with ConverseServer() as server, server.script(reply.text(f"I am {profile}, of 210987654321.")) as service:
        client = create_client(endpoint_url=service.url)
        with record(path):
            ask(client, f"Who is {profile}?", profile)
    assert_absent(tmp_path, "210987654321")
    with fake_converse(recording(path, match="exact")):
        said = ask(create_client(), f"Who is {profile}?", profile)
    assert said == f"I am {profile}, of 210987654321.".replace("210987654321", "111122000001")


def ask(client: Any, text: str, model_id: str = "amazon.nova-lite-v1:0") -> str:
    answer = client.converse(modelId=model_id, messages=[{"role": "user", "content": [{"text": text}]}])
    said: str = answer["output"]["message"]["content"][0]["text"]
    return said
