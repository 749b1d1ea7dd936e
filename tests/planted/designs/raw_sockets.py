"""Reads the frames itself, by their lengths and checksums, from an HTTP response of the standard library."""

from __future__ import annotations

import base64
import http.client
import json
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any, ClassVar
from urllib.parse import quote, urlsplit

from converse_harness.contract import ConsumerContract, Outcome, Target, ToolCall


class StreamBroke(Exception):
    """The bytes are no whole answer."""


class ServiceSaid(Exception):
    """The service answered with an error."""


def exactly(body: IO[bytes], length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = body.read(length - len(data))
        if not more:
            raise StreamBroke(f"{len(data)} of {length} bytes")
        data += more
    return data


def frames(body: IO[bytes]) -> Iterator[tuple[dict[str, str], bytes]]:
    while first := body.read(1):
        prelude = first + exactly(body, 11)
        total, headers_length, check = struct.unpack(">III", prelude)
        if zlib.crc32(prelude[:8]) != check:
            raise StreamBroke("the lengths are damaged")
        rest = exactly(body, total - 12)
        if zlib.crc32(prelude + rest[:-4]) != int.from_bytes(rest[-4:], "big"):
            raise StreamBroke("the frame is damaged")
        yield dict(headers_in(rest[:headers_length])), rest[headers_length:-4]


def headers_in(data: bytes) -> Iterator[tuple[str, str]]:
    while data:
        end = 1 + data[0]
        name, kind = data[1:end].decode(), data[end]
        if kind != 7:  # the type of texts, the only one that AWS uses here
            raise StreamBroke(f"a header of the type {kind}")
        length = int.from_bytes(data[end + 1 : end + 3], "big")
        yield name, data[end + 3 : end + 3 + length].decode()
        data = data[end + 3 + length :]


class Reader:
    """One answer; `on_<event>` takes an event."""

    def __init__(self) -> None:
        self.text = ""
        self.open: dict[int, list[Any]] = {}
        self.tools: dict[int, tuple[str, list[str]]] = {}
        self.seen: set[int] = set()
        self.reason: str | None = None
        self.usage: dict[str, Any] = {}
        self.redacted: list[bytes] = []

    def take(self, headers: dict[str, str], payload: bytes) -> None:
        match headers[":message-type"]:
            case "error":
                raise ServiceSaid(headers[":error-code"])
            case "exception":
                raise ServiceSaid(headers[":exception-type"])
            case _:
                method = getattr(self, "on_" + headers[":event-type"], None)
                if method is not None:
                    method(json.loads(payload))

    def on_contentBlockStart(self, event: dict[str, Any]) -> None:  # noqa: N802 - the name of the event
        index = self.index_of(event)
        if index in self.seen:
            raise StreamBroke(f"block {index} begins twice")
        self.seen.add(index)
        use = event["start"].get("toolUse")
        if use and use.get("type") != "server_tool_use":
            self.tools[index] = (use["name"], [])
        self.open[index] = [use]

    def on_contentBlockDelta(self, event: dict[str, Any]) -> None:  # noqa: N802 - the name of the event
        index = self.index_of(event)
        if index not in self.open:
            if index in self.seen:
                raise StreamBroke(f"block {index} goes on after its end")
            self.seen.add(index)
            self.open[index] = [None]
        [use] = self.open[index]
        delta = event["delta"]
        if ("toolUse" in delta) != bool(use):
            raise StreamBroke("a delta of another block")
        self.text += delta.get("text", "")
        if index in self.tools:
            self.tools[index][1].append(delta["toolUse"]["input"])
        if data := delta.get("reasoningContent", {}).get("redactedContent"):
            self.redacted.append(base64.b64decode(data))

    def on_contentBlockStop(self, event: dict[str, Any]) -> None:  # noqa: N802 - the name of the event
        if self.open.pop(self.index_of(event), None) is None:
            raise StreamBroke("the end of no block")

    def on_messageStop(self, event: dict[str, Any]) -> None:  # noqa: N802 - the name of the event
        self.reason = event["stopReason"]

    def on_metadata(self, event: dict[str, Any]) -> None:
        self.usage = event["usage"]

    def index_of(self, event: dict[str, Any]) -> int:
        if "contentBlockIndex" not in event or self.reason:
            raise StreamBroke("an event of no block")
        return int(event["contentBlockIndex"])

    def finished(self) -> list[ToolCall]:
        if self.reason is None or self.open:
            raise StreamBroke("no end")
        try:
            return [ToolCall(name, json.loads("".join(pieces) or "{}")) for name, pieces in self.tools.values()]
        except (ValueError, TypeError) as error:
            raise StreamBroke("an input that is no JSON") from error


class RawSockets(ConsumerContract):
    """Over a socket, with no SDK."""

    transport = "server"
    errors: ClassVar = {}

    def consume(self, target: Target) -> Outcome:
        address = urlsplit(target.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=target.patience)
        request = dict(target.request)
        path = f"{address.path}/model/{quote(request.pop('modelId'), safe='')}/converse-stream"
        reader = Reader()
        try:
            connection.request("POST", path, json.dumps(request), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise ServiceSaid(response.headers.get("x-amzn-errortype", str(response.status)))
            for headers, payload in frames(response):
                reader.take(headers, payload)
            calls = reader.finished()
        finally:
            connection.close()
        return Outcome(reader.text, calls, reader.reason, usage=reader.usage, redacted=reader.redacted)
