"""Change an answer to the form that another model would send: some models omit the text of reasoning.

This is used when a test runs a second time with the id of another model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from converse_harness.bedrock.models import standing
from converse_harness.bedrock.rules.rule import Claude
from converse_harness.json_values import member_of
from converse_harness.reply.body import MessageBody
from converse_harness.reply.reply import Reply

_OMITS_REASONING: Final = Claude(since=(4, 7))
"""The models that send signed reasoning without its text, unless the request asks for a summary.

Source: a report by users (strands-agents/harness-sdk#2704). The case `reasoning_omitted` of the catalogue of cases has
the same source.
"""


def has_manner(reply: Reply) -> bool:
    """Whether the content of an answer depends on the model.

    Errors, recorded replies and exact events do not depend on it.
    """
    return reply.recorded is None and isinstance(reply.body, MessageBody)


def in_manner_of(model_id: str, reply: Reply, request: Mapping[str, Any]) -> Reply:
    """Return the reply with the content that the model would send; the same object if the content does not change.

    `request` is the body of the request. Reasoning that has a signature loses its text if the model omits the text by
    default. The chunks of an answer and the keys of its usage depend on the model too, but they are not part of a
    Reply: the Renderer determines them.

    >>> from converse_harness.reply import message
    >>> thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    >>> in_manner_of("anthropic.claude-opus-5", message(thought, {"text": "hi"}), {}).body.content[0]
    {'reasoningContent': {'reasoningText': {'text': '', 'signature': 'c2ln'}}}
    """
    body = reply.body
    if not (has_manner(reply) and isinstance(body, MessageBody) and standing(model_id).id in _OMITS_REASONING):
        return reply
    if member_of(request, "additionalModelRequestFields", "thinking", "display") == "summarized":
        return reply
    omitted = {index: _without_text(block) for index, block in enumerate(body.content) if _is_signed(block)}
    if not omitted:
        return reply
    content = tuple(omitted.get(index, block) for index, block in enumerate(body.content))
    pieces = {index: given for index, given in (body.pieces or {}).items() if index not in omitted}
    return replace(reply, body=replace(body, content=content, pieces=pieces or None))


def _is_signed(block: Mapping[str, Any]) -> bool:
    match block:
        case {"reasoningContent": {"reasoningText": {"text": str(text), "signature": str()}}}:
            return bool(text)
        case _:
            return False


def _without_text(block: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"reasoningContent": {"reasoningText": {**block["reasoningContent"]["reasoningText"], "text": ""}}}
