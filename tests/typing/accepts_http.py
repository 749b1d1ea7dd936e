"""What transports write: requests and responses, with lists and generators of chunks."""

from collections.abc import Iterator
from typing import assert_type

from converse_harness.stream.http import Chunk, ConnectionFailure, HttpResponse, Request

request = Request("POST", "/model/m/converse", (("host", "localhost"),), b"{}")
assert_type(request.headers, tuple[tuple[str, str], ...])
assert_type(request.body, bytes)


def chunks() -> Iterator[Chunk]:
    yield Chunk(b"{}")
    yield Chunk(b"{}", delay=0.5, event={"messageStart": {"role": "assistant"}})


streamed = HttpResponse(200, (), chunks())
assert_type(streamed.failure, ConnectionFailure | None)
refused = HttpResponse(0, (), [], failure="connection refused")
