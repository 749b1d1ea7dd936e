"""Answers in a few words, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from converse_harness.bodies import BareBody, Body, ErrorBody, EventsBody, MessageBody
from converse_harness.chunking import default_stop_reason
from converse_harness.secrets import mask

LOOKED_AT: Final = 4000
"""How much of a text is looked at: more than the longest secret that begins in what is shown."""


def shorten(text: str, width: int = 60) -> str:
    """A text on one line, at most `width` characters of it. Secrets are masked, which half of one would not be later.

    >>> shorten("It was a dark and stormy night", 16)
    '"It was a da..."'
    """
    flat = json.dumps(mask(text[:LOOKED_AT]), ensure_ascii=False)
    return flat if len(flat) <= width else flat[: width - 4] + '..."'


def summarize_block(block: Mapping[str, Any]) -> str:
    """One content block in a few words."""
    match block:
        case {"text": str(text)}:
            return f"text {shorten(text)}"
        case {"toolUse": {"name": name, "input": value}}:
            text = mask(json.dumps(value, ensure_ascii=False, default=str)[:LOOKED_AT])
            return f"tool_use {name} {text if len(text) <= 60 else text[:57] + '...'}"
        case {"toolResult": {"toolUseId": str(use_id), **result}}:
            known = use_id if len(use_id) <= 16 else f"{use_id[:13]}..."
            status = f" ({result['status']})" if result.get("status") else ""
            match result.get("content"):
                case [{"text": str(text)}, *_]:
                    return f"toolResult {known}{status} {shorten(text)}"
                case _:
                    return f"toolResult {known}{status}"
        case {"reasoningContent": {"reasoningText": {"text": str(text)}}}:
            return f"reasoning {shorten(text)}"
        case _:
            return next(iter(block), "empty block")


def summarize_body(body: Body) -> str:
    """A whole answer in a line."""
    match body:
        case MessageBody(content, stop_reason):
            usual = default_stop_reason(content)
            return " + ".join(map(summarize_block, content)) + (f", {stop_reason}" if stop_reason != usual else "")
        case EventsBody(events):
            return f"{len(events)} events"
        case ErrorBody(name, status, members):
            return f"{name} ({status}) {shorten(str(members.get('message', '')))}"
        case BareBody(summary):
            return summary
