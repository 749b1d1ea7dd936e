"""How many requests each error costs: per retry mode of botocore, and for strands. Nobody waits.

What is repeated is one table; how often is each client's own setting.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import boto3
import botocore.httpsession
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from strands import Agent
from strands.event_loop._retry import ModelRetryStrategy
from strands.models import BedrockModel

from converse_harness import Fake, Reply, assemble, bedrock, faults, reply
from converse_harness.bedrock.families import ERRORS, THROTTLES
from converse_harness.literals import ErrorName
from converse_harness.stream.http import GATEWAY_ERRORS

pytestmark = pytest.mark.any_answer

MODEL: Final = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
COUNTING: Final = MODEL.removeprefix("us.")
MESSAGES: Final[list[Any]] = [{"role": "user", "content": [{"text": "hello"}]}]
MODES: Final = ("legacy", "standard", "adaptive")
MODEL_CALLS: Final = inspect.signature(ModelRetryStrategy).parameters["max_attempts"].default

Attempts = Callable[[Any], int]
Ask = Callable[[Any], object]

# Which errors are repeated

BOTOCORE_REPEATS: Final = {
    "InternalServerException",
    "ModelNotReadyException",
    "ServiceUnavailableException",
    "ThrottlingException",
}
"""The errors before the stream that botocore repeats, in every mode; an error in the stream it never does."""

STRANDS_REPEATS: Final = {"ThrottlingException"}
"""The errors for which strands asks the model again, with as many attempts of botocore each; in the stream as well."""

BEFORE: Final[dict[str, Reply]] = {
    name: reply.error(name, status=None)
    for name in sorted({*bedrock.errors("Converse"), *bedrock.errors("ConverseStream"), *GATEWAY_ERRORS})
}
"""Every error of both operations, and of the gateway before them."""

HTTP_NAMES: Final = {
    name: {"modelStreamErrorException": "ModelErrorException"}.get(name, shape.name)
    for name, shape in bedrock.stream_exceptions().items()
}
"""The HTTP error that stands for an exception frame on plain Converse."""

ANSWER: Final = reply.text("The answer is forty-two.")
LAST: Final = sum(1 for _ in ANSWER.events()) - 1
IN_STREAM: Final[dict[str, Reply]] = {
    f"{name} {place}": ANSWER.fails_after(after, name, strict=True)
    for name in HTTP_NAMES
    for place, after in (("first", 0), ("after deltas", 3), ("after messageStop", LAST))
}
IN_TOOL_INPUT: Final = reply.tool_use("pay", {"amount": 100}, pieces=['{"amount"', ": 100}"]).fails_after(
    3, "throttlingException"
)
UNKNOWN: Final[dict[str, Reply]] = {
    "future exception": ANSWER.fails_after(3, "futureException", "not yet", strict=False),
    "error frame": ANSWER.error_frame_after(3, "InternalFailure", "it failed"),
}
NO_ANSWER: Final[dict[str, Reply]] = {
    "connection_refused": reply.connection_refused(),
    "connect_timeout": reply.connect_timeout(),
    "read_timeout": reply.read_timeout(),
}


def test_every_error_that_can_come_has_a_wording_and_is_counted() -> None:
    assert BEFORE.keys() <= ERRORS.keys()
    assert {*BOTOCORE_REPEATS, *STRANDS_REPEATS} <= BEFORE.keys()
    if "CountTokens" in bedrock.operations():
        assert bedrock.errors("CountTokens").keys() <= BEFORE.keys()


# botocore


def whole(client: Any) -> object:
    return client.converse(modelId=MODEL, messages=MESSAGES)["output"]["message"]["content"]


def streamed(client: Any) -> object:
    return assemble(client.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]).message["content"]


def counted(client: Any) -> object:
    return client.count_tokens(modelId=COUNTING, input={"converse": {"messages": MESSAGES}})["inputTokens"]


OPERATIONS: Final[dict[str, Ask]] = {"Converse": whole, "ConverseStream": streamed}


@cache
def make_client(mode: str) -> Any:
    """One client for each mode; it is made when a fake is open, and each test has a fake of its own."""
    return boto3.client("bedrock-runtime", region_name="us-east-1", config=Config(retries={"mode": mode}))


@pytest.fixture(params=MODES)
def client(request: pytest.FixtureRequest, converse: Fake) -> Any:
    """A client of each retry mode."""
    assert converse.calls == []
    made = make_client(request.param)
    assert made.meta.config.retries["mode"] == request.param
    return made


def check_attempts(fake: Fake, expected: int, status: int) -> None:
    """So many requests came, the last one of them the client's last attempt; each wait between them was skipped."""
    calls = fake.calls.all
    assert [call.status for call in calls] == [status] * expected
    assert [call.attempt for call in calls] == list(range(1, expected + 1))
    assert [call.answered.waited > 0 for call in calls] == [True] * (expected - 1) + [False]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", BEFORE)
def test_an_error_before_the_stream(name: str, operation: str, client: Any, converse: Fake, attempts: Attempts) -> None:
    converse.always(BEFORE[name])
    with pytest.raises(ClientError) as caught:
        OPERATIONS[operation](client)
    error = caught.value.response
    assert error["Error"] == {"Code": name, "Message": ERRORS[name].message}
    expected = attempts(client) if name in BOTOCORE_REPEATS else 1
    assert error["ResponseMetadata"]["RetryAttempts"] == expected - 1
    check_attempts(converse, expected, bedrock.all_errors()[name].status)


@pytest.mark.parametrize("name", [*IN_STREAM, *UNKNOWN])
def test_an_error_in_the_stream(name: str, client: Any, converse: Fake) -> None:
    converse.always((IN_STREAM | UNKNOWN)[name])
    with pytest.raises(ClientError):
        streamed(client)
    check_attempts(converse, 1, 200)


def test_an_error_in_the_input_of_a_tool(client: Any, converse: Fake) -> None:
    converse.always(IN_TOOL_INPUT)
    with pytest.raises(ClientError, match="throttlingException"):
        streamed(client)
    assert [next(iter(event)) for event, _ in converse.calls[0].events][-2:] == [
        "contentBlockDelta",
        "throttlingException",
    ]
    check_attempts(converse, 1, 200)


@pytest.mark.parametrize("name", HTTP_NAMES)
def test_an_exception_frame_is_repeated_on_plain_converse_where_its_http_error_is(
    name: str, client: Any, converse: Fake, attempts: Attempts
) -> None:
    converse.always(IN_STREAM[f"{name} after deltas"])
    with pytest.raises(ClientError):
        whole(client)
    shape = HTTP_NAMES[name]
    expected = attempts(client) if shape in BOTOCORE_REPEATS else 1
    check_attempts(converse, expected, bedrock.errors("Converse")[shape].status)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", NO_ANSWER)
def test_no_answer(name: str, operation: str, client: Any, converse: Fake, attempts: Attempts) -> None:
    converse.always(NO_ANSWER[name])
    with pytest.raises(BotoCoreError):
        OPERATIONS[operation](client)
    check_attempts(converse, attempts(client), 0)


def test_an_answer_that_is_reset_is_repeated_and_a_stream_is_not(
    client: Any, converse: Fake, attempts: Attempts
) -> None:
    converse.always(ANSWER.broken(faults.reset))
    with pytest.raises(BotoCoreError):
        whole(client)
    check_attempts(converse, attempts(client), 200)
    with pytest.raises(Exception, match="reset"):
        streamed(client)
    assert len(converse.calls) == attempts(client) + 1


def test_an_answer_that_ends_early_is_repeated_or_taken_for_a_whole_one(
    client: Any, converse: Fake, attempts: Attempts
) -> None:
    """Botocore 1.40 holds a body to its length, 1.44 does not."""
    converse.always(ANSWER.broken(faults.closed))
    if "enforce_content_length=False" in inspect.getsource(botocore.httpsession):
        assert client.converse(modelId=MODEL, messages=MESSAGES).keys() == {"ResponseMetadata"}
        check_attempts(converse, 1, 200)
    else:
        with pytest.raises(BotoCoreError):
            whole(client)
        check_attempts(converse, attempts(client), 200)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_recovery_after_as_many_throttles_as_there_are_attempts_left(
    operation: str, client: Any, converse: Fake, attempts: Attempts
) -> None:
    for throttles in range(attempts(client)):
        before = len(converse.calls)
        converse.script(*[reply.throttled().retry_after(30)] * throttles, ANSWER)
        assert OPERATIONS[operation](client) == [{"text": "The answer is forty-two."}]
        calls = converse.calls[before:]
        assert [call.status for call in calls] == [429] * throttles + [200]
        assert [call.answered.waited > 0 for call in calls] == [True] * throttles + [False]


@pytest.mark.parametrize("total", [1, 2, 7])
@pytest.mark.parametrize("mode", MODES)
def test_attempts_that_are_configured(mode: str, total: int, converse: Fake, attempts: Attempts) -> None:
    config = Config(retries={"mode": mode, "total_max_attempts": total})
    client = boto3.client("bedrock-runtime", config=config)
    assert attempts(client) == total
    converse.always(reply.throttled(wording="tokens"))
    for count in range(1, 31):  # a client's retry quota would be used up before
        with pytest.raises(client.exceptions.ThrottlingException, match=THROTTLES["tokens"].message):
            whole(client)
        assert len(converse.calls) == count * total


if "CountTokens" in bedrock.operations():

    @pytest.mark.parametrize("name", bedrock.errors("CountTokens"))
    def test_an_error_of_count_tokens(name: ErrorName, client: Any, converse: Fake, attempts: Attempts) -> None:
        converse.when(operation="CountTokens").always(reply.error(name))
        with pytest.raises(getattr(client.exceptions, name)):
            counted(client)
        expected = attempts(client) if name in BOTOCORE_REPEATS else 1
        check_attempts(converse, expected, bedrock.errors("CountTokens")[name].status)

    def test_count_tokens_recovers(client: Any, converse: Fake) -> None:
        converse.when(operation="CountTokens").script(reply.throttled())
        assert isinstance(counted(client), int)
        assert [call.status for call in converse.calls.all] == [429, 200]


# strands: attempts of its own, each with those of botocore


@cache
def make_model(*, streaming: bool) -> BedrockModel:
    """A model as its users make it: botocore's retry mode is the default one."""
    return BedrockModel(model_id=MODEL, streaming=streaming, region_name="us-east-1")


@pytest.fixture(params=["ConverseStream", "Converse"])
def agent(request: pytest.FixtureRequest, converse: Fake) -> Agent:
    """A new agent, which streams or does not."""
    assert converse.calls == []
    return Agent(model=make_model(streaming=request.param == "ConverseStream"), callback_handler=None)


def per_call(agent: Agent, attempts: Attempts) -> int:
    """How often botocore sends a request of this agent that keeps failing."""
    assert isinstance(agent.model, BedrockModel)
    return attempts(agent.model.client)


def check_agent(fake: Fake, model_calls: int, requests: int) -> None:
    """So many calls of the model, each of so many requests, and between two calls strands' own wait, skipped."""
    assert [call.attempt for call in fake.calls] == [*range(1, requests + 1)] * model_calls
    waits = [call.answered.waited for call in fake.calls[requests - 1 :: requests]]
    assert waits == [*(ModelRetryStrategy()._calculate_delay(number) for number in range(model_calls - 1)), 0]


@pytest.mark.parametrize("name", BEFORE)
def test_strands_before_the_stream(name: str, agent: Agent, converse: Fake, attempts: Attempts) -> None:
    converse.always(BEFORE[name])
    with pytest.raises(Exception, match=ERRORS[name].message[:20]):
        agent("hi")
    requests = per_call(agent, attempts) if name in BOTOCORE_REPEATS else 1
    check_agent(converse, MODEL_CALLS if name in STRANDS_REPEATS else 1, requests)


@pytest.mark.parametrize("name", [*IN_STREAM, *UNKNOWN])
def test_strands_in_the_stream(name: str, agent: Agent, converse: Fake, attempts: Attempts) -> None:
    converse.always((IN_STREAM | UNKNOWN)[name])
    with pytest.raises(Exception, match=r"\w"):
        agent("hi")
    shape = HTTP_NAMES.get(name.partition(" ")[0], "InternalServerException")
    whole = converse.calls[0].operation == "Converse"
    requests = per_call(agent, attempts) if whole and shape in BOTOCORE_REPEATS else 1
    check_agent(converse, MODEL_CALLS if shape in STRANDS_REPEATS else 1, requests)


@pytest.mark.parametrize("name", NO_ANSWER)
def test_strands_and_no_answer(name: str, agent: Agent, converse: Fake, attempts: Attempts) -> None:
    converse.always(NO_ANSWER[name])
    with pytest.raises(BotoCoreError):
        agent("hi")
    check_agent(converse, 1, per_call(agent, attempts))


@pytest.mark.parametrize("throttles", [1, 6, 13])
def test_strands_recovers(throttles: int, agent: Agent, converse: Fake, attempts: Attempts) -> None:
    converse.script(reply.throttled().times(throttles), reply.text("ok"))
    assert str(agent("hi")).strip() == "ok"
    assert [call.status for call in converse.calls] == [429] * throttles + [200]
    requests = per_call(agent, attempts)
    assert [call.attempt for call in converse.calls] == [number % requests + 1 for number in range(throttles + 1)]


def test_strands_starts_anew_after_a_throttle_in_the_stream(converse: Fake) -> None:
    agent = Agent(model=make_model(streaming=True), callback_handler=None)
    converse.script(IN_STREAM["throttlingException after deltas"].times(2), reply.text("ok"))
    assert str(agent("hi")).strip() == "ok"
    check_agent(converse, 3, 1)
    assert [message["content"] for message in agent.messages] == [[{"text": "hi"}], [{"text": "ok"}]]
