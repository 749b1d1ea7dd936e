"""Strategies for whole answers: Reply values for a fake, boto3's responses, complete calls, results of `assemble`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import bedrock, reply
from converse_harness.bedrock.guardrails import in_json
from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import Response, assemble
from converse_harness.stream.http import Request
from converse_strategies import leaves
from converse_strategies.answer_end import TAIL_SIZE, draw_stop_reason, read_options
from converse_strategies.blocks import assistant_messages, contents, streamable
from converse_strategies.leaves import Texts, chosen, composite
from converse_strategies.message import conversations
from converse_strategies.streams import stream_events


@composite
def replies(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    max_blocks: int | None = None,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
    unfinished: bool = False,
) -> Reply:
    """Answers of an assistant as Reply values, ready for `script`, `fake_converse` and `converse_server.script`.

    One Reply in four contains a message; the fake cuts it into deltas as the model family of the request does. The
    other Replies contain fixed events, whose deltas are cut at any place. The arguments mean the same as those of
    `stream_events`. Methods of Reply add errors, pauses and faults:
    `replies().map(lambda reply: reply.fails_after(1, "throttlingException"))`.

    >>> from hypothesis import find
    >>> find(replies(kinds=["text"]), lambda reply: "text" in reply.summary)
    <Reply text "">
    """
    if draw(_OF_FOUR):  # 0 is the simplest number and selects a message, which is easier to read in a counterexample
        events = stream_events(
            kinds=kinds, max_blocks=max_blocks, texts=texts, stop_reasons=stop_reasons, unfinished=unfinished
        )
        try:
            return reply.events(draw(events))
        except InvalidArgument as error:  # the error message must name `replies`, which the user called
            raise InvalidArgument(str(error).replace("stream_events(", "replies(", 1)) from None
    wanted = chosen("replies", "kinds", kinds, streamable())
    content = draw(contents(wanted, texts, 1, max_blocks))
    options = read_options(draw, draw(_TAILS))
    reason = draw_stop_reason(draw, "replies", content, options, stop_reasons, None)
    return reply.message(
        *content, stop_reason=reason, **{_ARGUMENTS.get(name, name): value for name, value in options.items()}
    )


@composite
def converse_responses(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    max_blocks: int | None = None,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
    traces: st.SearchStrategy[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """AWS ConverseResponses: a message, the stop reason, usage that adds up, metrics, and sometimes other members.

    `kinds`, `max_blocks` and `texts` are those of `assistant_messages()`. `stop_reasons` is a strategy, by default for
    all stop reasons that are possible after the blocks. `traces` is a strategy for ConverseTraces; if it is given,
    every response has a trace. Raises InvalidArgument, when drawn, for a kind that does not exist.

    >>> from hypothesis import find
    >>> response = find(converse_responses(kinds=["toolUse"]), lambda response: True)
    >>> response["stopReason"], response["usage"]["totalTokens"], list(response["output"]["message"]["content"][0])
    ('tool_use', 2, ['toolUse'])
    """
    chosen("converse_responses", "kinds", kinds, streamable())
    message = draw(assistant_messages(kinds=kinds, max_blocks=max_blocks, texts=texts))
    options = read_options(draw, draw(_TAILS), traces)
    response: dict[str, Any] = {
        "output": {"message": message},
        "stopReason": draw_stop_reason(draw, "converse_responses", message["content"], options, stop_reasons, traces),
        **options,
    }
    if "trace" in response and traces is None:
        response["trace"] = dict(in_json(response["trace"]))
    return response


_OF_FOUR: Final = st.integers(0, 3)
_TAILS: Final = st.binary(min_size=TAIL_SIZE, max_size=TAIL_SIZE)
_ARGUMENTS: Final = {
    "additionalModelResponseFields": "additional",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
}
"""Maps a member of a ConverseResponse to the argument of `reply.message` for it, if the two names differ."""

_OPERATIONS: Final = st.sampled_from(("converse", "converse-stream"))
_HEADERS: Final = (("Content-Type", "application/json"), ("Accept", "application/json"))


@composite
def calls(draw: st.DrawFn, *, texts: Texts | None = None) -> Call:
    """Calls of Converse and ConverseStream: the request is a conversation that Bedrock accepts; the answer is complete.

    >>> from hypothesis import find
    >>> call = find(calls(), lambda call: True)
    >>> call.operation, call.status, call.outcome
    ('Converse', 200, 'complete')
    """
    operation, name = draw(_OPERATIONS), draw(leaves.model_ids())
    body = bedrock.to_json("ConverseRequest", {"messages": draw(conversations(texts=texts))})
    request = Request("POST", f"/model/{quote(name, safe='')}/{operation}", _HEADERS, body.encode())
    exchange = Endpoint(draw(replies(texts=texts))).exchange(request)
    exchange.taken.extend(exchange.response.chunks)
    exchange.ended("complete")
    return exchange.call


def responses(*, texts: Texts | None = None) -> st.SearchStrategy[Response]:
    """Responses: the results of `assemble` for complete streams.

    >>> from hypothesis import find
    >>> find(responses(), lambda response: True).message
    {'role': 'assistant', 'content': []}
    """
    return stream_events(texts=texts).map(assemble)
