"""Requests by hand: what breaks a rule, and the messages and blocks that it is made of."""

from __future__ import annotations

import base64
import struct
from typing import Any, NamedTuple

from converse_harness.bedrock.rules import RuleRequest

NOVA = "us.amazon.nova-lite-v1:0"
SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
MISTRAL = "mistral.mistral-large-2402-v1:0"
R1 = "us.deepseek.r1-v1:0"
PREFIX = "The model returned the following errors: "
Json = dict[str, Any]


class Broken(NamedTuple):
    """A request: `body` beside its messages, which are one of the user's if not given."""

    path: str
    message: str
    messages: list[Json] | None = None
    model_id: str = NOVA
    operation: str = "Converse"
    body: Json = {}  # noqa: RUF012 - never changed

    @property
    def asked(self) -> RuleRequest:
        """The request as the rules see it."""
        messages = [user(TEXT)] if self.messages is None else self.messages
        return RuleRequest(self.operation, self.model_id, {"messages": messages, **self.body})


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


def use(id: str = "a", **more: Any) -> Json:
    return {"toolUse": {"toolUseId": id, "name": "look", "input": {}} | more}


def result(id: str = "a", *content: Json, **more: Any) -> Json:
    return {"toolResult": {"toolUseId": id, "content": list(content)} | more}


def config(schema: object = None, **choice: Json) -> Json:
    spec = {"name": "look", "inputSchema": {"json": {"type": "object"} if schema is None else schema}}
    return {"toolConfig": {"tools": [{"toolSpec": spec}]} | ({"toolChoice": choice} if choice else {})}


def offered(*names: str) -> Json:
    schema = {"json": {"type": "object"}}
    return {"toolConfig": {"tools": [{"toolSpec": {"name": name, "inputSchema": schema}} for name in names]}}


def document(name: str = "Report", **source: Any) -> Json:
    return {"document": {"name": name, "format": "txt", "source": source or {"bytes": "aGk="}}}


def thinking(**how: Any) -> Json:
    return {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024} | how}}


TEXT: Json = {"text": "hi"}
S3: Json = {"s3Location": {"uri": "s3://bucket/file"}}


def png(width: int = 1) -> str:
    """The beginning of a PNG, as far as anybody looks at it; as base64."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, 1) + b"\x08\0\0\0\0\0"
    return base64.b64encode(head).decode()


def image(form: str = "png", data: str = "") -> Json:
    return {"image": {"format": form, "source": {"bytes": data or png()}}}


IMAGE = image()
VIDEO = {"video": {"format": "mp4", "source": S3}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}
UNSIGNED = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
CACHE_POINT: Json = {"cachePoint": {"type": "default"}}
HOUR: Json = {"cachePoint": {"type": "default", "ttl": "1h"}}
