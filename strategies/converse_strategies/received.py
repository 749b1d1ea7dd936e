"""What tests get back from a fake: Calls that were answered, and answers put together."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from hypothesis import strategies as st

from converse_harness import bedrock
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.endpoint import Endpoint
from converse_harness.stream.assemble import Response, assemble
from converse_harness.stream.http import Request
from converse_strategies import leaves
from converse_strategies.answers import replies
from converse_strategies.blocks import Texts
from converse_strategies.conversation import conversations
from converse_strategies.streams import stream_events

_OPERATIONS: Final = st.sampled_from(("converse", "converse-stream"))
_HEADERS: Final = (("Content-Type", "application/json"), ("Accept", "application/json"))


@st.composite
def calls(draw: st.DrawFn, *, texts: Texts | None = None) -> Call:
    """Calls of Converse and ConverseStream: a conversation that Bedrock takes, and an answer that arrived whole.

    >>> from hypothesis import find
    >>> call = find(calls(), lambda call: True)
    >>> call.operation, call.status, call.outcome.value
    ('Converse', 200, 'complete')
    """
    operation, name = draw(_OPERATIONS), draw(leaves.model_ids())
    body = bedrock.to_json("ConverseRequest", {"messages": draw(conversations(texts=texts))})
    request = Request("POST", f"/model/{quote(name, safe='')}/{operation}", _HEADERS, body.encode())
    exchange = Endpoint(draw(replies(texts=texts))).exchange(request)
    exchange.taken.extend((chunk, 0.0) for chunk in exchange.response.chunks)
    exchange.ended("complete")
    return exchange.call


def responses(*, texts: Texts | None = None) -> st.SearchStrategy[Response]:
    """Responses: what `assemble` makes of a complete stream.

    >>> from hypothesis import find
    >>> find(responses(), lambda response: True).message
    {'role': 'assistant', 'content': []}
    """
    return stream_events(texts=texts).map(assemble)
