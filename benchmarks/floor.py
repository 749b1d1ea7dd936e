"""The honest floor: a botocore client that does all of its own work, and gets its answer where a transport would give
it.

A `before-send` hook of botocore's own returns frames that are made already, one for each HTTP chunk. Whatever a call
costs beyond that is the harness. Every call asks another prompt, as the calls of a user do.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any, Final

from converse_harness import Endpoint, Reply, reply
from converse_harness.intercept.clients import create_client
from converse_harness.intercept.fake import FakeCore
from converse_harness.intercept.registry import OPEN_FAKES
from converse_harness.stream.http import Request

MODEL: Final = "anthropic.claude-3-haiku-20240307-v1:0"
"""One whose deltas are tokens: the deltas of newer ones are longer, so a stream of as many events is a longer text."""

TOOLS: Final = {
    "tools": [
        {
            "toolSpec": {
                "name": "get_weather",
                "description": "The weather of a city in the next days.",
                "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}}},
            }
        }
    ]
}

_LETTERS = str.maketrans("0123456789", "abcdefghij")
_NUMBERS = count()


def asked() -> dict[str, Any]:
    """The arguments of a call, with a prompt that was not asked before."""
    prompt = f"Tell me the story number {next(_NUMBERS)}."
    return {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": prompt}]}]}


def asked_with_tools() -> dict[str, Any]:
    """The same with a tool."""
    return {**asked(), "toolConfig": TOOLS}


def story(events: int) -> Reply:
    """A reply that is a stream of that many events, one text delta of 8 characters each but for the usual four."""
    return reply.text("".join(f" word{number:03d}".translate(_LETTERS) for number in range(events - 4)))


def plan(events: int) -> Reply:
    """A reply of about that many events, half of them deltas of a text and half of a tool's input."""
    words = "".join(f" word{number:03d}".translate(_LETTERS) for number in range(events // 2 - 4))
    cities = [f"city {number:03d}".translate(_LETTERS) for number in range(events // 4)]
    return reply.message({"text": words}, {"toolUse": {"name": "get_weather", "input": {"cities": cities}}})


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is asked and answered: `operation` is a method of the client, `reply` is made anew at each access."""

    operation: str
    ask: Callable[[], dict[str, Any]]
    answer: Callable[[], Reply]

    def call(self, client: Any) -> Callable[[], object]:
        """A call with a prompt of its own, to be timed: it reads the whole answer and returns the number of events."""
        arguments, method = self.ask(), getattr(client, self.operation)
        if self.operation == "converse":
            return lambda: method(**arguments)
        return lambda: sum(1 for _ in method(**arguments)["stream"])

    def floor(self) -> Any:
        """A client that is always answered with the bytes of the reply."""
        response: Any = import_module("botocore.awsrequest").AWSResponse  # botocore has no types of its own
        headers, chunks = answered(self.answer(), self.operation.replace("_", "-"))
        client = create_client()

        def answer(request: Any, **_: Any) -> Any:
            return response(request.url, 200, headers, Raw(chunks))

        client.meta.events.register("before-send.bedrock-runtime", answer)
        return client


def telling(events: int) -> Exchange:
    """A ConverseStream of text."""
    return Exchange("converse_stream", asked, lambda: story(events))


def planning(events: int) -> Exchange:
    """A ConverseStream of text and a tool use."""
    return Exchange("converse_stream", asked_with_tools, lambda: plan(events))


def answered(scripted: Reply, operation: str) -> tuple[dict[str, str], list[bytes]]:
    """Headers and chunks of the answer that the harness gives, made once."""
    response = Endpoint(scripted).exchange(request_of(asked_with_tools(), operation)).response
    return dict(response.headers), [chunk.data for chunk in response.chunks]


def request_of(arguments: dict[str, Any], operation: str) -> Request:
    """The request of such a call."""
    body = json.dumps({name: value for name, value in arguments.items() if name != "modelId"}).encode()
    return Request("POST", f"/model/{arguments['modelId'].replace(':', '%3A')}/{operation}", (), body)


def exchanged(endpoint: Endpoint | FakeCore, request: Request) -> list[bytes]:
    """The chunks with which an endpoint answers a request that comes without a client."""
    exchange = endpoint.exchange(request)
    exchange.taken.extend(exchange.response.chunks)
    exchange.ended("complete")
    return [chunk.data for chunk in exchange.response.chunks]


@contextmanager
def kept_patches() -> Generator[None, None, None]:
    """Botocore stays patched between fakes, as it does in a session of pytest."""
    owner = object()
    OPEN_FAKES.keep_patches(owner)
    try:
        yield
    finally:
        OPEN_FAKES.drop_patches(owner)


class Raw(io.RawIOBase):
    """The least that botocore reads an answer from."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        """The chunks as they are."""
        return iter(self._chunks)


def read_first(client: Any, exchange: Exchange) -> tuple[Callable[[], object], Callable[[], None]]:
    """A call that reads the first event, to be timed, and what lets go of the rest afterwards."""
    arguments = exchange.ask()
    streams: list[Any] = []

    def first() -> object:
        streams.append(client.converse_stream(**arguments)["stream"])
        return next(iter(streams[0]))

    def close() -> None:
        streams[0].close()

    return first, close
