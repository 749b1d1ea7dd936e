"""The manner of a model's answers, beside cuts and usage: which reasoning has no text. Reruns of tests use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules.rule import Claude
from converse_harness.reply.body import MessageBody
from converse_harness.reply.reply import Reply

_OMITS_REASONING: Final = Claude(since=(4, 7))
"""The models that send signed reasoning without its text, unless the request asks for a summary.

Source: reported by users (strands-agents/harness-sdk#2704), as in the case `reasoning_omitted`.
"""


def has_manner(reply: Reply) -> bool:
    """Whether anything in an answer depends on the model: not so of errors, recorded bytes, and exact events."""
    return reply.recorded is None and isinstance(reply.body, MessageBody)


def in_manner_of(model_id: str, reply: Reply, request: Mapping[str, Any]) -> Reply:
    """Return the reply with the content that the model sends; the reply itself if nothing is different.

    `request` is the body of the request. Reasoning that has a signature loses its text if the model omits the text by
    default. Cuts and usage keys are not part of a Reply: the Renderer takes them from the model.

    >>> from converse_harness.reply import message
    >>> thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    >>> in_manner_of("anthropic.claude-opus-5", message(thought, {"text": "hi"}), {}).body.content[0]
    {'reasoningContent': {'reasoningText': {'text': '', 'signature': 'c2ln'}}}
    """
    body = reply.body
    if not has_manner(reply) or not isinstance(body, MessageBody):
        return reply
    if standing(model_id).id not in _OMITS_REASONING or _asks_for_a_summary(request):
        return reply
    omitted = {index: _without_text(block) for index, block in enumerate(body.content) if _is_signed(block)}
    if not omitted:
        return reply
    content = tuple(omitted.get(index, block) for index, block in enumerate(body.content))
    pieces = {index: given for index, given in (body.pieces or {}).items() if index not in omitted}
    return replace(reply, body=replace(body, content=content, pieces=pieces or None))


def _asks_for_a_summary(request: Mapping[str, Any]) -> bool:
    match request:
        case {"additionalModelRequestFields": {"thinking": {"display": "summarized"}}}:
            return True
        case _:
            return False


def _is_signed(block: Mapping[str, Any]) -> bool:
    match block:
        case {"reasoningContent": {"reasoningText": {"text": str(text), "signature": str()}}}:
            return bool(text)
        case _:
            return False


def _without_text(block: Mapping[str, Any]) -> Mapping[str, Any]:
    said = block["reasoningContent"]["reasoningText"]
    return {"reasoningContent": {"reasoningText": {**said, "text": ""}}}
