"""boto3, as people use it: one suite for the newest boto3 and for the oldest that is supported."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import boto3
import botocore.exceptions
import pytest
from botocore.config import Config
from hypothesis import given
from hypothesis import strategies as st

from converse_harness import Call, Fake, Reply, UnexpectedCall, assemble, bedrock, fake_converse, reply
from converse_harness.literals import ErrorName, StreamException

pytestmark = pytest.mark.any_answer

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
QUESTION: dict[str, Any] = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "hello"}]}]}

Attempts = Callable[[Any], int]


def ask(client: Any, text: str = "hello") -> str:
    """What somebody's code does with boto3."""
    answer = client.converse(modelId=MODEL, messages=[{"role": "user", "content": [{"text": text}]}])
    return str(answer["output"]["message"]["content"][0]["text"])


def ask_by_stream(client: Any, text: str = "hello") -> str:
    """The same with ConverseStream."""
    answer = client.converse_stream(modelId=MODEL, messages=[{"role": "user", "content": [{"text": text}]}])
    deltas = [event["contentBlockDelta"]["delta"] for event in answer["stream"] if "contentBlockDelta" in event]
    return "".join(delta["text"] for delta in deltas)


# Any client of the process


@pytest.fixture(scope="module")
def made_before() -> Iterator[Any]:
    """A client as modules make it when they are imported: no fake is open, only the region is known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # it looks for keys right now, and finds none
        yield boto3.client("bedrock-runtime", region_name="eu-central-1")


def test_a_client_made_before_the_fake(made_before: Any, converse: Fake) -> None:
    converse.script(reply.text("one"), reply.text("two"))
    assert (ask(made_before), ask_by_stream(made_before)) == ("one", "two")
    assert made_before.meta.region_name == "eu-central-1"


@pytest.mark.parametrize(
    "make",
    [
        lambda: boto3.client("bedrock-runtime"),
        lambda: boto3.Session().client("bedrock-runtime"),
        lambda: boto3.Session(region_name="eu-west-3").client("bedrock-runtime"),
        lambda: boto3.Session(aws_access_key_id="a", aws_secret_access_key="b").client("bedrock-runtime"),
        lambda: boto3.client("bedrock-runtime", endpoint_url="http://127.0.0.1:9"),
        lambda: boto3.client("bedrock-runtime", config=Config(connect_timeout=1, read_timeout=1)),
        lambda: boto3.client("bedrock-runtime", region_name="us-gov-west-1", use_ssl=False),
    ],
    ids=["default session", "session", "region", "keys", "endpoint_url", "config", "partition"],
)
def test_a_client_made_under_the_fake(make: Callable[[], Any], converse: Fake) -> None:
    converse.script(reply.text("hi").times(2))
    client = make()
    assert (ask(client), ask_by_stream(client)) == ("hi", "hi")
    assert [call.operation for call in converse.calls] == ["Converse", "ConverseStream"]


def test_the_ready_client(converse_client: Any, converse: Fake) -> None:
    converse.script(reply.text("hi"))
    assert ask(converse_client) == "hi"


@pytest.mark.needs_os
def test_eight_threads_each_get_their_own_answer(converse: Fake, converse_client: Any) -> None:
    for number in range(8):
        converse.when(last_user_text=f"question {number}").script(reply.text(f"answer {number}").times(4))
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda number: [ask_by_stream(converse_client, f"question {number}") for _ in range(4)], range(8))
        )
    assert answers == [[f"answer {number}"] * 4 for number in range(8)]
    assert sorted(call.number for call in converse.calls) == list(range(1, 33))


def test_a_bearer_token_is_replaced_and_never_shown(converse: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-of-mine")
    converse.script(reply.text("hi"))
    client = boto3.client("bedrock-runtime")
    sent: list[str] = []
    client.meta.events.register("before-send", lambda request, **_: sent.append(str(request.headers["Authorization"])))
    assert ask(client) == "hi"
    assert "Bearer " in sent[0]
    (call,) = converse.calls
    assert "authorization" in call.headers
    for text in (sent[0], converse.transcript, str(call.request)):
        assert "bedrock-api-key-of-mine" not in text


def test_an_endpoint_in_the_environment_is_not_reached(converse: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://gateway.example/bedrock")
    converse.script(reply.text("hi"))
    assert ask(boto3.client("bedrock-runtime")) == "hi"
    assert converse.calls[0].model_id == MODEL


def test_hooks_of_the_user_run(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.text("from the model"))
    seen: list[str] = []
    hooks = converse_client.meta.events

    def add_header(request: Any, **_: Any) -> None:
        request.headers["X-Trace-Id"] = "trace-1"

    def change_answer(parsed: dict[str, Any], **_: Any) -> None:
        seen.append(parsed["output"]["message"]["content"][0]["text"])
        parsed["output"]["message"]["content"][0]["text"] = "from the hook"

    hooks.register(
        "before-parameter-build.bedrock-runtime.Converse", lambda params, **_: params.update(system=[{"text": "s"}])
    )
    hooks.register("before-send.bedrock-runtime.Converse", add_header)
    hooks.register("after-call.bedrock-runtime.Converse", change_answer)
    assert ask(converse_client) == "from the hook"
    assert seen == ["from the model"]
    (call,) = converse.calls
    assert (call.system_text, call.headers["x-trace-id"]) == ("s", "trace-1")


# Answers: the same from both operations

GUARDRAIL = {
    "guardrail": {
        "inputAssessment": {
            "gr-1": {
                "contentPolicy": {
                    "filters": [{"type": "VIOLENCE", "confidence": "HIGH", "action": "BLOCKED", "detected": True}]
                }
            }
        }
    }
}
CITATION = {
    "title": "Alps",
    "location": {"documentChar": {"documentIndex": 0, "start": 3, "end": 9}},
    "sourceContent": [{"text": "the Bernina"}],
}
TOOL = {
    "toolUse": {"toolUseId": "tooluse_1", "name": "get_weather", "input": {"city": "Zürich", "days": [1, 2.5, None]}}
}
REASONING = {"reasoningContent": {"reasoningText": {"text": "Let me think.", "signature": "c2lnbmF0dXJl"}}}
REDACTED = {"reasoningContent": {"redactedContent": b"\x00\xff secret"}}
CITED = {"citationsContent": {"content": [{"text": "It is the Bernina."}], "citations": [CITATION]}}

ANSWERS: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any]]] = {
    "text": (({"text": "18 °C – “sunny” 🌞\n\n"},), {}),
    "several texts": (({"text": "one"}, {"text": "two"}), {}),
    "tool": ((TOOL,), {}),
    "text and tool": (({"text": "Let me look."}, TOOL), {}),
    "reasoning": ((REASONING, {"text": "42"}), {}),
    "redacted": ((REDACTED, {"text": "42"}), {}),
    "citations": ((CITED,), {}),
    "max_tokens": (({"text": "cut"},), {"stop_reason": "max_tokens"}),
    "guardrail": (({"text": "No."},), {"stop_reason": "guardrail_intervened", "trace": GUARDRAIL}),
    "additional": (
        ({"text": "hi"},),
        {"additional": {"stop_sequence": "END", "n": [1, None]}, "stop_reason": "stop_sequence"},
    ),
    "usage": (({"text": "hi"},), {"usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}}),
    "performance": (({"text": "hi"},), {"performance_config": {"latency": "optimized"}, "metrics": {"latencyMs": 12}}),
}


def untyped(message: Any) -> dict[str, Any]:
    """A message without the types of tool uses; tests/oracle/corpus/test_corpus_forms.py says which send them."""
    for block in message["content"]:
        block.get("toolUse", {}).pop("type", None)
    return {**message}


@pytest.mark.converse(answers="off")
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_the_same_from_both_operations(name: str, converse: Fake, converse_client: Any) -> None:
    content, options = ANSWERS[name]
    converse.script(reply.message(*content, **options).times(2))
    whole = converse_client.converse(**QUESTION)
    events = list(converse_client.converse_stream(**QUESTION)["stream"])
    streamed = assemble(events)

    assert untyped(whole["output"]["message"]) == streamed.message == {"role": "assistant", "content": list(content)}
    assert whole["stopReason"] == streamed.stop_reason
    assert whole["metrics"]["latencyMs"] > 0
    assert whole["usage"]["totalTokens"] > 0
    assert {name: whole.get(name) for name in ("trace", "additionalModelResponseFields", "performanceConfig")} == {
        "trace": streamed.trace,
        "additionalModelResponseFields": streamed.additional,
        "performanceConfig": streamed.performance_config,
    }
    for option, member in {
        "stop_reason": "stopReason",
        "usage": "usage",
        "trace": "trace",
        "metrics": "metrics",
    }.items():
        if option in options:
            assert whole[member] == options[option]
    assert [next(iter(event)) for event in events] == [next(iter(event)) for event, _ in converse.calls[1].events]
    assert [untyped(call.response.message) for call in converse.calls if call.response] == [streamed.message] * 2


def test_a_tool_use_has_an_id_of_the_recorded_form(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.tool_use("get_weather"), reply.tool_use("get_weather"))
    ids = [
        converse_client.converse(**QUESTION)["output"]["message"]["content"][0]["toolUse"]["toolUseId"]
        for _ in range(2)
    ]
    assert all(len(each) == len("tooluse_") + 22 for each in ids)
    assert ids[0] != ids[1]


def test_the_response_metadata(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.text("hi").times(2))
    whole = converse_client.converse(**QUESTION)["ResponseMetadata"]
    stream = converse_client.converse_stream(**QUESTION)
    streamed = stream["ResponseMetadata"]
    assert list(stream["stream"])
    assert list(whole["HTTPHeaders"]) == ["date", "content-type", "content-length", "connection", "x-amzn-requestid"]
    assert list(streamed["HTTPHeaders"]) == [
        "date",
        "content-type",
        "transfer-encoding",
        "connection",
        "x-amzn-requestid",
    ]
    for metadata in (whole, streamed):
        assert metadata["HTTPStatusCode"] == 200
        assert metadata["RequestId"] == metadata["HTTPHeaders"]["x-amzn-requestid"]
        assert metadata["RetryAttempts"] == 0


# A stream on its way


def test_a_stream_is_lazy(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.text("one two three"))
    stream = iter(converse_client.converse_stream(**QUESTION)["stream"])
    (call,) = converse.calls
    for taken in range(1, 4):
        next(stream)
        assert len(call.events) == taken
    seen = [(call.outcome, call.response is None)]
    rest = list(stream)
    assert len(call.events) == 3 + len(rest)
    seen.append((call.outcome, call.response is None))
    assert seen == [("still running", True), ("complete", False)]


def test_closing_early_is_seen(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.text("one two three").optional())
    stream = converse_client.converse_stream(**QUESTION)["stream"]
    next(iter(stream))
    stream.close()
    (call,) = converse.calls
    assert call.outcome == "closed by client"
    assert [next(iter(event)) for event, _ in call.events] == ["messageStart"]


def test_a_paced_reply_arrives_in_order(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.text("abc", pieces=["a", "b", "c"]).paced(first=0.002, each=0.001).times(2))
    assert ask_by_stream(converse_client) == ask(converse_client) == "abc"
    times = [event.at for event in converse.calls[0].events]
    assert all(earlier <= later for earlier, later in itertools.pairwise(times))


# Errors


@pytest.mark.parametrize("name", sorted(bedrock.errors("ConverseStream")))
def test_an_error_is_of_botocores_own_class(name: ErrorName, converse: Fake, converse_client: Any) -> None:
    client = converse_client
    converse.always(reply.error(name, "it went wrong"))
    for operation in (client.converse, client.converse_stream):
        with pytest.raises(getattr(client.exceptions, name), match="it went wrong") as caught:
            operation(**QUESTION)
        error = caught.value.response
        assert error["Error"]["Code"] == name
        assert error["ResponseMetadata"]["HTTPStatusCode"] == bedrock.errors("ConverseStream")[name].status
        assert error["ResponseMetadata"]["RequestId"]


def test_members_of_an_error_arrive(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.error("ModelErrorException", "no", originalStatusCode=418, resourceName="teapot"))
    with pytest.raises(converse_client.exceptions.ModelErrorException) as caught:
        converse_client.converse(**QUESTION)
    assert (caught.value.response["originalStatusCode"], caught.value.response["resourceName"]) == (418, "teapot")


def test_an_error_that_is_not_modelled(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.error("ExpiredTokenException", "The security token is expired", status=403))
    with pytest.raises(botocore.exceptions.ClientError, match="ExpiredTokenException"):
        converse_client.converse(**QUESTION)


@pytest.mark.parametrize("name", sorted(bedrock.stream_exceptions()))
def test_an_exception_frame_is_an_event_stream_error(
    name: StreamException, converse: Fake, converse_client: Any
) -> None:
    converse.script(reply.text("The answer is forty-two.").fails_after(3, name, "upstream died"))
    stream = converse_client.converse_stream(**QUESTION)["stream"]
    with pytest.raises(botocore.exceptions.EventStreamError, match="upstream died") as caught:
        list(stream)
    assert caught.value.response["Error"] == {"Code": name, "Message": "upstream died"}
    assert caught.value.operation_name == "ConverseStream"
    (call,) = converse.calls
    assert [next(iter(event)) for event, _ in call.events] == [
        "messageStart",
        "contentBlockDelta",
        "contentBlockDelta",
        name,
    ]
    assert call.response is None


def test_what_came_before_an_exception_frame_is_delivered(converse: Fake, converse_client: Any) -> None:
    converse.script(reply.text("The answer is forty-two.").fails_after(3, "throttlingException"))
    stream = iter(converse_client.converse_stream(**QUESTION)["stream"])
    got = [next(stream) for _ in range(3)]
    with pytest.raises(botocore.exceptions.EventStreamError):
        next(stream)
    assert [event.get("contentBlockDelta", {}).get("delta") for event in got] == [
        None,
        {"text": "The"},
        {"text": " answer"},
    ]


@pytest.mark.parametrize("name", sorted(bedrock.stream_exceptions()))
def test_on_plain_converse_it_is_the_http_error_of_that_type(
    name: StreamException, converse: Fake, converse_client: Any
) -> None:
    shape = {"modelStreamErrorException": "ModelErrorException"}.get(name, name[0].upper() + name[1:])
    converse.always(reply.text("The answer is forty-two.").fails_after(3, name, "upstream died"))
    with pytest.raises(getattr(converse_client.exceptions, shape), match="upstream died") as caught:
        converse_client.converse(**QUESTION)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == bedrock.errors("Converse")[shape].status


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (reply.connection_refused(), botocore.exceptions.EndpointConnectionError),
        (reply.connect_timeout(), botocore.exceptions.ConnectTimeoutError),
        (reply.read_timeout(), botocore.exceptions.ReadTimeoutError),
    ],
    ids=lambda value: value.summary if isinstance(value, Reply) else "",
)
def test_a_connection_failure_is_botocores_own(
    failure: Reply, raised: type[Exception], converse: Fake, converse_client: Any
) -> None:
    converse.always(failure)
    with pytest.raises(raised):
        converse_client.converse(**QUESTION)
    assert {call.outcome for call in converse.calls} == {"cut"}


# Other operations


def test_count_tokens(converse: Fake, converse_client: Any) -> None:
    counted = {"converse": {"messages": QUESTION["messages"], "system": [{"text": "Be brief."}]}}
    if "CountTokens" not in bedrock.operations():  # an older botocore cannot ask
        assert not hasattr(converse_client, "count_tokens")
        return
    model = "anthropic.claude-haiku-4-5-20251001-v1:0"
    assert converse_client.count_tokens(modelId=model, input=counted)["inputTokens"] > 0
    (call,) = converse.calls.of("CountTokens")
    assert (call.operation, call.last_user_text, call.system_text) == ("CountTokens", "hello", "Be brief.")


def test_embeddings_on_the_same_client(converse: Fake, converse_client: Any) -> None:
    def embed(call: Call) -> dict[str, Any]:
        return {
            "body": json.dumps({"embedding": [0.5, len(call.body["inputText"])]}).encode(),
            "contentType": "application/json",
        }

    converse.on_operation("InvokeModel", embed)
    converse.script(reply.text("hi"))
    embedded = converse_client.invoke_model(
        modelId="amazon.titan-embed-text-v2:0", body=json.dumps({"inputText": "four"})
    )
    assert json.load(embedded["body"]) == {"embedding": [0.5, 4]}
    assert embedded["contentType"] == "application/json"
    assert ask(converse_client) == "hi"
    assert [call.operation for call in converse.calls.all] == ["InvokeModel", "Converse"]


def test_an_operation_that_is_not_routed_fails_the_test() -> None:
    with closing(fake_converse().open()) as fake:
        client = boto3.client("bedrock-runtime")
        with pytest.raises(botocore.exceptions.ClientError, match="InvokeModel of bedrock-runtime is not") as caught:
            client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body="{}")
        assert caught.value.response["Error"]["Code"] == "UnknownOperationException"
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
        with pytest.raises(UnexpectedCall, match=r'on_operation\("InvokeModel"'):
            fake.check()


def test_get_inference_profile_is_refused_clearly() -> None:
    with closing(fake_converse().open()) as fake:
        with pytest.raises(botocore.exceptions.ClientError, match="GetInferenceProfile is not answered"):
            boto3.client("bedrock").get_inference_profile(inferenceProfileIdentifier="p")
        with pytest.raises(UnexpectedCall, match=r'on_operation\("GetInferenceProfile"'):
            fake.check()


def test_get_inference_profile_can_be_routed(converse: Fake) -> None:
    arn = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0"
    converse.on_operation(
        "GetInferenceProfile",
        lambda call: reply.output({"inferenceProfileId": "p", "models": [{"modelArn": arn}]}, strict=False),
    )
    profile = boto3.client("bedrock").get_inference_profile(inferenceProfileIdentifier="p")
    assert (profile["inferenceProfileId"], profile["models"]) == ("p", [{"modelArn": arn}])


# What was asked

ACCOUNT = "arn:aws:bedrock:us-east-1:123456789012"


@pytest.mark.parametrize(
    "model_id",
    [
        "anthropic.claude-3-haiku-20240307-v1:0",
        "global.anthropic.claude-haiku-4-5-20251001-v1:0",
        "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
        f"{ACCOUNT}:inference-profile/us.amazon.nova-lite-v1:0",
        f"{ACCOUNT}:application-inference-profile/a1b2c3d4e5f6",
        f"{ACCOUNT}:provisioned-model/a1b2c3d4e5f6",
        f"{ACCOUNT}:custom-model/amazon.nova-lite-v1:0:300k/a1b2c3d4e5f6",
        f"{ACCOUNT}:custom-model-deployment/a1b2c3d4e5f6",
        f"{ACCOUNT}:imported-model/a1b2c3d4e5f6",
        f"{ACCOUNT}:prompt/PROMPT1234:3",
        f"{ACCOUNT}:default-prompt-router/anthropic.claude:1",
        "arn:aws:sagemaker:us-east-1:123456789012:endpoint/my-endpoint",
    ],
)
def test_a_model_id_of_any_kind_is_decoded(model_id: str, converse: Fake, converse_client: Any) -> None:
    converse.when(model=model_id).script(reply.text("hi").times(2))
    converse_client.converse(**{**QUESTION, "modelId": model_id})
    list(converse_client.converse_stream(**{**QUESTION, "modelId": model_id})["stream"])
    assert [call.model_id for call in converse.calls] == [model_id] * 2


words = st.text(min_size=1, max_size=20).map(lambda text: f"x{text}")
documents = st.dictionaries(
    words,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
names = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
blocks = st.one_of(
    words.map(lambda text: {"text": text}),
    st.binary(min_size=1).map(lambda data: {"image": {"format": "png", "source": {"bytes": data}}}),
    st.binary(min_size=1).map(
        lambda data: {"document": {"format": "pdf", "name": "report", "source": {"bytes": data}}}
    ),
    st.just({"cachePoint": {"type": "default"}}),
    documents.map(
        lambda value: {"toolResult": {"toolUseId": "t-1", "content": [{"json": value}], "status": "success"}}
    ),
)
tools = st.builds(
    lambda name, schema: {
        "toolSpec": {"name": name, "description": "d", "inputSchema": {"json": {"type": "object", **schema}}}
    },
    names,
    documents,
)
requests = st.fixed_dictionaries(
    {
        "modelId": names,
        "messages": st.lists(st.lists(blocks, min_size=1, max_size=3), min_size=1, max_size=2).map(
            lambda contents: [{"role": "user", "content": content} for content in contents]
        ),
    },
    optional={
        "system": st.lists(words.map(lambda text: {"text": text}), min_size=1, max_size=2),
        "inferenceConfig": st.fixed_dictionaries(
            {
                "maxTokens": st.integers(1, 4096),
                "temperature": st.floats(0, 1),
                "stopSequences": st.lists(words, min_size=1, max_size=2),
            }
        ),
        "toolConfig": st.builds(
            lambda tools, choice: {"tools": tools, "toolChoice": choice},
            st.lists(tools, min_size=1, max_size=2),
            st.sampled_from([{"auto": {}}, {"any": {}}, {"tool": {"name": "get_weather"}}]),
        ),
        "additionalModelRequestFields": documents,
        "additionalModelResponseFieldPaths": st.just(["/stop_sequence"]),
        "requestMetadata": st.dictionaries(names, names, max_size=2),
    },
)


@given(request=requests)
def test_params_are_what_the_caller_gave(made_before: Any, request: dict[str, Any]) -> None:
    with fake_converse(reply.text("hi").times(2), rules="off") as fake:
        made_before.converse(**request)
        list(made_before.converse_stream(**request)["stream"])
    for call in fake.calls:
        assert call.params == request
        assert call.messages == request["messages"]
        assert call.tools == request.get("toolConfig", {}).get("tools", [])
        assert call.inference == request.get("inferenceConfig", {})
