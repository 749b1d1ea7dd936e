"""The variants of a shape: one value for each member of a union, each value of an enum, each kind of personal data.

A variant is named by its path in AWS's model, as the table of `grammar` names events: `reasoningContent.reasoningText`.
What the installed botocore does not have is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

from converse_harness import bedrock
from converse_harness.samples import citations, content, guardrails, media, streaming, tools

Builders = Mapping[str, Callable[[], Any]]


def _at(path: str, build: Callable[[], Any]) -> Callable[[], Any]:
    """Makes what `build` makes, under the members of a path."""

    def built() -> Any:
        value = build()
        for name in reversed(path.split(".")):
            value = {name: value}
        return value

    return built


def _by_path(members: Builders) -> Builders:
    return {path: _at(path, build) for path, build in members.items()}


def _in_block(field: str, members: Builders) -> Builders:
    """Events of a block: variants as their `field`, with the block's index."""
    event = {"start": "contentBlockStart", "delta": "contentBlockDelta"}[field]

    def make(build: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: {event: {"contentBlockIndex": 0, field: build()}}

    return {f"{event}.{path}": make(build) for path, build in members.items()}


_REDACTED: Final = b"EXAMPLE-ENCRYPTED-REASONING"

_CONTENT_BLOCKS: Final = _by_path(
    {
        "text": lambda: content.LOOK,
        "image": media.image,
        "document": media.document,
        "video": media.video,
        "audio": media.audio,
        "toolUse": tools.tool_use,
        "toolResult": tools.result,
        "guardContent.text": content.guard_text,
        "guardContent.image": media.image,
        "cachePoint": content.cache_point,
        "reasoningContent.reasoningText": content.reasoning_text,
        "reasoningContent.redactedContent": lambda: _REDACTED,
        "citationsContent": citations.block,
        "searchResult": citations.search_result,
        "toolAddition": tools.reference,
        "toolRemoval": tools.reference,
    }
)

_STARTS: Final = _by_path(
    {
        "toolUse": content.start_tool_use,
        "toolResult": lambda: {"toolUseId": tools.ID, "status": tools.result_status()},
        "image": lambda: {"format": media.image_format()},
    }
)

_DELTAS: Final = _by_path(
    {
        "text": lambda: content.delta()["text"],
        "toolUse": streaming.tool_use_delta,
        "toolResult": lambda: [tools.result_content()],
        "reasoningContent.text": lambda: streaming.reasoning_delta()["text"],
        "reasoningContent.signature": lambda: content.reasoning_text()["signature"],
        "reasoningContent.redactedContent": lambda: _REDACTED,
        "citation": streaming.citation_delta,
        "image": lambda: {"source": media.image_source()},
    }
)

_STREAM_EVENTS: Final = {
    **_by_path({"messageStart": streaming.message_start}),
    **_in_block("start", _STARTS),
    **_in_block("delta", _DELTAS),
    **_by_path(
        {
            "contentBlockStop": streaming.block_stop,
            "messageStop": streaming.message_stop,
            "metadata": streaming.metadata,
            "internalServerException": lambda: {"message": "The system encountered an unexpected error."},
            "modelStreamErrorException": streaming.model_stream_error,
            "validationException": lambda: {"message": "The model returned the following errors: prompt is too long"},
            "throttlingException": streaming.exception,
            "serviceUnavailableException": lambda: {"message": "Bedrock is unable to process your request."},
        }
    ),
}

_BY_SHAPE: Final[Mapping[str, Builders]] = {
    "ContentBlock": _CONTENT_BLOCKS,
    "ContentBlockDelta": _DELTAS,
    "ConverseStreamOutput": _STREAM_EVENTS,
    "ToolChoice": _by_path({"auto": tools.choice_auto, "any": tools.choice_any, "tool": tools.choice_tool}),
    "CitationLocation": _by_path(
        {
            "web": citations.web,
            "documentChar": citations.document_char,
            "documentPage": citations.document_page,
            "documentChunk": citations.document_chunk,
            "searchResultLocation": citations.search_result_location,
        }
    ),
}

SHAPES: Final = {
    "content_block": "ContentBlock",
    "delta": "ContentBlockDelta",
    "stream_event": "ConverseStreamOutput",
    "stop_reason": "StopReason",
    "tool_choice": "ToolChoice",
    "citation_location": "CitationLocation",
    "pii_kind": "GuardrailPiiEntityFilter",
}
"""Set of variants -> the shape that they are of."""

_BLOCK_FIELDS: Final = {"ContentBlockStartEvent": "start", "ContentBlockDeltaEvent": "delta"}
"""Where the path of an event goes on; `contentBlockStart.toolUse` leaves it out."""


@cache
def builders(name: str) -> Builders:
    """The variants that the installed botocore has, by their paths, each with what makes its value."""
    if name == "stop_reason":
        return {reason: partial(str, reason) for reason in bedrock.enum("StopReason")}
    if name == "pii_kind":
        return {
            kind: partial(guardrails.pii, kind)
            for kind in bedrock.enum("GuardrailPiiEntityType")
            if kind in guardrails.PII
        }
    shape = SHAPES[name]
    return {path: build for path, build in _BY_SHAPE[shape].items() if _has(shape, path.split("."))}


def _has(shape: str, path: list[str]) -> bool:
    """Whether the installed botocore's model has this path of members."""
    for step in path:
        if shape in _BLOCK_FIELDS:
            shape = bedrock.member(shape, _BLOCK_FIELDS[shape]).name
        if not bedrock.has_member(shape, step):
            return False
        shape = bedrock.member(shape, step).name
    return True
