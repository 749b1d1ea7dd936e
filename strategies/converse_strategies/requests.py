"""Strategies for whole requests, the keyword arguments of boto3's `converse` and `converse_stream`, and for outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache
from itertools import dropwhile
from typing import Any, Final, Literal
from urllib.parse import quote

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import ReplyError, bedrock, reply
from converse_harness.bedrock.fit import BY_NAME as FITS_BY_NAME
from converse_harness.bedrock.guardrails import in_json
from converse_harness.bedrock.rules import RuleRequest, refusal_of
from converse_harness.endpoint import Endpoint
from converse_harness.endpoint.call import Call
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.outputs import named_operation
from converse_harness.errors import Argument
from converse_harness.reply.answer import meant
from converse_harness.reply.reply import Reply
from converse_harness.stream.assemble import Response, assemble
from converse_harness.stream.http import Request
from converse_strategies import basics, shapes
from converse_strategies.basics import Json, Texts, cached, chosen, composite
from converse_strategies.fitting import FittingDraw, request_of
from converse_strategies.json_schema import json_schemas
from converse_strategies.message import metadata
from converse_strategies.message.answer_end import TAIL_SIZE, draw_stop_reason, read_options
from converse_strategies.message.blocks import assistant_messages, contents, streamable
from converse_strategies.message.guardrails import guardrail_configs, guardrail_stream_configs
from converse_strategies.message.messages import (
    MAX_CACHE_POINTS,
    conversations,
    draw_conversation,
    kinds_of_conversations,
    shorten,
)
from converse_strategies.message.tools import tool_configs as any_tool_configs
from converse_strategies.observing import aim, tell, tell_answer
from converse_strategies.streams import stream_events

_Member = Callable[[Texts | None], st.SearchStrategy[Any]]

EFFORTS: Final = ("low", "medium", "high")
"""The values of `OutputConfig.effort`: how hard a model thinks."""

LEAST_MOST_TOKENS: Final = 2048
"""The smallest output limit of any model, in tokens: Bedrock refuses a `maxTokens` above the limit of the model."""

_ANY_MODEL: Final = "my-model"
"""A model id of no known family, used if no model of `basics.MODEL_IDS` accepts the request."""


@composite
def converse_requests(
    draw: st.DrawFn,
    *,
    model_ids: st.SearchStrategy[str] | None = None,
    tool_configs: st.SearchStrategy[Json] | None = None,
    min_turns: int = 0,
    max_turns: int = 2,
    kinds: Collection[str] | None = None,
    texts: Texts | None = None,
    stream: bool = False,
) -> Json:
    """Requests that Bedrock accepts for their model, as keyword arguments of boto3's `converse` and `converse_stream`.

    The messages are those of `conversations()`, which explains `min_turns`, `max_turns` and `kinds`. `model_ids` is a
    strategy for model ids, by default for ids of existing models and a prompt of Prompt management. `tool_configs` is a
    strategy for ToolConfigurations. If it is given, every request has a `toolConfig`, otherwise about half of them; the
    assistant uses only these tools. `texts` is a strategy for texts.

    The other members of a request are optional. There are at most four cache points, and `maxTokens` is within the
    limits of all models. If the model id is a prompt of Prompt management, the request has `promptVariables`, but no
    member that Bedrock forbids in this case. If `stream` is true, the request is one for ConverseStream, so a
    `guardrailConfig` is a GuardrailStreamConfiguration. Source: AWS's API model, and `converse_harness.bedrock.rules`.
    Raises InvalidArgument, when drawn, for an unknown kind and for an invalid ToolConfiguration.

    >>> from hypothesis import find
    >>> find(converse_requests(), lambda request: True)
    {'modelId': 'amazon.nova-lite-v1:0', 'messages': [{'role': 'user', 'content': [{'text': '0'}]}]}
    """
    basics.chosen("converse_requests", "kinds", kinds, kinds_of_conversations())
    # `which` is drawn first, because it decides whether the model id is a prompt. If not, it selects the model at the
    # end, among those that accept the request.
    which = draw(_MODELS if tool_configs is not None else _MODELS_AND_PROMPTS) if model_ids is None else 0
    model_id = draw(model_ids) if model_ids is not None else basics.PROMPT if which == len(basics.MODEL_IDS) else ""
    from_prompt = ":prompt/" in model_id
    request: Json = {"modelId": model_id}
    tools: list[Json] = []
    if not from_prompt and (tool_configs is not None or draw(_HALF)):
        config = draw(any_tool_configs(texts=texts) if tool_configs is None else tool_configs)
        bedrock.check("ToolConfiguration", config, root="converse_requests(tool_configs=): one", error=InvalidArgument)
        request["toolConfig"] = {**config}
        tools = config["tools"]
    request["messages"] = draw_conversation(draw, tools, min_turns, max_turns, kinds, texts)
    known = _optional_members()
    for name in shapes.draw_some(draw, [name for name in known if not from_prompt or name in _OF_PROMPTS]):
        request[name] = draw(guardrail_stream_configs() if stream and name == _GUARDRAIL else known[name](texts))
    if from_prompt:
        text = st.fixed_dictionaries({"text": basics.visible_texts(texts)})
        request["promptVariables"] = draw(st.dictionaries(basics.tool_names(), text, max_size=3))
    _limit_cache_points(request)
    sent = asked("ConverseStream" if stream else "Converse", request)
    if model_id:
        if refusal_of(sent) is not None:
            request = _plainer(request, tool_configs is not None)
            assume(refusal_of(asked(sent.operation, request)) is None)
    else:
        others = (*basics.MODEL_IDS[which:], *basics.MODEL_IDS[:which])
        takers = (each for each in others if refusal_of(replace(sent, model_id=each)) is None)
        request["modelId"] = next(takers, _ANY_MODEL)
    tell(f"messages: {len(request['messages'])}", *(f"member: {name}" for name in request if name not in _ALWAYS))
    return request


_ALWAYS: Final = ("modelId", "messages")


def _plainer(request: Json, has_tools: bool) -> Json:
    """Return the request with its messages alone, and with its tools if `has_tools` is true or the messages use them.

    A model that was asked for refuses some members, and leaving them out takes less time than drawing anew.
    """
    has_tools = has_tools or any("toolUse" in block for each in request["messages"] for block in each["content"])
    kept = {"modelId", "messages", "promptVariables", *(["toolConfig"] if has_tools else [])}
    return {name: value for name, value in request.items() if name in kept}


@cache
def _optional_members() -> Mapping[str, _Member]:
    """Return a dict: optional member of a request that the installed botocore has -> function that makes its strategy.

    For a member that is not in `_OPTIONAL`, the function draws from the shape of the member in botocore's model.
    """
    members = bedrock.shape("ConverseRequest").members
    known = {name: make for name, make in _OPTIONAL.items() if name in members}
    new = members.keys() - {*_OPTIONAL, *_OWN_WAY}
    return {**known, **{name: _of_shape(members[name].name) for name in sorted(new)}}


def _of_shape(shape: str) -> _Member:
    drawn = shapes.values(shape)
    return lambda texts: drawn


def asked(operation: str, request: Json) -> RuleRequest:
    """Convert keyword arguments of boto3 to what the rules check: the operation, the model id, and the body as JSON."""
    body = {name: value for name, value in request.items() if name != "modelId"}
    return RuleRequest(operation, request["modelId"], json.loads(bedrock.to_json("ConverseRequest", body)))


@cached
def _systems(texts: Texts | None) -> st.SearchStrategy[list[Json]]:
    text = st.fixed_dictionaries({"text": basics.visible_texts(texts)})
    guarded = st.fixed_dictionaries({"guardContent": st.fixed_dictionaries({"text": text})})
    points = st.fixed_dictionaries({"cachePoint": basics.CACHE_POINTS})
    blocks = st.lists(text | points | guarded, min_size=1, max_size=3)
    # Cache points at the beginning are removed: before them, there is nothing to cache.
    return basics.made(blocks, lambda found: [*dropwhile(lambda block: "cachePoint" in block, found)])


@cached
def inference_configs(*, texts: Texts | None = None) -> st.SearchStrategy[Json]:
    """AWS InferenceConfigurations that every model accepts: `maxTokens` within all limits, no blank stop sequence.

    `texts` is a strategy for stop sequences.

    >>> from hypothesis import find
    >>> find(inference_configs(), lambda config: "maxTokens" in config and "stopSequences" in config)
    {'maxTokens': 1, 'stopSequences': []}
    """
    tokens = st.integers(1, LEAST_MOST_TOKENS)
    overrides = {"InferenceConfiguration.maxTokens": tokens, "NonEmptyString": basics.visible_texts(texts)}
    return shapes.values("InferenceConfiguration", overrides=overrides)


@cached
def output_configs(*, texts: Texts | None = None) -> st.SearchStrategy[Json]:
    """AWS OutputConfigs: a JSON Schema, as a text, that the answer must satisfy, and the effort of the model.

    `texts` is a strategy for the schema's description. Raises InvalidArgument, when drawn, if the installed botocore
    does not have OutputConfigs.

    >>> from hypothesis import find
    >>> config = find(output_configs(), lambda config: "textFormat" in config)
    >>> config["textFormat"]["structure"]["jsonSchema"]["schema"]
    '{"type": "object", "properties": {}}'
    """
    overrides = {
        "JsonSchemaDefinition.schema": basics.made(json_schemas(), json.dumps),
        "JsonSchemaDefinition.name": basics.tool_names(),
        "OutputConfig.effort": st.sampled_from(EFFORTS),
    }
    return shapes.values("OutputConfig", overrides=overrides, texts=basics.visible_texts(texts))


def _limit_cache_points(request: Json) -> None:
    """Remove cache points of tools and of system prompts, so that the request has no more than Bedrock allows.

    Also remove lifetimes, so that no cache point lasts longer than an earlier one. The order is: tools, system prompts,
    messages.
    """
    points = [block["cachePoint"] for each in request["messages"] for block in each["content"] if "cachePoint" in block]
    left = MAX_CACHE_POINTS - len(points)
    briefly = False
    for holder, name in ((request.get("toolConfig", {}), "tools"), (request, "system")):
        kept: list[Json] = []
        for item in holder.get(name, ()):
            left -= "cachePoint" in item
            if "cachePoint" not in item or left >= 0:
                kept.append(item)
                briefly = shorten(item["cachePoint"], briefly) if "cachePoint" in item else briefly
        if kept:
            holder[name] = kept
    for point in points:
        briefly = shorten(point, briefly)


_FIELD_PATHS: Final = st.lists(basics.made(basics.tool_names(), lambda name: f"/{name}"), max_size=3, unique=True)
"""Strategy for lists of JSON pointers of one step, such as "/a". Bedrock accepts no others here."""

_HALF: Final = st.booleans()
_MODELS: Final = st.integers(0, len(basics.MODEL_IDS) - 1)
_MODELS_AND_PROMPTS: Final = st.integers(0, len(basics.MODEL_IDS))
_GUARDRAIL: Final = "guardrailConfig"
_OWN_WAY: Final = ("modelId", "messages", "toolConfig", "promptVariables")
"""Members of a request that `converse_requests` draws with code of its own, not with a strategy in `_OPTIONAL`."""

_OPTIONAL: Final[Mapping[str, _Member]] = {
    "system": _systems,
    "inferenceConfig": lambda texts: inference_configs(texts=texts),
    _GUARDRAIL: lambda texts: guardrail_configs(),
    "additionalModelRequestFields": lambda texts: basics.json_objects(),
    "additionalModelResponseFieldPaths": lambda texts: _FIELD_PATHS,
    "requestMetadata": lambda texts: shapes.values("RequestMetadata"),
    "performanceConfig": lambda texts: metadata.performance_configs(),
    "serviceTier": lambda texts: metadata.service_tiers(),
    "outputConfig": lambda texts: output_configs(texts=texts),
}
"""Optional member of a request -> function that takes a strategy for texts, and returns a strategy for this member.
`_optional_members` adds the members that only newer versions of botocore have.
"""

_OF_PROMPTS: Final = (
    _GUARDRAIL,
    "additionalModelResponseFieldPaths",
    "requestMetadata",
    "performanceConfig",
    "serviceTier",
)
"""The optional members that are allowed if the model id is a prompt of Prompt management. The others are part of the
prompt itself.
"""


@composite
def replies(
    draw: st.DrawFn,
    *,
    kinds: Collection[str] | None = None,
    max_blocks: int | None = None,
    texts: Texts | None = None,
    stop_reasons: st.SearchStrategy[str] | None = None,
    unfinished: bool = False,
    target: Literal["events", "blocks", "characters"] | None = None,
    for_request: Mapping[str, Any] | None = None,
) -> Reply:
    """Answers of an assistant as Reply values, ready for `script`, `fake_converse` and `converse_server.script`.

    One Reply in four contains a message; the fake cuts it into deltas as the model family of the request does. The
    other Replies contain fixed events, whose deltas are cut at any place. The arguments mean the same as those of
    `stream_events`. Methods of Reply add errors, pauses and faults:
    `replies().map(lambda reply: reply.fails_after(1, "throttlingException"))`.

    `for_request` are the keyword arguments of a call of boto3's `converse`, such as `call.params`. Then only answers
    are drawn that [fit this request](answers.md): uses of its tools with valid inputs, thoughts if it asks for them,
    citations of its documents. Without it, answers fit no request in particular, and the fake makes no notes about
    that.

    >>> from hypothesis import find
    >>> find(replies(kinds=["text"]), lambda reply: "text" in reply.summary)
    <Reply text "">
    """
    if for_request is not None:
        wanted = chosen("replies", "kinds", kinds, streamable())
        fitting = FittingDraw(draw, request_of(for_request), for_request, texts)
        return fitting.answer(wanted, max_blocks, stop_reasons)
    if draw(_OF_FOUR):  # 0 is the simplest number and selects a message, which is easier to read in a counterexample
        events = stream_events(
            kinds=kinds,
            max_blocks=max_blocks,
            texts=texts,
            stop_reasons=stop_reasons,
            unfinished=unfinished,
            target=target,
        )
        try:
            return meant(reply.events(draw(events)), EVERY_ROW)
        except InvalidArgument as error:  # the error message must name `replies`, which the user called
            raise InvalidArgument(str(error).replace("stream_events(", "replies(", 1)) from None
    wanted = chosen("replies", "kinds", kinds, streamable())
    content = draw(contents(wanted, texts, 1, max_blocks))
    options = read_options(draw, draw(_TAILS))
    reason = draw_stop_reason(draw, "replies", content, options, stop_reasons, None)
    tell_answer(content, reason)
    answer = reply.message(
        *content, stop_reason=reason, **{_ARGUMENTS.get(name, name): value for name, value in options.items()}
    )
    aim(target, answer.events() if target else ())
    return meant(answer, EVERY_ROW)


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
    tell_answer(message["content"], response["stopReason"])
    if "trace" in response and traces is None:
        response["trace"] = dict(in_json(response["trace"]))
    return response


EVERY_ROW: Final = tuple(FITS_BY_NAME)
"""The rows of the table of what answers need. Drawn replies are meant to fit no request, so that no note is made."""

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
    operation, name = draw(_OPERATIONS), draw(basics.model_ids())
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


_IN_HEADERS = st.characters(min_codepoint=33, max_codepoint=126)
"""Characters that an HTTP header can carry at every place."""
_LONGEST = 20
_MOST_EVENTS = 8


@composite
def operation_outputs(draw: st.DrawFn, operation: str, *, service: str | None = None) -> dict[str, Any]:
    """Outputs of an operation, as a boto3 client returns them and `on_operation` takes them.

    `service` is a Bedrock service of botocore. It may be left out where `on_operation` does not need it. Values satisfy
    AWS's API model. A stream of events is a list with at most eight events; seldom, the last one is an exception.
    Raises InvalidArgument, when drawn, for an operation that a script cannot answer.

    >>> from hypothesis import find
    >>> find(operation_outputs("Retrieve", service="bedrock-agent-runtime"), lambda output: True)
    {'retrievalResults': []}
    """
    try:
        named = named_operation(operation, service, Argument("operation_outputs", beside=f"{operation!r}, ..."))
    except ReplyError as error:
        raise InvalidArgument(str(error)) from None
    return _output(draw, named)


def _output(draw: st.DrawFn, named: NamedOperation) -> dict[str, Any]:
    described = bedrock.operation(named.name, named.service)
    shape = described.output_shape
    special: dict[str, st.SearchStrategy[Any]] = {}
    for name, member in shape.members.items():
        place = member.serialization.get("location")
        if place == "statusCode":
            special[f"{shape.name}.{name}"] = st.just(described.http.get("responseCode", 200))
        elif place == "header" and not member.enum and "pattern" not in member.metadata:
            low, high = member.metadata.get("min", 1), min(member.metadata.get("max", _LONGEST), _LONGEST)
            special[f"{shape.name}.{name}"] = st.text(_IN_HEADERS, min_size=low, max_size=max(low, high))
    stream = bedrock.event_stream(named.name, named.service)
    if stream is not None:
        special[f"{shape.name}.{stream.member}"] = events = _events(stream, named.service)
        found = draw(shapes.values(shape.name, overrides=special, service=named.service))
        return found if stream.member in found else {**found, stream.member: draw(events)}
    return draw(shapes.values(shape.name, overrides=special, service=named.service))


@composite
def _events(draw: st.DrawFn, stream: bedrock.EventStream, service: str) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, _MOST_EVENTS))):
        event = draw(shapes.values(stream.union.name, service=service))
        sent.append(event)
        if next(iter(event)) in stream.exceptions:
            break
    return sent
