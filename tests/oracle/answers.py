"""How the answers in a file of recorded JSON are read: their month, their events or body, and what is in them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from email.utils import parsedate
from typing import Any

from converse_harness.stream.events import decode_event
from converse_harness.stream.frames import Decoder


def month_of(recorded: Mapping[str, Any]) -> str:
    """The month in which it was recorded, "" if its file does not say one."""
    answered = {name.lower(): value for name, value in recorded["response"].get("headers") or ()}
    asked = {name.lower(): value for name, value in recorded["request"].get("headers") or ()}
    for day in (recorded.get("recorded_at"), answered.get("date")):
        if day and day[:4].isdigit():
            return str(day[:7])
        if day and (parsed := parsedate(day)):
            return f"{parsed[0]:04}-{parsed[1]:02}"
    signed = asked.get("x-amz-date") or ""
    return f"{signed[:4]}-{signed[4:6]}" if signed[:6].isdigit() else ""


def content_of(response: Mapping[str, Any], *, stream: bool) -> list[dict[str, Any]]:
    """What was answered: as its recorder parsed it, or as its bytes say."""
    for parsed in (response.get("events"), response.get("body")):
        if parsed is not None:
            return parsed if isinstance(parsed, list) else [parsed]
    data = base64.b64decode(response["body_base64"])
    return events_of(data) if stream else [json.loads(data)]


def events_of(data: bytes) -> list[dict[str, Any]]:
    return [decode_event(frame)[0] for frame in Decoder().feed(data)]


def tool_uses(content: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tool uses that a client must run."""
    found: list[dict[str, Any]] = []
    for each in content:
        started = [each.get("contentBlockStart", {}).get("start", {})]
        blocks = each["output"]["message"]["content"] if "output" in each else started
        found += [block["toolUse"] for block in blocks if "toolUse" in block]
    return [use for use in found if use.get("type") != "server_tool_use"]


def usage(content: Iterable[dict[str, Any]]) -> Mapping[str, Any]:
    """The usage of an answer, {} if it has none."""
    places = [place for each in content for place in (each, each.get("metadata", {}))]
    return next((place["usage"] for place in places if "usage" in place), {})
