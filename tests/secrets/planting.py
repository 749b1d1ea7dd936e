"""Secrets drawn from the table of kinds, planted into what clients ask and a service answers; and what is left of them.

Nothing here knows how the harness searches. One number draws all of it again.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from hypothesis import HealthCheck, Phase, given, seed, settings

from converse_harness.secrets.kinds import ACCOUNTS, KINDS, SecretKind
from converse_harness.secrets.mask import STAND_IN, secret_spans
from converse_harness.stream.events import encode_event
from converse_harness.stream.frames import Frame, Header, HeaderType, encode
from tests.secrets.planted import FORMS, READABLE, texts_of
from tests.secrets.terminals import SHAPES, seen

Answer = tuple[int, Mapping[str, str], Sequence[bytes]]
"""Status, headers and chunks of a body."""

STREAM: Final = {"Content-Type": "application/vnd.amazon.eventstream"}
JSON: Final = {"Content-Type": "application/json"}
TEXT: Final = {"Content-Type": "text/plain"}
SSE: Final = {"Content-Type": "text/event-stream"}

SHORTEST: Final = 8
LONGEST: Final = 1500
FEWEST: Final = 5
"""Different characters in a secret: eight zeros stand anywhere."""

NEIGHBOURS: Final = ("", " ", "\n", "é", "«", '"', "(", ": ", "> ", "\t", "… ", "&", "x=")


@dataclass(frozen=True, repr=False)
class Planted:
    """A secret in its form and its place, and the pieces in which it comes where that place has pieces."""

    number: int
    kind: str
    secret: str
    form: str
    place: str
    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is planted."""
        return "".join(self.pieces)

    def __repr__(self) -> str:
        # pytest shows it: without the secret, whose name would be missing.
        return f"{self.number}: {self.kind}, {self.form}, in {self.place}, {len(self.pieces)} pieces"


def draw(number: int, count: int) -> list[Planted]:
    """So many secrets: of every kind in every form as far as that goes, in places and pieces at random."""
    chance = random.Random(number)
    texts = {kind: drawn(kind, number + at, -(-count // len(KINDS))) for at, kind in enumerate(KINDS)}
    _leave_out_public(texts)
    forms = sorted(FORMS)
    made: list[Planted] = []
    for each in range(count):
        kind, form = KINDS[each % len(KINDS)], forms[each % len(forms)]
        text, secret = texts[kind][each // len(KINDS) % len(texts[kind])]
        shown = chance.choice(NEIGHBOURS) + text
        if each % 2:
            shown = chance.choice([*SHAPES.values()])(shown, chance.randrange(1, len(shown)))
        formed = FORMS[form](shown)
        fits = [place for place in PLACES if place not in IN_HEADERS or (formed.isascii() and formed.isprintable())]
        place = chance.choice(fits)
        cuts = sorted(chance.sample(range(1, len(formed)), min(chance.randint(0, 12), len(formed) - 1)))
        pieces = tuple(formed[a:b] for a, b in zip([0, *cuts], [*cuts, len(formed)], strict=True))
        made.append(Planted(each, kind.name, secret, form, place, pieces))
    return made


def _leave_out_public(texts: Mapping[SecretKind, list[tuple[str, str]]]) -> None:
    """Secrets that another text shows beside its own: the digits of an account are in the number of a web hook too."""
    shown = "\n".join(text.replace(secret, "\n") for drawn in texts.values() for text, secret in drawn)
    for kind, drawn in texts.items():
        drawn[:] = [each for each in drawn if each[1] not in shown]
        assert drawn, kind


def drawn(kind: SecretKind, number: int, count: int) -> list[tuple[str, str]]:
    """Texts of a kind, at least so many, with the secret in each."""
    texts: dict[str, str] = {}

    @seed(number)
    @settings(max_examples=count + 9, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(texts_of(kind, READABLE))
    def collect(text: str) -> None:
        spans = secret_spans(kind, text)
        if spans and len(text) < LONGEST:
            secret = text[slice(*spans[0])]
            known = kind in ACCOUNTS and secret.startswith(STAND_IN)
            if len(secret) >= SHORTEST and len(set(secret)) >= FEWEST and not known:
                texts[text] = secret

    collect()
    assert texts, kind
    return list(texts.items())


# What is asked


def _said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"text": text}]}]}


def _with(member: str, value: object) -> dict[str, Any]:
    return {**_said("hello"), member: value}


def _tool(schema: object, description: str = "x") -> dict[str, Any]:
    spec = {"name": "t", "description": description, "inputSchema": {"json": schema}}
    return _with("toolConfig", {"tools": [{"toolSpec": spec}]})


def _results(content: object) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"toolResult": {"toolUseId": "u", "content": [content]}}]}]}


IN_REQUESTS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "a message": _said,
    "the system prompt": lambda text: _with("system", [{"text": text}]),
    "the result of a tool": lambda text: _results({"text": text}),
    "JSON of a tool": lambda text: _results({"json": {"rows": [{"a": [text]}]}}),
    "JSON in JSON of a tool": lambda text: _results({"text": json.dumps({"row": json.dumps({"a": text})})}),
    "a key": lambda text: _results({"json": {text: 1}}),
    "a pair": lambda text: _results({"json": {"pairs": [["note", text]]}}),
    "a named value": lambda text: _results({"json": {"env": [{"name": "NOTE", "value": text}]}}),
    "a schema": lambda text: _tool({"type": "object", "description": text}),
    "a description": lambda text: _tool({"type": "object"}, text or "x"),
    "fields of a model": lambda text: _with("additionalModelRequestFields", {"note": text}),
    "a stop sequence": lambda text: _with("inferenceConfig", {"stopSequences": [text]}),
}

# What is answered

USAGE: Final = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}


def _whole(*content: object) -> Answer:
    answer = {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": "end_turn",
        "usage": USAGE,
        "metrics": {"latencyMs": 1},
    }
    return 200, JSON, [json.dumps(answer).encode()]


def _streamed(deltas: Sequence[object], start: object = None) -> Answer:
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    events += [] if start is None else [{"contentBlockStart": {"contentBlockIndex": 0, "start": start}}]
    events += [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}} for delta in deltas]
    events += [{"contentBlockStop": {"contentBlockIndex": 0}}, {"messageStop": {"stopReason": "end_turn"}}]
    events += [{"metadata": {"usage": USAGE, "metrics": {"latencyMs": 1}}}]
    return 200, STREAM, [encode_event(event) for event in events]


def _of_a_model(pieces: Sequence[str]) -> Answer:
    """The chunks of InvokeModelWithResponseStream."""
    frames = list[bytes]()
    for piece in pieces:
        event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        payload = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
        named = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
        frames.append(encode(Frame(tuple(Header(k, HeaderType.STRING, v) for k, v in named.items()), payload)))
    return 200, STREAM, frames


def _server_sent(pieces: Sequence[str]) -> Answer:
    events = [json.dumps({"choices": [{"index": 0, "delta": {"content": piece}}]}) for piece in pieces]
    return 200, SSE, [f"data: {event}\n\n".encode() for event in events]


def _cut(answer: Answer) -> Answer:
    """The same with its body in chunks that end anywhere."""
    status, headers, chunks = answer
    body = b"".join(chunks)
    return status, headers, [body[at : at + 37] for at in range(0, len(body), 37)]


_TOOL_USE: Final = {"toolUse": {"toolUseId": "u", "name": "t"}}

IN_ANSWERS: Final[Mapping[str, Callable[[Sequence[str]], Answer]]] = {
    "an answer": lambda pieces: _whole({"text": "".join(pieces)}),
    "the input of a tool": lambda pieces: _whole(
        {"toolUse": {"toolUseId": "u", "name": "t", "input": {"a": ["".join(pieces)]}}}
    ),
    "an error": lambda pieces: (400, JSON, [json.dumps({"message": "".join(pieces)}).encode()]),
    "an answer that is no JSON": lambda pieces: (502, TEXT, [f"<p>{''.join(pieces)}</p>".encode()]),
    "a header of an answer": lambda pieces: (200, {**JSON, "x-amzn-bedrock-note": "".join(pieces)}, [b"{}"]),
    "streamed text": lambda pieces: _streamed([{"text": piece} for piece in pieces]),
    "streamed text, cut": lambda pieces: _cut(_streamed([{"text": piece} for piece in pieces])),
    "streamed input of a tool": lambda pieces: _streamed(
        [{"toolUse": {"input": piece}} for piece in pieces], _TOOL_USE
    ),
    "streamed reasoning": lambda pieces: _streamed([{"reasoningContent": {"text": piece}} for piece in pieces]),
    "an error in a stream": lambda pieces: (
        200,
        STREAM,
        [
            encode_event({"messageStart": {"role": "assistant"}}),
            encode_event({"modelStreamErrorException": {"message": "".join(pieces)}}),
        ],
    ),
}
IN_INVOKED: Final[Mapping[str, Callable[[Sequence[str]], Answer]]] = {
    "chunks of another model": _of_a_model,
    "chunks of another model, cut": lambda pieces: _cut(_of_a_model(pieces)),
    "server-sent events": _server_sent,
    "server-sent events, cut": lambda pieces: _cut(_server_sent(pieces)),
    "lines of JSON": lambda pieces: (
        200,
        TEXT,
        [json.dumps({"response": each}).encode() + b"\n" for each in pieces],
    ),
}

IN_HEADERS: Final = ("a header of an answer",)
PLACES: Final = (*IN_REQUESTS, *IN_ANSWERS, *IN_INVOKED, "the path")


def body_of(planted: Planted) -> dict[str, Any]:
    """What is asked."""
    make = IN_REQUESTS.get(planted.place)
    return _said("hello") if make is None else make(planted.text)


def model_of(planted: Planted) -> str:
    """The model that is asked; the service finds the answer by it."""
    return f"m{planted.number}" if planted.place != "the path" else planted.text


def operation_of(planted: Planted) -> str:
    """The operation, as botocore calls its method."""
    if planted.place in IN_INVOKED:
        return "invoke_model_with_response_stream" if "model" in planted.place else "invoke_model"
    return "converse_stream" if "stream" in planted.place else "converse"


def target_of(planted: Planted) -> str:
    """The path of that operation."""
    path = operation_of(planted).replace("invoke_model", "invoke").replace("_", "-")
    return f"/model/{quote(model_of(planted), safe='')}/{path}"


def arguments_of(planted: Planted) -> dict[str, Any]:
    """The arguments of botocore's method."""
    if planted.place in IN_INVOKED:
        return {"modelId": model_of(planted), "body": json.dumps(body_of(planted))}
    return {"modelId": model_of(planted), **body_of(planted)}


@contextmanager
def service(everything: Sequence[Planted]) -> Iterator[str]:
    """A service on the loopback that gives each of these its answer; yields its URL."""
    answers = {f"m{each.number}": each for each in everything}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            planted = answers.get(unquote(self.path.split("/")[2]))
            make = {**IN_ANSWERS, **IN_INVOKED}.get("" if planted is None else planted.place)
            status, headers, chunks = (
                _whole({"text": "hi"}) if make is None or planted is None else make(planted.pieces)
            )
            if make is None and self.path.endswith("-stream"):
                status, headers, chunks = _streamed([{"text": "hi"}])
            self.send_response(status)
            for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
                self.send_header(name, value)
            self.end_headers()
            for chunk in (*filter(None, chunks), b""):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


# What is left


def readings(text: str) -> set[bytes]:
    """The bytes that are somewhere in whatever holds a text: as it is, or in an encoding, or in base64 twice."""
    raw = text.encode()
    found = {raw, raw.hex().encode(), text.encode("utf-16-le"), quote(text, safe="").encode()}
    found.add("".join(f"\\u{ord(each):04x}" for each in text).encode())
    found.add(json.dumps(text)[1:-1].encode())
    once = set(_base64_of(raw))
    return found | once | {twice for each in once for twice in _base64_of(each)}


def _base64_of(raw: bytes) -> Iterator[bytes]:
    """What is in any base64 of something with these bytes in it, wherever they begin."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw)
        whole = (before + len(raw)) * 8 // 6
        yield encoded[(before * 8 + 5) // 6 : whole]
        yield base64.urlsafe_b64encode(bytes(before) + raw)[(before * 8 + 5) // 6 : whole]


def put_together(text: bytes) -> bytes:
    """What the pieces of a recording are together: the texts of its lines one after the other, base64 undone."""
    whole = b""
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        whole += b"\n" if "call" in value else b"".join(_leaves(value))
    return whole


def _leaves(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "bytes" and isinstance(item, str):
                data = base64.b64decode(item)
                try:
                    yield from _leaves(json.loads(data))
                except ValueError:
                    yield data
            else:
                yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str) and value not in ("assistant", "text_delta", "content_block_delta", "end_turn"):
        yield value.encode()


def seen_in(data: bytes) -> bytes:
    """What a terminal shows of a text, which may be JSON, XML or HTML."""
    text = html.unescape(data.decode(errors="replace"))
    text = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
    return seen(text.replace("#x1B", "\x1b").replace("\\x1b", "\x1b")).encode(errors="replace")


_EVENT: Final = re.compile(r"^ *[\d.]+ ms  (\{.*\})$", re.MULTILINE)


def left_in(folder: Path, everything: Sequence[Planted], *texts: str) -> list[str]:
    """Those of the planted that can be read in a file below a folder, or in one of these texts."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shown = {**files, **{f"text {number}": text.encode() for number, text in enumerate(texts, 1)}}
    shown |= {f"{name}, put together": put_together(data) for name, data in files.items() if name.endswith(".jsonl")}
    for name in [name for name in shown if name.startswith("text") or name.endswith(".xml")]:
        events = "\n".join(_EVENT.findall(html.unescape(shown[name].decode())))
        shown[f"{name}, put together"] = put_together(events.encode())
    shown |= {f"{name}, as it is seen": seen_in(data) for name, data in shown.items()}
    shown |= {f"name {name}": name.encode() for name in files}
    known: dict[bytes, list[tuple[bytes, Planted]]] = {}
    for planted in everything:
        for reading in readings(planted.secret):
            known.setdefault(reading[:SHORTEST], []).append((reading, planted))
    return [
        f"{where} has {planted}: {planted.secret!r} as {reading!r} in {data[max(at - 99, 0) : at + 150]!r}"
        for where, data in shown.items()
        for at in range(len(data))
        for reading, planted in known.get(data[at : at + SHORTEST], ())
        if data.startswith(reading, at)
    ]
