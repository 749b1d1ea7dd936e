"""The fake without I/O: what it answers, that it is the same every time, and what it refuses."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.awsrequest import HeadersDict
from botocore.parsers import create_parser
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Endpoint, Reply, UnexpectedCall, bedrock, chunk, reply
from converse_harness.endpoint.condition import Condition
from converse_harness.endpoint.operations import NamedOperation
from converse_harness.endpoint.stage import Exchange
from converse_harness.literals import ErrorName, StopReason
from converse_harness.stream.events import PADDING, decode_event
from converse_harness.stream.frames import Decoder
from converse_harness.stream.http import Request

CLAUDE = "anthropic.claude-3-haiku-20240307-v1:0"
NOVA = "us.amazon.nova-lite-v1:0"
HAIKU = "anthropic.claude-haiku-4-5-20251001-v1:0"


def request(operation: str = "converse-stream", model_id: str = CLAUDE, **body: Any) -> Request:
    conversation = {"messages": [{"role": "user", "content": [{"text": "What is it like?"}]}], **body}
    target = f"/model/{model_id.replace(':', '%3A').replace('/', '%2F')}/{operation}"
    return Request("POST", target, (("Authorization", "AWS4 secret"),), json.dumps(conversation).encode())


def data(exchange: Exchange) -> bytes:
    return b"".join(chunk.data for chunk in exchange.response.chunks)


def events(exchange: Exchange) -> list[dict[str, Any]]:
    return [decode_event(frame)[0] for frame in Decoder().feed(data(exchange))]


class Raw:
    """A body as botocore's event stream reads it."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange

    def stream(self) -> Iterator[bytes]:
        return (part.data for part in self.exchange.response.chunks)


def as_botocore_parses(exchange: Exchange) -> dict[str, Any]:
    operation = bedrock.operation(exchange.call.operation or "")
    response = exchange.response
    streams = response.status == 200 and exchange.call.operation == "ConverseStream"
    raw = {
        "headers": HeadersDict(response.headers),
        "status_code": response.status,
        "body": Raw(exchange) if streams else data(exchange),
        "context": {"operation_name": exchange.call.operation},
    }
    return create_parser("rest-json").parse(raw, operation.output_shape)  # type: ignore[no-any-return]


EVERY_REPLY: dict[str, Reply] = {
    "text": reply.text("The answer is forty-two, Zürich. 東京"),
    "tool": reply.tool_use("get_weather", {"city": "Zürich", "days": [1, 2.5, None, True]}),
    "no input": reply.tool_use("now"),
    "reasoning": reply.message(
        {"reasoningContent": {"reasoningText": {"text": "Let me see", "signature": "c2ln"}}}, {"text": "Yes"}
    ),
    "redacted": reply.message({"reasoningContent": {"redactedContent": b"\xff\xfe"}}, {"text": "Yes"}),
    "citation": reply.message(
        {
            "citationsContent": {
                "content": [{"text": "Water boils at 100 °C."}],
                "citations": [
                    {
                        "title": "Physics",
                        "sourceContent": [{"text": "100 °C"}],
                        "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 6}},
                    }
                ],
            }
        }
    ),
    "two tools": reply.message(
        {"text": "Both."}, {"toolUse": {"name": "a", "input": {}}}, {"toolUse": {"name": "b", "input": {"x": {}}}}
    ),
    "everything beside": reply.message(
        {"text": "a"},
        usage={"cacheReadInputTokens": 7},
        metrics={"latencyMs": 5},
        trace={"guardrail": {"modelOutput": ["a"]}},
        additional={"stop_sequence": None},
        performance_config={"latency": "standard"},
    ),
    "exact": reply.events(chunk({"role": "assistant", "content": [{"text": "exact"}]})),
}


def test_what_the_request_asks_of_the_service_is_returned() -> None:
    """The latency as recorded, the tier as reported; a reply that has its own keeps it."""
    asked: dict[str, Any] = {"performanceConfig": {"latency": "optimized"}, "serviceTier": {"type": "flex"}}
    asked = {name: value for name, value in asked.items() if bedrock.has_member("ConverseRequest", name)}
    for answer, own in (("text", {}), ("everything beside", {"performanceConfig": {"latency": "standard"}})):
        whole = json.loads(data(Endpoint(EVERY_REPLY[answer]).exchange(request("converse", NOVA, **asked))))
        streamed = events(Endpoint(EVERY_REPLY[answer]).exchange(request(model_id=NOVA, **asked)))[-1]["metadata"]
        for name in asked:
            assert whole[name] == streamed[name] == {**asked, **own}[name]


@pytest.mark.parametrize("model_id", [CLAUDE, NOVA, "cohere.command-r-v1:0", "meta.llama3", "openai.gpt-oss", "mine"])
@pytest.mark.parametrize("name", EVERY_REPLY)
def test_what_is_streamed_is_legal_and_botocore_reads_it(name: str, model_id: str) -> None:
    sent = events(Endpoint(EVERY_REPLY[name]).exchange(request(model_id=model_id)))
    for event in sent:
        assert not bedrock.validate("ConverseStreamOutput", event)
    read = list(as_botocore_parses(Endpoint(EVERY_REPLY[name]).exchange(request(model_id=model_id)))["stream"])
    beyond = ("serverToolUsage", "cacheReadInputTokenCount", "cacheWriteInputTokenCount")
    for event in sent:
        for key in beyond:
            event.get("metadata", {}).get("usage", {}).pop(key, None)
    assert read == sent


@pytest.mark.parametrize("name", EVERY_REPLY)
def test_the_same_reply_on_plain_converse(name: str) -> None:
    exchange = Endpoint(EVERY_REPLY[name]).exchange(request("converse"))
    answer = json.loads(data(exchange))
    assert not bedrock.validate("ConverseResponse", bedrock.from_json("ConverseResponse", answer))
    streamed = Endpoint(EVERY_REPLY[name]).exchange(request("converse-stream"))
    for part in streamed.response.chunks:
        streamed.taken.add(part, 0.0)
    assert streamed.call.response is not None
    assert exchange.call.response is not None
    assert exchange.call.response.message == streamed.call.response.message
    assert as_botocore_parses(exchange)["output"]["message"] == exchange.call.response.message


def test_the_same_script_gives_the_same_bytes_and_another_seed_others() -> None:
    def run(seed: int) -> list[tuple[Any, bytes]]:
        endpoint = Endpoint(*EVERY_REPLY.values(), seed=seed)
        exchanges = [endpoint.exchange(request()) for _ in EVERY_REPLY]
        return [(exchange.response.headers, data(exchange)) for exchange in exchanges]

    assert run(0) == run(0)
    assert all(one != other for one, other in zip(run(0), run(1), strict=True))


def test_a_kept_frame_is_the_frame_that_was_made_first() -> None:
    endpoint = Endpoint(reply.tool_use("get_weather", {"city": "Bern"}).times(3))
    first, second = endpoint.exchange(request()), endpoint.exchange(request())
    assert data(first) == data(second)
    later = request(
        messages=[*json.loads(request().body)["messages"], {"role": "assistant", "content": [{"text": "a"}]}]
    )
    assert events(endpoint.exchange(later))[1] != events(Endpoint(reply.tool_use("get_weather")).exchange(request()))[1]


def test_padding_is_as_recorded() -> None:
    exchange = Endpoint(reply.text("word " * 500)).exchange(request())
    lengths = [decode_event(frame)[1] for frame in Decoder().feed(data(exchange))]
    assert all(length is not None for length in lengths)
    assert {2, 61} <= set(lengths) <= set(range(2, 62))
    assert len(PADDING) == 62


def test_tool_use_ids_have_the_recorded_form_and_differ_by_block_and_turn() -> None:
    endpoint = Endpoint()
    endpoint.script.fallback.add([EVERY_REPLY["two tools"]], endless=True)

    def ids(**body: Any) -> list[str]:
        starts = [
            event["contentBlockStart"]["start"]
            for event in events(endpoint.exchange(request(**body)))
            if "contentBlockStart" in event
        ]
        return [start["toolUse"]["toolUseId"] for start in starts]

    turn_two = [{"role": "user", "content": [{"text": "a"}]}, {"role": "assistant", "content": [{"text": "b"}]}]
    seen = ids() + ids(messages=turn_two)
    assert len(set(seen)) == 4
    assert all(len(use_id) == 30 and use_id.startswith("tooluse_") for use_id in seen)


@pytest.mark.parametrize(
    ("operation", "model_id", "keys"),
    [
        ("converse-stream", CLAUDE, []),
        ("converse-stream", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", []),
        ("converse-stream", "us.anthropic.claude-sonnet-5", []),
        ("converse", CLAUDE, []),
        ("converse", "anthropic.claude-3-5-sonnet-20240620-v1:0", []),
        ("converse", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", ["Read", "Write"]),
        ("converse", "us.anthropic.claude-sonnet-5", ["Read"]),
        ("converse", NOVA, []),
    ],
)
def test_counters_of_the_cache_come_when_they_are_recorded_to_come(
    operation: str, model_id: str, keys: list[str]
) -> None:
    usage = usage_with(operation, model_id, keys, {"text": "You are terse. " * 400})
    assert [number for key, number in usage.items() if key.startswith("cache") and number] == []


def usage_with(operation: str, model_id: str, keys: list[str], *system: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of an answer; fail unless it adds up, and has these of the counters of the cache."""
    exchange = Endpoint(reply.text("a")).exchange(request(operation, model_id, system=[*system]))
    for part in exchange.response.chunks:
        exchange.taken.add(part, 0.0)
    assert exchange.call.response is not None
    usage = exchange.call.response.usage
    assert usage is not None
    counts = [f"cache{key}InputToken{number}" for key in keys for number in ("s", "Count") if key != "Details"]
    details = ["cacheDetails"] * ("Details" in keys)
    assert sorted(key for key in usage if key.startswith("cache")) == sorted(counts + details)
    parts = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    assert usage["totalTokens"] == sum(usage.get(part, 0) for part in parts)
    assert usage["inputTokens"] > 0 < usage["outputTokens"]
    return dict(usage)


@given(words=st.integers(1, 400), most=st.integers(1, 100), stop=st.sampled_from(["end_turn", "max_tokens"]))
def test_estimated_tokens_are_within_max_tokens(words: int, most: int, stop: StopReason) -> None:
    answer = reply.text("word " * words, stop_reason=stop)
    exchange = Endpoint(answer).exchange(request("converse", inferenceConfig={"maxTokens": most}))
    usage = as_botocore_parses(exchange)["usage"]
    assert usage["outputTokens"] == most if stop == "max_tokens" else usage["outputTokens"] <= most
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]


def test_the_headers_are_in_recorded_order() -> None:
    endpoint = Endpoint(reply.text("a").times(2), reply.throttled())
    names = [
        [name for name, _ in endpoint.exchange(request(op)).response.headers]
        for op in ("converse", "converse-stream", "converse")
    ]
    assert names == [
        ["Content-Type", "Content-Length", "Connection", "x-amzn-RequestId"],
        ["Content-Type", "Transfer-Encoding", "Connection", "x-amzn-RequestId"],
        ["Content-Type", "Content-Length", "Connection", "x-amzn-RequestId", "x-amzn-ErrorType"],
    ]


@pytest.mark.parametrize("name", sorted(bedrock.all_errors()))
@pytest.mark.parametrize("operation", ["converse", "converse-stream"])
def test_botocore_reads_every_error(name: ErrorName, operation: str) -> None:
    exchange = Endpoint(reply.error(name, "Zürich is closed")).exchange(request(operation))
    read = as_botocore_parses(exchange)
    assert read["Error"] == {"Code": name, "Message": "Zürich is closed"}
    assert exchange.response.status == bedrock.all_errors()[name].status


@pytest.mark.parametrize(
    ("failing", "status", "code"),
    [("throttlingException", 429, "ThrottlingException"), ("modelStreamErrorException", 424, "ModelErrorException")],
)
def test_an_exception_frame_is_an_http_error_on_plain_converse(failing: str, status: int, code: str) -> None:
    exchange = Endpoint(reply.text("a").fails_after(2, failing, "died", strict=True)).exchange(request("converse"))
    assert exchange.response.status == status
    assert as_botocore_parses(exchange)["Error"] == {"Code": code, "Message": "died"}


def test_pauses_are_before_each_event_and_add_up_on_plain_converse() -> None:
    paced = reply.text("a b").paced(first=1.0, each=0.5)  # 6 events: "a" and " b" are two tokens
    streamed = Endpoint(paced).exchange(request())
    assert [part.delay for part in streamed.response.chunks] == [1.0, 0.5, 0.5, 0.5, 0.5, 0.5]
    whole = Endpoint(paced).exchange(request("converse"))
    assert [part.delay for part in whole.response.chunks] == [3.5]


@pytest.mark.parametrize("carried", [{"text": "\ud800"}, {"toolUse": {"input": "\ud800"}}])
def test_a_lone_surrogate_is_escaped(carried: dict[str, Any]) -> None:
    written = reply.events([{"contentBlockDelta": {"contentBlockIndex": 0, "delta": carried}}], strict=False)
    sent = data(Endpoint(written).exchange(request()))
    assert b'"\\ud800"' in sent
    assert events(Endpoint(written).exchange(request())) == list(written.events())


def test_what_only_a_stream_can_have_fails_the_test_by_name_on_plain_converse() -> None:
    broken = reply.events([{"contentBlockStop": {"contentBlockIndex": 0}}], strict=False)
    endpoint = Endpoint(broken)
    exchange = endpoint.exchange(request("converse"))
    assert exchange.response.status == 400
    assert str(endpoint.problems[0]).startswith(
        "1 event: only a stream can carry these events, and the client called Converse"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b"{",
            "The request body is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (b'{"inferenceConfig":{"topP":NaN}}', "The request body is not JSON: NaN is no number of JSON"),
        (
            b'{"additionalModelRequestFields":{"a":[-Infinity]}}',
            "The request body is not JSON: -Infinity is no number of JSON",
        ),
        (b"[]", "The request body is a JSON list; it must be an object."),
        (b'{"messages":{}}', "messages is a JSON dict; it must be a list."),
        (b'{"messages":[{"content":["a"]}]}', "messages[0].content[0] is a JSON str; it must be an object."),
        (
            b"\xff",
            "The request body is not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_a_request_that_is_not_json_gets_awss_error_and_uses_up_nothing(body: bytes, message: str) -> None:
    endpoint = Endpoint(reply.text("a"))
    exchange = endpoint.exchange(Request("POST", "/model/x/converse", (), body))
    assert exchange.response.status == 400
    assert as_botocore_parses(exchange)["Error"] == {"Code": "SerializationException", "Message": message}
    assert endpoint.script.unused()


def test_count_tokens_is_an_estimate_that_uses_up_nothing() -> None:
    if "CountTokens" not in bedrock.operations():
        assert bedrock.botocore_version().startswith("1.40.")
        return
    endpoint = Endpoint(reply.text("a"))
    counted = {"input": {"converse": {"messages": [{"role": "user", "content": [{"text": "word " * 100}]}]}}}
    exchange = endpoint.exchange(Request("POST", f"/model/{HAIKU}/count-tokens", (), json.dumps(counted).encode()))
    assert as_botocore_parses(exchange)["inputTokens"] == 126
    assert [call.operation for call in endpoint.calls] == ["CountTokens"]
    assert endpoint.script.unused()
    assert not endpoint.problems


def test_another_operation_is_refused_as_unknown_and_says_how_to_route_it() -> None:
    endpoint = Endpoint()
    exchange = endpoint.exchange(Request("POST", f"/model/{NOVA}/invoke", (), b"{}"))
    assert exchange.response.status == 404
    first = "InvokeModel of bedrock-runtime is not scripted."
    assert as_botocore_parses(exchange)["Error"] == {"Code": "UnknownOperationException", "Message": first}
    assert isinstance(endpoint.problems[0], UnexpectedCall)
    assert 'converse.on_operation("InvokeModel", lambda call:' in str(endpoint.problems[0])


@pytest.mark.parametrize(
    ("asked", "operation", "output", "service"),
    [
        ("POST /rerank", "Rerank", {"results": [{"index": 1, "relevanceScore": 1}]}, "bedrock-agent-runtime"),
        (
            f"POST /model/{NOVA}/invoke-with-response-stream",
            "InvokeModelWithResponseStream",
            {"contentType": "application/json", "body": [{"chunk": {"bytes": b"..."}}]},
            "bedrock-runtime",
        ),
        ("DELETE /guardrails/abcdefghijkl", "DeleteGuardrail", {}, "bedrock"),
    ],
)
def test_the_advice_for_an_operation_is_a_line_to_paste(
    asked: str, operation: str, output: dict[str, Any], service: str
) -> None:
    endpoint = Endpoint()
    method, target = asked.split()
    endpoint.exchange(Request(method, target, (), b"{}"))
    (problem,) = endpoint.problems
    assert str(problem).startswith(f"{operation} of {service} is not scripted.\n\n")
    named = f', service="{service}"' if service == "bedrock-agent-runtime" else ""
    assert f'converse.on_operation("{operation}", {output}{named})' in str(problem).splitlines()


def test_advice_for_what_no_script_can_answer_is_not_to_write_one() -> None:
    endpoint = Endpoint()
    target = f"/model/{NOVA}/invoke-with-bidirectional-stream"
    assert endpoint.exchange(Request("POST", target, (), b"")).response.status == 404
    (problem,) = endpoint.problems
    assert str(problem).startswith("InvokeModelWithBidirectionalStream is not answered.\n\n")
    assert "replace the object in your code that calls it" in str(problem)
    assert "converse.on_operation(" not in str(problem)


def test_a_routed_operation_is_answered_as_its_output_shape_says() -> None:
    endpoint = Endpoint()
    output = {"body": b'{"embedding":[1]}', "contentType": "application/json"}
    endpoint.script.on_operation(NamedOperation(bedrock.SERVICE, "InvokeModel"), [lambda call: output])
    exchange = endpoint.exchange(Request("POST", f"/model/{NOVA}/invoke", (), b'{"inputText":"a"}'))
    assert dict(exchange.response.headers)["Content-Type"] == "application/json"
    assert data(exchange) == b'{"embedding":[1]}'
    assert exchange.call.body == {"inputText": "a"}


def test_secrets_of_a_request_are_not_kept() -> None:
    endpoint = Endpoint(reply.text("a"))
    call = endpoint.exchange(request()).call
    assert call.headers["authorization"] == "***"
    assert "AWS4 secret" not in repr(vars(call))


GATEWAYS = ("cf-aig-authorization", "Helicone-Auth", "Ocp-Apim-Subscription-Key", "X-Auth-Token", "x-litellm-api-key")


def test_secrets_of_a_gateway_are_not_kept() -> None:
    headers = dict.fromkeys(GATEWAYS, "very-secret") | {"Idempotency-Key": "5", "x-token-count": "7"}
    shown = Endpoint().exchange(Request("POST", "/", tuple(headers.items()), b"")).call.headers
    assert shown == {name.lower(): "***" for name in GATEWAYS} | {"idempotency-key": "5", "x-token-count": "7"}


@pytest.mark.parametrize("place", ["script", "when"])
def test_a_function_that_raises_fails_the_test_and_the_client_gets_an_error(place: str) -> None:
    def broken(call: Any) -> Reply:
        raise KeyError("city")

    endpoint = Endpoint(broken) if place == "script" else Endpoint()
    if place == "when":
        endpoint.script.when(Condition(predicate=broken)).add([reply.text("hi")])
    exchange = endpoint.exchange(request("converse"))
    error = as_botocore_parses(exchange)["Error"]
    assert (error["Code"], error["Message"].partition(",")[0]) == ("ValidationException", "KeyError: 'city'")
    assert isinstance(endpoint.problems[0], KeyError)


def test_a_function_must_return_a_reply() -> None:
    endpoint = Endpoint(lambda call: "hi")  # type: ignore[arg-type]
    endpoint.exchange(request())
    assert str(endpoint.problems[0]) == (
        "<lambda>(call) returned 'hi'; it must return a Reply, made by reply.text(...) or its like."
    )
