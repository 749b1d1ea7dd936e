"""Hypothesis strategies for what travels over Amazon Bedrock's Converse API: messages, tools, streams, whole replies.

What they draw are plain dicts of the AWS API; those of Strands' vocabulary are in `converse_strategies.strands`, a
strategy for any shape of AWS's model in `converse_strategies.shapes`. The names below are loaded when they are first
used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converse_strategies.answers import replies as replies
    from converse_strategies.chunking import ChunkedMessage as ChunkedMessage
    from converse_strategies.chunking import chunked_messages as chunked_messages
    from converse_strategies.chunking import chunkings as chunkings
    from converse_strategies.citations import citation_locations as citation_locations
    from converse_strategies.citations import citations as citations
    from converse_strategies.citations import citations_content_blocks as citations_content_blocks
    from converse_strategies.conversation import conversations as conversations
    from converse_strategies.hostile import HostileStream as HostileStream
    from converse_strategies.hostile import hostile_stream_events as hostile_stream_events
    from converse_strategies.leaves import faker_texts as faker_texts
    from converse_strategies.message import assistant_messages as assistant_messages
    from converse_strategies.message import messages as messages
    from converse_strategies.message import user_messages as user_messages
    from converse_strategies.streams import stream_events as stream_events

_HOME = {
    "ChunkedMessage": "chunking",
    "HostileStream": "hostile",
    "assistant_messages": "message",
    "chunked_messages": "chunking",
    "chunkings": "chunking",
    "citation_locations": "citations",
    "citations": "citations",
    "citations_content_blocks": "citations",
    "conversations": "conversation",
    "faker_texts": "leaves",
    "hostile_stream_events": "hostile",
    "messages": "message",
    "replies": "answers",
    "stream_events": "streams",
    "user_messages": "message",
}

__all__ = [
    "ChunkedMessage",
    "HostileStream",
    "assistant_messages",
    "chunked_messages",
    "chunkings",
    "citation_locations",
    "citations",
    "citations_content_blocks",
    "conversations",
    "faker_texts",
    "hostile_stream_events",
    "messages",
    "replies",
    "stream_events",
    "user_messages",
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
