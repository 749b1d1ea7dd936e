"""The honest floor: a botocore client that does all of its own work, and gets its answer where a transport would give
it.

A `before-send` hook of botocore's own returns frames that are made already, one for each HTTP chunk. Whatever a call
costs beyond that is the harness.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

from converse_harness import Endpoint, Reply, reply
from converse_harness.intercept.clients import create_client
from converse_harness.stream.http import Request

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
"""One whose deltas are tokens: the deltas of newer ones are longer, so a stream of as many events is a longer text."""

ASKED: dict[str, Any] = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "Tell me a story."}]}]}


_LETTERS = str.maketrans("0123456789", "abcdefghij")


def story(events: int) -> Reply:
    """A reply that is a stream of that many events, one text delta of 8 characters each but for the usual four."""
    return reply.text("".join(f" word{number:03d}".translate(_LETTERS) for number in range(events - 4)))


def answered(scripted: Reply, operation: str) -> tuple[dict[str, str], list[bytes]]:
    """Headers and chunks of the answer that the harness gives, made once."""
    body = b'{"messages":[{"role":"user","content":[{"text":"Tell me a story."}]}]}'
    path = f"/model/{MODEL.replace(':', '%3A')}/{operation}"
    response = Endpoint(scripted).exchange(Request("POST", path, (), body)).response
    return dict(response.headers), [chunk.data for chunk in response.chunks]


class Raw(io.RawIOBase):
    """The least that botocore reads an answer from."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        """The chunks as they are."""
        return iter(self._chunks)


def floor_client(scripted: Reply, operation: str) -> Any:
    """A client that is always answered with the bytes of that reply."""
    from botocore.awsrequest import AWSResponse

    headers, chunks = answered(scripted, operation)
    client = create_client()

    def answer(request: Any, **_: Any) -> Any:
        return AWSResponse(request.url, 200, headers, Raw(chunks))

    client.meta.events.register("before-send.bedrock-runtime", answer)
    return client


def read_stream(client: Any) -> Callable[[], int]:
    """A call that reads a whole stream, and counts its events."""
    return lambda: sum(1 for _ in client.converse_stream(**ASKED)["stream"])


def read_first(client: Any) -> Callable[[], object]:
    """A call that reads the first event, and no more."""
    return lambda: next(iter(client.converse_stream(**ASKED)["stream"]))
