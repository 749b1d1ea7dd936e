"""Requests that Bedrock takes, and responses; both go through the transports unchanged."""

import json
import re
import struct
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import boto3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from converse_harness import ConverseServer, Reply, ReplyError, bedrock, fake_converse, reply
from converse_harness.bedrock.models import tool_use_type
from converse_strategies import basics
from converse_strategies.message.answer_end import draw_stop_reason
from converse_strategies.message.guardrails import has_intervened
from converse_strategies.message.messages import MAX_CACHE_POINTS, MAX_DOCUMENTS
from converse_strategies.message.metadata import traces
from converse_strategies.requests import (
    EFFORTS,
    LEAST_MOST_TOKENS,
    converse_requests,
    converse_responses,
    inference_configs,
    output_configs,
)
from tests.profiles import examples
from tests.strategies.conftest import NOTED, as_botocore_reads, found, never, smallest

pytestmark = pytest.mark.any_answer

Json = dict[str, Any]
COUNTED = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
boto: Any = boto3
KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
WEATHER = {"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object", "required": ["city"]}}}}
DOCUMENT_NAME = re.compile(r"(?!.*\s\s)[A-Za-z0-9 \-()\[\]]+")
FORBIDDEN_WITH_A_PROMPT = {"additionalModelRequestFields", "inferenceConfig", "system", "toolConfig", "outputConfig"}


def blocks(request: Json, kind: str) -> list[Any]:
    return [block[kind] for message in request["messages"] for block in message["content"] if kind in block]


def all_that_is(name: str, value: Any) -> Iterator[Any]:
    """Every value of a member of this name, however deep inside; free-form JSON is left out."""
    inside = value
    if isinstance(value, Mapping):
        for key, item in inside.items():
            if key == name:
                yield item
            elif key not in ("input", "json", "additionalModelRequestFields"):
                yield from all_that_is(name, item)
    elif isinstance(value, list):
        for item in inside:
            yield from all_that_is(name, item)


@given(converse_requests())
def test_a_request_is_valid_for_both_operations(request: Json) -> None:
    bedrock.check("ConverseRequest", request)  # which knows no streamProcessingMode
    bedrock.check("ConverseStreamRequest", request)


@given(converse_requests(stream=True))
def test_a_request_of_converse_stream_is_valid(request: Json) -> None:
    bedrock.check("ConverseStreamRequest", request)


def test_a_request_of_converse_stream_may_say_how_guardrails_read() -> None:
    asked = found(
        converse_requests(stream=True), lambda request: "streamProcessingMode" in request.get("guardrailConfig", {})
    )
    with pytest.raises(ReplyError, match="streamProcessingMode"):
        bedrock.check("ConverseRequest", asked)


@given(converse_requests())
def test_roles_alternate_and_nothing_is_empty_or_blank(request: Json) -> None:
    roles = [message["role"] for message in request["messages"]]
    assert roles[0] == roles[-1] == "user"
    assert all(one != other for one, other in pairwise(roles))
    assert all(message["content"] for message in request["messages"])
    for text in all_that_is("text", [request["messages"], request.get("system", [])]):
        assert not isinstance(text, str) or text.strip()


@given(converse_requests())
def test_tools_that_are_used_are_configured_and_answered(request: Json) -> None:
    specs = [tool["toolSpec"] for tool in request.get("toolConfig", {}).get("tools", ()) if "toolSpec" in tool]
    assert all(spec["inputSchema"]["json"]["type"] == "object" for spec in specs)
    assert {use["name"] for use in blocks(request, "toolUse")} <= {spec["name"] for spec in specs}
    ids = [use["toolUseId"] for use in blocks(request, "toolUse")]
    assert len(set(ids)) == len(ids)
    asked: list[str] = []
    for message in request["messages"]:
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        assert [result["toolUseId"] for result in results] == asked
        assert all(result["content"] or result.get("status") != "error" for result in results)
        assert all(isinstance(item.get("json", {}), dict) for result in results for item in result["content"])
        asked = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]


@given(converse_requests())
def test_documents_are_few_and_named_cache_points_few_and_paths_short(request: Json) -> None:
    documents = list(all_that_is("document", request["messages"]))
    names = [document["name"] for document in documents]
    assert len(documents) <= MAX_DOCUMENTS
    assert len(set(names)) == len(names)
    assert all(DOCUMENT_NAME.fullmatch(name) for name in names)
    assert len(list(all_that_is("cachePoint", request))) <= MAX_CACHE_POINTS
    for held in (request.get("system", [{}]), request.get("toolConfig", {}).get("tools", [{}])):
        assert not held or "cachePoint" not in held[0]
    assert all(path[0] == "/" and "/" not in path[1:] for path in request.get("additionalModelResponseFieldPaths", ()))


def test_of_too_many_cache_points_those_of_tools_are_left_out() -> None:
    config = {"tools": [WEATHER, *({"cachePoint": {"type": "default"}} for _ in range(9))]}
    request = found(converse_requests(tool_configs=st.just(config)))
    assert request["toolConfig"]["tools"] == config["tools"][: 1 + MAX_CACHE_POINTS]
    assert len(config["tools"]) == 10


@given(inference_configs())
def test_limits_of_models_are_kept(config: Json) -> None:
    bedrock.check("InferenceConfiguration", config)
    assert config.get("maxTokens", 1) <= LEAST_MOST_TOKENS
    assert all(text.strip() for text in config.get("stopSequences", ()))
    for name in ("temperature", "topP"):
        assert struct.unpack("f", struct.pack("f", config.get(name, 0)))[0] == config.get(name, 0)


@pytest.mark.skipif(not bedrock.has_shape("OutputConfig"), reason="of a later botocore")
@given(output_configs())
def test_the_schema_of_an_output_is_json_of_an_object(config: Json) -> None:
    bedrock.check("OutputConfig", config)
    assert config.get("effort", EFFORTS[0]) in EFFORTS
    for schema in all_that_is("schema", config):
        assert json.loads(schema)["type"] == "object"


@given(converse_requests(model_ids=st.just(basics.PROMPT)))
def test_a_request_of_a_stored_prompt_says_nothing_that_is_in_the_prompt(request: Json) -> None:
    assert "promptVariables" in request
    assert not FORBIDDEN_WITH_A_PROMPT & set(request)
    assert not blocks(request, "toolUse")


def test_what_is_no_tool_config_is_refused_when_drawn() -> None:
    with pytest.raises(InvalidArgument, match=r"tool_configs=\).*tools"):
        found(converse_requests(tool_configs=st.just({"tool": WEATHER})))


@given(converse_requests(tool_configs=st.builds(lambda: {"tools": [WEATHER]}), min_turns=1))
def test_a_given_tool_is_configured_and_used(request: Json) -> None:
    assert request["toolConfig"] == {"tools": [WEATHER]}
    assert all(use["name"] == "get_weather" and "city" in use["input"] for use in blocks(request, "toolUse"))


@given(converse_requests(model_ids=st.just("amazon.nova-pro-v1:0"), texts=st.just("hi"), kinds=["text"], max_turns=1))
def test_models_texts_and_kinds_can_be_chosen(request: Json) -> None:
    assert request["modelId"] == "amazon.nova-pro-v1:0"
    texts = all_that_is("text", [request["messages"], request.get("system", [])])
    assert {text if isinstance(text, str) else text["text"] for text in texts} == {"hi"}
    assert all(set(block) == {"text"} for message in request["messages"] for block in message["content"])
    assert len(request["messages"]) <= 3


def test_every_member_of_a_request_and_of_a_response_is_reached() -> None:
    assert never(converse_requests(), bedrock.shape("ConverseRequest").members, list) == set()
    assert never(converse_responses(), bedrock.shape("ConverseResponse").members, list) == set()


def test_a_request_may_have_a_tool_use() -> None:
    assert found(converse_requests(), lambda request: blocks(request, "toolUse"))["toolConfig"]["tools"]


@pytest.mark.nightly
def test_a_request_with_a_tool_use_is_found_small() -> None:
    request = smallest(converse_requests(), lambda request: blocks(request, "toolUse"))
    (tool,) = request["toolConfig"]["tools"]
    assert [list(block) for message in request["messages"] for block in message["content"]] == [
        ["text"],
        ["toolUse"],
        ["toolResult"],
    ]
    assert blocks(request, "toolUse")[0]["name"] == tool["toolSpec"]["name"] == "0"


def test_an_unknown_kind_is_refused_when_drawn() -> None:
    for strategy in (converse_requests(kinds=["txt"]), converse_responses(kinds=["txt"])):
        with pytest.raises(InvalidArgument, match=r"kinds=\['txt'\]"):
            found(strategy)


@given(converse_responses())
def test_a_response_is_valid_and_adds_up(response: Json) -> None:
    bedrock.check("ConverseResponse", response)
    counted = [count for name, count in response["usage"].items() if name in COUNTED]
    assert response["usage"]["totalTokens"] == sum(counted)
    uses = [block["toolUse"] for block in response["output"]["message"]["content"] if "toolUse" in block]
    asks = any(use.get("type") != "server_tool_use" for use in uses)
    assert response["stopReason"] != ("end_turn" if asks else "tool_use")


@given(converse_responses(kinds=["text"], stop_reasons=st.just("max_tokens"), traces=st.just({"guardrail": {}})))
def test_kinds_stop_reasons_and_traces_can_be_chosen(response: Json) -> None:
    assert all(set(block) == {"text"} for block in response["output"]["message"]["content"])
    assert response["stopReason"] == "max_tokens"
    assert response["trace"] == {"guardrail": {}}


@given(st.data())
def test_a_trace_of_a_stop_goes_where_another_stop_reason_is_asked_for(data: st.DataObject) -> None:
    """Drawn rarely: one of eight answers has further members, one of two of these a trace, and few traces a stop."""
    trace = data.draw(traces().filter(lambda trace: has_intervened(trace.get("guardrail", {}))))
    options = {"trace": trace, "usage": {}}
    reasons = st.just("max_tokens")
    assert data.draw(drawn_stop_reason(options, reasons, None)) == ("max_tokens", {"usage": {}})
    assert data.draw(drawn_stop_reason(options, reasons, traces())) == ("max_tokens", options)
    assert data.draw(drawn_stop_reason(options, st.just("guardrail_intervened"), None))[1] == options
    assert data.draw(drawn_stop_reason(options, None, None)) == ("guardrail_intervened", options)


@st.composite
def drawn_stop_reason(draw: st.DrawFn, given: Json, reasons: Any, traces: Any) -> tuple[str, Json]:
    """The stop reason, and what is left of the options."""
    options = {**given}
    return draw_stop_reason(draw, "replies", [{"text": "a"}], options, reasons, traces), options


@pytest.fixture(scope="module")
def client() -> Any:
    with fake_converse():
        return boto.client("bedrock-runtime", **KEYS)


@given(request=converse_requests(), response=converse_responses())
def test_request_and_response_come_through_boto_unchanged(client: Any, request: Json, response: Json) -> None:
    with fake_converse(whole(response), answers="off") as fake:
        assert without_metadata(client.converse(**request)) == as_botocore_reads(answered(request, response))
    assert fake.calls[0].params == request
    assert {note.kind for note in fake.notes} <= NOTED


@given(request=converse_requests(stream=True))
def test_requests_of_converse_stream_come_through_boto_unchanged(client: Any, request: Json) -> None:
    with fake_converse(reply.text("hi"), answers="off") as fake:
        list(client.converse_stream(**request)["stream"])
    assert fake.calls[0].params == request
    assert {note.kind for note in fake.notes} <= NOTED


@pytest.mark.needs_os
@given(request=converse_requests(), response=converse_responses())
@settings(max_examples=examples(0.5))
def test_request_and_response_come_through_the_server_unchanged(
    converse_server: ConverseServer, request: Json, response: Json
) -> None:
    with converse_server.script(whole(response), answers="off") as fake:
        over_http = boto.client("bedrock-runtime", endpoint_url=fake.url, **KEYS)
        assert without_metadata(over_http.converse(**request)) == as_botocore_reads(answered(request, response))
    assert fake.calls[0].params == request
    assert {note.kind for note in fake.notes} <= NOTED


def whole(response: Json) -> Reply:
    return reply.message(
        *response["output"]["message"]["content"],
        stop_reason=response["stopReason"],
        usage=response["usage"],
        metrics=response["metrics"],
        trace=response.get("trace"),
        additional=response.get("additionalModelResponseFields"),
        performance_config=response.get("performanceConfig"),
        service_tier=response.get("serviceTier"),
    )


def returned(request: Json) -> Json:
    """What an answer repeats of its request, as Bedrock does."""
    return {name: request[name] for name in ("performanceConfig", "serviceTier") if name in request}


def answered(request: Json, response: Json) -> Json:
    """The whole answer: what it repeats of the request, and in tool uses the type that the model sends."""
    kind = tool_use_type(request["modelId"], "Converse", request.get("toolConfig", {}))
    if not bedrock.has_member("ToolUseBlock", "type"):  # an older botocore reads none
        kind = None
    message: Json = response["output"]["message"]
    content = [
        {"toolUse": {"type": kind, **block["toolUse"]}} if kind and "toolUse" in block else block
        for block in message["content"]
    ]
    return returned(request) | response | {"output": {"message": {**message, "content": content}}}


def without_metadata(response: Json) -> Json:
    return {name: item for name, item in response.items() if name != "ResponseMetadata"}
