"""Whether two checkouts send the same: random replies of six families, in process and through the server.

`python -m tests.house.sent draw FILE` writes replies as the code that makes them. The same with `send` prints four
hashes for each: the bytes in process, the bytes over a socket, the events and the outcome that the call keeps, and the
pauses. Run it in both checkouts and compare.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from converse_harness import ConverseServer, Endpoint, HttpxFake, Reply, ReplyError, faults, reply
from converse_harness.recordings.chance import DATES
from converse_harness.stream.http import Request
from converse_strategies import faulty_replies, replies

COUNT = 2000
MODELS = (
    "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "amazon.nova-lite-v1:0",
    "meta.llama3-1-70b-instruct-v1:0",
    "cohere.command-r-plus-v1:0",
    "mistral.mistral-large-2402-v1:0",
    "ai21.jamba-1-5-large-v1:0",
)
# These last, or have no bytes.
NAMES = [name for name, fault in faults.FAULTS.items() if fault.seconds is None and not fault.no_answer]
FAULTY = faulty_replies(names=NAMES).map(lambda case: case.reply)
ASKED = st.tuples(replies(), st.sampled_from(("converse", "converse-stream"))) | st.tuples(
    FAULTY, st.just("converse-stream")
)
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com"
BODY = b'{"messages":[{"role":"user","content":[{"text":"hello"}]}]}'
DATE = re.compile(rb"\r\n(?:%b): [^\r]*" % "|".join(DATES).encode())


_SORTED: Final[dict[str, Any]] = {"sort_keys": True, "default": repr}
"""The order of members is none of JSON's."""


def draw(file: Path) -> None:
    """Write the replies."""
    rows: list[str] = []

    @seed(17)
    @settings(
        max_examples=COUNT,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(ASKED, st.sampled_from(MODELS))
    def one(asked: tuple[Reply, str], model: str) -> None:
        printer = RepresentationPrinter()
        printer.max_seq_length = 0  # no "..." in place of the events after the first 1,000
        printer.pretty(asked[0])
        rows.append(json.dumps([printer.getvalue(), model, asked[1]]))

    one()
    file.write_text("\n".join(rows[:COUNT]) + "\n", encoding="utf-8")


def in_process(answer: Reply, path: str) -> Iterator[bytes]:
    """What a client of httpx gets, chunk by chunk, and what it raises; twice, since the second time is a faster one."""
    with HttpxFake(unused="allow") as fake, httpx.Client(transport=fake.httpx_transport) as client:
        fake.script(answer.times(2))
        for _ in range(2):
            try:
                with client.stream("POST", f"{BEDROCK}{path}", content=BODY) as response:
                    headers = [item for item in response.headers.multi_items() if item[0].title() not in DATES]
                    yield f"{response.status_code} {headers}".encode()
                    yield from response.iter_raw()
            except (httpx.TransportError, ValueError) as error:
                yield type(error).__name__.encode()


def as_kept(answer: Reply, path: str) -> bytes:
    """What the call of a client of httpx holds afterwards, without times."""
    with HttpxFake(unused="allow") as fake, httpx.Client(transport=fake.httpx_transport) as client:
        fake.script(answer)
        with suppress(httpx.TransportError, ValueError):  # a fault of the reply; what is kept of it is compared
            client.post(f"{BEDROCK}{path}", content=BODY)
        (call,) = fake.calls
        response = call.response and asdict(call.response)
        return json.dumps([[event for event, _ in call.events], call.outcome, response], **_SORTED).encode()


def pauses(answer: Reply, path: str) -> bytes:
    """The seconds before each chunk of the answer, and what else there is of time and end."""
    response = Endpoint(answer).exchange(Request("POST", path, (), BODY)).response
    delays = [(len(chunk.data), chunk.delay) for chunk in response.chunks]
    return repr((delays, response.failure, response.broken, response.wait, response.stale)).encode()


def through_server(server: ConverseServer, answer: Reply, path: str) -> bytes:
    """What comes over a socket, twice."""
    with server.script(answer.times(2), unused="allow") as fake:
        return b"|".join(over_a_socket(fake.url, path) for _ in range(2))


def over_a_socket(base: str, path: str, body: bytes = BODY, *headers: str) -> bytes:
    """What the server at the URL `base` answers to one POST, until the answer or the connection ends."""
    url = urlsplit(base)
    with socket.create_connection((url.hostname or "", url.port or 0), timeout=10) as client:
        head = ("Host: x", f"Content-Length: {len(body)}", *headers, "", "")
        client.sendall("\r\n".join((f"POST {url.path}{path} HTTP/1.1", *head)).encode() + body)
        came = bytearray()
        try:
            while not _is_whole(came) and (data := client.recv(65536)):
                came += data
        except ConnectionResetError:
            came += b"reset"
    return bytes(came)


def _is_whole(came: bytes | bytearray) -> bool:
    head, end, body = came.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: (\d+)", head)
    if not end or length is not None:
        return length is not None and len(body) >= int(length[1])
    return body.endswith(b"0\r\n\r\n")


def send(file: Path) -> None:
    """Print a line for each reply: the four hashes, or that it is refused."""
    with ConverseServer() as server:
        for number, line in enumerate(file.read_text("utf-8").splitlines()):
            source, model, operation = json.loads(line)
            path = f"/model/{quote(model, safe='')}/{operation}"
            answer: Reply = eval(source, {"reply": reply, "faults": faults, "inf": float("inf")})
            here = partial(lambda *args: b"|".join(in_process(*args)), answer, path)
            there = partial(through_server, server, answer, path)
            print(number, *map(_hashed, (here, there, partial(as_kept, answer, path), partial(pauses, answer, path))))


def _hashed(ask: Callable[[], bytes]) -> str:
    try:
        return hashlib.sha256(DATE.sub(b"", ask())).hexdigest()[:16]
    except ReplyError:
        return "refused"  # a fault that this transport cannot have


if __name__ == "__main__":
    {"draw": draw, "send": send}[sys.argv[1]](Path(sys.argv[2]))
