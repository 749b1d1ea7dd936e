"""Strategies for `converse_harness.types.streaming`: single events and their contents.

An event of a block may have no index, or the index None, because providers other than Bedrock send such events. For
complete streams as Bedrock could send them, use `converse_strategies.stream_events`.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from converse_strategies import basics
from converse_strategies.basics import INDEXES, Texts, Values, cached, dicts, either, or_none, rarely, some, tagged
from converse_strategies.strands import citations as _citations
from converse_strategies.strands.content import content_block_starts, roles
from converse_strategies.strands.event_loop import metrics, stop_reasons, usages
from converse_strategies.strands.guardrails import traces

_STATUSES: Final = st.sampled_from((400, 408, 424, 429, 500, 503, 529))


def message_start_events() -> Values:
    """MessageStartEvents: dicts with a role."""
    return dicts({"role": roles()})


def content_block_start_events() -> Values:
    """ContentBlockStartEvents: dicts with a start. Some also have an index, which may be None."""
    return dicts({"start": content_block_starts()}, contentBlockIndex=or_none(INDEXES))


def content_block_delta_texts(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltaTexts: dicts with any text under `text`."""
    return tagged("text", some(texts))


def content_block_delta_tool_uses(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltaToolUses: dicts with any text under `input`. One dict in four also has an id and a name."""
    names = dicts({"toolUseId": basics.tool_use_ids(), "name": basics.tool_names()})
    return rarely(tagged("input", some(texts)), names)


citation_locations = _citations.citation_locations
citation_source_content_deltas = _citations.citation_source_contents
citations_deltas = _citations.citations


def reasoning_content_block_deltas(*, texts: Texts | None = None) -> Values:
    """ReasoningContentBlockDeltas: dicts with one member: `text`, `signature` or `redactedContent`. It may be None.

    >>> from hypothesis import find
    >>> find(reasoning_content_block_deltas(), lambda delta: delta.get("signature"))
    {'signature': '0'}
    """
    pieces = or_none(some(texts))
    return either(text=pieces, signature=pieces, redactedContent=or_none(basics.BLOBS))


def content_block_deltas(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltas: dicts with one member: `text`, `toolUse`, `reasoningContent` or `citation`.

    The type is `converse_harness.types.streaming.ContentBlockDelta`; the module `types.content` has another type with
    this name.

    >>> from hypothesis import find
    >>> find(content_block_deltas(), lambda delta: True)
    {'text': ''}
    """
    return either(
        text=some(texts),
        toolUse=content_block_delta_tool_uses(texts=texts),
        reasoningContent=reasoning_content_block_deltas(texts=texts),
        citation=citations_deltas(texts=texts),
    )


def content_block_delta_events(*, texts: Texts | None = None) -> Values:
    """ContentBlockDeltaEvents: dicts with a delta. Some also have an index, which may be None."""
    return dicts({"delta": content_block_deltas(texts=texts)}, contentBlockIndex=or_none(INDEXES))


def content_block_stop_events() -> Values:
    """ContentBlockStopEvents: dicts with the index of a block, which may be None, or without any member."""
    return dicts({}, contentBlockIndex=or_none(INDEXES))


def message_stop_events() -> Values:
    """MessageStopEvents: dicts with a stop reason. One dict in four also has additional response fields: any JSON."""
    return rarely(dicts({"stopReason": stop_reasons()}), tagged("additionalModelResponseFields", basics.json_values()))


def metadata_events(*, texts: Texts | None = None) -> Values:
    """MetadataEvents: dicts with usage and metrics. One dict in four also has a trace, which may be None."""
    return rarely(dicts({"usage": usages(), "metrics": metrics()}), tagged("trace", or_none(traces(texts=texts))))


def exception_events(*, texts: Texts | None = None) -> Values:
    """ExceptionEvents: dicts with any text under `message`."""
    return tagged("message", some(texts))


def model_stream_error_events(*, texts: Texts | None = None) -> Values:
    """ModelStreamErrorEvents: dicts with Bedrock's `message`, and with `originalMessage` and `originalStatusCode`.

    The latter two stand for the message and the HTTP status that Bedrock got from the model.
    """
    return dicts({"message": some(texts), "originalMessage": some(texts), "originalStatusCode": _STATUSES})


@cached
def redact_content_events(*, texts: Texts | None = None) -> Values:
    """RedactContentEvents: dicts with a text in place of the user's text, a text in place of the model's text, or both.

    In a dict with both members, each value may also be None.

    >>> from hypothesis import find
    >>> find(redact_content_events(), lambda event: True)
    {'redactUserContentMessage': ''}
    """
    user = tagged("redactUserContentMessage", some(texts))
    assistant = tagged("redactAssistantContentMessage", some(texts))
    both = dicts(
        {"redactUserContentMessage": or_none(some(texts)), "redactAssistantContentMessage": or_none(some(texts))}
    )
    return st.one_of(user, assistant, both)


@cached
def stream_events(*, texts: Texts | None = None) -> Values:
    """StreamEvents of every kind: dicts with one member, whose name is the kind. One event in eight is an exception.

    >>> from hypothesis import find
    >>> find(stream_events(), lambda event: "redactContent" in event)
    {'redactContent': {'redactUserContentMessage': ''}}
    """
    exceptions = st.one_of(
        *(
            tagged(f"{name}Exception", exception_events(texts=texts))
            for name in ("throttling", "internalServer", "serviceUnavailable", "validation")
        ),
        tagged("modelStreamErrorException", model_stream_error_events(texts=texts)),
    )
    kinds = (
        tagged("messageStart", message_start_events()),
        tagged("contentBlockStart", content_block_start_events()),
        tagged("contentBlockDelta", content_block_delta_events(texts=texts)),
        tagged("contentBlockStop", content_block_stop_events()),
        tagged("messageStop", message_stop_events()),
        tagged("metadata", metadata_events(texts=texts)),
        tagged("redactContent", redact_content_events(texts=texts)),
        exceptions,
    )
    # st.one_of(*kinds) is not used: it flattens nested one_of strategies, so five of its twelve alternatives would be
    # exceptions.
    return st.sampled_from(kinds).flatmap(lambda kind: kind)
