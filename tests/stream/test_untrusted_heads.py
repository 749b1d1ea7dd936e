"""A request whose head two readers may read in two ways hides no second request: its connection ends (RFC 9112)."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from converse_harness.stream.http import json_response
from converse_harness.stream.http1 import Http1
from converse_harness.stream.http_protocol import Arrived, HttpRefused

SECOND: Final = b"POST /second HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
START: Final = b"POST /first HTTP/1.1"
BODIES: Final = {
    b"Content-Length: 7": b'{"x":1}',
    b"Content-Length: 0": b"",
    b"Transfer-Encoding: chunked": b'7\r\n{"x":1}\r\n0\r\n\r\n',
    b"transfer-encoding: Chunked": b"0\r\n\r\n",
}
"""For each header that tells where the request ends: a body that fits."""

ORDINARY: Final = (
    b"Accept: */*",
    b"X-Amz-Date: 20261127T101112Z",
    b"Cookie: a=b, c; d",
    b"Empty:",
    b"Content-Type: application/json",
    b"x-content-length: 3",
    b"Connection: keep-alive",
    b"User-Agent: aiohttp (\xe9)",
)
FAULTY: Final = (
    # where the request ends, RFC 9112 6.1 to 6.3
    b"Content-Length: 6\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: 0",
    b"Content-Length: 7\r\nContent-Length: 8",
    b"Content-Length: 7, 8",
    b"Content-Length: +7",
    b"Content-Length: -1",
    b"Content-Length: 0x7",
    b"Content-Length: 7_0",
    b"Content-Length: 7 7",
    b"Content-Length:",
    b"Transfer-Encoding: gzip",
    b"Transfer-Encoding: chunked, gzip",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: chunked;q=1",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding:",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    # the form of a header, RFC 9112 2.2, 5.1 and 5.2
    b"Transfer-Encoding : chunked",
    b"Content-Length : 0",
    b"Transfer-Encoding\x00: chunked",
    b"Transfer-Encoding:\r\n chunked",
    b"X: a\r\n b",
    b"X: a\r\n\tContent-Length: 0",
    b"X: a\r\n ",
    b" X: a",
    b"X: a\rTransfer-Encoding: chunked",
    b"X: a\r",
    b"X: a\x00b",
    b"X: a\nTransfer-Encoding: chunked",
    b"X: a\n",
    b": a",
    b"no colon",
    # the host, RFC 9112 3.2
    b"Host: other",
)
"""Lines that make a head doubtful wherever they stand in it."""

STARTS: Final = (
    b"POST  /first HTTP/1.1",
    b"POST\t/first HTTP/1.1",
    b"POST /first HTTP/1.1\r",
    b"POST /fi rst HTTP/1.1",
    b"POST /first HTTP/1.1 ",
    b" POST /first HTTP/1.1",
    b"POST /first",
    b"POST /first HTTP/2.0",
    b"POST /first HTTP/1.0",
    b"POST /first HTTP/1.1\r\n X: folded",
    b"\r\nPOST /first HTTP/1.1",
)
"""Request lines that are wrong, or of a version whose connections end after the answer."""


def whole(start: bytes, lines: list[bytes], end: bytes = b"\r\n") -> bytes:
    """A head from its lines; after its end, the empty line."""
    return end.join([start, *lines, b"", b""])


ends = st.sampled_from(sorted(BODIES))
lines = st.lists(st.sampled_from(ORDINARY), max_size=4, unique=True)


@st.composite
def doubtful(draw: st.DrawFn) -> bytes:
    """A request with one fault in its head, at any place among ordinary lines."""
    others = draw(lines)
    end = draw(ends)
    kind = draw(st.sampled_from(["line", "start", "LF"]))
    headers = draw(st.permutations([b"Host: h", end, *others]))
    if kind == "line":
        fault = draw(st.sampled_from(FAULTY))
        if draw(st.booleans()):  # the fault alone tells where the request ends
            headers = [line for line in headers if line is not end]
        place = draw(st.integers(min_value=0, max_value=len(headers)))
        return whole(START, [*headers[:place], fault, *headers[place:]]) + BODIES[end]
    if kind == "start":
        return whole(draw(st.sampled_from(STARTS)), headers) + BODIES[end]
    # LF alone: after every line, or after one
    head = whole(START, headers)
    places = [at for at in range(len(head)) if head.startswith(b"\r\n", at)]
    gone = draw(st.sampled_from([places, *([place] for place in places)]))
    return bytes(byte for at, byte in enumerate(head) if at not in gone) + BODIES[end]


def answered(sent: bytes, size: int) -> tuple[list[str], bool]:
    """What is answered if each request is answered at once, and whether the connection is done. `size`: of a read."""
    http = Http1()
    seen: list[str] = []
    for start in range(0, len(sent), size):
        events = http.receive(sent[start : start + size])
        while events:
            [event] = events
            assert isinstance(event, Arrived | HttpRefused)
            seen.append(event.request.target if isinstance(event, Arrived) else "refused")
            http.head(event.stream, json_response(b"{}", "id"), "now")
            events = http.end(event.stream)
    return seen, http.done


sizes = st.sampled_from([1, 7, 4096])


@given(st.booleans(), doubtful(), sizes)
def test_after_a_doubtful_head_nothing_is_answered(follows: bool, request: bytes, size: int) -> None:
    seen, done = answered(SECOND * follows + request + SECOND, size)
    assert done
    assert seen[follows:] in (["refused"], ["/first"])


@pytest.mark.parametrize("fault", FAULTY)
def test_each_fault_is_refused(fault: bytes) -> None:
    assert answered(whole(START, [b"Host: h", fault, b"X: y"]) + b"0\r\n\r\n" + SECOND, 4096) == (["refused"], True)


@pytest.mark.parametrize("end", [b"\n\r\n", b"\r\n\n", b"\n\n"])
@pytest.mark.parametrize("after", [b"", SECOND], ids=["last", "not last"])
def test_a_head_that_ends_in_a_lone_lf_is_refused(end: bytes, after: bytes) -> None:
    assert answered(START + b"\r\nHost: h" + end + after, 4096) == (["refused"], True)


@given(ends, lines, sizes, st.data())
def test_after_a_head_without_doubt_the_next_request_is_answered(
    end: bytes, others: list[bytes], size: int, data: st.DataObject
) -> None:
    headers = data.draw(st.permutations([b"Host: h", end, *others]))
    assert answered(whole(START, headers) + BODIES[end] + SECOND, size) == (["/first", "/second"], False)
