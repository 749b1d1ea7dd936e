"""Hypothesis strategies for what travels over Amazon Bedrock's Converse API: messages, tools, streams, whole replies.

What they draw are plain dicts of the AWS API; those of Strands' vocabulary are in `converse_strategies.strands`, a
strategy for any shape of AWS's model in `converse_strategies.shapes`. The names below are loaded when they are first
used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converse_strategies.answers import replies as replies
    from converse_strategies.blocks import streamable_blocks as streamable_blocks
    from converse_strategies.chunking import ChunkedMessage as ChunkedMessage
    from converse_strategies.chunking import chunked_messages as chunked_messages
    from converse_strategies.chunking import chunkings as chunkings
    from converse_strategies.citation import citation_locations as citation_locations
    from converse_strategies.citation import citations as citations
    from converse_strategies.citation import citations_content_blocks as citations_content_blocks
    from converse_strategies.conversation import conversations as conversations
    from converse_strategies.failing import FaultyReply as FaultyReply
    from converse_strategies.failing import errors as errors
    from converse_strategies.failing import faults as faults
    from converse_strategies.failing import faulty_replies as faulty_replies
    from converse_strategies.failing import stream_errors as stream_errors
    from converse_strategies.guardrails import guardrail_assessments as guardrail_assessments
    from converse_strategies.guardrails import guardrail_configs as guardrail_configs
    from converse_strategies.guardrails import guardrail_stream_configs as guardrail_stream_configs
    from converse_strategies.guardrails import guardrail_traces as guardrail_traces
    from converse_strategies.hostile import HostileStream as HostileStream
    from converse_strategies.hostile import hostile_stream_events as hostile_stream_events
    from converse_strategies.json_schema import BrokenValue as BrokenValue
    from converse_strategies.json_schema import broken_values as broken_values
    from converse_strategies.json_schema import json_schemas as json_schemas
    from converse_strategies.json_schema import schema_values as schema_values
    from converse_strategies.leaves import faker_texts as faker_texts
    from converse_strategies.machine import ConversationMachine as ConversationMachine
    from converse_strategies.machine import conversation_machine as conversation_machine
    from converse_strategies.media import audios as audios
    from converse_strategies.media import documents as documents
    from converse_strategies.media import images as images
    from converse_strategies.media import videos as videos
    from converse_strategies.message import assistant_messages as assistant_messages
    from converse_strategies.message import messages as messages
    from converse_strategies.message import user_messages as user_messages
    from converse_strategies.metadata import token_usages as token_usages
    from converse_strategies.refused import Refused as Refused
    from converse_strategies.refused import refused_requests as refused_requests
    from converse_strategies.requests import converse_requests as converse_requests
    from converse_strategies.responses import converse_responses as converse_responses
    from converse_strategies.streams import stream_events as stream_events
    from converse_strategies.tools import invalid_tool_uses as invalid_tool_uses
    from converse_strategies.tools import tool_choices as tool_choices
    from converse_strategies.tools import tool_configs as tool_configs
    from converse_strategies.tools import tool_inputs as tool_inputs
    from converse_strategies.tools import tool_results as tool_results
    from converse_strategies.tools import tool_specs as tool_specs
    from converse_strategies.tools import tool_uses as tool_uses

_HOME = {
    "BrokenValue": "json_schema",
    "ChunkedMessage": "chunking",
    "ConversationMachine": "machine",
    "FaultyReply": "failing",
    "HostileStream": "hostile",
    "Refused": "refused",
    "assistant_messages": "message",
    "audios": "media",
    "broken_values": "json_schema",
    "chunked_messages": "chunking",
    "chunkings": "chunking",
    "citation_locations": "citation",
    "citations": "citation",
    "citations_content_blocks": "citation",
    "conversation_machine": "machine",
    "conversations": "conversation",
    "converse_requests": "requests",
    "converse_responses": "responses",
    "documents": "media",
    "errors": "failing",
    "faker_texts": "leaves",
    "faults": "failing",
    "faulty_replies": "failing",
    "guardrail_assessments": "guardrails",
    "guardrail_configs": "guardrails",
    "guardrail_stream_configs": "guardrails",
    "guardrail_traces": "guardrails",
    "hostile_stream_events": "hostile",
    "images": "media",
    "invalid_tool_uses": "tools",
    "json_schemas": "json_schema",
    "messages": "message",
    "refused_requests": "refused",
    "replies": "answers",
    "schema_values": "json_schema",
    "stream_errors": "failing",
    "stream_events": "streams",
    "streamable_blocks": "blocks",
    "token_usages": "metadata",
    "tool_choices": "tools",
    "tool_configs": "tools",
    "tool_inputs": "tools",
    "tool_results": "tools",
    "tool_specs": "tools",
    "tool_uses": "tools",
    "user_messages": "message",
    "videos": "media",
}

__all__ = [
    "BrokenValue",
    "ChunkedMessage",
    "ConversationMachine",
    "FaultyReply",
    "HostileStream",
    "Refused",
    "assistant_messages",
    "audios",
    "broken_values",
    "chunked_messages",
    "chunkings",
    "citation_locations",
    "citations",
    "citations_content_blocks",
    "conversation_machine",
    "conversations",
    "converse_requests",
    "converse_responses",
    "documents",
    "errors",
    "faker_texts",
    "faults",
    "faulty_replies",
    "guardrail_assessments",
    "guardrail_configs",
    "guardrail_stream_configs",
    "guardrail_traces",
    "hostile_stream_events",
    "images",
    "invalid_tool_uses",
    "json_schemas",
    "messages",
    "refused_requests",
    "replies",
    "schema_values",
    "stream_errors",
    "stream_events",
    "streamable_blocks",
    "token_usages",
    "tool_choices",
    "tool_configs",
    "tool_inputs",
    "tool_results",
    "tool_specs",
    "tool_uses",
    "user_messages",
    "videos",
]

if not TYPE_CHECKING:  # type checkers must see a typo in an import, so they must not see this function

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return __all__
