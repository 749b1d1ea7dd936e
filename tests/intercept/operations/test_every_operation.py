"""A script answers every operation of every Bedrock service in botocore: its output and its input travel unchanged."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from converse_harness import Fake, ReplyError, UnusedReplies, bedrock, fake_converse, faults, reply
from converse_harness.bedrock.api.example import input_example, output_example
from converse_harness.reply.operation_output import OperationOutput
from converse_strategies import operation_outputs, shapes
from tests.intercept.operations.asking import OPERATIONS, REFUSED, STREAMS, ask, client, comparable
from tests.profiles import examples

KB: dict[str, Any] = {"knowledgeBaseId": "KB12345678", "retrievalQuery": {"text": "glaciers"}}
FOUND = {"retrievalResults": [{"content": {"text": "There are three."}}]}


def inputs(service: str, name: str) -> st.SearchStrategy[dict[str, Any]]:
    return shapes.values(bedrock.operation(name, service).input_shape.name, service=service)


def left_out(service: str, name: str) -> dict[str, Any]:
    """Return the members that boto3 adds to an output: the status, and a body that is empty."""
    described = bedrock.operation(name, service)
    members = described.output_shape.members.items()
    status: int = described.http.get("responseCode", 200)
    found = {each: status for each, member in members if member.serialization.get("location") == "statusCode"}
    return {**found, **{each: b"" for each, member in members if member.serialization.get("streaming")}}


@pytest.mark.slow
@settings(max_examples=examples(5))
@given(st.data())
def test_what_a_script_says_arrives_and_what_a_client_says_is_known(data: st.DataObject) -> None:
    service, name = data.draw(st.sampled_from(OPERATIONS))
    output = data.draw(operation_outputs(name, service=service))
    params = data.draw(inputs(service, name))
    members = bedrock.operation(name, service).input_shape.members
    place = {each: member.serialization.get("location") for each, member in members.items()}
    assume(all(params[each] for each in params if place[each] == "uri"))  # no path has an empty label
    stream = bedrock.event_stream(name, service)
    fails = stream is not None and any(next(iter(each)) in stream.exceptions for each in output[stream.member])
    with fake_converse() as fake:
        fake.on_operation(name, output, service=service)
        if fails:
            with pytest.raises(EventStreamError):
                ask(service, name, params)
        else:
            sent = {**left_out(service, name), **output}
            assert comparable(ask(service, name, params)) == comparable(sent)
        (call,) = fake.calls.of(name, service=service)
        assert call.service == service
        if name not in ("InvokeModel", "InvokeModelWithResponseStream"):
            # botocore adds tokens, and a query cannot carry an empty list.
            made = {each for each, member in members.items() if member.metadata.get("idempotencyToken")}
            given = {each: value for each, value in params.items() if (place[each], value) != ("querystring", [])}
            known = {each: value for each, value in call.params.items() if each in params or each not in made}
            assert comparable(known) == comparable(given)


@pytest.mark.slow
def test_every_operation_has_an_example_that_the_model_allows() -> None:
    for service, name in OPERATIONS:
        with fake_converse(unused="allow") as fake:
            fake.on_operation(name, output_example(name, service), service=service)


@pytest.mark.parametrize("name", REFUSED)
def test_an_operation_that_no_script_answers_so_is_refused_with_the_reason(name: str) -> None:
    with fake_converse() as fake, pytest.raises(ReplyError, match=f"{name} (is scripted|sends a stream)"):
        fake.on_operation(name, {})


@pytest.fixture
def fake() -> Any:
    with fake_converse() as opened:
        yield opened


def test_answers_come_in_order_by_condition_and_from_functions(fake: Fake) -> None:
    fake.when(lambda call: "fjord" in call.params["retrievalQuery"]["text"], operation="Retrieve").always(
        {"retrievalResults": []}
    )
    fake.on_operation("Retrieve", FOUND, reply.throttled(), service="bedrock-agent-runtime")
    fake.on_operation("Retrieve", lambda call: {"retrievalResults": [{"content": {"text": call.service}}]})
    assert ask("bedrock-agent-runtime", "Retrieve", KB) == FOUND
    with pytest.raises(ClientError, match="ThrottlingException"):
        ask("bedrock-agent-runtime", "Retrieve", KB)
    texts = [ask("bedrock-agent-runtime", "Retrieve", KB)["retrievalResults"][0]["content"]["text"] for _ in range(2)]
    assert texts == ["bedrock-agent-runtime"] * 2
    assert (
        ask("bedrock-agent-runtime", "Retrieve", {**KB, "retrievalQuery": {"text": "fjords"}})["retrievalResults"] == []
    )
    assert [call.params["retrievalQuery"]["text"] for call in fake.calls.of("Retrieve")][-1] == "fjords"


def test_an_answer_that_nobody_asked_for_fails_the_test() -> None:
    with pytest.raises(UnusedReplies, match="retrievalResults"), fake_converse() as fake:
        fake.on_operation("Retrieve", FOUND)


def test_operations_of_one_name_are_told_apart_by_their_service(fake: Fake) -> None:
    with pytest.raises(
        ReplyError, match='Name the service: service="bedrock-agent-runtime" or service="bedrock-agentc'
    ):
        fake.on_operation("ListSessions", lambda call: {})
    of = {each: output_example("ListSessions", each) for each in ("bedrock-agent-runtime", "bedrock-agentcore")}
    for service, output in of.items():
        fake.on_operation("ListSessions", output, service=service)
    for service in reversed(of):
        ask(service, "ListSessions", input_example("ListSessions", service))
        assert len(fake.calls.of("ListSessions", service=service)) == 1
    assert len(fake.calls.of("ListSessions")) == 2


@pytest.mark.parametrize(
    ("name", "service", "said"),
    [
        ("Retreive", None, "no service of Bedrock has an operation of this name.*Did you mean"),
        ("Retrieve", "bedrock-agent", "bedrock-agent has no operation of this name"),
        ("Retrieve", "agent-runtime", "must be one of the services of Bedrock"),
        ("PutObject", "s3", "must be one of the services of Bedrock"),
        (5, None, "an operation is given by its name"),
    ],
)
def test_a_wrong_name_fails_at_its_line(fake: Fake, name: Any, service: Any, said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        fake.on_operation(name, {}, service=service)
    with pytest.raises(ReplyError, match=said):
        fake.when(operation=name, service=service)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({}, r"Retrieve lacks 'retrievalResults'"),
        ({"retrievalResults": [{}]}, r"Retrieve.retrievalResults\[0\] lacks 'content'"),
        ({"retrievalResults": [{"content": {"text": 5}}]}, r"content.text is 5 \(int\); it must be a str"),
        ({"retrievalResults": [], "results": []}, r"has the unknown member 'results'"),
    ],
)
def test_an_output_that_the_model_does_not_allow_fails_at_its_line(fake: Fake, output: Any, said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        fake.on_operation("Retrieve", output)
    with pytest.raises(ReplyError, match=said):
        fake.when(operation="Retrieve").script(output)
    fake.on_operation("Retrieve", lambda call: output)
    with pytest.raises(ClientError, match="Retrieve"):
        ask("bedrock-agent-runtime", "Retrieve", KB)
    with pytest.raises(ReplyError, match=said):
        fake.check()


def test_an_output_that_is_not_strict_is_sent_as_it_is(fake: Fake) -> None:
    fake.on_operation("Retrieve", reply.output({"retrievalResults": [{}]}, strict=False))
    assert ask("bedrock-agent-runtime", "Retrieve", KB) == {"retrievalResults": [{}]}


def test_errors_have_the_status_of_their_service(fake: Fake) -> None:
    fake.on_operation("Retrieve", reply.error("ConflictException"), reply.error("DependencyFailedException", "Later."))
    for name, status in (("ConflictException", 409), ("DependencyFailedException", 424)):
        with pytest.raises(ClientError) as error:
            ask("bedrock-agent-runtime", "Retrieve", KB)
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
        assert error.value.response["Error"]["Code"] == name
    fake.on_operation("GetDataAutomationStatus", reply.error("ResourceNotFoundException", "No such job."))
    service = "bedrock-data-automation-runtime"
    with pytest.raises(client(service).exceptions.ResourceNotFoundException, match="No such job"):
        ask(service, "GetDataAutomationStatus", input_example("GetDataAutomationStatus", service))


@pytest.mark.parametrize(("service", "name"), STREAMS)
class TestStreams:
    """Each operation that answers with a stream of events."""

    def scripted(self, service: str, name: str, events: int = 3) -> tuple[OperationOutput, list[dict[str, Any]]]:
        stream = bedrock.event_stream(name, service)
        assert stream is not None
        output = output_example(name, service)
        output[stream.member] *= events
        return reply.output(output), output[stream.member]

    def read(self, service: str, name: str) -> Any:
        answer = getattr(client(service), bedrock.method_of(name))(**input_example(name, service))
        stream = bedrock.event_stream(name, service)
        assert stream is not None
        return iter(answer[stream.member])

    def test_each_exception_is_raised_at_its_place(self, fake: Fake, service: str, name: str) -> None:
        stream = bedrock.event_stream(name, service)
        assert stream is not None
        output, events = self.scripted(service, name)
        for exception in stream.exceptions:
            fake.on_operation(name, output.fails_after(2, exception, "No more."), service=service)
            came = self.read(service, name)
            assert [next(came), next(came)] == events[:2]
            with pytest.raises(EventStreamError, match=exception) as error:
                next(came)
            assert error.value.response["Error"]["Message"] == "No more."
        with pytest.raises(ReplyError, match=f"it is not an exception of {name}.*One of: "):
            fake.on_operation(name, output.fails_after(2, "teapotException"), service=service)
        with pytest.raises(ReplyError, match="0 to 3"):
            fake.on_operation(name, output.fails_after(4, next(iter(stream.exceptions))), service=service)

    @pytest.mark.parametrize(
        "fault", [faults.bad_crc, faults.reset, faults.closed, faults.stall], ids=lambda it: it.name
    )
    def test_each_level_of_faults(self, fake: Fake, service: str, name: str, fault: Any) -> None:
        output, events = self.scripted(service, name)
        fake.on_operation(name, output.broken(fault, after=1), service=service)
        came = self.read(service, name)
        assert next(came) == events[0]
        with pytest.raises(Exception, match=r"(?i)checksum|connection broken|read timed out|ended prematurely"):
            next(came)

    def test_what_its_events_cannot_be_fails_at_its_line(self, fake: Fake, service: str, name: str) -> None:
        stream = bedrock.event_stream(name, service)
        assert stream is not None
        whole = output_example(name, service)
        for wrong, said in (
            ({"nope": {}}, rf"{name}.{stream.member}\[0\] has the unknown member 'nope'"),
            ({}, r"has no member"),
            (5, r"must be a dict"),
        ):
            with pytest.raises(ReplyError, match=said):
                fake.on_operation(name, {**whole, stream.member: [wrong]}, service=service)
        with pytest.raises(ReplyError, match="must be a list"):
            fake.on_operation(name, {**whole, stream.member: {}}, service=service)
        with pytest.raises(ReplyError, match="breaks the order of ConverseStream's events"):
            fake.on_operation(name, reply.output(whole).broken(faults.no_message_stop), service=service)

    def test_the_events_of_a_call_are_known_with_their_pauses(self, fake: Fake, service: str, name: str) -> None:
        output, events = self.scripted(service, name)
        fake.on_operation(name, output.paced(first=0.01, each=0.02), service=service)
        assert list(self.read(service, name)) == events
        (call,) = fake.calls.of(name)
        assert [event for event, _ in call.events] == events
        times = [at for _, at in call.events]
        assert times[0] >= 0.01
        assert all(later - at >= 0.02 for at, later in pairwise(times))


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"content": [{"text": "hi"}], "usage": {"input_tokens": 7, "output_tokens": 3}}, ("7", "3")),
        ({"embedding": [1.0], "inputTextTokenCount": 4}, ("4", None)),
        ({"results": [{"index": 0, "relevance_score": 0.5}]}, ("5", None)),
    ],
)
def test_an_answer_of_invoke_model_has_its_tokens_in_headers(fake: Fake, body: Any, tokens: Any) -> None:
    fake.on_operation("InvokeModel", {"body": json.dumps(body).encode(), "contentType": "application/json"})
    answer = client("bedrock-runtime").invoke_model(modelId="m", body=b'{"prompt": "How many?"}')
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    came = tuple(headers.get(f"x-amzn-bedrock-{side}-token-count") for side in ("input", "output"))
    assert came[1] == tokens[1]
    assert came[0] == tokens[0] or "results" in body
    assert int(headers["x-amzn-bedrock-invocation-latency"]) > 0


def test_an_input_that_the_service_may_refuse_is_noted(fake: Fake) -> None:
    fake.on_operation("Retrieve", lambda call: FOUND)
    ask("bedrock-agent-runtime", "Retrieve", KB)
    ask("bedrock-agent-runtime", "Retrieve", {**KB, "knowledgeBaseId": "my-knowledge-base"})
    assert [(note.kind, note.call) for note in fake.notes] == [("input_of_operation", 2)]
    assert "Bedrock may refuse call 2: knowledgeBaseId " in fake.notes[0].text


def test_a_break_that_no_client_reaches_fails_the_test() -> None:
    service, name = "bedrock-agent-runtime", "InvokeAgent"
    output = output_example(name, service)
    output["completion"] *= 3
    opened = fake_converse().open()
    opened.on_operation(name, reply.output(output).fails_after(2, "throttlingException"), service=service)
    answer = client(service).invoke_agent(**input_example(name, service))
    next(iter(answer["completion"]))
    answer["completion"].close()
    opened.close()
    with pytest.raises(UnusedReplies, match="did not read as far"):
        opened.check()
